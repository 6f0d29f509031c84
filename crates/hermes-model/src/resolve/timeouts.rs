//! How long to wait for a model.
//!
//! A stream counts as dead after a silence that depends on who is thinking and how much there is to read: reasoning
//! models are silent for minutes, long prompts take time, and a local server may first have to load its weights.

use super::endpoint::is_local;
use super::{Entry, Env, ModelConfig};
use crate::provider::Provider;
use crate::provider::names::is_family;
use std::time::Duration;
use url::Url;

const REQUEST: Duration = Duration::from_secs(1800);
const STALE: Duration = Duration::from_secs(180);
const LOCAL_STALE: Duration = Duration::from_secs(900);
const FIRST_BYTE_CODEX: Duration = Duration::from_secs(120);

/// Above so many tokens of prompt, wait at least so many seconds.
const BY_SIZE: [(u64, u64); 2] = [(100_000, 300), (50_000, 240)];
/// The same for the Codex backend, which thinks before it speaks.
const BY_SIZE_CODEX: [(u64, u64); 3] = [(100_000, 1200), (50_000, 900), (10_000, 600)];
/// Families that think in silence, longest first, and the seconds to grant them.
const BY_FAMILY: [(&str, u64); 10] = [
    ("o1", 600),
    ("o3", 600),
    ("deepseek-r1", 600),
    ("deepseek-reasoner", 600),
    ("deepseek-v4", 600),
    ("nemotron", 600),
    ("qwq", 300),
    ("opus-4", 240),
    ("sonnet", 180),
    ("qwen3", 180),
];

/// After how long a silence a stream counts as dead, for any size of prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Staleness {
    floor: Duration,
    growth: Growth,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Growth {
    /// The person said how long; size makes no difference.
    Fixed,
    Usual,
    Codex,
}

impl Staleness {
    /// The limit for a prompt of about so many tokens.
    pub fn after(self, prompt_tokens: u64) -> Duration {
        let steps: &[(u64, u64)] = match self.growth {
            Growth::Fixed => &[],
            Growth::Usual => &BY_SIZE,
            Growth::Codex => &BY_SIZE_CODEX,
        };
        let needed = steps.iter().find(|(tokens, _)| prompt_tokens > *tokens).map_or(0, |(_, seconds)| *seconds);
        self.floor.max(Duration::from_secs(needed))
    }
}

/// The silence to tolerate: what the person set for the model or endpoint, a fixed span for local servers, else a
/// floor that grows with the prompt.
pub(super) fn staleness(
    row: &Provider,
    entry: Option<&Entry>,
    url: &Url,
    model: &str,
    config: &ModelConfig,
    env: &Env,
) -> Staleness {
    let fixed = |floor| Staleness { floor, growth: Growth::Fixed };
    let of_model = entry.and_then(|entry| entry.model(model)).and_then(|model| model.stale_after);
    if let Some(set) = of_model.or_else(|| entry.and_then(|entry| entry.stale_after)) {
        return fixed(set);
    }
    if is_local(url) {
        let set = config.local_stale_after.or_else(|| seconds(env, "HERMES_LOCAL_STREAM_STALE_TIMEOUT"));
        return fixed(set.unwrap_or(LOCAL_STALE));
    }
    let family = BY_FAMILY.iter().filter(|(family, _)| is_family(model, family)).map(|(_, seconds)| *seconds).max();
    let usual = seconds(env, "HERMES_STREAM_STALE_TIMEOUT").unwrap_or(STALE);
    Staleness {
        floor: usual.max(Duration::from_secs(family.unwrap_or(0))),
        growth: if row.id == "openai-codex" { Growth::Codex } else { Growth::Usual },
    }
}

/// How long one whole request may take.
pub(super) fn request_timeout(entry: Option<&Entry>, model: &str, env: &Env) -> Duration {
    let of_model = entry.and_then(|entry| entry.model(model)).and_then(|model| model.request_timeout);
    of_model
        .or_else(|| entry.and_then(|entry| entry.request_timeout))
        .or_else(|| seconds(env, "HERMES_API_TIMEOUT"))
        .unwrap_or(REQUEST)
}

/// How long to wait for the first byte, where a backend is known to hang without sending one.
pub(super) fn first_byte_timeout(row: &Provider, env: &Env) -> Option<Duration> {
    (row.id == "openai-codex").then(|| seconds(env, "HERMES_CODEX_TTFB_TIMEOUT_SECONDS").unwrap_or(FIRST_BYTE_CODEX))
}

fn seconds(env: &Env, name: &str) -> Option<Duration> {
    let number = env.setting(name)?.parse().ok()?;
    Duration::try_from_secs_f64(number).ok().filter(|span| !span.is_zero())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wait(provider: &str, url: &str, model: &str, tokens: u64, settings: &serde_json::Value, env: &Env) -> u64 {
        let (config, _) = ModelConfig::parse(settings);
        let row = Provider::find(provider).expect(provider);
        let url = Url::parse(url).expect(url);
        staleness(row, config.entry(provider), &url, model, &config, env).after(tokens).as_secs()
    }

    #[test]
    fn silence_is_tolerated_by_who_thinks_and_how_much_there_is_to_read() {
        let none = Env::default();
        let remote = "https://openrouter.ai/api/v1";
        let table = [
            ("openrouter", remote, "openai/gpt-4.1", 0, 180),
            ("openrouter", remote, "openai/gpt-4.1", 50_001, 240),
            ("openrouter", remote, "openai/gpt-4.1", 100_001, 300),
            ("openrouter", remote, "openai/o3-mini", 100_001, 600),
            ("openrouter", remote, "deepseek/deepseek-r1", 0, 600),
            ("openrouter", remote, "qwen/qwq-32b", 0, 300),
            ("openrouter", remote, "anthropic/claude-opus-4.8", 0, 240),
            ("openai-codex", "https://chatgpt.com/backend-api/codex", "gpt-5.4", 10_001, 600),
            ("openai-codex", "https://chatgpt.com/backend-api/codex", "gpt-5.4", 100_001, 1200),
            ("ollama", "http://192.168.1.9:11434/v1", "qwen3:32b", 100_001, 900),
        ];
        for (provider, url, model, tokens, expected) in table {
            assert_eq!(wait(provider, url, model, tokens, &json!({}), &none), expected, "{provider} {model} {tokens}");
        }
    }

    #[test]
    fn what_the_person_set_is_exact_and_the_environment_is_a_floor() {
        let env = Env::new(
            [],
            [("HERMES_STREAM_STALE_TIMEOUT", "200"), ("HERMES_LOCAL_STREAM_STALE_TIMEOUT", "60")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let settings = json!({"providers": {"openrouter": {
            "stale_timeout_seconds": 50,
            "models": {"slow/one": {"stale_timeout_seconds": 700}},
        }}});
        let remote = "https://openrouter.ai/api/v1";
        assert_eq!(wait("openrouter", remote, "any", 200_000, &settings, &env), 50);
        assert_eq!(wait("openrouter", remote, "slow/one", 0, &settings, &env), 700);
        assert_eq!(wait("openrouter", remote, "any", 0, &json!({}), &env), 200);
        assert_eq!(wait("openrouter", remote, "any", 200_000, &json!({}), &env), 300);
        assert_eq!(wait("ollama", "http://localhost:11434/v1", "any", 0, &json!({}), &env), 60);
        let config = json!({"agent": {"local_stream_stale_timeout": 90}});
        assert_eq!(wait("ollama", "http://localhost:11434/v1", "any", 0, &config, &env), 90);
    }
}
