//! Providers as data: one row each in [`table`]. A new OpenAI-compatible vendor is one row and no code.

pub mod table;

use crate::wire::ApiMode;

/// Everything the program knows about a vendor before it has seen any setting.
#[derive(Debug, Clone, PartialEq)]
pub struct Provider {
    pub id: &'static str,
    pub aliases: &'static [&'static str],
    pub label: &'static str,
    /// Environment variables that may hold the key, best first.
    pub key_env: &'static [&'static str],
    /// Environment variables that may move the endpoint, best first.
    pub base_env: &'static [&'static str],
    /// Empty when the person has to name the endpoint.
    pub base_url: &'static str,
    /// Hosts besides that of `base_url` that the keys of this vendor may be sent to.
    pub key_hosts: &'static [&'static str],
    pub mode: ModeRule,
    pub auth: AuthKind,
    /// A small model for auxiliary work; `None` means the main model.
    pub aux_model: Option<&'static str>,
    pub reasoning: ReasoningStyle,
    pub quirks: &'static [Quirk],
    pub names: NameRule,
    /// Sent when nobody asked for another cap.
    pub max_tokens: Option<u32>,
    /// Where a person gets a key.
    pub keys_page: &'static str,
    /// Offered first by `hermes model`; curated, best first.
    pub models: &'static [&'static str],
}

/// Which protocol an endpoint speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModeRule {
    Always(ApiMode),
    /// Decided by the model's name (see [`table`]).
    Copilot,
    OpencodeZen,
    OpencodeGo,
    Azure,
    Kimi,
    /// By the URL, else chat completions.
    ByUrl,
}

/// How one gets in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AuthKind {
    ApiKey,
    /// A key is used when there is one (local servers).
    OptionalKey,
    /// An API key or a subscription login.
    Anthropic,
    CodexOAuth,
    NousOAuth,
    CopilotToken,
    /// The vendor's own program is started (Copilot ACP).
    ExternalProcess,
}

/// How the reasoning setting is written into a chat completions body. Responses and Messages have their own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningStyle {
    /// The vendor has no such setting.
    Unsupported,
    /// `reasoning_effort` with OpenAI's words.
    Effort,
    OpenRouter,
    AiGateway,
    Nous,
    Copilot,
    DeepSeek,
    Zai,
    Kimi,
    OpencodeGo,
    /// `reasoning_effort`, and `think: false` to switch it off: what local servers understand.
    Custom,
    LmStudio,
    Gemini,
    MiniMax,
}

/// What a vendor does differently from everyone else. Each is read in exactly one place of an encoder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// Names the program to the vendor (`HTTP-Referer`, `X-Title`).
    Attribution,
    /// `session_id` in the body.
    SessionInBody,
    /// Assistant messages must carry `reasoning_content` back.
    EchoReasoning,
    /// Temperature is refused.
    NoTemperature,
    /// Tool schemas must pass Moonshot's stricter rules.
    MoonshotSchemas,
    /// Tool results must be plain text.
    TextToolResults,
    /// `max_output_tokens` is refused.
    NoMaxTokens,
    /// Model ids are lower-case.
    LowercaseModel,
    /// The key travels as a bearer on the Anthropic protocol too.
    BearerOnMessages,
    /// `tags` in the body name product and conversation.
    NousTags,
    /// Marks whether a person or the agent started the request.
    CopilotHeaders,
    /// Extra billing header.
    NvidiaOrigin,
}

/// How the vendor wants models named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// As the person wrote it.
    Verbatim,
    /// `vendor/model`; a bare name gets its vendor.
    Aggregator,
    /// A prefix naming this vendor is dropped.
    StripOwn,
    /// Any `vendor/` prefix is dropped.
    StripAny,
    /// Dropped prefix, and dots in `claude-` names become hyphens.
    Anthropic,
    DeepSeek,
}

/// What most compatible vendors are; rows start from it.
pub const COMPATIBLE: Provider = Provider {
    id: "",
    aliases: &[],
    label: "",
    key_env: &[],
    base_env: &[],
    base_url: "",
    key_hosts: &[],
    mode: ModeRule::Always(ApiMode::ChatCompletions),
    auth: AuthKind::ApiKey,
    aux_model: None,
    reasoning: ReasoningStyle::Unsupported,
    quirks: &[],
    names: NameRule::Verbatim,
    max_tokens: None,
    keys_page: "",
    models: &[],
};

impl Provider {
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// The row whose id or alias this is.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.trim().to_ascii_lowercase();
        table::PROVIDERS
            .iter()
            .find(|row| row.id == name)
            .or_else(|| table::PROVIDERS.iter().find(|row| row.aliases.contains(&name.as_str())))
    }
}
