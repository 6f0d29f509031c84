//! What everybody who deals with one server shares: its settings, the connection of the moment, and who is calling.
//!
//! A tool puts a question with [`Server::ask`]. It waits a little for a connection that is being made, is turned away while
//! the server is left alone, and is put a second time only where nothing can be done twice by that.

use crate::breaker::{Admission, Breaker};
use crate::fault::{Attempt, Effect, Fault, Nature, Verdict};
use crate::life::Phase;
use crate::link::Link;
use crate::sampling::Ration;
use crate::settings::{CallOrder, ServerSettings};
use hermes_core::clock::Clock;
use hermes_core::stop::Stop;
use hermes_tools::desk::{Cx, Desk, Workshop};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, Semaphore, watch};

/// How long a call waits for a connection that is being made anew, and for a program that has to be started.
const RECONNECTING: Duration = Duration::from_secs(5);
const WAKING: Duration = Duration::from_secs(15);
/// Calls at the same time, where a server takes several.
const SIDE_BY_SIDE: usize = 8;

/// How a server is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    pub(crate) phase: Phase,
    /// What went wrong last, while it is not ready.
    pub(crate) trouble: Option<String>,
}

pub(crate) struct Server {
    pub(crate) settings: ServerSettings,
    pub(crate) shop: Arc<Workshop>,
    /// The connection, while there is one.
    pub(crate) link: watch::Sender<Option<Arc<Link>>>,
    pub(crate) condition: watch::Sender<Condition>,
    /// A call waits for a connection.
    pub(crate) wanted: Notify,
    /// The server says that its tools are others now.
    pub(crate) changed: Notify,
    /// A call ran out of time: whether the server still lives should be found out.
    pub(crate) doubted: Notify,
    pub(crate) ration: Mutex<Ration>,
    /// One question to the person at a time.
    pub(crate) word: Semaphore,
    /// Questions in a row that the person did not answer, in the calls of this moment.
    pub(crate) unanswered: AtomicU32,
    breaker: Mutex<Breaker>,
    seats: Semaphore,
    callers: Mutex<Callers>,
}

/// Who calls now, and when somebody did last.
#[derive(Default)]
struct Callers {
    callers: Vec<Caller>,
    last: Duration,
}

/// A conversation that waits for an answer, and how it stops waiting.
#[derive(Clone)]
pub(crate) struct Caller {
    pub(crate) desk: Arc<Desk>,
    pub(crate) stop: Stop,
}

/// One question and what putting it twice would mean.
pub(crate) struct Question<'a> {
    pub(crate) method: &'a str,
    pub(crate) params: Value,
    pub(crate) nature: Nature,
}

/// A question without an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) told: String,
    pub(crate) effect: Effect,
}

impl Server {
    pub(crate) fn new(settings: ServerSettings, shop: Arc<Workshop>) -> Arc<Self> {
        let seats = match settings.order {
            CallOrder::OneByOne => 1,
            CallOrder::SideBySide => SIDE_BY_SIDE,
        };
        let condition = Condition { phase: Phase::Connecting(0), trouble: None };
        Arc::new(Self {
            settings,
            shop,
            link: watch::Sender::new(None),
            condition: watch::Sender::new(condition),
            wanted: Notify::new(),
            changed: Notify::new(),
            doubted: Notify::new(),
            ration: Mutex::default(),
            word: Semaphore::new(1),
            unanswered: AtomicU32::new(0),
            breaker: Mutex::default(),
            seats: Semaphore::new(seats),
            callers: Mutex::default(),
        })
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.shop.clock
    }

    /// The folder that the server is told to work in: that of whoever calls, or where the program was started.
    pub(crate) fn root(&self) -> PathBuf {
        self.caller().map_or_else(|| self.shop.settings.around.cwd.clone(), |caller| caller.desk.cwd())
    }

    /// The conversation whose call the server works on. With several, the newest.
    pub(crate) fn caller(&self) -> Option<Caller> {
        self.callers().callers.last().cloned()
    }

    /// Since when nobody calls, or nothing while somebody does.
    pub(crate) fn idle_since(&self) -> Option<Duration> {
        let callers = self.callers();
        callers.callers.is_empty().then_some(callers.last)
    }

    /// Puts a question for a call, within the limits of the server.
    pub(crate) async fn ask(&self, question: Question<'_>, cx: &Cx) -> Result<Value, Failed> {
        let _seat = tokio::select! {
            biased;
            () = cx.stop.wait() => return Err(self.failed(&Fault::Interrupted, Effect::Known)),
            seat = self.seats.acquire() => seat,
        };
        if let Admission::Refused(wait) = self.breaker().admit(self.clock().elapsed()) {
            let name = &self.settings.name;
            let told = format!(
                "the MCP server {name} failed several times in a row and is left alone for {} s more; do something else meanwhile",
                wait.as_secs().max(1)
            );
            return Err(Failed { told, effect: Effect::Known });
        }
        let _caller = Calling::enter(self, Caller { desk: cx.desk.clone(), stop: cx.stop.clone() });
        let mut attempt = Attempt::First;
        loop {
            let fault = match self.attempt(&question, &cx.stop).await {
                Ok(answer) => {
                    self.breaker().answered();
                    return Ok(answer);
                }
                Err(fault) => fault,
            };
            match fault.verdict(question.nature, attempt) {
                Verdict::Again => {
                    tracing::info!(server = %self.settings.name, method = question.method, ?fault, "put once more");
                    attempt = Attempt::Second;
                }
                Verdict::Tell(effect) => {
                    self.note(&fault);
                    return Err(self.failed(&fault, effect));
                }
            }
        }
    }

    async fn attempt(&self, question: &Question<'_>, stop: &Stop) -> Result<Value, Fault> {
        let link = self.connected(stop).await?;
        let limit = self.settings.timeout;
        let over = async {
            tokio::select! {
                biased;
                () = stop.wait() => Fault::Interrupted,
                () = self.clock().alarm(limit) => Fault::TimedOut(limit),
            }
        };
        link.ask_until(question.method, question.params.clone(), over).await
    }

    /// The connection, as soon as there is one that is open.
    async fn connected(&self, stop: &Stop) -> Result<Arc<Link>, Fault> {
        let mut links = self.link.subscribe();
        let open = |link: &Option<Arc<Link>>| link.as_ref().is_some_and(|link| link.is_open());
        if let Some(link) = links.borrow_and_update().clone().filter(|link| link.is_open()) {
            return Ok(link);
        }
        let phase = self.condition.borrow().phase;
        let patience = if phase == Phase::Resting { WAKING } else { RECONNECTING };
        self.wanted.notify_one();
        let found = tokio::select! {
            biased;
            () = stop.wait() => return Err(Fault::Interrupted),
            found = links.wait_for(open) => found.ok().and_then(|link| link.clone()),
            () = self.clock().alarm(patience) => None,
        };
        found.ok_or_else(|| {
            let trouble =
                self.condition.borrow().trouble.clone().map(|trouble| format!(" ({trouble})")).unwrap_or_default();
            Fault::NotSent(format!("it is being connected to again{trouble}; do something else first"))
        })
    }

    fn note(&self, fault: &Fault) {
        if fault.counts_against_the_server() {
            self.breaker().failed(self.clock().elapsed());
        }
        if matches!(fault, Fault::TimedOut(_)) {
            self.doubted.notify_one();
        }
    }

    fn failed(&self, fault: &Fault, effect: Effect) -> Failed {
        let mut told = fault.told(&self.settings.name);
        if effect == Effect::Unknown {
            told.push_str(". Whether it did what was asked is not known: look before you do it again");
        }
        Failed { told, effect }
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn callers(&self) -> MutexGuard<'_, Callers> {
        self.callers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Marks a conversation as calling, as long as it lives.
struct Calling<'a> {
    server: &'a Server,
    desk: Arc<Desk>,
}

impl<'a> Calling<'a> {
    fn enter(server: &'a Server, caller: Caller) -> Self {
        let desk = caller.desk.clone();
        server.callers().callers.push(caller);
        server.unanswered.store(0, Ordering::Relaxed);
        Self { server, desk }
    }
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        let now = self.server.clock().elapsed();
        let mut callers = self.server.callers();
        if let Some(place) = callers.callers.iter().rposition(|caller| Arc::ptr_eq(&caller.desk, &self.desk)) {
            callers.callers.remove(place);
        }
        callers.last = now;
    }
}
