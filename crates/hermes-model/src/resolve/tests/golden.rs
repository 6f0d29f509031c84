//! The golden vectors: configuration, environment and request in; provider, protocol, endpoint, key and source out.

use super::*;
use crate::auth::Renewal;
use serde_json::json;

const CHAT: ApiMode = ApiMode::ChatCompletions;
const RESPONSES: ApiMode = ApiMode::CodexResponses;
const MESSAGES: ApiMode = ApiMode::AnthropicMessages;

/// One row: what the person has and asks, and what should come of it.
struct Vector {
    name: &'static str,
    settings: Value,
    dotenv: &'static [(&'static str, &'static str)],
    env: &'static [(&'static str, &'static str)],
    ask: Ask,
    stored: Vec<StoredCredential>,
    expected: Result<Expected, &'static str>,
}

#[derive(Debug, PartialEq)]
struct Expected {
    provider: &'static str,
    mode: ApiMode,
    base_url: &'static str,
    key: Option<&'static str>,
    source: &'static str,
}

fn vector(name: &'static str, settings: Value, env: &'static [(&'static str, &'static str)], ask: Ask) -> Vector {
    Vector { name, settings, dotenv: &[], env, ask, stored: Vec::new(), expected: Err("nothing expected") }
}

impl Vector {
    fn gives(
        mut self,
        provider: &'static str,
        mode: ApiMode,
        base_url: &'static str,
        key: Option<&'static str>,
        source: &'static str,
    ) -> Self {
        self.expected = Ok(Expected { provider, mode, base_url, key, source });
        self
    }

    fn fails(mut self, code: &'static str) -> Self {
        self.expected = Err(code);
        self
    }

    fn with_login(mut self, row: StoredCredential) -> Self {
        self.stored.push(row);
        self
    }

    fn check(self) {
        let (config, _) = ModelConfig::parse(&self.settings);
        let stored = Stored { rows: self.stored, ..Stored::default() };
        let env = env(self.dotenv, self.env);
        let outcome =
            resolve(&self.ask, &Known { config: &config, env: &env, stored: &stored, almanac: Almanac::blank() });
        let seen = outcome.as_ref().map_err(ResolveError::code).map(|runtime| {
            let name = runtime.name.clone();
            let url = runtime.base_url.to_string();
            (name, runtime.api_mode, url, key_of(runtime), runtime.credential.source.to_string())
        });
        let expected = self.expected.map(|expected| {
            let key = expected.key.map(str::to_owned);
            (expected.provider.to_owned(), expected.mode, expected.base_url.to_owned(), key, expected.source.to_owned())
        });
        assert_eq!(seen, expected, "{}", self.name);
    }
}

fn explicit(base_url: &str, key: &str) -> Ask {
    Ask { base_url: Some(base_url.into()), api_key: Some(secret(key)), ..ask("", "m") }
}

fn custom(base_url: &str) -> Value {
    json!({"model": {"provider": "custom", "base_url": base_url, "default": "m"}})
}

fn golden_vectors() -> Vec<Vector> {
    let none = || json!({});
    let claude_code = || login("anthropic", "claude_code", "sk-ant-oat-file", Some(Renewal::ClaudeCode));
    vec![
        vector("1 an OpenRouter key alone", none(), &[("OPENROUTER_API_KEY", "sk-or-1")], ask("", ""))
            .gives("openrouter", CHAT, "https://openrouter.ai/api/v1", Some("sk-or-1"), "env:OPENROUTER_API_KEY"),
        vector("2 an OpenAI key alone never goes to OpenRouter", none(), &[("OPENAI_API_KEY", "sk-oai")], ask("", ""))
            .gives("openai-api", RESPONSES, "https://api.openai.com/v1", Some("sk-oai"), "env:OPENAI_API_KEY"),
        vector(
            "3 a local server gets no cloud key",
            custom("http://127.0.0.1:8080/v1"),
            &[("OPENAI_API_KEY", "sk-oai"), ("OPENROUTER_API_KEY", "sk-or-1")],
            ask("", ""),
        )
        .gives("custom", CHAT, "http://127.0.0.1:8080/v1", None, "none"),
        vector(
            "4 a configured key beats the variable",
            json!({"model": {"provider": "custom", "base_url": "https://api.groq.com/openai/v1", "api_key": "gsk-config", "default": "m"}}),
            &[("GROQ_API_KEY", "gsk-env")],
            ask("", ""),
        )
        .gives("custom", CHAT, "https://api.groq.com/openai/v1", Some("gsk-config"), "config"),
        vector(
            "4 without it, the variable of the vendor who lives there",
            custom("https://api.groq.com/openai/v1"),
            &[("GROQ_API_KEY", "gsk-env")],
            ask("", ""),
        )
        .gives("custom", CHAT, "https://api.groq.com/openai/v1", Some("gsk-env"), "env:GROQ_API_KEY"),
        vector(
            "5 a lookalike host gets nothing",
            custom("https://api.groq.com.evil.test/v1"),
            &[("GROQ_API_KEY", "gsk-env")],
            ask("", ""),
        )
        .gives("custom", CHAT, "https://api.groq.com.evil.test/v1", None, "none"),
        vector(
            "6 a leftover endpoint does not move Anthropic",
            json!({"model": {"provider": "anthropic", "base_url": "https://openrouter.ai/api/v1"}}),
            &[("ANTHROPIC_API_KEY", "sk-ant-api-1")],
            ask("", ""),
        )
        .gives("anthropic", MESSAGES, "https://api.anthropic.com/", Some("sk-ant-api-1"), "env:ANTHROPIC_API_KEY"),
        vector("7 MiniMax", none(), &[("MINIMAX_API_KEY", "mm-key")], ask("minimax", ""))
            .gives("minimax", MESSAGES, "https://api.minimax.io/anthropic", Some("mm-key"), "env:MINIMAX_API_KEY"),
        vector("8 a Kimi coding key", none(), &[("KIMI_API_KEY", "sk-kimi-1")], ask("kimi", ""))
            .gives("kimi-coding", MESSAGES, "https://api.kimi.com/coding", Some("sk-kimi-1"), "env:KIMI_API_KEY"),
        vector("8 any other Kimi key", none(), &[("KIMI_API_KEY", "sk-moon")], ask("kimi", ""))
            .gives("kimi-coding", CHAT, "https://api.moonshot.ai/v1", Some("sk-moon"), "env:KIMI_API_KEY"),
        vector("9 Claude at OpenCode Zen", none(), &[("OPENCODE_ZEN_API_KEY", "zen-1")], ask("opencode-zen", "claude-sonnet-4-6"))
            .gives("opencode-zen", MESSAGES, "https://opencode.ai/zen", Some("zen-1"), "env:OPENCODE_ZEN_API_KEY"),
        vector("9 GPT at OpenCode Zen", none(), &[("OPENCODE_ZEN_API_KEY", "zen-1")], ask("opencode-zen", "gpt-5.4"))
            .gives("opencode-zen", RESPONSES, "https://opencode.ai/zen/v1", Some("zen-1"), "env:OPENCODE_ZEN_API_KEY"),
        vector("9 GLM at OpenCode Go", none(), &[("OPENCODE_GO_API_KEY", "go-1")], ask("opencode-go", "glm-5"))
            .gives("opencode-go", CHAT, "https://opencode.ai/zen/go/v1", Some("go-1"), "env:OPENCODE_GO_API_KEY"),
        vector(
            "10 an endpoint of the config",
            json!({"providers": {"my-proxy": {"url": "https://proxy.test/anthropic", "key_env": "MY_KEY", "default_model": "foo"}}}),
            &[("MY_KEY", "my-key-1")],
            ask("my-proxy", ""),
        )
        .gives("custom:my-proxy", MESSAGES, "https://proxy.test/anthropic", Some("my-key-1"), "env:MY_KEY"),
        vector(
            "11 an endpoint of the list",
            json!({"custom_providers": [{"name": "Local", "base_url": "http://127.0.0.1:8080/v1", "model": "qwen"}]}),
            &[],
            ask("custom:local", ""),
        )
        .gives("custom:local", CHAT, "http://127.0.0.1:8080/v1", None, "custom_provider:local"),
        vector(
            "12 an alias gives way to an endpoint of that name",
            json!({"providers": {"kimi": {"base_url": "https://mine.test/v1", "api_key": "my-kimi", "model": "k"}}}),
            &[("KIMI_API_KEY", "sk-kimi-1")],
            ask("kimi", ""),
        )
        .gives("custom:kimi", CHAT, "https://mine.test/v1", Some("my-kimi"), "custom_provider:kimi"),
        vector(
            "13 Ollama in the network",
            json!({"model": {"provider": "ollama", "base_url": "http://192.168.1.20:11434/v1", "default": "qwen3:32b"}}),
            &[("OPENROUTER_API_KEY", "sk-or-1")],
            ask("", ""),
        )
        .gives("ollama", CHAT, "http://192.168.1.20:11434/v1", None, "none"),
        vector(
            "14 switched off",
            json!({"model": {"provider": "deepseek"}, "providers": {"deepseek": {"enabled": false}}}),
            &[("DEEPSEEK_API_KEY", "ds-key")],
            ask("", ""),
        )
        .fails("disabled"),
        vector("15 no key", none(), &[], ask("deepseek", "")).fails("missing_api_key"),
        vector("16 nothing at all", none(), &[], ask("", "")).fails("no_provider_configured"),
        vector(
            "17 the config beats the environment",
            json!({"model": {"provider": "deepseek"}}),
            &[("HERMES_INFERENCE_PROVIDER", "openrouter"), ("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1")],
            ask("", ""),
        )
        .gives("deepseek", CHAT, "https://api.deepseek.com/v1", Some("ds-key"), "env:DEEPSEEK_API_KEY"),
        vector("18 an explicit endpoint is a custom one", none(), &[], explicit("http://x.test:9/v1", "sk-explicit"))
            .gives("custom", CHAT, "http://x.test:9/v1", Some("sk-explicit"), "explicit"),
        vector("19 the AI Gateway", none(), &[("AI_GATEWAY_API_KEY", "gw-1")], ask("ai-gateway", ""))
            .gives("ai-gateway", CHAT, "https://ai-gateway.vercel.sh/v1", Some("gw-1"), "env:AI_GATEWAY_API_KEY"),
        vector("20 openai", none(), &[("OPENAI_API_KEY", "sk-oai")], ask("openai", ""))
            .gives("openai-api", RESPONSES, "https://api.openai.com/v1", Some("sk-oai"), "env:OPENAI_API_KEY"),
        vector("20 qwen", none(), &[("DASHSCOPE_API_KEY", "ds-1234")], ask("qwen", ""))
            .gives("alibaba", CHAT, "https://dashscope-intl.aliyuncs.com/compatible-mode/v1", Some("ds-1234"), "env:DASHSCOPE_API_KEY"),
        vector(
            "21 a configured endpoint beats the variable",
            json!({"model": {"provider": "deepseek", "base_url": "https://config.test/v1"}}),
            &[("DEEPSEEK_BASE_URL", "https://env.test/v1"), ("DEEPSEEK_API_KEY", "ds-key")],
            ask("", ""),
        )
        .gives("deepseek", CHAT, "https://config.test/v1", Some("ds-key"), "env:DEEPSEEK_API_KEY"),
        vector(
            "22 a configured endpoint",
            json!({"model": {"provider": "deepseek", "base_url": "https://config.test/v1"}}),
            &[("DEEPSEEK_API_KEY", "ds-key")],
            ask("", ""),
        )
        .gives("deepseek", CHAT, "https://config.test/v1", Some("ds-key"), "env:DEEPSEEK_API_KEY"),
        vector(
            "23 Anthropic behind a proxy",
            none(),
            &[("ANTHROPIC_BASE_URL", "https://proxy.example/anthropic"), ("ANTHROPIC_API_KEY", "sk-ant-api-1")],
            ask("anthropic", ""),
        )
        .gives("anthropic", MESSAGES, "https://proxy.example/anthropic", Some("sk-ant-api-1"), "env:ANTHROPIC_API_KEY"),
        vector("24 a renewable login beats its copy", none(), &[("ANTHROPIC_TOKEN", "sk-ant-oat-env")], ask("anthropic", ""))
            .with_login(claude_code())
            .gives("anthropic", MESSAGES, "https://api.anthropic.com/", Some("sk-ant-oat-file"), "claude_code"),
        vector("25 an API key beats the login", none(), &[("ANTHROPIC_API_KEY", "sk-ant-api-1")], ask("anthropic", ""))
            .with_login(claude_code())
            .gives("anthropic", MESSAGES, "https://api.anthropic.com/", Some("sk-ant-api-1"), "env:ANTHROPIC_API_KEY"),
        vector("26 the login where it was asked for", json!({"model": {"provider": "anthropic"}}), &[], ask("", ""))
            .with_login(claude_code())
            .gives("anthropic", MESSAGES, "https://api.anthropic.com/", Some("sk-ant-oat-file"), "claude_code"),
        vector("26 and not where it was not", none(), &[], ask("", ""))
            .with_login(claude_code())
            .fails("no_provider_configured"),
        Vector {
            dotenv: &[("OPENROUTER_API_KEY", "sk-or-dotenv")],
            ..vector("27 .env beats the shell", none(), &[("OPENROUTER_API_KEY", "sk-or-shell")], ask("", ""))
        }
        .gives("openrouter", CHAT, "https://openrouter.ai/api/v1", Some("sk-or-dotenv"), "env:OPENROUTER_API_KEY"),
        vector(
            "28 a custom endpoint in the environment, without the key",
            none(),
            &[("OPENAI_BASE_URL", "http://10.1.1.1:8000/v1"), ("OPENAI_API_KEY", "sk-oai")],
            ask("custom", "m"),
        )
        .gives("custom", CHAT, "http://10.1.1.1:8000/v1", None, "none"),
        vector("29 CUSTOM_BASE_URL", none(), &[("CUSTOM_BASE_URL", "http://10.1.1.1:8000/v1/")], ask("custom", "m"))
            .gives("custom", CHAT, "http://10.1.1.1:8000/v1", None, "none"),
        vector("30 no endpoint anywhere", none(), &[("OPENROUTER_API_KEY", "sk-or-1")], ask("custom", "m"))
            .fails("custom_base_url_missing"),
        vector(
            "31 a mirror of OpenRouter",
            none(),
            &[("OPENROUTER_BASE_URL", "https://mirror.test/api/v1"), ("OPENROUTER_API_KEY", "sk-or-1")],
            ask("openrouter", ""),
        )
        .gives("openrouter", CHAT, "https://mirror.test/api/v1", Some("sk-or-1"), "env:OPENROUTER_API_KEY"),
    ]
}

#[test]
fn golden_vectors_come_out_as_written() {
    for vector in golden_vectors() {
        vector.check();
    }
}

/// Beyond the vectors: cases people meet.
#[test]
fn everyday_machines_resolve() {
    let none = || json!({});
    let rows = [
        vector(
            "a vendor's key is not sent in the clear",
            json!({"model": {"provider": "openrouter", "base_url": "http://192.0.2.2:4711/v1"}}),
            &[("OPENROUTER_API_KEY", "sk-or-1")],
            ask("", "m"),
        )
        .fails("refused_credential"),
        vector(
            "a key for Anthropic's protocol on a server at home",
            json!({"model": {"provider": "anthropic", "base_url": "http://127.0.0.1:4710", "api_key": "sk-home-1"}}),
            &[],
            ask("", "m1"),
        )
        .gives("anthropic", MESSAGES, "http://127.0.0.1:4710/", Some("sk-home-1"), "config"),
        vector(
            "OpenAI's own pair of variables is the OpenAI provider moved, in the protocol every server speaks",
            none(),
            &[("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1"), ("OPENAI_API_KEY", "sk-local")],
            ask("", "m"),
        )
        .gives("openai-api", CHAT, "http://127.0.0.1:8000/v1", Some("sk-local"), "env:OPENAI_API_KEY"),
        vector("its endpoint alone is a custom one", none(), &[("OPENAI_BASE_URL", "http://127.0.0.1:8000/v1")], ask("", "m"))
            .gives("custom", CHAT, "http://127.0.0.1:8000/v1", None, "none"),
        vector(
            "a configured endpoint without a provider is not shadowed by cloud keys",
            json!({"model": {"base_url": "http://localhost:1234/v1", "default": "m"}}),
            &[("OPENROUTER_API_KEY", "sk-or-1"), ("HERMES_INFERENCE_PROVIDER", "openrouter")],
            ask("", ""),
        )
        .gives("custom", CHAT, "http://localhost:1234/v1", None, "none"),
        vector(
            "OpenRouter's endpoint speaks for itself",
            json!({"model": {"base_url": "https://openrouter.ai/api/v1", "default": "a/b"}}),
            &[("OPENROUTER_API_KEY", "sk-or-1")],
            ask("", ""),
        )
        .gives("openrouter", CHAT, "https://openrouter.ai/api/v1", Some("sk-or-1"), "env:OPENROUTER_API_KEY"),
        vector("the opted-in key", json!({"model": {"provider": "custom", "base_url": "http://10.0.0.1:1/v1", "default": "m", "allow_openai_key_for_custom": true}}), &[("OPENAI_API_KEY", "sk-oai")], ask("", ""))
            .gives("custom", CHAT, "http://10.0.0.1:1/v1", Some("sk-oai"), "env:OPENAI_API_KEY"),
        vector("a local server by its usual name and address", none(), &[], ask("ollama", "qwen3:32b"))
            .gives("ollama", CHAT, "http://127.0.0.1:11434/v1", None, "none"),
        vector("moved the way its own tools move it", none(), &[("OLLAMA_HOST", "box")], ask("ollama", "qwen3:32b"))
            .gives("ollama", CHAT, "http://box:11434/v1", None, "none"),
        vector("a built-in provider with settings of its own", json!({"providers": {"groq": {"base_url": "https://gateway.corp/groq/v1", "key_env": "CORP_KEY"}}}), &[("CORP_KEY", "corp-1"), ("GROQ_API_KEY", "gsk-1")], ask("groq", ""))
            .gives("groq", CHAT, "https://gateway.corp/groq/v1", Some("corp-1"), "env:CORP_KEY"),
        vector("the named variable is missing", json!({"providers": {"p": {"base_url": "http://127.0.0.1:1/v1", "key_env": "P_KEY", "model": "m"}}}), &[], ask("p", ""))
            .fails("missing_api_key"),
        vector("a saved Responses mode on a chat server", json!({"model": {"provider": "custom", "base_url": "http://127.0.0.1:1/v1", "default": "m", "api_mode": "codex_responses"}}), &[], ask("", ""))
            .gives("custom", CHAT, "http://127.0.0.1:1/v1", None, "none"),
        vector("Codex needs a login", none(), &[("OPENAI_API_KEY", "sk-oai")], ask("codex", "")).fails("missing_login"),
        vector("Codex with one", none(), &[], ask("codex", ""))
            .with_login(login("openai-codex", "device_code", "eyJ-codex", Some(Renewal::Codex)))
            .gives("openai-codex", RESPONSES, "https://chatgpt.com/backend-api/codex", Some("eyJ-codex"), "device_code"),
        vector("a provider in the suggested model's name", none(), &[("HERMES_MODEL", "deepseek:deepseek-chat"), ("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1")], ask("", ""))
            .gives("deepseek", CHAT, "https://api.deepseek.com/v1", Some("ds-key"), "env:DEEPSEEK_API_KEY"),
        vector("a provider that is a program", none(), &[], ask("copilot-acp", ""))
            .gives("copilot-acp", CHAT, "acp://copilot", None, "none"),
        vector("GitHub's classic tokens", none(), &[("GH_TOKEN", "ghp_classic")], ask("copilot", "")).fails("refused_credential"),
        vector("the next token is tried", none(), &[("GH_TOKEN", "ghp_classic"), ("GITHUB_TOKEN", "github_pat_1")], ask("copilot", "gpt-5.4"))
            .gives("copilot", RESPONSES, "https://api.githubcopilot.com/", Some("github_pat_1"), "env:GITHUB_TOKEN"),
        vector("a variable of another program is no wish", none(), &[("CLAUDE_CODE_OAUTH_TOKEN", "sk-ant-oat-1")], ask("", ""))
            .fails("no_provider_configured"),
        vector("Claude on Azure takes no subscription", none(), &[("ANTHROPIC_BASE_URL", "https://me.services.ai.azure.com/anthropic"), ("ANTHROPIC_TOKEN", "sk-ant-oat-1"), ("AZURE_ANTHROPIC_KEY", "azure-1")], ask("anthropic", ""))
            .gives("anthropic", MESSAGES, "https://me.services.ai.azure.com/anthropic", Some("azure-1"), "env:AZURE_ANTHROPIC_KEY"),
        vector("an endpoint with a password in it", custom("https://user:pw@proxy.test/v1"), &[], ask("", "")).fails("invalid_base_url"),
        vector("an endpoint without a scheme", custom("localhost:8080/v1"), &[], ask("", "")).fails("invalid_base_url"),
        vector("an endpoint nobody defined", none(), &[], ask("custom:nobody", "")).fails("unknown_provider"),
        vector("a server without a model", json!({"model": {"provider": "custom", "base_url": "http://127.0.0.1:1/v1"}}), &[], ask("", "")).fails("no_model"),
        vector("a provider in the model's name", none(), &[("DEEPSEEK_API_KEY", "ds-key"), ("OPENROUTER_API_KEY", "sk-or-1")], ask("", "deepseek:deepseek-chat"))
            .gives("deepseek", CHAT, "https://api.deepseek.com/v1", Some("ds-key"), "env:DEEPSEEK_API_KEY"),
    ];
    for row in rows {
        row.check();
    }
}
