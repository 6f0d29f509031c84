//! Scripts that lie on disk when a command runs them: a model that may write files must not reach by `bash notes.sh` what
//! it cannot reach by a command. Only scripts of a shell can be read; other languages are out of sight here.

use super::intent::{COUNT_IN_SCRIPTS, Class, GRAVE_SCRIPT};
use super::judge::{Finding, judge};
use super::place::Place;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;

/// Longer scripts are programs that somebody maintains.
const LONGEST: u64 = 64 * 1024;

/// What is grave in these scripts, and the commands in them, for rules.
pub(super) fn judged(scripts: &BTreeSet<String>, places: &[Place]) -> (Vec<Finding>, BTreeSet<String>) {
    let mut findings: Vec<Finding> = Vec::new();
    let mut texts = BTreeSet::new();
    for (path, text) in scripts.iter().filter_map(|path| Some((path, script(path)?))) {
        for place in places {
            let judgement = judge(&text, place);
            texts.extend(judgement.texts);
            for found in judgement.findings {
                let grave = found.class == Class::Hardline;
                let key = if grave { GRAVE_SCRIPT } else { found.key };
                let counts = grave || COUNT_IN_SCRIPTS.contains(&key);
                if counts && findings.iter().all(|known| known.key != key) {
                    findings.push(Finding { key, class: Class::Dangerous, what: format!("{path}: {}", found.what) });
                }
            }
        }
    }
    (findings, texts)
}

/// The text of a script for a shell.
fn script(path: &str) -> Option<String> {
    let metadata = std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
    if metadata.len() > LONGEST {
        return None;
    }
    let mut text = String::new();
    File::open(path).ok()?.take(LONGEST).read_to_string(&mut text).ok()?;
    let first = text.lines().next().unwrap_or_default();
    let is_shell = !first.starts_with("#!") || first.contains("sh");
    Some(text).filter(|text| is_shell && !text.contains('\0'))
}
