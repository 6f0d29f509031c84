//! Whether a request extends an earlier one: the promise that prompt caches live on.
//!
//! Compared are tools, system prompt and messages, piece by piece, in whatever protocol the body is written. Settings do
//! not count, nor do cache markers, which move with every request. A lone text part is the same as its text, because a
//! marker can only hang on a part. A body that is no JSON request is compared byte by byte.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Whether everything that was sent before stands at the beginning of what is sent now.
///
/// ```
/// let asked = br#"{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":true}"#;
/// let asked_again = br#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"user","content":"?"}]}"#;
/// assert!(hermes_core::prefix::extends(asked, asked_again));
/// assert!(!hermes_core::prefix::extends(asked_again, asked));
/// ```
pub fn extends(earlier: &[u8], later: &[u8]) -> bool {
    if later.starts_with(earlier) {
        return true;
    }
    match (Pieces::of(earlier), Pieces::of(later)) {
        (Some(earlier), Some(later)) => earlier.begin(&later),
        _ => false,
    }
}

/// How many bytes two bodies have in common at their beginning.
pub fn shared(earlier: &[u8], later: &[u8]) -> usize {
    // In strides first, which are compared many bytes at a time.
    const STRIDE: usize = 1024;
    let strides = earlier.chunks_exact(STRIDE).zip(later.chunks_exact(STRIDE));
    let whole = STRIDE * strides.take_while(|(before, now)| before == now).count();
    let rest = earlier.iter().skip(whole).zip(later.iter().skip(whole));
    whole + rest.take_while(|(before, now)| before == now).count()
}

/// The parts of a body that caches are made of.
#[derive(Deserialize)]
struct Pieces<'a> {
    #[serde(borrow)]
    tools: Option<&'a RawValue>,
    #[serde(borrow)]
    system: Option<&'a RawValue>,
    #[serde(borrow)]
    instructions: Option<&'a RawValue>,
    #[serde(borrow, alias = "input")]
    messages: Vec<&'a RawValue>,
}

impl<'a> Pieces<'a> {
    fn of(body: &'a [u8]) -> Option<Self> {
        serde_json::from_slice(body).ok()
    }

    fn begin(&self, later: &Self) -> bool {
        let fixed = [(self.tools, later.tools), (self.system, later.system), (self.instructions, later.instructions)];
        fixed.into_iter().all(|(before, now)| match (before, now) {
            (Some(before), Some(now)) => is_same(before, now),
            (before, now) => before.is_none() && now.is_none(),
        }) && self.messages.len() <= later.messages.len()
            && self.messages.iter().zip(&later.messages).all(|(before, now)| is_same(before, now))
    }
}

fn is_same(before: &RawValue, now: &RawValue) -> bool {
    let bare = |raw: &RawValue| serde_json::from_str(raw.get()).map(|value| unmarked(value).to_string()).ok();
    before.get() == now.get() || bare(before).is_some_and(|before| Some(before) == bare(now))
}

fn unmarked(value: Value) -> Value {
    match value {
        Value::Array(items) => {
            let mut items: Vec<Value> = items.into_iter().map(unmarked).collect();
            match items.as_mut_slice() {
                [Value::Object(part)] if part.len() == 2 && part.get("type").is_some_and(|kind| kind == "text") => {
                    part.get_mut("text").map_or(Value::Null, Value::take)
                }
                _ => Value::Array(items),
            }
        }
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, _)| key != "cache_control");
            Value::Object(kept.map(|(key, field)| (key, unmarked(field))).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_request_extends_another_when_what_is_cached_grew_at_its_end() {
        let chat = |tools: Value, messages: Value, stream: bool| json!({"tools": tools, "messages": messages, "stream": stream});
        let user = |text: &str| json!({"role": "user", "content": text});
        let marked = |text: &str| json!({"role": "user", "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}]});
        let tools = || json!([{"name": "look"}]);
        let first = chat(tools(), json!([user("a")]), true);
        let table = [
            ("the same again", first.clone(), first.clone(), true),
            ("a message more", first.clone(), chat(tools(), json!([user("a"), user("b")]), true), true),
            ("another setting", first.clone(), chat(tools(), json!([user("a"), user("b")]), false), true),
            ("a message less", chat(tools(), json!([user("a"), user("b")]), true), first.clone(), false),
            ("an edit", first.clone(), chat(tools(), json!([user("A"), user("b")]), true), false),
            ("a tool more", first, chat(json!([{"name": "look"}, {"name": "go"}]), json!([user("a")]), true), false),
            (
                "a marker that moved on",
                chat(tools(), json!([marked("a")]), true),
                chat(tools(), json!([user("a"), marked("b")]), true),
                true,
            ),
            (
                "a part that grew inside of a message",
                json!({"input": [{"content": [{"text": "a"}]}]}),
                json!({"input": [{"content": [{"text": "a"}, {"text": "b"}]}]}),
                false,
            ),
            (
                "other instructions",
                json!({"instructions": "x", "input": []}),
                json!({"instructions": "y", "input": []}),
                false,
            ),
            ("tools that are gone", json!({"tools": [], "messages": []}), json!({"messages": []}), false),
        ];
        for (what, earlier, later, expected) in table {
            let bytes = |body: &Value| serde_json::to_vec(body).expect("json");
            assert_eq!(extends(&bytes(&earlier), &bytes(&later)), expected, "{what}");
        }
    }

    #[test]
    fn what_is_no_request_is_compared_byte_by_byte() {
        assert!(extends(b"=== user ===\nhi", b"=== user ===\nhi\n=== assistant ===\n"));
        assert!(!extends(b"=== user ===\nhi", b"=== user ===\nho"));
        assert_eq!((shared(b"abc", b"abd"), shared(b"abc", b"abc"), shared(b"", b"x")), (2, 3, 0));
        let long = vec![b'a'; 5000];
        for same in [0, 1, 1023, 1024, 1025, 4096, 4999] {
            let mut other = long.clone();
            other[same] = b'b';
            assert_eq!((shared(&long, &other), shared(&long, &long[..same])), (same, same));
        }
    }
}
