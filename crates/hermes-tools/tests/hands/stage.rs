//! A home, a project and a person for the tools to work with; all of it thrown away at the end.
//!
//! `Stage::new()` stands in an empty project directory with nobody to ask. `call` goes the whole way of a call of a model
//! and gives the JSON that the model would read.

use futures_util::future::BoxFuture;
use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{Answer, Channel, LastingConsent};
use hermes_tools::registry::Registry;
use hermes_tools::run::{Finished, Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, Event, SessionId, ToolCall};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use tempfile::TempDir;

pub(crate) struct Stage {
    dir: TempDir,
    pub(crate) registry: Arc<Registry>,
    pub(crate) desk: Arc<Desk>,
    pub(crate) person: Arc<Person>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) stop: Stop,
    calls: AtomicUsize,
}

/// What a stage is built from.
pub(crate) struct Plan {
    pub(crate) config: Value,
    pub(crate) variables: BTreeMap<String, String>,
    /// What the person will answer; nobody is there without any.
    pub(crate) answers: Option<Vec<Answer>>,
    pub(crate) says: Vec<Reply>,
}

impl Default for Plan {
    fn default() -> Self {
        let path = std::env::var("PATH").unwrap_or_default();
        let variables = BTreeMap::from([("PATH".to_owned(), path)]);
        Self { config: Value::Null, variables, answers: None, says: Vec::new() }
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::build(Plan::default())
    }

    /// With these settings, and nobody to ask.
    pub(crate) fn with(config: Value) -> Self {
        Self::build(Plan { config, ..Plan::default() })
    }

    /// Somebody is there and will answer this.
    pub(crate) fn attended(answers: impl Into<Vec<Answer>>) -> Self {
        Self::build(Plan { answers: Some(answers.into()), ..Plan::default() })
    }

    pub(crate) fn build(plan: Plan) -> Self {
        let dir = TempDir::new().expect("a directory");
        let root = dir.path().canonicalize().expect("its real path");
        for folder in ["home/.hermes", "project", "tmp"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        let mut variables = plan.variables;
        variables.insert("HOME".to_owned(), root.join("home").display().to_string());
        let around = Surroundings {
            home: root.join("home"),
            hermes_home: root.join("home/.hermes"),
            hermes_root: root.join("home/.hermes"),
            cwd: root.join("project"),
            temp: root.join("tmp"),
            variables,
            private_variables: BTreeSet::new(),
        };
        let (settings, odd) = Settings::read(&plan.config, around);
        assert_eq!(odd, Vec::<String>::new(), "the settings of a stage can be read");
        let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
        let person = Arc::new(Person::new(plan.answers, plan.says));
        let kept = Arc::new(Kept::default());
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let ports = Ports {
            face: person.clone(),
            adviser: None,
            aide: None,
            lasting: kept.clone(),
            clock: clock.clone(),
            listener: Arc::new(move |event: Event| heard.lock().expect("events").push(event)),
        };
        let desk = Desk::new(Workshop::new(settings, ports), SessionId::new("20260101_000000_stage0"));
        let registry = Arc::new(hermes_tools::builtin::registry(clock, desk.settings(), None));
        Self { dir, registry, desk, person, kept, events, stop: Stop::new(), calls: AtomicUsize::new(0) }
    }

    /// Below the project directory.
    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root().join("project").join(below)
    }

    /// The directory that has `home`, `project` and `tmp` in it.
    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("its real path")
    }

    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("folders");
        std::fs::write(&path, content).expect("a file");
        path
    }

    pub(crate) fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).expect("a text file")
    }

    /// All registered tools.
    pub(crate) fn hands(&self) -> Hands {
        let names = self.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
        Hands::new(self.registry.clone(), names)
    }

    /// One call, as the model reads its result.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Value {
        let text = self.call_text(tool, arguments).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{tool} gave no JSON ({error}): {text}"))
    }

    pub(crate) async fn call_text(&self, tool: &str, arguments: Value) -> String {
        // A turn of its own: repeating a call in a story is no loop.
        self.desk.guardrail.begin_turn();
        let finished = self.batch(&[(tool, arguments)]).await.remove(0);
        finished.content.text()
    }

    /// Several calls of one reply.
    pub(crate) async fn batch(&self, calls: &[(&str, Value)]) -> Vec<Finished> {
        let calls: Vec<ToolCall> = calls
            .iter()
            .map(|(tool, arguments)| {
                let id = CallId::new(format!("call_{}", self.calls.fetch_add(1, Ordering::Relaxed)));
                ToolCall::new(id, *tool, arguments.to_string().as_str())
            })
            .collect();
        let results = self.hands().run(&calls, &self.desk, &Untold, &self.stop).await.expect("no tool aborts");
        let ids = |results: &[Finished]| results.iter().map(|result| result.call.clone()).collect::<Vec<_>>();
        assert_eq!(ids(&results), calls.iter().map(|call| call.id.clone()).collect::<Vec<_>>(), "one result per call");
        results
    }
}

/// Somebody who answers as it was written down, or nobody.
pub(crate) struct Person {
    channel: Channel,
    answers: Mutex<VecDeque<Answer>>,
    says: Mutex<VecDeque<Reply>>,
    pub(crate) asked: Mutex<Vec<ApprovalQuestion>>,
    pub(crate) clarified: Mutex<Vec<Clarification>>,
    asleep: AtomicBool,
}

impl Person {
    fn new(answers: Option<Vec<Answer>>, says: Vec<Reply>) -> Self {
        let channel = if answers.is_some() { Channel::Person } else { Channel::Nobody };
        Self {
            channel,
            answers: Mutex::new(answers.unwrap_or_default().into()),
            says: Mutex::new(says.into()),
            asked: Mutex::default(),
            clarified: Mutex::default(),
            asleep: AtomicBool::new(false),
        }
    }

    /// From now on a question is heard and never answered.
    pub(crate) fn falls_asleep(&self) {
        self.asleep.store(true, Ordering::Relaxed);
    }
}

impl Face for Person {
    fn channel(&self) -> Channel {
        self.channel
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        assert_eq!(self.channel, Channel::Person, "nobody is asked where nobody is: {question:?}");
        self.asked.lock().expect("questions").push(question);
        let answer = self.answers.lock().expect("answers").pop_front();
        Box::pin(async move { answer.expect("an answer was written down for every question") })
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        self.clarified.lock().expect("questions").push(question);
        if self.asleep.load(Ordering::Relaxed) {
            return Box::pin(std::future::pending());
        }
        let reply = self.says.lock().expect("replies").pop_front().unwrap_or(Reply::Silence);
        Box::pin(std::future::ready(reply))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}

/// What was allowed for good.
#[derive(Default)]
pub(crate) struct Kept(pub(crate) Mutex<Vec<String>>);

impl LastingConsent for Kept {
    fn keep(&self, keys: &[String]) -> Result<(), String> {
        self.0.lock().expect("kept").extend(keys.iter().cloned());
        Ok(())
    }
}
