//! What a model wrote into `tool_call`, read. Pure: whether there is such a tool is not asked here.

use hermes_types::{Arguments, Object};
use serde_json::{Value, json};

const UNNAMED: &str = "tool_call needs `name`, the name of a tool, and `arguments`, an object with its arguments; nothing \
                       was done.";
const LOOSE: &str = "The arguments of the tool belong into `arguments`, as an object; nothing was done.";

/// A call inside of a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) arguments: Object,
}

/// The call that is meant, or what the model is told. Arguments are never guessed: those that stand beside `name` where
/// `arguments` is missing could mean anything.
pub(crate) fn unwrapped(written: &Arguments) -> Result<Inner, Value> {
    let mut outer = written.parse().map_err(|fault| unreadable(&fault.to_string()))?;
    let name = outer.shift_remove("name").and_then(|name| name.as_str().map(|name| name.trim().to_owned()));
    let name = name.filter(|name| !name.is_empty()).ok_or_else(|| json!({ "error": UNNAMED }))?;
    let arguments = match outer.shift_remove("arguments") {
        Some(Value::Object(arguments)) => arguments,
        Some(Value::String(text)) => {
            Arguments::from(text).parse().map_err(|fault| unreadable(&format!("`arguments`: {fault}")))?
        }
        None | Some(Value::Null) if outer.is_empty() => Object::new(),
        _ => return Err(json!({"error": "Invalid tool arguments", "message": LOOSE})),
    };
    Ok(Inner { name, arguments })
}

/// The search that a call of the Python program's `tool_describe` comes to.
pub(crate) fn described(written: &Arguments) -> Result<Object, Value> {
    let mut outer = written.parse().map_err(|fault| unreadable(&fault.to_string()))?;
    let name = outer.shift_remove("name").unwrap_or_default();
    Ok(Object::from_iter([("query".to_owned(), name), ("limit".to_owned(), Value::from(1))]))
}

fn unreadable(message: &str) -> Value {
    json!({"error": "Invalid tool arguments", "message": message})
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<(String, Value), String> {
        let inner = unwrapped(&Arguments::from(text)).map_err(|told| told["error"].as_str().unwrap().to_owned())?;
        Ok((inner.name, Value::Object(inner.arguments)))
    }

    #[test]
    fn arguments_come_as_an_object_as_text_or_not_at_all() {
        let told = |name: &str, arguments: Value| Ok((name.to_owned(), arguments));
        let table = [
            (r#"{"name": "t", "arguments": {"a": 1}}"#, told("t", json!({"a": 1}))),
            (r#"{"name": " t ", "arguments": "{\"a\": 1}"}"#, told("t", json!({"a": 1}))),
            (r#"{"name": "t", "arguments": ""}"#, told("t", json!({}))),
            (r#"{"name": "t", "arguments": null}"#, told("t", json!({}))),
            (r#"{"name": "t"}"#, told("t", json!({}))),
            (r#"{"name": "t", "arguments": {"a": 1}, "limit": 2}"#, told("t", json!({"a": 1}))),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), expected, "{text}");
        }
    }

    #[test]
    fn what_was_cut_or_stands_at_the_wrong_place_is_never_guessed() {
        let invalid = "Invalid tool arguments";
        let table = [
            (r#"{"name": "t", "arguments": "{\"path\": \"a"}"#, invalid),
            (r#"{"name": "t", "arguments": [1]}"#, invalid),
            (r#"{"name": "t", "arguments": 7}"#, invalid),
            (r#"{"name": "t", "path": "a.txt"}"#, invalid),
            (r#"{"name": "t", "argu"#, invalid),
            (r#"{"arguments": {}}"#, UNNAMED),
            (r#"{"name": "  ", "arguments": {}}"#, UNNAMED),
            (r#"{"name": ["t"], "arguments": {}}"#, UNNAMED),
        ];
        for (text, expected) in table {
            assert_eq!(read(text), Err(expected.to_owned()), "{text}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn as_text_or_as_an_object_the_arguments_are_the_same(
            arguments in prop::collection::btree_map("[a-zé_]{1,6}", prop_oneof![
                any::<bool>().prop_map(Value::from), any::<i64>().prop_map(Value::from), ".{0,12}".prop_map(Value::from)
            ], 0..5),
        ) {
            let object = Value::Object(arguments.into_iter().collect());
            let plain = json!({"name": "t", "arguments": object}).to_string();
            let quoted = json!({"name": "t", "arguments": object.to_string()}).to_string();
            prop_assert_eq!(read(&plain), Ok(("t".to_owned(), object)));
            prop_assert_eq!(read(&plain), read(&quoted));
        }
    }
}
