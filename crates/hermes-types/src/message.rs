//! The canonical, OpenAI-shaped message. Every wire protocol converts at its own edge; memory, disk and trajectories
//! hold only this.
//!
//! A message never loses a field: what we act on has a name, everything else is kept in `extra` in its old order and
//! written back. Vendor state that must be replayed exactly (signed thinking, encrypted reasoning, thought signatures)
//! is stored verbatim as JSON and never edited. The one exception is `null` where a list or content belongs, as other
//! programs dump it: it is read as empty.

use crate::{Arguments, CallId, Content, Object, StopReason};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "role", rename_all = "lowercase")]
pub enum Message {
    System(Plain),
    User(Plain),
    Assistant(Assistant),
    Tool(ToolResult),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// What a system or user message is: content and nothing else we act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plain {
    #[serde(deserialize_with = "null_as_empty")]
    pub content: Content,
    #[serde(flatten)]
    pub extra: Object,
}

/// What the model said, with everything needed to say it again to the same model.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Assistant {
    #[serde(default)]
    pub content: Option<Content>,
    /// Reasoning as text, for display and training. Never sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Reasoning in the field some providers demand back. Sent only to those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_content: Option<String>,
    /// Structured reasoning, verbatim (signatures, encrypted blobs).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_details: Option<Vec<Value>>,
    /// Reasoning items of the Responses API, verbatim, stamped with who issued them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_reasoning_items: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codex_message_items: Option<Vec<Value>>,
    /// The ordered blocks of a turn that interleaves signed thinking with tool calls: the order is part of the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anthropic_content_blocks: Option<Vec<Value>>,
    #[serde(default, deserialize_with = "null_as_empty", skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_reason: Option<StopReason>,
    #[serde(flatten)]
    pub extra: Object,
}

/// The answer of a tool to one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolResult {
    pub tool_call_id: CallId,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(deserialize_with = "null_as_empty")]
    pub content: Content,
    #[serde(flatten)]
    pub extra: Object,
}

/// One call the model asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: CallId,
    /// The pairing id of the Responses API, where it differs from `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<CallId>,
    /// The item id (`fc_…`) of the Responses API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_item_id: Option<String>,
    #[serde(rename = "type", default = "function_kind")]
    pub kind: String,
    pub function: Function,
    /// Vendor state tied to this call, such as Gemini's thought signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extra_content: Option<Value>,
    #[serde(flatten)]
    pub extra: Object,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Function {
    pub name: String,
    #[serde(default)]
    pub arguments: Arguments,
    #[serde(flatten)]
    pub extra: Object,
}

fn null_as_empty<'de, D: Deserializer<'de>, T: Deserialize<'de> + Default>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn function_kind() -> String {
    "function".into()
}

impl Message {
    pub fn system(content: impl Into<Content>) -> Self {
        Self::System(Plain::new(content))
    }

    pub fn user(content: impl Into<Content>) -> Self {
        Self::User(Plain::new(content))
    }

    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::Assistant(Assistant { content: Some(content.into()), ..Assistant::default() })
    }

    pub fn tool(call: &CallId, name: impl Into<String>, content: impl Into<Content>) -> Self {
        Self::Tool(ToolResult {
            tool_call_id: call.clone(),
            name: Some(name.into()),
            content: content.into(),
            extra: Object::new(),
        })
    }

    pub fn role(&self) -> Role {
        match self {
            Self::System(_) => Role::System,
            Self::User(_) => Role::User,
            Self::Assistant(_) => Role::Assistant,
            Self::Tool(_) => Role::Tool,
        }
    }

    pub fn content(&self) -> Option<&Content> {
        match self {
            Self::System(message) | Self::User(message) => Some(&message.content),
            Self::Assistant(message) => message.content.as_ref(),
            Self::Tool(message) => Some(&message.content),
        }
    }

    /// The text of the message, empty when it has none.
    pub fn text(&self) -> String {
        self.content().map(Content::text).unwrap_or_default()
    }
}

impl Plain {
    pub fn new(content: impl Into<Content>) -> Self {
        Self { content: content.into(), extra: Object::new() }
    }
}

impl ToolCall {
    pub fn new(id: CallId, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self {
            id,
            call_id: None,
            response_item_id: None,
            kind: function_kind(),
            function: Function { name: name.into(), arguments: arguments.into(), extra: Object::new() },
            extra_content: None,
            extra: Object::new(),
        }
    }

    /// The id that pairs this call with its result on the wire.
    pub fn pairing_id(&self) -> &CallId {
        self.call_id.as_ref().unwrap_or(&self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_nobody_knows_survive_a_round_trip() {
        let stored = json!({
            "role": "assistant", "content": null, "reasoning_details": [{"type": "reasoning.encrypted", "data": "x", "index": 0}],
            "tool_calls": [{"id": "c1", "type": "function",
                "function": {"name": "f", "arguments": "{\"a\": 1}", "strict": true},
                "extra_content": {"google": {"thought_signature": "sig"}}, "vendor_field": [1, 2]}],
            "finish_reason": "verification_required", "x_new": {"b": 1, "a": 2}
        });
        let message: Message = serde_json::from_value(stored.clone()).expect("a message");
        assert_eq!(serde_json::to_value(&message).expect("json"), stored);
    }

    #[test]
    fn null_is_read_as_empty_and_nothing_else_is_lost() {
        let loaded = |dumped: Value| serde_json::from_value::<Message>(dumped).expect("a message");
        let assistant = json!({"role": "assistant", "content": "Hi.", "refusal": null, "tool_calls": null});
        assert_eq!(
            serde_json::to_value(loaded(assistant)).expect("json"),
            json!({"role": "assistant", "content": "Hi.", "refusal": null})
        );
        for role in ["system", "user"] {
            let dumped = json!({"role": role, "content": null, "name": "n"});
            let written = json!({"role": role, "content": "", "name": "n"});
            assert_eq!(serde_json::to_value(loaded(dumped)).expect("json"), written);
        }
        let result = json!({"role": "tool", "tool_call_id": "c", "content": null});
        assert_eq!(loaded(result).content(), Some(&Content::from("")));
        let error = serde_json::from_value::<Message>(json!({"role": "user"})).expect_err("no content at all");
        assert!(error.to_string().contains("content"), "{error}");
    }

    #[test]
    fn a_tool_message_needs_its_call_id() {
        let orphan = json!({"role": "tool", "content": "x"});
        let error = serde_json::from_value::<Message>(orphan).expect_err("no call id");
        assert!(error.to_string().contains("tool_call_id"), "{error}");
    }
}
