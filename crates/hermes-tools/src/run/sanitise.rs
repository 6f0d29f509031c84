//! Errors that carry foreign text, made harmless: nothing in them looks like the structure of a conversation, no secret is
//! readable, and none is long.

use hermes_core::redact;
use hermes_types::clip;
use std::borrow::Cow;

/// Tags that servers and models take for the frame of a conversation.
const TAGS: &[&str] =
    &["tool_call", "function_call", "result", "response", "output", "input", "system", "assistant", "user"];
const LANGUAGES: &[&str] = &["json", "xml", "html", "markdown"];
const FENCE: &str = "```";
const CDATA: (&str, &str) = ("<![CDATA[", "]]>");
const LONGEST_ERROR: usize = 2_000;
/// So much is looked at: enough for an error that is mostly tags.
const LONGEST_LOOK: usize = 4 * LONGEST_ERROR;
/// The longest tag with its attributes.
const LONGEST_TAG: usize = 300;

/// The text of an error as the model may read it.
pub(crate) fn error(text: &str) -> String {
    let covered = redact::text(text);
    let mut clean: String = covered.chars().take(LONGEST_LOOK).collect();
    // What is left after a tag went may be a tag again.
    loop {
        let next = without_fences(&without_tags(&without_cdata(&clean)));
        if next == clean {
            break;
        }
        clean = next;
    }
    format!("[TOOL_ERROR] {}", clip(&clean, LONGEST_ERROR))
}

/// Without CDATA sections; of one that never ends only its beginning goes.
fn without_cdata(text: &str) -> Cow<'_, str> {
    let (open, close) = CDATA;
    if !text.contains(open) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, section)) = rest.split_once(open) {
        out.push_str(before);
        rest = section.split_once(close).map_or(section, |(_, after)| after);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        out.push_str(before);
        match tag_length(after) {
            Some(length) => rest = after.get(length..).unwrap_or_default(),
            None => {
                out.push('<');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

/// Bytes of a tag behind its `<`, when it is one of ours.
fn tag_length(text: &str) -> Option<usize> {
    let name = text.trim_start().trim_start_matches('/').trim_start();
    let known = TAGS.iter().find_map(|tag| {
        let (head, rest) = name.split_at_checked(tag.len())?;
        head.eq_ignore_ascii_case(tag).then_some(rest)
    })?;
    let ends = known.starts_with(|c: char| c.is_whitespace() || matches!(c, '>' | '/'));
    let close = text.char_indices().take(LONGEST_TAG).find(|(_, c)| *c == '>').map(|(at, _)| at + 1);
    close.filter(|_| ends)
}

fn without_fences(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        let opened = line.trim_start().strip_prefix(FENCE).map(|rest| {
            let rest = rest.trim_start_matches('`');
            LANGUAGES.iter().find_map(|language| rest.strip_prefix(language)).unwrap_or(rest)
        });
        let line = opened.unwrap_or(line);
        let closed = line.trim_end().strip_suffix(FENCE).map(|rest| rest.trim_end_matches('`'));
        out.push_str(closed.unwrap_or(line));
        out.push_str(end);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_of_an_error_looks_like_a_conversation() {
        let table = [
            ("boom", "boom"),
            ("```json\n<system>x</system> <![CDATA[hidden]]> boom\n```", "\nx  boom\n"),
            ("< / TOOL_CALL >a<User id='1'>b<outputs>c</result >", "ab<outputs>c"),
            ("<sys<system>tem>now<![CDATA[", "now"),
            ("<res<![CDATA[x]]>ult>", ""),
            ("if a < user && b > c", "if a < user && b > c"),
            ("use `code` and ``` here", "use `code` and ``` here"),
            ("key sk-proj-Ab3dEf6hIj9kLm2nOp5q refused", "key «redacted:sk-p…Op5q» refused"),
        ];
        for (foreign, clean) in table {
            assert_eq!(error(foreign), format!("[TOOL_ERROR] {clean}"), "{foreign}");
        }
        let long = error(&"é".repeat(5_000));
        assert_eq!((long.chars().count(), long.ends_with('…')), ("[TOOL_ERROR] ".len() + 2_000, true));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]
        #[test]
        fn no_tag_survives(text in "(<|>|/|system|user|SYSTEM| |<!\\[CDATA\\[|\\]\\]>|```|json|\n|a){0,24}") {
            let clean = error(&text).to_lowercase();
            for tag in ["<system>", "</system>", "<user>", "</user>", "<![cdata["] {
                prop_assert!(!clean.contains(tag), "{clean:?}");
            }
        }
    }
}
