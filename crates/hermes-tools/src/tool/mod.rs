//! What a tool is: a card that says who it is, a struct of arguments, the effects a call would have, and the call itself.
//!
//! A tool is one file. It names everything a call would touch in [`Tool::effects`] before anything happens; the gate
//! judges exactly that and hands out a [`Permit`], without which [`Tool::call`] cannot be called. What a tool returns is
//! for the model; only [`ToolError::Abort`] ends the turn.

#[cfg(test)]
pub(crate) mod fields;

use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::{Permit, Refused};
use futures_util::future::BoxFuture;
use hermes_types::{Content, Object, Part};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// The longest a call may take where a tool knows no limit of its own.
const CALL_LIMIT: Duration = Duration::from_secs(420);

/// Who a tool is.
#[derive(Debug, Clone, PartialEq)]
pub struct Card {
    pub name: Cow<'static, str>,
    /// The set that owns it; those of MCP servers begin with `mcp-`.
    pub toolset: Cow<'static, str>,
    /// For the model.
    pub description: String,
    /// For progress lines.
    pub emoji: &'static str,
    /// JSON Schema of the arguments.
    pub parameters: Value,
    /// Variables it needs, for people who set it up; they never decide whether it is offered.
    pub requires_env: Vec<String>,
    pub result_cap: ResultCap,
    pub source: Source,
    pub repeats: Repeats,
}

/// Above how many characters a result is written to a file and only its beginning is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ResultCap {
    #[default]
    Usual,
    Chars(usize),
    /// The tool caps itself; a file for its result would only be read by the same tool again.
    Own,
}

/// Whose words a result holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Source {
    #[default]
    Machine,
    /// Pages, mails, other servers: data that may pretend to be instructions. The model sees it in a frame.
    Strangers,
}

/// Whether the same call again can bring anything new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Repeats {
    #[default]
    MayDiffer,
    /// A read: the same question has the same answer while nothing else happens.
    Idempotent,
}

impl Card {
    pub fn new(name: &'static str, toolset: &'static str, description: &str, parameters: Value) -> Self {
        Self {
            name: name.into(),
            toolset: toolset.into(),
            description: description.to_owned(),
            emoji: "⚙️",
            parameters,
            requires_env: Vec::new(),
            result_cap: ResultCap::default(),
            source: Source::default(),
            repeats: Repeats::default(),
        }
    }
}

/// Whether a tool can be offered now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Availability {
    Ready,
    /// Why not, and what would help.
    Missing(String),
}

/// A probe of the world that one or several tools depend on. Must be quick.
pub struct Check(Box<dyn Fn() -> Availability + Send + Sync>);

impl Check {
    pub fn new(probe: impl Fn() -> Availability + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self(Box::new(probe)))
    }

    /// A probe that panics found nothing.
    pub(crate) fn ask(&self) -> Availability {
        let probed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| (self.0)()));
        probed.unwrap_or_else(|_| Availability::Missing("its check failed".to_owned()))
    }
}

/// What the model sees of a tool once it is known which others it sees.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    pub description: String,
    pub parameters: Value,
}

/// Something the model can call. Adding one is one file and one line in `builtin.rs`.
pub trait Tool: Send + Sync + 'static {
    type Args: DeserializeOwned + Send + 'static;

    fn card(&self) -> Card;

    /// Whether it can be offered here; `None` is always. Tools that hold the same check are asked once.
    fn check(&self) -> Option<Arc<Check>> {
        None
    }

    /// Changes what the model reads, for tools that speak of others or of limits. `offered` are the names it will see.
    fn adapt(&self, _look: &mut Look, _offered: &BTreeSet<String>) {}

    /// Everything this call would touch, from its arguments alone. A refusal here costs nothing.
    fn effects(&self, args: &Self::Args, cx: &Cx) -> Result<Effects, ToolError>;

    /// The longest this call may take. A tool that has a limit of its own answers with a little more than that.
    fn limit(&self, _args: &Self::Args) -> Option<Duration> {
        Some(CALL_LIMIT)
    }

    /// What the model is told when the gate refused.
    fn refused(&self, refused: &Refused) -> Value {
        json!({ "error": refused.message, "status": "blocked" })
    }

    /// What a person is told of a result besides that there is one.
    fn afterword(&self, _result: &str) -> Afterword {
        Afterword::default()
    }

    fn call(&self, args: Self::Args, permit: Permit, cx: &Cx)
    -> impl Future<Output = Result<Output, ToolError>> + Send;
}

/// A few words for the person beside the mark of a call that ended.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Afterword {
    /// What a command ended with, unless that is 0.
    pub exit_code: Option<i64>,
    pub note: Option<String>,
}

/// What a call gave.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// JSON as text, with its fields in the order of the tool.
    Text(String),
    /// Text and pictures. `summary` goes along with them, and is all that arrives where pictures cannot go.
    Parts { parts: Vec<Part>, summary: String },
}

impl Output {
    /// The JSON text of a value.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        serde_json::to_string(value).map(Self::Text).map_err(|error| ToolError::told(format!("the result: {error}")))
    }

    pub fn into_content(self) -> Content {
        match self {
            Self::Text(text) => Content::Text(text),
            Self::Parts { parts, summary } => {
                let is_said = summary.trim().is_empty() || parts.iter().any(|part| part.text() == Some(&summary));
                let summary = (!is_said).then(|| Part::of_text(summary));
                Content::Parts(summary.into_iter().chain(parts).collect())
            }
        }
    }
}

/// Why a call gave nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum ToolError {
    /// The model is told and goes on. A JSON object with at least `error` in it.
    Tell(Value),
    /// The same, and nobody knows what the call did before it failed.
    Unknown(Value),
    /// The turn cannot go on.
    Abort(String),
}

impl ToolError {
    /// `{"error": message}`.
    pub fn told(message: impl Into<String>) -> Self {
        Self::Tell(json!({ "error": message.into() }))
    }
}

impl fmt::Display for ToolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tell(value) | Self::Unknown(value) => match value.get("error").and_then(Value::as_str) {
                Some(message) => f.write_str(message),
                None => value.fmt(f),
            },
            Self::Abort(message) => f.write_str(message),
        }
    }
}

/// Any tool, with its arguments still as JSON.
pub(crate) trait AnyTool: Send + Sync {
    fn refused(&self, refused: &Refused) -> Value;
    fn afterword(&self, result: &str) -> Afterword;
    fn adapt(&self, look: &mut Look, offered: &BTreeSet<String>);
    fn prepare(self: Arc<Self>, arguments: Object, cx: &Cx) -> Result<Prepared, ToolError>;
    /// What the struct of arguments reads.
    #[cfg(test)]
    fn fields(&self) -> Option<BTreeSet<&'static str>>;
}

/// The call itself, still to be made.
type Work = Box<dyn FnOnce(Permit, Cx) -> BoxFuture<'static, Result<Output, ToolError>> + Send>;

/// A call that was read and is ready to run once it is permitted.
pub(crate) struct Prepared {
    pub(crate) effects: Effects,
    pub(crate) limit: Option<Duration>,
    pub(crate) run: Work,
}

impl<T: Tool> AnyTool for T {
    fn refused(&self, refused: &Refused) -> Value {
        Tool::refused(self, refused)
    }

    fn afterword(&self, result: &str) -> Afterword {
        Tool::afterword(self, result)
    }

    fn adapt(&self, look: &mut Look, offered: &BTreeSet<String>) {
        Tool::adapt(self, look, offered);
    }

    fn prepare(self: Arc<Self>, arguments: Object, cx: &Cx) -> Result<Prepared, ToolError> {
        let args: T::Args = serde_json::from_value(Value::Object(arguments)).map_err(|error| {
            ToolError::Tell(json!({"error": "Invalid tool arguments", "message": error.to_string()}))
        })?;
        let effects = self.effects(&args, cx)?;
        let limit = self.limit(&args);
        let run = Box::new(move |permit: Permit, cx: Cx| -> BoxFuture<'static, Result<Output, ToolError>> {
            Box::pin(async move { self.call(args, permit, &cx).await })
        });
        Ok(Prepared { effects, limit, run })
    }

    #[cfg(test)]
    fn fields(&self) -> Option<BTreeSet<&'static str>> {
        fields::fields_of::<T::Args>()
    }
}
