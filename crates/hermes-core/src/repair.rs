//! Mends a history that this loop did not write, or that was cut off: a view for the model, never an edit of the store.
//!
//! Afterwards roles alternate, every call has exactly one result directly behind it and in the order of the calls, and
//! every result has its call. The calls of the last reply may still be open, if they can be read: whoever goes on decides
//! about them. Mending a mended history changes nothing, so that resuming twice sends the same bytes.

use hermes_types::{Assistant, CallId, Content, Message, Object, Part, ToolCall, ToolResult};
use std::collections::VecDeque;

/// What stands for a result that is not there.
const LOST: &str = "[The result of this call was not kept.]";
/// What stands for a reply without words: providers refuse an empty one.
pub(crate) const EMPTY: &str = "(empty)";
/// What a call without a name is called: providers refuse a blank one.
const NAMELESS: &str = "invalid_tool_call";
/// What stands in front of the result of a call whose arguments cannot be read any more.
const CORRUPTED: &str = "[The arguments of this call were damaged and are shown empty.]";

pub(crate) fn mended(history: impl IntoIterator<Item = Message>) -> Vec<Message> {
    // The prompt is no part of the history.
    let said = history.into_iter().filter(|message| !matches!(message, Message::System(_)));
    let mut waiting: VecDeque<Message> = said.collect();
    let mut whole: Vec<Message> = Vec::with_capacity(waiting.len());
    while let Some(message) = waiting.pop_front() {
        match message {
            // A result that is not behind its call has lost it.
            Message::System(_) | Message::Tool(_) => {}
            Message::User(said) => match whole.last_mut() {
                Some(Message::User(before)) => join(&mut before.content, said.content),
                _ => whole.push(Message::User(said)),
            },
            Message::Assistant(said) => {
                let mut said = distinct(said);
                // A history that begins with an answer has lost its question.
                if whole.is_empty() {
                    continue;
                }
                let mut results = take_results(&mut waiting, &said);
                while let Some(Message::Assistant(_)) = waiting.front().filter(|_| results.is_empty()) {
                    let Some(Message::Assistant(next)) = waiting.pop_front() else { break };
                    said = distinct(united(said, next));
                    results = take_results(&mut waiting, &said);
                }
                let results = paired(&mut said, results, waiting.is_empty());
                give_words(&mut said);
                whole.push(Message::Assistant(said));
                whole.extend(results.into_iter().map(Message::Tool));
            }
        }
    }
    whole
}

/// The same for a reply with its results alone.
pub(crate) fn mended_tail(tail: Vec<Message>) -> Vec<Message> {
    let question = Message::user("");
    mended(std::iter::once(question).chain(tail)).into_iter().skip(1).collect()
}

/// The results directly ahead, as far as they answer a call of this reply.
fn take_results(waiting: &mut VecDeque<Message>, said: &Assistant) -> Vec<ToolResult> {
    let mut results = Vec::new();
    while let Some(Message::Tool(_)) = waiting.front() {
        if let Some(Message::Tool(result)) = waiting.pop_front()
            && said.tool_calls.iter().any(|call| answers(&result, call))
        {
            results.push(result);
        }
    }
    results
}

/// One result for each call, in their order, under the id that pairs them. The last reply keeps its open calls open,
/// but for those whose arguments are lost: they must never run.
fn paired(said: &mut Assistant, results: Vec<ToolResult>, is_last: bool) -> Vec<ToolResult> {
    let mut results: Vec<Option<ToolResult>> = results.into_iter().map(Some).collect();
    let mut whole = Vec::with_capacity(said.tool_calls.len());
    for call in &mut said.tool_calls {
        let found = results
            .iter_mut()
            .find(|slot| slot.as_ref().is_some_and(|result| answers(result, call)))
            .and_then(Option::take);
        call.id = call.pairing_id().clone();
        if call.function.name.trim().is_empty() {
            call.function.name = NAMELESS.to_owned();
        }
        let damaged = call.function.arguments.parse().is_err();
        if damaged {
            call.function.arguments = "{}".into();
        }
        let mut result = match found {
            Some(result) => result,
            None if is_last && !damaged => continue,
            None => lost(call),
        };
        result.tool_call_id = call.id.clone();
        if result.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            result.name = Some(call.function.name.clone());
        }
        if damaged && !result.content.text().starts_with(CORRUPTED) {
            let told = std::mem::take(&mut result.content);
            result.content = CORRUPTED.into();
            join(&mut result.content, told);
        }
        whole.push(result);
    }
    whole
}

/// A reply that says and calls nothing would vanish on the wire, and two messages of the person would meet.
fn give_words(said: &mut Assistant) {
    let has_items = said.codex_message_items.as_ref().is_some_and(|items| !items.is_empty());
    if said.tool_calls.is_empty() && !has_items && said.content.as_ref().is_none_or(Content::is_blank) {
        said.content = Some(EMPTY.into());
    }
}

fn answers(result: &ToolResult, call: &ToolCall) -> bool {
    result.tool_call_id == call.id || Some(&result.tool_call_id) == call.call_id.as_ref()
}

fn lost(call: &ToolCall) -> ToolResult {
    ToolResult {
        tool_call_id: call.id.clone(),
        name: Some(call.function.name.clone()),
        content: LOST.into(),
        extra: Object::new(),
    }
}

/// Of two calls with one id only the first can have a result.
fn distinct(mut said: Assistant) -> Assistant {
    let mut seen: Vec<CallId> = Vec::with_capacity(said.tool_calls.len());
    said.tool_calls.retain(|call| {
        let is_new = !seen.contains(call.pairing_id());
        seen.push(call.pairing_id().clone());
        is_new
    });
    said
}

/// Two replies without anything between them are one.
fn united(mut first: Assistant, second: Assistant) -> Assistant {
    match (&mut first.content, second.content) {
        (Some(content), Some(more)) => join(content, more),
        (content, more) => *content = content.take().or(more),
    }
    first.tool_calls.extend(second.tool_calls);
    first.reasoning = first.reasoning.or(second.reasoning);
    first.reasoning_content = first.reasoning_content.or(second.reasoning_content);
    first.finish_reason = second.finish_reason;
    // Vendor state belongs to one whole reply; half of two would be refused.
    first.reasoning_details = None;
    first.codex_reasoning_items = None;
    first.codex_message_items = None;
    first.anthropic_content_blocks = None;
    first
}

fn join(content: &mut Content, more: Content) {
    if content.is_blank() {
        *content = more;
        return;
    }
    match more {
        Content::Text(text) if text.trim().is_empty() => {}
        Content::Text(text) => content.append(&format!("\n\n{text}")),
        Content::Parts(parts) => {
            if let Content::Text(text) = content {
                *content = Content::Parts(vec![Part::of_text(std::mem::take(text))]);
            }
            if let Content::Parts(own) = content {
                own.extend(parts);
            }
        }
    }
}

/// The calls of the last reply that have no result.
pub(crate) fn open_calls<M: std::borrow::Borrow<Message>>(history: &[M]) -> Vec<ToolCall> {
    let mut answered: Vec<&ToolResult> = Vec::new();
    for message in history.iter().rev().map(std::borrow::Borrow::borrow) {
        match message {
            Message::Tool(result) => answered.push(result),
            Message::Assistant(said) => {
                let is_open = |call: &&ToolCall| !answered.iter().any(|result| answers(result, call));
                return said.tool_calls.iter().filter(is_open).cloned().collect();
            }
            Message::User(_) | Message::System(_) => break,
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests;
