//! Providers as data: one row each in [`table`]. A new OpenAI-compatible vendor is one row and no code.
//!
//! A row says who the vendor is, where its keys may go, which protocol it speaks and what it does differently. The rules
//! that need a model's name or a URL are pure functions beside the table: [`mode`] chooses the protocol, [`names`] writes
//! the model as the vendor wants it, [`context`] knows the limits of model families, [`effort`] their words for thinking,
//! [`prices`] and [`tariff`] what they charge, and [`almanac`] what endpoints say themselves.

pub mod almanac;
pub mod context;
pub mod effort;
pub mod mode;
pub mod names;
pub mod prices;
pub mod table;
pub mod tariff;

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
    pub charges: Charges,
    /// A small model for auxiliary work; `None` means the main model.
    pub aux_model: Option<&'static str>,
    pub reasoning: ReasoningStyle,
    pub quirks: &'static [Quirk],
    pub names: NameRule,
    /// Sent with every request to this vendor; nothing in here is secret.
    pub headers: &'static [(&'static str, &'static str)],
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
    /// Decided by the model's name (see [`mode`]).
    Copilot,
    OpencodeZen,
    OpencodeGo,
    Azure,
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

/// How a vendor is paid, before any catalogue or setting says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charges {
    /// Nobody here knows: an aggregator with a catalogue, a server at home, a vendor whose prices are not on the list.
    Unlisted,
    /// By the token, as this vendor's part of the [`prices`] says.
    Listed(&'static str),
    /// By the month; a call costs nothing more.
    Subscription,
}

/// How the reasoning setting is written into a chat completions body. Responses and Messages have their own rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReasoningStyle {
    /// The vendor has no such setting.
    Unsupported,
    /// `reasoning_effort` with OpenAI's words, for the model families that take it.
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
    OllamaCloud,
    Gemini,
    MiniMax,
    Tokenhub,
    Upstage,
}

/// What a vendor does differently from everyone else. Code asks for the difference, never for the vendor's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quirk {
    /// `session_id` in the body.
    SessionInBody,
    /// Assistant messages must carry `reasoning_content` back.
    EchoReasoning,
    /// `reasoning_details` are taken back, so that signed thinking lives on through the aggregator.
    TakesReasoningDetails,
    /// `reasoning_opaque` is taken back beside `reasoning_text`, so that sealed thinking lives on.
    TakesReasoningOpaque,
    /// A message with a field the vendor does not know is refused.
    StrictMessages,
    /// Temperature is refused.
    NoTemperature,
    /// Tool results must be plain text.
    TextToolResults,
    /// Call ids must be nine letters or digits.
    NineCharacterIds,
    /// Calls in the history must carry a thought signature.
    ThoughtSignatures,
    /// Tool schemas must keep to Google's subset.
    GoogleSchemas,
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
    /// The compatible API lies at `/v1`, whichever address of the server the person gave.
    CompatibleUnderV1,
}

/// How the vendor wants models named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NameRule {
    /// As the person wrote it.
    Verbatim,
    /// `vendor/model`; a bare name gets its vendor.
    Aggregator,
    /// The same with the vendor names of the AI Gateway.
    AiGateway,
    /// A prefix naming this vendor is dropped.
    StripOwn,
    /// Any `vendor/` prefix is dropped.
    StripAny,
    /// Any prefix is dropped, and dots in `claude-` names become hyphens.
    OpencodeZen,
    /// A prefix naming this vendor is dropped, and dots in `claude-` names become hyphens.
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
    charges: Charges::Unlisted,
    aux_model: None,
    reasoning: ReasoningStyle::Unsupported,
    quirks: &[],
    names: NameRule::Verbatim,
    headers: &[],
    max_tokens: None,
    keys_page: "",
    models: &[],
};

/// How alike a name must be to be suggested.
const LIKENESS: f64 = 0.8;
const SUGGESTIONS: usize = 3;

impl Provider {
    pub fn has(&self, quirk: Quirk) -> bool {
        self.quirks.contains(&quirk)
    }

    /// True for a server that normally runs on the person's own machine or network.
    pub fn is_self_hosted(&self) -> bool {
        self.auth == AuthKind::OptionalKey
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

/// The ids a person may have meant by a name that is no provider, likeliest first.
pub fn suggestions(name: &str) -> Vec<&'static str> {
    let name = name.trim().to_ascii_lowercase();
    let likeness = |row: &Provider| {
        let names = std::iter::once(row.id).chain(row.aliases.iter().copied());
        names.map(|known| strsim::jaro_winkler(&name, known)).fold(0.0, f64::max)
    };
    let mut ranked: Vec<(f64, &'static str)> =
        table::PROVIDERS.iter().map(|row| (likeness(row), row.id)).filter(|(score, _)| *score >= LIKENESS).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
    ranked.into_iter().take(SUGGESTIONS).map(|(_, id)| id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_finds_its_row_and_a_slip_finds_a_suggestion() {
        let id_of = |name: &str| Provider::find(name).map(|row| row.id);
        let table = [
            ("openrouter", "openrouter"),
            ("  OpenAI ", "openai-api"),
            ("qwen", "alibaba"),
            ("kimi", "kimi-coding"),
            ("local", "custom"),
            ("llama.cpp", "llamacpp"),
            ("ollama", "ollama"),
            ("vercel", "ai-gateway"),
            ("z.ai", "zai"),
        ];
        for (name, id) in table {
            assert_eq!(id_of(name), Some(id), "{name}");
        }
        assert_eq!(id_of("opnrouter"), None);
        assert_eq!(suggestions("opnrouter").first(), Some(&"openrouter"));
        assert_eq!(suggestions("antropic").first(), Some(&"anthropic"));
        assert_eq!(suggestions("zzzz"), Vec::<&str>::new());
    }
}
