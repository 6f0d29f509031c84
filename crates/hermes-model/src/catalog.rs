//! Which models an endpoint offers, asked of the endpoint itself, and which servers run on this machine.

use crate::provider::Provider;
use crate::provider::almanac::{Almanac, ModelFacts};
use crate::provider::prices::Prices;
use crate::transport::{Call, Transport};
use crate::voice::Endpoint;
use crate::wire::{ApiMode, AuthHeader, anthropic, fault};
use futures_util::future::{Either, join_all, select};
use hermes_core::clock::Clock;
use hermes_types::{Fault, FaultKind, Usd};
use serde_json::{Value, json};
use std::time::Duration;
use url::Url;

const LIST_TIMEOUT: Duration = Duration::from_secs(8);
/// A server on this machine that does not answer within this is not there.
const PROBE_TIMEOUT: Duration = Duration::from_millis(400);
const OLLAMA: &str = "ollama";
const LIST_CAP: usize = 16 << 20;
/// A thousand dollars for a million tokens: a number above that is the price of something else.
const DEAREST_TOKEN: Usd = Usd::from_pico(1_000_000_000);
/// Where endpoints say how much a model can read, best first.
const WINDOWS: [&str; 12] = [
    "/context_length",
    "/context_window",
    "/max_model_len",
    "/max_context_length",
    "/context_size",
    "/max_context_window",
    "/n_ctx",
    "/max_input_tokens",
    "/capabilities/limits/max_context_window_tokens",
    "/top_provider/context_length",
    "/meta/n_ctx",
    "/meta/n_ctx_train",
];

/// A model as its endpoint lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    pub id: String,
    /// The endpoint's own word on how much the model can read.
    pub context_window: Option<u64>,
    /// What the endpoint says it charges.
    pub prices: Option<Prices>,
}

impl ModelInfo {
    /// One of which nothing but the name is known.
    pub fn named(id: impl Into<String>) -> Self {
        Self { id: id.into(), context_window: None, prices: None }
    }

    /// Both input and output cost nothing.
    pub fn is_free(&self) -> bool {
        self.prices.is_some_and(|prices| prices.is_free())
    }

    pub fn facts(&self) -> ModelFacts {
        ModelFacts { window: self.context_window, prices: self.prices }
    }
}

/// A server found running on this machine.
#[derive(Debug, Clone, PartialEq)]
pub struct LocalServer {
    pub provider: &'static Provider,
    pub base_url: Url,
    pub models: Vec<ModelInfo>,
}

/// The models of an endpoint that can be talked to, in the endpoint's order.
pub async fn list_models(
    endpoint: &Endpoint,
    transport: &dyn Transport,
    clock: &dyn Clock,
) -> Result<Vec<ModelInfo>, Fault> {
    let path = if endpoint.mode == ApiMode::AnthropicMessages && !endpoint.target.base_url.path().ends_with("/v1") {
        "v1/models"
    } else {
        "models"
    };
    let mut call = Call::get(endpoint.target.join(path));
    call.secret_headers.clone_from(&endpoint.headers);
    call.tls.clone_from(&endpoint.tls);
    // The same introduction as with a question: some endpoints look at nothing else.
    let (header, headers) = match endpoint.mode {
        ApiMode::AnthropicMessages => anthropic::introduction(&endpoint.target),
        ApiMode::ChatCompletions | ApiMode::CodexResponses => (AuthHeader::Bearer, endpoint.target.vendor_headers()),
    };
    call.headers.extend(headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
    if endpoint.mode == ApiMode::AnthropicMessages {
        // Anthropic hands out twenty at a time unless asked for more.
        call.url.query_pairs_mut().append_pair("limit", "1000");
    }
    call.credential = endpoint.credential.clone().map(|secret| (header, secret));
    let body = fetch(call, transport, clock, LIST_TIMEOUT).await?;
    Ok(read_list(&body, endpoint.target.provider))
}

/// Asks an endpoint anew for all it says about its models, and keeps it. What cannot be had is not asked for again at
/// once either; what was known before stays.
pub async fn refresh(
    endpoint: &Endpoint,
    almanac: &Almanac,
    transport: &dyn Transport,
    clock: &dyn Clock,
) -> Result<Vec<ModelInfo>, Fault> {
    let base_url = &endpoint.target.base_url;
    let mut listed = list_models(endpoint, transport, clock).await;
    if let Ok(models) = &mut listed
        && endpoint.target.provider.id == OLLAMA
        && let Some(model) = models.iter_mut().find(|model| model.id == endpoint.card.model)
    {
        model.context_window = ollama_window(endpoint, transport, clock).await.or(model.context_window);
    }
    let known = listed.iter().flatten().map(|model| (model.id.clone(), model.facts()));
    almanac.keep(base_url, known, clock.now());
    listed
}

/// Ollama tells of one model at a time, at its own address beside the compatible one. What it was told to load
/// (`num_ctx`) counts before what the model could.
async fn ollama_window(endpoint: &Endpoint, transport: &dyn Transport, clock: &dyn Clock) -> Option<u64> {
    let mut url = endpoint.target.base_url.clone();
    let root = url.path().trim_end_matches('/').trim_end_matches("/v1").to_owned();
    url.set_path(&format!("{root}/api/show"));
    let mut call = Call::post(url, json!({"model": endpoint.card.model}).to_string());
    call.headers.push(("content-type".into(), "application/json".into()));
    call.secret_headers.clone_from(&endpoint.headers);
    call.tls.clone_from(&endpoint.tls);
    call.credential = endpoint.credential.clone().map(|secret| (AuthHeader::Bearer, secret));
    read_show(&fetch(call, transport, clock, LIST_TIMEOUT).await.ok()?)
}

fn read_show(shown: &Value) -> Option<u64> {
    let parameters = shown.get("parameters").and_then(Value::as_str).unwrap_or_default();
    let loaded = parameters.lines().find_map(|line| line.trim().strip_prefix("num_ctx")?.trim().parse().ok());
    let could = || {
        let info = shown.get("model_info")?.as_object()?;
        info.iter().find(|(key, _)| key.ends_with(".context_length"))?.1.as_u64()
    };
    loaded.or_else(could)
}

/// Asks every candidate at once; the first in the list that answers with a model wins.
pub async fn find_local(
    candidates: Vec<(&'static Provider, Url)>,
    transport: &dyn Transport,
    clock: &dyn Clock,
) -> Option<LocalServer> {
    list_local(candidates, transport, clock).await.into_iter().next()
}

/// Asks every candidate at once; those that answer with a model, in the order of the list.
pub async fn list_local(
    candidates: Vec<(&'static Provider, Url)>,
    transport: &dyn Transport,
    clock: &dyn Clock,
) -> Vec<LocalServer> {
    let asked = candidates.into_iter().map(|(provider, base_url)| async move {
        let mut url = base_url.clone();
        url.set_path(&format!("{}/models", base_url.path().trim_end_matches('/')));
        let body = fetch(Call::get(url), transport, clock, PROBE_TIMEOUT).await.ok()?;
        let models = read_list(&body, provider);
        (!models.is_empty()).then_some(LocalServer { provider, base_url, models })
    });
    join_all(asked).await.into_iter().flatten().collect()
}

async fn fetch(call: Call, transport: &dyn Transport, clock: &dyn Clock, limit: Duration) -> Result<Value, Fault> {
    let asking = Box::pin(async {
        let answer = transport.send(call).await?;
        let (status, headers) = (answer.status, answer.headers.clone());
        let body = answer.read(LIST_CAP).await?;
        if !(200..300).contains(&status) {
            return Err(fault::from_response(status, &headers, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|error| Fault::new(FaultKind::Malformed, format!("the list of models is not JSON: {error}")))
    });
    match select(asking, clock.alarm(limit)).await {
        Either::Left((result, _)) => result,
        Either::Right(_) => {
            Err(Fault::new(FaultKind::Timeout, format!("no list of models within {} s", limit.as_secs_f32())))
        }
    }
}

/// `{"data": […]}`, `{"models": […]}` or a bare list; entries are objects or names.
fn read_list(body: &Value, provider: &Provider) -> Vec<ModelInfo> {
    let entries = body.get("data").or_else(|| body.get("models")).unwrap_or(body).as_array();
    entries.into_iter().flatten().filter(|entry| is_offered(entry, provider)).filter_map(read_model).collect()
}

fn read_model(entry: &Value) -> Option<ModelInfo> {
    let id = entry.as_str().or_else(|| ["id", "name", "model"].iter().find_map(|key| entry.get(key)?.as_str()))?;
    Some(ModelInfo {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        context_window: window(entry),
        prices: prices_per_token(entry),
    })
}

/// The window an entry names, under whichever of the usual keys.
pub(crate) fn window(entry: &Value) -> Option<u64> {
    WINDOWS.iter().find_map(|path| {
        let tokens = entry.pointer(path)?;
        tokens.as_u64().or_else(|| tokens.as_str()?.parse().ok()).filter(|tokens| *tokens > 0)
    })
}

/// The prices of an entry in the form of OpenRouter and the AI Gateway: dollars for one token, as decimals. Whatever
/// else stands under `pricing` may be per million or per hour and is left alone, and so is a price no token ever had.
pub(crate) fn prices_per_token(entry: &Value) -> Option<Prices> {
    let pricing = entry.get("pricing")?;
    let money = |key: &str| -> Option<Usd> {
        let price = pricing.get(key)?;
        let text = price.as_str().map_or_else(|| price.to_string(), str::to_owned);
        text.parse().ok().filter(|price: &Usd| price.pico() >= 0)
    };
    let of_million = |keys: [&str; 2]| {
        let price = keys.iter().find_map(|key| money(key)).filter(|price| *price <= DEAREST_TOKEN);
        price.and_then(Usd::times_million)
    };
    let prices = Prices {
        input: of_million(["prompt", "input"]),
        output: of_million(["completion", "output"]),
        cache_read: of_million(["input_cache_read", "cachedInputTokens"]),
        cache_write: of_million(["input_cache_write", "cacheCreationInputTokens"]),
        cache_write_1h: None,
        request: money("request").filter(|fee| fee.pico() > 0),
    };
    (prices.input.is_some() && prices.output.is_some()).then_some(prices)
}

/// Aggregators list everything they have; an agent needs language models that can call tools. An entry that does not
/// say what it can do is kept.
fn is_offered(entry: &Value, provider: &Provider) -> bool {
    let lists = |key: &str, word: &str| {
        let words = entry.get(key).and_then(Value::as_array);
        words.map(|words| words.iter().any(|item| item.as_str() == Some(word)))
    };
    match provider.id {
        "ai-gateway" => {
            entry.get("type").and_then(Value::as_str) == Some("language") && lists("tags", "tool-use") == Some(true)
        }
        "openrouter" => lists("supported_parameters", "tools").unwrap_or(true),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resolve::{Ask, Env, Known, ModelConfig, Stored, resolve};
    use crate::transport::Answer;
    use futures_util::StreamExt;
    use futures_util::future::BoxFuture;
    use hermes_core::clock::RealClock;
    use hermes_types::Request;
    use std::sync::Mutex;

    fn ids(body: &Value, provider: &str) -> Vec<String> {
        let provider = Provider::find(provider).expect("a row of the table");
        read_list(body, provider).into_iter().map(|model| model.id).collect()
    }

    #[test]
    fn the_gateway_list_keeps_language_models_that_use_tools() {
        let body = json!({"data": [
            {"id": "openai/gpt-5", "type": "language", "tags": ["tool-use", "reasoning"]},
            {"id": "openai/whisper", "type": "transcription", "tags": ["tool-use"]},
            {"id": "old/chat", "type": "language", "tags": []},
            {"id": "untagged", "type": "language"},
        ]});
        assert_eq!(ids(&body, "ai-gateway"), ["openai/gpt-5"]);
        assert_eq!(ids(&body, "custom").len(), 4);
    }

    /// Notes how a listing introduces itself.
    #[derive(Default)]
    struct Door(Mutex<Option<Call>>);

    impl Transport for Door {
        fn send(&self, call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
            *self.0.lock().expect("unpoisoned") = Some(call);
            let body = futures_util::stream::iter([Ok(bytes::Bytes::from_static(b"[]"))]);
            Box::pin(std::future::ready(Ok(Answer { status: 200, headers: Vec::new(), body: body.boxed() })))
        }
    }

    #[tokio::test]
    async fn a_listing_introduces_itself_as_a_question_does() {
        let cases = [
            ("anthropic", "ANTHROPIC_API_KEY", "sk-ant-api-1"),
            ("anthropic", "ANTHROPIC_TOKEN", "sk-ant-oat-1"),
            ("minimax", "MINIMAX_API_KEY", "mm-key-1"),
            ("openrouter", "OPENROUTER_API_KEY", "sk-or-1"),
        ];
        for (provider, variable, key) in cases {
            let (config, _) = ModelConfig::parse(&json!({}));
            let (env, stored) = (Env::new([], [(variable.to_owned(), key.to_owned())]), Stored::default());
            let asked = Ask { provider: Some(provider.into()), model: Some("m".into()), ..Ask::default() };
            let runtime =
                resolve(&asked, &Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() })
                    .expect("resolves");
            let (endpoint, door) = (Endpoint::of(&runtime), Door::default());
            list_models(&endpoint, &door, &RealClock::default()).await.expect("a list");
            let call = door.0.lock().expect("unpoisoned").take().expect("a call");
            let question = endpoint.mode.encode(&Request::new("m", []), &endpoint.target);
            let headers: Vec<(String, String)> =
                question.headers.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
            assert_eq!(call.credential.map(|(header, _)| header), Some(question.auth), "{variable}");
            assert_eq!(call.headers, headers, "{variable}");
        }
    }

    #[test]
    fn windows_and_prices_are_read_wherever_endpoints_put_them() {
        let table = [
            (json!({"id": "m", "max_model_len": 32768}), Some(32_768), None),
            (json!({"id": "m", "meta": {"n_ctx_train": 4096}}), Some(4_096), None),
            (json!({"id": "m", "context_length": "131072"}), Some(131_072), None),
            (
                json!({"id": "m", "capabilities": {"limits": {"max_context_window_tokens": 128000}}}),
                Some(128_000),
                None,
            ),
            (json!({"id": "m", "context_length": 0}), None, None),
            (json!({"id": "m", "pricing": {"prompt": "0.00000025", "completion": "1e-6"}}), None, Some(("0.25", "1"))),
            (json!({"id": "m", "pricing": {"input": 0.0000005, "output": "0.000002"}}), None, Some(("0.5", "2"))),
            // Dollars for a million, and a price that an aggregator does not know beforehand.
            (json!({"id": "m", "pricing": {"input": 0.88, "output": 0.88}}), None, None),
            (json!({"id": "m", "pricing": {"prompt": "-1", "completion": "-1"}}), None, None),
            (json!({"id": "m", "pricing": {"prompt": "0.1"}}), None, None),
        ];
        for (entry, window, prices) in table {
            let read = read_model(&entry).expect("a model");
            let expected = prices.map(|(input, output)| (input.parse().ok(), output.parse().ok()));
            assert_eq!(read.context_window, window, "{entry}");
            assert_eq!(read.prices.map(|prices| (prices.input, prices.output)), expected, "{entry}");
        }
    }

    #[test]
    fn ollama_says_what_it_loaded_before_what_it_could() {
        let shown = json!({"parameters": "stop \"x\"\nnum_ctx   8192", "model_info": {"qwen3.context_length": 40960}});
        assert_eq!(read_show(&shown), Some(8_192));
        assert_eq!(read_show(&json!({"model_info": {"qwen3.context_length": 40960}})), Some(40_960));
        assert_eq!(read_show(&json!({})), None);
    }

    #[test]
    fn every_shape_of_list_is_read() {
        let openrouter = json!({"data": [
            {"id": "a/b", "context_length": 1000, "pricing": {"prompt": "0", "completion": "0"}, "supported_parameters": ["tools"]},
            {"id": "no/tools", "supported_parameters": ["temperature"]},
        ]});
        let provider = Provider::find("openrouter").expect("a row");
        let free = Prices { input: Some(Usd::default()), output: Some(Usd::default()), ..Prices::default() };
        assert_eq!(
            read_list(&openrouter, provider),
            [ModelInfo { context_window: Some(1000), prices: Some(free), ..ModelInfo::named("a/b") }]
        );
        assert_eq!(ids(&json!({"models": [{"name": "models/gemini-3-flash"}]}), "custom"), ["gemini-3-flash"]);
        assert_eq!(ids(&json!(["x", {"model": "y"}, 7]), "custom"), ["x", "y"]);
        assert!(ids(&json!({"error": "no"}), "custom").is_empty());
    }
}
