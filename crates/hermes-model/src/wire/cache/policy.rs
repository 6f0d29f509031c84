//! Who keeps what is marked, as one table. Everybody else keeps beginnings unasked, or not at all.

use super::Ttl;
use crate::provider::names::is_family;
use crate::wire::{ApiMode, Target};

/// A route on which marks are honoured. Where they are written follows from the protocol: on blocks in the Messages
/// protocol, on text parts of the content in chat completions.
struct Row {
    mode: ApiMode,
    at: &'static [At],
    /// Families of models; empty stands for whatever is served there.
    models: &'static [&'static str],
    /// The longest time that is documented there.
    longest: Ttl,
}

enum At {
    Anywhere,
    Provider(&'static str),
    Host(&'static str),
}

use ApiMode::{AnthropicMessages, ChatCompletions};
use At::{Anywhere, Host, Provider};
use Ttl::{FiveMinutes, Hour};

const ANTHROPIC: &[At] = &[Provider("anthropic"), Host("api.anthropic.com")];
const MINIMAX: &[At] = &[Provider("minimax"), Provider("minimax-cn"), Host("minimax.io"), Host("minimaxi.com")];
const NOUS: &[At] = &[Provider("nous"), Host("nousresearch.com")];
const ROUTERS: &[At] = &[Provider("openrouter"), Host("openrouter.ai"), Provider("nous"), Host("nousresearch.com")];
const QWEN_SELLERS: &[At] = &[Provider("alibaba"), Provider("opencode-zen"), Provider("opencode-go")];

/// The first row that fits holds.
const ROWS: [Row; 7] = [
    Row { mode: AnthropicMessages, at: ANTHROPIC, models: &[], longest: Hour },
    Row { mode: AnthropicMessages, at: &[Anywhere], models: &["claude"], longest: Hour },
    Row { mode: AnthropicMessages, at: MINIMAX, models: &[], longest: FiveMinutes },
    Row { mode: ChatCompletions, at: ROUTERS, models: &["claude"], longest: Hour },
    Row { mode: ChatCompletions, at: ROUTERS, models: &["kimi", "moonshot"], longest: FiveMinutes },
    Row { mode: ChatCompletions, at: NOUS, models: &["qwen"], longest: FiveMinutes },
    Row { mode: ChatCompletions, at: QWEN_SELLERS, models: &["qwen"], longest: FiveMinutes },
];

/// How long marks can hold for this model on this route; `None` where they are not honoured.
pub(super) fn policy(target: &Target, mode: ApiMode, model: &str) -> Option<Ttl> {
    let is_there = |at: &At| match at {
        Anywhere => true,
        Provider(id) => target.provider.id == *id,
        Host(host) => target.host_is(host),
    };
    let is_served = |row: &Row| row.models.is_empty() || row.models.iter().any(|family| is_family(model, family));
    let fits = |row: &&Row| row.mode == mode && row.at.iter().any(is_there) && is_served(row);
    ROWS.iter().find(fits).map(|row| row.longest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider;
    use crate::wire::Login;
    use hermes_types::Object;

    const MESSAGES: ApiMode = AnthropicMessages;
    const CHAT: ApiMode = ChatCompletions;
    const PROXY: &str = "https://proxy.example/v1";

    #[test]
    fn marks_go_where_they_are_honoured_and_nowhere_else() {
        let table = [
            ("anthropic", "https://api.anthropic.com", MESSAGES, "claude-opus-4-6", Some(Hour)),
            ("anthropic", "https://api.anthropic.com", MESSAGES, "a-name-of-next-year", Some(Hour)),
            ("anthropic", PROXY, MESSAGES, "a-name-of-next-year", Some(Hour)),
            ("custom", "https://api.anthropic.com", MESSAGES, "a-name-of-next-year", Some(Hour)),
            ("custom", PROXY, MESSAGES, "claude-sonnet-4.6", Some(Hour)),
            ("azure-foundry", "https://r.services.ai.azure.com/anthropic", MESSAGES, "claude-opus-4-6", Some(Hour)),
            ("copilot", "https://api.githubcopilot.com", MESSAGES, "claude-opus-4.6", Some(Hour)),
            ("opencode-zen", "https://opencode.ai/zen/v1", MESSAGES, "claude-sonnet-4-6", Some(Hour)),
            ("openrouter", "https://openrouter.ai/api", MESSAGES, "anthropic/claude-opus-4.6", Some(Hour)),
            ("custom", PROXY, MESSAGES, "qwen3-max", None),
            ("custom", "https://anthropic.com.example/v1", MESSAGES, "qwen3-max", None),
            ("kimi-coding", "https://api.moonshot.ai/anthropic", MESSAGES, "kimi-k2.5", None),
            ("minimax", "https://api.minimax.io/anthropic", MESSAGES, "MiniMax-M3", Some(FiveMinutes)),
            ("minimax-cn", "https://api.minimaxi.com/anthropic", MESSAGES, "MiniMax-M3", Some(FiveMinutes)),
            ("custom", "https://api.minimax.io/anthropic", MESSAGES, "any", Some(FiveMinutes)),
            ("minimax", "https://api.minimax.io/v1", CHAT, "MiniMax-M3", None),
            ("openrouter", "https://openrouter.ai/api/v1", CHAT, "anthropic/claude-opus-4.6", Some(Hour)),
            ("openrouter", PROXY, CHAT, "claude-opus-4.6", Some(Hour)),
            ("custom", "https://openrouter.ai/api/v1", CHAT, "anthropic/claude-opus-4.6", Some(Hour)),
            ("openrouter", "https://openrouter.ai/api/v1", CHAT, "moonshotai/kimi-k2.5", Some(FiveMinutes)),
            ("openrouter", "https://openrouter.ai/api/v1", CHAT, "moonshotai/any", Some(FiveMinutes)),
            ("openrouter", "https://openrouter.ai/api/v1", CHAT, "qwen/qwen3-coder", None),
            ("openrouter", "https://openrouter.ai/api/v1", CHAT, "openai/gpt-5.4", None),
            ("nous", "https://inference-api.nousresearch.com/v1", CHAT, "anthropic/claude-opus-4.6", Some(Hour)),
            ("nous", "https://inference-api.nousresearch.com/v1", CHAT, "moonshotai/kimi-k2.5", Some(FiveMinutes)),
            ("nous", "https://inference-api.nousresearch.com/v1", CHAT, "qwen/qwen3-coder", Some(FiveMinutes)),
            ("nous", "https://inference-api.nousresearch.com/v1", CHAT, "nousresearch/hermes-4-405b", None),
            ("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", CHAT, "qwen3-max", Some(FiveMinutes)),
            ("alibaba", "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", CHAT, "glm-5", None),
            ("opencode-zen", "https://opencode.ai/zen/v1", CHAT, "qwen3-coder", Some(FiveMinutes)),
            ("opencode-go", "https://opencode.ai/zen/go/v1", CHAT, "qwen3.5-plus", Some(FiveMinutes)),
            ("opencode-go", "https://opencode.ai/zen/go/v1", CHAT, "glm-5.2", None),
            ("openai-api", "https://api.openai.com/v1", CHAT, "gpt-4.1", None),
            ("custom", PROXY, CHAT, "claude-opus-4-6", None),
            ("openai-api", "https://api.openai.com/v1", ApiMode::CodexResponses, "gpt-5.4", None),
            ("openrouter", "https://openrouter.ai/api/v1", ApiMode::CodexResponses, "anthropic/claude-opus-4.6", None),
        ];
        for (id, base_url, mode, model, expected) in table {
            let provider = provider::Provider::find(id).expect(id);
            let base_url = base_url.parse().expect("a URL");
            let target = Target { provider, base_url, login: Login::ApiKey, extra_body: Object::new(), cache: None };
            assert_eq!(policy(&target, mode, model), expected, "{id} {mode} {model}");
        }
    }
}
