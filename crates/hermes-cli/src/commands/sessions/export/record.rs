//! A session as one JSON object, in the shape the Python program exports and imports: the columns of its tables under
//! their names and in their order, then `messages`. `model_config` and the verbatim reasoning are JSON inside strings, as
//! they are in the tables. What has no column there follows behind.

use hermes_types::{Content, Message, Object, RowState, Session, StoredMessage};
use serde::Serialize;
use serde_json::{Value, json};

/// The columns of sessions, in their order. Those a database does not have are left out.
const SESSION: &[&str] = &[
    "id",
    "source",
    "user_id",
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "expiry_finalized",
    "model",
    "model_config",
    "system_prompt",
    "parent_session_id",
    "started_at",
    "ended_at",
    "end_reason",
    "message_count",
    "tool_call_count",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
    "cwd",
    "git_branch",
    "git_repo_root",
    "billing_provider",
    "billing_base_url",
    "billing_mode",
    "estimated_cost_usd",
    "actual_cost_usd",
    "cost_status",
    "cost_source",
    "pricing_version",
    "title",
];
/// How list content is marked in a text column.
const JSON_MARK: &str = "\0json:";

/// A session with these of its messages.
pub(in crate::commands::sessions) fn of(session: &Session, messages: &[StoredMessage]) -> Value {
    let mut fields = match serde_json::to_value(session) {
        Ok(Value::Object(fields)) => fields,
        _ => Object::new(),
    };
    fields.insert("model_config".into(), as_text(session.model_config.as_ref()));
    let mut record = Object::new();
    for name in SESSION {
        if let Some(value) = fields.shift_remove(*name) {
            record.insert((*name).to_owned(), value);
        }
    }
    record.extend(fields);
    record.insert("messages".into(), messages.iter().map(message).collect());
    Value::Object(record)
}

fn message(stored: &StoredMessage) -> Value {
    let mut row = Object::new();
    let mut put = |name: &str, value: Value| drop(row.insert(name.to_owned(), value));
    let (result, said) = match &stored.message {
        Message::Tool(result) => (Some(result), None),
        Message::Assistant(said) => (None, Some(said)),
        Message::System(_) | Message::User(_) => (None, None),
    };
    let calls = said.map(|said| &said.tool_calls).filter(|calls| !calls.is_empty());
    put("id", json!(stored.id));
    put("session_id", json!(stored.session_id));
    put("role", json!(stored.message.role()));
    put("content", json!(stored.message.content()));
    put("tool_call_id", json!(result.map(|result| &result.tool_call_id)));
    put("tool_calls", json!(calls));
    put("tool_name", json!(result.and_then(|result| result.name.as_ref())));
    put("timestamp", json!(stored.at));
    put("token_count", json!(stored.token_count));
    put("finish_reason", json!(said.and_then(|said| said.finish_reason.as_ref())));
    put("reasoning", json!(said.and_then(|said| said.reasoning.as_ref())));
    put("reasoning_content", json!(said.and_then(|said| said.reasoning_content.as_ref())));
    put("reasoning_details", as_text(said.and_then(|said| said.reasoning_details.as_ref())));
    put("codex_reasoning_items", as_text(said.and_then(|said| said.codex_reasoning_items.as_ref())));
    put("codex_message_items", as_text(said.and_then(|said| said.codex_message_items.as_ref())));
    put("active", json!(i32::from(stored.state == RowState::Live)));
    put("compacted", json!(i32::from(stored.state == RowState::Compacted)));
    put("api_content", stored.sent.as_ref().map_or(Value::Null, sent));
    if let Some(blocks) = said.and_then(|said| said.anthropic_content_blocks.as_ref()) {
        put("anthropic_content_blocks", json!(blocks));
    }
    let extra = match &stored.message {
        Message::System(plain) | Message::User(plain) => &plain.extra,
        Message::Assistant(said) => &said.extra,
        Message::Tool(result) => &result.extra,
    };
    for (name, value) in extra {
        row.entry(name.as_str()).or_insert_with(|| value.clone());
    }
    Value::Object(row)
}

fn as_text<T: Serialize>(value: Option<&T>) -> Value {
    value.and_then(|value| serde_json::to_string(value).ok()).map_or(Value::Null, Value::String)
}

fn sent(content: &Content) -> Value {
    match content {
        Content::Text(text) => Value::String(text.clone()),
        Content::Parts(parts) => match as_text(Some(parts)) {
            Value::String(text) => Value::String(format!("{JSON_MARK}{text}")),
            other => other,
        },
    }
}
