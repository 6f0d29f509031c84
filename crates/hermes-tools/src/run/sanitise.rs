//! Errors that carry foreign text, made harmless: nothing in them looks like the structure of a conversation.

/// The text of an error as the model may read it.
pub(crate) fn error(text: &str) -> String {
    format!("[TOOL_ERROR] {text}")
}
