//! JSON-RPC 2.0 as the Agent Client Protocol puts it on a pipe: one JSON object per line.
//!
//! Reading never fails: a line that is no message is `None`, and whoever reads decides what that means. A line has a
//! largest size, so a peer that never ends one cannot fill the memory.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};

/// No message is longer; a peer that sends a longer line is broken.
pub(super) const LONGEST_LINE: usize = 10 << 20;

/// The code of an error that says: we have no such method.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// The code agents answer with when nobody is signed in.
pub(super) const AUTH_REQUIRED: i64 = -32000;

/// A message of the peer.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Incoming {
    /// The peer's answer to our request of this number; an error is kept as the peer wrote it.
    Answer {
        id: u64,
        result: Result<Value, Value>,
    },
    /// The peer wants an answer under its own id, whatever type that has.
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notice {
        method: String,
        params: Value,
    },
}

/// The message in a line, if it is one.
pub(super) fn read(line: &[u8]) -> Option<Incoming> {
    let Value::Object(mut message) = serde_json::from_slice(line).ok()? else { return None };
    let id = message.remove("id");
    if let Some(Value::String(method)) = message.remove("method") {
        let params = message.remove("params").unwrap_or_default();
        return Some(match id {
            Some(id) => Incoming::Request { id, method, params },
            None => Incoming::Notice { method, params },
        });
    }
    let id = id?.as_u64()?;
    let result = match (message.remove("error"), message.remove("result")) {
        (None | Some(Value::Null), Some(result)) => Ok(result),
        (Some(error), _) => Err(error),
        (None, None) => return None,
    };
    Some(Incoming::Answer { id, result })
}

pub(super) fn request(id: u64, method: &str, params: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))
}

pub(super) fn answer(id: &Value, result: &Value) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

pub(super) fn refusal(id: &Value, code: i64, message: &str) -> Vec<u8> {
    line(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}))
}

fn line(message: &Value) -> Vec<u8> {
    let mut line = message.to_string().into_bytes();
    line.push(b'\n');
    line
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

    #[test]
    fn every_kind_of_message_is_told_apart() {
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, Some(Incoming::Answer { id: 1, result: Ok(json!({})) })),
            (r#"{"id":1,"result":null}"#, Some(Incoming::Answer { id: 1, result: Ok(Value::Null) })),
            (r#"{"id":1,"error":null,"result":2}"#, Some(Incoming::Answer { id: 1, result: Ok(json!(2)) })),
            (
                r#"{"id":2,"error":{"code":-32000,"message":"no"}}"#,
                Some(Incoming::Answer { id: 2, result: Err(json!({"code": -32000, "message": "no"})) }),
            ),
            (
                r#"{"id":"a","method":"m","params":[1]}"#,
                Some(Incoming::Request { id: json!("a"), method: "m".into(), params: json!([1]) }),
            ),
            (r#"{"method":"m"}"#, Some(Incoming::Notice { method: "m".into(), params: Value::Null })),
            (r#"{"id":1}"#, None),
            (r#"{"id":"text","result":1}"#, None),
            ("[]", None),
            ("Welcome!", None),
            ("", None),
        ];
        for (line, expected) in table {
            assert_eq!(read(line.as_bytes()), expected, "{line}");
        }
    }

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
