//! Side jobs find their models in the promised order, and carry keys only where those belong.

use super::*;
use serde_json::json;
use std::time::Duration;

/// Where a place of the route leads: the provider and model, or why it is passed over.
type Place = Result<(String, String), String>;

fn places(machine: &Machine, task: &str) -> Vec<Place> {
    let main = machine.resolve(&Ask::default()).expect("the conversation has a model");
    let describe = |runtime: Runtime| (runtime.name, runtime.model);
    route(task, &main, &machine.known())
        .into_iter()
        .map(|place| place.runtime.map(describe).map_err(|skip| skip.to_string()))
        .collect()
}

fn works(provider: &str, model: &str) -> Place {
    Ok((provider.to_owned(), model.to_owned()))
}

fn usable(machine: &Machine, task: &str) -> Vec<(String, String)> {
    places(machine, task).into_iter().filter_map(Result::ok).collect()
}

#[test]
fn a_job_nobody_configured_starts_with_the_conversation() {
    let settings = json!({
        "model": {"provider": "deepseek", "default": "deepseek-v4-pro"},
        "fallback_providers": [{"provider": "anthropic", "model": "claude-sonnet-4-6"}],
        "auxiliary": {"web_extract": {"fallback_chain": [{"provider": "zai", "model": "glm-4.7", "timeout": 7}]}},
    });
    let machine = Machine::with(
        &settings,
        &[
            ("DEEPSEEK_API_KEY", "ds-key"),
            ("ANTHROPIC_API_KEY", "sk-ant-api-1"),
            ("GLM_API_KEY", "glm-key"),
            ("OPENROUTER_API_KEY", "sk-or-1"),
        ],
    );
    let expected = [
        works("deepseek", "deepseek-v4-pro"),
        works("zai", "glm-4.7"),
        works("anthropic", "claude-sonnet-4-6"),
        works("openrouter", "google/gemini-3-flash-preview"),
        Err("Nous Portal needs a login. Type `hermes auth add nous`".into()),
        works("deepseek", "deepseek-chat"),
    ];
    assert_eq!(places(&machine, "web_extract"), expected);

    let main = machine.resolve(&Ask::default()).expect("resolves");
    let timeouts: Vec<u64> =
        route("web_extract", &main, &machine.known()).iter().take(2).map(|place| place.timeout.as_secs()).collect();
    assert_eq!(timeouts, [360, 7]);
}

#[test]
fn a_configured_job_goes_where_it_is_sent_then_home() {
    let settings = json!({
        "model": {"provider": "anthropic", "default": "claude-sonnet-4-6"},
        "auxiliary": {"compression": {
            "provider": "openrouter", "timeout": 60, "reasoning_effort": "low", "extra_body": {"top_k": 1},
            "fallback_chain": [{"provider": "deepseek", "model": "deepseek-chat"}],
        }},
    });
    let machine = Machine::with(&settings, &[("ANTHROPIC_API_KEY", "sk-ant-api-1"), ("OPENROUTER_API_KEY", "sk-or-1")]);
    let list = places(&machine, "compression");
    assert_eq!(list[0], works("openrouter", "google/gemini-3-flash-preview"));
    assert!(matches!(&list[1], Err(reason) if reason.contains("DEEPSEEK_API_KEY")), "{list:?}");
    assert_eq!(list[2], works("anthropic", "claude-sonnet-4-6"));
    assert_eq!(list.len(), 3);

    let main = machine.resolve(&Ask::default()).expect("resolves");
    let first = route("compression", &main, &machine.known()).into_iter().next().expect("a place");
    assert_eq!(first.timeout, Duration::from_secs(300), "a summary needs its time");
    assert_eq!(first.reasoning, "low".parse().ok());
    assert_eq!(first.runtime.expect("resolves").extra_body.get("top_k"), Some(&json!(1)));
}

#[test]
fn images_go_to_someone_who_sees() {
    let keys = &[("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1"), ("GLM_API_KEY", "glm-key")];
    let blind = Machine::with(&json!({"model": {"provider": "deepseek", "default": "deepseek-chat"}}), keys);
    let list = places(&blind, "vision");
    assert_eq!(list[0], Err("deepseek-chat cannot see images".into()));
    assert_eq!(list[1], works("openrouter", "google/gemini-3-flash-preview"));

    let own_eyes = Machine::with(&json!({"model": {"provider": "zai", "default": "glm-5.2"}}), keys);
    assert_eq!(places(&own_eyes, "vision")[0], works("zai", "glm-5v-turbo"));

    let stated = json!({"model": {"provider": "deepseek", "default": "deepseek-chat", "supports_vision": true}});
    assert_eq!(places(&Machine::with(&stated, keys), "vision")[0], works("deepseek", "deepseek-chat"));

    let broken = json!({
        "model": {"provider": "openrouter", "default": "anthropic/claude-sonnet-4.6"},
        "auxiliary": {"vision": {"provider": "nous"}},
    });
    let list = places(&Machine::with(&broken, keys), "vision");
    assert!(list[0].is_err());
    assert_eq!(list[1], works("openrouter", "anthropic/claude-sonnet-4.6"));
}

#[test]
fn pictures_of_tools_are_seen_where_the_protocol_and_the_model_take_them() {
    let keys = &[("ANTHROPIC_API_KEY", "sk-ant-api-1"), ("OPENROUTER_API_KEY", "sk-or-1")];
    let sees = |provider: &str, model: &str, stated: Option<bool>| {
        let machine = Machine::with(&json!({"model": {"provider": provider, "default": model}}), keys);
        sees_results(&machine.resolve(&Ask::default()).expect("resolves"), stated)
    };
    let claude = "claude-sonnet-4.6";
    assert_eq!([None, Some(true), Some(false)].map(|stated| sees("anthropic", claude, stated)), [true, true, false]);
    let chat = "anthropic/claude-sonnet-4.6";
    assert_eq!([None, Some(true)].map(|stated| sees("openrouter", chat, stated)), [false; 2], "chat takes words");
}

/// Every provider on the list of those who see has a model that does.
#[test]
fn whoever_is_asked_to_look_can_see() {
    let keys = &[("DEEPSEEK_API_KEY", "ds-key"), ("DEEPINFRA_API_KEY", "di-key")];
    let blind = Machine::with(&json!({"model": {"provider": "deepseek", "default": "deepseek-chat"}}), keys);
    assert_eq!(usable(&blind, "vision"), [("deepinfra".to_owned(), "google/gemma-3-27b-it".to_owned())]);
}

#[test]
fn main_means_the_conversation_with_the_jobs_model() {
    let settings = json!({
        "model": {"provider": "my-proxy"},
        "providers": {"my-proxy": {"base_url": "http://10.0.0.4/v1", "api_key": "proxy-key", "models": ["big", "small"]}},
        "auxiliary": {"title_generation": {"provider": "main", "model": "small"}, "approval": {"model": "small"}},
    });
    let machine = Machine::with(&settings, &[]);
    let through_proxy = [("custom:my-proxy".to_owned(), "small".to_owned())];
    assert_eq!(usable(&machine, "title_generation"), through_proxy);
    assert_eq!(usable(&machine, "approval"), through_proxy);
}

#[test]
fn the_conversations_key_stays_on_its_host() {
    let at = |base_url: &str| {
        let settings = json!({
            "model": {"provider": "custom", "base_url": "https://llm.corp/v1", "api_key": "corp-key", "default": "m"},
            "auxiliary": {"mcp": {"base_url": base_url}},
        });
        let machine = Machine::with(&settings, &[]);
        let main = machine.resolve(&Ask::default()).expect("resolves");
        let first = route("mcp", &main, &machine.known()).into_iter().next().expect("a place");
        key_of(&first.runtime.expect("resolves"))
    };
    assert_eq!(at("https://llm.corp/small/v1").as_deref(), Some("corp-key"));
    assert_eq!(at("https://other.corp/v1"), None);
    assert_eq!(at("http://llm.corp/v1"), None);
}

#[test]
fn a_question_that_names_its_model_is_more_specific_than_the_job() {
    let of = |settings: serde_json::Value| {
        let machine = Machine::with(&settings, &[("GLM_API_KEY", "glm-key")]);
        let main = machine.resolve(&Ask::default()).expect("resolves");
        let first = route_to(Some("wanted"), "mcp", &main, &machine.known()).into_iter().next().expect("a place");
        first.runtime.map(|runtime| (runtime.name, runtime.model)).map_err(|skip| skip.to_string())
    };
    let model =
        json!({"provider": "custom", "base_url": "https://llm.corp/v1", "api_key": "corp-key", "default": "usual"});
    assert_eq!(of(json!({"model": model})), works("custom", "wanted"));
    let mcp = json!({"provider": "zai", "model": "glm-4.7"});
    assert_eq!(of(json!({"model": model, "auxiliary": {"mcp": mcp}})), works("zai", "wanted"));
}

#[test]
fn a_summariser_must_read_enough() {
    let settings = json!({
        "model": {"provider": "tiny"},
        "providers": {"tiny": {"base_url": "http://127.0.0.1:1/v1", "model": "m", "context_length": 8192}},
    });
    let list = places(&Machine::with(&settings, &[]), "compression");
    let reason = "m reads 8192 tokens, too few to summarise a conversation";
    assert_eq!(list[0], Err(reason.into()));
}
