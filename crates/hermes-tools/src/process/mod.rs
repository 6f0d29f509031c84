//! Processes that go on while the conversation does.

use crate::settings::Settings;

/// All background processes of this program.
pub struct Processes {}

impl Processes {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }
}
