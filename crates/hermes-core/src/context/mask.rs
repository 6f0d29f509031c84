//! One line in the place of an old result, and short arguments in the place of long ones.
//!
//! The call itself stays as it is above the line, so the line only has to say what came of it, and how it is read again.
//! What is short stays, and so do the newest request of the person, the newest plan, and every word that the person sent
//! in mid-turn, which stands at the end of a result. Pruning twice is pruning once.

use super::assemble::{is_said, plan_in};
use super::{Rows, weight};
use crate::prompt::steer;
use hermes_types::{Assistant, CallId, Content, Message, MessageId, Object, Part, PartView, Plain, ToolResult};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// A result that is no longer than this is its own best summary.
const SHORT: usize = 200;
/// Arguments beyond this are cut in their long texts …
const LONG_ARGUMENTS: usize = 500;
/// … to this many characters each.
const KEPT_OF_A_TEXT: usize = 200;
/// Less than this is not worth a cut; the words that tell of a cut are always less.
const LEAST_CUT: usize = 48;
/// How every line in the place of a result begins; nothing is put in its place again.
const LEFT_OUT: &str = "[left out: ";
/// No such line is longer; a result that only begins like one may be.
const LONGEST_LINE: usize = 600;
/// Numbers the pass that put a line in the place of a result; never sent.
const PASS: &str = "_pass";

/// The history with what stands before `upto` pruned. Messages that stay as they are stay shared.
pub(super) fn pruned(history: &[Arc<Message>], upto: usize, rows: &Rows) -> Vec<Arc<Message>> {
    let newest_plan = history.iter().rposition(|message| plan_in(message).is_some());
    let newest_request = history.iter().rposition(|message| is_said(message));
    let pass = 1 + history.iter().filter_map(|message| pass_in(message)).max().unwrap_or_default();
    let mut seen: HashMap<&CallId, usize> = HashMap::new();
    history
        .iter()
        .enumerate()
        .map(|(at, message)| {
            let is_old = at < upto && Some(at) != newest_plan && Some(at) != newest_request;
            let shorter = match &**message {
                Message::Tool(result) => {
                    let nth = seen.entry(&result.tool_call_id).or_default();
                    let row = rows.row(&result.tool_call_id, *nth);
                    *nth += 1;
                    is_old.then(|| line_for(result, row, pass)).flatten()
                }
                Message::Assistant(said) if is_old => short_arguments(said).map(Message::Assistant),
                Message::User(said) if is_old => without_images(&said.content)
                    .map(|content| Message::User(Plain { content, extra: said.extra.clone() })),
                _ => None,
            };
            shorter.map_or_else(|| message.clone(), Arc::new)
        })
        .collect()
}

fn line_for(result: &ToolResult, row: Option<MessageId>, pass: u64) -> Option<Message> {
    let whole = result.content.text();
    let words = steer::delivered(&whole).map(steer::wrapped).unwrap_or_default();
    let text = whole.strip_suffix(words.as_str()).unwrap_or(&whole);
    let has_images = matches!(&result.content, Content::Parts(parts) if parts.iter().any(is_image));
    let is_line = text.starts_with(LEFT_OUT) && text.ends_with(']') && text.len() <= LONGEST_LINE;
    if (text.len() <= SHORT && !has_images) || is_line {
        return None;
    }
    let line = line(text, has_images, row);
    // A line that is no shorter would lose something for nothing.
    if weight::of_text(&line) >= weight::of_text(text) && !has_images {
        return None;
    }
    let mut extra = result.extra.clone();
    extra.insert(PASS.into(), pass.into());
    let (tool_call_id, name) = (result.tool_call_id.clone(), result.name.clone());
    Some(Message::Tool(ToolResult { tool_call_id, name, content: format!("{line}{words}").into(), extra }))
}

/// The pass that made a result into a line.
pub(super) fn pass_in(message: &Message) -> Option<u64> {
    match message {
        Message::Tool(result) => result.extra.get(PASS)?.as_u64(),
        _ => None,
    }
}

fn line(text: &str, has_images: bool, row: Option<MessageId>) -> String {
    let mut facts = vec![format!("{} characters", text.chars().count()), format!("{} lines", text.lines().count())];
    facts.extend(outcome(text));
    if has_images {
        facts.push("an image".to_owned());
    }
    let kept = row.map(|row| format!("; session_search {{\"message_id\": {row}}} shows it")).unwrap_or_default();
    format!("{LEFT_OUT}{}{kept}]", facts.join(", "))
}

/// How the call ended, where the result says so.
fn outcome(text: &str) -> Option<String> {
    let Ok(Value::Object(result)) = serde_json::from_str::<Value>(text) else { return None };
    if let Some(code) = result.get("exit_code").and_then(Value::as_i64) {
        return Some(format!("exit code {code}"));
    }
    if let Some(count) = result.get("total_count").or_else(|| result.get("count")).and_then(Value::as_u64) {
        return Some(format!("{count} found"));
    }
    weight::text_at(&result, "error").map(|error| format!("failed: {}", hermes_types::clip(error, 80)))
}

/// The reply with its long arguments cut; none when they are short. State of the vendor that is tied to the exact calls
/// goes with them: half of it would be refused.
fn short_arguments(said: &Assistant) -> Option<Assistant> {
    let is_long = |text: &str| text.len() > LONG_ARGUMENTS;
    if !said.tool_calls.iter().any(|call| is_long(call.function.arguments.as_str())) {
        return None;
    }
    let mut short = said.clone();
    let mut changed = false;
    for call in &mut short.tool_calls {
        if !is_long(call.function.arguments.as_str()) {
            continue;
        }
        // What cannot be read stays as it is: a cut would make it into something else.
        let Ok(mut arguments) = call.function.arguments.parse() else { continue };
        if cut_object(&mut arguments) {
            call.function.arguments = Value::Object(arguments).to_string().into();
            changed = true;
        }
    }
    if !changed {
        return None;
    }
    short.anthropic_content_blocks = None;
    short.codex_reasoning_items = None;
    short.codex_message_items = None;
    short.reasoning_details = None;
    Some(short)
}

fn cut_object(object: &mut Object) -> bool {
    // Not `any`: every field is to be cut.
    object.values_mut().map(cut_value).filter(|cut| *cut).count() > 0
}

fn cut_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let Some((at, _)) = text.char_indices().nth(KEPT_OF_A_TEXT) else { return false };
            let rest = text.get(at..).map_or(0, |rest| rest.chars().count());
            if rest <= LEAST_CUT {
                return false;
            }
            text.truncate(at);
            text.push_str(&format!("… [{rest} more characters]"));
            true
        }
        Value::Array(items) => items.iter_mut().map(cut_value).filter(|cut| *cut).count() > 0,
        Value::Object(object) => cut_object(object),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn is_image(part: &Part) -> bool {
    matches!(part.view(), PartView::Image { .. })
}

/// Old images are told, not shown.
fn without_images(content: &Content) -> Option<Content> {
    let Content::Parts(parts) = content else { return None };
    if !parts.iter().any(is_image) {
        return None;
    }
    let told =
        parts.iter().map(|part| if is_image(part) { Part::of_text("[an image, left out]") } else { part.clone() });
    Some(Content::Parts(told.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::ToolCall;

    fn called(id: &str, arguments: &str) -> Arc<Message> {
        let calls = vec![ToolCall::new(CallId::new(id), "terminal", arguments)];
        Arc::new(Message::Assistant(Assistant { tool_calls: calls, ..Assistant::default() }))
    }

    fn result(id: &str, text: &str) -> Arc<Message> {
        Arc::new(Message::tool(&CallId::new(id), "terminal", text))
    }

    #[test]
    fn old_results_become_a_line_that_says_how_to_read_them_again() {
        let output = format!(r#"{{"output": "{}", "exit_code": 2}}"#, "line\\n".repeat(100));
        let history = vec![called("a", "{}"), result("a", &output), called("b", "{}"), result("b", &output)];
        let rows = Rows::of([(CallId::new("a"), MessageId(7)), (CallId::new("b"), MessageId(9))]);
        let pruned = pruned(&history, 2, &rows);
        assert_eq!(
            pruned[1].text(),
            r#"[left out: 630 characters, 1 lines, exit code 2; session_search {"message_id": 7} shows it]"#
        );
        assert!(Arc::ptr_eq(&pruned[3], &history[3]), "the newest stays, and stays shared");
        let again = super::pruned(&pruned, 2, &rows);
        assert!(again.iter().zip(&pruned).all(|(again, once)| Arc::ptr_eq(again, once)), "pruned once is pruned");
    }

    #[test]
    fn each_pass_is_known_by_its_number() {
        let output = "line\n".repeat(100);
        let history: Vec<_> = ["a", "b", "c"].iter().flat_map(|id| [called(id, "{}"), result(id, &output)]).collect();
        let passes = |history: &[Arc<Message>]| [1, 3, 5].map(|at: usize| pass_in(&history[at]));
        let once = pruned(&history, 2, &Rows::default());
        let twice = pruned(&once, 6, &Rows::default());
        assert_eq!((passes(&once), passes(&twice)), ([Some(1), None, None], [Some(1), Some(2), Some(2)]));
    }

    #[test]
    fn long_arguments_stay_json_and_short_ones_stay_as_they_are() {
        let long = serde_json::json!({"path": "a.txt", "content": "é".repeat(600), "n": 1}).to_string();
        let pruned = pruned(&[called("a", &long), called("b", "{\"x\": 1}")], 2, &Rows::default());
        let Message::Assistant(said) = &*pruned[0] else { panic!("a reply") };
        let arguments = said.tool_calls[0].function.arguments.parse().expect("JSON");
        assert_eq!(arguments["content"], format!("{}… [400 more characters]", "é".repeat(200)));
        assert_eq!((arguments["path"].as_str(), arguments["n"].as_i64()), (Some("a.txt"), Some(1)));
    }

    #[test]
    fn the_newest_plan_is_never_left_out() {
        let todo = |id: &str, text: &str| Arc::new(Message::tool(&CallId::new(id), "todo", text));
        let plan = format!(r#"{{"todos": [], "note": "{}"}}"#, "p".repeat(500));
        let failed = format!(r#"{{"error": "{}"}}"#, "e".repeat(500));
        let history = vec![
            called("a", "{}"),
            todo("a", &plan),
            called("b", "{}"),
            todo("b", &plan),
            called("c", "{}"),
            todo("c", &failed),
            called("d", "{}"),
            result("d", &plan),
        ];
        let pruned = pruned(&history, 8, &Rows::default());
        assert!(pruned[1].text().starts_with(LEFT_OUT), "it is not the newest");
        assert_eq!(pruned[3].text(), plan, "another tool that gives the same text tells no plan");
        assert!(pruned[5].text().starts_with(LEFT_OUT), "a call that failed tells no plan");
    }

    #[test]
    fn what_the_person_sent_behind_a_result_stays_word_for_word() {
        let output = format!("{}{}", "line\n".repeat(100), steer::wrapped("Never touch main.rs."));
        let history = vec![called("a", "{}"), result("a", &output)];
        let once = pruned(&history, 2, &Rows::default());
        let line = "[left out: 500 characters, 100 lines]";
        assert_eq!(once[1].text(), format!("{line}{}", steer::wrapped("Never touch main.rs.")));
        assert_eq!(pruned(&once, 2, &Rows::default()), once);
    }

    #[test]
    fn a_result_that_only_begins_like_a_line_is_left_out_too() {
        let output = format!("{LEFT_OUT}nothing] {}", "words ".repeat(500));
        let pruned = pruned(&[called("a", "{}"), result("a", &output)], 2, &Rows::default());
        assert_eq!(pruned[1].text(), "[left out: 3020 characters, 1 lines]");
    }

    #[test]
    fn cutting_arguments_again_changes_nothing() {
        let long = serde_json::json!({"a": "x".repeat(600), "b": "y".repeat(12_000), "c": ["z".repeat(240)]});
        let once = pruned(&[called("a", &long.to_string())], 1, &Rows::default());
        assert_eq!(pruned(&once, 1, &Rows::default()), once);
    }

    #[test]
    fn old_images_are_told_but_the_newest_request_keeps_its_own() {
        let shown = |text: &str| {
            let parts = vec![Part::of_text(text), Part::of_image("data:image/png;base64,AAAA")];
            Arc::new(Message::User(Plain { content: Content::Parts(parts), extra: Object::new() }))
        };
        let history = vec![shown("old"), called("a", "{}"), shown("new")];
        let pruned = pruned(&history, 3, &Rows::default());
        assert_eq!(pruned[0].text(), "old\n[an image, left out]");
        assert_eq!(pruned[2], history[2]);
    }
}
