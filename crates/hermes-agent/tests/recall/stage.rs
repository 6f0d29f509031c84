//! A store with a past, and a conversation that remembers it.

use hermes_core::clock::RealClock;
use hermes_core::stop::Stop;
use hermes_core::store::{SessionStore, Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_tools::builtin;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::Nobody;
use hermes_tools::gate::LastingConsent;
use hermes_tools::registry::Registry;
use hermes_tools::run::{Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, EndReason, Event, Message, MessageId, Moment, NewMessage, NewSession, SessionId, ToolCall};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tempfile::TempDir;

/// The first of January 2026, and the seconds of a day.
const NEW_YEAR: f64 = 1_767_225_600.0;
const DAY: f64 = 86_400.0;

/// The conversation that asks.
pub(crate) const PRESENT: &str = "present";

pub(crate) struct Stage {
    pub(crate) store: Arc<SqliteStore>,
    pub(crate) registry: Arc<Registry>,
    desk: Arc<Desk>,
    _folder: TempDir,
}

struct NothingLasts;

impl LastingConsent for NothingLasts {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}

impl Stage {
    pub(crate) async fn new() -> Self {
        Self::with(Value::Null).await
    }

    pub(crate) async fn with(config: Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let place = folder.path().canonicalize().expect("its real path");
        let clock = Arc::new(RealClock::default());
        let store = Arc::new(SqliteStore::open(&place.join("state.db"), clock.clone()).await.expect("a store"));
        let around = Surroundings {
            home: place.clone(),
            hermes_home: place.clone(),
            hermes_root: place.clone(),
            cwd: place.clone(),
            temp: place,
            variables: BTreeMap::new(),
            private_variables: BTreeSet::new(),
        };
        let (settings, odd) = Settings::read(&config, around);
        assert_eq!(odd, Vec::<String>::new(), "the settings of a stage can be read");
        let ports = Ports {
            face: Arc::new(Nobody),
            adviser: None,
            aide: None,
            lasting: Arc::new(NothingLasts),
            clock: clock.clone(),
            listener: Arc::new(|_: Event| {}),
        };
        let past: Arc<dyn SessionStore> = store.clone();
        let registry = Arc::new(builtin::registry(clock, &settings, Some(past)));
        let desk = Desk::new(Workshop::new(settings, ports), SessionId::new(PRESENT));
        Self { store, registry, desk, _folder: folder }
    }

    /// Begins a session at noon of a day of January.
    pub(crate) async fn session(&self, id: &str, source: &str, day: u8) -> SessionId {
        self.begin(NewSession::new(SessionId::new(id), source), day).await
    }

    /// The same for one that descends from another.
    pub(crate) async fn child(&self, id: &str, source: &str, day: u8, parent: &SessionId) -> SessionId {
        let parent = Some(parent.clone());
        self.begin(NewSession { parent, ..NewSession::new(SessionId::new(id), source) }, day).await
    }

    async fn begin(&self, session: NewSession, day: u8) -> SessionId {
        let id = session.id.clone();
        let model = Some("a-model".to_owned());
        self.store.create(NewSession { model, started_at: Some(noon(day)), ..session }).await.expect("a session");
        id
    }

    /// Compression ends a session and goes on in another.
    pub(crate) async fn continued(&self, id: &str, day: u8, parent: &SessionId) -> SessionId {
        self.store.end(parent, EndReason::COMPRESSION).await.expect("ended");
        self.child(id, "cli", day, parent).await
    }

    /// The person and the model speak in turn, a second apart.
    pub(crate) async fn talk(&self, id: &SessionId, day: u8, texts: &[&str]) -> Vec<MessageId> {
        let said = texts.iter().enumerate().map(|(place, text)| match place % 2 {
            0 => Message::user(*text),
            _ => Message::assistant(*text),
        });
        self.keep(id, day, said.collect()).await
    }

    pub(crate) async fn keep(&self, id: &SessionId, day: u8, messages: Vec<Message>) -> Vec<MessageId> {
        let timed = messages.into_iter().zip(1_u32..).map(|(message, second)| NewMessage {
            at: Some(Moment::from_seconds(noon(day).seconds() + f64::from(second))),
            ..NewMessage::from(message)
        });
        self.store.append(id, timed.collect()).await.expect("kept")
    }

    /// What the model reads after a call.
    pub(crate) async fn recall(&self, arguments: Value) -> Value {
        let text = self.recall_text(arguments).await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("no JSON ({error}): {text}"))
    }

    pub(crate) async fn recall_text(&self, arguments: Value) -> String {
        // A turn of its own: repeating a call in a story is no loop.
        self.desk.begin_turn();
        let call = ToolCall::new(CallId::new("call"), "session_search", arguments.to_string().as_str());
        let hands = Hands::new(self.registry.clone(), BTreeSet::from(["session_search".to_owned()]));
        let results = hands.run(&[call], &self.desk, &Untold, &Stop::new()).await.expect("no tool aborts");
        results.first().expect("a result").content.text()
    }

    /// The sessions of the results.
    pub(crate) async fn found(&self, arguments: Value) -> Vec<String> {
        let answer = self.recall(arguments).await;
        let results = answer["results"].as_array().unwrap_or_else(|| panic!("results: {answer}"));
        results.iter().map(|result| result["session_id"].as_str().expect("an id").to_owned()).collect()
    }
}

fn noon(day: u8) -> Moment {
    Moment::from_seconds(NEW_YEAR + (f64::from(day) - 0.5) * DAY)
}
