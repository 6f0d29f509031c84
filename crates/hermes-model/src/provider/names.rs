//! Model names: as the vendor wants them written, and what they tell about the model.
//!
//! Every function is pure and [`wire_name`] is idempotent, so a name may pass through it more than once.

use super::{NameRule, Provider, Quirk};

/// Under which vendor aggregators list a family. The family is the beginning of the bare name.
const VENDORS: [(&str, &str); 20] = [
    ("claude", "anthropic"),
    ("gpt", "openai"),
    ("o1", "openai"),
    ("o3", "openai"),
    ("o4", "openai"),
    ("gemini", "google"),
    ("gemma", "google"),
    ("deepseek", "deepseek"),
    ("glm", "z-ai"),
    ("kimi", "moonshotai"),
    ("minimax", "minimax"),
    ("grok", "x-ai"),
    ("qwen", "qwen"),
    ("mimo", "xiaomi"),
    ("nemotron", "nvidia"),
    ("llama", "meta-llama"),
    ("step", "stepfun"),
    ("trinity", "arcee-ai"),
    ("hermes", "nousresearch"),
    ("mistral", "mistralai"),
];

/// Where the AI Gateway spells a vendor differently from everyone else.
const GATEWAY_VENDORS: [(&str, &str); 5] =
    [("z-ai", "zai"), ("x-ai", "xai"), ("qwen", "alibaba"), ("meta-llama", "meta"), ("mistralai", "mistral")];

/// Claude families that think by a budget of tokens. Every other Claude, known or not, thinks adaptively.
const BUDGETED_CLAUDES: [&str; 15] = [
    "claude-2",
    "claude-3",
    "claude-instant",
    "claude-4-opus",
    "claude-4-sonnet",
    "claude-4-1",
    "claude-4-5",
    "opus-4-0",
    "opus-4-1",
    "opus-4-5",
    "sonnet-4-0",
    "sonnet-4-5",
    "haiku-4-5",
    "sonnet-4-2025",
    "opus-4-2025",
];

/// The model as this vendor wants it named.
pub fn wire_name(provider: &Provider, model: &str) -> String {
    let model = model.trim();
    let name = match provider.names {
        NameRule::Verbatim => model.to_owned(),
        NameRule::Aggregator => with_vendor(model, |vendor| vendor),
        NameRule::AiGateway => with_vendor(model, |vendor| {
            GATEWAY_VENDORS.iter().find(|(usual, _)| *usual == vendor).map_or(vendor, |(_, theirs)| theirs)
        }),
        NameRule::StripOwn => without_own_prefix(provider, model).to_owned(),
        NameRule::StripAny => bare(model).to_owned(),
        NameRule::OpencodeZen => hyphenated_claude(bare(model)),
        NameRule::Anthropic => hyphenated_claude(without_own_prefix(provider, model)),
        NameRule::DeepSeek => deepseek(model),
    };
    if provider.has(Quirk::LowercaseModel) { name.to_lowercase() } else { name }
}

/// The name behind the last slash.
pub fn bare(model: &str) -> &str {
    model.rsplit_once('/').map_or(model, |(_, name)| name)
}

/// True when the name holds `family` as a word of its own: `o3` is in `openai/o3-mini` but not in `solar-pro3`, and
/// `gpt-4-1` is in `gpt-4.1-mini` but not in `gpt-4-1106`. Case, dots and hyphens make no difference.
pub fn is_family(model: &str, family: &str) -> bool {
    let name = model.to_ascii_lowercase().replace('.', "-");
    let open_end = !family.ends_with(|c: char| c.is_ascii_digit());
    name.match_indices(family).any(|(at, _)| {
        let (before, rest) = name.split_at_checked(at).unwrap_or_default();
        let after = rest.strip_prefix(family).unwrap_or_default();
        !before.ends_with(char::is_alphanumeric) && (open_end || !after.starts_with(|c: char| c.is_ascii_digit()))
    })
}

/// True for Claude 4.6 and later, and for every Claude whose name is not known to be older.
pub fn is_adaptive_claude(model: &str) -> bool {
    let name = bare(model).to_ascii_lowercase().replace('.', "-");
    let undated = ["opus-4", "sonnet-4"].iter().any(|ending| name.ends_with(ending));
    is_family(model, "claude") && !undated && !BUDGETED_CLAUDES.iter().any(|family| name.contains(family))
}

fn with_vendor(model: &str, spelled: impl Fn(&'static str) -> &'static str) -> String {
    let lower = model.to_ascii_lowercase();
    let listed_under = |family: &str| {
        lower.strip_prefix(family).is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    };
    match VENDORS.iter().find(|(family, _)| !model.contains('/') && listed_under(family)) {
        Some((_, vendor)) => format!("{}/{model}", spelled(vendor)),
        None => model.to_owned(),
    }
}

fn without_own_prefix<'a>(provider: &Provider, model: &'a str) -> &'a str {
    match model.split_once('/') {
        Some((prefix, name)) if Provider::find(prefix).is_some_and(|row| provider.id.starts_with(row.id)) => name,
        _ => model,
    }
}

fn hyphenated_claude(model: &str) -> String {
    if model.starts_with("claude-") { model.replace('.', "-") } else { model.to_owned() }
}

/// DeepSeek serves two standing names and the numbered ones; whatever else people write means one of the two.
fn deepseek(model: &str) -> String {
    let name = bare(model).to_ascii_lowercase();
    let numbered = name.strip_prefix("deepseek-v").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if numbered || matches!(name.as_str(), "deepseek-chat" | "deepseek-reasoner") {
        return name;
    }
    let thinks = ["r1", "think", "reason", "cot"].iter().any(|word| name.contains(word));
    if thinks { "deepseek-reasoner".into() } else { "deepseek-chat".into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_vendor_gets_the_name_it_knows() {
        let table = [
            ("openrouter", "claude-sonnet-4.6", "anthropic/claude-sonnet-4.6"),
            ("openrouter", "qwen3-coder", "qwen/qwen3-coder"),
            ("openrouter", "o3-mini", "openai/o3-mini"),
            ("openrouter", "z-ai/glm-5.2", "z-ai/glm-5.2"),
            ("openrouter", "stepping-stone", "stepping-stone"),
            ("nous", "hermes-4-405b", "nousresearch/hermes-4-405b"),
            ("ai-gateway", "grok-4", "xai/grok-4"),
            ("ai-gateway", "claude-opus-4.8", "anthropic/claude-opus-4.8"),
            ("anthropic", "anthropic/claude-sonnet-4.6", "claude-sonnet-4-6"),
            ("opencode-zen", "anthropic/claude-opus-4.8", "claude-opus-4-8"),
            ("opencode-zen", "z-ai/glm-5.1", "glm-5.1"),
            ("opencode-go", "anything/kimi-k2.5", "kimi-k2.5"),
            ("openai-codex", "openai/gpt-5.4", "gpt-5.4"),
            ("openai-api", "openai/gpt-5.4", "gpt-5.4"),
            ("deepseek", "deepseek/deepseek-v4-pro", "deepseek-v4-pro"),
            ("deepseek", "DeepSeek-R1", "deepseek-reasoner"),
            ("deepseek", "coder", "deepseek-chat"),
            ("kimi", "moonshotai/kimi-k2.5", "kimi-k2.5"),
            ("kimi-cn", "moonshotai/kimi-k2.5", "kimi-k2.5"),
            ("zai", "z-ai/glm-5.2", "glm-5.2"),
            ("xiaomi", "xiaomi/MiMo-V2.5", "mimo-v2.5"),
            ("gemini", "google/gemini-3.5-flash", "gemini-3.5-flash"),
            ("custom", "Qwen/Qwen3-8B", "Qwen/Qwen3-8B"),
            ("ollama", "ollama/qwen3:32b", "qwen3:32b"),
            ("huggingface", "zai-org/GLM-5", "zai-org/GLM-5"),
        ];
        for (id, model, expected) in table {
            let provider = Provider::find(id).expect(id);
            assert_eq!(wire_name(provider, model), expected, "{id} {model}");
            assert_eq!(wire_name(provider, expected), expected, "{id}: naming twice moves {model}");
        }
    }

    #[test]
    fn families_are_words_not_substrings() {
        assert!(is_family("openai/o3-mini", "o3"));
        assert!(!is_family("solar-pro3", "o3"));
        assert!(is_family("gpt-4.1-mini", "gpt-4-1"));
        assert!(!is_family("gpt-4-1106-preview", "gpt-4-1"));
        assert!(is_family("Qwen/Qwen3-8B", "qwen"));
    }

    #[test]
    fn new_claudes_think_adaptively() {
        for model in ["claude-opus-4-6", "anthropic/claude-4.6-sonnet", "claude-sonnet-5", "claude-fable-9"] {
            assert!(is_adaptive_claude(model), "{model}");
        }
        for model in
            ["claude-3-7-sonnet", "claude-sonnet-4", "claude-sonnet-4-20250514", "anthropic/claude-opus-4.5", "gpt-5"]
        {
            assert!(!is_adaptive_claude(model), "{model}");
        }
    }
}
