//! Where a credential comes from, and whether its secret may be stored by us.
//!
//! A *borrowed* secret lives somewhere else (an environment variable, another program's file). Copying it into
//! `auth.json` would make a second truth that nobody renews, so only its fingerprint is written.

use super::provider_id::{ANTHROPIC, CODEX, NOUS};
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source {
    /// Typed in by the person.
    Manual,
    /// A further login of the same kind, made by the person with a device code.
    ManualDeviceCode,
    DeviceCode,
    HermesPkce,
    ClaudeCode,
    OAuth,
    QwenCli,
    GhCli,
    ModelConfig,
    /// An environment variable.
    Env(String),
    /// A named endpoint of the settings.
    Config(String),
    /// Written by a newer program.
    Other(String),
}

const NAMES: [(&str, Source); 9] = [
    ("manual", Source::Manual),
    ("manual:device_code", Source::ManualDeviceCode),
    ("device_code", Source::DeviceCode),
    ("hermes_pkce", Source::HermesPkce),
    ("claude_code", Source::ClaudeCode),
    ("oauth", Source::OAuth),
    ("qwen-cli", Source::QwenCli),
    ("gh_cli", Source::GhCli),
    ("model_config", Source::ModelConfig),
];

impl Source {
    pub fn parse(text: &str) -> Self {
        if let Some((_, source)) = NAMES.iter().find(|(name, _)| *name == text) {
            return source.clone();
        }
        if let Some(variable) = text.strip_prefix("env:") {
            return Self::Env(variable.to_owned());
        }
        if let Some(name) = text.strip_prefix("config:") {
            return Self::Config(name.to_owned());
        }
        Self::Other(text.to_owned())
    }

    /// The person added this row by hand.
    pub fn is_manual(&self) -> bool {
        match self {
            Self::Manual | Self::ManualDeviceCode => true,
            Self::Other(name) => name.starts_with("manual"),
            _ => false,
        }
    }

    /// True when `auth.json` is the home of the secret, false when it is only borrowed.
    pub fn is_stored(&self, provider: &str) -> bool {
        self.is_manual()
            || matches!(
                (provider, self),
                (ANTHROPIC, Self::HermesPkce)
                    | ("minimax-oauth", Self::OAuth)
                    | (NOUS | CODEX | "xai-oauth", Self::DeviceCode)
            )
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Env(variable) => write!(f, "env:{variable}"),
            Self::Config(name) => write!(f, "config:{name}"),
            Self::Other(name) => f.write_str(name),
            known => f.write_str(NAMES.iter().find(|(_, source)| source == known).map_or("", |(name, _)| name)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_is_written_as_it_was_read() {
        for text in [
            "manual",
            "manual:device_code",
            "manual:spare",
            "device_code",
            "hermes_pkce",
            "claude_code",
            "oauth",
            "qwen-cli",
            "gh_cli",
            "model_config",
            "env:OPENROUTER_API_KEY",
            "config:my-proxy",
            "from-the-future",
            "",
        ] {
            assert_eq!(Source::parse(text).to_string(), text);
        }
    }

    #[test]
    fn only_our_own_sources_keep_their_secret_on_disk() {
        let stored = |provider: &str, source: &str| Source::parse(source).is_stored(provider);
        for (provider, source) in [
            ("openrouter", "manual"),
            ("openai-codex", "manual:device_code"),
            ("anthropic", "hermes_pkce"),
            ("minimax-oauth", "oauth"),
            ("nous", "device_code"),
            ("openai-codex", "device_code"),
            ("xai-oauth", "device_code"),
        ] {
            assert!(stored(provider, source), "{provider} {source}");
        }
        for (provider, source) in [
            ("anthropic", "claude_code"),
            ("anthropic", "env:ANTHROPIC_TOKEN"),
            ("openrouter", "hermes_pkce"),
            ("openrouter", "device_code"),
            ("qwen-oauth", "qwen-cli"),
            ("copilot", "gh_cli"),
            ("custom:local", "config:local"),
            ("custom:local", "model_config"),
            ("nous", "from-the-future"),
        ] {
            assert!(!stored(provider, source), "{provider} {source}");
        }
    }
}
