//! Commands that a skill holds, written as !`command`. They are run only where the owner switched that on, and then as if
//! the model had called the terminal: through hooks, gate, limits and cover. What is refused says so in its place.

use crate::desk::Desk;
use crate::run::{Hands, Untold};
use hermes_core::stop::Stop;
use hermes_types::{CallId, ToolCall, clip};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

const TERMINAL: &str = "terminal";
const START: &str = "!`";
/// Characters of what a command printed.
const LONGEST: usize = 4_000;
/// Commands of one skill; a text with more is no help but a program.
const MOST: usize = 16;

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Piece<'t> {
    Text(&'t str),
    Command(&'t str),
}

/// Splits a text at its commands. One goes to the next backtick on the same line.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = text;
    let mut plain = text;
    while let Some(at) = rest.find(START) {
        let after = rest.get(at + START.len()..).unwrap_or_default();
        let command =
            after.split_once('`').filter(|(command, _)| !command.trim().is_empty() && !command.contains('\n'));
        let Some((command, behind)) = command else {
            rest = after;
            continue;
        };
        let before = plain.len() - after.len() - START.len();
        pieces.push(Piece::Text(plain.get(..before).unwrap_or_default()));
        pieces.push(Piece::Command(command.trim()));
        (rest, plain) = (behind, behind);
    }
    pieces.push(Piece::Text(plain));
    pieces
}

pub(super) fn has_commands(text: &str) -> bool {
    pieces(text).iter().any(|piece| matches!(piece, Piece::Command(_)))
}

/// The text with what its commands printed in their places.
pub(super) async fn run(text: &str, folder: &Path, hands: &Hands, desk: &Arc<Desk>, stop: &Stop) -> String {
    let seconds = desk.settings().skills.inline_shell_timeout.clamp(1, 600);
    let mut out = String::with_capacity(text.len());
    let mut count = 0;
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Command("") => {}
            Piece::Command(command) if count == MOST => {
                out.push_str(&format!("[not run, too many commands: {command}]"));
            }
            Piece::Command(command) => {
                count += 1;
                let id = CallId::new(format!("skill_{}_{count}", rand::random::<u32>()));
                let arguments = json!({"command": command, "workdir": folder, "timeout": seconds});
                let call = ToolCall::new(id, TERMINAL, arguments.to_string().as_str());
                let said = match hands.run(&[call], desk, &Untold, stop).await {
                    Ok(results) => results.first().map(|result| printed(&result.content.text(), command)),
                    Err(aborted) => Some(format!("[not run: {}]", aborted.reason)),
                };
                out.push_str(&said.unwrap_or_default());
            }
        }
    }
    out
}

/// What the terminal answered, as a piece of text.
fn printed(result: &str, command: &str) -> String {
    let result: Value = serde_json::from_str(result).unwrap_or_default();
    let text =
        |field: &str| result.get(field).and_then(Value::as_str).map(str::trim_end).filter(|text| !text.is_empty());
    match (text("output"), text("error")) {
        (Some(output), None) => clip(output, LONGEST),
        (_, Some(error)) => format!("[{command} was not run or failed: {}]", clip(error, LONGEST)),
        (None, None) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Piece::{Command, Text};
    use proptest::prelude::*;

    #[test]
    fn commands_are_told_from_text() {
        assert_eq!(pieces("Now: !`date`."), [Text("Now: "), Command("date"), Text(".")]);
        assert_eq!(pieces("`date` !`a\nb` !``"), [Text("`date` !`a\nb` !``")]);
        assert_eq!(pieces("!` x !`id`"), [Text(""), Command("x !"), Text("id`")]);
        assert!(!has_commands("Run `ls`!") && has_commands("!`ls`"));
    }

    #[test]
    fn an_answer_is_shown_and_a_refusal_is_named() {
        assert_eq!(printed(r#"{"output":"Monday\n","exit_code":0,"error":null}"#, "date"), "Monday");
        let refused = printed(r#"{"error":"nobody to ask","status":"blocked"}"#, "rm -r x");
        assert_eq!(refused, "[rm -r x was not run or failed: nobody to ask]");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_the_pieces(text in "(!`|`|a|\n| ){0,20}") {
            let found = pieces(&text);
            let mut rest = text.as_str();
            for piece in &found {
                let (Text(word) | Command(word)) = piece;
                let (between, behind) = rest.split_once(word).expect("each piece stands behind the one before");
                prop_assert!(between.chars().all(|character| "!` ".contains(character)), "{between:?} was lost");
                rest = behind;
            }
            prop_assert!(rest.chars().all(|character| "!` ".contains(character)), "{rest:?} was lost");
            prop_assert!(found.iter().all(|piece| *piece != Command("")));
        }
    }
}
