//! The plan of a conversation.

/// What is to be done, in order.
#[derive(Debug, Default)]
pub struct TodoList {}
