//! `hermes sessions prune`: old conversations that have ended, deleted together.
//!
//! Nothing younger than ninety days goes unless a time is given. What goes is listed before it does, and somebody has to
//! agree. A conversation that has not ended never goes; when one matches, that is said.

use super::change::agreed;
use super::paper::{Paper, cut, one_line};
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::table;
use clap::Args;
use hermes_core::store::StoreError;
use hermes_types::{ListOrder, Moment, Pruned, SessionFilter, SessionId, SessionSummary};
use std::collections::{HashMap, HashSet};

const USUAL_AGE: &str = "90d";
const PAGE: usize = 1000;
/// A list longer than this is not read before it is agreed to; `--dry-run` shows all of it.
const LISTED: usize = 20;
const WHAT_CELLS: usize = 40;

#[derive(Debug, Args)]
pub struct PruneArgs {
    /// Began longer ago than this [default: 90d, unless --before or --after is given]
    #[arg(long, value_name = "TIME", conflicts_with = "before")]
    pub older_than: Option<String>,
    /// Began before this time
    #[arg(long, value_name = "TIME")]
    pub before: Option<String>,
    /// Began at this time or later
    #[arg(long, value_name = "TIME")]
    pub after: Option<String>,
    /// Held here (repeatable)
    #[arg(long, value_name = "SOURCE")]
    pub source: Vec<String>,
    /// With this in the title
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// Ended for this reason
    #[arg(long, value_name = "REASON")]
    pub end_reason: Option<String>,
    /// Held with this model
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,
    /// With at least this many messages
    #[arg(long, value_name = "N")]
    pub min_messages: Option<u64>,
    /// With at most this many messages
    #[arg(long, value_name = "N")]
    pub max_messages: Option<u64>,
    /// Also what never ended, when nothing was said in it for a day
    #[arg(long)]
    pub include_abandoned: bool,
    /// List what would be deleted, and delete nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask
    #[arg(short = 'y', long)]
    pub yes: bool,
}

pub(super) async fn run(args: PruneArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let filter = filter(&args, desk)?;
    let mut matching = matching(&filter, desk).await?;
    let going = desk.store.prune(filter.clone(), true).await?;
    let goes: HashSet<&SessionId> = going.sessions.iter().collect();
    let live = matching.iter().filter(|(id, seen)| seen.live && !goes.contains(id)).count() as u64;
    // A conversation goes as a whole, also with parts that are not like that by themselves.
    for id in goes {
        if !matching.contains_key(id)
            && let Some(session) = desk.store.session(id).await?
        {
            let (last_active, preview, root) = (session.started_at, String::new(), None);
            matching.insert(id.clone(), SessionSummary { session, preview, last_active, root }.into());
        }
    }
    if live > 0 {
        let them = if live == 1 {
            "conversation like that has not ended and stays"
        } else {
            "conversations like that have not ended and stay"
        };
        writeln!(console.err, "{} {them}.", table::grouped(live))?;
    }
    if going.sessions.is_empty() {
        writeln!(console.err, "There is nothing to delete{}.", bounds(&filter, desk))?;
        return Ok(Exit::Done);
    }
    if args.dry_run {
        write_going(desk.paper.width, console.out, &going.sessions, &matching, desk)?;
        writeln!(console.err, "{}{} would be deleted; nothing was.", amount(&going), bounds(&filter, desk))?;
        return Ok(Exit::Done);
    }
    if !args.yes {
        let listed = going.sessions.get(..LISTED).unwrap_or(&going.sessions);
        write_going(Paper::of_errors().width, console.err, listed, &matching, desk)?;
        let hidden = going.sessions.len() - listed.len();
        if hidden > 0 {
            writeln!(console.err, "  … and {} more; --dry-run lists all", table::grouped(hidden as u64))?;
        }
        agreed(&format!("Delete {} for good?", amount(&going))).await?;
        let now = desk.store.prune(filter.clone(), true).await?;
        unlisted(&going, &now)?;
    }
    let gone = desk.store.prune(filter, false).await?;
    writeln!(console.out, "Deleted {}.", amount(&gone))?;
    Ok(Exit::Done)
}

/// Nobody agreed to what was not there to be seen.
fn unlisted(listed: &Pruned, now: &Pruned) -> Result<(), Trouble> {
    let listed: HashSet<&SessionId> = listed.sessions.iter().collect();
    let others: Vec<String> =
        now.sessions.iter().filter(|id| !listed.contains(id)).map(|id| one_line(id.as_str())).collect();
    if others.is_empty() {
        return Ok(());
    }
    Err(Trouble::Refused(format!(
        "Nothing was deleted: meanwhile {} ended and would go, too. Look at the new list and answer again.",
        others.join(", ")
    )))
}

fn filter(args: &PruneArgs, desk: &Desk<'_>) -> Result<SessionFilter, Trouble> {
    let usual = args.after.is_none().then_some(USUAL_AGE);
    let before = args.older_than.as_deref().or(args.before.as_deref()).or(usual);
    let started_before = desk.time(before)?;
    if let Some(ahead) = started_before.filter(|before| args.older_than.is_some() && desk.clock.is_ahead(*before)) {
        return Err(Trouble::Usage(format!(
            "--older-than {} lies ahead: nothing is that old. Everything is `--before now`",
            desk.clock.stamp(ahead)
        )));
    }
    let filter = SessionFilter {
        sources: args.source.clone(),
        started_before,
        started_after: desk.time(args.after.as_deref())?,
        title: args.title.clone(),
        model: args.model.clone(),
        end_reason: args.end_reason.clone(),
        min_messages: args.min_messages,
        max_messages: args.max_messages,
        abandoned_too: args.include_abandoned,
        ..SessionFilter::default()
    };
    match (filter.started_after, filter.started_before) {
        (Some(after), Some(before)) if after >= before => Err(Trouble::Usage(format!(
            "no time is both after {} and before {}",
            desk.clock.stamp(after),
            desk.clock.stamp(before)
        ))),
        _ => Ok(filter),
    }
}

/// What is told about a session that matches. Also those are seen that stay: the live ones and the archived.
struct Seen {
    what: String,
    source: String,
    messages: u64,
    began: Moment,
    live: bool,
}

impl From<SessionSummary> for Seen {
    fn from(summary: SessionSummary) -> Self {
        let session = summary.session;
        let what = session.title.map_or(summary.preview, |title| format!("\"{title}\""));
        Self {
            what: if what.is_empty() { super::NOTHING_SAID.into() } else { cut(&one_line(&what), WHAT_CELLS) },
            source: one_line(&session.source),
            messages: session.message_count,
            began: session.started_at,
            live: session.ended_at.is_none(),
        }
    }
}

async fn matching(filter: &SessionFilter, desk: &Desk<'_>) -> Result<HashMap<SessionId, Seen>, StoreError> {
    let filter = SessionFilter { all: true, ..filter.clone() };
    let mut seen = HashMap::new();
    let mut offset = 0;
    loop {
        let page = desk.store.list(filter.clone(), ListOrder::Started, PAGE, offset).await?;
        let last = page.len() < PAGE;
        offset += page.len();
        seen.extend(page.into_iter().map(|summary| (summary.session.id.clone(), summary.into())));
        if last {
            return Ok(seen);
        }
    }
}

fn write_going(
    width: Option<usize>,
    out: &mut dyn std::io::Write,
    ids: &[SessionId],
    matching: &HashMap<SessionId, Seen>,
    desk: &Desk<'_>,
) -> std::io::Result<()> {
    let row = |id: &SessionId| match matching.get(id) {
        Some(seen) => [
            one_line(id.as_str()),
            desk.clock.day(seen.began),
            seen.source.clone(),
            count(seen.messages, "message"),
            seen.what.clone(),
        ],
        // It ended a moment ago.
        None => [one_line(id.as_str()), String::new(), String::new(), String::new(), String::new()],
    };
    let rows: Vec<[String; 5]> = ids.iter().map(row).collect();
    table::write_within(width, out, &rows)
}

fn amount(pruned: &Pruned) -> String {
    format!("{} with {}", count(pruned.sessions.len() as u64, "session"), count(pruned.messages, "message"))
}

/// The times that were meant, so that a default is seen.
fn bounds(filter: &SessionFilter, desk: &Desk<'_>) -> String {
    let told = |word: &str, time: Moment| format!(" {word} {}", desk.clock.stamp(time));
    let after = filter.started_after.map(|time| told("at or after", time));
    let before = filter.started_before.map(|time| told("before", time));
    match (after, before) {
        (None, None) => String::new(),
        (Some(one), None) | (None, Some(one)) => format!(" that began{one}"),
        (Some(after), Some(before)) => format!(" that began{after} and{before}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ended_while_the_question_was_open_stops_everything() {
        let of = |ids: &[&str]| Pruned { sessions: ids.iter().map(|id| SessionId::new(*id)).collect(), messages: 0 };
        assert!(unlisted(&of(&["a", "b"]), &of(&["b"])).is_ok());
        let refused = unlisted(&of(&["a"]), &of(&["a", "b", "c"])).expect_err("more than was agreed to");
        assert!(refused.to_string().starts_with("Nothing was deleted: meanwhile b, c ended"), "{refused}");
    }
}
