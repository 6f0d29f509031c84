//! Lines of JSON-RPC as the Agent Client Protocol puts them on a pipe. What a message is stands in [`hermes_types::rpc`].
//!
//! A line has a largest size, so a peer that never ends one cannot fill the memory.

use bytes::{Bytes, BytesMut};
use hermes_types::rpc;
use serde_json::Value;

pub(super) use hermes_types::rpc::{Incoming, METHOD_NOT_FOUND};

/// No message is longer; a peer that sends a longer line is broken.
pub(super) const LONGEST_LINE: usize = 10 << 20;

/// The code agents answer with when nobody is signed in.
pub(super) const AUTH_REQUIRED: i64 = rpc::SERVER_ERROR;

pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(rpc::request(id, method, params))
}

pub(super) fn answer(id: &Value, result: &Value) -> Vec<u8> {
    line(rpc::answer(id, result))
}

pub(super) fn refusal(id: &Value, code: i64, message: &str) -> Vec<u8> {
    line(rpc::refusal(id, code, message))
}

fn line(mut message: String) -> Vec<u8> {
    message.push('\n');
    message.into_bytes()
}

/// Bytes as they arrive, lines as they are complete.
#[derive(Debug, Default)]
pub(super) struct Lines {
    buffer: BytesMut,
    /// How far the buffer is known to hold no line end.
    scanned: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LineTooLong;

impl Lines {
    /// Where the next bytes go.
    pub(super) fn space(&mut self) -> &mut BytesMut {
        self.buffer.reserve(16 << 10);
        &mut self.buffer
    }

    /// The next whole line, without its end.
    pub(super) fn next(&mut self) -> Result<Option<Bytes>, LineTooLong> {
        let fresh = self.buffer.get(self.scanned..).unwrap_or_default();
        let Some(found) = memchr::memchr(b'\n', fresh) else {
            self.scanned = self.buffer.len();
            return if self.scanned > LONGEST_LINE { Err(LineTooLong) } else { Ok(None) };
        };
        let end = self.scanned + found;
        self.scanned = 0;
        let mut line = self.buffer.split_to(end + 1);
        line.truncate(end);
        if end > LONGEST_LINE { Err(LineTooLong) } else { Ok(Some(line.freeze())) }
    }

    /// What is left when no more bytes come: a last line that nobody ended.
    pub(super) fn rest(&mut self) -> Option<Bytes> {
        self.scanned = 0;
        let rest = self.buffer.split().freeze();
        (!rest.is_empty()).then_some(rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn a_message_is_one_line_whatever_is_in_it() {
        let line = request(3, "m", &json!({"text": "a\nb"}));
        assert_eq!(
            String::from_utf8(line).expect("text"),
            "{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"m\",\"params\":{\"text\":\"a\\nb\"}}\n"
        );
    }

    #[test]
    fn a_line_without_end_is_refused_at_the_cap() {
        let mut lines = Lines::default();
        lines.space().extend_from_slice(&vec![b'x'; LONGEST_LINE]);
        assert_eq!(lines.next(), Ok(None));
        lines.space().extend_from_slice(b"x");
        assert_eq!(lines.next(), Err(LineTooLong));
    }

    proptest! {
        #[test]
        fn chunking_is_invisible(text in "[a\n]{0,40}", size in 1usize..7) {
            let mut lines = Lines::default();
            let mut seen = Vec::new();
            for chunk in text.as_bytes().chunks(size) {
                lines.space().extend_from_slice(chunk);
                while let Some(line) = lines.next().expect("within the cap") {
                    seen.push(line);
                }
            }
            seen.extend(lines.rest());
            let expected: Vec<Bytes> =
                text.split_terminator('\n').map(|line| Bytes::copy_from_slice(line.as_bytes())).collect();
            prop_assert_eq!(seen, expected);
        }
    }
}
