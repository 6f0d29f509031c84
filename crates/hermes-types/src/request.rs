//! What is asked of a model: the whole of it, independent of any wire protocol.

use crate::{Message, SessionId};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// One question to one model. Messages are shared, so that asking again costs no copy of the history.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Request {
    pub model: String,
    /// A system message first, where there is one.
    pub messages: Vec<Arc<Message>>,
    /// In a fixed order; the bytes of the tools open every request.
    pub tools: Arc<[ToolDefinition]>,
    pub tool_choice: ToolChoice,
    /// `None` leaves the choice to the provider's default.
    pub reasoning: Option<Reasoning>,
    pub max_output_tokens: Option<u32>,
    pub temperature: Option<f64>,
    pub service_tier: Option<String>,
    /// Names the conversation to providers that route or cache by it.
    pub session: Option<SessionId>,
    /// What this request leaves out because the provider refused it before.
    pub concessions: BTreeSet<Concession>,
}

impl Request {
    pub fn new(model: impl Into<String>, messages: impl IntoIterator<Item = Message>) -> Self {
        Self { model: model.into(), messages: messages.into_iter().map(Arc::new).collect(), ..Self::default() }
    }

    pub fn concedes(&self, concession: Concession) -> bool {
        self.concessions.contains(&concession)
    }
}

/// A tool as the model sees it. `parameters` is a JSON Schema whose bytes do not move between requests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolDefinition {
    pub name: String,
    pub description: String,
    pub parameters: Value,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ToolChoice {
    #[default]
    Auto,
    Required,
    Forbidden,
    Named(String),
}

/// How hard the model should think, as the person set it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    Off,
    /// On, at the provider's own default effort.
    On,
    Effort(Effort),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
    Max,
    Ultra,
}

impl Effort {
    pub const ALL: [Self; 7] =
        [Self::Minimal, Self::Low, Self::Medium, Self::High, Self::XHigh, Self::Max, Self::Ultra];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
            Self::Max => "max",
            Self::Ultra => "ultra",
        }
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Reasoning {
    /// The word that [`FromStr`] reads as this.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Effort(effort) => effort.as_str(),
        }
    }

    pub fn effort(self) -> Option<Effort> {
        match self {
            Self::Effort(effort) => Some(effort),
            Self::Off | Self::On => None,
        }
    }
}

impl FromStr for Reasoning {
    type Err = String;

    /// The words of `agent.reasoning_effort`: an effort, `none`/`off`/`false`, or `on`/`true`.
    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let word = word.trim().to_ascii_lowercase();
        match word.as_str() {
            "none" | "off" | "false" => return Ok(Self::Off),
            "on" | "true" => return Ok(Self::On),
            _ => {}
        }
        let known = Effort::ALL.into_iter().find(|effort| effort.as_str() == word);
        known.map(Self::Effort).ok_or_else(|| {
            format!("`{word}` is not a reasoning effort; use none, minimal, low, medium, high, xhigh, max or ultra")
        })
    }
}

/// Something a provider refused and we can do without. Each is conceded at most once per call, so recovery ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Concession {
    /// Signed thinking blocks (`reasoning_details`, ordered Anthropic blocks).
    Signatures,
    /// Encrypted reasoning items of the Responses API.
    EncryptedReasoning,
    /// `pattern` and `format` in tool schemas (grammar builders choke on them).
    SchemaPatterns,
    /// List content in tool results.
    ToolResultParts,
    /// Images anywhere.
    Images,
    Temperature,
    MaxTokens,
    /// The long-context beta header.
    LongContext,
    /// `stream_options`.
    StreamOptions,
    /// The reasoning or thinking setting.
    ReasoningEffort,
    /// What asks a provider to keep the prompt: markers in it, and the name of how it begins.
    CacheHints,
}

impl Concession {
    /// Every concession, in the order of their declaration.
    pub const ALL: [Self; 11] = [
        Self::Signatures,
        Self::EncryptedReasoning,
        Self::SchemaPatterns,
        Self::ToolResultParts,
        Self::Images,
        Self::Temperature,
        Self::MaxTokens,
        Self::LongContext,
        Self::StreamOptions,
        Self::ReasoningEffort,
        Self::CacheHints,
    ];
}
