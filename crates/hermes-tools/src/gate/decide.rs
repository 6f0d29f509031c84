//! From findings and policy to a decision. One order, no exceptions:
//!
//! 1. hardline, 2. a password for sudo from nowhere, 3. deny rules: refused, also under yolo and with mode off;
//! 4. yolo or mode off, 5. ask rules, 6. allow rules and the allow list, 7. no findings left: allowed;
//! 8. nobody there: refused; 9. smart: a model is asked; 10. a person is asked.
//!
//! Silence is never consent: a timeout denies, and where nobody can be asked nothing dangerous runs.

use super::intent::{Class, INTENTS, Memory, SUDO_STDIN, canonical_key};
use super::judge::{Judgement, Shape};
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
    ModelDenied {
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

pub fn decide(judgement: &Judgement, policy: &Policy<'_>) -> Decision {
    if let Some(refusal) = forbidden(judgement, policy) {
        return Decision::Refuse(refusal);
    }
    if policy.yolo == Yolo::On || policy.mode == Mode::Off {
        return Decision::Allow(if judgement.findings.is_empty() { Reason::Harmless } else { Reason::NotAsked });
    }
    let asked: Vec<String> =
        rules(judgement, policy, Effect::Ask).map(|rule| format!("rule: {}", rule.pattern)).collect();
    if asked.is_empty() {
        if rules(judgement, policy, Effect::Allow).next().is_some() {
            return Decision::Allow(Reason::Rule);
        }
        if on_allowlist(judgement, policy) {
            return Decision::Allow(Reason::Allowlist);
        }
    }
    let open: Vec<&'static str> =
        judgement.findings.iter().map(|finding| finding.key).filter(|key| !is_remembered(key, policy)).collect();
    let permanence = if asked.is_empty() && open.iter().all(|key| may_be_remembered(key)) {
        Permanence::Offered
    } else {
        Permanence::OnceOnly
    };
    let by_rule = !asked.is_empty();
    let keys: Vec<String> = asked.into_iter().chain(open.into_iter().map(str::to_owned)).collect();
    match (keys.is_empty(), policy.channel, policy.mode) {
        (true, ..) if judgement.findings.is_empty() => Decision::Allow(Reason::Harmless),
        (true, ..) => Decision::Allow(Reason::Remembered),
        // A rule that says "ask" means a person: no model stands in for one.
        (false, Channel::Person, _) if by_rule => Decision::Ask { keys, permanence },
        (false, Channel::Nobody, _) if by_rule => Decision::Refuse(Refusal::NobodyToAsk { keys }),
        (false, _, Mode::Smart) => Decision::Consult { keys, permanence },
        (false, Channel::Person, _) => Decision::Ask { keys, permanence },
        (false, Channel::Nobody, _) => Decision::Refuse(Refusal::NobodyToAsk { keys }),
    }
}

/// What no mode and no consent can lift.
fn forbidden(judgement: &Judgement, policy: &Policy<'_>) -> Option<Refusal> {
    if let Some(finding) = judgement.findings.iter().find(|finding| finding.class == Class::Hardline) {
        return Some(Refusal::Hardline { key: finding.key });
    }
    let wants_password = judgement.findings.iter().any(|finding| finding.key == SUDO_STDIN);
    if wants_password && policy.sudo_password == SudoPassword::Missing {
        return Some(Refusal::SudoPasswordMissing);
    }
    rules(judgement, policy, Effect::Deny).next().map(|rule| Refusal::Rule { pattern: rule.pattern.clone() })
}

fn rules<'a>(judgement: &'a Judgement, policy: &'a Policy<'_>, effect: Effect) -> impl Iterator<Item = &'a Rule> {
    policy.rules.iter().filter(move |rule| rule.effect == effect && rule.fits(policy.tool, judgement))
}

/// Only one plain command can be on the list by its text: `git *` must not carry `; rm` along.
fn on_allowlist(judgement: &Judgement, policy: &Policy<'_>) -> bool {
    let is_plain = judgement.shape == Shape::Plain && judgement.readable;
    is_plain && policy.allowlist.iter().any(|entry| same(entry.trim(), judgement.command().trim()))
}

fn is_remembered(key: &str, policy: &Policy<'_>) -> bool {
    let listed = policy.allowlist.iter().any(|entry| canonical_key(entry) == Some(key));
    may_be_remembered(key) && (listed || policy.session.contains(key))
}

fn may_be_remembered(key: &str) -> bool {
    INTENTS.iter().any(|intent| intent.key == key && intent.memory == Memory::Always)
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
pub fn hear(opinion: Opinion, keys: Vec<String>, permanence: Permanence, channel: Channel) -> Decision {
    match (opinion, channel) {
        (Opinion::Approve, _) => Decision::Allow(Reason::ModelApproved),
        (Opinion::Deny, Channel::Person) => Decision::Ask { keys, permanence: Permanence::OnceOnly },
        (Opinion::Deny, Channel::Nobody) => Decision::Refuse(Refusal::ModelDenied { keys }),
        (Opinion::Escalate, Channel::Person) => Decision::Ask { keys, permanence },
        (Opinion::Escalate, Channel::Nobody) => Decision::Refuse(Refusal::NobodyToAsk { keys }),
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
