//! Tools of paper: they go the whole way of a call and then only write down what they would have done.

pub(crate) use crate::paper_shell::{PaperShell, Reached};
use crate::stage::{Plan, Stage};
use futures_util::future::BoxFuture;
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::registry::Replace;
use hermes_tools::run::{Finished, Witness};
use hermes_tools::tool::{Card, Output, Tool, ToolError};
use hermes_types::{CallId, ToolCall};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Writes down what passed the gate and stops it there: behind this everything would really happen.
#[derive(Default)]
pub(crate) struct Threshold {
    /// Calls that may go on.
    open: BTreeSet<CallId>,
    passed: Mutex<BTreeSet<CallId>>,
}

impl Threshold {
    /// Lets these go on.
    pub(crate) fn open_for(calls: &[ToolCall]) -> Self {
        Self { open: calls.iter().map(|call| call.id.clone()).collect(), passed: Mutex::default() }
    }

    pub(crate) fn passed(&self) -> BTreeSet<CallId> {
        self.passed.lock().expect("passed").clone()
    }
}

impl Witness for Threshold {
    fn begins<'a>(&'a self, call: &'a ToolCall, _effects: &'a Effects) -> BoxFuture<'a, Result<(), String>> {
        self.passed.lock().expect("passed").insert(call.id.clone());
        let stopped = if self.open.contains(&call.id) { Ok(()) } else { Err("nothing goes beyond this".to_owned()) };
        Box::pin(std::future::ready(stopped))
    }

    fn ended<'a>(&'a self, _finished: &'a Finished) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// Writes files, on paper. Paths are led through links, as a real one must.
pub(crate) struct PaperPen {
    pub(crate) name: &'static str,
    pub(crate) reached: Reached,
}

#[derive(Deserialize)]
pub(crate) struct PenArgs {
    path: PathBuf,
}

fn followed(path: &Path) -> PathBuf {
    match (path.canonicalize(), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => followed(parent).join(name),
        _ => path.to_path_buf(),
    }
}

impl Tool for PaperPen {
    type Args = PenArgs;

    fn card(&self) -> Card {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
        Card::new(self.name, "paper", "Writes a file on paper.", parameters)
    }

    fn effects(&self, args: &PenArgs, cx: &Cx) -> Result<Effects, ToolError> {
        let text = args.path.display().to_string();
        let home = cx.desk.settings().around.home.clone();
        let path = text.strip_prefix("~/").map_or_else(|| cx.desk.cwd().join(&args.path), |rest| home.join(rest));
        Ok(if self.name == "read_file" { Effects::read(followed(&path)) } else { Effects::write(followed(&path)) })
    }

    async fn call(&self, _args: PenArgs, permit: Permit, _cx: &Cx) -> Result<Output, ToolError> {
        for scope in &permit.effects().scopes {
            self.reached.lock().expect("reached").push(format!("{}: {}", self.name, scope.path.display()));
        }
        Output::json(&json!({"written": true}))
    }
}

/// Speaks to a server; has no effects that can be seen from here.
struct PaperServer(Reached);

impl Tool for PaperServer {
    type Args = Value;

    fn card(&self) -> Card {
        Card::new("mcp__github__merge", "mcp-github", "Merges.", json!({"type": "object", "properties": {}}))
    }

    fn effects(&self, _args: &Value, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::none())
    }

    async fn call(&self, args: Value, _permit: Permit, _cx: &Cx) -> Result<Output, ToolError> {
        self.0.lock().expect("reached").push(args.to_string());
        Output::json(&json!({}))
    }
}

/// A stage whose tools are all of paper, and what reached them.
pub(crate) fn paper(plan: Plan) -> (Stage, Reached) {
    let stage = Stage::build(plan);
    let reached = Reached::default();
    for name in ["paper_shell", "runner"] {
        stage.registry.register(PaperShell { name, reached: reached.clone() }, Replace::Refuse).expect("a new name");
    }
    for name in ["paper_pen", "paper_patch"] {
        stage.registry.register(PaperPen { name, reached: reached.clone() }, Replace::Refuse).expect("a new name");
    }
    stage.registry.register(PaperServer(reached.clone()), Replace::Refuse).expect("a new name");
    (stage, reached)
}
