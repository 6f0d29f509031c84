//! The Anthropic Messages protocol: what Claude speaks natively, and what MiniMax, Kimi, DeepSeek and proxies imitate.
//!
//! The way of a request through the files: `endpoint` knows where it goes and under which headers, `model` and
//! `effort` fill in the settings, `translate` turns each message into blocks, `arrange` makes a valid conversation
//! of them, `thinking` decides which reasoning may be shown again, `encode` places the cache markers and writes the bytes. The way back is
//! `decode` (events) and `answer` (the reply they add up to).
//!
//! The body ends with tools, system and messages, in that order, and a message has the same bytes wherever it stands: the
//! bytes of a longer conversation begin with the bytes of the shorter one. Nothing is left out because it is old; making
//! a history shorter is the business of compression. (The protocol has one place for system messages, so only one that is
//! added in the middle of a conversation moves what stands behind it.) Cache markers alone move on; they are no part of
//! what is cached.

mod answer;
mod arrange;
mod blocks;
mod decode;
mod effort;
mod encode;
mod endpoint;
mod model;
mod thinking;
mod translate;

#[cfg(test)]
mod tests;

pub use decode::AnthropicDecoder;
pub use encode::encode;
pub(crate) use endpoint::introduction;
