//! A conversation as Markdown, to be read and kept.
//!
//! What people and models wrote is Markdown already and stands as it is; a fence they left open is closed, so that it
//! does not swallow what follows. Everything else stands in fences longer than any fence inside.

use super::super::paper::{one_line, shown};
use super::super::show::{facts, text_of};
use super::super::when::Clock;
use hermes_types::{Assistant, Message, RowState, Session, StoredMessage};

const SHORTEST_FENCE: usize = 3;

pub(super) fn of(session: &Session, messages: &[StoredMessage], clock: &Clock) -> String {
    let title = session.title.as_deref().map(one_line).filter(|title| !title.is_empty());
    let mut out = format!("# {}\n\n", title.unwrap_or_else(|| one_line(session.id.as_str())));
    for (name, value) in facts(session, clock) {
        out.push_str(&format!("- {name}: {}\n", one_line(&value)));
    }
    for stored in messages {
        out.push_str(&message(stored, clock));
    }
    out
}

fn message(stored: &StoredMessage, clock: &Clock) -> String {
    let who = match &stored.message {
        Message::System(_) => "System".to_owned(),
        Message::User(_) => "You".to_owned(),
        Message::Assistant(_) => "Hermes".to_owned(),
        Message::Tool(result) => format!("Result of {}", one_line(result.name.as_deref().unwrap_or("a tool"))),
    };
    let fate = match stored.state {
        RowState::Live => "",
        RowState::Compacted => " (summarised away)",
        RowState::Undone => " (taken back)",
    };
    let body = match &stored.message {
        Message::System(plain) | Message::User(plain) => spoken(&text_of(&plain.content)),
        Message::Assistant(said) => answer(said),
        Message::Tool(result) => fenced(&text_of(&result.content), ""),
    };
    format!("\n## {who}, {}{fate}\n{body}", clock.stamp(stored.at))
}

fn answer(said: &Assistant) -> String {
    let mut out = String::new();
    if let Some(thought) = said.reasoning.as_ref().or(said.reasoning_content.as_ref()) {
        let quoted: Vec<String> = shown(thought).trim_end().lines().map(|line| format!("> {line}")).collect();
        out.push_str(&format!("\n{}\n", quoted.join("\n")));
    }
    if let Some(content) = &said.content {
        out.push_str(&spoken(&text_of(content)));
    }
    for call in &said.tool_calls {
        let arguments = fenced(call.function.arguments.as_str(), "json");
        out.push_str(&format!("\nCalls **{}**:\n{arguments}", one_line(&call.function.name)));
    }
    out
}

fn spoken(text: &str) -> String {
    let text = shown(text);
    let text = text.trim_matches('\n');
    if text.trim().is_empty() {
        return String::new();
    }
    let closing = open_fence(text).map(|fence| format!("{fence}\n")).unwrap_or_default();
    format!("\n{text}\n{closing}")
}

fn fenced(text: &str, language: &str) -> String {
    let text = shown(text);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(SHORTEST_FENCE.max(longest + 1));
    format!("\n{fence}{language}\n{}\n{fence}\n", text.trim_end_matches('\n'))
}

/// The fence that a text opens and does not close.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let indent = line.len() - line.trim_start_matches(' ').len();
        let line = line.trim_start_matches(' ');
        let Some(mark) = line.chars().next().filter(|mark| matches!(mark, '`' | '~') && indent < 4) else { continue };
        let length = line.len() - line.trim_start_matches(mark).len();
        let info = line.trim_start_matches(mark);
        match open {
            Some((opened, least)) if mark == opened && length >= least && info.trim().is_empty() => open = None,
            None if length >= SHORTEST_FENCE && !(mark == '`' && info.contains('`')) => open = Some((mark, length)),
            _ => {}
        }
    }
    open.map(|(mark, length)| mark.to_string().repeat(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_are_longer_than_what_they_hold_and_open_ones_are_closed() {
        assert_eq!(fenced("plain", "json"), "\n```json\nplain\n```\n");
        assert_eq!(fenced("a\n````\nb", ""), "\n`````\na\n````\nb\n`````\n");
        let table = [
            ("no fence", None),
            ("```rust\nfn main() {}\n```", None),
            ("```rust\nfn main() {}", Some("```")),
            ("~~~~\n```\n~~~", Some("~~~~")),
            ("```inline``` code", None),
            ("    ```\nindented code", None),
            ("````\n```\n````\n```", Some("```")),
        ];
        for (text, fence) in table {
            assert_eq!(open_fence(text).as_deref(), fence, "{text}");
        }
        assert_eq!(spoken("```\nleft open"), "\n```\nleft open\n```\n");
    }
}
