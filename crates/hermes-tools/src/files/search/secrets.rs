//! Files that searches pass over: those that hold secrets of Hermes and of projects.
//!
//! The paths come from a walk that follows no links, below a root whose links were followed, so they are real.

use crate::settings::Surroundings;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Below a home of Hermes.
const OWN_FILES: [&str; 7] = [
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    ".env",
    "webhook_subscriptions.json",
    "auth/google_oauth.json",
    "cache/bws_cache.json",
];
const OWN_TREES: [&str; 2] = ["skills/.hub", "mcp-tokens"];
/// Anywhere.
const NAMES: [&str; 7] =
    [".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging", ".envrc"];

pub(super) struct Secrets {
    files: Vec<PathBuf>,
    trees: Vec<PathBuf>,
}

impl Secrets {
    pub(super) fn of(around: &Surroundings) -> Self {
        let homes: Vec<PathBuf> = [&around.hermes_home, &around.hermes_root]
            .into_iter()
            .map(|home| home.canonicalize().unwrap_or_else(|_| home.clone()))
            .collect();
        let below = |names: &[&str]| homes.iter().flat_map(|home| names.iter().map(|name| home.join(name))).collect();
        Self { files: below(&OWN_FILES), trees: below(&OWN_TREES) }
    }

    /// Whether this file is passed over.
    pub(super) fn has(&self, path: &Path) -> bool {
        let named = |name: &OsStr| NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret));
        path.file_name().is_some_and(named)
            || self.files.iter().any(|secret| path == secret)
            || self.trees.iter().any(|tree| path.starts_with(tree))
    }
}
