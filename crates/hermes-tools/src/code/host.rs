//! Who answers a script: its requests are read, counted and carried out by the hands of the conversation, one at a time.
//!
//! Whatever comes over the line, the answer is one line of JSON: the result of a call, or an object with `error` in it
//! that says what was wrong. Nothing a script sends ends the program or the turn, but for a tool that itself finds that
//! the turn cannot go on.

use super::stub::{FUNCTIONS, callable};
use crate::desk::{Cx, Desk};
use crate::run::{Aborted, Finished, Hands, Untold};
use hermes_core::stop::Stop;
use hermes_types::{CallId, Object, ToolCall};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The other end of a script's line.
pub(super) struct Host {
    hands: Hands,
    desk: Arc<Desk>,
    /// The call that the script is; those of the script are numbered behind it.
    outer: CallId,
    /// Ends calls that are under way when the script has ended.
    pub(super) stop: Stop,
    /// What the script may call.
    tools: BTreeSet<&'static str>,
    most: usize,
    pub(super) token: String,
    made: AtomicUsize,
    abort: Mutex<Option<String>>,
    /// Held by the call that is under way.
    calling: tokio::sync::Mutex<()>,
}

/// One line of a script.
#[derive(Deserialize)]
struct Request {
    tool: String,
    #[serde(default)]
    args: Object,
    #[serde(default)]
    token: String,
}

impl Host {
    pub(super) fn new(cx: &Cx, most: usize) -> Self {
        Self {
            hands: cx.hands.for_program(),
            desk: cx.desk.clone(),
            outer: cx.call.clone(),
            stop: cx.stop.child(),
            tools: callable(&cx.hands.offered()).map(|function| function.tool).collect(),
            most,
            token: hex::encode(rand::random::<[u8; 24]>()),
            made: AtomicUsize::new(0),
            abort: Mutex::default(),
            calling: tokio::sync::Mutex::default(),
        }
    }

    /// Calls that were carried out, whatever became of them.
    pub(super) fn made(&self) -> usize {
        self.made.load(Ordering::Relaxed)
    }

    /// Whether the script holds words of strangers, which it may print.
    pub(super) fn heard_strangers(&self) -> bool {
        self.hands.heard_strangers()
    }

    /// Why the turn cannot go on, if a call found so.
    pub(super) fn abort(&self) -> Option<String> {
        self.abort.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until no call is under way.
    pub(super) async fn at_rest(&self) {
        drop(self.calling.lock().await);
    }

    /// The answer to one line, without the end of its own.
    pub(super) async fn answer(&self, line: &[u8]) -> String {
        match self.read(line) {
            Ok(request) => self.carry_out(request).await,
            Err(error) => told(&error),
        }
    }

    /// What a line asks for, if it may be asked.
    fn read(&self, line: &[u8]) -> Result<Request, String> {
        let request: Request = serde_json::from_slice(line).map_err(|error| format!("Invalid RPC request: {error}"))?;
        // Digests take the same time to compare wherever the first difference is.
        if Sha256::digest(&request.token) != Sha256::digest(&self.token) {
            return Err("Unauthorized RPC request".to_owned());
        }
        if !self.tools.contains(request.tool.as_str()) {
            let there: Vec<&str> = self.tools.iter().copied().collect();
            let (tool, there) = (&request.tool, there.join(", "));
            return Err(format!("Tool '{tool}' is not available in execute_code. Available: {there}"));
        }
        Ok(request)
    }

    async fn carry_out(&self, request: Request) -> String {
        let _calling = self.calling.lock().await;
        let (made, most) = (self.made(), self.most);
        if made >= most {
            return told(&format!("Tool call limit reached ({most}). No more tool calls allowed in this execution."));
        }
        self.made.store(made + 1, Ordering::Relaxed);
        let Request { tool, mut args, .. } = request;
        let left_out = FUNCTIONS.iter().filter(|function| function.tool == tool).flat_map(|function| function.without);
        left_out.for_each(|name| drop(args.shift_remove(*name)));
        let id = CallId::new(format!("{}.{}", self.outer, made + 1));
        let call = ToolCall::new(id, tool.as_str(), Value::Object(args).to_string().as_str());
        let ran = self.hands.run(std::slice::from_ref(&call), &self.desk, &Untold, &self.stop).await;
        let results = match ran {
            Ok(results) => results,
            Err(Aborted { reason, results }) => {
                *self.abort.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
                self.stop.stop();
                results
            }
        };
        results.first().map_or_else(|| told("the call has no result"), line_of)
    }
}

/// A result on one line: JSON as it is, anything else as a JSON text.
fn line_of(finished: &Finished) -> String {
    let text = finished.content.text();
    let fits = !text.contains(['\n', '\r']) && serde_json::from_str::<&RawValue>(&text).is_ok();
    if fits { text } else { Value::String(text).to_string() }
}

/// `{"error": …}`.
pub(super) fn told(error: &str) -> String {
    json!({ "error": error }).to_string()
}
