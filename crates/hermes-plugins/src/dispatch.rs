//! Tools that a plugin calls in the middle of a call of its own (`tools/dispatch`).
//!
//! Such a call goes through the hands of the conversation as if the model had made it: hooks, coercion, gate, limits. It
//! is made in the name of a call that is going on, ends with it, and can reach only what the conversation itself may call.
//! A plugin cannot dispatch to its own tools: it has them at hand, and would wait for itself.

use crate::protocol::{self, BAD_PARAMETERS, REFUSED};
use futures_util::future::BoxFuture;
use hermes_core::stop::Stop;
use hermes_tools::desk::Cx;
use hermes_tools::run::{Aborted, Untold};
use hermes_tools::terminal::family::Family;
use hermes_types::{CallId, ToolCall, ToolStatus};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// A tool at work, and the line that will tell the plugin what came of it.
pub(crate) type Dispatching = BoxFuture<'static, String>;

/// As many calls of one plugin go on at the same time; also what ends plugins that call each other in circles.
const MOST_OPEN: usize = 32;
/// As many tools work for one plugin, or wait for their turn.
pub(crate) const MOST_DISPATCHED: usize = 16;

/// The calls of a plugin's tools that are going on. Clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Open(Arc<Inner>);

#[derive(Default)]
struct Inner {
    calls: Mutex<BTreeMap<u64, Ongoing>>,
    /// Calls that the plugin itself made, which it need not be asked about.
    made: Mutex<BTreeSet<CallId>>,
    own_tools: Mutex<BTreeSet<String>>,
}

/// A call that is going on. Tools work for it one after another, as they do for a script: nobody has looked whether they
/// get along.
#[derive(Clone)]
struct Ongoing {
    cx: Cx,
    turn: Arc<tokio::sync::Mutex<()>>,
}

/// A call that is going on, until this is dropped. Whatever still works in its name is stopped then.
pub(crate) struct Going<'a> {
    open: &'a Open,
    id: u64,
    stop: Stop,
}

impl Drop for Going<'_> {
    fn drop(&mut self) {
        self.open.0.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        self.stop.stop();
    }
}

#[derive(Deserialize)]
struct Wanted {
    /// The request `tools/call` in whose name it is made.
    call: u64,
    name: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl Open {
    /// A call begins. Nothing when too many are going on.
    pub(crate) fn begin(&self, id: u64, cx: Cx) -> Option<Going<'_>> {
        let mut calls = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if calls.len() >= MOST_OPEN {
            return None;
        }
        let stop = cx.stop.child();
        calls.insert(id, Ongoing { cx: Cx { stop: stop.clone(), ..cx }, turn: Arc::default() });
        Some(Going { open: self, id, stop })
    }

    pub(crate) fn these_are_its_own(&self, tools: impl Iterator<Item = String>) {
        *self.0.own_tools.lock().unwrap_or_else(PoisonError::into_inner) = tools.collect();
    }

    /// Whether the plugin made this call itself. The name of such a call cannot be guessed, so no model can borrow it.
    pub(crate) fn made(&self, call: &CallId) -> bool {
        self.0.made.lock().unwrap_or_else(PoisonError::into_inner).contains(call)
    }

    /// What a plugin asks for, as work that ends in its answer.
    pub(crate) fn dispatch(&self, id: Value, params: &Value) -> Dispatching {
        let open = self.clone();
        let wanted = Wanted::deserialize(params);
        Box::pin(async move {
            let outcome = match wanted {
                Ok(wanted) => open.run(wanted).await,
                Err(error) => Err((BAD_PARAMETERS, format!("tools/dispatch: {error}"))),
            };
            protocol::answer(&id, outcome)
        })
    }

    async fn run(&self, wanted: Wanted) -> Result<Value, (i64, String)> {
        let Wanted { call, name, arguments } = wanted;
        let ongoing = self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).get(&call).cloned();
        let Some(Ongoing { cx, turn }) = ongoing else {
            let told = format!(
                "tools/dispatch: no call {call} of yours is going on; name the id of the tools/call you work on"
            );
            return Err((REFUSED, told));
        };
        if self.0.own_tools.lock().unwrap_or_else(PoisonError::into_inner).contains(&name) {
            return Err((REFUSED, format!("tools/dispatch: {name} is your own tool; call your own code instead")));
        }
        let made = CallId::new(format!("dispatch_{}", Family::new_mark()));
        let call = ToolCall::new(made.clone(), name.as_str(), Value::Object(arguments).to_string().as_str());
        let _made = Made::new(&self.0, made);
        let _turn = turn.lock().await;
        let results = match cx.hands.run(&[call], &cx.desk, &Untold, &cx.stop).await {
            Ok(results) | Err(Aborted { results, .. }) => results,
        };
        let finished = results.into_iter().next().ok_or((REFUSED, "the call has no result".to_owned()))?;
        Ok(json!({ "content": finished.content.text(), "status": status(finished.status) }))
    }
}

/// A call on the list of those the plugin made, until this is dropped.
struct Made<'a> {
    inner: &'a Inner,
    call: CallId,
}

impl<'a> Made<'a> {
    fn new(inner: &'a Inner, call: CallId) -> Self {
        inner.made.lock().unwrap_or_else(PoisonError::into_inner).insert(call.clone());
        Self { inner, call }
    }
}

impl Drop for Made<'_> {
    fn drop(&mut self) {
        self.inner.made.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.call);
    }
}

/// The word for how a call ended, as hooks of the Python program know it.
pub(crate) fn status(status: ToolStatus) -> &'static str {
    match status {
        ToolStatus::Done => "ok",
        ToolStatus::Failed => "error",
        ToolStatus::Blocked => "blocked",
        ToolStatus::TimedOut => "timeout",
        ToolStatus::Cancelled => "cancelled",
    }
}
