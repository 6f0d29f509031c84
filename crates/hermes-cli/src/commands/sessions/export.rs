//! `hermes sessions export`: conversations for other programs and for readers.
//!
//! One session at a time is read and written, so that a store of any size can be exported. A file appears whole or not at
//! all, and only its owner may read it.

mod markdown;
pub(super) mod record;
mod redact;
mod sink;

use super::paper::{json_line, json_pretty};
use super::{Console, Desk, Exit, Trouble, count};
use clap::{Args, ValueEnum};
use hermes_core::store::StoreError;
use hermes_types::{Export, ListOrder, SessionFilter, SessionId};
use sink::Sink;
use std::collections::HashSet;
use std::io::{self, Write};
use std::path::PathBuf;

/// Ids are gathered in pages of this many records.
const PAGE: usize = 1000;

#[derive(Debug, Args)]
pub struct ExportArgs {
    /// Id, the beginning of an id, or title
    #[arg(value_name = "NAME", conflicts_with_all = ["all", "source", "since", "until"])]
    pub names: Vec<String>,
    /// Every conversation
    #[arg(long)]
    pub all: bool,
    /// Every conversation held here (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub source: Vec<String>,
    /// Every conversation that began at this time or later
    #[arg(long, value_name = "TIME")]
    pub since: Option<String>,
    /// Every conversation that began before this time
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// The named ones with everything that descends from the same beginning
    #[arg(long, requires = "names")]
    pub lineage: bool,
    /// How they are written
    #[arg(long, value_enum, default_value_t = Format::Jsonl)]
    pub format: Format,
    /// Cover what looks like a key, a token or a password; look at the result before you share it
    #[arg(long)]
    pub redact: bool,
    /// Where to; `-` is stdout
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One session per line, as the Python program writes and reads them
    Jsonl,
    /// One indented array of the same
    Json,
    /// Markdown, to be read
    Md,
}

pub(super) async fn run(args: ExportArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let ids = chosen(&args, desk).await?;
    if ids.is_empty() {
        return Err(Trouble::Refused("No conversation is like that; nothing was written.".into()));
    }
    let to_stdout = args.output.as_os_str() == "-";
    let told = |reason: io::Error| match to_stdout {
        true => Trouble::Output(reason),
        false => Trouble::Refused(format!(
            "{} cannot be written: {reason}. What was there before is unchanged.",
            args.output.display()
        )),
    };
    let mut sink = if to_stdout { Sink::stream(console.out) } else { Sink::file(&args.output).map_err(told)? };
    let mut written = 0_u64;
    for id in &ids {
        // Another program may have deleted it meanwhile.
        let Some(mut export) = desk.store.export(id).await? else { continue };
        if args.redact {
            export = redact::redacted(&export).map_err(|error| told(error.into()))?;
        }
        write_one(&mut sink, args.format, &export, written, desk).map_err(told)?;
        written += 1;
    }
    if args.format == Format::Json {
        let end: &[u8] = if written == 0 { b"[]\n" } else { b"\n]\n" };
        sink.write_all(end).map_err(told)?;
    }
    sink.finish().map_err(told)?;
    if !to_stdout {
        writeln!(console.err, "Wrote {} to {}.", count(written, "conversation"), args.output.display())?;
    }
    Ok(Exit::Done)
}

fn write_one(sink: &mut Sink<'_>, format: Format, export: &Export, before: u64, desk: &Desk<'_>) -> io::Result<()> {
    let Export { session, messages } = export;
    match format {
        Format::Jsonl => writeln!(sink, "{}", json_line(&record::of(session, messages))?),
        Format::Json => {
            let lead = if before == 0 { "[\n" } else { ",\n" };
            write!(sink, "{lead}{}", json_pretty(&record::of(session, messages))?)
        }
        Format::Md => {
            let gap = if before == 0 { "" } else { "\n---\n\n" };
            write!(sink, "{gap}{}", markdown::of(session, messages, &desk.clock))
        }
    }
}

/// The sessions to be written, each once, the oldest first.
async fn chosen(args: &ExportArgs, desk: &Desk<'_>) -> Result<Vec<SessionId>, Trouble> {
    let mut ids = Vec::new();
    for name in &args.names {
        let id = desk.find(name).await?;
        if args.lineage {
            ids.extend(desk.store.lineage(&id).await?.into_iter().map(|relative| relative.id));
        } else {
            ids.push(id);
        }
    }
    if args.names.is_empty() {
        let filtered = !args.source.is_empty() || args.since.is_some() || args.until.is_some();
        if !args.all && !filtered {
            return Err(Trouble::Usage(
                "name the conversations to export, or choose them with --all, --source, --since, --until".into(),
            ));
        }
        let filter = SessionFilter {
            sources: args.source.clone(),
            started_after: desk.time(args.since.as_deref())?,
            started_before: desk.time(args.until.as_deref())?,
            all: true,
            ..SessionFilter::default()
        };
        ids = every(&filter, desk).await?;
    }
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    Ok(ids)
}

/// The ids of all sessions like that, the oldest first.
async fn every(filter: &SessionFilter, desk: &Desk<'_>) -> Result<Vec<SessionId>, StoreError> {
    let mut ids = Vec::new();
    loop {
        // A session that begins meanwhile moves the pages, so that one may be seen twice, but none is missed.
        let page = desk.store.list(filter.clone(), ListOrder::Started, PAGE, ids.len()).await?;
        let last = page.len() < PAGE;
        ids.extend(page.into_iter().map(|summary| summary.session.id));
        if last {
            ids.reverse();
            return Ok(ids);
        }
    }
}
