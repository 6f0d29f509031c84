//! An answer of the model, before any protocol has touched it.

use hermes_types::{StopReason, Usage};

/// What the model says, in order.
#[derive(Debug, Clone)]
pub(crate) struct Say {
    pub(crate) parts: Vec<Part>,
    pub(crate) usage: Option<Usage>,
    pub(crate) stop: Option<StopReason>,
    /// Characters per delta.
    pub(crate) chunk: usize,
    /// The model's own account of its name; the requested name by default.
    pub(crate) model: Option<String>,
    /// One JSON object instead of a stream.
    pub(crate) whole: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum Part {
    Text {
        text: String,
        phase: Option<String>,
    },
    Reasoning {
        text: String,
        seal: Seal,
    },
    /// Reasoning that only its author can read.
    Hidden(String),
    Call(Call),
}

/// The proof that reasoning is the model's own: a signature, or the encrypted original.
#[derive(Debug, Clone)]
pub(crate) enum Seal {
    /// Whatever the protocol attaches by itself.
    Usual,
    Given(String),
    None,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    /// As the model wrote them, JSON or not.
    pub(crate) arguments: String,
    /// Gemini's proof of thought, which travels with the call.
    pub(crate) thought_signature: Option<String>,
}

/// What an answer costs unless the script says otherwise.
const USUAL_USAGE: Usage =
    Usage { input: 100, output: 20, cache_read: 0, cache_write: 0, cache_write_1h: 0, reasoning: 0, cost: None };
const USUAL_CHUNK: usize = 8;

impl Default for Say {
    fn default() -> Self {
        Self { parts: Vec::new(), usage: Some(USUAL_USAGE), stop: None, chunk: USUAL_CHUNK, model: None, whole: false }
    }
}

impl Say {
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Call> {
        self.parts.iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// As told, or as it follows from what is said.
    pub(crate) fn stop_reason(&self) -> StopReason {
        let natural = if self.calls().next().is_some() { StopReason::ToolCalls } else { StopReason::Stop };
        self.stop.clone().unwrap_or(natural)
    }
}
