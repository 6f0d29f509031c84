//! Whom to ask when the first choice fails.
//!
//! The chain is data: each place is an [`Ask`] that is resolved only when it is needed, so a broken place costs nothing
//! until then and the next can be tried.

use super::choice::{canonical, split_model};
use super::{Ask, ModelConfig, Runtime};
use std::collections::BTreeSet;

/// The places behind the configured model, in order: `fallback_providers`, then `fallback_model`. Repetitions, the
/// configured model itself and `providers.<name>.enabled: false` need no second try; the first two are left out here,
/// the last says so itself when it is resolved.
pub fn chain(config: &ModelConfig) -> Vec<Ask> {
    let mut seen: BTreeSet<Place> = primary(config).into_iter().collect();
    config.fallbacks.iter().filter(|ask| place(ask, config).is_none_or(|place| seen.insert(place))).cloned().collect()
}

/// Whether two runtimes would put the same question to the same model. The same model of the same provider at another
/// endpoint is another chance.
pub fn same_target(a: &Runtime, b: &Runtime) -> bool {
    a.model == b.model && a.base_url == b.base_url
}

/// Provider, model and endpoint: what makes two places the same.
type Place = (String, String, Option<String>);

fn primary(config: &ModelConfig) -> Option<Place> {
    let default = config.model.default.as_deref()?;
    let (provider, model) = match &config.model.provider {
        Some(provider) => (provider.clone(), default.to_owned()),
        None => {
            let (provider, model) = split_model(default, config);
            (provider?, model)
        }
    };
    Some((canonical(&provider, config), model, normal_url(config.model.base_url.as_deref())))
}

fn place(ask: &Ask, config: &ModelConfig) -> Option<Place> {
    let (provider, model) = (ask.provider.as_deref()?, ask.model.clone()?);
    Some((canonical(provider, config), model, normal_url(ask.base_url.as_deref())))
}

fn normal_url(url: Option<&str>) -> Option<String> {
    url.map(|url| url.trim().trim_end_matches('/').to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn places(settings: &serde_json::Value) -> Vec<(Option<String>, Option<String>)> {
        let (config, _) = ModelConfig::parse(settings);
        chain(&config).into_iter().map(|ask| (ask.provider, ask.model)).collect()
    }

    #[test]
    fn both_spellings_make_one_chain_without_repetitions() {
        let chain = places(&json!({
            "model": {"provider": "anthropic", "default": "claude-sonnet-4-6"},
            "fallback_model": [
                {"provider": "openrouter", "model": "z-ai/glm-5.2"},
                {"provider": "deepseek", "model": "deepseek-chat"},
            ],
            "fallback_providers": [
                {"provider": "claude", "model": "claude-sonnet-4-6"},
                {"provider": "or", "model": "z-ai/glm-5.2"},
                {"provider": "nous"},
                {"provider": "openrouter", "model": "z-ai/glm-5.2", "base_url": "https://mirror.test/v1"},
            ],
        }));
        let expected = [("or", "z-ai/glm-5.2"), ("openrouter", "z-ai/glm-5.2"), ("deepseek", "deepseek-chat")]
            .map(|(provider, model)| (Some(provider.to_owned()), Some(model.to_owned())));
        assert_eq!(chain, expected);
    }

    #[test]
    fn a_single_fallback_is_a_chain_of_one_and_an_incomplete_one_is_reported() {
        let single = json!({"fallback_model": {"provider": "openrouter", "model": "a/b"}});
        assert_eq!(places(&single), [(Some("openrouter".to_owned()), Some("a/b".to_owned()))]);
        let (_, warnings) = ModelConfig::parse(&json!({"fallback_providers": [{"provider": "nous"}]}));
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].key, "fallback_providers[0].provider");
    }
}
