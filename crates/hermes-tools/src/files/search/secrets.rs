//! Files that searches pass over: what `read_file` would refuse, a search does not open either.

use crate::files::place::Rules;
use crate::settings::Surroundings;
use std::path::Path;

pub(super) struct Secrets(Rules);

impl Secrets {
    pub(super) fn of(around: &Surroundings) -> Self {
        Self(Rules::of(around))
    }

    /// Whether this file is passed over. The paths of a search are real: its root was resolved, and it follows no links.
    pub(super) fn has(&self, path: &Path) -> bool {
        self.0.denies_reading(path)
    }
}
