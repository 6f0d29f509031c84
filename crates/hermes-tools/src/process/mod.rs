//! Processes that go on while the conversation does.

use crate::gate::Permit;
use crate::settings::Settings;
use hermes_types::SessionId;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// All background processes of this program.
pub struct Processes {}

/// A process to be started.
pub struct Start {
    pub permit: Permit,
    pub session: SessionId,
    pub variables: BTreeMap<String, String>,
    pub cwd: PathBuf,
    pub face: Face,
    pub tell: Tell,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Pipes,
    Pty,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tell {
    Nothing,
    OnEnd,
    OnMatch(Vec<String>),
}

pub struct Started {
    pub id: String,
    pub pid: u32,
}

impl Processes {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }

    pub async fn start(&self, _start: Start) -> Result<Started, String> {
        Err("background processes are not there yet".to_owned())
    }
}
