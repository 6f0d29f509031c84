//! One plugin: started when it is needed, started again when it fell over, off for the session when it keeps falling.
//!
//! Nobody waits for a plugin before it is needed. Its first answer is what it registers; that is written down, so that the
//! next conversation knows its tools from the start. Tools that a conversation knows stay as they are: what a plugin
//! registers differently counts from the next one on. Hooks count at once.

use crate::child::{Outside, Program};
use crate::connection::{Connection, Failure};
use crate::discover::{Found, Readable};
use crate::dispatch::Open;
use crate::health::{Health, Next};
use crate::manifest::Start;
use crate::occasion::Occasion;
use crate::protocol::{Registration, ToolSpec, VERSION};
use crate::record::Records;
use hermes_core::clock::Clock;
use hermes_core::ports::Listener;
use hermes_tools::desk::Cx;
use hermes_types::{CallId, Event, Notice, Object};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio_util::task::AbortOnDropHandle;

/// From its start to its first answer.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long the end of the program waits for the start of a plugin that has something to hear.
const LAST_CHANCE: Duration = Duration::from_secs(2);
/// Older news of a plugin that does not run are dropped.
const LONGEST_BACKLOG: usize = 64;

/// Why a module of the Python program does not run here.
pub const NEEDS_PYTHON: &str =
    "it needs the Python program: it is a module with `register(ctx)`, and nothing here can be started";
/// Why a folder with a manifest alone does not run.
pub const NOTHING_TO_START: &str =
    "its manifest says no `command`, and no plugin, plugin.py or plugin.sh lies beside it";

/// Where a plugin works, and for whom.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) outside: Outside,
    pub(crate) records: Records,
    pub(crate) clock: Arc<dyn Clock>,
    /// The platform of the conversation, such as `cli`.
    pub(crate) platform: String,
    /// Who tells the person what goes wrong.
    pub(crate) listener: Arc<dyn Listener>,
}

pub(crate) struct Plugin {
    pub(crate) key: String,
    folder: PathBuf,
    readable: Readable,
    words: Vec<String>,
    host: Host,
    /// What it registered when it ran last.
    registered: RwLock<Option<Arc<Registration>>>,
    open: Open,
    /// What it is told as soon as it runs.
    backlog: Mutex<VecDeque<(String, Value)>>,
    /// A start that nobody waits for.
    waking: Mutex<Option<AbortOnDropHandle<()>>>,
    /// Held for as long as a start takes: one is enough, and everybody who needs it waits for the same one.
    seat: tokio::sync::Mutex<Seat>,
}

#[derive(Default)]
struct Seat {
    connection: Option<Arc<Connection>>,
    health: Health,
}

impl Plugin {
    /// Nothing for a plugin that cannot be started here.
    pub(crate) fn new(found: &Found, host: Host) -> Option<Arc<Self>> {
        let readable = found.read.as_ref().ok()?.clone();
        let Start::Command(words) = readable.start.clone() else { return None };
        let registered = host.records.recall(found).map(Arc::new);
        Some(Arc::new(Self {
            key: found.key.clone(),
            folder: found.folder.clone(),
            readable,
            words,
            host,
            registered: RwLock::new(registered),
            open: Open::default(),
            backlog: Mutex::default(),
            waking: Mutex::default(),
            seat: tokio::sync::Mutex::default(),
        }))
    }

    /// What it registers, as far as that is known without asking it.
    pub(crate) fn registered(&self) -> Option<Arc<Registration>> {
        self.registered.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether its manifest says that it listens to this.
    pub(crate) fn announces(&self, occasion: Occasion) -> bool {
        self.readable.manifest.provides_hooks.iter().any(|hook| hook == occasion.name())
    }

    /// Whether the plugin made this call itself.
    pub(crate) fn made(&self, call: &CallId) -> bool {
        self.open.made(call)
    }

    /// The plugin, running. Waits for its start, at most as long as one may take.
    pub(crate) async fn running(&self) -> Result<Arc<Connection>, String> {
        let mut seat = self.seat.lock().await;
        if let Some(connection) = seat.connection.clone() {
            let Some(reason) = connection.gone() else {
                self.catch_up(&connection);
                return Ok(connection);
            };
            let lived = self.host.clock.elapsed().saturating_sub(connection.began);
            self.fell(&reason);
            seat.connection = None;
            seat.health.fell(lived, &reason);
            connection.bury().await;
        }
        match seat.health.next() {
            Next::Off(reason) => return Err(reason),
            Next::Start { after } if after.is_zero() => {}
            Next::Start { after } => self.host.clock.pause(after).await,
        }
        match self.start().await {
            Ok(connection) => {
                seat.connection = Some(connection.clone());
                self.catch_up(&connection);
                Ok(connection)
            }
            Err(reason) => {
                tracing::warn!(plugin = %self.key, %reason, "the plugin did not start");
                if seat.health == Health::default() {
                    let text = format!("the plugin {} did not start: {reason}. `hermes doctor` looks at it", self.key);
                    self.host.listener.hear(Event::Notice { notice: Notice::Warning { text } });
                }
                seat.health.fell(Duration::ZERO, &reason);
                Err(reason)
            }
        }
    }

    /// Leaves word of it for `hermes doctor`.
    fn fell(&self, reason: &str) {
        tracing::warn!(plugin = %self.key, %reason, "the plugin fell over");
        if let Err(error) = self.host.records.fell(&self.key, reason) {
            tracing::warn!(plugin = %self.key, %error, "that it fell over could not be written down");
        }
    }

    async fn start(&self) -> Result<Arc<Connection>, String> {
        let data = self.host.outside.around.hermes_home.join("plugin-data").join(&self.key);
        std::fs::create_dir_all(&data).map_err(|error| format!("{}: {error}", data.display()))?;
        let variables = self.host.outside.variables(&self.readable.manifest.requires_env);
        let program = Program { words: &self.words, folder: self.folder.clone(), variables };
        let connection = Connection::start(&self.key, program, self.open.clone(), self.host.clock.clone())?;
        let hello = json!({
            "protocol_version": VERSION,
            "name": self.key,
            "home": data,
            "hermes_home": self.host.outside.around.hermes_home,
            "cwd": self.host.outside.around.cwd,
            "platform": self.host.platform,
        });
        let answer = connection.ask("initialize", &hello, START_LIMIT).await;
        let answer = answer.map_err(|failure| match failure {
            Failure::Refused(reason) => format!("it refused to start: {reason}"),
            Failure::Late(limit) => format!("it did not answer `initialize` within {} s", limit.as_secs()),
            Failure::Gone(reason) => reason,
        })?;
        self.knows(Registration::read(answer)?);
        Ok(Arc::new(connection))
    }

    fn knows(&self, registered: Registration) {
        for told in registered.deaf() {
            tracing::warn!(plugin = %self.key, "{told}");
        }
        self.open.these_are_its_own(registered.tools.iter().map(|tool| tool.name.clone()));
        let before = self.registered();
        if before.as_deref() == Some(&registered) {
            return;
        }
        if let Err(error) = self.host.records.keep(&self.key, &self.folder, &self.readable, &registered) {
            tracing::warn!(plugin = %self.key, %error, "what it registers could not be written down");
        }
        *self.registered.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(registered));
    }

    /// Calls one of its tools. The answer as it is, or why there is none, in words for a model.
    pub(crate) async fn call(&self, tool: &ToolSpec, arguments: &Object, cx: &Cx) -> Result<Value, String> {
        let failed = |reason: &dyn std::fmt::Display| format!("the plugin {} failed: {reason}", self.key);
        let connection = self.running().await.map_err(|reason| failed(&reason))?;
        let id = connection.number();
        let Some(_going) = connection.open().begin(id, cx.clone()) else {
            return Err(failed(&"too many of its calls are going on already"));
        };
        let params = json!({
            "name": tool.name,
            "arguments": arguments,
            "session_id": cx.desk.session,
            "tool_call_id": cx.call,
            "cwd": cx.desk.cwd(),
        });
        match connection.ask_as(id, "tools/call", &params, tool.limit()).await {
            Ok(answer) => Ok(answer),
            Err(Failure::Refused(reason)) => Err(reason),
            Err(failure @ (Failure::Late(_) | Failure::Gone(_))) => {
                Err(format!("{}; what it had done by then is not known", failed(&failure)))
            }
        }
    }

    /// Starts it beside everything else; `then` hears what it registers.
    pub(crate) fn wake(self: &Arc<Self>, then: impl FnOnce(&Registration) + Send + 'static) {
        let mut waking = self.waking.lock().unwrap_or_else(PoisonError::into_inner);
        if waking.as_ref().is_some_and(|waking| !waking.is_finished()) {
            return;
        }
        let plugin = self.clone();
        let start = async move {
            // Why it does not start is in the log, and in the answer of whoever needs it.
            if plugin.running().await.is_ok()
                && let Some(registered) = plugin.registered()
            {
                then(&registered);
            }
        };
        *waking = Some(AbortOnDropHandle::new(tokio::spawn(start)));
    }

    /// Tells it something, now or as soon as it runs. Never waits.
    pub(crate) fn tell(self: &Arc<Self>, method: String, params: Value) {
        {
            let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
            backlog.push_back((method, params));
            while backlog.len() > LONGEST_BACKLOG {
                backlog.pop_front();
            }
        }
        let running = self.seat.try_lock().ok().and_then(|seat| seat.connection.clone());
        match running.filter(|connection| connection.gone().is_none()) {
            Some(connection) => self.catch_up(&connection),
            None => self.wake(|_| ()),
        }
    }

    /// Tells everything it has not heard yet, in the order it happened.
    fn catch_up(&self, connection: &Connection) {
        let mut backlog = self.backlog.lock().unwrap_or_else(PoisonError::into_inner);
        backlog.drain(..).for_each(|(method, params)| connection.tell(&method, &params));
    }

    pub(crate) async fn close(&self) {
        let waking = self.waking.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(waking) = waking
            && !self.backlog.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
        {
            // Too late is too late: dropping the start ends the program.
            let _ = tokio::time::timeout(LAST_CHANCE, waking).await;
        }
        let connection = self.seat.lock().await.connection.take();
        if let Some(connection) = connection {
            if let Some(reason) = connection.gone() {
                self.fell(&reason);
            }
            self.catch_up(&connection);
            connection.close().await;
        }
    }
}

/// What a plugin tells about itself when it is started now; written down, and ended behind it. Whether it is enabled does
/// not count: the person asks.
pub async fn introduce(found: &Found, outside: Outside, clock: Arc<dyn Clock>) -> Result<Arc<Registration>, String> {
    let readable = found.read.as_ref().map_err(ToString::to_string)?;
    match readable.start {
        Start::Command(_) => {}
        Start::NeedsPython => return Err(NEEDS_PYTHON.to_owned()),
        Start::Nothing => return Err(NOTHING_TO_START.to_owned()),
    }
    let records = Records::new(&outside.around.hermes_home);
    // Whoever asks is told by the answer.
    let host = Host { outside, records, clock, platform: String::new(), listener: Arc::new(|_| {}) };
    let plugin = Plugin::new(found, host).ok_or_else(|| NOTHING_TO_START.to_owned())?;
    let running = plugin.running().await;
    plugin.close().await;
    running?;
    plugin.registered().ok_or_else(|| "it registered nothing".to_owned())
}
