//! What a model's name tells: how to write it, how much it can say, which generation of Claude it is.

use crate::provider::{Provider, Quirk};
use std::borrow::Cow;

/// Vendors that list Claude models with a dot in the version.
const DOTTED: [&str; 3] = ["alibaba", "alibaba-coding-plan", "opencode-go"];

/// Output ceilings by a piece of the name (dots as hyphens). The longest piece found holds.
const CEILINGS: [(&str, u32); 16] = [
    ("fable", 128_000),
    ("sonnet-5", 128_000),
    ("opus-4-8", 128_000),
    ("opus-4-7", 128_000),
    ("opus-4-6", 128_000),
    ("sonnet-4-6", 64_000),
    ("opus-4-5", 64_000),
    ("sonnet-4-5", 64_000),
    ("haiku-4-5", 64_000),
    ("opus-4", 32_000),
    ("sonnet-4", 64_000),
    ("claude-3-7", 128_000),
    ("claude-3-5", 8_192),
    ("claude-3", 4_096),
    ("minimax", 131_072),
    ("qwen3", 65_536),
];
const CEILING_OF_THE_UNKNOWN: u32 = 128_000;

/// How the settings of a request depend on the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// Claude before 4.6: thinking has a budget.
    Budgeted,
    /// Claude 4.6: thinking adapts, sampling can be set.
    Adaptive,
    /// Later Claude, and names nobody has heard of yet: sampling is the model's own business.
    Later,
    /// Not Claude.
    Foreign,
}

/// The name the vendor knows the model by.
pub(super) fn wire_name<'a>(model: &'a str, provider: &Provider) -> Cow<'a, str> {
    let bare = model.strip_prefix("anthropic/").unwrap_or(model);
    if provider.has(Quirk::LowercaseModel) {
        Cow::Owned(bare.to_lowercase())
    } else if bare.starts_with("claude-") && bare.contains('.') && !DOTTED.contains(&provider.id) {
        Cow::Owned(bare.replace('.', "-"))
    } else {
        Cow::Borrowed(bare)
    }
}

/// The most tokens the model can write in one answer.
pub(super) fn ceiling(model: &str) -> u32 {
    let name = hyphenated(model);
    let known = CEILINGS.iter().filter(|(piece, _)| name.contains(piece)).max_by_key(|(piece, _)| piece.len());
    known.map_or(CEILING_OF_THE_UNKNOWN, |(_, tokens)| *tokens)
}

pub(super) fn generation(model: &str) -> Generation {
    let name = hyphenated(model);
    let Some((_, rest)) = name.split_once("claude") else { return Generation::Foreign };
    match version(rest) {
        Some(version) if version < (4, 6) => Generation::Budgeted,
        Some((4, 6)) => Generation::Adaptive,
        _ => Generation::Later,
    }
}

/// The first run of short numbers (`-sonnet-4-5-20250929` is 4.5; the date is not a version).
fn version(rest: &str) -> Option<(u32, u32)> {
    let number = |word: &str| word.parse::<u32>().ok().filter(|_| word.len() <= 2);
    let mut words = rest.split(|c: char| !c.is_ascii_alphanumeric());
    let major = words.find_map(number)?;
    Some((major, words.next().and_then(number).unwrap_or(0)))
}

fn hyphenated(model: &str) -> String {
    model.to_ascii_lowercase().replace('.', "-")
}
