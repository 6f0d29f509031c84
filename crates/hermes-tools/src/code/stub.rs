//! `hermes_tools.py`: one Python function for each tool a script may call, made from the tools' own schemas. What is fixed
//! in it is `stub.py`; which tools there are, in which order they take their arguments and what they leave out is
//! [`FUNCTIONS`].

use crate::tool::Card;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write as _;

const FIXED: &str = include_str!("stub.py");

/// A tool as scripts see it.
pub(super) struct Function {
    pub(super) tool: &'static str,
    /// Arguments by position, as scripts have always passed them; others follow in the order of the schema.
    order: &'static [&'static str],
    /// Arguments that make no sense for a program that ends with its call.
    pub(super) without: &'static [&'static str],
}

/// All that a script may call. Everything else is for a model alone: it speaks to the person, remembers, or hands on.
pub(super) const FUNCTIONS: [Function; 7] = [
    Function {
        tool: "patch",
        order: &["path", "old_string", "new_string", "replace_all", "mode", "patch"],
        without: &[],
    },
    Function { tool: "read_file", order: &["path", "offset", "limit"], without: &[] },
    Function {
        tool: "search_files",
        order: &["pattern", "target", "path", "file_glob", "limit", "offset", "output_mode", "context"],
        without: &[],
    },
    Function {
        tool: "terminal",
        order: &["command", "timeout", "workdir"],
        without: &["background", "pty", "notify_on_complete", "watch_patterns"],
    },
    Function { tool: "web_extract", order: &["urls", "char_limit"], without: &[] },
    Function { tool: "web_search", order: &["query", "limit"], without: &[] },
    Function { tool: "write_file", order: &["path", "content"], without: &[] },
];

/// Words that are no names of arguments in Python.
const RESERVED: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue", "def", "del",
    "elif", "else", "except", "finally", "for", "from", "global", "if", "import", "in", "is", "lambda", "nonlocal",
    "not", "or", "pass", "raise", "return", "try", "while", "with", "yield",
];

/// The functions among these tools.
pub(super) fn callable(offered: &BTreeSet<String>) -> impl Iterator<Item = &'static Function> {
    FUNCTIONS.iter().filter(|function| offered.contains(function.tool))
}

/// The module for these tools.
pub(super) fn module<'a>(tools: impl Iterator<Item = (&'static Function, &'a Card)>) -> String {
    let mut text = FIXED.to_owned();
    for (function, card) in tools {
        define(&mut text, function, card);
    }
    text
}

/// One argument of a function.
struct Argument<'a> {
    name: &'a str,
    kind: Option<&'static str>,
    /// What stands for it where it is not given, as Python writes it; nothing where it must be.
    usual: Option<String>,
}

fn define(text: &mut String, function: &Function, card: &Card) {
    let arguments = arguments(function, &card.parameters);
    let (tool, about) = (function.tool, Value::from(first_sentence(&card.description)));
    let signature: Vec<String> = arguments.iter().map(Argument::declared).collect();
    let passed: Vec<String> = arguments.iter().map(|argument| format!("\"{0}\": {0}", argument.name)).collect();
    // Writing to a text does not fail.
    let _ = write!(
        text,
        "\n\ndef {tool}({}):\n    {about}\n    return _call(\"{tool}\", {{{}}})\n",
        signature.join(", "),
        passed.join(", ")
    );
}

/// In the order of the table, then of the schema; those that must be given come first, as Python wants it.
fn arguments<'a>(function: &Function, schema: &'a Value) -> Vec<Argument<'a>> {
    let required: BTreeSet<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let fits = |name: &str| is_name(name) && !function.without.contains(&name);
    let mut arguments: Vec<(usize, Argument<'a>)> = properties
        .into_iter()
        .flatten()
        .filter(|(name, _)| fits(name))
        .map(|(name, about)| {
            let place = function.order.iter().position(|known| known == name).unwrap_or(function.order.len());
            // What a model must say although it has a usual value, a script need not.
            let must = required.contains(name.as_str()) && about.get("default").is_none();
            let usual = (!must).then(|| literal(about.get("default")));
            (place, Argument { name, kind: kind(about), usual })
        })
        .collect();
    arguments.sort_by_key(|(place, argument)| (argument.usual.is_some(), *place));
    arguments.into_iter().map(|(_, argument)| argument).collect()
}

impl Argument<'_> {
    fn declared(&self) -> String {
        let kind = self.kind.map(|kind| format!(": {kind}")).unwrap_or_default();
        let usual = self.usual.as_ref().map(|usual| format!(" = {usual}")).unwrap_or_default();
        format!("{}{kind}{usual}", self.name)
    }
}

fn kind(about: &Value) -> Option<&'static str> {
    Some(match about.get("type")?.as_str()? {
        "string" => "str",
        "integer" => "int",
        "number" => "float",
        "boolean" => "bool",
        "array" => "list",
        "object" => "dict",
        _ => return None,
    })
}

/// A plain value as Python writes it. Lists and objects would be shared between calls: nothing stands for them.
fn literal(value: Option<&Value>) -> String {
    match value {
        Some(Value::Bool(true)) => "True".to_owned(),
        Some(Value::Bool(false)) => "False".to_owned(),
        Some(plain @ (Value::Number(_) | Value::String(_))) => plain.to_string(),
        _ => "None".to_owned(),
    }
}

fn first_sentence(text: &str) -> String {
    let sentence = text.split_inclusive(['.', '\n']).next().unwrap_or_default();
    sentence.trim().to_owned()
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c == '_' || c.is_ascii_alphanumeric();
    text.chars().all(fits)
        && text.starts_with(|c: char| c == '_' || c.is_ascii_alphabetic())
        && !RESERVED.contains(&text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn card(parameters: Value) -> Card {
        Card::new("terminal", "terminal", "Run a \"command\". And more.", parameters)
    }

    fn signature(parameters: Value) -> String {
        let function = callable(&BTreeSet::from(["terminal".to_owned()])).next().unwrap();
        let module = module([(function, &card(parameters))].into_iter());
        module.strip_prefix(FIXED).unwrap().to_owned()
    }

    #[test]
    fn a_function_has_the_arguments_of_the_schema_but_for_those_left_out() {
        let defined = signature(json!({"type": "object", "required": ["command"], "properties": {
            "workdir": {"type": "string"}, "command": {"type": "string"}, "background": {"type": "boolean"},
            "odd": {"type": "array", "default": [1]}, "from": {}, "a-b": {}, "timeout": {"type": "integer", "default": 5},
        }}));
        assert_eq!(
            defined,
            "\n\ndef terminal(command: str, timeout: int = 5, workdir: str = None, odd: list = None):\n    \
             \"Run a \\\"command\\\".\"\n    return _call(\"terminal\", {\"command\": command, \"timeout\": timeout, \
             \"workdir\": workdir, \"odd\": odd})\n"
        );
    }

    #[test]
    fn a_schema_that_says_nothing_makes_a_function_without_arguments() {
        assert!(signature(json!({})).contains("def terminal():"));
    }
}
