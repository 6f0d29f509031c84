//! A summary without a model: what was called and what came of it, as the messages tell it.

use hermes_types::{Message, clip};
use std::collections::BTreeSet;
use std::sync::Arc;

const LONGEST: usize = 8_000;
const LONGEST_LINE: usize = 200;
const LONGEST_ARGUMENTS: usize = 120;
const MOST_FILES: usize = 40;

/// The headings that the calls and results of these messages have something to say to.
pub(super) fn summary(messages: &[Arc<Message>]) -> String {
    let mut actions: Vec<String> = Vec::new();
    let mut files: BTreeSet<String> = BTreeSet::new();
    for message in messages {
        match &**message {
            Message::Assistant(said) => {
                for call in &said.tool_calls {
                    let arguments = call.function.arguments.parse().unwrap_or_default();
                    files.extend(
                        ["path", "file_path", "file"]
                            .iter()
                            .filter_map(|key| arguments.get(*key)?.as_str())
                            .map(|path| clip(path, LONGEST_LINE)),
                    );
                    actions.push(format!(
                        "{} {}",
                        call.function.name,
                        clip(call.function.arguments.as_str(), LONGEST_ARGUMENTS)
                    ));
                }
                let text = message.text();
                if !text.trim().is_empty() {
                    actions.push(format!("said: {}", one_line(&text)));
                }
            }
            Message::Tool(_) => {
                if let Some(action) = actions.last_mut() {
                    action.push_str(" → ");
                    action.push_str(&one_line(&message.text()));
                    *action = clip(action, 2 * LONGEST_LINE);
                }
            }
            Message::System(_) | Message::User(_) => {}
        }
    }
    let files: Vec<String> = files.into_iter().take(MOST_FILES).collect();
    let mut parts = vec![format!("## Completed Actions\n{}", newest(&actions))];
    if !files.is_empty() {
        parts.push(format!("## Relevant Files\n{}", files.join("\n")));
    }
    parts.join("\n\n")
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
