//! Families of models, known by a part of their names, and what each has to be told.

/// Models that like to say what they would do.
const ANNOUNCERS: [&str; 8] = ["gpt", "codex", "gemini", "gemma", "grok", "glm", "qwen", "deepseek"];
const GOOGLE: [&str; 2] = ["gemini", "gemma"];
/// Models that answer from memory what they could look up.
const GUESSERS: [&str; 3] = ["gpt", "codex", "grok"];

/// Who is told to act instead of announcing it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Enforcement {
    /// The families that need it.
    #[default]
    Auto,
    On,
    Off,
    /// Models whose names contain one of these.
    Models(Vec<String>),
}

impl Enforcement {
    pub(super) fn concerns(&self, model: &str) -> bool {
        match self {
            Self::Auto => is_one_of(&ANNOUNCERS, model),
            Self::On => true,
            Self::Off => false,
            Self::Models(parts) => is_one_of(parts, model),
        }
    }
}

pub(super) fn is_google(model: &str) -> bool {
    is_one_of(&GOOGLE, model)
}

pub(super) fn is_guesser(model: &str) -> bool {
    is_one_of(&GUESSERS, model)
}

fn is_one_of(parts: &[impl AsRef<str>], model: &str) -> bool {
    let model = model.to_lowercase();
    let is_in = |part: &str| !part.is_empty() && model.contains(&part.to_lowercase());
    parts.iter().any(|part| is_in(part.as_ref().trim()))
}
