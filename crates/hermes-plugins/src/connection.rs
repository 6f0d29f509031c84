//! One run of a plugin's program, and the talk with it.
//!
//! Requests go out with a number each and wait for the line that answers it; many can wait at the same time. A listener
//! reads what the plugin says: answers, wishes of its own (`tools/dispatch`, `log`), and noise, which is written down and
//! nothing more. However the program ends, everybody who waits hears why, in words with its last lines of stderr. Dropping
//! a connection ends the program and everything it started.

use crate::child::{Line, Lines, Program, Running, not_started};
use crate::dispatch::{Dispatching, MOST_DISPATCHED, Open};
use crate::protocol::{self, Incoming, LONGEST_LINE, NO_METHOD, REFUSED};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use hermes_core::clock::Clock;
use hermes_tools::terminal::family::{Family, Leash};
use hermes_types::clip;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::task::AbortOnDropHandle;

/// Messages on their way out before somebody has to wait.
const QUEUE: usize = 64;
/// Between the end of its output and its own end.
const EXIT_GRACE: Duration = Duration::from_secs(1);
/// How long it has to end by itself once it was asked to.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(2);
/// Lines of stderr, of noise on stdout, and of its own log that are written down in one run: more would push out what
/// others have to say.
const MOST_LOGGED: usize = 200;
const LONGEST_LOGGED: usize = 500;
const LONGEST_ERROR_LINE: usize = 64 * 1024;
/// Last lines of stderr that are told when it ends.
const LAST_WORDS: usize = 6;
const LONGEST_REASON: usize = 2_000;

/// Why a request has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Failure {
    /// The plugin said no.
    #[error("{0}")]
    Refused(String),
    #[error("it gave no answer within {} s", .0.as_secs())]
    Late(Duration),
    /// The program is gone.
    #[error("{0}")]
    Gone(String),
}

/// A program that runs and listens.
pub(crate) struct Connection {
    shared: Arc<Shared>,
    next: AtomicU64,
    clock: Arc<dyn Clock>,
    pub(crate) began: Duration,
    // In this order: nobody listens any more when the family ends.
    _listener: AbortOnDropHandle<()>,
    _writer: AbortOnDropHandle<()>,
    _errors: AbortOnDropHandle<()>,
    leash: Leash,
}

/// What the tasks of a connection have in common.
struct Shared {
    plugin: String,
    out: mpsc::Sender<String>,
    waiting: Mutex<BTreeMap<u64, oneshot::Sender<Result<Value, String>>>>,
    /// Calls of its tools that are going on, for what it asks in their name.
    open: Open,
    /// Lines it has said so far.
    said: AtomicU64,
    last_words: Mutex<VecDeque<String>>,
    gone: watch::Sender<Option<String>>,
}

impl Connection {
    pub(crate) fn start(plugin: &str, program: Program<'_>, open: Open, clock: Arc<dyn Clock>) -> Result<Self, String> {
        let name = program.words.first().cloned().unwrap_or_default();
        let folder = program.folder.clone();
        let Running { leash, child, stdin, stdout, stderr } =
            program.start().map_err(|error| not_started(&name, &folder, &error))?;
        let (out, outgoing) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared {
            plugin: plugin.to_owned(),
            out,
            waiting: Mutex::default(),
            open,
            said: AtomicU64::new(0),
            last_words: Mutex::default(),
            gone: watch::Sender::new(None),
        });
        let task = AbortOnDropHandle::new;
        Ok(Self {
            _listener: task(tokio::spawn(listen(stdout, child, leash.family.clone(), shared.clone()))),
            _writer: task(tokio::spawn(write(stdin, outgoing, shared.clone()))),
            _errors: task(tokio::spawn(read_errors(stderr, shared.clone()))),
            next: AtomicU64::new(1),
            began: clock.elapsed(),
            shared,
            clock,
            leash,
        })
    }

    /// Why it is over, once it is.
    pub(crate) fn gone(&self) -> Option<String> {
        self.shared.gone.borrow().clone()
    }

    pub(crate) fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn open(&self) -> &Open {
        &self.shared.open
    }

    pub(crate) async fn ask(&self, method: &str, params: &Value, limit: Duration) -> Result<Value, Failure> {
        self.ask_as(self.number(), method, params, limit).await
    }

    /// The answer to a request. One that comes too late is not waited for: the plugin hears `cancel`, and one that says
    /// nothing at all is taken for dead.
    pub(crate) async fn ask_as(
        &self,
        id: u64,
        method: &str,
        params: &Value,
        limit: Duration,
    ) -> Result<Value, Failure> {
        let waiting = Waiting { shared: &self.shared, id, cancels: method != "initialize" };
        let (tell, answer) = oneshot::channel();
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(id, tell);
        let said_before = self.shared.said.load(Ordering::Relaxed);
        let mut gone = self.shared.gone.subscribe();
        let asking = async {
            // A queue that is closed belongs to a program that is gone, which is what the answer will be.
            let _ = self.shared.out.send(protocol::request(id, method, params)).await;
            answer.await
        };
        let outcome = tokio::select! {
            answer = asking => answer.ok(),
            reason = gone.wait_for(Option::is_some) => {
                drop(waiting);
                let reason = reason.ok().and_then(|reason| reason.clone());
                return Err(Failure::Gone(reason.unwrap_or_else(|| "it ended".to_owned())));
            }
            () = self.clock.alarm(limit) => {
                drop(waiting);
                // One that works on something else may be silent because of that.
                if self.shared.is_idle() && self.shared.said.load(Ordering::Relaxed) == said_before {
                    self.shared.is_gone(format!("it said nothing for {} s and was ended", limit.as_secs()));
                }
                return Err(Failure::Late(limit));
            }
        };
        waiting.answered();
        match outcome {
            Some(outcome) => outcome.map_err(|reason| Failure::Refused(clip(&reason, LONGEST_REASON))),
            None => Err(Failure::Gone(self.gone().unwrap_or_else(|| "it ended".to_owned()))),
        }
    }

    /// Tells without waiting. What a plugin does not take in is dropped: whoever watches must not hold up the work.
    pub(crate) fn tell(&self, method: &str, params: &Value) {
        if self.shared.out.try_send(protocol::notice(method, params)).is_err() {
            tracing::debug!(plugin = %self.shared.plugin, method, "the plugin does not listen; it was not told");
        }
    }

    /// Asks it to end, and sees to it.
    pub(crate) async fn close(&self) {
        // Whatever it answers, or does not: it ends.
        let _ = self.ask("shutdown", &Value::Null, SHUTDOWN_GRACE).await;
        self.leash.family.end(SHUTDOWN_GRACE).await;
    }

    /// Ends what is left of a program that fell over or hangs.
    pub(crate) async fn bury(&self) {
        self.leash.family.end(Duration::ZERO).await;
    }
}

impl Shared {
    /// The first reason counts.
    fn is_gone(&self, reason: String) {
        self.gone.send_if_modified(|gone| gone.is_none().then(|| *gone = Some(reason)).is_some());
    }

    /// Nobody waits for an answer.
    fn is_idle(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    fn answered(&self, id: u64, outcome: Result<Value, Value>) {
        let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        if let Some(waiting) = waiting {
            // Who asked may have gone in the same moment.
            let _ = waiting.send(outcome.map_err(|error| protocol::reason(&error)));
        }
    }

    /// The newest lines of stderr that there is room for: the last one says why.
    fn last_words(&self) -> String {
        let words = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let mut room = LONGEST_REASON;
        let fits = |line: &&String| {
            let left = room.checked_sub(line.chars().count() + 1);
            left.inspect(|left| room = *left).is_some()
        };
        let mut newest: Vec<&str> = words.iter().rev().take_while(fits).map(String::as_str).collect();
        newest.reverse();
        newest.join("\n")
    }
}

/// A request without its answer. Given up, it is taken off the list and the plugin is told.
struct Waiting<'a> {
    shared: &'a Shared,
    id: u64,
    cancels: bool,
}

impl Waiting<'_> {
    fn answered(mut self) {
        self.cancels = false;
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.waiting.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.id);
        if self.cancels {
            // A queue that is full belongs to a plugin that does not listen anyway.
            let _ = self.shared.out.try_send(protocol::notice("cancel", &serde_json::json!({ "id": self.id })));
        }
    }
}

async fn write(mut stdin: ChildStdin, mut outgoing: mpsc::Receiver<String>, shared: Arc<Shared>) {
    while let Some(mut message) = outgoing.recv().await {
        message.push('\n');
        if let Err(error) = stdin.write_all(message.as_bytes()).await {
            tracing::debug!(plugin = %shared.plugin, %error, "the plugin no longer reads");
            return;
        }
    }
}

/// Reads until the program ends, or says something that cannot be read on from.
async fn listen(stdout: ChildStdout, mut child: Child, family: Family, shared: Arc<Shared>) {
    let mut lines = Lines::new(stdout, LONGEST_LINE);
    let mut dispatching: FuturesUnordered<Dispatching> = FuturesUnordered::new();
    let (mut noise, mut logged) = (0, 0);
    let mut exited = None;
    let broken = loop {
        let line = tokio::select! {
            line = lines.next() => line,
            status = child.wait(), if exited.is_none() => {
                exited = Some(status);
                // Whoever it left behind may hold its output open, and nothing would ever end it.
                family.end(Duration::ZERO).await;
                continue;
            }
            Some(answer) = dispatching.next(), if !dispatching.is_empty() => {
                if shared.out.send(answer).await.is_err() {
                    break None;
                }
                continue;
            }
        };
        let line = match line {
            Ok(Line::Text(line)) => line,
            Ok(Line::End) => break None,
            Ok(Line::TooLong) => {
                break Some(format!("it sent a line of more than {} MiB and was ended", LONGEST_LINE >> 20));
            }
            Err(error) => break Some(format!("its output could not be read: {error}")),
        };
        shared.said.fetch_add(1, Ordering::Relaxed);
        match Incoming::read(&line) {
            Incoming::Answer { id, outcome } => shared.answered(id, outcome),
            Incoming::Notice { method, params } if method == "log" => {
                logged += 1;
                log(&shared.plugin, &params, logged);
            }
            Incoming::Request { id, method, params }
                if method == "tools/dispatch" && dispatching.len() < MOST_DISPATCHED =>
            {
                dispatching.push(shared.open.dispatch(id, &params));
            }
            Incoming::Request { id, method, .. } if method == "tools/dispatch" => {
                let told = format!("tools/dispatch: {MOST_DISPATCHED} calls at once are the most; wait for an answer");
                if shared.out.send(protocol::answer(&id, Err((REFUSED, told)))).await.is_err() {
                    break None;
                }
            }
            Incoming::Request { id, method, .. } => {
                let unknown = Err((NO_METHOD, format!("Hermes knows no method {}", clip(&method, 80))));
                if shared.out.send(protocol::answer(&id, unknown)).await.is_err() {
                    break None;
                }
            }
            Incoming::Notice { .. } => {}
            Incoming::Noise => {
                noise += 1;
                note(&shared.plugin, "stdout", &line, noise);
            }
        }
    };
    let reason = match broken {
        Some(reason) => reason,
        None => ended(exited, child, &shared).await,
    };
    shared.is_gone(reason);
}

/// In words, how it ended.
async fn ended(exited: Option<io::Result<ExitStatus>>, mut child: Child, shared: &Shared) -> String {
    let exited = match exited {
        Some(exited) => Ok(exited),
        None => tokio::time::timeout(EXIT_GRACE, child.wait()).await,
    };
    let how = match exited {
        Ok(Ok(status)) => format!("its program ended ({status})"),
        Ok(Err(error)) => format!("its program ended ({error})"),
        Err(_) => "its program closed its output".to_owned(),
    };
    match shared.last_words() {
        words if words.is_empty() => how,
        words => format!("{how}: {words}"),
    }
}

async fn read_errors(stderr: ChildStderr, shared: Arc<Shared>) {
    let mut lines = Lines::new(stderr, LONGEST_ERROR_LINE);
    let mut count = 0;
    loop {
        let line = match lines.next().await {
            Ok(Line::Text(line)) => line,
            // Whoever writes without an end to its lines is read on all the same: a closed pipe would end it.
            Ok(Line::TooLong) => lines.break_off(),
            Ok(Line::End) | Err(_) => return,
        };
        count += 1;
        note(&shared.plugin, "stderr", &line, count);
        let text = clip(String::from_utf8_lossy(&line).trim_end(), LONGEST_LOGGED);
        let mut words = shared.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        words.push_back(text);
        while words.len() > LAST_WORDS {
            words.pop_front();
        }
    }
}

/// A line for the log, as long as there were not too many.
fn note(plugin: &str, pipe: &str, line: &[u8], count: usize) {
    if has_room(plugin, pipe, count) {
        let text = clip(String::from_utf8_lossy(line).trim_end(), LONGEST_LOGGED);
        tracing::info!(plugin, pipe, "{text}");
    }
}

/// Whether this line of a run is written down; the first one that is not is told.
fn has_room(plugin: &str, pipe: &str, count: usize) -> bool {
    if count == MOST_LOGGED + 1 {
        tracing::info!(plugin, pipe, "more of it is not written down");
    }
    count <= MOST_LOGGED
}

fn log(plugin: &str, params: &Value, count: usize) {
    if !has_room(plugin, "log", count) {
        return;
    }
    let text = params.get("message").and_then(Value::as_str).unwrap_or_default();
    let text = clip(text, LONGEST_LOGGED);
    match params.get("level").and_then(Value::as_str).unwrap_or("info").to_ascii_lowercase().as_str() {
        "debug" => tracing::debug!(plugin, "{text}"),
        "warning" | "warn" => tracing::warn!(plugin, "{text}"),
        "error" | "critical" => tracing::error!(plugin, "{text}"),
        _ => tracing::info!(plugin, "{text}"),
    }
}
