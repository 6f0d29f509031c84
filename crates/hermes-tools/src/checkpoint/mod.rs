//! Snapshots of a project before it is changed.

use crate::settings::Settings;
use serde::Deserialize;

/// `checkpoints.*`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct CheckpointSettings {
    pub enabled: bool,
}

/// The shadow store of snapshots.
pub struct Checkpoints {}

impl Checkpoints {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
