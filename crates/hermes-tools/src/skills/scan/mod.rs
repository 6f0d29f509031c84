//! Looks through a skill for what a person should know before they let it in.
//!
//! Two tables are read: texts that want to steer the agent ([`crate::threat`]) and commands that do harm (`rules.rs`), line
//! by line, through disguises and line ends with a backslash; `structure.rs` looks at the files themselves. What was found
//! gives a [`Verdict`], and with the source of the skill a [`Decision`] (`policy.rs`). A finding is a reason to doubt, and
//! none is no proof of harmlessness: what a skill makes the agent do still goes through the gate.

mod policy;
mod rules;
mod structure;

pub use policy::{Decision, Force, Trust, Verdict, decide, is_lifted};

use super::catalogue::SKILL;
use super::frontmatter::Frontmatter;
use super::parcel::Parcel;
use crate::files::page::is_binary;
use crate::threat::{Scanner, Scope, Threat};
use hermes_core::disguise::{is_invisible, latin};
use hermes_core::redact;
use hermes_types::clip;
use regex::RegexSet;
use rules::TABLE;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;
use unicode_normalization::UnicodeNormalization as _;

/// Which rules looked: a report of another version says less.
pub const VERSION: &str = "1";
const EXCERPT: usize = 120;
/// Findings of one rule that are told; more say nothing new.
const MOST_OF_A_RULE: usize = 5;
/// Threats to whoever reads a note, and ordinary in a skill: which command does harm is for `rules.rs` to say.
const USUAL_IN_SKILLS: [&str; 5] = ["exfil_curl", "exfil_wget", "read_secrets", "hardcoded_secret", "c2_framework"];
/// Lines of [`Report::worst`].
const MOST_TOLD: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Low,
    Medium,
    /// A person should look before this is installed.
    High,
    /// This is not installed.
    Critical,
}

impl Severity {
    pub fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::Critical => "critical",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    Exfiltration,
    Injection,
    Destructive,
    Persistence,
    Network,
    Obfuscation,
    Execution,
    Traversal,
    Mining,
    SupplyChain,
    PrivilegeEscalation,
    CredentialExposure,
    Structural,
}

/// One thing that was found. The names in JSON are those of the Python program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    #[serde(rename = "pattern_id")]
    pub rule: Cow<'static, str>,
    pub severity: Severity,
    pub category: Category,
    pub file: String,
    /// From one; zero where it is about the file as a whole.
    pub line: usize,
    #[serde(rename = "match")]
    pub excerpt: String,
    #[serde(rename = "description")]
    pub meaning: Cow<'static, str>,
}

/// All that was found, the worst first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
#[serde(transparent)]
pub struct Report {
    pub findings: Vec<Finding>,
}

impl Report {
    pub fn verdict(&self) -> Verdict {
        match self.findings.iter().map(|finding| finding.severity).max() {
            Some(Severity::Critical) => Verdict::Dangerous,
            Some(Severity::High) => Verdict::Caution,
            Some(Severity::Medium | Severity::Low) | None => Verdict::Safe,
        }
    }

    /// The worst findings as lines for a person.
    pub fn worst(&self) -> String {
        let told: Vec<String> = self.findings.iter().take(MOST_TOLD).map(Finding::told).collect();
        let more = self.findings.len().saturating_sub(MOST_TOLD);
        let more = if more == 0 { String::new() } else { format!("\n  … and {more} more") };
        told.join("\n") + &more
    }
}

impl Finding {
    pub fn told(&self) -> String {
        let place = if self.line == 0 { self.file.clone() } else { format!("{}:{}", self.file, self.line) };
        let quote = if self.excerpt.is_empty() { String::new() } else { format!(": {}", self.excerpt) };
        format!("  {}  {place}  {} ({}){quote}", self.severity.name(), self.meaning, self.rule)
    }
}

/// Looks through all files.
pub fn scan(parcel: &Parcel, scanner: &Scanner) -> Report {
    let mut findings = structure::look(parcel);
    for (file, piece) in &parcel.files {
        let text = String::from_utf8_lossy(&piece.bytes);
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        findings.extend(commands(file, text));
        // Pictures and the like say nothing to anybody; a shell would run them all the same.
        if !is_binary(&piece.bytes) {
            findings.extend(steering(file, text, scanner));
        }
    }
    findings.extend(spelled_out(parcel, scanner, &findings));
    findings.sort_by(|one, other| other.severity.cmp(&one.severity).then_with(|| place(one).cmp(&place(other))));
    Report { findings }
}

/// What the frontmatter says once its YAML is read: `\\u0069` is an `i` to whoever shows a description, and was none to
/// those who looked at the file. Told is what was not found there already.
fn spelled_out(parcel: &Parcel, scanner: &Scanner, known: &[Finding]) -> Vec<Finding> {
    let Some(text) = parcel.text(SKILL) else { return Vec::new() };
    let said = Frontmatter::split(&text).0.spoken();
    let mut found = [commands(SKILL, &said), steering(SKILL, &said, scanner)].concat();
    if said.contains(structure::steers_terminals) {
        found.push(structure::escapes(SKILL));
    }
    let is_new = |finding: &Finding| !known.iter().any(|one| one.file == SKILL && one.rule == finding.rule);
    found.retain(is_new);
    found.into_iter().map(|finding| Finding { line: 1, ..finding }).collect()
}

fn place(finding: &Finding) -> (&str, usize, &str) {
    (&finding.file, finding.line, &finding.rule)
}

/// The compiled table; `None` when it cannot be compiled, and then every line is suspicious, so that it is noticed.
static RULES: LazyLock<Option<RegexSet>> = LazyLock::new(|| {
    let patterns = TABLE.iter().map(|rule| format!("(?i){}", rule.pattern));
    RegexSet::new(patterns).inspect_err(|error| tracing::error!(%error, "the rules for skills cannot be compiled")).ok()
});

fn commands(file: &str, text: &str) -> Vec<Finding> {
    let mut found: Vec<Finding> = Vec::new();
    for (number, line) in logical_lines(text) {
        let plain = undisguised(&line);
        let hits: Vec<usize> = match &*RULES {
            Some(rules) => rules.matches(&plain).into_iter().collect(),
            None => vec![0],
        };
        for rule in hits.into_iter().filter_map(|place| TABLE.get(place)) {
            if found.iter().filter(|known| known.rule == rule.id).count() < MOST_OF_A_RULE {
                found.push(Finding {
                    rule: Cow::Borrowed(rule.id),
                    severity: rule.severity,
                    category: rule.category,
                    file: file.to_owned(),
                    line: number,
                    excerpt: excerpt(&line),
                    meaning: Cow::Borrowed(rule.meaning),
                });
            }
        }
    }
    found
}

/// Lines as a shell reads them: one that ends with a backslash goes on.
fn logical_lines(text: &str) -> Vec<(usize, String)> {
    let mut lines: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (number, line) in text.lines().enumerate() {
        let (body, continues) = match line.strip_suffix('\\') {
            Some(body) => (body, true),
            None => (line, false),
        };
        match lines.last_mut() {
            Some((_, before)) if goes_on => before.push_str(body),
            _ => lines.push((number + 1, body.to_owned())),
        }
        goes_on = continues;
    }
    lines
}

/// As a machine would read it in the end: without look-alikes, without what nobody sees, and without the null bytes that a
/// shell passes over.
fn undisguised(line: &str) -> String {
    if line.is_ascii() {
        return line.replace('\0', "");
    }
    line.nfkc().filter(|character| *character != '\0' && !is_invisible(*character)).map(latin).collect()
}

/// Texts that want to steer the agent. What is wrong everywhere is worst.
fn steering(file: &str, text: &str, scanner: &Scanner) -> Vec<Finding> {
    let all = scanner.scan(text, Scope::Strict);
    if all.is_empty() {
        return Vec::new();
    }
    let is_in = |scope: Scope| {
        let ids: Vec<String> = scanner.scan(text, scope).into_iter().map(|threat| threat.id.into_owned()).collect();
        move |threat: &Threat| ids.iter().any(|id| *id == threat.id)
    };
    let (everywhere, in_context) = (is_in(Scope::All), is_in(Scope::Context));
    let mut places: BTreeMap<String, (usize, String)> = BTreeMap::new();
    for (number, line) in text.lines().enumerate() {
        if places.len() == all.len() {
            break;
        }
        for found in scanner.scan(line, Scope::Strict) {
            places.entry(found.id.into_owned()).or_insert_with(|| (number + 1, excerpt(line)));
        }
    }
    let finding = |threat: Threat| {
        let severity = match () {
            () if USUAL_IN_SKILLS.contains(&threat.id.as_ref()) => Severity::Medium,
            () if threat.id.starts_with("invisible_") => Severity::High,
            () if everywhere(&threat) => Severity::Critical,
            () if in_context(&threat) => Severity::High,
            () => Severity::Medium,
        };
        let (line, excerpt) = places.get(threat.id.as_ref()).cloned().unwrap_or_default();
        Finding {
            severity,
            category: Category::Injection,
            file: file.to_owned(),
            line,
            excerpt,
            meaning: Cow::Borrowed(threat.meaning),
            rule: threat.id,
        }
    };
    all.into_iter().map(finding).collect()
}

/// What was found, fit to be shown: without secrets, escapes and what nobody sees.
fn excerpt(line: &str) -> String {
    let visible: String = line.trim().chars().filter(|c| !c.is_control() && !is_invisible(*c)).collect();
    clip(&redact::file(&visible), EXCERPT)
}

#[cfg(test)]
mod tests;
