//! A summary without a model: what an earlier summary told, what was called and what came of it, as the messages tell it.

use super::assemble::told_in;
use hermes_types::{CallId, Message, ToolCall, clip};
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

const LONGEST: usize = 8_000;
/// What is taken over of an earlier summary; however often this happens, it does not grow.
const LONGEST_EARLIER: usize = 8_000;
const LONGEST_LINE: usize = 200;
const LONGEST_ARGUMENTS: usize = 120;
const MOST_FILES: usize = 40;

/// The headings that these messages have something to say to.
pub(super) fn summary(messages: &[Arc<Message>]) -> String {
    let mut actions: Vec<String> = Vec::new();
    let mut files: BTreeSet<String> = BTreeSet::new();
    let mut earlier: Option<String> = None;
    // Which action the calls of the newest reply are.
    let mut open: HashMap<&CallId, usize> = HashMap::new();
    for message in messages {
        match &**message {
            Message::Assistant(said) => {
                open.clear();
                let text = message.text();
                if !text.trim().is_empty() {
                    actions.push(format!("said: {}", one_line(&text)));
                }
                for call in &said.tool_calls {
                    files.extend(files_of(call));
                    open.insert(call.pairing_id(), actions.len());
                    let arguments = clip(call.function.arguments.as_str(), LONGEST_ARGUMENTS);
                    actions.push(format!("{} {arguments}", call.function.name));
                }
            }
            Message::Tool(result) => {
                if let Some(action) = open.get(&result.tool_call_id).and_then(|at| actions.get_mut(*at)) {
                    *action = clip(&format!("{action} → {}", one_line(&message.text())), 2 * LONGEST_LINE);
                }
            }
            Message::User(_) => earlier = told_in(message).or(earlier),
            Message::System(_) => {}
        }
    }
    let files: Vec<String> = files.into_iter().take(MOST_FILES).collect();
    let parts = [
        earlier.map(|told| clip(&told, LONGEST_EARLIER)),
        (!actions.is_empty()).then(|| format!("## Completed Actions\n{}", newest(&actions))),
        (!files.is_empty()).then(|| format!("## Relevant Files\n{}", files.join("\n"))),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n")
}

/// The files that a call names.
fn files_of(call: &ToolCall) -> Vec<String> {
    let arguments = call.function.arguments.parse().unwrap_or_default();
    let named = ["path", "file_path", "file"].iter().filter_map(|key| arguments.get(*key)?.as_str());
    named.map(|path| clip(path, LONGEST_LINE)).collect()
}

/// The numbered actions, the newest for certain.
fn newest(actions: &[String]) -> String {
    let mut room = LONGEST;
    let mut lines: Vec<String> = Vec::new();
    for (number, action) in actions.iter().enumerate().rev() {
        let line = format!("{}. {action}", number + 1);
        if line.len() > room {
            lines.push(format!("({} earlier ones are left out)", number + 1));
            break;
        }
        room -= line.len();
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().take(LONGEST_LINE).collect();
    clip(&words.join(" "), LONGEST_LINE)
}
