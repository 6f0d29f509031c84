//! What the person said, kept word for word when the rest is summarised.
//!
//! Short messages are kept whole. Of long ones the beginning is kept, and what states a rule: paragraphs, of long
//! paragraphs lines, of long lines sentences. Rules are never dropped; of the rest the oldest goes first when there is no
//! room.

use super::assemble::is_said;
use super::weight;
use crate::prompt::steer;
use hermes_types::{Message, clip};
use serde::{Deserialize, Serialize};

/// A message up to this many characters is kept whole, and so is a part of a longer one that states a rule.
const SHORT: usize = 1_000;
/// What is kept of the beginning of a longer one.
const BEGINNING: usize = 300;

/// Words by which people state what holds from now on.
const RULE_WORDS: [&str; 46] = [
    "always",
    "never",
    "must",
    "do not",
    "don't",
    "dont",
    "only ",
    "from now on",
    "remember",
    "make sure",
    "rule",
    "prefer",
    "instead of",
    "avoid",
    "without asking",
    "ask before",
    "no longer",
    "at all times",
    "forbidden",
    "not allowed",
    "important",
    "immer",
    "niemals",
    "nie ",
    "nicht ",
    "siempre",
    "nunca",
    "toujours",
    "jamais",
    "sempre",
    "必须",
    "不要",
    "禁止",
    "永远",
    "总是",
    "始终",
    "不得",
    "请勿",
    "务必",
    "记住",
    "ต้อง",
    "ห้าม",
    "อย่า",
    "เสมอ",
    "必ず",
    "しないで",
];

/// Something the person said, word for word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Pin {
    pub(super) text: String,
    /// It states what holds from now on.
    pub(super) rule: bool,
}

/// What is to be kept of a message: what the person said in it, or sent behind a result.
pub(super) fn of(message: &Message) -> Vec<Pin> {
    let text = message.text();
    match message {
        Message::Tool(_) => steer::delivered(&text).map(of_words).unwrap_or_default(),
        _ if is_said(message) => of_words(&text),
        _ => Vec::new(),
    }
}

fn of_words(text: &str) -> Vec<Pin> {
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if is_short(text) {
        return vec![Pin { text: text.to_owned(), rule: states_a_rule(text) }];
    }
    let beginning = Pin { text: clip(text, BEGINNING), rule: false };
    let rules = rules(text, &BORDERS).into_iter().map(|rule| Pin { text: rule, rule: true });
    std::iter::once(beginning).chain(rules).collect()
}

fn is_short(text: &str) -> bool {
    text.chars().nth(SHORT).is_none()
}

/// Where a text that is too long is divided: paragraphs, then lines, then sentences.
const BORDERS: [&[&str]; 3] = [&["\n\n", "\r\n\r\n"], &["\n"], &[". ", "! ", "? ", "。", "！", "？"]];

/// The parts that state a rule, each as large as can be kept whole.
fn rules(text: &str, borders: &[&[&str]]) -> Vec<String> {
    let text = text.trim();
    if !states_a_rule(text) {
        return Vec::new();
    }
    if is_short(text) {
        return vec![text.to_owned()];
    }
    match borders.split_first() {
        Some((border, finer)) => divided(text, border).into_iter().flat_map(|part| rules(part, finer)).collect(),
        // Nobody states a rule in a thousand characters without a full stop; this was pasted.
        None => vec![clip(text, SHORT)],
    }
}

/// The parts of a text up to and including each of the `marks`.
fn divided<'t>(text: &'t str, marks: &[&str]) -> Vec<&'t str> {
    let mut parts = vec![text];
    for mark in marks {
        parts = parts.into_iter().flat_map(|part| part.split_inclusive(mark)).collect();
    }
    parts
}

/// The pins that fit into `room` tokens: all rules, and the newest of the rest. Each stands there once.
pub(super) fn fitting(pins: Vec<Pin>, room: u64) -> Vec<Pin> {
    let mut once: Vec<Pin> = Vec::with_capacity(pins.len());
    for pin in pins {
        if !once.iter().any(|known| known.text == pin.text) {
            once.push(pin);
        }
    }
    let mut left = room.saturating_sub(weight_of_rules(&once));
    let mut kept: Vec<Pin> = once
        .into_iter()
        .rev()
        .filter(|pin| {
            let weighs = weight::of_text(&pin.text);
            let fits = pin.rule || weighs <= left;
            if fits && !pin.rule {
                left -= weighs;
            }
            fits
        })
        .collect();
    kept.reverse();
    kept
}

pub(super) fn weight_of_rules(pins: &[Pin]) -> u64 {
    pins.iter().filter(|pin| pin.rule).map(|pin| weight::of_text(&pin.text)).sum()
}

fn states_a_rule(text: &str) -> bool {
    let text = text.to_lowercase();
    RULE_WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_messages_are_kept_whole_and_long_ones_keep_their_rules() {
        assert_eq!(of(&Message::user(" Look at a.rs ")), [Pin { text: "Look at a.rs".into(), rule: false }]);
        assert!(of(&Message::user("Never touch main.rs"))[0].rule);
        let long = format!("{}\n\nAlways run the tests.\nAll of them.\n\n{}", "a".repeat(900), "b".repeat(900));
        let pins = of(&Message::user(long));
        assert_eq!(pins.len(), 2);
        assert_eq!(pins[1], Pin { text: "Always run the tests.\nAll of them.".into(), rule: true });
    }

    #[test]
    fn rules_stay_whatever_the_room_and_the_oldest_of_the_rest_goes_first() {
        let pin = |text: &str, rule| Pin { text: text.into(), rule };
        let pins =
            vec![pin("never do x", true), pin("old words", false), pin("new words", false), pin("new words", false)];
        assert_eq!(fitting(pins.clone(), 0), [pin("never do x", true)]);
        assert_eq!(fitting(pins, 6), [pin("never do x", true), pin("new words", false)]);
    }
}
