//! Commands in a shell that remembers.
//!
//! A [`Backend`] is a place where commands run; [`Local`] is this machine. A conversation has one [`Terminal`]; what its
//! commands change (directory, exports, functions, aliases) the next one finds.

mod backend;
mod background;
pub(crate) mod capture;
pub mod family;
mod first;
mod guidance;
pub(crate) mod launch;
mod local;
mod meaning;
pub(crate) mod private;
pub(crate) mod pty;
pub mod sandbox;
mod script;
mod settings;
mod state;
pub mod surroundings;
mod tool;
mod watch;

pub use backend::{Backend, Capture, Ended, Executed, Memory, Request, Stdin, Unable};
pub use local::{Local, Reporting, Shell};
pub(crate) use local::{Needed, find, own_session};
pub use settings::TerminalSettings;
pub(crate) use tool::TerminalTool;

use crate::gate::Remembered;
use crate::settings::Settings;
use std::collections::BTreeMap;
use std::sync::Arc;
use surroundings::sudo::Sudo;

/// The shell of one conversation.
pub struct Terminal {
    local: Local,
    backend: String,
    sudo: Arc<Sudo>,
}

impl Terminal {
    pub fn new(settings: &Settings) -> Self {
        let seen = surroundings::variables(&settings.around, &settings.terminal);
        let sudo = Arc::new(Sudo::new(&settings.around, seen, settings.terminal.sandbox));
        Self { local: Local::new(settings), backend: settings.terminal.backend.clone(), sudo }
    }

    /// With variables that belong to this conversation alone.
    #[must_use]
    pub fn with(mut self, variables: BTreeMap<String, String>) -> Self {
        self.local = self.local.with(variables);
        self
    }

    /// Where commands of this conversation run. A backend that is not there is no reason to run them elsewhere: who
    /// chose a container did so for its walls.
    pub fn backend(&self) -> Result<&dyn Backend, Unable> {
        self.here().map(|local| local as &dyn Backend)
    }

    fn here(&self) -> Result<&Local, Unable> {
        match self.backend.as_str() {
            "local" => Ok(&self.local),
            other => Err(Unable::Disabled(format!(
                "terminal.backend is {other:?}, which this program does not have. Set it to local to run commands on this machine"
            ))),
        }
    }

    /// What commands left in the shell of this conversation.
    pub fn remembered(&self) -> Arc<Remembered> {
        self.local.remembered()
    }

    /// The shell as the last command left it, for a process in the background.
    pub async fn shell(&self) -> Result<Shell, Unable> {
        self.here()?.shell().await
    }

    /// What this conversation knows about sudo.
    pub fn sudo(&self) -> &Arc<Sudo> {
        &self.sudo
    }

    /// Ends everything that commands of this conversation left running.
    pub async fn close(&self) {
        self.local.close().await;
    }
}
