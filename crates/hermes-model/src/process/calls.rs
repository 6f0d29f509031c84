//! Finds tool calls in the text of a model that has no other way to make them.
//!
//! A call is a `<tool_call>{…}</tool_call>` block, or a JSON object at the beginning of a line that is shaped like a
//! function call and names a tool that was offered. Text is handed on as soon as it cannot be part of a call, and all
//! text outside calls is handed on unchanged. A block that cannot be read is reported, never guessed at. The work is
//! linear in the length of the text, however it is cut into chunks.

use hermes_types::{Arguments, Object};
use serde_json::Value;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
/// The name of a call that did not get as far as its name.
const NAMELESS: &str = "unknown";
const LONGEST_NAME: usize = 128;
/// More white space than this before the first key, and an object is not taken for a call.
const WIDEST_INDENT: usize = 64;

/// What a stretch of the answer turned out to be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    Text(String),
    Call {
        name: String,
        arguments: Arguments,
    },
    /// A call that was cut off or cannot be read, by the name it gives.
    Broken(String),
}

/// Takes in an answer chunk by chunk.
#[derive(Debug)]
pub(super) struct Reader {
    /// Names of the tools on offer. Without any, everything is text.
    offered: Vec<String>,
    held: String,
    /// Where in `held` the part begins that was not handed on yet.
    start: usize,
    state: State,
    /// Only white space stands between the last line break and `start`.
    fresh_line: bool,
    /// Whether a closing tag inside a JSON string belongs to the string.
    quotes: Quotes,
}

#[derive(Debug, Clone, Copy)]
enum State {
    Text,
    /// Behind an opening tag.
    Block(Scan),
    /// Inside an object at the beginning of a line.
    Bare(Scan),
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Quotes {
    Respected,
    /// A block with a quote too few would hide all that follows; from its end on, tags alone count.
    Ignored,
}

/// How far a piece of JSON was read, as an offset behind `start`.
#[derive(Debug, Clone, Copy, Default)]
struct Scan {
    at: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

/// A tag and where it begins.
enum Tag {
    Close(usize),
    /// The block before it was never closed.
    Open(usize),
}

impl State {
    fn block() -> Self {
        Self::Block(Scan { at: OPEN.len(), ..Scan::default() })
    }
}

impl Reader {
    pub(super) fn new(offered: Vec<String>) -> Self {
        Self { offered, held: String::new(), start: 0, state: State::Text, fresh_line: true, quotes: Quotes::Respected }
    }

    /// What became certain with this chunk.
    pub(super) fn push(&mut self, chunk: &str) -> Vec<Piece> {
        self.held.push_str(chunk);
        let mut out = Vec::new();
        if self.offered.is_empty() {
            self.take_text(self.rest().len(), &mut out);
        } else {
            self.advance(&mut out);
        }
        self.held.drain(..self.start);
        self.start = 0;
        out
    }

    /// The answer is over: what was held back is decided.
    pub(super) fn finish(&mut self) -> Vec<Piece> {
        let mut out = Vec::new();
        while !self.rest().is_empty() {
            match self.state {
                State::Text | State::Bare(_) => {
                    self.state = State::Text;
                    self.take_text(self.rest().len(), &mut out);
                }
                State::Block(_) => self.finish_block(&mut out),
            }
        }
        out
    }

    fn rest(&self) -> &str {
        self.held.get(self.start..).unwrap_or_default()
    }

    fn advance(&mut self, out: &mut Vec<Piece>) {
        loop {
            let moved = match self.state {
                State::Text => self.in_text(out),
                State::Block(scan) => self.in_block(scan, out),
                State::Bare(scan) => self.in_bare(scan, out),
            };
            if !moved {
                return;
            }
        }
    }

    /// Hands text on up to the next thing that is, or may become, a call. True when such a thing begins.
    fn in_text(&mut self, out: &mut Vec<Piece>) -> bool {
        let rest = self.rest();
        let (mut text, mut begins) = (rest.len(), None);
        let mut from = 0;
        while let Some(found) = memchr::memchr2(b'<', b'{', rest.as_bytes().get(from..).unwrap_or_default()) {
            let at = from + found;
            let (before, behind) = (rest.get(..at).unwrap_or_default(), rest.get(at..).unwrap_or_default());
            match opening(behind, ends_fresh(before, self.fresh_line)) {
                Opening::None => from = at + 1,
                Opening::Undecided => {
                    text = at;
                    break;
                }
                Opening::Of(state) => {
                    (text, begins) = (at, Some(state));
                    break;
                }
            }
        }
        self.take_text(text, out);
        self.state = begins.unwrap_or(State::Text);
        begins.is_some()
    }

    /// True when the block is over.
    fn in_block(&mut self, mut scan: Scan, out: &mut Vec<Piece>) -> bool {
        match scan.find_tag(self.rest(), self.quotes) {
            None => {
                self.state = State::Block(scan);
                return false;
            }
            Some(Tag::Close(at)) => self.take_block(at, at + CLOSE.len(), out),
            Some(Tag::Open(at)) => self.take_unclosed(at, out),
        }
        true
    }

    /// True when the object is whole, or turned out to be none.
    fn in_bare(&mut self, mut scan: Scan, out: &mut Vec<Piece>) -> bool {
        let rest = self.rest();
        let Some(end) = scan.find_end(rest) else {
            self.state = State::Bare(scan);
            return false;
        };
        let call = rest.get(..end).and_then(|object| bare_call(object, &self.offered));
        self.state = State::Text;
        match call {
            Some(call) => {
                self.start += end;
                self.fresh_line = false;
                out.push(call);
            }
            None => self.take_text(end, out),
        }
        true
    }

    /// The answer ended inside a block. When the block is not whole, a quote too few may have hidden its end.
    fn finish_block(&mut self, out: &mut Vec<Piece>) {
        let length = self.rest().len();
        let whole = matches!(read_call(self.rest().get(OPEN.len()..).unwrap_or_default()), Piece::Call { .. });
        if whole || self.quotes == Quotes::Ignored {
            return self.take_unclosed(length, out);
        }
        self.quotes = Quotes::Ignored;
        self.state = State::block();
        self.advance(out);
    }

    /// A block nobody closed is a call when it is whole, and mere talk about tags when it does not look like one.
    fn take_unclosed(&mut self, end: usize, out: &mut Vec<Piece>) {
        let body = self.rest().get(OPEN.len()..end).unwrap_or_default().trim_start();
        if body.starts_with(['{', '`']) {
            return self.take_block(end, end, out);
        }
        self.state = State::Text;
        self.take_text(end, out);
    }

    fn take_block(&mut self, close: usize, end: usize, out: &mut Vec<Piece>) {
        let body = self.rest().get(OPEN.len()..close).unwrap_or_default();
        out.push(read_call(body));
        self.start += end;
        self.state = State::Text;
        self.fresh_line = false;
    }

    fn take_text(&mut self, length: usize, out: &mut Vec<Piece>) {
        let Some(text) = self.rest().get(..length).filter(|text| !text.is_empty()).map(str::to_owned) else { return };
        self.fresh_line = ends_fresh(&text, self.fresh_line);
        self.start += length;
        match out.last_mut() {
            Some(Piece::Text(last)) => last.push_str(&text),
            _ => out.push(Piece::Text(text)),
        }
    }
}

impl Scan {
    /// The next tag, quoted ones left out where quotes are respected.
    fn find_tag(&mut self, text: &str, quotes: Quotes) -> Option<Tag> {
        while let Some(byte) = text.as_bytes().get(self.at).copied() {
            if byte == b'<' && !(self.in_string && quotes == Quotes::Respected) {
                let behind = text.get(self.at..).unwrap_or_default();
                if behind.starts_with(CLOSE) {
                    return Some(Tag::Close(self.at));
                }
                if behind.starts_with(OPEN) {
                    return Some(Tag::Open(self.at));
                }
                if CLOSE.starts_with(behind) || OPEN.starts_with(behind) {
                    return None;
                }
            }
            self.step(byte);
        }
        None
    }

    /// Where the object ends that begins at the start of the text. An opening tag ends it too: it makes the object
    /// mere text, and the call behind the tag must not get lost in it.
    fn find_end(&mut self, text: &str) -> Option<usize> {
        while let Some(byte) = text.as_bytes().get(self.at).copied() {
            if byte == b'<' {
                let behind = text.get(self.at..).unwrap_or_default();
                if behind.starts_with(OPEN) {
                    return Some(self.at);
                }
                if OPEN.starts_with(behind) {
                    return None;
                }
            }
            self.step(byte);
            if self.depth == 0 && byte == b'}' && !self.in_string {
                return Some(self.at);
            }
        }
        None
    }

    fn step(&mut self, byte: u8) {
        self.at += 1;
        match byte {
            _ if self.escaped => self.escaped = false,
            b'\\' if self.in_string => self.escaped = true,
            b'"' => self.in_string = !self.in_string,
            b'{' if !self.in_string => self.depth += 1,
            b'}' if !self.in_string => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }
}

/// What may begin at a `<` or `{`.
enum Opening {
    None,
    /// The next chunk will tell.
    Undecided,
    Of(State),
}

fn opening(text: &str, begins_line: bool) -> Opening {
    if text.starts_with(OPEN) {
        return Opening::Of(State::block());
    }
    if OPEN.starts_with(text) {
        return Opening::Undecided;
    }
    let Some(inside) = text.strip_prefix('{').filter(|_| begins_line) else { return Opening::None };
    match inside.bytes().take(WIDEST_INDENT).find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'"') => Opening::Of(State::Bare(Scan::default())),
        None if inside.len() < WIDEST_INDENT => Opening::Undecided,
        _ => Opening::None,
    }
}

/// Whether only blanks follow the last line break of `text`, given how the line stood before it.
fn ends_fresh(text: &str, before: bool) -> bool {
    match text.bytes().rev().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r')) {
        Some(byte) => byte == b'\n',
        None => before,
    }
}

fn read_call(body: &str) -> Piece {
    let Ok(object) = Arguments::from(body).parse() else {
        return Piece::Broken(name_in(body).unwrap_or_else(|| NAMELESS.into()));
    };
    match name_and_arguments(&object) {
        None => Piece::Broken(NAMELESS.into()),
        Some((name, None)) => Piece::Broken(name),
        Some((name, Some(arguments))) => Piece::Call { name, arguments },
    }
}

/// An object that stands alone is a call only without doubt: strict JSON, nothing in it but a call, a tool on offer.
fn bare_call(text: &str, offered: &[String]) -> Option<Piece> {
    let object: Object = serde_json::from_str(text).ok()?;
    let known: &[&str] =
        if object.contains_key("function") { &["id", "type", "function"] } else { &["id", "name", "arguments"] };
    let is_call = object.keys().all(|key| known.contains(&key.as_str()));
    match name_and_arguments(&object).filter(|_| is_call)? {
        (name, Some(arguments)) if offered.contains(&name) => Some(Piece::Call { name, arguments }),
        _ => None,
    }
}

/// `{"name": …, "arguments": …}`, or the same inside `function`. Arguments that are no object are `None`.
fn name_and_arguments(object: &Object) -> Option<(String, Option<Arguments>)> {
    let function = object.get("function").and_then(Value::as_object).unwrap_or(object);
    let name = function.get("name")?.as_str()?.trim();
    if name.is_empty() || name.len() > LONGEST_NAME {
        return None;
    }
    let arguments = match function.get("arguments") {
        None | Some(Value::Null) => Some(Arguments::from("{}")),
        Some(Value::String(text)) => Some(Arguments::from(text.as_str())),
        Some(object @ Value::Object(_)) => Some(Arguments::from(object.to_string())),
        Some(_) => None,
    };
    Some((name.to_owned(), arguments.filter(|arguments| arguments.parse().is_ok())))
}

/// The name in a call that cannot be read as a whole.
fn name_in(body: &str) -> Option<String> {
    let (_, behind) = body.split_once("\"name\"")?;
    let value = behind.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (name, _) = value.split_once('"')?;
    let fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    (!name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fit)).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Piece {
        Piece::Text(text.into())
    }

    fn call(name: &str, arguments: &str) -> Piece {
        Piece::Call { name: name.into(), arguments: arguments.into() }
    }

    fn broken(name: &str) -> Piece {
        Piece::Broken(name.into())
    }

    /// The pieces of an answer that comes in chunks of so many characters, neighbouring texts joined.
    fn pieces(answer: &str, chunk: usize) -> Vec<Piece> {
        let mut reader = Reader::new(vec!["f".into(), "g".into()]);
        let characters: Vec<char> = answer.chars().collect();
        let mut seen: Vec<Piece> = Vec::new();
        for chunk in characters.chunks(chunk) {
            seen.extend(reader.push(&chunk.iter().collect::<String>()));
        }
        seen.extend(reader.finish());
        let mut joined: Vec<Piece> = Vec::new();
        for piece in seen {
            match (joined.last_mut(), piece) {
                (Some(Piece::Text(last)), Piece::Text(more)) => last.push_str(&more),
                (_, piece) => joined.push(piece),
            }
        }
        joined
    }

    #[test]
    fn answers_of_real_models() {
        let table: &[(&str, &[Piece])] = &[
            ("Hello <b>you</b> {x}", &[text("Hello <b>you</b> {x}")]),
            (
                "I look.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1}}</tool_call>\n<tool_call>{\"name\": \"g\"}</tool_call>",
                &[text("I look.\n"), call("f", r#"{"a":1}"#), text("\n"), call("g", "{}")],
            ),
            // The closing tag in a string is part of the string.
            (
                r#"<tool_call>{"name":"f","arguments":{"text":"</tool_call> \" <tool_call>"}}</tool_call>!"#,
                &[call("f", r#"{"text":"</tool_call> \" <tool_call>"}"#), text("!")],
            ),
            // A fence, Python literals, arguments as text, the long form.
            (
                "<tool_call>\n```json\n{'name': 'f', 'arguments': {'a': True,}}\n```\n</tool_call>",
                &[call("f", r#"{"a":true}"#)],
            ),
            (
                r#"<tool_call>{"id":"x","type":"function","function":{"name":"f","arguments":"{\"a\": 1}"}}</tool_call>"#,
                &[call("f", r#"{"a": 1}"#)],
            ),
            // An object nobody finished does not hide the call behind it.
            ("{\"a\": \"<tool_call>{\"name\":\"f\"}</tool_call>", &[text("{\"a\": \""), call("f", "{}")]),
            // Nobody closed it, but it is whole.
            (r#"<tool_call>{"name":"f","arguments":{}}"#, &[call("f", "{}")]),
            (
                "<tool_call>{\"name\":\"f\"}\n<tool_call>{\"name\":\"g\"}</tool_call>",
                &[call("f", "{}"), call("g", "{}")],
            ),
            (
                r#"<tool_call>{"name":"f","arguments":{"text":"</tool_call>"}}"#,
                &[call("f", r#"{"text":"</tool_call>"}"#)],
            ),
            (
                "No <tool_call> yet. <tool_call>{\"name\":\"f\"}</tool_call>",
                &[text("No <tool_call> yet. "), call("f", "{}")],
            ),
            ("Put it into <tool_call> tags.", &[text("Put it into <tool_call> tags.")]),
            ("a < b and <tool", &[text("a < b and <tool")]),
        ];
        for (answer, expected) in table {
            assert_eq!(pieces(answer, usize::MAX), *expected, "{answer}");
        }
    }

    #[test]
    fn what_is_cut_or_unreadable_is_named_and_never_run() {
        let table: &[(&str, &[Piece])] = &[
            (r#"<tool_call>{"name":"f","arguments":{"a":"b"#, &[broken("f")]),
            (r#"<tool_call>{"na"#, &[broken("unknown")]),
            ("<tool_call></tool_call>x", &[broken("unknown"), text("x")]),
            ("<tool_call>f(1)</tool_call>", &[broken("unknown")]),
            (r#"<tool_call>{"name":"f","arguments":[1]}</tool_call>"#, &[broken("f")]),
            (r#"<tool_call>{"name":"f","arguments":"{cut"}</tool_call>"#, &[broken("f")]),
            // One quote too few hides neither the text nor the call behind it.
            (
                r#"<tool_call>{"name":"f","arguments":{"a":"b}}</tool_call>then<tool_call>{"name":"g"}</tool_call>."#,
                &[broken("f"), text("then"), call("g", "{}"), text(".")],
            ),
        ];
        for (answer, expected) in table {
            assert_eq!(pieces(answer, usize::MAX), *expected, "{answer}");
        }
    }

    #[test]
    fn an_object_alone_is_a_call_only_without_doubt() {
        let long = r#"{"id":"1","type":"function","function":{"name":"g","arguments":"{\"x\":[\"}\"]}"}}"#;
        assert_eq!(pieces(long, usize::MAX), [call("g", r#"{"x":["}"]}"#)]);
        let answer = "So:\n  {\"name\": \"f\",\n \"arguments\": {}}\nDone";
        assert_eq!(pieces(answer, usize::MAX), [text("So:\n  "), call("f", "{}"), text("\nDone")]);
        for answer in [
            r#"{"name":"stranger","arguments":{}}"#,
            r#"{"name":"f","arguments":{},"comment":"an example"}"#,
            r#"Like {"name":"f","arguments":{}}"#,
            r#"{"name":"f","arguments":{"a"#,
            "fn main()\n{\n  \"x\";\n}",
        ] {
            assert_eq!(pieces(answer, usize::MAX), [text(answer)]);
        }
    }

    #[test]
    fn without_tools_everything_is_text() {
        let answer = r#"<tool_call>{"name":"f"}</tool_call>"#;
        let mut reader = Reader::new(Vec::new());
        assert_eq!((reader.push(answer), reader.finish()), (vec![text(answer)], vec![]));
    }

    #[test]
    fn text_is_shown_as_soon_as_it_can_be_nothing_else() {
        let mut reader = Reader::new(vec!["f".into()]);
        assert_eq!(reader.push("One <"), [text("One ")]);
        assert_eq!(reader.push("b> two\n{"), [text("<b> two\n")]);
        assert_eq!(reader.push("1} <tool_"), [text("{1} ")]);
        assert_eq!(reader.push("call>{\"name\":"), []);
        assert_eq!(reader.push("\"f\"}</tool_call"), []);
        assert_eq!(reader.push("> end"), [call("f", "{}"), text(" end")]);
        assert_eq!(reader.finish(), []);
    }

    /// Quadratic work on these would take minutes.
    #[test]
    fn hostile_repetition_costs_no_more_than_its_length() {
        for word in [
            "<",
            "{",
            "<tool_call>",
            "{\"\n",
            "\n{ \"\"}",
            " {",
            "<tool_call>{\"",
            "</tool_call>",
            "<tool_call>\"</tool_call>",
        ] {
            let answer = word.repeat((1 << 19) / word.len());
            assert!(pieces(&answer, usize::MAX) == pieces(&answer, 16), "{word}");
        }
    }

    /// Parts of an answer and what each stands for.
    fn part() -> impl Strategy<Value = (String, Vec<Piece>)> {
        prop_oneof![
            "[ a-zé<>/_\"}\n]{1,10}".prop_map(|words| (words.clone(), vec![text(&words)])),
            "[a-z \"{}é</>\\\\\n]{0,10}".prop_map(|value| {
                let arguments = serde_json::json!({"v": value}).to_string();
                let block = format!("{OPEN}{{\"name\":\"f\",\"arguments\":{arguments}}}{CLOSE}");
                (block, vec![call("f", &arguments)])
            }),
            Just((format!("{OPEN}{{\"name\":\"g\",\"arguments\":{{]}}{CLOSE}"), vec![broken("g")])),
        ]
    }

    proptest! {
        #[test]
        fn no_text_and_no_call_is_lost(parts in prop::collection::vec(part(), 0..8), chunk in 1usize..9) {
            let answer: String = parts.iter().map(|(text, _)| text.as_str()).collect();
            prop_assume!(answer.matches(OPEN).count() == parts.iter().filter(|(text, _)| text.starts_with(OPEN)).count());
            let mut expected: Vec<Piece> = Vec::new();
            for piece in parts.into_iter().flat_map(|(_, pieces)| pieces) {
                match (expected.last_mut(), piece) {
                    (Some(Piece::Text(last)), Piece::Text(more)) => last.push_str(&more),
                    (_, piece) => expected.push(piece),
                }
            }
            prop_assert_eq!(pieces(&answer, chunk), expected);
        }

        /// Any mixture of the things that matter, cut anywhere, is read the same way and without a panic.
        #[test]
        fn chunking_is_invisible(
            words in prop::collection::vec(
                prop::sample::select(vec!["<tool_call>", "</tool_call>", "{\"name\":\"f\"}", "{\"", "\"", "}", "\\", "\n", "é", "<", " "]),
                0..24,
            ),
            chunk in 1usize..9,
        ) {
            let answer = words.concat();
            prop_assert_eq!(pieces(&answer, chunk), pieces(&answer, usize::MAX));
        }

        #[test]
        fn an_answer_without_calls_is_handed_on_whole(answer in "[^{]{0,60}") {
            prop_assume!(!answer.contains(OPEN));
            prop_assert_eq!(pieces(&answer, 3).into_iter().map(|piece| match piece {
                Piece::Text(text) => text,
                other => panic!("{other:?}"),
            }).collect::<String>(), answer);
        }
    }
}
