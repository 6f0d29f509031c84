//! What model families can read and write when neither the person nor the endpoint says.
//!
//! The last resort of a longer search: settings, caches and live catalogues come first and live elsewhere. The longest
//! family that a name holds wins.

use super::Provider;
use super::names::{is_adaptive_claude, is_family};

/// For models nobody has heard of.
pub const DEFAULT_WINDOW: u64 = 256_000;
const ADAPTIVE_CLAUDE_WINDOW: u64 = 1_000_000;

const WINDOWS: &[(&str, u64)] = &[
    ("claude", 200_000),
    ("gpt-5", 400_000),
    ("gpt-5-4", 1_050_000),
    ("gpt-5-5", 1_050_000),
    ("gpt-5-6", 1_050_000),
    ("gpt-4-1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("gemini", 1_048_576),
    ("gemma", 131_072),
    ("deepseek", 128_000),
    ("deepseek-v4", 1_000_000),
    ("qwen", 131_072),
    ("qwen3-coder", 262_144),
    ("qwen3-max", 262_144),
    ("minimax", 204_800),
    ("minimax-m3", 1_000_000),
    ("glm", 202_752),
    ("glm-5-2", 1_048_576),
    ("glm-5p2", 1_048_576),
    ("grok", 131_072),
    ("grok-4", 256_000),
    ("grok-4-3", 1_000_000),
    ("grok-4-fast", 2_000_000),
    ("kimi", 262_144),
    ("kimi-k3", 1_048_576),
    ("llama", 131_072),
    ("mistral", 131_072),
    ("magistral", 131_072),
    ("devstral", 262_144),
    ("codestral", 256_000),
    ("nemotron", 131_072),
    ("hermes", 131_072),
    ("mimo", 262_144),
    ("hy3", 262_144),
];

/// The most a family may be asked to write in one answer.
const CEILINGS: &[(&str, u32)] = &[
    ("claude", 128_000),
    ("opus-4", 32_000),
    ("opus-4-5", 64_000),
    ("opus-4-6", 128_000),
    ("opus-4-7", 128_000),
    ("opus-4-8", 128_000),
    ("sonnet-4", 64_000),
    ("haiku-4-5", 64_000),
    ("claude-3", 4_096),
    ("claude-3-5", 8_192),
    ("claude-3-7", 128_000),
    ("minimax", 131_072),
    ("qwen3", 65_536),
];

/// Models whose server allows more than it gives by default: provider, model, cap.
const SERVED_CAPS: &[(&str, &str, u32)] = &[("opencode-go", "mimo-v2.5-pro", 131_072)];

/// The tokens a model of this name can read and write in one go.
pub fn context_window(model: &str) -> u64 {
    if is_adaptive_claude(model) && !is_family(model, "haiku") {
        return ADAPTIVE_CLAUDE_WINDOW;
    }
    longest(WINDOWS, model).unwrap_or(DEFAULT_WINDOW)
}

/// How many tokens of output to ask for when nobody said, for families whose servers would otherwise stop early.
pub fn output_ceiling(model: &str) -> Option<u32> {
    longest(CEILINGS, model)
}

/// The cap that is sent when the person set none: that of the model at this vendor, of the vendor, or of the family. A
/// server at home knows its own memory best.
pub fn default_output_cap(provider: &Provider, model: &str) -> Option<u32> {
    let served = SERVED_CAPS.iter().find(|(id, name, _)| *id == provider.id && *name == model);
    served
        .map(|(_, _, cap)| *cap)
        .or(provider.max_tokens)
        .or_else(|| output_ceiling(model).filter(|_| !provider.is_self_hosted()))
}

/// What the table says about the longest family that the name holds.
pub(super) fn longest<T: Copy>(families: &[(&str, T)], model: &str) -> Option<T> {
    let known = families.iter().filter(|(family, _)| is_family(model, family));
    known.max_by_key(|(family, _)| family.len()).map(|(_, value)| *value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_family_wins() {
        let table = [
            ("anthropic/claude-sonnet-4.6", 1_000_000),
            ("claude-sonnet-4-5", 200_000),
            ("claude-haiku-4-5-20251001", 200_000),
            ("openai/gpt-5.4-mini", 1_050_000),
            ("gpt-5-mini", 400_000),
            ("gpt-4.1", 1_047_576),
            ("google/gemini-3.5-flash", 1_048_576),
            ("deepseek-ai/DeepSeek-V4-Flash", 1_000_000),
            ("deepseek-chat", 128_000),
            ("MiniMax-M3", 1_000_000),
            ("MiniMax-M2.7", 204_800),
            ("z-ai/glm-5.2", 1_048_576),
            ("accounts/fireworks/models/glm-5p2", 1_048_576),
            ("glm-4.7", 202_752),
            ("grok-4.3", 1_000_000),
            ("kimi-k2.5", 262_144),
            ("qwen3:32b", 131_072),
            ("never-heard-of", DEFAULT_WINDOW),
        ];
        for (model, window) in table {
            assert_eq!(context_window(model), window, "{model}");
        }
    }

    #[test]
    fn ceilings_exist_only_for_families_that_need_them() {
        let table = [
            ("anthropic/claude-sonnet-4.6", Some(64_000)),
            ("claude-opus-4-8", Some(128_000)),
            ("claude-opus-4-1", Some(32_000)),
            ("claude-3-5-sonnet", Some(8_192)),
            ("claude-fable-9", Some(128_000)),
            ("Qwen3-32B", Some(65_536)),
            ("gpt-5.4", None),
        ];
        for (model, ceiling) in table {
            assert_eq!(output_ceiling(model), ceiling, "{model}");
        }
    }
}
