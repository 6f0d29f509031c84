//! Side jobs for the rest of the program: summaries, titles, approvals, looking at images.
//!
//! One call: name the job, give the request, get the reply. Which model does it, with which timeout and which fallbacks,
//! is decided by the settings ([`crate::resolve::route`]); recovery is the same as for the conversation itself.

use crate::auth::AuthContext;
use crate::board::{Board, Knowledge};
use crate::notes::Notes;
use crate::resolve::{self, Runtime};
use crate::transport::Transport;
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::clock::Clock;
use hermes_core::ports::{ForTask, Recorder, Unrecorded};
use hermes_core::receipt::Receipt;
use hermes_core::stop::Stop;
use hermes_core::till::{Paid, Till};
use hermes_types::{Event, Fault, FaultKind, Notice, Reply, Request};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const TRANSIENT_RETRIES: u32 = 2;
const MOST_TRANSIENT_RETRIES: u32 = 6;
/// An account without credit is left alone this long; jobs are many and each would learn it anew.
const UNPAID_REST: Duration = Duration::from_secs(600);

pub struct Auxiliary {
    knowledge: Arc<Knowledge>,
    auth: Arc<AuthContext>,
    transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    /// Providers whose account was empty, and until when they rest.
    unpaid: Mutex<HashMap<String, Duration>>,
    notes: Arc<Notes>,
    recorder: Arc<dyn Recorder>,
    /// Where jobs are paid.
    till: Option<Arc<Till>>,
}

impl Auxiliary {
    pub fn new(
        knowledge: Arc<Knowledge>,
        auth: Arc<AuthContext>,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let notes = Arc::new(Notes::new(auth.clone()));
        Self {
            knowledge,
            auth,
            transport,
            clock,
            unpaid: Mutex::default(),
            notes,
            recorder: Arc::new(Unrecorded),
            till: None,
        }
    }

    /// From now on this one hears of every attempt that is made for a session.
    #[must_use]
    pub fn recorded_by(self, recorder: Arc<dyn Recorder>) -> Self {
        Self { recorder, ..self }
    }

    /// From now on every job is asked for and paid there.
    #[must_use]
    pub fn paid_at(self, till: Arc<Till>) -> Self {
        Self { till: Some(till), ..self }
    }

    /// Waits for what is being written down about credentials; to be called when no more jobs come.
    pub async fn settled(&self) {
        self.notes.settled().await;
    }

    /// Does the job `task` for a conversation that runs on `main`. A request that names a model goes to that one first.
    pub async fn ask(&self, task: &str, request: Request, main: &Runtime, stop: &Stop) -> Result<Reply, Fault> {
        let settings = self.knowledge.config.auxiliary.get(task);
        if settings.and_then(|settings| settings.enabled) == Some(false) {
            let message = format!("the side job `{task}` is switched off by auxiliary.{task}.enabled");
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        let session = request.session.clone();
        if let Some(reached) = self.till.as_ref().and_then(|till| till.exhausted(session.as_ref())) {
            return Err(Fault::new(FaultKind::Billing, reached.message));
        }
        let places = self.places(task, Some(request.model.as_str()).filter(|model| !model.is_empty()), main);
        if places.is_empty() {
            let message = format!("no model can do the side job `{task}`; set auxiliary.{task}.provider and .model");
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        let names: Vec<String> = places.iter().map(|runtime| runtime.name.clone()).collect();
        let (knowledge, auth, transport) = (self.knowledge.clone(), self.auth.clone(), self.transport.clone());
        let board = Board::of_runtimes(places, knowledge, auth, transport, self.notes.clone());
        let at = Mutex::new(names.first().cloned().unwrap_or_default());
        let hear = |event| self.hear(event, &at);
        let recorder = ForTask { task, recorder: &*self.recorder };
        let ports = Ports { switchboard: &board, clock: &*self.clock, listener: &hear, recorder: &recorder };
        let (mut line, began) = (Line::default(), self.clock.elapsed());
        let result = ask(request, &mut line, self.manner(), &ports, stop).await;
        let usage = result.as_ref().ok().and_then(|reply| reply.usage);
        let took = self.clock.elapsed().saturating_sub(began);
        let answered = line.model().zip(usage).map(|(model, usage)| Receipt::of(&**model, usage, took));
        if let Some(till) = &self.till {
            for receipt in line.take_in_vain().iter().chain(&answered) {
                tell_of(&till.pay(session.as_ref(), task, receipt).await, task, &receipt.card.model);
            }
        }
        if let Err(Fault { kind: FaultKind::Billing, .. }) = &result {
            self.rest(&at.lock().unwrap_or_else(PoisonError::into_inner));
        }
        result
    }

    /// The places to ask, each with the job's own timeout and effort.
    fn places(&self, task: &str, model: Option<&str>, main: &Runtime) -> Vec<Runtime> {
        let mut usable = Vec::new();
        for candidate in resolve::route_to(model, task, main, &self.knowledge.known()) {
            match candidate.runtime {
                Ok(mut runtime) if !self.is_resting(&runtime.name) => {
                    runtime.limits.request_timeout = candidate.timeout;
                    runtime.reasoning = candidate.reasoning;
                    usable.push(runtime);
                }
                Ok(runtime) => tracing::debug!(task, provider = runtime.name, "passed over: its account was empty"),
                Err(reason) => tracing::debug!(task, %reason, "passed over"),
            }
        }
        usable
    }

    fn manner(&self) -> Manner {
        let configured = self.knowledge.config.transient_retries.and_then(|times| u32::try_from(times).ok());
        let retries = configured.unwrap_or(TRANSIENT_RETRIES).min(MOST_TRANSIENT_RETRIES);
        Manner { retries, live: false, seed: u64::from(self.clock.elapsed().subsec_nanos()) }
    }

    /// Every move to another place is told, so `at` is always the one that is being asked.
    fn hear(&self, event: Event, at: &Mutex<String>) {
        let Event::Notice { notice: Notice::FellBack { provider, kind, .. } } = event else { return };
        let mut at = at.lock().unwrap_or_else(PoisonError::into_inner);
        if kind == FaultKind::Billing {
            self.rest(&at);
        }
        *at = provider;
    }

    fn rest(&self, provider: &str) {
        let until = self.clock.elapsed() + UNPAID_REST;
        self.unpaid.lock().unwrap_or_else(PoisonError::into_inner).insert(provider.to_owned(), until);
    }

    fn is_resting(&self, provider: &str) -> bool {
        let unpaid = self.unpaid.lock().unwrap_or_else(PoisonError::into_inner);
        unpaid.get(provider).is_some_and(|until| self.clock.elapsed() < *until)
    }
}

/// The result of the job is there already, so trouble with its price goes to the log alone.
fn tell_of(paid: &Paid, task: &str, model: &str) {
    if !paid.limits_hold {
        tracing::warn!(task, model, "nobody says what this costs, so a limit in dollars (budget.*) cannot be held");
    }
    if let Err(error) = &paid.written {
        tracing::warn!(task, %error, "a call beside the conversation is missing in the ledger");
    }
}
