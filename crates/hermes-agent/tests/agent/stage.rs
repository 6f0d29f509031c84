//! A home, a project, a store and a model for whole agents; all of it thrown away at the end.
//!
//! `Stage::at(&server, mode)` wires an agent as the program does. `agent()` begins a conversation, `resume()` goes on
//! with one from disk. After every turn that ends, what is on disk is held against what is in memory.

use hermes_agent::replay::{How, Reason, Verdict, replay};
use hermes_agent::{Agent, Beginning, Kit, Settings};
use hermes_core::ask::Manner;
use hermes_core::clock::{Clock, RealClock};
use hermes_core::ports::{Listener, Switchboard};
use hermes_core::stop::Stop;
use hermes_core::store::{SessionStore, Sessions, Transcript};
use hermes_core::till::Till;
use hermes_core::turn::{Asked, Outcome};
use hermes_model::auth::{AuthContext, AuthPaths, Endpoints, Logins};
use hermes_model::board::{Board, Knowledge};
use hermes_model::http::{HttpOptions, HttpTransport};
use hermes_model::resolve::{Ask, Env, ModelConfig};
use hermes_model::transport::Transport;
use hermes_model::wire::ApiMode;
use hermes_store::SqliteStore;
use hermes_testkit::{FakeClock, ModelServer};
use hermes_tools::desk::{Ports, Workshop};
use hermes_tools::face::{Face, Nobody};
use hermes_tools::gate::LastingConsent;
use hermes_tools::registry::Registry;
use hermes_tools::settings::{Settings as ToolSettings, Surroundings};
use hermes_types::{Event, ListOrder, Message, NewSession, Notice, SessionFilter, SessionId, Span};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const MODES: [ApiMode; 3] = [ApiMode::ChatCompletions, ApiMode::CodexResponses, ApiMode::AnthropicMessages];
pub(crate) const PROMPT: &str = "You are on a stage.";
const KEY: &str = "sk-stage-key-0001";

pub(crate) struct Stage {
    folder: TempDir,
    pub(crate) kit: Kit,
    pub(crate) store: SqliteStore,
    pub(crate) clock: FakeClock,
    pub(crate) registry: Arc<Registry>,
    events: Arc<Mutex<Vec<Event>>>,
    board: Arc<Board>,
}

/// What a stage is built from.
pub(crate) struct Plan {
    /// `config.yaml` for models.
    pub(crate) models: Value,
    /// `config.yaml` for tools.
    pub(crate) tools: Value,
    pub(crate) settings: Settings,
    /// Models of sub-agents, where they have others.
    pub(crate) models_of_children: Option<Value>,
    pub(crate) face: Arc<dyn Face>,
    /// The machine's own time instead of one that obeys.
    pub(crate) real_time: bool,
    /// What the program finds in its environment.
    pub(crate) variables: Vec<(String, String)>,
    /// `auth.json`
    pub(crate) logins: Option<Value>,
    /// Where logins are renewed.
    pub(crate) login_server: Option<String>,
    /// Another way to the models.
    pub(crate) transport: Option<Arc<dyn Transport>>,
}

/// Settings with one endpoint that speaks `mode`.
pub(crate) fn only(server: &ModelServer, mode: ApiMode) -> Value {
    json!({"model": {"provider": "custom:stage", "default": "stage-model"}, "providers": {"stage": entry(server, mode)}})
}

/// The same with a second endpoint that steps in.
pub(crate) fn with_spare(server: &ModelServer, spare: &ModelServer, mode: ApiMode) -> Value {
    json!({
        "model": {"provider": "custom:stage", "default": "stage-model"},
        "providers": {"stage": entry(server, mode), "spare": entry(spare, mode)},
        "fallback_providers": [{"provider": "custom:spare", "model": "spare-model"}],
    })
}

fn entry(server: &ModelServer, mode: ApiMode) -> Value {
    json!({"base_url": server.base_url(), "api_key": KEY, "api_mode": mode.as_str()})
}

impl Stage {
    pub(crate) async fn at(server: &ModelServer, mode: ApiMode) -> Self {
        Self::build(Plan { models: only(server, mode), ..Plan::default() }).await
    }

    pub(crate) async fn build(plan: Plan) -> Self {
        let folder = TempDir::new().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["home/.hermes", "project", "tmp"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        let fake = FakeClock::new();
        let clock: Arc<dyn Clock> =
            if plan.real_time { Arc::new(RealClock::default()) } else { Arc::new(fake.clone()) };
        let events: Arc<Mutex<Vec<Event>>> = Arc::default();
        let heard = events.clone();
        let listener: Arc<dyn Listener> = Arc::new(move |event| heard.lock().unwrap().push(event));
        let store = SqliteStore::open(&root.join("home/.hermes/state.db"), clock.clone()).await.unwrap();
        let shop = workshop(&root, &plan, &clock, &listener);
        let past: Arc<dyn SessionStore> = Arc::new(store.clone());
        let registry = Arc::new(hermes_tools::builtin::registry(clock.clone(), &shop.settings, Some(past)));
        let board = Arc::new(board(&root, &plan, &plan.models, &clock).await);
        let for_children: Option<Arc<dyn Switchboard>> = match &plan.models_of_children {
            Some(models) => Some(Arc::new(self::board(&root, &plan, models, &clock).await)),
            None => None,
        };
        let kit = Kit {
            switchboard: board.clone(),
            for_children,
            shop,
            registry: registry.clone(),
            store: Some(Arc::new(store.clone()) as Arc<dyn SessionStore>),
            till: Arc::new(Till::new(Some(Arc::new(store.clone())), clock.clone())),
            clock,
            listener,
            hooks: Vec::new(),
            call_hooks: Vec::new(),
            scribe: None,
            settings: plan.settings,
        };
        Self { folder, kit, store, clock: fake, registry, events, board }
    }

    /// The owner changes the settings of tools, and the program starts anew.
    pub(crate) fn refit(&mut self, tools: Value) {
        let root = self.folder.path().canonicalize().unwrap();
        let plan = Plan { tools, ..Plan::default() };
        self.kit.shop = workshop(&root, &plan, &self.kit.clock, &self.kit.listener);
    }

    pub(crate) fn beginning(&self, id: &str) -> Beginning {
        let session = NewSession { system_prompt: Some(PROMPT.into()), ..NewSession::new(SessionId::new(id), "cli") };
        Beginning::new(session, self.names())
    }

    /// Every tool that is registered.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.registry.describe().iter().map(|tool| tool.card.name.to_string()).collect()
    }

    pub(crate) fn agent(&self) -> Agent {
        Agent::begin(Arc::new(self.kit.clone()), self.beginning("20260102_030405_5ce4e0"))
    }

    pub(crate) async fn resume(&self) -> Agent {
        Agent::resume(Arc::new(self.kit.clone()), self.beginning("20260102_030405_5ce4e0")).await.unwrap()
    }

    /// One turn, with the promise that memory and disk agree behind it.
    pub(crate) async fn turn(&self, agent: &mut Agent, asked: impl Into<Asked>) -> Outcome {
        self.turn_until(agent, asked, &Stop::new()).await
    }

    pub(crate) async fn turn_until(&self, agent: &mut Agent, asked: impl Into<Asked>, stop: &Stop) -> Outcome {
        let outcome = agent.run_conversation(asked, stop).await;
        self.board.settled().await;
        assert_eq!(self.on_disk(agent.session()).await, in_memory(agent), "what is kept is what was sent");
        Box::pin(self.replays()).await;
        outcome
    }

    /// Every session so far can be held again without a server, those of sub-agents too, and every request has the same
    /// bytes.
    async fn replays(&self) {
        let all = SessionFilter { all: true, ..SessionFilter::default() };
        for kept in self.store.list(all, ListOrder::LastActive, 100, 0).await.unwrap() {
            self.replays_session(&kept.session.id).await;
        }
    }

    async fn replays_session(&self, session: &SessionId) {
        for request in replay(&self.store, session, &How::default()).await.unwrap() {
            let (then, number) = (String::from_utf8_lossy(&request.body), request.number);
            match &request.verdict {
                // A summary is asked for beside the conversation.
                Verdict::Same | Verdict::LeftOut(Reason::Job(_)) => {}
                Verdict::LeftOut(Reason::MessagesGone) if self.kit.settings.compression.in_place => {}
                Verdict::Different(now) => assert_eq!(String::from_utf8_lossy(now), then, "request {number}"),
                other => panic!("request {number}: {other:?}: {then}"),
            }
        }
    }

    /// The conversation as a resumed program would send it.
    pub(crate) async fn on_disk(&self, session: &SessionId) -> Vec<Message> {
        let kept = self.store.conversation(session, Span::Own).await.unwrap().into_iter().map(|(_, said)| said);
        let talk = hermes_core::conversation::Conversation::new(session.clone()).with_history(kept);
        talk.history().iter().map(|message| (**message).clone()).collect()
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("project").join(below)
    }

    pub(crate) fn write(&self, below: &str, text: &str) {
        std::fs::write(self.path(below), text).unwrap();
    }

    pub(crate) fn read(&self, below: &str) -> String {
        std::fs::read_to_string(self.path(below)).unwrap()
    }

    pub(crate) fn events(&self) -> Vec<Event> {
        std::mem::take(&mut *self.events.lock().unwrap())
    }

    /// Whether something was told that nobody took with [`Stage::events`] yet.
    pub(crate) fn has_heard(&self, wanted: impl Fn(&Event) -> bool) -> bool {
        self.events.lock().unwrap().iter().any(wanted)
    }

    /// Waits until something was told, and leaves it there for [`Stage::events`].
    pub(crate) async fn heard(&self, wanted: impl Fn(&Event) -> bool) {
        let waiting = async {
            while !self.has_heard(&wanted) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(60), waiting).await.expect("it is told within a minute");
    }

    /// What the loop said about itself, in a few words each.
    pub(crate) fn steps(&self) -> Vec<String> {
        let told = |event: &Event| match event {
            Event::Notice { notice: Notice::Again { reason } } => Some(format!("again: {reason:?}")),
            Event::Notice { notice: Notice::FellBack { provider, kind, .. } } => {
                Some(format!("fall back to {provider} after {kind:?}"))
            }
            Event::Notice { notice: Notice::Retrying { kind, .. } } => Some(format!("retry after {kind:?}")),
            Event::Notice { notice: Notice::LastWord { .. } } => Some("last word".to_owned()),
            Event::ToolFinished { name, status, .. } => Some(format!("{name}: {status:?}")),
            Event::Delivered { text } => Some(format!("delivered: {text}")),
            _ => None,
        };
        self.events().iter().filter_map(told).collect()
    }
}

impl Default for Plan {
    fn default() -> Self {
        let manner = Manner { retries: 2, live: false, seed: 7 };
        Self {
            models: Value::Null,
            // Puppets are tools that others bring: a loader would stand in front of them. Its stories switch it on.
            tools: json!({"tools": {"tool_search": {"enabled": false}}}),
            settings: Settings { manner, ..Settings::default() },
            models_of_children: None,
            face: Arc::new(Nobody),
            real_time: false,
            variables: Vec::new(),
            logins: None,
            login_server: None,
            transport: None,
        }
    }
}

pub(crate) fn in_memory(agent: &Agent) -> Vec<Message> {
    agent.conversation().history().iter().map(|message| (**message).clone()).collect()
}

/// Who said what, a line each.
pub(crate) fn told(history: &[Message]) -> Vec<String> {
    let line = |message: &Message| match message {
        Message::Assistant(said) if !said.tool_calls.is_empty() => {
            let names: Vec<&str> = said.tool_calls.iter().map(|call| call.function.name.as_str()).collect();
            format!("assistant: {} -> {}", message.text(), names.join(", "))
        }
        Message::Assistant(_) => format!("assistant: {}", message.text()),
        Message::User(_) => format!("user: {}", message.text()),
        Message::System(_) => format!("system: {}", message.text()),
        Message::Tool(result) => format!("{}: {}", result.name.as_deref().unwrap_or("?"), message.text()),
    };
    history.iter().map(line).collect()
}

fn workshop(root: &Path, plan: &Plan, clock: &Arc<dyn Clock>, listener: &Arc<dyn Listener>) -> Arc<Workshop> {
    let path = std::env::var("PATH").unwrap_or_default();
    let home = root.join("home");
    let around = Surroundings {
        hermes_home: home.join(".hermes"),
        hermes_root: home.join(".hermes"),
        cwd: root.join("project"),
        temp: root.join("tmp"),
        variables: BTreeMap::from([("PATH".to_owned(), path), ("HOME".to_owned(), home.display().to_string())]),
        private_variables: BTreeSet::new(),
        home,
    };
    let (settings, odd) = ToolSettings::read(&plan.tools, around);
    assert_eq!(odd, Vec::<String>::new());
    let ports = Ports {
        face: plan.face.clone(),
        adviser: None,
        aide: None,
        lasting: Arc::new(NotKept),
        clock: clock.clone(),
        listener: listener.clone(),
    };
    Workshop::new(settings, ports)
}

async fn board(root: &Path, plan: &Plan, models: &Value, clock: &Arc<dyn Clock>) -> Board {
    let (config, oddities) = ModelConfig::parse(models);
    assert_eq!(oddities, []);
    let paths = AuthPaths::root(root.join("home/.hermes"));
    if let Some(logins) = &plan.logins {
        std::fs::write(root.join("home/.hermes/auth.json"), logins.to_string()).unwrap();
    }
    let mut endpoints = Endpoints::default();
    if let Some(server) = &plan.login_server {
        endpoints.nous_portal = server.parse().unwrap();
    }
    let logins = Logins::load(&paths, &endpoints, None).await;
    let usual = || Arc::new(HttpTransport::new(HttpOptions::default())) as Arc<dyn Transport>;
    let transport = plan.transport.clone().unwrap_or_else(usual);
    let auth = AuthContext::new(paths, endpoints, transport.clone(), clock.clone(), Vec::new());
    let now = Timestamp::try_from(clock.now()).unwrap();
    let variables = Env::new(plan.variables.clone(), []);
    let knowledge = Knowledge::new(config, variables, logins, root.to_owned(), now, 0);
    Board::new(Ask::default(), Arc::new(knowledge), Arc::new(auth), transport)
}

struct NotKept;

impl LastingConsent for NotKept {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Err("nobody is asked here".to_owned())
    }
}
