//! From findings and policy to a decision. One order, no exceptions:
//!
//! 1. hardline, 2. a password for sudo from nowhere, 3. deny rules: refused, also under yolo and with mode off;
//! 4. yolo or mode off, 5. ask rules and hooks that want a person, 6. allow rules and the allow list,
//! 7. no findings left: allowed; 8. nobody there: refused; 9. smart: a model is asked; 10. a person is asked.
//!
//! Silence is never consent: a timeout denies, and where nobody can be asked nothing dangerous runs. A model stands beside
//! a person, never in the place of one: where nobody is, it is not consulted.

use super::intent::{Class, INTENTS, Memory, SUDO_STDIN, canonical_key};
use super::judge::Shape;
use super::matter::{Matter, WANTED};
use super::rule::{Effect, Mode, Rule, same};
use std::collections::BTreeSet;

/// Who can be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    Person,
    Nobody,
}

/// `--yolo`, read once at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Yolo {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SudoPassword {
    Configured,
    Missing,
}

/// Everything the owner decided beforehand.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    pub tool: &'a str,
    pub mode: Mode,
    pub yolo: Yolo,
    pub channel: Channel,
    pub sudo_password: SudoPassword,
    pub rules: &'a [Rule],
    /// `command_allowlist`: keys, commands, or patterns of commands.
    pub allowlist: &'a [String],
    /// Keys that were allowed for this session.
    pub session: &'a BTreeSet<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    Harmless,
    Remembered,
    Rule,
    Allowlist,
    NotAsked,
    ModelApproved,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// Never runs.
    Hardline {
        key: &'static str,
    },
    SudoPasswordMissing,
    Rule {
        pattern: String,
    },
    NobodyToAsk {
        keys: Vec<String>,
    },
}

/// Whether a person is offered to be never asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Permanence {
    Offered,
    OnceOnly,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    Allow(Reason),
    /// Ask the auxiliary model, then [`hear`] what it said.
    Consult {
        keys: Vec<String>,
        permanence: Permanence,
    },
    Ask {
        keys: Vec<String>,
        permanence: Permanence,
    },
    Refuse(Refusal),
}

pub fn decide(matter: &Matter<'_>, policy: &Policy<'_>) -> Decision {
    let findings = matter.findings();
    if let Some(refusal) = forbidden(matter, policy) {
        return Decision::Refuse(refusal);
    }
    if policy.yolo == Yolo::On || policy.mode == Mode::Off {
        return Decision::Allow(if findings.is_empty() { Reason::Harmless } else { Reason::NotAsked });
    }
    let wanted = matter.wanted.filter(|wanted| !is_remembered(&wanted.key, policy));
    let asked: Vec<String> = rules(matter, policy, Effect::Ask).map(|rule| format!("{RULE}{}", rule.pattern)).collect();
    if asked.is_empty() && wanted.is_none() {
        if rules(matter, policy, Effect::Allow).next().is_some() {
            return Decision::Allow(Reason::Rule);
        }
        if on_allowlist(matter, policy) {
            return Decision::Allow(Reason::Allowlist);
        }
    }
    // A rule or a hook that says "ask" means a person: no model stands in for one.
    let means_a_person = !asked.is_empty() || wanted.is_some();
    let mut keys: Vec<String> = asked.into_iter().chain(wanted.map(|wanted| wanted.key.clone())).collect();
    for finding in &findings {
        if !is_remembered(finding.key, policy) && keys.iter().all(|key| key != finding.key) {
            keys.push(finding.key.to_owned());
        }
    }
    let lasting = keys.iter().all(|key| may_be_remembered(key));
    let permanence = if lasting { Permanence::Offered } else { Permanence::OnceOnly };
    match (keys.is_empty(), policy.channel, policy.mode) {
        (true, ..) if findings.is_empty() && matter.wanted.is_none() => Decision::Allow(Reason::Harmless),
        (true, ..) => Decision::Allow(Reason::Remembered),
        (false, Channel::Nobody, _) => Decision::Refuse(Refusal::NobodyToAsk { keys }),
        (false, Channel::Person, Mode::Smart) if !means_a_person => Decision::Consult { keys, permanence },
        (false, Channel::Person, _) => Decision::Ask { keys, permanence },
    }
}

/// How keys of rules begin.
pub(super) const RULE: &str = "rule: ";

/// What no mode and no consent can lift.
fn forbidden(matter: &Matter<'_>, policy: &Policy<'_>) -> Option<Refusal> {
    let findings = matter.findings();
    if let Some(finding) = findings.iter().find(|finding| finding.class == Class::Hardline) {
        return Some(Refusal::Hardline { key: finding.key });
    }
    let wants_password = findings.iter().any(|finding| finding.key == SUDO_STDIN);
    if wants_password && policy.sudo_password == SudoPassword::Missing {
        return Some(Refusal::SudoPasswordMissing);
    }
    rules(matter, policy, Effect::Deny).next().map(|rule| Refusal::Rule { pattern: rule.pattern.clone() })
}

fn rules<'a>(matter: &'a Matter<'_>, policy: &'a Policy<'_>, effect: Effect) -> impl Iterator<Item = &'a Rule> {
    policy.rules.iter().filter(move |rule| rule.effect == effect && rule.fits(policy.tool, matter))
}

/// Only one plain command can be on the list by its text: `git *` must not carry `; rm` along.
fn on_allowlist(matter: &Matter<'_>, policy: &Policy<'_>) -> bool {
    let Some(judgement) = matter.command.filter(|_| matter.files.is_empty()) else { return false };
    let is_plain = judgement.shape == Shape::Plain && judgement.readable;
    is_plain && policy.allowlist.iter().any(|entry| same(entry.trim(), judgement.command().trim()))
}

fn is_remembered(key: &str, policy: &Policy<'_>) -> bool {
    let listed = policy.allowlist.iter().any(|entry| canonical_key(entry).unwrap_or(entry) == key);
    may_be_remembered(key) && (listed || policy.session.contains(key))
}

fn may_be_remembered(key: &str) -> bool {
    key.starts_with(WANTED) || INTENTS.iter().any(|intent| intent.key == key && intent.memory == Memory::Always)
}

/// What the auxiliary model said about one command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opinion {
    Approve,
    Deny,
    /// Anything else, also an error or silence.
    Escalate,
}

/// The decision after a model was consulted. Its yes holds once; its no can be overruled by a person, once.
pub fn hear(opinion: Opinion, keys: Vec<String>, permanence: Permanence) -> Decision {
    match opinion {
        Opinion::Approve => Decision::Allow(Reason::ModelApproved),
        Opinion::Deny => Decision::Ask { keys, permanence: Permanence::OnceOnly },
        Opinion::Escalate => Decision::Ask { keys, permanence },
    }
}

/// What a person said, or did not say in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Once,
    Session,
    Always,
    Deny,
    TimedOut,
}

/// What is kept of an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remember {
    Nothing,
    Session(Vec<String>),
    /// For the session and in the settings.
    Always(Vec<String>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    Run(Remember),
    Denied,
    TimedOut,
}

/// Turns an answer into an end. More than was offered is never remembered.
pub fn settle(answer: Answer, keys: &[String], permanence: Permanence) -> Settled {
    let lasting: Vec<String> = keys.iter().filter(|key| may_be_remembered(key)).cloned().collect();
    match (answer, permanence) {
        (Answer::Deny, _) => Settled::Denied,
        (Answer::TimedOut, _) => Settled::TimedOut,
        (Answer::Once, _) | (Answer::Session | Answer::Always, Permanence::OnceOnly) => Settled::Run(Remember::Nothing),
        (Answer::Session, Permanence::Offered) => Settled::Run(Remember::Session(lasting)),
        (Answer::Always, Permanence::Offered) => Settled::Run(Remember::Always(lasting)),
    }
}
