//! What a person reads of a call in one line: what it is about, and why it came to nothing.
//!
//! Arguments and results are written by models and commands. So one short line of them is taken, and secrets in it are
//! covered, whatever the owner decided about results: these words go to screens and logs.

use crate::tool::Afterword;
use hermes_core::redact;
use hermes_types::{CallId, Content, Event, Object, ToolStatus, clip};
use serde_json::Value;

/// Arguments that say what a call is about, the most telling first.
const MAIN_ARGUMENTS: [&str; 11] =
    ["command", "path", "pattern", "query", "url", "question", "goal", "content", "old_text", "action", "name"];
/// Arguments that are lists, and what tells of each item.
const LISTS: [(&str, &str); 2] = [("tasks", "goal"), ("operations", "content")];
const LONGEST: usize = 80;

/// The argument a person would want to see.
pub(super) fn about(arguments: Option<&Object>) -> String {
    let Some(arguments) = arguments else { return String::new() };
    let main = MAIN_ARGUMENTS.iter().find_map(|name| arguments.get(*name)?.as_str().map(str::to_owned));
    let list = || {
        LISTS.iter().find_map(|(name, field)| {
            let items = arguments.get(*name)?.as_array()?;
            let told: Vec<&str> = items.iter().filter_map(|item| item.get(*field)?.as_str()).collect();
            Some(format!("{} {name}: {}", items.len(), told.join("; ")))
        })
    };
    line(&main.or_else(list).unwrap_or_default())
}

/// Why a call came to nothing, from the error the model is told.
pub(super) fn failure(content: &Content) -> Afterword {
    let told = serde_json::from_str::<Value>(&content.text()).ok();
    let note = told.as_ref().and_then(|told| told.get("error")?.as_str()).map(line);
    Afterword { note: note.filter(|note| !note.is_empty()), ..Afterword::default() }
}

/// The news that a call has its result.
pub(super) fn ended(
    call: &CallId,
    name: &str,
    status: ToolStatus,
    duration_ms: u64,
    about: String,
    afterword: Afterword,
) -> Event {
    let Afterword { exit_code, note } = afterword;
    let note = note.as_deref().map(line);
    Event::ToolFinished { call_id: call.clone(), name: name.to_owned(), status, duration_ms, about, exit_code, note }
}

/// The first line that says something, covered before it is cut.
fn line(text: &str) -> String {
    let covered = redact::text(text);
    clip(covered.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_told_by_its_most_telling_argument() {
        let table = [
            (json!({"path": "a.txt", "content": "long text"}), "a.txt"),
            (json!({"command": "\n  make\nmake install"}), "make"),
            (json!({"action": "add", "target": "user", "content": "Likes tea"}), "Likes tea"),
            (json!({"action": "list"}), "list"),
            (json!({"tasks": [{"goal": "Count"}, {"goal": "List"}]}), "2 tasks: Count; List"),
            (json!({"todos": []}), ""),
        ];
        for (arguments, told) in table {
            assert_eq!(about(arguments.as_object()), told);
        }
        assert_eq!(about(None), "");
    }

    #[test]
    fn secrets_are_covered_before_the_line_is_cut() {
        let key = format!("sk-proj-{}", "a1B2c3D4e5F6g7H8".repeat(3));
        let arguments = json!({"command": format!("curl -H 'Authorization: Bearer {key}' https://api.example.com")});
        let told = about(arguments.as_object());
        assert!(told.starts_with("curl") && !told.contains("a1B2"), "{told}");
    }

    #[test]
    fn a_failure_is_told_in_its_own_first_line() {
        let told = |text: &str| failure(&Content::Text(text.into())).note;
        assert_eq!(told(r#"{"error": "File not found: a.txt\nmore"}"#).as_deref(), Some("File not found: a.txt"));
        for silent in [r#"{"error": null}"#, r#"{"error": ""}"#, "no JSON"] {
            assert_eq!(told(silent), None, "{silent}");
        }
    }
}
