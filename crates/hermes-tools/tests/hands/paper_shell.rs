//! A shell of paper: a command goes the whole way of a call, and behind the gate it is only written down. Tests of other
//! crates take this file as a module of theirs.

use hermes_tools::desk::Cx;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::gate::Permit;
use hermes_tools::tool::{Card, Output, Tool, ToolError};
use serde::Deserialize;
use serde_json::json;
use std::sync::{Arc, Mutex};

/// What reached the tools: nothing real happens, but everything that would have is written down.
pub(crate) type Reached = Arc<Mutex<Vec<String>>>;

/// Runs commands, under any name. Only says which ones would have run.
pub(crate) struct PaperShell {
    pub(crate) name: &'static str,
    pub(crate) reached: Reached,
}

#[derive(Deserialize)]
pub(crate) struct ShellArgs {
    command: String,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    pty: bool,
}

impl Tool for PaperShell {
    type Args = ShellArgs;

    fn card(&self) -> Card {
        let parameters = json!({"type": "object", "required": ["command"], "properties": {
            "command": {"type": "string"}, "background": {"type": "boolean"}, "pty": {"type": "boolean"}}});
        Card::new(self.name, "terminal", "Runs a command on paper.", parameters)
    }

    fn effects(&self, args: &ShellArgs, cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::command(&args.command, cx.desk.cwd(), Company::Alone))
    }

    async fn call(&self, args: ShellArgs, permit: Permit, _cx: &Cx) -> Result<Output, ToolError> {
        let command = permit.command().map(|command| command.text.clone()).unwrap_or_default();
        assert_eq!(command, args.command, "what was judged is what runs");
        self.reached.lock().expect("reached").push(command);
        Output::json(&json!({"output": "", "exit_code": 0, "background": args.background, "pty": args.pty}))
    }
}
