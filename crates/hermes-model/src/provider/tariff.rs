//! What one model at one endpoint charges, from the nearest place that says so.
//!
//! The provider's own word about a call beats everything; then a subscription, the person's `pricing.overrides`, the
//! endpoint's catalogue, and the vendor's list, which holds at the vendor's own endpoints alone: the same model served by
//! somebody else has somebody else's price.

use super::almanac::Almanac;
use super::prices::{self, PriceSource, Prices};
use super::table::PROVIDERS;
use super::{Charges, Provider};
use crate::resolve::Runtime;
use crate::wire::Login;
use hermes_types::{Cost, Usage};
use std::sync::Arc;
use url::Url;

/// Paths under which vendors serve those who pay by the month.
const PLANS: [&str; 3] = ["coding", "coding-plan", "step_plan"];

#[derive(Debug, Clone)]
pub struct Tariff {
    charges: Charges,
    /// What the person says.
    own: Option<Prices>,
    base_url: Url,
    model: String,
    almanac: Arc<Almanac>,
}

/// `pricing.overrides`: prices by pattern, in which `*` stands for anything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides(pub Vec<(String, Prices)>);

impl Tariff {
    pub fn of(runtime: &Runtime, overrides: &Overrides, almanac: Arc<Almanac>) -> Self {
        Self {
            charges: charges(runtime.provider, &runtime.base_url, runtime.credential.login),
            own: overrides.find(&runtime.name, &runtime.model),
            base_url: runtime.base_url.clone(),
            model: runtime.model.clone(),
            almanac,
        }
    }

    pub fn price(&self, usage: &Usage) -> Cost {
        if usage.cost.is_some() {
            return Cost::stated(usage);
        }
        if let Some(own) = &self.own {
            return own.estimate(usage, PriceSource::Override, None);
        }
        if self.charges == Charges::Subscription {
            return Cost::included();
        }
        if let Some(listed) = self.almanac.prices(&self.base_url, &self.model) {
            return listed.estimate(usage, PriceSource::Catalogue, None);
        }
        match self.charges {
            Charges::Listed(vendor) => match prices::listed(vendor, &self.model, usage.prompt()) {
                Some(listed) => listed.estimate(usage, PriceSource::List, Some(prices::version())),
                None => Cost::unknown(),
            },
            Charges::Subscription | Charges::Unlisted => Cost::unknown(),
        }
    }
}

/// How this endpoint is paid with this login. An endpoint that the person added is the vendor's when it is at the
/// vendor's host.
fn charges(provider: &Provider, base_url: &Url, login: Login) -> Charges {
    let in_plan = base_url.path_segments().into_iter().flatten().any(|part| PLANS.contains(&part));
    let host = base_url.host_str();
    let is_at = |row: &&Provider| host.is_some() && host == row.base_url.parse().ok().as_ref().and_then(Url::host_str);
    let row = match provider.charges {
        Charges::Unlisted if provider.is_self_hosted() => PROVIDERS.iter().find(is_at).unwrap_or(provider),
        _ => provider,
    };
    match row.charges {
        // A login instead of a key is a subscription: Claude Code.
        Charges::Listed(_) if in_plan || login == Login::OAuth => Charges::Subscription,
        charges => charges,
    }
}

impl Overrides {
    /// The prices for a model: the longest pattern that fits its name, with or without provider and vendor.
    pub fn find(&self, provider: &str, model: &str) -> Option<Prices> {
        let full = format!("{provider}:{model}");
        let names = [full.as_str(), model, super::names::bare(model)];
        let fitting = self.0.iter().filter(|(pattern, _)| names.iter().any(|name| fits(pattern, name)));
        fitting.max_by_key(|(pattern, _)| pattern.len()).map(|(_, prices)| *prices)
    }
}

/// Whether a name is what a pattern describes. Case makes no difference.
fn fits(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.to_ascii_lowercase(), name.to_ascii_lowercase());
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        match rest.split_once(part) {
            Some((_, behind)) => rest = behind,
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Ask, Env, Known, ModelConfig, Stored, resolve};
    use hermes_types::CostStatus;
    use serde_json::{Value, json};
    use std::time::SystemTime;

    fn runtime(config: &Value, env: &[(&str, &str)]) -> (Runtime, ModelConfig) {
        let (config, oddities) = ModelConfig::parse(config);
        assert_eq!(oddities, []);
        let env = Env::new([], env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())));
        let stored = Stored::default();
        let known = Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() };
        (resolve(&Ask::default(), &known).expect("resolves"), config)
    }

    fn cost(config: &Value, env: &[(&str, &str)], almanac: Almanac, usage: &Usage) -> Cost {
        let (runtime, config) = runtime(config, env);
        Tariff::of(&runtime, &config.prices, Arc::new(almanac)).price(usage)
    }

    const COUNTED: Usage = Usage {
        input: 1_000_000,
        output: 0,
        cache_read: 0,
        cache_write: 0,
        cache_write_1h: 0,
        reasoning: 0,
        cost: None,
    };

    #[test]
    fn the_nearest_word_about_a_price_counts() {
        let anthropic = json!({"model": {"provider": "anthropic", "default": "claude-opus-4-8"}});
        let key = [("ANTHROPIC_API_KEY", "sk-ant-api-1")];
        let told = |cost: Cost| (cost.known().map(|usd| usd.to_string()), cost.status, cost.source);
        let of = |amount: &str, status, source: &str| (Some(amount.to_owned()), status, source.to_owned());
        let listed = cost(&anthropic, &key, Almanac::default(), &COUNTED);
        assert_eq!(listed.pricing_version.as_deref(), Some(prices::version()));
        assert_eq!(told(listed), of("$5.00", CostStatus::Estimated, "official_docs_snapshot"));

        let almanac = Almanac::default();
        let base: Url = "https://api.anthropic.com".parse().expect("a URL");
        let said = Prices { input: "4".parse().ok(), output: "1".parse().ok(), ..Prices::default() };
        let facts = super::super::almanac::ModelFacts { window: None, prices: Some(said) };
        almanac.keep(&base, [("claude-opus-4-8".to_owned(), facts)], SystemTime::UNIX_EPOCH);
        let catalogue = cost(&anthropic, &key, almanac, &COUNTED);
        assert_eq!(told(catalogue), of("$4.00", CostStatus::Estimated, "provider_models_api"));

        let mut own = anthropic.clone();
        own["pricing"] =
            json!({"overrides": {"claude-*": {"input": 2.5}, "claude-opus-*": {"input": "3"}, "gpt-*": {"input": 9}}});
        let overridden = cost(&own, &key, Almanac::default(), &COUNTED);
        assert_eq!(told(overridden), of("$3.00", CostStatus::Estimated, "user_override"));

        let billed = Usage { cost: "1.25".parse().ok(), ..COUNTED };
        assert_eq!(
            told(cost(&own, &key, Almanac::default(), &billed)),
            of("$1.25", CostStatus::Actual, "provider_cost_api")
        );

        let login = [("ANTHROPIC_TOKEN", "sk-ant-oat-1")];
        let covered = cost(&anthropic, &login, Almanac::default(), &COUNTED);
        assert_eq!(told(covered), of("$0.0000", CostStatus::Included, "none"));
    }

    #[test]
    fn a_list_holds_at_its_vendor_alone() {
        let at = |base_url: &str, model: &str| {
            let config = json!({"model": {"provider": "custom", "default": model, "base_url": base_url, "api_key": "sk-own-key-1"}});
            cost(&config, &[], Almanac::default(), &COUNTED)
        };
        assert_eq!(at("http://127.0.0.1:8000/v1", "gpt-5").status, CostStatus::Unknown);
        assert_eq!(at("https://api.example.com/v1", "gpt-5"), Cost::unknown());
        assert_eq!(at("https://api.openai.com/v1", "gpt-5").known().map(|usd| usd.to_string()), Some("$1.25".into()));
        assert_eq!(at("https://api.openai.com/v1", "gpt-99"), Cost::unknown());
        assert_eq!(at("https://api.z.ai/api/coding/paas/v4", "glm-5").status, CostStatus::Included);
        assert_eq!(
            at("https://api.z.ai/api/paas/v4", "glm-5").known().map(|usd| usd.to_string()),
            Some("$1.00".into())
        );
    }

    #[test]
    fn patterns_fit_whole_names() {
        let table = [
            ("gpt-5", "gpt-5", true),
            ("gpt-5", "gpt-5.4", false),
            ("GPT-5*", "gpt-5.4", true),
            ("*-mini", "gpt-5.4-mini", true),
            ("*-mini", "gpt-5.4-minimal", false),
            ("custom:*:q*n", "custom:home:qwen", true),
            ("*", "", true),
            ("a*a", "a", false),
        ];
        for (pattern, name, expected) in table {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
        let own = |text: &str| Prices { input: text.parse().ok(), ..Prices::default() };
        let overrides = Overrides(vec![("openrouter:*".into(), own("1")), ("claude-sonnet-*".into(), own("2"))]);
        assert_eq!(overrides.find("openrouter", "anthropic/claude-sonnet-5"), Some(own("2")));
        assert_eq!(overrides.find("openrouter", "x/y"), Some(own("1")));
        assert_eq!(overrides.find("anthropic", "claude-opus-5"), None);
    }
}
