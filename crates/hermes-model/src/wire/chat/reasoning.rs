//! The reasoning setting in the words of each vendor.
//!
//! One pure function from (style, setting, model) to body fields. A setting that a vendor has no word for is left out
//! rather than guessed; a vendor that refuses one anyway is asked again without it.

use crate::provider::ReasoningStyle;
use crate::provider::effort::openai_effort;
use crate::provider::names::{bare, is_adaptive_claude, is_family};
use hermes_types::{Effort, Object, Reasoning};
use serde_json::{Value, json};

/// Routes of the aggregators whose models take a reasoning setting; others answer with an error.
const ROUTED_REASONERS: [&str; 10] = [
    "deepseek/",
    "anthropic/",
    "openai/",
    "x-ai/",
    "xai/",
    "google/gemini-2",
    "google/gemma-4",
    "qwen/qwen3",
    "tencent/hy3",
    "xiaomi/",
];

type Fields = Vec<(&'static str, Value)>;

/// The body fields that express `wanted` to a vendor of this style.
pub(super) fn fields(style: ReasoningStyle, wanted: Option<Reasoning>, model: &str) -> Fields {
    match style {
        ReasoningStyle::Unsupported => Vec::new(),
        ReasoningStyle::Effort => {
            wanted.and_then(|wanted| openai_effort(model, wanted)).map(effort).into_iter().collect()
        }
        ReasoningStyle::OpenRouter => openrouter(wanted, model),
        ReasoningStyle::AiGateway if is_routed_reasoner(model) => vec![("reasoning", switch(wanted))],
        ReasoningStyle::AiGateway => Vec::new(),
        ReasoningStyle::Nous if wanted == Some(Reasoning::Off) => Vec::new(),
        ReasoningStyle::Nous => vec![("reasoning", switch(wanted))],
        ReasoningStyle::Copilot => {
            let word = wanted.and_then(|wanted| openai_effort(model, wanted)).filter(|word| *word != "none");
            word.map(|word| ("reasoning", json!({"effort": word}))).into_iter().collect()
        }
        ReasoningStyle::DeepSeek => deepseek(wanted, model),
        ReasoningStyle::Zai => zai(wanted, model),
        ReasoningStyle::Kimi => vec![kimi(wanted)],
        ReasoningStyle::OpencodeGo => opencode_go(wanted, model),
        ReasoningStyle::Custom => match wanted {
            Some(Reasoning::Off) => vec![effort("none"), ("think", json!(false))],
            Some(Reasoning::Effort(level)) => vec![effort(level.as_str())],
            Some(Reasoning::On) | None => Vec::new(),
        },
        ReasoningStyle::LmStudio => wanted.map(lm_studio).into_iter().collect(),
        ReasoningStyle::OllamaCloud => ollama_cloud(wanted).map(effort).into_iter().collect(),
        ReasoningStyle::Gemini => gemini(wanted, model),
        ReasoningStyle::MiniMax => minimax(wanted, model),
        ReasoningStyle::Tokenhub => match wanted {
            Some(Reasoning::Off) => Vec::new(),
            Some(Reasoning::Effort(level)) => vec![effort(low_to_high(level))],
            Some(Reasoning::On) | None => vec![effort("high")],
        },
        ReasoningStyle::Upstage => upstage(wanted, model).map(effort).into_iter().collect(),
    }
}

fn effort(word: &str) -> (&'static str, Value) {
    ("reasoning_effort", json!(word))
}

fn thinking(kind: &str) -> (&'static str, Value) {
    ("thinking", json!({"type": kind}))
}

/// The nearest of the three words every vendor of efforts knows.
fn low_to_high(level: Effort) -> &'static str {
    match level {
        Effort::Minimal | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::XHigh | Effort::Max | Effort::Ultra => "high",
    }
}

/// The same with `max` above `high`.
fn low_to_max(level: Effort) -> &'static str {
    if level > Effort::High { "max" } else { low_to_high(level) }
}

fn is_routed_reasoner(model: &str) -> bool {
    ROUTED_REASONERS.iter().any(|route| model.starts_with(route))
}

/// The aggregators' common form. Without a setting, models that can think do so at medium effort.
fn switch(wanted: Option<Reasoning>) -> Value {
    match wanted {
        None => json!({"enabled": true, "effort": "medium"}),
        Some(Reasoning::Off) => json!({"enabled": false}),
        Some(Reasoning::On) => json!({"enabled": true}),
        Some(Reasoning::Effort(level)) => json!({"enabled": true, "effort": level.min(Effort::XHigh).as_str()}),
    }
}

/// Newer Claudes decide for themselves how long to think and are told only how much to say.
fn openrouter(wanted: Option<Reasoning>, model: &str) -> Fields {
    if !is_routed_reasoner(model) {
        return Vec::new();
    }
    if is_adaptive_claude(model) {
        let level = wanted.and_then(Reasoning::effort);
        return level.map(|level| ("verbosity", json!(claude_verbosity(level)))).into_iter().collect();
    }
    vec![("reasoning", switch(wanted))]
}

fn claude_verbosity(level: Effort) -> &'static str {
    match level {
        Effort::Minimal => Effort::Low.as_str(),
        Effort::Ultra => Effort::Max.as_str(),
        level => level.as_str(),
    }
}

/// DeepSeek's thinking models: the reasoner, and every numbered one but the third generation.
fn thinks_at_deepseek(model: &str) -> bool {
    let name = bare(model).to_ascii_lowercase();
    name == "deepseek-reasoner" || (name.starts_with("deepseek-v") && !name.starts_with("deepseek-v3"))
}

fn deepseek(wanted: Option<Reasoning>, model: &str) -> Fields {
    match wanted {
        _ if !thinks_at_deepseek(model) => Vec::new(),
        Some(Reasoning::Off) => vec![thinking("disabled")],
        Some(Reasoning::Effort(level)) => vec![thinking("enabled"), effort(low_to_max(level))],
        Some(Reasoning::On) | None => vec![thinking("enabled")],
    }
}

fn is_glm_5_2(model: &str) -> bool {
    ["glm-5-2", "glm-5p2"].iter().any(|family| is_family(model, family))
}

fn glm_5_2(wanted: Option<Reasoning>) -> Option<(&'static str, Value)> {
    let level = wanted.and_then(Reasoning::effort)?;
    Some(effort(if level > Effort::High { "max" } else { "high" }))
}

/// The switch exists since GLM 4.5.
fn zai(wanted: Option<Reasoning>, model: &str) -> Fields {
    let name = bare(model).to_ascii_lowercase();
    let version = name.strip_prefix("glm-").map(|rest| {
        let number: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        number.trim_end_matches('.').parse::<f64>().unwrap_or_default()
    });
    let Some(wanted) = wanted.filter(|_| version.is_some_and(|version| version >= 4.5)) else { return Vec::new() };
    let kind = if wanted == Reasoning::Off { "disabled" } else { "enabled" };
    let level = is_glm_5_2(model).then(|| glm_5_2(Some(wanted))).flatten();
    std::iter::once(thinking(kind)).chain(level).collect()
}

/// Either an effort or a switch; both together are refused.
fn kimi(wanted: Option<Reasoning>) -> (&'static str, Value) {
    match wanted {
        Some(Reasoning::Effort(level @ (Effort::Low | Effort::Medium | Effort::High))) => effort(level.as_str()),
        Some(Reasoning::Off) => thinking("disabled"),
        _ => thinking("enabled"),
    }
}

fn opencode_go(wanted: Option<Reasoning>, model: &str) -> Fields {
    if is_glm_5_2(model) {
        return glm_5_2(wanted).into_iter().collect();
    }
    let top = if is_family(model, "kimi-k2") {
        low_to_high
    } else if thinks_at_deepseek(model) {
        low_to_max
    } else {
        return Vec::new();
    };
    match wanted {
        None => Vec::new(),
        Some(Reasoning::Off) => vec![thinking("disabled")],
        Some(Reasoning::On) => vec![thinking("enabled")],
        Some(Reasoning::Effort(level)) => vec![effort(top(level))],
    }
}

fn lm_studio(wanted: Reasoning) -> (&'static str, Value) {
    effort(match wanted {
        Reasoning::Off => "none",
        Reasoning::On => "medium",
        Reasoning::Effort(level) => level.min(Effort::XHigh).as_str(),
    })
}

fn ollama_cloud(wanted: Option<Reasoning>) -> Option<&'static str> {
    match wanted? {
        Reasoning::Off => Some("none"),
        Reasoning::Effort(level) if level > Effort::Minimal => Some(low_to_max(level)),
        Reasoning::On | Reasoning::Effort(_) => None,
    }
}

/// Google reads its own settings from a field that is itself called `extra_body`.
fn gemini(wanted: Option<Reasoning>, model: &str) -> Fields {
    let Some(wanted) = wanted.filter(|_| is_family(model, "gemini")) else { return Vec::new() };
    let mut config = Object::new();
    config.insert("include_thoughts".into(), json!(wanted != Reasoning::Off));
    let has_levels = !["gemini-1", "gemini-2"].iter().any(|older| is_family(model, older));
    if let (true, Some(level)) = (has_levels, wanted.effort()) {
        let level = match low_to_high(level) {
            "medium" if bare(model).contains("pro") => "high",
            word => word,
        };
        config.insert("thinking_level".into(), json!(level));
    }
    vec![("extra_body", json!({"google": {"thinking_config": config}}))]
}

fn minimax(wanted: Option<Reasoning>, model: &str) -> Fields {
    if !is_family(model, "minimax-m3") {
        return Vec::new();
    }
    let kind = if wanted == Some(Reasoning::Off) { "disabled" } else { "adaptive" };
    vec![("reasoning_split", json!(true)), thinking(kind)]
}

fn upstage(wanted: Option<Reasoning>, model: &str) -> Option<&'static str> {
    if ["solar-mini", "syn-pro"].iter().any(|family| is_family(model, family)) {
        return None;
    }
    match wanted {
        None | Some(Reasoning::On) => Some("medium"),
        Some(Reasoning::Off | Reasoning::Effort(Effort::Minimal)) => None,
        Some(Reasoning::Effort(level)) => Some(low_to_high(level)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(style: ReasoningStyle, setting: &str, model: &str) -> Value {
        let wanted = (!setting.is_empty()).then(|| setting.parse().expect("a setting"));
        Value::Object(fields(style, wanted, model).into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    #[test]
    fn each_vendor_hears_its_own_words() {
        use ReasoningStyle as S;
        let medium = json!({"reasoning": {"enabled": true, "effort": "medium"}});
        let table = [
            (S::Unsupported, "high", "m", json!({})),
            (S::Effort, "", "gpt-5.4", json!({})),
            (S::Effort, "max", "gpt-5.4", json!({"reasoning_effort": "xhigh"})),
            (S::Effort, "none", "gpt-5.4", json!({"reasoning_effort": "none"})),
            (S::Effort, "minimal", "gpt-5.4", json!({"reasoning_effort": "low"})),
            (S::Effort, "off", "gpt-5", json!({"reasoning_effort": "low"})),
            (S::Effort, "minimal", "openai/gpt-oss-120b", json!({"reasoning_effort": "low"})),
            (S::Effort, "high", "llama-3.3-70b-versatile", json!({})),
            (S::OpenRouter, "", "z-ai/glm-5.2", json!({})),
            (S::OpenRouter, "", "openai/gpt-5.4", medium.clone()),
            (S::OpenRouter, "none", "openai/gpt-5.4", json!({"reasoning": {"enabled": false}})),
            (S::OpenRouter, "ultra", "x-ai/grok-4", json!({"reasoning": {"enabled": true, "effort": "xhigh"}})),
            (S::OpenRouter, "", "anthropic/claude-sonnet-4.5", medium.clone()),
            (S::OpenRouter, "", "anthropic/claude-opus-4.8", json!({})),
            (S::OpenRouter, "high", "anthropic/claude-opus-4.8", json!({"verbosity": "high"})),
            (S::OpenRouter, "none", "anthropic/claude-opus-4.8", json!({})),
            (S::AiGateway, "", "xai/grok-4", medium.clone()),
            (S::AiGateway, "", "zai/glm-5", json!({})),
            (S::Nous, "", "z-ai/glm-5.2", medium),
            (S::Nous, "off", "z-ai/glm-5.2", json!({})),
            (S::Copilot, "xhigh", "o3-mini", json!({"reasoning": {"effort": "high"}})),
            (S::Copilot, "high", "gpt-4.1", json!({})),
            (S::DeepSeek, "high", "deepseek-chat", json!({})),
            (S::DeepSeek, "high", "deepseek-v3.2", json!({})),
            (S::DeepSeek, "", "deepseek-v4-pro", json!({"thinking": {"type": "enabled"}})),
            (S::DeepSeek, "off", "deepseek-reasoner", json!({"thinking": {"type": "disabled"}})),
            (
                S::DeepSeek,
                "ultra",
                "deepseek-v4-pro",
                json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"}),
            ),
            (S::Zai, "", "glm-4.7", json!({})),
            (S::Zai, "off", "glm-4.7", json!({"thinking": {"type": "disabled"}})),
            (S::Zai, "high", "glm-4", json!({})),
            (S::Zai, "low", "glm-5.2", json!({"thinking": {"type": "enabled"}, "reasoning_effort": "high"})),
            (S::Zai, "max", "glm-5.2", json!({"thinking": {"type": "enabled"}, "reasoning_effort": "max"})),
            (S::Kimi, "", "kimi-k2.5", json!({"thinking": {"type": "enabled"}})),
            (S::Kimi, "medium", "kimi-k2.5", json!({"reasoning_effort": "medium"})),
            (S::Kimi, "max", "kimi-k2.5", json!({"thinking": {"type": "enabled"}})),
            (S::Kimi, "off", "kimi-k2.5", json!({"thinking": {"type": "disabled"}})),
            (S::OpencodeGo, "low", "glm-5.2", json!({"reasoning_effort": "high"})),
            (S::OpencodeGo, "", "kimi-k2.5", json!({})),
            (S::OpencodeGo, "max", "kimi-k2.5", json!({"reasoning_effort": "high"})),
            (S::OpencodeGo, "on", "deepseek-v4-flash", json!({"thinking": {"type": "enabled"}})),
            (S::OpencodeGo, "max", "deepseek-v4-flash", json!({"reasoning_effort": "max"})),
            (S::OpencodeGo, "max", "glm-5", json!({})),
            (S::Custom, "", "m", json!({})),
            (S::Custom, "off", "m", json!({"reasoning_effort": "none", "think": false})),
            (S::Custom, "high", "m", json!({"reasoning_effort": "high"})),
            (S::LmStudio, "on", "m", json!({"reasoning_effort": "medium"})),
            (S::LmStudio, "ultra", "m", json!({"reasoning_effort": "xhigh"})),
            (S::OllamaCloud, "xhigh", "m", json!({"reasoning_effort": "max"})),
            (S::OllamaCloud, "minimal", "m", json!({})),
            (S::Tokenhub, "", "hy3-preview", json!({"reasoning_effort": "high"})),
            (S::Tokenhub, "off", "hy3-preview", json!({})),
            (S::Upstage, "", "solar-pro3", json!({"reasoning_effort": "medium"})),
            (S::Upstage, "max", "solar-pro3", json!({"reasoning_effort": "high"})),
            (S::Upstage, "max", "solar-mini", json!({})),
            (S::MiniMax, "", "MiniMax-M3", json!({"reasoning_split": true, "thinking": {"type": "adaptive"}})),
            (S::MiniMax, "", "MiniMax-M2.7", json!({})),
        ];
        for (style, setting, model, expected) in table {
            assert_eq!(written(style, setting, model), expected, "{style:?} `{setting}` {model}");
        }
    }

    #[test]
    fn google_hides_its_settings_in_a_field_of_its_own() {
        let config = |setting: &str, model: &str| {
            written(ReasoningStyle::Gemini, setting, model)
                .pointer("/extra_body/google/thinking_config")
                .cloned()
                .unwrap_or_default()
        };
        assert_eq!(config("", "gemini-3.5-flash"), Value::Null);
        assert_eq!(config("off", "gemini-3.5-flash"), json!({"include_thoughts": false}));
        assert_eq!(config("high", "gemini-2.5-flash"), json!({"include_thoughts": true}));
        assert_eq!(config("medium", "gemini-3.5-flash"), json!({"include_thoughts": true, "thinking_level": "medium"}));
        assert_eq!(
            config("medium", "gemini-3.1-pro-preview"),
            json!({"include_thoughts": true, "thinking_level": "high"})
        );
    }
}
