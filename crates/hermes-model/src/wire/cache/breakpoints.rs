//! Where the pieces end that a provider should keep: at most four places, the foundation (tools and system prompt) and the
//! newest messages. The conversation may change behind the foundation, as compression does, and it is still found.
//!
//! A provider looks for what it kept from each mark backwards, but only over some twenty blocks, so a reply with thirty
//! calls would hide everything before it. Where the newest mark does not see that far, one stands where the request before
//! this one ended. That needs no memory: it is the last message before the newest reply.
//!
//! A conversation that is made shorter changes from where the pass before left off. The ends of what the last two passes
//! made are therefore marked: the newer one to be kept, the older one to be found when the newer is new.

use super::{Marker, marker};
use crate::wire::{ApiMode, Target};
use hermes_core::context::pass_of;
use hermes_types::{Content, Message, Request};
use std::sync::Arc;

/// The most marks a request may have.
const MOST: usize = 4;
/// A mark sees so many blocks back, and a few more.
const SEEN: usize = 18;

/// The marks of one request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::wire) struct Breakpoints {
    /// How each of them is written; `None` when there are none.
    marker: Option<Marker>,
    foundation: bool,
    /// Places in the list of messages.
    messages: Vec<usize>,
}

impl Breakpoints {
    /// The marks for `request`. `foundation` says whether tools or system prompt can bear one, `bears` whether what is
    /// written of a message can.
    pub(in crate::wire) fn of(
        request: &Request,
        target: &Target,
        mode: ApiMode,
        foundation: bool,
        bears: impl Fn(&Message) -> bool,
    ) -> Self {
        let Some(marker) = marker(request, target, mode) else { return Self::default() };
        let messages = chosen(&request.messages, MOST - usize::from(foundation), bears);
        Self { marker: Some(marker), foundation, messages }
    }

    /// The mark behind tools and system prompt.
    pub(in crate::wire) fn foundation(&self) -> Option<Marker> {
        self.marker.filter(|_| self.foundation)
    }

    /// The mark on the message at this place.
    pub(in crate::wire) fn at(&self, place: usize) -> Option<Marker> {
        self.marker.filter(|_| self.messages.contains(&place))
    }
}

/// The messages that bear the marks, at most so many, newest first: the last one, what it does not see, and the newest of
/// the others.
fn chosen(messages: &[Arc<Message>], most: usize, bears: impl Fn(&Message) -> bool) -> Vec<usize> {
    let can = |message: &Message| !matches!(message, Message::System(_)) && bears(message);
    let bearers = || messages.iter().enumerate().rev().filter(|(_, message)| can(message)).map(|(place, _)| place);
    let reply = messages.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
    let end_before = reply.and_then(|reply| bearers().find(|place| *place < reply));
    let is_far = |end: &usize| messages.iter().skip(end + 1).map(|message| blocks(message)).sum::<usize>() > SEEN;
    let wanted = bearers().take(1).chain(end_before.filter(is_far)).chain(passes(messages, bearers()));
    let mut chosen: Vec<usize> = Vec::with_capacity(most);
    for place in wanted.chain(end_before).chain(bearers()) {
        if chosen.len() < most && !chosen.contains(&place) {
            chosen.push(place);
        }
    }
    chosen.sort_unstable_by(|one, other| other.cmp(one));
    chosen
}

/// The ends of what the last two passes put in the place of something.
fn passes(messages: &[Arc<Message>], bearers: impl Iterator<Item = usize>) -> impl Iterator<Item = usize> {
    let made = bearers.filter_map(|place| Some((place, pass_of(messages.get(place)?)?)));
    let mut last = None;
    let ends = made.filter(move |(_, pass)| last.replace(*pass) != Some(*pass));
    ends.map(|(place, _)| place).take(2)
}

/// At most so many blocks a message is written as.
fn blocks(message: &Message) -> usize {
    let parts = match message.content() {
        Some(Content::Parts(parts)) => parts.len(),
        _ => 1,
    };
    match message {
        Message::Assistant(said) => parts + said.tool_calls.len() + 1,
        _ => parts,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::CallId;
    use proptest::prelude::*;

    /// A history in letters: `s`ystem, `u`ser, `a`ssistant, `t`ool, a summary (`z`), a result that a pass made into a line
    /// (its number); a dot behind a letter bears nothing.
    fn history(letters: &str) -> Vec<Arc<Message>> {
        let words: Vec<char> = letters.chars().collect();
        let is_silent = |at: usize| words.get(at + 1) == Some(&'.');
        let spoken = words.iter().enumerate().filter(|(_, letter)| **letter != '.');
        let message = |(at, letter): (usize, &char)| {
            let text = if is_silent(at) { "" } else { "words" };
            Arc::new(match letter {
                's' => Message::system(text),
                'u' => Message::user(text),
                'a' => Message::assistant(text),
                'z' => Message::user("[CONTEXT COMPACTION — REFERENCE ONLY] words"),
                other => {
                    let mut result = Message::tool(&CallId::new("c"), "look", text);
                    if let (Message::Tool(line), Some(pass)) = (&mut result, other.to_digit(10)) {
                        line.extra.insert("_pass".into(), pass.into());
                    }
                    result
                }
            })
        };
        spoken.map(message).collect()
    }

    #[test]
    fn the_newest_messages_are_marked_the_end_of_the_request_before_and_those_of_passes() {
        let table: [(&str, usize, &[usize]); 18] = [
            ("", 3, &[]),
            ("s", 3, &[]),
            ("su", 3, &[1]),
            ("sua", 3, &[2, 1]),
            ("suat", 3, &[3, 2, 1]),
            ("suatau", 3, &[5, 4, 3]),
            ("uau", 4, &[2, 1, 0]),
            ("uauau", 4, &[4, 3, 2, 1]),
            // A batch of results must not push the end of the request before out of sight.
            ("suatttttt", 3, &[8, 7, 1]),
            ("suatttttt", 4, &[8, 7, 6, 1]),
            ("suattttttat", 3, &[10, 9, 8]),
            // What bears nothing is passed over, also as the end of the request before.
            ("sua.tu.a.t.t", 3, &[7, 3, 1]),
            ("suau.a.tttt", 3, &[8, 7, 2]),
            // What the last two passes made ends at a mark, and so does what the last pass made behind a summary.
            ("sua1a1at", 3, &[7, 6, 5]),
            ("sua1a1a2a2at", 3, &[11, 9, 5]),
            ("sua1a1a2a2at", 4, &[11, 10, 9, 5]),
            ("suaza1at", 3, &[7, 5, 3]),
            // The end of the request before comes first, where it is out of sight.
            ("sua1a2uattttttttttttttttt", 3, &[24, 6, 5]),
        ];
        for (letters, most, expected) in table {
            let bears = |message: &Message| !message.text().is_empty();
            assert_eq!(chosen(&history(letters), most, bears), expected, "{letters}");
        }
    }

    proptest! {
        /// What the request before wrote at its end is marked in the next one, however much came in between.
        #[test]
        fn the_end_of_the_request_before_stays_marked(before in "s?[uat.]{0,12}", calls in 0usize..40, most in 3usize..5) {
            let bears = |message: &Message| !message.text().is_empty();
            let after = format!("{before}a{}", "t".repeat(calls));
            let (first, then) = (chosen(&history(&before), most, bears), chosen(&history(&after), most, bears));
            prop_assert!(then.len() <= most && then.is_sorted_by(|newer, older| newer > older));
            prop_assert!(first.first().is_none_or(|end| then.contains(end)), "{:?} {:?}", first, then);
        }
    }
}
