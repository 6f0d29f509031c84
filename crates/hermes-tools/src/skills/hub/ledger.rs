//! `.hub/lock.json`: what was installed from where. Written by the Python program too: what it alone knows is kept.

use super::HubError;
use crate::skills::naming;
use crate::skills::shelf::{Shelf, ShelfError, Turn};
use hermes_types::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

const LOCK: &str = ".hub/lock.json";
pub(super) const AUDIT: &str = ".hub/audit.log";

/// One skill and where it is from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    #[serde(default)]
    pub source: String,
    #[serde(default)]
    pub identifier: String,
    #[serde(default)]
    pub trust_level: String,
    #[serde(default)]
    pub scan_verdict: String,
    #[serde(default)]
    pub content_hash: String,
    #[serde(default)]
    pub install_path: String,
    #[serde(default)]
    pub files: Vec<String>,
    #[serde(default)]
    pub metadata: Object,
    #[serde(default)]
    pub scan_provenance: Value,
    #[serde(default)]
    pub installed_at: String,
    #[serde(default)]
    pub updated_at: String,
    #[serde(flatten)]
    pub rest: Object,
}

impl Entry {
    /// Where it lies below the own skills. The file can be written by anybody: a place that is not of this skill is none.
    pub(super) fn place(&self, name: &str) -> Result<String, HubError> {
        let place = naming::inner(&self.install_path).map_err(HubError::Refused)?;
        let is_own = place.rsplit('/').next() == Some(name) && !place.split('/').any(|part| part.starts_with('.'));
        match is_own {
            true => Ok(place),
            false => Err(HubError::Refused(format!(
                ".hub/lock.json names '{}' as the place of '{name}', which is none. Correct that line by hand",
                self.install_path
            ))),
        }
    }
}

#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Ledger {
    #[serde(default = "version")]
    version: Value,
    #[serde(default)]
    pub(super) installed: BTreeMap<String, Entry>,
    #[serde(flatten)]
    rest: Object,
}

fn version() -> Value {
    Value::from(1)
}

impl Ledger {
    /// Nothing was installed where there is no list that can be read, as for the Python program.
    pub(super) fn load(shelf: &Shelf) -> Self {
        let text = shelf.place(LOCK).ok().and_then(|path| std::fs::read(path).ok()).unwrap_or_else(|| b"{}".to_vec());
        serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of installed skills cannot be read");
            Self { version: version(), ..Self::default() }
        })
    }

    pub(super) fn record(&mut self, name: &str, entry: Entry) {
        self.installed.insert(name.to_owned(), entry);
    }

    pub(super) fn save(&self, turn: &Turn<'_>) -> Result<(), ShelfError> {
        let mut text = serde_json::to_vec_pretty(self).unwrap_or_default();
        text.push(b'\n');
        turn.keep(LOCK, &text)
    }
}
