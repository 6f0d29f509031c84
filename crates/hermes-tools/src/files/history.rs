//! What a conversation has read and written, and when: for repeated reads and for files that others changed meanwhile.

/// The memory of one conversation.
#[derive(Debug, Default)]
pub struct History {}
