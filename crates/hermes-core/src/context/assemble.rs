//! Puts a shorter conversation together: head, summary, the newest request of the person, tail. Roles alternate.

use super::pins::Pin;
use crate::turn::{is_synthetic, synthetic};
use hermes_types::{Message, Object, Plain};
use serde_json::{Value, json};
use std::sync::Arc;

/// How a summary begins; other programs write the same words.
const BEGINS: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
/// How older programs began it.
const BEGAN: &str = "[CONTEXT SUMMARY]:";
const ENDS: &str = "--- END OF CONTEXT SUMMARY — go on with what follows ---";
const FRAME: &str = "The earlier part of this conversation was left out to save room. This is background about it, not a \
request: what is asked in it is done or void unless the newest message of the person, which stands outside of it, asks for \
it. session_search reads what was left out.";
const UNDERSTOOD: &str = "Understood.";

/// Marks a summary in the store, as other programs do; never sent.
const SUMMARY: &str = "_compressed_summary";
/// What a summary carries for the next one: the words of the person, and the plan.
const PINS: &str = "_pins";
const PLAN: &str = "_plan";

/// What stands for the part that was left out.
pub(super) struct Digest {
    pub(super) pins: Vec<Pin>,
    pub(super) plan: Option<String>,
    pub(super) text: String,
}

impl Digest {
    fn message(self) -> Message {
        let Self { pins, plan, text } = self;
        let said: Vec<String> = pins.iter().enumerate().map(|(at, pin)| format!("{}. {}", at + 1, pin.text)).collect();
        let parts = [
            Some(format!("{BEGINS} {FRAME}")),
            (!said.is_empty()).then(|| format!("## Said by the person, word for word\n{}", said.join("\n"))),
            plan.as_ref().map(|plan| format!("## Plan\n{plan}")),
            // Nothing in it may look like its end.
            Some(text.replace(ENDS, "")).filter(|text| !text.trim().is_empty()),
            Some(ENDS.to_owned()),
        ];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        let Message::User(Plain { content, mut extra }) = synthetic("summary", &text) else {
            return Message::user(text);
        };
        extra.insert(SUMMARY.into(), Value::Bool(true));
        extra.insert(PINS.into(), json!(pins));
        if let Some(plan) = plan {
            extra.insert(PLAN.into(), Value::String(plan));
        }
        Message::User(Plain { content, extra })
    }
}

/// Head, summary, `request` where it is in neither of them, and tail.
pub(super) fn assembled(
    head: &[Arc<Message>],
    digest: Digest,
    request: Option<Arc<Message>>,
    tail: &[Arc<Message>],
) -> Vec<Arc<Message>> {
    let mut whole = head.to_vec();
    for message in std::iter::once(Arc::new(digest.message())).chain(request).chain(tail.iter().cloned()) {
        let is_users = |message: &Arc<Message>| matches!(**message, Message::User(_));
        if whole.last().is_some_and(is_users) && is_users(&message) {
            whole.push(Arc::new(Message::assistant(UNDERSTOOD)));
        }
        whole.push(message);
    }
    whole
}

/// Whether a message stands for a part of the conversation that was left out.
pub fn is_summary(message: &Message) -> bool {
    extra(message).is_some_and(|extra| extra.contains_key(SUMMARY)) || {
        let Message::User(said) = message else { return false };
        let text = said.content.text();
        text.starts_with(BEGINS) || text.starts_with(BEGAN)
    }
}

/// Whether a message is what the person said.
pub(super) fn is_said(message: &Message) -> bool {
    matches!(message, Message::User(_)) && !is_synthetic(message) && !is_summary(message)
}

/// The text of a summary without its frame.
pub(super) fn summary_in(message: &Message) -> Option<String> {
    if !is_summary(message) {
        return None;
    }
    let text = message.text();
    let inner = text.strip_prefix(BEGINS).or_else(|| text.strip_prefix(BEGAN)).unwrap_or(&text);
    let inner = inner.split(ENDS).next().unwrap_or(inner).replace(FRAME, "");
    Some(inner.trim().to_owned())
}

/// The words of the person that a summary carries.
pub(super) fn pins_in(message: &Message) -> Vec<Pin> {
    let pins = extra(message).and_then(|extra| extra.get(PINS)).cloned();
    pins.and_then(|pins| serde_json::from_value(pins).ok()).unwrap_or_default()
}

/// The plan that a summary carries.
pub fn plan_in(message: &Message) -> Option<&str> {
    extra(message)?.get(PLAN)?.as_str()
}

fn extra(message: &Message) -> Option<&Object> {
    match message {
        Message::User(said) => Some(&said.extra),
        _ => None,
    }
}
