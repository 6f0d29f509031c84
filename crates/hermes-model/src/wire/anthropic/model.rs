//! What a model's name tells: how much it can say, and which generation of Claude it is.

use crate::provider::Provider;
use crate::provider::context::{default_output_cap, output_ceiling};
use hermes_types::{Concession, Request};

/// What a model nobody has heard of yet is asked for; the protocol wants some number.
const CAP_OF_THE_UNKNOWN: u32 = 128_000;
/// What is left to ask for when a cap was refused.
const CAP_OF_LAST_RESORT: u32 = 8_192;

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

/// How many tokens of output to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cap {
    pub(super) tokens: u32,
    /// What the model's family can write at most, where that is known.
    pub(super) ceiling: u32,
}

impl Cap {
    pub(super) fn of(request: &Request, provider: &Provider) -> Self {
        let known = output_ceiling(&request.model).unwrap_or(u32::MAX);
        let refused = request.concedes(Concession::MaxTokens);
        let ceiling = if refused { known.min(CAP_OF_LAST_RESORT) } else { known };
        let asked = request.max_output_tokens.filter(|tokens| *tokens > 0);
        let tokens = asked.or_else(|| default_output_cap(provider, &request.model)).unwrap_or(CAP_OF_THE_UNKNOWN);
        Self { tokens: tokens.min(ceiling), ceiling }
    }
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
