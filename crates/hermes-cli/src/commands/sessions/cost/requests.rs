//! `hermes sessions cost NAME --requests`: every request of a conversation, with what it shares with the one before, what of
//! it a prompt cache gave, and why where it could not.

use super::super::paper::one_line;
use super::super::{Console, Desk, Exit, Trouble};
use crate::commands::table::{self, grouped};
use bytes::Bytes;
use hermes_core::prefix;
use hermes_types::{Answered, BreakCause, Exchange, Kinship, Moment, SessionId, Usage};
use serde::Serialize;
use std::collections::HashMap;

/// So many are held at once: each has a whole body.
const PAGE: usize = 32;

/// One request, as far as it says something about money.
#[derive(Debug, Clone, PartialEq, Serialize)]
struct Row {
    session: SessionId,
    number: usize,
    at: Moment,
    task: String,
    model: String,
    bytes: usize,
    /// At the beginning, with the request of the conversation before it.
    shared_bytes: usize,
    usage: Option<Usage>,
    /// Why it does not go on from there.
    broken_by: Option<&'static str>,
}

pub(super) async fn run(
    sessions: &[SessionId],
    asked: &SessionId,
    json: bool,
    desk: &Desk<'_>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let rows = rows(sessions, asked, desk).await?;
    if json {
        return desk.print_json(&rows, console);
    }
    if rows.is_empty() {
        writeln!(console.err, "No request of this conversation was recorded.")?;
        return Ok(Exit::Done);
    }
    let heading = ["#", "for", "model", "bytes", "shared", "new", "written", "from cache", "break"].map(str::to_owned);
    let lines: Vec<[String; 9]> = std::iter::once(heading).chain(rows.iter().map(Row::cells)).collect();
    table::write_within(desk.paper.width, console.out, &lines)?;
    let breaks = rows.iter().filter(|row| row.broken_by.is_some()).count();
    let unexplained = rows.iter().filter(|row| row.broken_by == Some(UNEXPLAINED)).count();
    writeln!(
        console.err,
        "{breaks} of {} do not begin with the request before; {unexplained} unexplained.",
        rows.len()
    )?;
    Ok(Exit::Done)
}

const UNEXPLAINED: &str = "unexplained";

/// Every request of these sessions. A conversation that goes on in another session is one conversation.
async fn rows(sessions: &[SessionId], asked: &SessionId, desk: &Desk<'_>) -> Result<Vec<Row>, Trouble> {
    let family = desk.store.lineage(asked).await?;
    let goes_on = family.into_iter().filter(|one| one.kinship == Kinship::Continuation);
    let before_of: HashMap<SessionId, SessionId> = goes_on.filter_map(|one| Some((one.id, one.parent?))).collect();
    let mut last: HashMap<SessionId, (Bytes, String)> = HashMap::new();
    let mut rows = Vec::new();
    for session in sessions {
        let mut before = before_of.get(session).and_then(|parent| last.get(parent)).cloned();
        let mut offset = 0;
        let mut is_first = true;
        loop {
            let page = desk.store.exchanges(session, PAGE, offset).await?;
            if page.is_empty() {
                break;
            }
            for exchange in page {
                offset += 1;
                let mut row = row(offset, &exchange, before.as_ref());
                // Whoever goes on in it, what the conversation went on in another session for is why.
                if is_first && exchange.task.is_empty() && before_of.contains_key(session) {
                    row.broken_by = row.broken_by.map(|_| BreakCause::Compression.as_str());
                }
                is_first &= !exchange.task.is_empty();
                rows.push(row);
                if exchange.task.is_empty() {
                    before = Some((exchange.sent.body, exchange.model));
                }
            }
        }
        last.extend(before.map(|before| (session.clone(), before)));
    }
    Ok(rows)
}

fn row(number: usize, exchange: &Exchange, before: Option<&(Bytes, String)>) -> Row {
    let body = &exchange.sent.body;
    // A question at the end of the conversation leaves a last word of the person out, so only the conversation can break.
    let breaks = exchange.task.is_empty()
        && before.is_some_and(|(earlier, model)| *model != exchange.model || !prefix::extends(earlier, body));
    Row {
        session: exchange.session.clone(),
        number,
        at: exchange.at,
        task: exchange.task.clone(),
        model: exchange.model.clone(),
        bytes: body.len(),
        shared_bytes: before.map_or(0, |(earlier, _)| prefix::shared(earlier, body)),
        usage: match &exchange.answer {
            Answered::Reply(reply) => reply.usage,
            Answered::Fault(_) | Answered::Dropped => None,
        },
        broken_by: breaks.then(|| exchange.why.map_or(UNEXPLAINED, |cause| cause.as_str())),
    }
}

impl Row {
    fn cells(&self) -> [String; 9] {
        let wide = |count: usize| grouped(u64::try_from(count).unwrap_or(u64::MAX));
        let tokens =
            |count: fn(&Usage) -> u64| self.usage.as_ref().map_or("?".to_owned(), |usage| grouped(count(usage)));
        let purpose = if self.task.is_empty() { "conversation" } else { &self.task };
        [
            self.number.to_string(),
            one_line(purpose),
            one_line(&self.model),
            wide(self.bytes),
            wide(self.shared_bytes),
            tokens(|usage| usage.input),
            tokens(|usage| usage.cache_write),
            tokens(|usage| usage.cache_read),
            self.broken_by.unwrap_or_default().to_owned(),
        ]
    }
}
