//! Everything that is known about one call when it is decided upon: its command, its files, its arguments, and what is
//! dangerous about them. A file that a tool would write is held against the same rows as one a command would write.

use super::intent::{Detect, INTENTS};
use super::judge::{Finding, Judgement};
use super::place::Place;
use crate::effects::{Access, Scope};
use sha2::{Digest, Sha256};
use std::path::Path;

/// What a decision is about.
#[derive(Debug, Clone, Copy)]
pub struct Matter<'a> {
    pub command: Option<&'a Judgement>,
    pub scopes: &'a [Scope],
    /// Canonical JSON.
    pub arguments: &'a str,
    /// What is dangerous about the files.
    pub files: &'a [Finding],
    /// What a hook wants a person to say yes to.
    pub wanted: Option<&'a Wanted>,
}

/// The wish of a hook to have a person asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub message: String,
    /// Under which the answer is remembered.
    pub key: String,
}

/// How keys of hooks begin.
pub(super) const WANTED: &str = "plugin_rule:";

impl Wanted {
    /// Without a key of its own, a consent holds for this tool and this very reason.
    pub fn new(tool: &str, message: &str, rule_key: Option<&str>) -> Self {
        let key = match rule_key.map(str::trim).filter(|key| !key.is_empty()) {
            Some(key) => format!("{WANTED}{key}"),
            None => {
                let digest = hex::encode(Sha256::digest(message.as_bytes()));
                format!("{WANTED}{tool}:{}", digest.get(..12).unwrap_or(&digest))
            }
        };
        Self { message: message.to_owned(), key }
    }
}

impl<'a> Matter<'a> {
    /// A command and nothing else.
    pub fn of(command: &'a Judgement) -> Self {
        Self { command: Some(command), scopes: &[], arguments: "{}", files: &[], wanted: None }
    }

    /// The worst first.
    pub(super) fn findings(&self) -> Vec<&'a Finding> {
        let command = self.command.into_iter().flat_map(|judgement| &judgement.findings);
        let mut findings: Vec<&Finding> = command.chain(self.files).collect();
        findings.sort_by_key(|finding| finding.class);
        findings
    }
}

/// What is dangerous about writing these files.
pub(super) fn about_files<'a>(paths: impl IntoIterator<Item = &'a Path>, places: &[Place]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for path in paths {
        let text = path.to_string_lossy();
        for intent in INTENTS {
            let Detect::Write(test) = intent.detect else { continue };
            let seen = places.iter().any(|place| test(place, &text, Some("/")));
            if seen && findings.iter().all(|finding| finding.key != intent.key) {
                findings.push(Finding { key: intent.key, class: intent.class, what: text.clone().into_owned() });
            }
        }
    }
    findings
}

/// The files these scopes write.
pub(super) fn written(scopes: &[Scope]) -> impl Iterator<Item = &Path> {
    scopes.iter().filter(|scope| scope.access == Access::Write).map(|scope| scope.path.as_path())
}
