//! The rows.

use super::{AuthKind, COMPATIBLE, ModeRule, Provider, ReasoningStyle};

pub static PROVIDERS: &[Provider] = &[
    Provider {
        id: "openrouter",
        aliases: &["or"],
        label: "OpenRouter",
        key_env: &["OPENROUTER_API_KEY"],
        base_env: &["OPENROUTER_BASE_URL"],
        base_url: "https://openrouter.ai/api/v1",
        reasoning: ReasoningStyle::OpenRouter,
        ..COMPATIBLE
    },
    Provider {
        id: "custom",
        label: "Custom endpoint",
        base_env: &["CUSTOM_BASE_URL"],
        auth: AuthKind::OptionalKey,
        mode: ModeRule::ByUrl,
        reasoning: ReasoningStyle::Custom,
        ..COMPATIBLE
    },
];
