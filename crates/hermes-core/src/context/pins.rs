//! What the person said, kept word for word when the rest is summarised.
//!
//! Short messages are kept whole. Of long ones the paragraphs that state a rule are kept whole, and the beginning. Rules
//! are never dropped; of the rest the oldest goes first when there is no room.

use super::weight;
use hermes_types::{Message, clip};
use serde::{Deserialize, Serialize};

/// A message up to this many characters is kept whole.
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

/// What is to be kept of a message of the person.
pub(super) fn of(message: &Message) -> Vec<Pin> {
    let text = message.text();
    let text = text.trim();
    if text.is_empty() {
        return Vec::new();
    }
    if text.chars().count() <= SHORT {
        return vec![Pin { text: text.to_owned(), rule: states_a_rule(text) }];
    }
    let beginning = Pin { text: clip(text, BEGINNING), rule: false };
    let rules = paragraphs(text).filter(|paragraph| states_a_rule(paragraph));
    let rules = rules.map(|paragraph| Pin { text: paragraph.to_owned(), rule: true });
    std::iter::once(beginning).chain(rules).collect()
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

/// Blocks of lines between empty ones.
fn paragraphs(text: &str) -> impl Iterator<Item = &str> {
    text.split("\n\n").map(str::trim).filter(|paragraph| !paragraph.is_empty())
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
