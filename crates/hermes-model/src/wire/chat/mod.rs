//! Chat completions: the protocol every vendor speaks, each with an accent.
//!
//! The encoder writes a body whose bytes depend on the request and the target alone. A message is encoded the same way
//! wherever it stands, so a longer conversation starts with the bytes of the shorter one. Accents are read from the
//! provider's row; nothing here asks for a vendor by name.
//!
//! The decoder accepts whatever servers call a stream: missing fields, extra fields, wrong types, whole objects. It never
//! panics, and what it cannot complete it names.

mod calls;
mod chunk;
mod decode;
mod details;
mod encode;
mod message;
mod pages;
mod reasoning;
mod think;
mod usage;

#[cfg(test)]
mod tests;

/// Copilot's sealed reasoning; kept beside the fields of a message under the vendor's own name.
const OPAQUE: &str = "reasoning_opaque";
/// Google's state of a call, or of a message without calls, such as the signature of the thoughts behind it.
const STATE: &str = "extra_content";

pub use decode::ChatDecoder;
pub use encode::encode;
pub use pages::Pages;
