//! `hermes sessions list`: what the conversations were about, and when.
//!
//! A line always tells what a conversation was: its title, and the beginning of the first question as far as there is
//! room. On a terminal every line fits and ids are as short as they can be typed; elsewhere nothing is cut that the store
//! did not cut: a preview is the beginning of the first question.

use super::paper::{Ink, Paper, cells, cut, one_line, padded};
use super::when::Clock;
use super::{Console, Desk, Exit, Trouble};
use clap::{Args, ValueEnum};
use hermes_core::store::SessionStore;
use hermes_types::{ListOrder, SessionFilter, SessionSummary};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Ids are cut behind the minute, behind the second, or not at all.
const SHORT_IDS: [usize; 2] = [13, 15];
/// Less room than this tells nothing about a conversation.
const LEAST_WHAT: usize = 20;
/// On a terminal a source gives way to what was said.
const WIDEST_SOURCE: usize = 12;
const USUAL_LIMIT: usize = 20;
const GAP: &str = "  ";

#[derive(Debug, Args)]
pub struct ListArgs {
    /// Only conversations held here: cli, telegram, cron … (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub source: Vec<String>,
    /// None held here (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub exclude_source: Vec<String>,
    /// At most this many
    #[arg(long, value_name = "N", default_value_t = USUAL_LIMIT, value_parser = super::at_least_one)]
    pub limit: usize,
    /// Only those held in this folder or below it
    #[arg(long, value_name = "DIR")]
    pub workspace: Option<PathBuf>,
    /// Also sub-agents, and every part of conversations that were compressed
    #[arg(long)]
    pub all: bool,
    /// What is newest
    #[arg(long, value_enum, default_value_t = Order::Active)]
    pub sort: Order,
    /// One JSON array instead of a table
    #[arg(long)]
    pub json: bool,
}

impl ListArgs {
    /// No option was typed, or what holds anyway.
    pub(super) fn is_plain(&self) -> bool {
        let Self { source, exclude_source, limit, workspace, all, sort, json } = self;
        source.is_empty()
            && exclude_source.is_empty()
            && workspace.is_none()
            && !all
            && !json
            && *limit == USUAL_LIMIT
            && *sort == Order::default()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// What began last
    Started,
    /// What was last spoken in
    #[default]
    Active,
}

pub(super) async fn run(args: ListArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let filter = filter(&args)?;
    let order = match args.sort {
        Order::Started => ListOrder::Started,
        Order::Active => ListOrder::LastActive,
    };
    // One more than is shown tells whether there are more.
    let mut found = desk.store.list(filter, order, args.limit.saturating_add(1), 0).await?;
    let more = found.len() > args.limit;
    found.truncate(args.limit);
    if args.json {
        let listed: Vec<Value> = found.iter().map(as_json).collect();
        return desk.print_json(&listed, console);
    }
    if found.is_empty() {
        writeln!(console.err, "{}", nothing(&args))?;
        return Ok(Exit::Done);
    }
    let ids = ids(&found, desk).await;
    let rows: Vec<Row> = found.iter().zip(ids).map(|(summary, id)| Row::of(summary, id, &desk.clock)).collect();
    write!(console.out, "{}", draw(&rows, desk.paper))?;
    if more {
        let larger = args.limit.saturating_mul(5);
        writeln!(console.err, "There are more; `--limit {larger}` shows them.")?;
    }
    Ok(Exit::Done)
}

fn filter(args: &ListArgs) -> Result<SessionFilter, Trouble> {
    let folder = args.workspace.as_ref().map(|folder| {
        let absolute = std::path::absolute(folder);
        let found = std::fs::canonicalize(folder).or(absolute);
        found.map_err(|reason| Trouble::Usage(format!("{} is no folder: {reason}", folder.display())))
    });
    let cwd = folder.transpose()?.map(|folder| folder.display().to_string());
    let (sources, exclude_sources) = (args.source.clone(), args.exclude_source.clone());
    Ok(SessionFilter { sources, exclude_sources, cwd, all: args.all, ..SessionFilter::default() })
}

fn nothing(args: &ListArgs) -> String {
    if args.source.is_empty() && args.exclude_source.is_empty() && args.workspace.is_none() {
        super::NO_STORE.into()
    } else {
        "No conversation is like that. `hermes sessions stats` tells where conversations were held.".into()
    }
}

/// A line of `--json`: the record without the long texts.
fn as_json(summary: &SessionSummary) -> Value {
    let SessionSummary { session, preview, last_active, root } = summary;
    json!({
        "id": session.id,
        "title": session.title,
        "preview": preview,
        "source": session.source,
        "model": session.model,
        "started_at": session.started_at,
        "last_active": last_active,
        "ended_at": session.ended_at,
        "end_reason": session.end_reason,
        "message_count": session.message_count,
        "tool_call_count": session.tool_call_count,
        "input_tokens": session.usage.input,
        "output_tokens": session.usage.output,
        "estimated_cost_usd": session.billing.estimated,
        "actual_cost_usd": session.billing.actual,
        "parent_session_id": session.parent,
        "lineage_root_id": root,
        "cwd": session.cwd(),
    })
}

/// The ids as they are shown: on a terminal the shortest beginning that means this session and no other.
async fn ids(found: &[SessionSummary], desk: &Desk<'_>) -> Vec<String> {
    let mut ids = Vec::with_capacity(found.len());
    for summary in found {
        let id = summary.session.id.as_str();
        ids.push(if desk.paper.is_terminal() { short_id(id, desk.store).await } else { one_line(id) });
    }
    ids
}

async fn short_id(id: &str, store: &dyn SessionStore) -> String {
    for length in SHORT_IDS {
        let short: String = id.chars().take(length).collect();
        if short.len() < id.len() && store.resolve(&short).await.is_ok_and(|meant| meant.as_str() == id) {
            return one_line(&short);
        }
    }
    one_line(id)
}

/// A line of the table, every text fit to be shown.
struct Row {
    title: String,
    preview: String,
    active: String,
    source: String,
    messages: String,
    id: String,
}

impl Row {
    fn of(summary: &SessionSummary, id: String, clock: &Clock) -> Self {
        Self {
            title: one_line(summary.session.title.as_deref().unwrap_or_default()),
            preview: one_line(&summary.preview),
            active: clock.ago(summary.last_active),
            source: one_line(&summary.session.source),
            messages: summary.session.message_count.to_string(),
            id,
        }
    }

    /// What it was about, in this much room.
    fn what(&self, room: usize, paper: Paper) -> String {
        let filled = |text: &str, drawn: String| format!("{drawn}{}", " ".repeat(room.saturating_sub(cells(text))));
        let (title, preview) = match (self.title.is_empty(), self.preview.is_empty()) {
            (true, true) => ("", super::NOTHING_SAID),
            (true, false) => ("", self.preview.as_str()),
            (false, _) => (self.title.as_str(), self.preview.as_str()),
        };
        let title = cut(title, room);
        let gap = if title.is_empty() { "" } else { GAP };
        let left = room.saturating_sub(cells(&title) + gap.len());
        // A few letters of a question tell nothing.
        let preview = if title.is_empty() || left >= LEAST_WHAT / 2 { cut(preview, left) } else { String::new() };
        if preview.is_empty() {
            return filled(&title, paper.ink(Ink::Bold, &title));
        }
        let plain = format!("{title}{gap}{preview}");
        // Where there is no title the question stands for it.
        let beside = if title.is_empty() && !self.preview.is_empty() { preview } else { paper.ink(Ink::Dim, &preview) };
        filled(&plain, format!("{}{gap}{beside}", paper.ink(Ink::Bold, &title)))
    }

    fn what_cells(&self) -> usize {
        let gap = if self.title.is_empty() || self.preview.is_empty() { 0 } else { GAP.len() };
        (cells(&self.title) + gap + cells(&self.preview)).max(LEAST_WHAT)
    }
}

/// The table. What tells least gives way first when there is no room: the source, then the count of messages.
fn draw(rows: &[Row], paper: Paper) -> String {
    let head = Row {
        title: "CONVERSATION".into(),
        preview: String::new(),
        active: "ACTIVE".into(),
        source: "SOURCE".into(),
        messages: "MSGS".into(),
        id: "ID".into(),
    };
    let widest = |of: fn(&Row) -> usize| rows.iter().chain([&head]).map(of).max().unwrap_or(0);
    let (active, id) = (widest(|row| cells(&row.active)), widest(|row| cells(&row.id)));
    let (source, messages) = (widest(|row| cells(&row.source)), widest(|row| cells(&row.messages)));
    let source = if paper.is_terminal() { source.min(WIDEST_SOURCE) } else { source };
    let what = widest(Row::what_cells);
    let room = |others: &[usize]| {
        let taken: usize = others.iter().map(|width| width + GAP.len()).sum();
        paper.width.map_or(what, |width| width.saturating_sub(taken).min(what))
    };
    let wide = room(&[active, source, messages, id]);
    let (what, with_source, with_messages) = if wide >= LEAST_WHAT.min(what) {
        (wide, true, true)
    } else if room(&[active, messages, id]) >= LEAST_WHAT {
        (room(&[active, messages, id]), false, true)
    } else {
        (room(&[active, id]), false, false)
    };
    let line = |row: &Row, cell: &dyn Fn(&str) -> String, first: String| {
        let mut parts = vec![first, cell(&padded(&row.active, active))];
        if with_source {
            parts.push(cell(&padded(&cut(&row.source, source), source)));
        }
        if with_messages {
            let missing = messages.saturating_sub(cells(&row.messages));
            parts.push(cell(&format!("{}{}", " ".repeat(missing), row.messages)));
        }
        parts.push(cell(&row.id));
        parts.join(GAP)
    };
    let dim = |text: &str| paper.ink(Ink::Dim, text);
    let plain = |text: &str| text.to_owned();
    let mut out = line(&head, &dim, dim(&padded(&head.title, what)));
    out.push('\n');
    for row in rows {
        out.push_str(&line(row, &plain, row.what(what, paper)));
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(title: &str, preview: &str, active: &str, source: &str, messages: &str, id: &str) -> Row {
        let [title, preview, active, source, messages, id] =
            [title, preview, active, source, messages, id].map(str::to_owned);
        Row { title, preview, active, source, messages, id }
    }

    fn rows() -> Vec<Row> {
        vec![
            row(
                "Deploy the parser",
                "Please list the quokka files and fix it",
                "3 min ago",
                "cli",
                "6",
                "20251009_0853",
            ),
            row("", "多语言 ทดสอบ mixed scripts here", "yesterday 14:02", "telegram", "12", "20251009_0900"),
            row("A title that is rather long, as titles of models are", "", "2025-10-09", "cli", "1204", "cc000001"),
            row("", "", "2025-10-09", "cron", "0", "20251009_113000_ab0003"),
        ]
    }

    fn drawn(width: Option<usize>) -> String {
        draw(&rows(), Paper { width, colour: false })
    }

    #[test]
    fn every_line_says_what_it_was_at_every_width() {
        let wide = "\
CONVERSATION                                                ACTIVE           SOURCE    MSGS  ID
Deploy the parser  Please list the quokka files and fix it  3 min ago        cli          6  20251009_0853
多语言 ทดสอบ mixed scripts here                             yesterday 14:02  telegram    12  20251009_0900
A title that is rather long, as titles of models are        2025-10-09       cli       1204  cc000001
(nothing said)                                              2025-10-09       cron         0  20251009_113000_ab0003
";
        assert_eq!(drawn(None), wide);
        assert_eq!(drawn(Some(120)), wide);
        let usual = "\
CONVERSATION             ACTIVE           SOURCE    MSGS  ID
Deploy the parser        3 min ago        cli          6  20251009_0853
多语言 ทดสอบ mixed scr…  yesterday 14:02  telegram    12  20251009_0900
A title that is rather…  2025-10-09       cli       1204  cc000001
(nothing said)           2025-10-09       cron         0  20251009_113000_ab0003
";
        assert_eq!(drawn(Some(80)), usual);
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for width in 45..130 {
            for line in drawn(Some(width)).lines() {
                assert!(cells(line) <= width, "{width}: {line}");
            }
        }
    }

    #[test]
    fn colours_do_not_move_columns() {
        let plain = drawn(Some(100));
        let inked = draw(&rows(), Paper { width: Some(100), colour: true });
        assert_eq!(super::super::paper::shown(&inked), plain);
        assert!(inked.contains("\u{1b}[1mDeploy the parser\u{1b}[0m  \u{1b}[2mPlease"), "{inked}");
    }
}
