//! The receiver of a request as the tape keeps it, and the way back: whoever has the facts can write the bytes again.
//!
//! What is written down is what shows in a body and nothing else: no secret, no header, no address that could hold one.
//! [`facts`] and [`Receiver::of`] are inverse to each other.

use crate::provider::Provider;
use crate::voice::{Defaults, plain_address};
use crate::wire::{ApiMode, Login, Target, Ttl};
use hermes_types::{Object, Request, Sent, ToolDefinition};
use serde_json::Value;

/// What of the receiver shows in the bytes of a body.
pub(crate) fn facts(target: &Target, defaults: Defaults) -> Object {
    let mut facts = Object::new();
    facts.insert("provider".into(), target.provider.id.into());
    facts.insert("base_url".into(), plain_address(&target.base_url).into());
    facts.insert("login".into(), target.login.as_str().into());
    if !target.extra_body.is_empty() {
        facts.insert("extra_body".into(), target.extra_body.clone().into());
    }
    if let Some(ttl) = target.cache {
        facts.insert("cache_ttl".into(), ttl.as_str().into());
    }
    if let Some(most) = defaults.max_output_tokens {
        facts.insert("max_output_tokens".into(), most.into());
    }
    if let Some(reasoning) = defaults.reasoning {
        facts.insert("reasoning".into(), reasoning.as_str().into());
    }
    facts
}

/// Why a recorded request cannot be written again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unwritable {
    #[error("it was spoken in a protocol that is not written here ({0})")]
    Protocol(String),
    #[error("what is known of its receiver is not enough ({0})")]
    Receiver(&'static str),
}

/// To whom a recorded request went.
#[derive(Debug, Clone)]
pub struct Receiver {
    mode: ApiMode,
    target: Target,
    defaults: Defaults,
}

impl Receiver {
    pub fn of(sent: &Sent) -> Result<Self, Unwritable> {
        let mode = ApiMode::parse(&sent.mode).ok_or_else(|| Unwritable::Protocol(sent.mode.clone()))?;
        let word = |name: &'static str| sent.target.get(name).and_then(Value::as_str).ok_or(Unwritable::Receiver(name));
        let target = Target {
            provider: Provider::find(word("provider")?).ok_or(Unwritable::Receiver("provider"))?,
            base_url: word("base_url")?.parse().map_err(|_| Unwritable::Receiver("base_url"))?,
            login: Login::parse(word("login")?).ok_or(Unwritable::Receiver("login"))?,
            extra_body: sent.target.get("extra_body").and_then(Value::as_object).cloned().unwrap_or_default(),
            // Not known of requests from before prompts were asked to be kept; those asked for nothing.
            cache: sent.target.get("cache_ttl").and_then(Value::as_str).and_then(Ttl::parse),
        };
        let most = sent.target.get("max_output_tokens").and_then(Value::as_u64);
        let reasoning = sent.target.get("reasoning").and_then(Value::as_str);
        let defaults = Defaults {
            max_output_tokens: most.and_then(|most| u32::try_from(most).ok()),
            reasoning: reasoning.and_then(|word| word.parse().ok()),
        };
        Ok(Self { mode, target, defaults })
    }

    /// The bytes this receiver would be sent.
    pub fn body(&self, request: &Request) -> Vec<u8> {
        self.mode.encode(&self.defaults.fill(request), &self.target).body
    }

    /// The most it was allowed to write in one answer, where that was set or known.
    pub fn output_cap(&self) -> Option<u32> {
        self.defaults.max_output_tokens
    }
}

/// The tools that a recorded request offered, as its receiver was told of them.
pub fn offered(body: &[u8]) -> Vec<ToolDefinition> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let tools = body.get("tools").and_then(Value::as_array);
    tools.into_iter().flatten().filter_map(definition).collect()
}

/// The protocols differ in where the parts stand and what the schema is called.
fn definition(tool: &Value) -> Option<ToolDefinition> {
    let card = tool.get("function").unwrap_or(tool);
    let text = |name: &str| card.get(name).and_then(Value::as_str).map(str::to_owned);
    Some(ToolDefinition {
        // A vendor's own tool has a kind and no name.
        name: text("name").or_else(|| text("type"))?,
        description: text("description").unwrap_or_default(),
        parameters: card.get("parameters").or_else(|| card.get("input_schema")).cloned().unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Effort, Message, Reasoning, SessionId};
    use serde_json::json;
    use std::sync::Arc;

    fn recorded(mode: ApiMode, target: &Target, defaults: Defaults) -> Sent {
        let body = Vec::new().into();
        Sent { mode: mode.as_str().to_owned(), url: String::new(), target: facts(target, defaults), body }
    }

    #[test]
    fn what_is_written_down_of_a_receiver_is_enough_to_write_to_it_again() {
        let tool = ToolDefinition {
            name: "look".into(),
            description: "Looks.".into(),
            parameters: json!({"type": "object", "properties": {"at": {"type": "string", "pattern": "a/b"}}}),
        };
        for provider in ["openrouter", "anthropic", "openai-codex", "gemini", "xai", "copilot", "kimi", "custom"] {
            let provider = Provider::find(provider).expect("a provider");
            for (mode, login) in ApiMode::ALL.into_iter().flat_map(|mode| Login::ALL.map(|login| (mode, login))) {
                let target = Target {
                    provider,
                    base_url: "https://host.example/v1".parse().expect("a URL"),
                    login,
                    extra_body: json!({"top_k": 4}).as_object().cloned().expect("an object"),
                    cache: Some(Ttl::Hour),
                };
                let defaults =
                    Defaults { max_output_tokens: Some(900), reasoning: Some(Reasoning::Effort(Effort::High)) };
                let messages = [Message::system("Be kind."), Message::user("Hi.")];
                let session = Some(SessionId::new("s1"));
                let request =
                    Request { tools: Arc::from([tool.clone()]), session, ..Request::new("claude-opus-4-6", messages) };
                let body = mode.encode(&defaults.fill(&request), &target).body;
                let receiver = Receiver::of(&recorded(mode, &target, defaults)).expect("a receiver");
                assert_eq!(receiver.body(&request), body, "{} {mode} {login:?}", provider.id);
                let again = Request { tools: offered(&body).into(), ..request };
                assert_eq!(receiver.body(&again), body, "the tools of {} in {mode}", provider.id);
            }
        }
    }

    #[test]
    fn a_request_from_before_prompts_were_asked_to_be_kept_is_written_as_it_was() {
        let routes = [("anthropic", ApiMode::AnthropicMessages), ("openai-api", ApiMode::ChatCompletions)];
        for (provider, mode) in routes {
            let provider = Provider::find(provider).expect("a provider");
            let base_url = provider.base_url.parse().expect("a URL");
            let target = Target { provider, base_url, login: Login::ApiKey, extra_body: Object::new(), cache: None };
            let messages = [Message::system("Be kind."), Message::user("Hi."), Message::assistant("Hello.")];
            let request = Request { session: Some(SessionId::new("s1")), ..Request::new("claude-opus-4-6", messages) };
            let receiver = Receiver::of(&recorded(mode, &target, Defaults::default())).expect("a receiver");
            let body = String::from_utf8(receiver.body(&request)).expect("UTF-8");
            assert!(!body.contains("cache"), "{body}");
        }
    }

    #[test]
    fn what_is_not_known_well_enough_is_named() {
        let sent = |mode: &str, target: Value| Sent {
            mode: mode.into(),
            url: String::new(),
            target: target.as_object().cloned().unwrap_or_default(),
            body: Vec::new().into(),
        };
        let table = [
            (sent("acp", json!({})), Unwritable::Protocol("acp".into())),
            (sent("chat_completions", json!({})), Unwritable::Receiver("provider")),
            (sent("chat_completions", json!({"provider": "custom"})), Unwritable::Receiver("base_url")),
        ];
        for (sent, why) in table {
            assert_eq!(Receiver::of(&sent).map(|_| ()), Err(why));
        }
    }
}
