//! Settings are read as people write them, and what is not understood is said.

use super::*;
use crate::auth::Renewal;
use crate::transport::Tls;
use serde_json::json;
use std::time::Duration;

fn warned(settings: &Value) -> Vec<String> {
    ModelConfig::parse(settings).1.into_iter().map(|warning| warning.key).collect()
}

#[test]
fn every_spelling_of_an_endpoint_is_understood() {
    let settings = json!({
        "providers": {
            "one": {"url": "http://a/v1", "apiKey": "key-one", "transport": "anthropic_messages", "defaultModel": "m"},
            "two": {"api": "http://b/v1", "api_key_env": "TWO", "models": [{"id": "x", "context_length": 10}, "y"]},
        },
        "custom_providers": [{"name": "Third One", "base_url": "http://c/v1", "models": {"z": {"timeout_seconds": 5}}}],
    });
    let (config, warnings) = ModelConfig::parse(&settings);
    let keys: Vec<&str> = warnings.iter().map(|warning| warning.key.as_str()).collect();
    assert_eq!(keys, ["providers.one.apiKey", "providers.one.defaultModel"]);

    let one = config.entry("one").expect("one");
    assert_eq!(one.base_url.as_deref(), Some("http://a/v1"));
    assert_eq!((one.api_mode, one.first_model()), (Some(ApiMode::AnthropicMessages), Some("m")));
    assert!(one.api_key.is_some());

    let two = config.entry("two").expect("two");
    assert_eq!((two.key_env.as_deref(), two.first_model()), (Some("TWO"), Some("x")));
    assert_eq!(two.model("x").and_then(|model| model.context_length), Some(10));

    let third = config.entry("third-one").expect("third");
    assert_eq!(third.model("z").and_then(|model| model.request_timeout), Some(Duration::from_secs(5)));
}

#[test]
fn wrong_types_are_named_and_left_out() {
    let settings = json!({
        "model": {"default": 4, "context_length": "many", "api_mode": "telepathy"},
        "providers": {"p": {"base_ulr": "http://a", "enabled": "perhaps"}, "q": 5},
        "custom_providers": {"name": "x"},
        "fallback_providers": "openrouter",
        "auxiliary": {"vision": "gpt", "transient_retries": 99},
        "credential_pool_strategies": {"openrouter": "best"},
        "provider_routing": {"sort": "fastest", "only": ["a"], "order": "b"},
        "agent": {"reasoning_effort": "enormous"},
    });
    let mut keys = warned(&settings);
    keys.sort();
    let mut expected = [
        "model.default",
        "model.context_length",
        "model.api_mode",
        "providers.p.base_ulr",
        "providers.p.enabled",
        "providers.q",
        "custom_providers",
        "fallback_providers",
        "auxiliary.vision",
        "auxiliary.transient_retries",
        "credential_pool_strategies.openrouter",
        "provider_routing.sort",
        "provider_routing.order",
        "agent.reasoning_effort",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    let (config, _) = ModelConfig::parse(&settings);
    assert_eq!(Value::Object(config.routing), json!({"only": ["a"]}));
}

#[test]
fn a_warning_suggests_the_key_and_never_shows_a_value() {
    let (_, warnings) = ModelConfig::parse(
        &json!({"providers": {"p": {"base_ulr": "https://user:hunter2@a", "api_key": ["hunter2"]}}}),
    );
    let text = format!("{warnings:?}");
    assert!(text.contains("did you mean `base_url`?"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn a_variable_nobody_set_is_no_key() {
    let settings = json!({"model": {"provider": "custom", "api_key": "${NOT_SET}"}});
    let (config, warnings) = ModelConfig::parse(&settings);
    assert!(config.model.api_key.is_none());
    assert_eq!(warnings[0].key, "model.api_key");
}

#[test]
fn older_places_of_the_selection_are_read() {
    let (config, warnings) = ModelConfig::parse(&json!({"model": " a/b ", "provider": "openrouter"}));
    assert_eq!((config.model.default.as_deref(), config.model.provider.as_deref()), (Some("a/b"), Some("openrouter")));
    let (config, _) =
        ModelConfig::parse(&json!({"model": {"name": "m", "api_base": "http://x/v1", "provider": "auto"}}));
    assert_eq!((config.model.default.as_deref(), config.model.provider), (Some("m"), None));
    assert_eq!(config.model.base_url.as_deref(), Some("http://x/v1"));
    assert_eq!(warnings, []);
}

#[test]
fn the_model_comes_from_the_nearest_place() {
    let keys =
        &[("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1"), ("HERMES_INFERENCE_MODEL", "from/env")];
    let model = |settings: &Value, asked: &Ask| {
        Machine::with(settings, keys).resolve(asked).map(|runtime| runtime.model).map_err(|error| error.code())
    };
    let configured = json!({"model": {"provider": "openrouter", "default": "from/config"}});
    let table = [
        (&configured, ask("", "from/ask"), Ok("from/ask")),
        (&configured, ask("", ""), Ok("from/config")),
        (&configured, ask("deepseek", ""), Ok("deepseek-v4-flash")),
        (&json!({}), ask("openrouter", ""), Ok("from/env")),
        (&json!({"model": {"default": "from/config"}}), ask("openrouter", ""), Ok("from/config")),
        (&json!({"model": {"aliases": {"fast": "deepseek/deepseek-chat"}}}), ask("", "fast"), Ok("deepseek-chat")),
        (&json!({"model": {"provider": "deepseek"}}), ask("", ""), Ok("deepseek-chat")),
        (&json!({"model": "deepseek:deepseek-reasoner"}), ask("", ""), Ok("deepseek-reasoner")),
    ];
    for (settings, asked, expected) in table {
        assert_eq!(model(settings, &asked), expected.map(str::to_owned), "{settings} {asked:?}");
    }
}

#[test]
fn a_direct_alias_brings_its_endpoint() {
    let settings = json!({
        "model": {"provider": "openrouter"},
        "model_aliases": {"Home": {"model": "qwen3:32b", "base_url": "http://10.0.0.3:8000/v1"}},
    });
    let runtime =
        Machine::with(&settings, &[("OPENROUTER_API_KEY", "sk-or-1")]).resolve(&ask("", "home")).expect("resolves");
    assert_eq!((runtime.name.as_str(), runtime.model.as_str()), ("custom", "qwen3:32b"));
    assert_eq!((runtime.base_url.as_str(), key_of(&runtime)), ("http://10.0.0.3:8000/v1", None));
}

#[test]
fn colons_split_only_behind_a_provider() {
    let (config, _) = ModelConfig::parse(&json!({"providers": {"my box": {"base_url": "http://b/v1"}}}));
    let table = [
        ("deepseek:deepseek-chat", Some("deepseek"), "deepseek-chat"),
        ("or:qwen/qwen3:free", Some("or"), "qwen/qwen3:free"),
        ("custom:my-box:qwen3:32b", Some("custom:my-box"), "qwen3:32b"),
        ("my-box:qwen3:32b", Some("my-box"), "qwen3:32b"),
        ("qwen3:32b", None, "qwen3:32b"),
        ("qwen:32b", None, "qwen:32b"),
        ("nemotron:latest", None, "nemotron:latest"),
        ("vendor/model:free", None, "vendor/model:free"),
        ("openrouter:", None, "openrouter:"),
    ];
    for (text, provider, model) in table {
        assert_eq!(split_model(text, &config), (provider.map(str::to_owned), model.to_owned()), "{text}");
    }
}

#[test]
fn limits_come_from_the_nearest_place() {
    let settings = json!({
        "model": {"provider": "p", "default": "a", "context_length": 1000, "max_tokens": 10},
        "providers": {"p": {
            "base_url": "http://127.0.0.1:1/v1", "context_length": 3000, "max_tokens": 30, "request_timeout_seconds": 9,
            "models": {"b": {"context_length": 2000, "timeout_seconds": 8}},
        }},
    });
    let machine = Machine::with(&settings, &[("HERMES_MAX_TOKENS", "40"), ("HERMES_API_TIMEOUT", "7")]);
    let limits = |model: &str| {
        let limits = machine.resolve(&ask("", model)).expect("resolves").limits;
        (limits.context_window, limits.max_output_tokens, limits.request_timeout.as_secs())
    };
    assert_eq!(limits(""), (1000, Some(10), 9));
    assert_eq!(limits("b"), (2000, Some(30), 8));
    assert_eq!(limits("c"), (3000, Some(30), 9));
}

#[test]
fn routing_and_extra_fields_reach_the_body() {
    let settings = json!({
        "model": {"provider": "openrouter"},
        "provider_routing": {"sort": "price"},
        "providers": {"openrouter": {"extra_body": {"top_k": 3}}},
    });
    let runtime =
        Machine::with(&settings, &[("OPENROUTER_API_KEY", "sk-or-1")]).resolve(&Ask::default()).expect("resolves");
    assert_eq!(Value::Object(runtime.extra_body), json!({"provider": {"sort": "price"}, "top_k": 3}));
}

#[test]
fn errors_say_what_to_type_next() {
    let machine = Machine::with(&json!({"providers": {"my-proxy": {"base_url": "http://x/v1"}}}), &[]);
    let message = |asked: &Ask| machine.resolve(asked).expect_err("fails").to_string();
    assert_eq!(
        message(&ask("deepseek", "")),
        "DeepSeek needs an API key: DEEPSEEK_API_KEY is not set. Type `hermes config set DEEPSEEK_API_KEY <key>`; keys are \
         made at https://platform.deepseek.com/api_keys"
    );
    assert_eq!(
        message(&ask("my-prxy", "")),
        "`my-prxy` is not a provider (did you mean my-proxy?). Type `hermes model` to see all of them"
    );
    assert_eq!(
        message(&ask("custom", "m")),
        "the endpoint of Custom endpoint is not known. Type `hermes config set model.base_url <url>`"
    );
    let bad = Ask { base_url: Some("localhost:1".into()), ..ask("custom", "m") };
    assert_eq!(
        message(&bad),
        "the base URL asked for is not a usable endpoint: it has no scheme; write it with http:// or https:// in front"
    );
}

#[test]
fn a_leftover_endpoint_is_mentioned() {
    let settings = json!({"model": {"provider": "deepseek", "base_url": "https://openrouter.ai/api/v1"}});
    let runtime =
        Machine::with(&settings, &[("DEEPSEEK_API_KEY", "ds-key")]).resolve(&Ask::default()).expect("resolves");
    assert_eq!(runtime.base_url.as_str(), "https://api.deepseek.com/v1");
    assert_eq!(runtime.notes, ["model.base_url was ignored: it belongs to OpenRouter"]);
}

#[test]
fn a_login_that_is_passed_over_is_mentioned() {
    let mut machine = Machine::with(&json!({}), &[("OPENROUTER_API_KEY", "sk-or-1")]).login(login(
        "nous",
        "device_code",
        "eyJ-nous",
        Some(Renewal::Nous),
    ));
    machine.stored.active_provider = Some("nous".into());
    let runtime = machine.resolve(&Ask::default()).expect("resolves");
    assert_eq!((runtime.name.as_str(), runtime.notes.len()), ("openrouter", 1));

    machine.env = Env::default();
    let runtime = machine.resolve(&Ask::default()).expect("resolves");
    assert_eq!((runtime.name.as_str(), key_of(&runtime).as_deref()), ("nous", Some("eyJ-nous")));
}

/// The effort belongs to the model: one that steps in has its own.
#[test]
fn each_model_has_its_own_effort() {
    use hermes_types::{Effort, Reasoning};
    let settings = json!({"agent": {"reasoning_effort": "high", "reasoning_overrides": {"deepseek-chat": "low"}}});
    let machine = Machine::with(&settings, &[("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1")]);
    let effort = |provider: &str, model: &str| machine.resolve(&ask(provider, model)).expect("resolves").reasoning;
    assert_eq!(effort("deepseek", "deepseek-chat"), Some(Reasoning::Effort(Effort::Low)));
    assert_eq!(effort("openrouter", "a/b"), Some(Reasoning::Effort(Effort::High)));
    let other =
        machine.resolve(&ask("openrouter", "a/b")).expect("resolves").with_model("deepseek-chat", &machine.known());
    assert_eq!(other.reasoning, Some(Reasoning::Effort(Effort::Low)));
}

/// Settings about trust reach the runtime of their own endpoint; what has no effect says so.
#[test]
fn settings_without_effect_are_named_and_trust_is_honoured() {
    let settings = json!({"providers": {
        "mine": {"base_url": "https://mine.test/v1", "model": "m", "ssl_ca_cert": "/etc/mine.pem", "ssl_verify": true,
                 "rate_limit_delay": 2, "discover_models": false},
        "loose": {"base_url": "https://loose.test/v1", "model": "m", "ssl_verify": false, "discover_models": true},
    }});
    let expected = ["providers.mine.rate_limit_delay", "providers.mine.discover_models", "providers.loose.ssl_verify"];
    assert_eq!(warned(&settings), expected);
    let machine = Machine::with(&settings, &[]);
    let tls = |asked: &Ask| machine.resolve(asked).expect("resolves").tls;
    let trusted = Tls { ca_file: Some("/etc/mine.pem".into()), unverified: false };
    assert_eq!(tls(&ask("mine", "")), trusted);
    assert_eq!(tls(&ask("loose", "")), Tls { ca_file: None, unverified: true });
    let elsewhere = Ask { base_url: Some("https://other.test/v1".into()), ..ask("loose", "") };
    assert_eq!(tls(&elsewhere), Tls::default());
}

#[test]
fn another_model_of_the_same_runtime_may_speak_another_protocol() {
    let machine = Machine::with(&json!({}), &[("OPENCODE_ZEN_API_KEY", "zen-1")]);
    let claude = machine.resolve(&ask("opencode-zen", "claude-sonnet-4-6")).expect("resolves");
    let glm = claude.with_model("z-ai/glm-5", &machine.known());
    let asked = machine.resolve(&ask("opencode-zen", "z-ai/glm-5")).expect("resolves");
    assert_eq!(
        (glm.model, glm.api_mode, glm.base_url, glm.limits),
        (asked.model, asked.api_mode, asked.base_url, asked.limits)
    );
    assert_ne!(glm.api_mode, claude.api_mode);
}
