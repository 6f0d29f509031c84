//! Where a conversation may be divided: between steps, never between a call and its result.

use super::weight;
use hermes_types::Message;
use std::sync::Arc;

/// The places where a step begins: a message of the person, or a reply with all its results.
fn steps(history: &[Arc<Message>]) -> Vec<usize> {
    let begins = |message: &Message| !matches!(message, Message::Tool(_));
    history.iter().enumerate().filter(|(_, message)| begins(message)).map(|(at, _)| at).collect()
}

/// Where the tail begins: the newest steps, as many as fit into `room` tokens and are no more than `most` messages, but
/// always the last one, and everything from `unread` on.
pub(super) fn tail(history: &[Arc<Message>], room: u64, most: usize, unread: usize) -> usize {
    let steps = steps(history);
    let mut start = history.len();
    let mut weighs = 0;
    for step in steps.iter().rev().copied() {
        let step_weighs = weight::of_all(history.get(step..start).unwrap_or_default());
        let is_demanded = start == history.len() || start > unread;
        let fits = weighs + step_weighs <= room && history.len() - step <= most;
        if !is_demanded && !fits {
            break;
        }
        weighs += step_weighs;
        start = step;
    }
    // A result at the very beginning has no step of its own.
    if steps.first().is_none_or(|first| start <= *first) { 0 } else { start }
}

/// Where the head ends: at most `most` messages, whole steps, and not behind a message of the person, because what comes
/// next is in their name too.
pub(super) fn head(history: &[Arc<Message>], most: usize, before: usize) -> usize {
    let ends = steps(history).into_iter().chain([history.len()]).filter(|end| *end <= before);
    let is_answered = |end: &usize| {
        end.checked_sub(1).and_then(|last| history.get(last)).is_some_and(|last| !matches!(**last, Message::User(_)))
    };
    // A step that begins within the protected messages is protected as a whole.
    let starts_within = |end: usize| steps_start_before(history, end) < most;
    ends.filter(is_answered).filter(|end| starts_within(*end)).max().unwrap_or_default()
}

/// Where the step begins that ends at `end`.
fn steps_start_before(history: &[Arc<Message>], end: usize) -> usize {
    let within = history.get(..end).unwrap_or_default();
    within.iter().rposition(|message| !matches!(**message, Message::Tool(_))).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Assistant, CallId, ToolCall};

    fn call(id: &str) -> Message {
        let calls = vec![ToolCall::new(CallId::new(id), "look", "{}")];
        Message::Assistant(Assistant { tool_calls: calls, ..Assistant::default() })
    }

    fn history() -> Vec<Arc<Message>> {
        let result = |id: &str| Message::tool(&CallId::new(id), "look", "x".repeat(400));
        [Message::user("q"), call("a"), result("a"), call("b"), result("b"), call("c"), result("c")]
            .map(Arc::new)
            .to_vec()
    }

    #[test]
    fn the_tail_has_whole_steps_and_always_the_last() {
        let history = history();
        let table = [
            ("nothing fits", 0, 20, 7, 5),
            ("one more fits", 300, 20, 7, 3),
            ("no more than so many messages", 9_999, 3, 7, 5),
            ("what nobody read stays", 0, 20, 3, 3),
            ("everything fits", 9_999, 20, 7, 0),
        ];
        for (what, room, most, unread, start) in table {
            assert_eq!(tail(&history, room, most, unread), start, "{what}");
        }
        assert_eq!(tail(&[], 10, 10, 0), 0);
    }

    #[test]
    fn the_head_ends_behind_a_whole_step() {
        let history = history();
        assert_eq!(head(&history, 3, 7), 3);
        assert_eq!(head(&history, 4, 7), 5, "a step that begins in it belongs to it");
        assert_eq!(head(&history, 4, 4), 3, "but not beyond where the tail begins");
        assert_eq!((head(&history, 1, 7), head(&history, 0, 7)), (0, 0), "a question alone is no head");
    }
}
