//! The gate with its memory: who may be asked, what was allowed before, and what the owner wrote down.
//!
//! Every effect of every tool comes through [`Gate::admit`]. The order of the decision is [`decide`]'s; here the
//! questions are put, one at a time for each conversation, the clock is held against them, and the answers are kept.
//! A question that was answered while it waited is not put again. Whatever ends a question without a yes is a no.

use super::consent::Consents;
use super::decide::{
    Answer, Channel, Decision, Opinion, Permanence, Policy, Remember, Settled, Yolo, decide, hear, settle,
};
use super::judge::{Finding, Judgement, judge_after, judge_script};
use super::matter::{self, Matter, Wanted};
use super::on_disk;
use super::permit::{Approval, Permit, Refused};
use super::place::Place;
use super::question::visible;
use super::rule::{Mode, resolved};
use super::settings::ApprovalSettings;
use crate::effects::{Effects, Script, ShellCommand};
use crate::face::{Adviser, ApprovalQuestion, Face};
use crate::settings::Surroundings;
use futures_util::FutureExt as _;
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use hermes_types::SessionId;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Where "always" is written down.
pub trait LastingConsent: Send + Sync {
    /// Adds to `command_allowlist`. The reason of a failure is told to the person; the command still runs once.
    fn keep(&self, keys: &[String]) -> Result<(), String>;
}

pub struct Gate {
    settings: ApprovalSettings,
    /// The homes as they are written, and where they really lie.
    homes: Vec<(String, String)>,
    face: Arc<dyn Face>,
    adviser: Option<Arc<dyn Adviser>>,
    clock: Arc<dyn Clock>,
    lasting: Arc<dyn LastingConsent>,
    consents: Mutex<Consents>,
}

/// What wants to pass.
pub struct Wish<'a> {
    pub tool: &'a str,
    pub session: &'a SessionId,
    /// Whether questions of that conversation reach the person, if there is one.
    pub channel: Channel,
    pub effects: Effects,
    /// Canonical JSON, for rules about tools that run no command and touch no file.
    pub arguments: &'a str,
    /// A hook wants a person to say yes.
    pub wanted: Option<Wanted>,
}

/// What was found out about a wish before it is decided upon.
struct Inquiry {
    command: Option<Judgement>,
    files: Vec<Finding>,
}

/// A question that is still open.
struct Open {
    keys: Vec<String>,
    permanence: Permanence,
    advice: Option<String>,
}

impl Gate {
    pub fn new(
        settings: ApprovalSettings,
        around: &Surroundings,
        face: Arc<dyn Face>,
        adviser: Option<Arc<dyn Adviser>>,
        clock: Arc<dyn Clock>,
        lasting: Arc<dyn LastingConsent>,
    ) -> Self {
        let spelled = (text(&around.home), text(&around.hermes_home));
        let real = (text(&resolved(&around.home)), text(&resolved(&around.hermes_home)));
        let homes = if real == spelled { vec![spelled] } else { vec![spelled, real] };
        let consents = Mutex::new(Consents::new(&settings.allowlist));
        Self { settings, homes, face, adviser, clock, lasting, consents }
    }

    /// Lets these effects pass, or says why not.
    pub async fn admit(&self, wish: Wish<'_>, stop: &Stop) -> Result<Permit, Refused> {
        let inquiry = self.inquire(&wish).await;
        let open = match self.decide(&wish, &inquiry) {
            Decision::Allow(reason) => return Ok(Permit::new(wish.effects, Approval::Unasked(reason))),
            Decision::Refuse(refusal) => return Err(Refused::by_policy(refusal)),
            Decision::Ask { keys, permanence } => Open { keys, permanence, advice: None },
            Decision::Consult { keys, permanence } => match self.consult(&wish, keys, permanence, stop).await {
                (Decision::Allow(reason), _) => return Ok(Permit::new(wish.effects, Approval::Unasked(reason))),
                (Decision::Refuse(refusal), _) => return Err(Refused::by_policy(refusal)),
                (Decision::Ask { keys, permanence } | Decision::Consult { keys, permanence }, advice) => {
                    Open { keys, permanence, advice }
                }
            },
        };
        self.ask(wish, &inquiry, open, stop).await
    }

    /// Forgets what was allowed in a conversation, also that it is not asked. Its open questions end as a no.
    pub fn forget(&self, session: &SessionId) {
        self.consents().forget(session);
    }

    /// Whether one conversation is asked at all. What no mode can lift stays.
    pub fn set_yolo(&self, session: &SessionId, yolo: Yolo) {
        self.consents().of(session).yolo = yolo;
    }

    pub fn yolo(&self, session: &SessionId) -> Yolo {
        match self.settings.yolo {
            Yolo::On => Yolo::On,
            Yolo::Off => self.consents().of(session).yolo,
        }
    }

    fn consents(&self) -> MutexGuard<'_, Consents> {
        self.consents.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Judges the command and the files. Links are followed on disk: a command is judged by its text, and `notes` may
    /// be a link to `~/.bashrc`.
    async fn inquire(&self, wish: &Wish<'_>) -> Inquiry {
        let cwd = wish.effects.cwd().map_or_else(|| "/".to_owned(), text);
        let places: Vec<Place> = self.homes.iter().map(|(home, hermes_home)| place(home, hermes_home, &cwd)).collect();
        let mut files = matter::about_files(matter::written(&wish.effects.scopes), &places);
        let mut judgements = places.iter().filter_map(|place| match (&wish.effects.command, &wish.effects.script) {
            (Some(command), _) => Some(judge_after(&command.remembered, &command.text, place)),
            (None, Some(script)) => Some(judge_script(&script.text, place)),
            (None, None) => None,
        });
        let Some(mut judgement) = judgements.next() else { return Inquiry { command: None, files } };
        for other in judgements {
            for finding in other.findings {
                if judgement.findings.iter().all(|known| known.key != finding.key) {
                    judgement.findings.push(finding);
                }
            }
        }
        if !judgement.scripts.is_empty() {
            let (scripts, places) = (judgement.scripts.clone(), places.clone());
            let (findings, texts) = beside(move || on_disk::judged(&scripts, &places)).await;
            judgement.texts.extend(texts);
            files.extend(findings);
        }
        if !judgement.writes.is_empty() {
            let written: Vec<PathBuf> = judgement.writes.iter().map(PathBuf::from).collect();
            let followed = beside(move || written.iter().map(|path| resolved(path)).collect::<Vec<_>>()).await;
            for finding in matter::about_files(followed.iter().map(PathBuf::as_path), &places) {
                let known = judgement.findings.iter().chain(&files).any(|known| known.key == finding.key);
                if !known {
                    files.push(finding);
                }
            }
        }
        Inquiry { command: Some(judgement), files }
    }

    fn decide(&self, wish: &Wish<'_>, inquiry: &Inquiry) -> Decision {
        let matter = Matter {
            command: inquiry.command.as_ref(),
            scopes: &wish.effects.scopes,
            arguments: wish.arguments,
            files: &inquiry.files,
            wanted: wish.wanted.as_ref(),
        };
        let mode = match self.settings.mode {
            Mode::Smart if self.adviser.is_none() => Mode::Manual,
            mode => mode,
        };
        let channel = match wish.channel {
            Channel::Person => self.face.channel(),
            Channel::Nobody => Channel::Nobody,
        };
        let mut consents = self.consents();
        let conversation = consents.of(wish.session).clone();
        let yolo = if self.settings.yolo == Yolo::On { Yolo::On } else { conversation.yolo };
        let policy = Policy {
            tool: wish.tool,
            mode,
            yolo,
            channel,
            sudo_password: self.settings.sudo_password,
            rules: &self.settings.rules,
            allowlist: &consents.always,
            session: &conversation.keys,
        };
        decide(&matter, &policy)
    }

    /// What a model thinks of it. Silence, an error and a late answer mean that a person has to decide.
    async fn consult(
        &self,
        wish: &Wish<'_>,
        keys: Vec<String>,
        permanence: Permanence,
        stop: &Stop,
    ) -> (Decision, Option<String>) {
        let Some(adviser) = &self.adviser else { return (Decision::Ask { keys, permanence }, None) };
        let considered = AssertUnwindSafe(adviser.consider(subject(wish), keys.clone())).catch_unwind();
        let opinion = tokio::select! {
            biased;
            () = stop.wait() => Opinion::Escalate,
            () = self.clock.alarm(self.settings.timeout) => Opinion::Escalate,
            opinion = considered => opinion.unwrap_or(Opinion::Escalate),
        };
        let advice = (opinion == Opinion::Deny).then(|| "the model that was consulted advises against it".to_owned());
        (hear(opinion, keys, permanence), advice)
    }

    async fn ask(&self, wish: Wish<'_>, inquiry: &Inquiry, open: Open, stop: &Stop) -> Result<Permit, Refused> {
        let conversation = self.consents().of(wish.session).clone();
        let gone = conversation.gone;
        let _turn = tokio::select! {
            biased;
            () = stop.wait() => return Err(Refused::interrupted(open.keys)),
            () = gone.wait() => return Err(Refused::denied(open.keys)),
            turn = conversation.line.lock() => turn,
        };
        // Somebody may have answered for all of its kind while this one waited.
        let keys = match self.decide(&wish, inquiry) {
            Decision::Allow(reason) => return Ok(Permit::new(wish.effects, Approval::Unasked(reason))),
            Decision::Refuse(refusal) => return Err(Refused::by_policy(refusal)),
            Decision::Ask { keys, .. } | Decision::Consult { keys, .. } => keys,
        };
        let permanence = open.permanence;
        let question = self.question(&wish, &keys, permanence, open.advice);
        let asked = AssertUnwindSafe(self.face.approve(question)).catch_unwind();
        let answer = tokio::select! {
            biased;
            () = stop.wait() => return Err(Refused::interrupted(keys)),
            () = gone.wait() => return Err(Refused::denied(keys)),
            answer = asked => answer.unwrap_or(Answer::Deny),
            () = self.clock.alarm(self.settings.timeout) => Answer::TimedOut,
        };
        match settle(answer, &keys, permanence) {
            Settled::Denied => Err(Refused::denied(keys)),
            Settled::TimedOut => Err(Refused::timed_out(keys)),
            Settled::Run(remember) => {
                self.consents().add(wish.session, &remember);
                self.write_down(remember).await;
                Ok(Permit::new(wish.effects, Approval::Person(keys)))
            }
        }
    }

    fn question(
        &self,
        wish: &Wish<'_>,
        keys: &[String],
        permanence: Permanence,
        advice: Option<String>,
    ) -> ApprovalQuestion {
        let reason = |key: &String| match &wish.wanted {
            Some(wanted) if wanted.key == *key => visible(&wanted.message),
            _ => visible(key),
        };
        ApprovalQuestion {
            session: wish.session.clone(),
            tool: visible(wish.tool),
            what: visible(&hermes_core::redact::text(&subject(wish))),
            cwd: wish.effects.cwd().map(|cwd| visible(&text(cwd))),
            reasons: keys.iter().map(reason).collect(),
            permanence,
            advice,
            timeout: self.settings.timeout,
        }
    }

    async fn write_down(&self, remember: Remember) {
        let Remember::Always(keys) = remember else { return };
        let lasting = self.lasting.clone();
        let kept = tokio::task::spawn_blocking(move || lasting.keep(&keys)).await;
        let kept = kept.unwrap_or_else(|error| Err(error.to_string()));
        if let Err(reason) = kept {
            tracing::warn!(%reason, "a consent could not be written down");
            self.face.tell(format!("This is allowed until the program ends. It could not be written down: {reason}"));
        }
    }
}

/// Looks at the disk without holding others up. What cannot be found out must not count as harmless, so a panic goes on:
/// whoever asked for a permit gets none.
async fn beside<T: Send + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(look).await {
        Ok(seen) => seen,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

fn place(home: &str, hermes_home: &str, cwd: &str) -> Place {
    Place { home: home.to_owned(), hermes_home: hermes_home.to_owned(), cwd: cwd.to_owned() }
}

/// What would be done, in the words of the call: its command or script, the files it writes, or its arguments.
fn subject(wish: &Wish<'_>) -> String {
    if let Some(ShellCommand { text, .. }) = &wish.effects.command {
        return text.clone();
    }
    if let Some(Script { text, .. }) = &wish.effects.script {
        return text.clone();
    }
    let written: Vec<String> =
        matter::written(&wish.effects.scopes).map(|path| format!("write {}", text(path))).collect();
    if written.is_empty() { format!("{} {}", wish.tool, wish.arguments) } else { written.join("\n") }
}
