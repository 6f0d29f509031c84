//! Which words for the reasoning effort an OpenAI model takes.
//!
//! One table for every protocol, so that the same wish means the same on each. A model that cannot be switched off thinks
//! as little as it can; an effort it has no word for becomes the nearest one. No entry means: send nothing.

use super::context::longest;
use hermes_types::{Effort, Reasoning};

/// The words of one family.
#[derive(Debug, Clone, Copy)]
struct Words {
    /// It takes `none`.
    off: bool,
    weakest: Effort,
    strongest: Effort,
}

const fn words(weakest: Effort, strongest: Effort) -> Option<Words> {
    Some(Words { off: false, weakest, strongest })
}

/// The same with `none` below.
const fn off_or(weakest: Effort, strongest: Effort) -> Option<Words> {
    Some(Words { off: true, weakest, strongest })
}

/// The longest family that a name holds wins. `minimal` is taken by few and understood as `low`.
const FAMILIES: &[(&str, Option<Words>)] = &[
    ("gpt-oss", words(Effort::Low, Effort::High)),
    ("o1", words(Effort::Low, Effort::High)),
    ("o1-mini", None),
    ("o1-preview", None),
    ("o3", words(Effort::Low, Effort::High)),
    ("o4", words(Effort::Low, Effort::High)),
    ("gpt-5", words(Effort::Low, Effort::High)),
    ("gpt-5-chat", None),
    ("gpt-5-pro", words(Effort::High, Effort::High)),
    ("gpt-5-1", off_or(Effort::Low, Effort::High)),
    ("gpt-5-1-codex", words(Effort::Low, Effort::High)),
    ("gpt-5-1-codex-max", words(Effort::Low, Effort::XHigh)),
    ("gpt-5-2", off_or(Effort::Low, Effort::XHigh)),
    ("gpt-5-2-codex", words(Effort::Low, Effort::XHigh)),
    ("gpt-5-2-pro", words(Effort::Medium, Effort::XHigh)),
    ("gpt-5-3", off_or(Effort::Low, Effort::XHigh)),
    ("gpt-5-3-codex", words(Effort::Low, Effort::XHigh)),
    ("gpt-5-4", off_or(Effort::Low, Effort::XHigh)),
    ("gpt-5-4-pro", words(Effort::Medium, Effort::XHigh)),
    ("gpt-5-5", off_or(Effort::Low, Effort::XHigh)),
    ("gpt-5-6", off_or(Effort::Low, Effort::Max)),
];

/// The word that expresses `wanted` to an OpenAI model. `None` leaves the setting out: the model takes none, or its own
/// default is what is wanted.
pub fn openai_effort(model: &str, wanted: Reasoning) -> Option<&'static str> {
    let words = longest(FAMILIES, model).flatten()?;
    match wanted {
        Reasoning::On => None,
        Reasoning::Off if words.off => Some("none"),
        Reasoning::Off => Some(words.weakest.as_str()),
        Reasoning::Effort(level) => Some(level.clamp(words.weakest, words.strongest).as_str()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wish_becomes_a_word_the_model_takes() {
        let table = [
            ("gpt-5.4", "off", Some("none")),
            ("gpt-5.4", "on", None),
            ("gpt-5.4", "minimal", Some("low")),
            ("openai/gpt-5.4-mini", "ultra", Some("xhigh")),
            ("gpt-5.6", "ultra", Some("max")),
            ("gpt-5.3-codex", "off", Some("low")),
            ("gpt-5.3-codex", "max", Some("xhigh")),
            ("gpt-5.1-codex", "xhigh", Some("high")),
            ("gpt-5.1-codex-max", "xhigh", Some("xhigh")),
            ("gpt-5", "off", Some("low")),
            ("gpt-5-2025-08-07", "xhigh", Some("high")),
            ("gpt-5-pro", "low", Some("high")),
            ("gpt-5-chat-latest", "high", None),
            ("o3-mini", "xhigh", Some("high")),
            ("o3", "off", Some("low")),
            ("o1-preview", "high", None),
            ("gpt-oss:20b", "minimal", Some("low")),
            ("gpt-4.1", "high", None),
            ("llama-3.3-70b-versatile", "off", None),
        ];
        for (model, setting, expected) in table {
            let wanted = setting.parse().expect("a setting");
            assert_eq!(openai_effort(model, wanted), expected, "{model} {setting}");
        }
    }
}
