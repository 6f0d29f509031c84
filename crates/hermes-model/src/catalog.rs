//! Which models an endpoint offers, asked of the endpoint itself, and which servers run on this machine.

use crate::provider::Provider;
use crate::transport::{Call, Transport};
use crate::voice::Endpoint;
use crate::wire::{ApiMode, AuthHeader, anthropic, fault};
use futures_util::future::{Either, join_all, select};
use hermes_core::clock::Clock;
use hermes_types::{Fault, FaultKind};
use serde_json::Value;
use std::time::Duration;
use url::Url;

const LIST_TIMEOUT: Duration = Duration::from_secs(8);
/// A server on this machine that does not answer within this is not there.
const PROBE_TIMEOUT: Duration = Duration::from_millis(400);
const LIST_CAP: usize = 16 << 20;

/// A model as its endpoint lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelInfo {
    pub id: String,
    /// The endpoint's own word on how much the model can read.
    pub context_window: Option<u64>,
    /// Both input and output cost nothing.
    pub free: bool,
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
    let windows = ["context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens"];
    let pricing = entry.get("pricing");
    let is_zero = |keys: [&str; 2]| {
        let price = keys.iter().find_map(|key| pricing?.get(key));
        price.is_some_and(|price| price.as_f64().or_else(|| price.as_str()?.parse().ok()) == Some(0.0))
    };
    Some(ModelInfo {
        id: id.strip_prefix("models/").unwrap_or(id).to_owned(),
        context_window: windows.iter().find_map(|key| entry.get(key)?.as_u64()),
        free: is_zero(["prompt", "input"]) && is_zero(["completion", "output"]),
    })
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
    use serde_json::json;
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
            let runtime = resolve(&asked, &Known { config: &config, env: &env, stored: &stored }).expect("resolves");
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
    fn every_shape_of_list_is_read() {
        let openrouter = json!({"data": [
            {"id": "a/b", "context_length": 1000, "pricing": {"prompt": "0", "completion": "0"}, "supported_parameters": ["tools"]},
            {"id": "no/tools", "supported_parameters": ["temperature"]},
        ]});
        let provider = Provider::find("openrouter").expect("a row");
        assert_eq!(
            read_list(&openrouter, provider),
            [ModelInfo { id: "a/b".into(), context_window: Some(1000), free: true }]
        );
        assert_eq!(ids(&json!({"models": [{"name": "models/gemini-3-flash"}]}), "custom"), ["gemini-3-flash"]);
        assert_eq!(ids(&json!(["x", {"model": "y"}, 7]), "custom"), ["x", "y"]);
        assert!(ids(&json!({"error": "no"}), "custom").is_empty());
    }
}
