//! Reasoning that a model wrote into its answer between tags.
//!
//! [`Splitter`] works on the stream and parts the reasoning at the head of an answer from the answer. [`extract`] works
//! on the whole answer and decides what is stored. Both are cautious: an answer may be *about* such tags, so tags count
//! only where models put them, at the head of the answer or on lines of their own outside of code.

use std::borrow::Cow;

/// The tags in use. Case makes no difference.
const NAMES: [&str; 5] = ["think", "thinking", "thought", "reasoning", "reasoning_scratchpad"];

/// White space before an answer is held back for so long; more of it is the answer.
const WIDEST_GAP: usize = 1_024;

/// What one piece of a stream turned out to be.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Split<'a> {
    pub(super) reasoning: Option<Cow<'a, str>>,
    pub(super) visible: Option<Cow<'a, str>>,
}

/// Parts a stream of text. Holds back only what might still become a tag.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    place: Place,
    held: String,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Nothing but white space so far.
    #[default]
    Head,
    Inside(&'static str),
    /// Behind a block; white space belongs to it.
    Behind,
    Answer,
}

impl Splitter {
    pub(super) fn push<'a>(&mut self, text: Cow<'a, str>) -> Split<'a> {
        if self.place == Place::Answer {
            return Split { reasoning: None, visible: Some(text) };
        }
        self.held.push_str(&text);
        let mut split = Split::default();
        while self.step(&mut split) {}
        split
    }

    /// The stream is over: what was held back is what it looked like.
    pub(super) fn flush(&mut self) -> Split<'static> {
        let rest = std::mem::take(&mut self.held);
        let is_gap = self.place == Place::Behind && rest.trim_start().is_empty();
        let rest = Some(rest).filter(|rest| !rest.is_empty() && !is_gap).map(Cow::Owned);
        match self.place {
            Place::Inside(_) => Split { reasoning: rest, visible: None },
            Place::Head | Place::Behind | Place::Answer => Split { reasoning: None, visible: rest },
        }
    }

    /// One move through what is held; false when more text is needed.
    fn step(&mut self, split: &mut Split<'_>) -> bool {
        match self.place {
            Place::Answer => {
                append(&mut split.visible, &std::mem::take(&mut self.held));
                false
            }
            Place::Inside(name) => match find_closer(&self.held, name) {
                Some((inside, behind)) => {
                    append(&mut split.reasoning, inside);
                    self.held = behind.to_owned();
                    self.place = Place::Behind;
                    true
                }
                None => {
                    let safe = self.held.len() - possible_closer(&self.held, name);
                    let rest = self.held.split_off(safe);
                    append(&mut split.reasoning, &std::mem::replace(&mut self.held, rest));
                    false
                }
            },
            Place::Head | Place::Behind => {
                let start = self.held.trim_start();
                if let Some((name, inside)) = opener(start) {
                    self.held = inside.to_owned();
                    self.place = Place::Inside(name);
                    return true;
                }
                if (start.is_empty() && self.held.len() < WIDEST_GAP) || may_become_opener(start) {
                    return false;
                }
                if self.place == Place::Behind {
                    self.held = start.to_owned();
                }
                self.place = Place::Answer;
                true
            }
        }
    }
}

fn append(whole: &mut Option<Cow<'_, str>>, more: &str) {
    if !more.is_empty() {
        whole.get_or_insert_default().to_mut().push_str(more);
    }
}

/// The answer without the reasoning written into it, and that reasoning. Most answers have none and are handed back.
pub(super) fn extract(content: String) -> (String, Option<String>) {
    if memchr::memchr(b'<', content.as_bytes()).is_none() {
        return (content, None);
    }
    let mut thoughts: Vec<&str> = Vec::new();
    let mut rest = content.as_str();
    while let Some((name, inside)) = opener(rest.trim_start()) {
        let (thought, behind) = find_closer(inside, name).unwrap_or((inside, ""));
        thoughts.push(thought);
        rest = behind.trim_start();
    }
    if thoughts.is_empty()
        && let Some((thought, behind)) = unopened(rest)
    {
        thoughts.push(thought);
        rest = behind.trim_start();
    }
    let answer = without_own_lines(rest, &mut thoughts);
    let thoughts: Vec<&str> = thoughts.into_iter().map(str::trim).filter(|thought| !thought.is_empty()).collect();
    (answer.into_owned(), (!thoughts.is_empty()).then(|| thoughts.join("\n\n")))
}

/// Text up to a closing tag on a line of its own that nothing opened: the template of the model wrote the opening tag.
fn unopened(text: &str) -> Option<(&str, &str)> {
    let mut fenced = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let word = line.trim();
        fenced ^= word.starts_with("```");
        if opener(word).is_some() {
            return None;
        }
        if !fenced && NAMES.iter().any(|name| find_closer(word, name) == Some(("", ""))) {
            return Some((text.get(..start)?, text.get(start + line.len()..)?));
        }
        start += line.len();
    }
    None
}

/// Drops blocks that begin and end at the edges of lines, outside of code.
fn without_own_lines<'a>(text: &'a str, thoughts: &mut Vec<&'a str>) -> Cow<'a, str> {
    let mut found = false;
    let mut fenced = false;
    let mut rest = text;
    let mut answer = String::new();
    while let Some(line) = rest.split_inclusive('\n').next() {
        let word = line.trim_start();
        fenced ^= word.starts_with("```");
        let from_word = rest.trim_start_matches([' ', '\t']);
        let block = opener(from_word).filter(|_| !fenced).and_then(|(name, inside)| find_closer(inside, name));
        match block {
            Some((thought, behind))
                if behind.is_empty() || behind.trim_start_matches([' ', '\r']).starts_with('\n') =>
            {
                thoughts.push(thought);
                rest = behind.trim_start();
                found = true;
            }
            _ => {
                answer.push_str(line);
                rest = rest.get(line.len()..).unwrap_or_default();
            }
        }
    }
    if found { Cow::Owned(answer) } else { Cow::Borrowed(text) }
}

/// The tag that opens the text, and what follows it.
fn opener(text: &str) -> Option<(&'static str, &str)> {
    let inside = text.strip_prefix('<')?;
    NAMES.iter().find_map(|name| {
        let (head, tail) = inside.split_at_checked(name.len())?;
        let rest = tail.strip_prefix('>')?;
        head.eq_ignore_ascii_case(name).then_some((*name, rest))
    })
}

/// True when more text could turn this into an opening tag.
fn may_become_opener(text: &str) -> bool {
    let Some(begun) = text.strip_prefix('<') else { return false };
    NAMES
        .iter()
        .any(|name| name.split_at_checked(begun.len()).is_some_and(|(head, _)| head.eq_ignore_ascii_case(begun)))
}

/// What stands before and behind the first closing tag of this name.
fn find_closer<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    text.match_indices("</").find_map(|(at, _)| {
        let (before, from) = text.split_at_checked(at)?;
        let (head, tail) = from.strip_prefix("</")?.split_at_checked(name.len())?;
        let behind = tail.strip_prefix('>')?;
        head.eq_ignore_ascii_case(name).then_some((before, behind))
    })
}

/// How many bytes at the end of the text could be the beginning of a closing tag.
fn possible_closer(text: &str, name: &str) -> usize {
    let Some(at) = text.rfind('<') else { return 0 };
    let tail = text.get(at..).unwrap_or_default();
    let closer = format!("</{name}>");
    let begun = closer.split_at_checked(tail.len()).is_some_and(|(head, _)| head.eq_ignore_ascii_case(tail));
    if begun { tail.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn streamed<'a>(pieces: impl IntoIterator<Item = &'a str>) -> (String, String) {
        let mut splitter = Splitter::default();
        let (mut reasoning, mut visible) = (String::new(), String::new());
        let mut note = |split: Split<'_>| {
            reasoning.push_str(&split.reasoning.unwrap_or_default());
            visible.push_str(&split.visible.unwrap_or_default());
        };
        for piece in pieces {
            note(splitter.push(Cow::Borrowed(piece)));
        }
        note(splitter.flush());
        (reasoning, visible)
    }

    fn parted(reasoning: &str, visible: &str) -> (String, String) {
        (reasoning.to_owned(), visible.to_owned())
    }

    #[test]
    fn a_stream_shows_the_answer_and_not_the_thoughts_before_it() {
        assert_eq!(
            streamed(["<thi", "nk>a <b> ", "c</th", "ink>", "\n\nHi", " <think> there"]),
            parted("a <b> c", "Hi <think> there")
        );
        assert_eq!(streamed(["<think>a</think>\n<thought>b</thought>c"]), parted("ab", "c"));
        assert_eq!(streamed(["<THINK>never closed"]), parted("never closed", ""));
        assert_eq!(streamed(["  <th"]), parted("", "  <th"));
        assert_eq!(streamed(["<thinner> is ", "a word"]), parted("", "<thinner> is a word"));
        assert_eq!(streamed(["plain"]), parted("", "plain"));
    }

    #[test]
    fn the_stored_answer_has_no_thoughts_in_it() {
        let table = [
            ("Hello.", "Hello.", None),
            ("a < b", "a < b", None),
            ("<think>plan</think>\n\nHello.", "Hello.", Some("plan")),
            ("\n<Thinking>\nplan\n</THINKING>Hello.", "Hello.", Some("plan")),
            ("<think>a</think><reasoning>b</reasoning>c", "c", Some("a\n\nb")),
            ("<REASONING_SCRATCHPAD>cut off", "", Some("cut off")),
            ("plan\nmore\n</think>\n\nHello.", "Hello.", Some("plan\nmore")),
            ("First.\n<think>\nhm\n</think>\nSecond.", "First.\nSecond.", Some("hm")),
            ("<think></think>Hello.", "Hello.", None),
            ("Close it with `</think>` please.", "Close it with `</think>` please.", None),
            ("Write <think>x</think> inline.", "Write <think>x</think> inline.", None),
            ("```\n<think>\nx\n</think>\n```\n", "```\n<think>\nx\n</think>\n```\n", None),
        ];
        for (content, answer, thoughts) in table {
            let (text, reasoning) = extract(content.to_owned());
            assert_eq!((text.as_str(), reasoning.as_deref()), (answer, thoughts), "{content}");
        }
    }

    proptest! {
        /// Where the network cuts the text must not matter.
        #[test]
        fn pieces_do_not_matter(
            words in prop::collection::vec(
                prop_oneof![
                    Just("<think>"), Just("</think>"), Just("<"), Just("</"), Just("thought"), Just(">"), Just(" "),
                    Just("\n"), Just("ä"), Just("x"),
                ],
                0..12,
            ),
        ) {
            let whole = words.concat();
            let characters: Vec<String> = whole.chars().map(String::from).collect();
            prop_assert_eq!(streamed([whole.as_str()]), streamed(characters.iter().map(String::as_str)));
        }
    }
}
