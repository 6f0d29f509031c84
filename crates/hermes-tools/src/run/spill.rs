//! Results that are too long for a conversation go to a file; the model sees their beginning and the way to the rest.

use super::finish::Finished;
use crate::settings::Settings;
use crate::tool::ResultCap;
use hermes_types::{CallId, Content};

/// Where long results go.
pub struct Spill {}

impl Spill {
    pub fn new(_settings: &Settings) -> Self {
        Self {}
    }

    /// The content, or a block that points to it.
    pub(super) async fn capped(&self, _call: &CallId, _cap: ResultCap, content: Content) -> Content {
        content
    }

    /// Brings the results of one turn below their common limit, the largest first.
    pub(super) async fn fit_turn(&self, _results: &mut [Finished]) {}
}
