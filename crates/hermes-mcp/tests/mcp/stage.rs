//! A home, a registry and a person, with MCP servers connected to them; all of it thrown away at the end.

use futures_util::future::BoxFuture;
use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_mcp::{Report, Servers, State, settings};
use hermes_testkit::FakeClock;
use hermes_tools::aide::Aide;
use hermes_tools::builtin;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{Answer, Channel, LastingConsent};
use hermes_tools::registry::Registry;
use hermes_tools::run::{Finished, Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, SessionId, ToolCall};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const CHAOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/chaos.py");
/// Longer than anything here takes on a machine with other things to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// What a program needs to start on such a machine.
const ENOUGH: Duration = Duration::from_secs(3);

pub(crate) struct Stage {
    dir: TempDir,
    pub(crate) registry: Arc<Registry>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) person: Arc<Person>,
    pub(crate) stop: Stop,
    servers: Servers,
    calls: AtomicUsize,
}

/// What a stage is built from.
pub(crate) struct Plan {
    pub(crate) clock: Arc<dyn Clock>,
    /// What the person says when asked; nobody is there without any.
    pub(crate) says: Option<Vec<&'static str>>,
    pub(crate) aide: Option<Arc<dyn Aide>>,
    pub(crate) variables: BTreeMap<String, String>,
}

impl Default for Plan {
    fn default() -> Self {
        Self { clock: Arc::new(RealClock::default()), says: None, aide: None, variables: BTreeMap::new() }
    }
}

/// The entry of a chaos server in some mode, with more settings.
pub(crate) fn chaos(mode: &str, folder: &Path, more: &Value) -> Value {
    let mut entry = json!({"command": "python3", "args": [CHAOS, mode, folder]});
    let more = more.as_object().cloned().unwrap_or_default();
    entry.as_object_mut().unwrap().extend(more);
    entry
}

impl Stage {
    /// With one chaos server called `box`.
    pub(crate) async fn with_chaos(mode: &str, more: Value, plan: Plan) -> Self {
        Self::build(plan, |folder| json!({"box": chaos(mode, folder, &more)})).await
    }

    /// With the servers that `entries` gives for the folder they may write to. Waits until each has answered or failed.
    pub(crate) async fn build(plan: Plan, entries: impl FnOnce(&Path) -> Value) -> Self {
        let stage = Self::begun(plan, entries);
        stage.servers.settled(PATIENCE).await;
        stage
    }

    /// The same without waiting for anybody.
    pub(crate) fn begun(plan: Plan, entries: impl FnOnce(&Path) -> Value) -> Self {
        Self::in_folder(TempDir::new().unwrap(), plan, entries)
    }

    /// A new program in the home of another one, which has ended.
    pub(crate) async fn build_at(earlier: Self, entries: impl FnOnce(&Path) -> Value) -> Self {
        let Self { dir, servers, .. } = earlier;
        servers.close().await;
        let stage = Self::in_folder(dir, Plan::default(), entries);
        stage.servers.settled(PATIENCE).await;
        stage
    }

    fn in_folder(dir: TempDir, plan: Plan, entries: impl FnOnce(&Path) -> Value) -> Self {
        let root = dir.path().canonicalize().unwrap();
        for folder in ["home/.hermes", "home/work", "tmp", "state"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        let mut variables = plan.variables;
        for name in ["PATH", "LANG"] {
            variables.extend(std::env::var(name).ok().map(|value| (name.to_owned(), value)));
        }
        variables.insert("HOME".to_owned(), root.join("home").display().to_string());
        let around = Surroundings {
            home: root.join("home"),
            hermes_home: root.join("home/.hermes"),
            hermes_root: root.join("home/.hermes"),
            cwd: root.join("home/work"),
            temp: root.join("tmp"),
            variables,
            private_variables: BTreeSet::new(),
        };
        let person = Arc::new(Person::saying(plan.says));
        let ports = Ports {
            face: person.clone(),
            adviser: None,
            aide: plan.aide,
            lasting: Arc::new(Nothing),
            clock: plan.clock.clone(),
            listener: Arc::new(|_| {}),
        };
        let shop = Workshop::new(Settings::plain(around), ports);
        let registry = Arc::new(builtin::registry(plan.clock, &shop.settings, None));
        let found = settings::read(&json!({"mcp_servers": entries(&root.join("state"))}), &|_| None);
        let servers = Servers::start(found, registry.clone(), &shop);
        let desk = Desk::new(shop, SessionId::new("20260101_000000_stage0"));
        Self { dir, registry, desk, person, stop: Stop::new(), servers, calls: AtomicUsize::new(0) }
    }

    /// Where servers write down what they did.
    pub(crate) fn state(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("state").join(name)
    }

    pub(crate) fn lines(&self, name: &str) -> Vec<String> {
        let text = std::fs::read_to_string(self.state(name)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home/.hermes")
    }

    pub(crate) fn report(&self) -> Report {
        self.servers.report().remove(0)
    }

    /// Waits until the first server is like this.
    pub(crate) async fn becomes(&self, what: &str, mut is: impl FnMut(&Report) -> bool) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while !is(&self.report()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        assert!(waited.await.is_ok(), "{what}: {:?}", self.report());
    }

    /// Waits until something is so, and says what was waited for when it never is.
    pub(crate) async fn until(&self, what: &str, mut is: impl FnMut() -> bool) {
        self.becomes(what, move |_| is()).await;
    }

    /// Lets time pass, each step with enough real time for what it set off, until something is so.
    pub(crate) async fn passing(&self, clock: &FakeClock, step: Duration, is: impl Fn() -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is() {
            assert!(Instant::now() < deadline, "time passes in vain: {:?}", self.report());
            clock.advance(step);
            let soon = Instant::now() + ENOUGH;
            while !is() && Instant::now() < soon {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        }
    }

    pub(crate) async fn becomes_ready(&self) {
        self.becomes("ready", |report| report.state == State::Ready).await;
    }

    /// What models would be sent of the tools of servers, byte for byte.
    pub(crate) fn schemas(&self) -> String {
        let names: std::collections::BTreeSet<String> =
            self.registry.describe().into_iter().map(|tool| tool.card.name.to_string());
        let names = names.filter(|name| name.starts_with("mcp__")).collect();
        serde_json::to_string(&self.registry.definitions(&names)).unwrap()
    }

    pub(crate) async fn finished(&self, tool: &str, arguments: Value) -> Finished {
        self.desk.guardrail.begin_turn();
        let names: std::collections::BTreeSet<String> =
            self.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
        let id = CallId::new(format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed)));
        let call = ToolCall::new(id, tool, arguments.to_string().as_str());
        let hands = Hands::new(self.registry.clone(), names);
        hands.run(&[call], &self.desk, &Untold, &self.stop).await.unwrap().remove(0)
    }

    /// The text of a result of the chaos server, without its frame.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let text = self.finished(&format!("mcp__box__{tool}"), arguments).await.content.text();
        unframed(&text)
    }

    pub(crate) async fn close(self) {
        self.servers.close().await;
    }
}

/// The JSON of a result, taken out of the frame of strangers.
#[track_caller]
pub(crate) fn unframed(text: &str) -> Value {
    let inner = text.lines().find(|line| line.starts_with('{')).unwrap_or(text);
    serde_json::from_str(inner).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"))
}

/// Whether a process lives.
pub(crate) fn lives(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Somebody who says what was written down, or nobody.
pub(crate) struct Person {
    says: Option<Mutex<Vec<&'static str>>>,
    pub(crate) heard: Mutex<Vec<Clarification>>,
}

impl Person {
    fn saying(says: Option<Vec<&'static str>>) -> Self {
        let says = says.map(|says| Mutex::new(says.into_iter().rev().collect()));
        Self { says, heard: Mutex::default() }
    }
}

impl Face for Person {
    fn channel(&self) -> Channel {
        if self.says.is_some() { Channel::Person } else { Channel::Nobody }
    }

    fn approve(&self, _question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Deny))
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        self.heard.lock().unwrap().push(question);
        let said = self.says.as_ref().and_then(|says| says.lock().unwrap().pop());
        Box::pin(std::future::ready(said.map_or(Reply::Silence, |said| Reply::Said(said.to_owned()))))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

struct Nothing;

impl LastingConsent for Nothing {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}
