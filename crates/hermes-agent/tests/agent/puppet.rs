//! Tools that do what a test wants: any name, any deed, on the whole way of a real call.

use crate::stage::Stage;
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hermes_tools::desk::Cx;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::gate::Permit;
use hermes_tools::registry::Replace;
use hermes_tools::tool::{Card, Output, Tool, ToolError};
use hermes_types::Touch;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Gave = Result<Output, ToolError>;
type Deed = dyn Fn(Value, Cx) -> BoxFuture<'static, Gave> + Send + Sync;

/// A tool with strings; the test holds them.
#[derive(Clone)]
pub(crate) struct Puppet {
    name: &'static str,
    toolset: &'static str,
    touch: Touch,
    company: Company,
    deed: Arc<Deed>,
    /// The arguments of every call that ran.
    ran: Arc<Mutex<Vec<Value>>>,
}

impl Puppet {
    /// Changes the world, as far as anybody can tell.
    pub(crate) fn doing<F>(name: &'static str, deed: impl Fn(Value, Cx) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Gave> + Send + 'static,
    {
        let deed: Arc<Deed> = Arc::new(move |arguments, cx| deed(arguments, cx).boxed());
        Self { name, toolset: "stage", touch: Touch::Changes, company: Company::Welcome, deed, ran: Arc::default() }
    }

    /// Only looks, and answers with what it was asked.
    pub(crate) fn looking(name: &'static str) -> Self {
        Self { touch: Touch::Reads, ..Self::doing(name, |arguments, _| async move { answer(&arguments) }) }
    }

    /// Changes something, and answers with what it was asked.
    pub(crate) fn changing(name: &'static str) -> Self {
        Self::doing(name, |arguments, _| async move { answer(&arguments) })
    }

    /// Registers in another toolset than that of the stage.
    pub(crate) fn of(self, toolset: &'static str) -> Self {
        Self { toolset, ..self }
    }

    /// Nothing runs beside it.
    pub(crate) fn alone(self) -> Self {
        Self { company: Company::Alone, ..self }
    }

    pub(crate) fn on(self, stage: &Stage) -> Self {
        stage.registry.register(self.clone(), Replace::Override).unwrap();
        self
    }

    pub(crate) fn only_looks(&self) -> bool {
        self.touch == Touch::Reads
    }

    pub(crate) fn ran(&self) -> Vec<Value> {
        self.ran.lock().unwrap().clone()
    }
}

pub(crate) fn answer(arguments: &Value) -> Gave {
    Output::json(&json!({"did": arguments}))
}

impl Tool for Puppet {
    type Args = Value;

    fn card(&self) -> Card {
        Card::new(self.name, self.toolset, "does what the test wants", json!({"type": "object", "properties": {}}))
    }

    fn effects(&self, _arguments: &Value, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects { besides: self.touch, company: self.company, ..Effects::none() })
    }

    fn limit(&self, _arguments: &Value) -> Option<Duration> {
        Some(Duration::from_secs(20))
    }

    async fn call(&self, arguments: Value, _permit: Permit, cx: &Cx) -> Gave {
        self.ran.lock().unwrap().push(arguments.clone());
        (self.deed)(arguments, cx.clone()).await
    }
}
