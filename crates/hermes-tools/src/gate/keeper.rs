//! The gate with its memory: who may be asked, what was allowed before, and what the owner wrote down.
//!
//! Every effect of every tool comes through [`Gate::admit`]. The order of the decision is [`decide`]'s; here the
//! questions are put, the clock is held against them, and the answers are kept.

use super::decide::{
    Answer, Channel, Decision, Permanence, Policy, Reason, Refusal, Remember, Settled, SudoPassword, Yolo, decide,
    hear, settle,
};
use super::judge::judge;
use super::permit::{Approval, Cause, Permit, Refused};
use super::place::Place;
use super::rule::{Effect, Mode, Rule};
use crate::effects::{Effects, ShellCommand};
use crate::face::{Adviser, ApprovalQuestion, Face};
use crate::settings::Surroundings;
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use hermes_types::SessionId;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// `approvals.*` and `command_allowlist`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalSettings {
    pub mode: Mode,
    pub timeout: Duration,
    pub rules: Vec<Rule>,
    pub allowlist: Vec<String>,
    pub yolo: Yolo,
    pub sudo_password: SudoPassword,
}

impl Default for ApprovalSettings {
    fn default() -> Self {
        Self {
            mode: Mode::Manual,
            timeout: Duration::from_secs(60),
            rules: Vec::new(),
            allowlist: Vec::new(),
            yolo: Yolo::Off,
            sudo_password: SudoPassword::Missing,
        }
    }
}

impl ApprovalSettings {
    pub(crate) fn read(config: &Value, odd: &mut Vec<String>) -> Self {
        let approvals = config.get("approvals").unwrap_or(&Value::Null);
        let mode = match approvals.get("mode") {
            None | Some(Value::Null) => Mode::Manual,
            Some(Value::Bool(false)) => Mode::Off,
            Some(word) => word.as_str().and_then(Mode::from_setting).unwrap_or_else(|| {
                odd.push(format!("approvals.mode: {word} is none of manual, smart, off; manual is used"));
                Mode::Manual
            }),
        };
        let texts = |value: Option<&Value>| -> Vec<String> {
            let list = value.and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let denied = texts(approvals.get("deny")).into_iter();
        let rules = denied.map(|pattern| Rule { tool: "terminal".into(), pattern, effect: Effect::Deny }).collect();
        let timeout =
            approvals.get("timeout").and_then(Value::as_u64).map_or(Duration::from_secs(60), Duration::from_secs);
        Self { mode, timeout, rules, allowlist: texts(config.get("command_allowlist")), ..Self::default() }
    }
}

/// Where "always" is written down.
pub trait LastingConsent: Send + Sync {
    /// Adds to `command_allowlist`. The reason of a failure is told to the person; the command still runs once.
    fn keep(&self, keys: &[String]) -> Result<(), String>;
}

pub struct Gate {
    settings: ApprovalSettings,
    around: Surroundings,
    face: Arc<dyn Face>,
    adviser: Option<Arc<dyn Adviser>>,
    clock: Arc<dyn Clock>,
    lasting: Arc<dyn LastingConsent>,
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    /// Keys that were allowed for good while this process runs.
    always: Vec<String>,
    sessions: BTreeMap<SessionId, BTreeSet<String>>,
}

/// What wants to pass.
pub struct Wish<'a> {
    pub tool: &'a str,
    pub session: &'a SessionId,
    pub effects: Effects,
}

impl Gate {
    pub fn new(
        settings: ApprovalSettings,
        around: Surroundings,
        face: Arc<dyn Face>,
        adviser: Option<Arc<dyn Adviser>>,
        clock: Arc<dyn Clock>,
        lasting: Arc<dyn LastingConsent>,
    ) -> Self {
        let memory = Memory { always: settings.allowlist.clone(), ..Memory::default() };
        Self { settings, around, face, adviser, clock, lasting, memory: Mutex::new(memory) }
    }

    /// Lets these effects pass, or says why not.
    pub async fn admit(&self, wish: Wish<'_>, stop: &Stop) -> Result<Permit, Refused> {
        let Some(command) = wish.effects.command.clone() else {
            return Ok(Permit::new(wish.effects, Approval::Unasked(Reason::Harmless)));
        };
        let judgement = judge(&command.text, &self.place(&command));
        let decision = {
            let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
            let none = BTreeSet::new();
            let policy = Policy {
                tool: wish.tool,
                mode: self.settings.mode,
                yolo: self.settings.yolo,
                channel: self.face.channel(),
                sudo_password: self.settings.sudo_password,
                rules: &self.settings.rules,
                allowlist: &memory.always,
                session: memory.sessions.get(wish.session).unwrap_or(&none),
            };
            decide(&judgement, &policy)
        };
        let decision = match decision {
            Decision::Consult { keys, permanence } => self.consult(&command, keys, permanence).await,
            decision => decision,
        };
        match decision {
            Decision::Allow(reason) => Ok(Permit::new(wish.effects, Approval::Unasked(reason))),
            Decision::Refuse(refusal) => Err(Refused::by_policy(refusal)),
            Decision::Ask { keys, permanence } | Decision::Consult { keys, permanence } => {
                self.ask(wish, &command, keys, permanence, stop).await
            }
        }
    }

    async fn consult(&self, command: &ShellCommand, keys: Vec<String>, permanence: Permanence) -> Decision {
        let channel = self.face.channel();
        match &self.adviser {
            Some(adviser) => {
                let opinion = adviser.consider(command.text.clone(), keys.clone()).await;
                hear(opinion, keys, permanence, channel)
            }
            None if channel == Channel::Person => Decision::Ask { keys, permanence },
            None => Decision::Refuse(Refusal::NobodyToAsk { keys }),
        }
    }

    async fn ask(
        &self,
        wish: Wish<'_>,
        command: &ShellCommand,
        keys: Vec<String>,
        permanence: Permanence,
        stop: &Stop,
    ) -> Result<Permit, Refused> {
        let question = ApprovalQuestion {
            tool: wish.tool.to_owned(),
            what: command.text.clone(),
            cwd: command.cwd.display().to_string(),
            reasons: keys.clone(),
            permanence,
            advice: None,
        };
        let answer = tokio::select! {
            answer = self.face.approve(question) => answer,
            () = self.clock.alarm(self.settings.timeout) => Answer::TimedOut,
            () = stop.wait() => return Err(Refused::interrupted(keys)),
        };
        match settle(answer, &keys, permanence) {
            Settled::Denied => Err(Refused::denied(keys)),
            Settled::TimedOut => Err(Refused::timed_out(keys)),
            Settled::Run(remember) => {
                self.remember(wish.session, remember);
                Ok(Permit::new(wish.effects, Approval::Person(keys)))
            }
        }
    }

    fn remember(&self, session: &SessionId, remember: Remember) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = match remember {
            Remember::Nothing => return,
            Remember::Session(keys) => keys,
            Remember::Always(keys) => {
                if let Err(reason) = self.lasting.keep(&keys) {
                    tracing::warn!(%reason, "the consent could not be written down");
                }
                memory.always.extend(keys.iter().cloned());
                keys
            }
        };
        memory.sessions.entry(session.clone()).or_default().extend(keys);
    }

    fn place(&self, command: &ShellCommand) -> Place {
        Place {
            home: self.around.home.display().to_string(),
            hermes_home: self.around.hermes_home.display().to_string(),
            cwd: command.cwd.display().to_string(),
        }
    }
}

impl Refused {
    fn by_policy(refusal: Refusal) -> Self {
        let (message, reasons) = match &refusal {
            Refusal::Hardline { key } => (
                format!(
                    "BLOCKED (hardline): {key}. This never runs, whatever the settings say. Do not try again in another form."
                ),
                vec![(*key).to_owned()],
            ),
            Refusal::SudoPasswordMissing => (
                "BLOCKED: the command reads a sudo password from its input, and none is configured. Leave out -S."
                    .to_owned(),
                Vec::new(),
            ),
            Refusal::Rule { pattern } => {
                (format!("BLOCKED: the owner's rule `{pattern}` forbids this."), vec![pattern.clone()])
            }
            Refusal::NobodyToAsk { keys } => (
                format!(
                    "BLOCKED: this needs a person's consent ({}), and nobody is there to give it. Do not try again in another form.",
                    keys.join("; ")
                ),
                keys.clone(),
            ),
            Refusal::ModelDenied { keys } => {
                (format!("BLOCKED: judged too dangerous ({}).", keys.join("; ")), keys.clone())
            }
        };
        Self { cause: Cause::Policy(refusal), message, reasons }
    }

    fn denied(reasons: Vec<String>) -> Self {
        let message =
            "BLOCKED: the person said no. They have not consented: do not try this again, rephrase it, or reach \
                       the same effect another way. Stop and wait for them."
                .to_owned();
        Self { cause: Cause::Denied, message, reasons }
    }

    fn timed_out(reasons: Vec<String>) -> Self {
        let message =
            "BLOCKED: nobody answered in time, and silence is no consent. Do not try this again, rephrase it, or \
                       reach the same effect another way. Stop and wait for the person."
                .to_owned();
        Self { cause: Cause::TimedOut, message, reasons }
    }

    fn interrupted(reasons: Vec<String>) -> Self {
        Self { cause: Cause::Interrupted, message: "BLOCKED: the person interrupted the question.".to_owned(), reasons }
    }
}
