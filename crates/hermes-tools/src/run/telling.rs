//! What a person reads of a call in one line: what it is about, and why it came to nothing.
//!
//! Arguments and results are written by models and commands. So one short line of them is taken, with secrets covered
//! unless the owner wants to see them. They are covered before the line is cut: half of a secret is not known as one.

use super::Finished;
use crate::cover::Cover;
use crate::tool::Afterword;
use hermes_types::{Event, Object, ToolStatus, clip};
use serde_json::Value;

/// Arguments that say what a call is about, the most telling first.
const MAIN_ARGUMENTS: [&str; 11] =
    ["command", "path", "pattern", "query", "url", "question", "goal", "content", "old_text", "action", "name"];
/// Arguments that are lists, and what tells of each item.
const LISTS: [(&str, &str); 2] = [("tasks", "goal"), ("operations", "content")];
const LONGEST: usize = 80;
/// Characters that are read for a line; a secret that begins in it is over by then.
const LOOKED_AT: usize = 4_096;

/// The argument a person would want to see.
pub(super) fn about(arguments: Option<&Object>, cover: Cover) -> String {
    let Some(arguments) = arguments else { return String::new() };
    let main = MAIN_ARGUMENTS.iter().find_map(|name| arguments.get(*name)?.as_str());
    let list = || {
        LISTS.iter().find_map(|(name, field)| {
            let items = arguments.get(*name)?.as_array()?;
            let told: Vec<&str> = items.iter().filter_map(|item| item.get(*field)?.as_str()).collect();
            Some(format!("{} {name}: {}", items.len(), told.join("; ")))
        })
    };
    let code = || arguments.get("code")?.as_str().map(deed);
    let main = main.or_else(code).map(|text| line(text, cover));
    main.or_else(|| list().map(|text| line(&text, cover))).unwrap_or_default()
}

/// A script from the line on where it begins to do something.
fn deed(code: &str) -> &str {
    let idle = |line: &str| line.is_empty() || ["#", "import ", "from "].iter().any(|start| line.starts_with(start));
    let mut rest = code;
    while let Some((first, more)) = rest.split_once('\n')
        && idle(first.trim())
    {
        rest = more;
    }
    rest
}

/// Why a call came to nothing, from the error the model is told. An interrupt and a limit speak for themselves.
pub(super) fn failure(finished: &Finished) -> Afterword {
    let speaks = matches!(finished.status, ToolStatus::Failed | ToolStatus::Blocked);
    let told = speaks.then(|| serde_json::from_str::<Value>(&finished.content.text()).ok()).flatten();
    let note = told.as_ref().and_then(|told| told.get("error")?.as_str()).map(str::to_owned);
    Afterword { note, ..Afterword::default() }
}

/// The news that a call has its result.
pub(super) fn ended(finished: &Finished, about: String, afterword: Afterword, cover: Cover) -> Event {
    Event::ToolFinished {
        call_id: finished.call.clone(),
        name: finished.name.clone(),
        status: finished.status,
        duration_ms: u64::try_from(finished.took.as_millis()).unwrap_or(u64::MAX),
        about,
        exit_code: afterword.exit_code,
        note: afterword.note.map(|note| line(&note, cover)).filter(|note| !note.is_empty()),
    }
}

/// The first line that says something.
fn line(text: &str, cover: Cover) -> String {
    let head: String = text.trim_start().chars().take(LOOKED_AT).collect();
    clip(cover.talk(&head).lines().next().unwrap_or_default().trim_end(), LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{CallId, Content, ToolCall};
    use serde_json::json;

    fn covered(arguments: &Value) -> String {
        about(arguments.as_object(), Cover::Secrets)
    }

    #[test]
    fn a_call_is_told_by_its_most_telling_argument() {
        let table = [
            (json!({"path": "a.txt", "content": "long text"}), "a.txt"),
            (json!({"command": "\n  make \nmake install"}), "make"),
            (json!({"action": "add", "target": "user", "content": "Likes tea"}), "Likes tea"),
            (json!({"action": "list"}), "list"),
            (json!({"code": "import os\n\n# first\nprint(1)\nprint(2)"}), "print(1)"),
            (json!({"code": "import os"}), "import os"),
            (json!({"tasks": [{"goal": "Count"}, {"goal": "List"}]}), "2 tasks: Count; List"),
            (json!({"todos": []}), ""),
        ];
        for (arguments, told) in table {
            assert_eq!(covered(&arguments), told);
        }
        assert_eq!(about(None, Cover::Secrets), "");
    }

    #[test]
    fn secrets_are_covered_before_the_line_is_cut_unless_the_owner_wants_to_see_them() {
        let key = format!("sk-proj-{}", "a1B2c3D4e5F6g7H8".repeat(3));
        let command = format!("curl -H 'Authorization: Bearer {key}' https://api.example.com");
        let arguments = json!({ "command": command });
        let told = covered(&arguments);
        assert!(told.starts_with("curl") && !told.contains("a1B2"), "{told}");
        assert_eq!(about(arguments.as_object(), Cover::Nothing), clip(&command, LONGEST));
    }

    #[test]
    fn a_failure_is_told_in_its_own_first_line() {
        let told = |status, text: &str| {
            let call = ToolCall::new(CallId::new("c"), "read_file", "{}");
            let finished = Finished::refused(&call, status, Content::Text(text.into()));
            match ended(&finished, String::new(), failure(&finished), Cover::Secrets) {
                Event::ToolFinished { note, .. } => note,
                other => panic!("{other:?}"),
            }
        };
        let missing = r#"{"error": "File not found: a.txt\nmore"}"#;
        for status in [ToolStatus::Failed, ToolStatus::Blocked] {
            assert_eq!(told(status, missing).as_deref(), Some("File not found: a.txt"));
        }
        for status in [ToolStatus::Done, ToolStatus::TimedOut, ToolStatus::Cancelled] {
            assert_eq!(told(status, missing), None, "{status:?} speaks for itself");
        }
        for silent in [r#"{"error": null}"#, r#"{"error": ""}"#, "no JSON"] {
            assert_eq!(told(ToolStatus::Failed, silent), None, "{silent}");
        }
    }
}
