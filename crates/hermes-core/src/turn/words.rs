//! What the loop itself says to the model. Everything here is kept in the history like any other message, so that each
//! request starts with the bytes of the one before.

use super::names::LONGEST;
use super::reading::Nudge;
use crate::prompt::steer;
pub(super) use crate::repair::EMPTY;
use hermes_types::{Message, Object, Plain, ToolCall, clip};
use serde_json::{Value, json};

/// Marks a message that no person said. Kept in the store, never sent.
const SYNTHETIC: &str = "_synthetic";
const GO_ON: &str = "continue";

/// What stands for the answer that a turn did not get to, when the next question comes.
pub(super) const UNFINISHED: &str = "(no answer: the turn ended before it)";

const CONTINUE: &str = "Your answer reached the output limit. Go on exactly where it stopped; repeat nothing.";
const AFTER_TOOLS: &str = "You have the results of your calls and said nothing. Answer now, or make your next call.";
const ONLY_THOUGHTS: &str = "You thought and said nothing. Give your answer now, or make your next call.";
const LAST_WORD: &str = "The limit of steps for this turn is reached; no more tools can be called. Say now what was \
done, what you found, and what is left to do.";
/// What a person reads when even the last word did not come.
pub(super) const NO_LAST_WORD: &str = "The limit of steps was reached before there was an answer.";

const CALL_NAMES: usize = 3;

pub(super) fn go_on() -> Message {
    synthetic(GO_ON, CONTINUE)
}

/// Whether this asks for the rest of an answer.
pub(super) fn is_go_on(message: &Message) -> bool {
    matches!(message, Message::User(said) if said.extra.get(SYNTHETIC).is_some_and(|kind| kind == GO_ON))
}

pub(super) fn last_word() -> Message {
    synthetic("last_word", LAST_WORD)
}

pub(super) fn nudge(nudge: &Nudge) -> Message {
    match nudge {
        Nudge::AfterTools => synthetic("nudge", AFTER_TOOLS),
        Nudge::OnlyThoughts => synthetic("nudge", ONLY_THOUGHTS),
        Nudge::SmallerCalls(names) => {
            let text = format!(
                "Your call of {} did not arrive whole and was not run. Make smaller calls, below 8,000 tokens each; \
                 write a long text in several parts.",
                listed(names)
            );
            synthetic("nudge", &text)
        }
    }
}

/// Behind the last result of a reply some of whose calls could not be read.
pub(super) fn dropped(names: &[String]) -> String {
    format!("\n\n[Not run, because it did not arrive whole: {}. Make that call again.]", listed(names))
}

/// A few names that the model gave, as one short line that speaks for nobody else.
fn listed(names: &[String]) -> String {
    let short = |name: &String| clip(&name.replace(char::is_control, " "), LONGEST);
    let names: Vec<String> = names.iter().take(CALL_NAMES).map(short).collect();
    steer::defang(&names.join(", ")).into_owned()
}

/// The result of a call that began to change something before the program ended.
pub(super) fn outcome_unknown(call: &ToolCall) -> String {
    let name = &call.function.name;
    let error = format!(
        "Outcome unknown: the program ended while {name} was running. It may have done all, part or nothing of its \
         work. Look at what is there before you do it again."
    );
    json!({"error": error, "status": "unknown"}).to_string()
}

/// The result of a call that the end of the program came before.
pub(super) fn never_begun(call: &ToolCall) -> String {
    let error = format!("{} was not run: the program ended before it.", call.function.name);
    json!({"error": error, "status": "cancelled"}).to_string()
}

/// The result of a call that stands twice in one reply.
pub(super) fn said_twice() -> String {
    json!({"error": "Not run: the same call stands in this reply already; its result is above."}).to_string()
}

/// Whether the loop said this in the person's place.
pub fn is_synthetic(message: &Message) -> bool {
    matches!(message, Message::User(said) if said.extra.contains_key(SYNTHETIC))
}

pub(crate) fn synthetic(kind: &str, text: &str) -> Message {
    let mut extra = Object::new();
    extra.insert(SYNTHETIC.into(), Value::String(kind.into()));
    Message::User(Plain { content: text.into(), extra })
}
