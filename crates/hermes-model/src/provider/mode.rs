//! Which protocol an endpoint speaks, and at which address it speaks it.
//!
//! Pure functions of row, URL and model name. The order is fixed: what the person configured (decided before these are
//! asked), the rule of the row, the URL, and chat completions when nothing says otherwise.

use super::names::bare;
use super::{ModeRule, Provider, Quirk};
use crate::secret::host_matches;
use crate::wire::ApiMode;
use url::Url;

const OPENCODE_HOST: &str = "opencode.ai";
const KIMI_CODING_HOST: &str = "api.kimi.com";
const GEMINI_HOST: &str = "generativelanguage.googleapis.com";
const MINIMAX_HOSTS: [&str; 2] = ["minimax.io", "minimaxi.com"];

/// The protocol for this model at this endpoint.
pub fn api_mode(provider: &Provider, base_url: &Url, model: &str) -> ApiMode {
    let model = bare(model).to_ascii_lowercase();
    let ruled = match provider.mode {
        ModeRule::Always(mode) => Some(mode),
        ModeRule::Copilot => speaks_responses_at_copilot(&model).then_some(ApiMode::CodexResponses),
        ModeRule::OpencodeZen if starts(&model, &["gpt-"]) => Some(ApiMode::CodexResponses),
        ModeRule::OpencodeZen if starts(&model, &["claude-", "qwen"]) => Some(ApiMode::AnthropicMessages),
        ModeRule::OpencodeGo if starts(&model, &["minimax-", "qwen"]) => Some(ApiMode::AnthropicMessages),
        ModeRule::Azure => by_url(base_url)
            .or_else(|| starts(&model, &["codex", "gpt-5", "o1", "o3", "o4"]).then_some(ApiMode::CodexResponses)),
        ModeRule::OpencodeZen | ModeRule::OpencodeGo => Some(ApiMode::ChatCompletions),
        ModeRule::ByUrl => None,
    };
    ruled.or_else(|| by_url(base_url)).unwrap_or(ApiMode::ChatCompletions)
}

/// What the address alone tells.
pub fn by_url(url: &Url) -> Option<ApiMode> {
    let path = url.path().trim_end_matches('/');
    if host_matches(url, "api.x.ai") || host_matches(url, "api.openai.com") {
        return Some(ApiMode::CodexResponses);
    }
    let anthropic = host_matches(url, "api.anthropic.com")
        || path.ends_with("/anthropic")
        || path.ends_with("/anthropic/v1")
        || (host_matches(url, KIMI_CODING_HOST) && path.contains("/coding"));
    anthropic.then_some(ApiMode::AnthropicMessages)
}

/// GPT 5 and later answer there in Responses only, but for the small one.
fn speaks_responses_at_copilot(model: &str) -> bool {
    let Some(version) = model.strip_prefix("gpt-") else { return false };
    let major: String = version.chars().take_while(char::is_ascii_digit).collect();
    major.parse::<u32>().is_ok_and(|major| major >= 5) && !version.starts_with("5-mini")
}

/// Reads an address as people write it. `OLLAMA_HOST` has no scheme and may lack a port; `0.0.0.0` is where a server
/// listens, not where one can call it.
pub fn read_base_url(provider: &Provider, text: &str) -> Result<Url, url::ParseError> {
    let text = text.trim();
    if text.contains("://") {
        return Url::parse(text);
    }
    let mut url = Url::parse(&format!("http://{text}"))?;
    if url.host_str() == Some("0.0.0.0") {
        url.set_host(Some("127.0.0.1"))?;
    }
    if url.port().is_none()
        && let Some(port) = Url::parse(provider.base_url).ok().and_then(|usual| usual.port())
    {
        // Refused only for URLs that cannot have a port, and `http` can.
        let _ = url.set_port(Some(port));
    }
    Ok(url)
}

/// The address under which the endpoint speaks `mode`. Asking twice changes nothing.
pub fn settle(provider: &Provider, mode: ApiMode, mut url: Url) -> Url {
    let path = url.path().trim_end_matches('/').to_owned();
    let settled = match mode {
        ApiMode::AnthropicMessages => cut(&path, "/v1").to_owned(),
        _ if provider.has(Quirk::CompatibleUnderV1) => {
            let root = cut(cut(&path, "/v1"), "/api");
            format!("{root}/v1")
        }
        _ if host_matches(&url, OPENCODE_HOST) => with_end(&path, "/v1"),
        _ if host_matches(&url, KIMI_CODING_HOST) && path.ends_with("/coding") => with_end(&path, "/v1"),
        _ if host_matches(&url, GEMINI_HOST) => {
            let versioned = if path.is_empty() { "/v1beta" } else { path.as_str() };
            with_end(versioned, "/openai")
        }
        _ if MINIMAX_HOSTS.iter().any(|host| host_matches(&url, host)) => {
            with_end(cut(cut(&path, "/v1"), "/anthropic"), "/v1")
        }
        _ => path,
    };
    url.set_path(&settled);
    url
}

fn starts(model: &str, prefixes: &[&str]) -> bool {
    prefixes.iter().any(|prefix| model.starts_with(prefix))
}

fn cut<'a>(path: &'a str, end: &str) -> &'a str {
    path.strip_suffix(end).unwrap_or(path)
}

fn with_end(path: &str, end: &str) -> String {
    if path.ends_with(end) { path.to_owned() } else { format!("{path}{end}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str) -> &'static Provider {
        Provider::find(id).expect(id)
    }

    fn url(text: &str) -> Url {
        Url::parse(text).expect(text)
    }

    #[test]
    fn the_model_decides_where_the_vendor_serves_several_protocols() {
        use ApiMode::{AnthropicMessages as Messages, ChatCompletions as Chat, CodexResponses as Responses};
        let table = [
            ("copilot", "gpt-5.4", Responses),
            ("copilot", "gpt-5-mini", Chat),
            ("copilot", "gpt-4.1", Chat),
            ("copilot", "claude-sonnet-4.6", Chat),
            ("opencode-zen", "claude-sonnet-4-6", Messages),
            ("opencode-zen", "anthropic/claude-sonnet-4-6", Messages),
            ("opencode-zen", "gpt-5.4", Responses),
            ("opencode-zen", "glm-5", Chat),
            ("opencode-go", "minimax-m2.5", Messages),
            ("opencode-go", "glm-5", Chat),
            ("anthropic", "anything", Messages),
            ("xai", "grok-4", Responses),
            ("openai-api", "gpt-4.1", Responses),
            ("minimax", "MiniMax-M3", Messages),
            ("kimi-coding", "kimi-k2.5", Chat),
            ("ai-gateway", "anthropic/claude-sonnet-4.6", Chat),
            ("bedrock", "openai.gpt-oss-120b-1:0", Chat),
        ];
        for (id, model, mode) in table {
            assert_eq!(api_mode(row(id), &url(row(id).base_url), model), mode, "{id} {model}");
        }
        let azure = url("https://me.openai.azure.com/openai/v1");
        assert_eq!(api_mode(row("azure"), &azure, "openai/gpt-5.1"), Responses);
        assert_eq!(api_mode(row("azure"), &azure, "mistral-large"), Chat);
        assert_eq!(api_mode(row("azure"), &url("https://me.services.ai.azure.com/anthropic"), "gpt-5"), Messages);
    }

    #[test]
    fn the_address_decides_for_custom_endpoints() {
        let table = [
            ("https://api.x.ai/v1", Some(ApiMode::CodexResponses)),
            ("https://eu.api.openai.com/v1", Some(ApiMode::CodexResponses)),
            ("https://api.anthropic.com", Some(ApiMode::AnthropicMessages)),
            ("https://proxy.example/anthropic/", Some(ApiMode::AnthropicMessages)),
            ("https://proxy.example/anthropic/v1", Some(ApiMode::AnthropicMessages)),
            ("https://api.kimi.com/coding", Some(ApiMode::AnthropicMessages)),
            ("https://api.kimi.com/v1", None),
            ("https://api.openai.com.evil.test/v1", None),
            ("http://127.0.0.1:8080/v1", None),
        ];
        for (text, mode) in table {
            assert_eq!(by_url(&url(text)), mode, "{text}");
        }
        assert_eq!(api_mode(row("custom"), &url("http://10.0.0.2:8000/v1"), "m"), ApiMode::ChatCompletions);
        assert_eq!(api_mode(row("openai"), &url("http://10.0.0.2:8000/v1"), "m"), ApiMode::ChatCompletions);
    }

    #[test]
    fn addresses_settle_where_the_protocol_lives() {
        use ApiMode::{AnthropicMessages as Messages, ChatCompletions as Chat, CodexResponses as Responses};
        let table = [
            ("opencode-zen", Messages, "https://opencode.ai/zen/v1", "https://opencode.ai/zen"),
            ("opencode-zen", Responses, "https://opencode.ai/zen", "https://opencode.ai/zen/v1"),
            ("opencode-go", Chat, "https://opencode.ai/zen/go/v1/", "https://opencode.ai/zen/go/v1"),
            ("kimi", Messages, "https://api.kimi.com/coding/v1", "https://api.kimi.com/coding"),
            ("kimi", Chat, "https://api.kimi.com/coding", "https://api.kimi.com/coding/v1"),
            ("lmstudio", Chat, "http://127.0.0.1:1234/api/v1", "http://127.0.0.1:1234/v1"),
            ("lmstudio", Chat, "http://127.0.0.1:1234", "http://127.0.0.1:1234/v1"),
            ("ollama", Chat, "http://10.0.0.9:11434/api", "http://10.0.0.9:11434/v1"),
            ("gemini", Chat, "https://generativelanguage.googleapis.com", GEMINI_SETTLED),
            ("gemini", Chat, "https://generativelanguage.googleapis.com/v1beta", GEMINI_SETTLED),
            ("gemini", Chat, GEMINI_SETTLED, GEMINI_SETTLED),
            ("minimax", Messages, "https://api.minimax.io/anthropic", "https://api.minimax.io/anthropic"),
            ("minimax", Chat, "https://api.minimax.io/anthropic", "https://api.minimax.io/v1"),
            ("custom", Chat, "https://proxy.test/x/?key=1", "https://proxy.test/x?key=1"),
        ];
        for (id, mode, given, expected) in table {
            let settled = settle(row(id), mode, url(given));
            assert_eq!(settled.as_str(), expected, "{id} {given}");
            assert_eq!(settle(row(id), mode, settled.clone()), settled, "settling twice moves {given}");
        }
    }

    const GEMINI_SETTLED: &str = "https://generativelanguage.googleapis.com/v1beta/openai";

    #[test]
    fn addresses_are_read_as_people_write_them() {
        let table = [
            ("0.0.0.0", "http://127.0.0.1:11434/"),
            ("my-box", "http://my-box:11434/"),
            ("my-box:9999", "http://my-box:9999/"),
            ("https://ollama.example/v1", "https://ollama.example/v1"),
        ];
        for (text, expected) in table {
            assert_eq!(read_base_url(row("ollama"), text).map(|url| url.to_string()), Ok(expected.into()), "{text}");
        }
        assert!(read_base_url(row("ollama"), "not a host").is_err());
    }
}
