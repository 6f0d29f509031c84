//! `hermes sessions fork`: back to a message, with a new session that goes on from there.
//!
//! The copy keeps the system prompt and everything up to the message. It never ends between a call and its results: a
//! model would be shown a call that nobody answered.

use super::paper::one_line;
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::ask::new_session_id;
use clap::Args;
use hermes_core::store::StoreError;
use hermes_types::{CallId, Message, MessageId, NewSession, RowState, StoredMessage};

#[derive(Debug, Args)]
pub struct ForkArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// The last message of the copy, by its number in `show` (#12), or counted from the first one
    #[arg(long, value_name = "MESSAGE", value_parser = number, allow_negative_numbers = true)]
    pub at: i64,
}

fn number(typed: &str) -> Result<i64, String> {
    let digits = typed.strip_prefix('#').unwrap_or(typed);
    let number = digits.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "a message is named by its number, as `hermes sessions show` has it".to_owned())
}

pub(super) async fn run(args: ForkArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let from = desk.find(&args.name).await?;
    let origin = desk.store.session(&from).await?.ok_or_else(|| StoreError::NoSession(from.to_string()))?;
    let mut messages = desk.store.messages(&from).await?;
    messages.retain(|row| row.state == RowState::Live);
    let at = place(&messages, args.at).map_err(|refusal| Trouble::Refused(refusal.told(from.as_str())))?;
    let id = new_session_id();
    desk.store.branch(&from, NewSession::new(id.clone(), origin.source), Some(at)).await?;
    let kept = messages.iter().filter(|row| row.id <= at).count();
    writeln!(console.out, "{id}")?;
    writeln!(
        console.err,
        "It holds {} of {}. Go on with `hermes --resume {id}`.",
        count(kept as u64, "message"),
        one_line(from.as_str())
    )?;
    Ok(Exit::Done)
}

/// Why a conversation cannot be cut at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    NoMessage {
        typed: i64,
        newest: Option<MessageId>,
    },
    /// Calls are open there; the nearest places before and behind it are whole.
    OpenCalls {
        at: MessageId,
        before: Option<MessageId>,
        behind: Option<MessageId>,
    },
}

impl Refusal {
    fn told(self, session: &str) -> String {
        let session = one_line(session);
        match self {
            Self::NoMessage { typed, newest: Some(newest) } => format!(
                "{session} has no message {typed}; its last one is #{newest}. `hermes sessions show {session}` has the \
                 numbers."
            ),
            Self::NoMessage { newest: None, .. } => {
                format!("Nothing was said in {session}, so there is nothing to copy.")
            }
            Self::OpenCalls { at, before, behind } => {
                let places: Vec<String> = before.iter().chain(&behind).map(|id| format!("--at {id}")).collect();
                let nearest = match places.is_empty() {
                    true => "There is no place before or behind it either.".to_owned(),
                    false => format!("The nearest places: {}.", places.join(" and ")),
                };
                format!("Behind message #{at} a call has no result yet; a copy cannot end there. {nearest}")
            }
        }
    }
}

/// The message that is meant, if a conversation can end with it.
fn place(messages: &[StoredMessage], typed: i64) -> Result<MessageId, Refusal> {
    let by_id = messages.iter().position(|row| row.id == MessageId(typed));
    let by_count =
        || usize::try_from(typed).ok().and_then(|nth| nth.checked_sub(1)).filter(|nth| *nth < messages.len());
    let newest = messages.last().map(|row| row.id);
    let found = by_id.or_else(by_count).and_then(|index| Some((index, messages.get(index)?.id)));
    let (index, at) = found.ok_or(Refusal::NoMessage { typed, newest })?;
    let whole = whole_places(messages);
    if whole.get(index).copied().unwrap_or(false) {
        return Ok(at);
    }
    let ids = || messages.iter().zip(&whole).filter(|(_, whole)| **whole).map(|(row, _)| row.id);
    let (before, behind) = (ids().rfind(|id| *id < at), ids().find(|id| *id > at));
    Err(Refusal::OpenCalls { at, before, behind })
}

/// Behind which messages no call waits for its result.
fn whole_places(messages: &[StoredMessage]) -> Vec<bool> {
    let mut open: Vec<CallId> = Vec::new();
    let is_whole = |row: &StoredMessage| {
        match &row.message {
            // Whatever was left open before, nobody answers it any more.
            Message::Assistant(said) => open = said.tool_calls.iter().map(|call| call.pairing_id().clone()).collect(),
            Message::Tool(result) => open.retain(|call| *call != result.tool_call_id),
            Message::User(_) | Message::System(_) => open.clear(),
        }
        open.is_empty()
    };
    messages.iter().map(is_whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Assistant, Moment, Object, SessionId, ToolCall};

    /// A conversation as a word each: `u`ser, `a`nswer, `2` calls, `t`ool result.
    fn said(words: &str) -> Vec<StoredMessage> {
        let mut calls = 0;
        let mut results = 0;
        let message = |word: char| match word {
            'u' => Message::user("?"),
            'a' => Message::assistant("!"),
            't' => {
                results += 1;
                Message::tool(&CallId::new(format!("c{results}")), "look".to_owned(), "seen")
            }
            many => {
                let many = many.to_digit(10).expect("a number of calls");
                let call = |nth| ToolCall::new(CallId::new(format!("c{}", calls + nth)), "look", "{}");
                let tool_calls = (1..=many).map(call).collect();
                calls += many;
                Message::Assistant(Assistant { tool_calls, ..Assistant::default() })
            }
        };
        let rows = words.chars().map(message).zip(11..);
        let row = |(message, id)| StoredMessage {
            id: MessageId(id),
            session_id: SessionId::new("s"),
            at: Moment::default(),
            token_count: None,
            sent: None,
            state: RowState::Live,
            message,
            foreign_role: None,
            columns: Object::new(),
        };
        rows.map(row).collect()
    }

    #[test]
    fn a_copy_ends_where_every_call_has_its_result() {
        let open = |at, before: i64, behind: i64| {
            let id = |id: i64| (id > 0).then_some(MessageId(id));
            Err(Refusal::OpenCalls { at: MessageId(at), before: id(before), behind: id(behind) })
        };
        let table = [
            ("uaua", 12, Ok(MessageId(12))),
            ("uaua", 2, Ok(MessageId(12))),
            ("u2tta", 11, Ok(MessageId(11))),
            ("u2tta", 12, open(12, 11, 14)),
            ("u2tta", 13, open(13, 11, 14)),
            ("u2tta", 14, Ok(MessageId(14))),
            ("u1", 12, open(12, 11, 0)),
            ("u1ua", 13, Ok(MessageId(13))),
            ("ua", 99, Err(Refusal::NoMessage { typed: 99, newest: Some(MessageId(12)) })),
            ("", 1, Err(Refusal::NoMessage { typed: 1, newest: None })),
        ];
        for (words, typed, expected) in table {
            assert_eq!(place(&said(words), typed), expected, "{words} at {typed}");
        }
    }

    #[test]
    fn a_message_is_named_as_show_names_it() {
        assert_eq!((number("12"), number("#12")), (Ok(12), Ok(12)));
        for odd in ["", "#", "0", "-1", "x"] {
            assert!(number(odd).is_err(), "{odd}");
        }
    }
}
