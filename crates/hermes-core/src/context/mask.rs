//! One line in the place of an old result, and short arguments in the place of long ones.
//!
//! The call itself stays as it is above the line, so the line only has to say what came of it, and how it is read again.
//! Of equal results the newest is kept. What is short stays.

use super::{Rows, weight};
use hermes_types::{Assistant, CallId, Content, Message, MessageId, Object, Part, PartView, ToolResult};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// A result that is no longer than this is its own best summary.
const SHORT: usize = 200;
/// Arguments beyond this are cut in their long texts …
const LONG_ARGUMENTS: usize = 500;
/// … to this many characters each.
const KEPT_OF_A_TEXT: usize = 200;
/// How every line in the place of a result begins; nothing is put in its place again.
const LEFT_OUT: &str = "[left out: ";
/// The plan of the conversation: its newest state is needed as it is.
const PLAN: &str = "todo";

/// The history with what stands before `upto` pruned. Messages that stay as they are stay shared.
pub(super) fn pruned(history: &[Arc<Message>], upto: usize, rows: &Rows) -> Vec<Arc<Message>> {
    let newest_plan = history.iter().rposition(|message| is_result_of(message, PLAN));
    let repeated = repeated(history);
    let mut seen: HashMap<&CallId, usize> = HashMap::new();
    history
        .iter()
        .enumerate()
        .map(|(at, message)| {
            let old = at < upto && Some(at) != newest_plan;
            let shorter = match &**message {
                Message::Tool(result) => {
                    let nth = seen.entry(&result.tool_call_id).or_default();
                    let row = rows.row(&result.tool_call_id, *nth);
                    *nth += 1;
                    (old || (at < upto && repeated.contains(&at))).then(|| line_for(result, row)).flatten()
                }
                Message::Assistant(said) if old => short_arguments(said).map(Message::Assistant),
                Message::User(said) if old => without_images(&said.content).map(|content| {
                    let mut said = said.clone();
                    said.content = content;
                    Message::User(said)
                }),
                _ => None,
            };
            shorter.map_or_else(|| message.clone(), Arc::new)
        })
        .collect()
}

fn is_result_of(message: &Message, tool: &str) -> bool {
    matches!(message, Message::Tool(result) if result.name.as_deref() == Some(tool))
}

/// The results that stand again further down.
fn repeated(history: &[Arc<Message>]) -> HashSet<usize> {
    let mut later: HashSet<&str> = HashSet::new();
    let mut repeated = HashSet::new();
    for (at, message) in history.iter().enumerate().rev() {
        if let Message::Tool(ToolResult { content: Content::Text(text), .. }) = &**message
            && text.len() > SHORT
            && !later.insert(text)
        {
            repeated.insert(at);
        }
    }
    repeated
}

fn line_for(result: &ToolResult, row: Option<MessageId>) -> Option<Message> {
    let text = result.content.text();
    let has_images = matches!(&result.content, Content::Parts(parts) if parts.iter().any(is_image));
    if (text.len() <= SHORT && !has_images) || text.starts_with(LEFT_OUT) {
        return None;
    }
    let line = line(&text, has_images, row);
    // A line that is no shorter would lose something for nothing.
    if weight::of_text(&line) >= weight::of_text(&text) && !has_images {
        return None;
    }
    Some(Message::Tool(ToolResult { content: line.into(), ..result.clone() }))
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
            let marker = format!("… [{rest} more characters]");
            if rest <= marker.chars().count() {
                return false;
            }
            text.truncate(at);
            text.push_str(&marker);
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
        let plan = |id: &str| Arc::new(Message::tool(&CallId::new(id), PLAN, "p".repeat(500)));
        let history = vec![called("a", "{}"), plan("a"), called("b", "{}"), plan("b"), called("c", "{}")];
        let pruned = pruned(&history, 5, &Rows::default());
        assert!(pruned[1].text().starts_with(LEFT_OUT));
        assert_eq!(pruned[3].text().len(), 500);
    }
}
