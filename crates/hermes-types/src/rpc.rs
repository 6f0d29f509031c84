//! JSON-RPC 2.0 as programs speak it over a pipe: one message on each line. Bytes in, values out.
//!
//! Reading never fails: a line that is no message is [`Incoming::Noise`], and whoever reads decides what that means. A
//! message of ours is one line, whatever is in it; its end is put behind it by whoever sends it.

use serde_json::{Value, json};

/// We have no such method.
pub const METHOD_NOT_FOUND: i64 = -32_601;
/// The parameters make no sense.
pub const INVALID_PARAMS: i64 = -32_602;
/// The first code that a protocol gives a meaning of its own.
pub const SERVER_ERROR: i64 = -32_000;

/// One line of the peer.
#[derive(Debug, Clone, PartialEq)]
pub enum Incoming {
    /// The answer to our request of this number; an error is kept as the peer wrote it.
    Answer { id: u64, outcome: Result<Value, Value> },
    /// The peer wants an answer under its own id, whatever type that has.
    Request { id: Value, method: String, params: Value },
    /// The peer wants no answer.
    Notice { method: String, params: Value },
    /// No message: a greeting, a forgotten `print`.
    Noise,
}

impl Incoming {
    /// ```
    /// use hermes_types::rpc::Incoming;
    /// use serde_json::json;
    /// let answered = Incoming::read(br#"{"id": 3, "error": null, "result": "done"}"#);
    /// assert_eq!(answered, Incoming::Answer { id: 3, outcome: Ok(json!("done")) });
    /// assert_eq!(Incoming::read(b"starting up"), Incoming::Noise);
    /// ```
    pub fn read(line: &[u8]) -> Self {
        let Ok(Value::Object(mut message)) = serde_json::from_slice(line) else { return Self::Noise };
        // Many libraries write the field that does not count as null.
        let id = message.remove("id").filter(|id| !id.is_null());
        if let Some(Value::String(method)) = message.remove("method") {
            let params = message.remove("params").unwrap_or_default();
            return match id {
                Some(id) => Self::Request { id, method, params },
                None => Self::Notice { method, params },
            };
        }
        let Some(id) = id.and_then(|id| id.as_u64()) else { return Self::Noise };
        let error = message.remove("error").filter(|error| !error.is_null());
        match (error, message.remove("result")) {
            (Some(error), _) => Self::Answer { id, outcome: Err(error) },
            (None, Some(result)) => Self::Answer { id, outcome: Ok(result) },
            (None, None) => Self::Noise,
        }
    }
}

/// The words of an error, or all of it where it has none.
pub fn reason(error: &Value) -> String {
    let words = error.get("message").and_then(Value::as_str);
    words.map_or_else(|| error.to_string(), str::to_owned)
}

pub fn request(id: u64, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

pub fn notice(method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string()
}

pub fn answer(id: &Value, result: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string()
}

pub fn refusal(id: &Value, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_kind_of_message_is_told_apart() {
        let answer = |id, outcome| Incoming::Answer { id, outcome };
        let refused = json!({"code": -32000, "message": "no"});
        let table = [
            (r#"{"jsonrpc":"2.0","id":1,"result":{}}"#, answer(1, Ok(json!({})))),
            (r#"{"id":1,"result":null}"#, answer(1, Ok(Value::Null))),
            (r#"{"id":1,"error":null,"result":2}"#, answer(1, Ok(json!(2)))),
            (r#"{"id":2,"error":{"code":-32000,"message":"no"}}"#, answer(2, Err(refused.clone()))),
            (r#"{"id":2,"result":null,"error":{"code":-32000,"message":"no"}}"#, answer(2, Err(refused))),
            (
                r#"{"id":"a","method":"m","params":[1]}"#,
                Incoming::Request { id: json!("a"), method: "m".into(), params: json!([1]) },
            ),
            (r#"{"method":"m"}"#, Incoming::Notice { method: "m".into(), params: Value::Null }),
            (r#"{"id":null,"method":"m"}"#, Incoming::Notice { method: "m".into(), params: Value::Null }),
        ];
        for (line, expected) in table {
            assert_eq!(Incoming::read(line.as_bytes()), expected, "{line}");
        }
        let noise = [
            "",
            "Welcome!",
            "[]",
            "{}",
            r#"{"id":1}"#,
            r#"{"id":-1,"result":1}"#,
            r#"{"id":"text","result":1}"#,
            r#"{"id":1,"error":null}"#,
            r#"{"result":1}"#,
        ];
        for line in noise {
            assert_eq!(Incoming::read(line.as_bytes()), Incoming::Noise, "{line}");
        }
    }

    #[test]
    fn an_error_is_told_in_its_own_words() {
        assert_eq!(reason(&json!({"code": 1, "message": "no"})), "no");
        assert_eq!(reason(&json!({"code": 1})), r#"{"code":1}"#);
    }

    proptest! {
        #[test]
        fn what_is_written_is_one_line_and_read_as_what_it_is(id in any::<u64>(), method in any::<String>(), text in any::<String>()) {
            let params = json!({ "text": text });
            let table = [
                (request(id, &method, &params), Incoming::Request { id: id.into(), method: method.clone(), params: params.clone() }),
                (notice(&method, &params), Incoming::Notice { method: method.clone(), params: params.clone() }),
                (answer(&id.into(), &params), Incoming::Answer { id, outcome: Ok(params.clone()) }),
                (
                    refusal(&id.into(), METHOD_NOT_FOUND, &text),
                    Incoming::Answer { id, outcome: Err(json!({"code": METHOD_NOT_FOUND, "message": text})) },
                ),
            ];
            for (line, expected) in table {
                prop_assert!(!line.contains('\n'), "{}", line);
                prop_assert_eq!(Incoming::read(line.as_bytes()), expected);
            }
        }

        #[test]
        fn whatever_a_program_prints_reading_it_ends(line in "[\\PC]{0,80}") {
            Incoming::read(line.as_bytes());
        }
    }
}
