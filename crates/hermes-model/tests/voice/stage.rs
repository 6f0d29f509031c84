//! Everything around one conversation: a home in a temporary folder, settings, variables, a clock that obeys.
//!
//! [`Stage`] is what the person has; [`Company`] is what the program makes of it, wired as the program wires it;
//! [`Conversation`] asks and writes down everything that was heard.

use futures_util::future::BoxFuture;
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::clock::{Clock, RealClock};
use hermes_core::ports::Model;
use hermes_core::receipt::Receipt;
use hermes_core::stop::Stop;
use hermes_model::auth::{AuthContext, AuthPaths, Endpoints, Logins, Source};
use hermes_model::auxiliary::Auxiliary;
use hermes_model::board::{Board, Knowledge};
use hermes_model::http::{HttpOptions, HttpTransport};
use hermes_model::resolve::{Ask, Env, ModelConfig};
use hermes_model::secret::{BoundSecret, Origin, Secret};
use hermes_model::transport::{Answer, Call, Transport};
use hermes_model::wire::ApiMode;
use hermes_testkit::{FakeClock, ModelServer, OAuthServer};
use hermes_types::{Event, Exchange, Fault, Message, Notice, Reply, Request, ToolDefinition};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use url::Url;

/// The key of the usual endpoint.
pub(crate) const KEY: &str = "sk-stage-key-0001";
/// Retries per provider, as [`Conversation`] asks.
pub(crate) const RETRIES: u32 = 2;
/// The silence after which a stream of the usual endpoint counts as dead.
pub(crate) const STALE: Duration = Duration::from_secs(3);

pub(crate) struct Stage {
    folder: Arc<TempDir>,
    clock: Arc<dyn Clock>,
    config: Value,
    env: Vec<(String, String)>,
    endpoints: Endpoints,
    github: Option<String>,
    transport: Arc<dyn Transport>,
    seed: u64,
}

impl Stage {
    pub(crate) fn new(config: Value) -> Self {
        Self {
            folder: Arc::new(tempfile::tempdir().expect("a folder")),
            clock: Arc::new(FakeClock::new()),
            config,
            env: Vec::new(),
            endpoints: Endpoints::default(),
            github: None,
            transport: Arc::new(HttpTransport::new(HttpOptions::default())),
            seed: 0,
        }
    }

    /// One endpoint of the settings, which is the person's choice.
    pub(crate) fn at(server: &ModelServer, mode: ApiMode) -> Self {
        Self::new(only(&server.base_url(), mode))
    }

    pub(crate) fn clock(self, clock: &FakeClock) -> Self {
        Self { clock: Arc::new(clock.clone()), ..self }
    }

    /// The machine's own time, for what must be quick in fact.
    pub(crate) fn real_time(self) -> Self {
        Self { clock: Arc::new(RealClock::default()), ..self }
    }

    pub(crate) fn transport(self, transport: impl Transport + 'static) -> Self {
        Self { transport: Arc::new(transport), ..self }
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Decides where a strategy leaves the choice to chance.
    pub(crate) fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    pub(crate) fn auth(self, document: &Value) -> Self {
        self.file("home/auth.json", document)
    }

    /// A file below the temporary folder; `claude.json` is Claude Code's login.
    pub(crate) fn file(self, name: &str, content: &Value) -> Self {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(path, content.to_string()).expect("a file");
        self
    }

    /// Logins are renewed there.
    pub(crate) fn login_server(self, server: &OAuthServer) -> Self {
        self.logins_at(&server.root_url())
    }

    pub(crate) fn logins_at(mut self, root: &str) -> Self {
        let url = |path: &str| -> Url { format!("{root}{path}").parse().expect("a URL") };
        self.endpoints = Endpoints {
            anthropic_tokens: vec![url("/v1/oauth/token")],
            codex_token: url("/oauth/token"),
            nous_portal: url(""),
            copilot_exchange: url("/copilot_internal/v2/token"),
            ..self.endpoints
        };
        self
    }

    /// The GitHub token Copilot sessions are bought with, and where they are good for.
    pub(crate) fn copilot(mut self, github: &str, api: &str) -> Self {
        self.github = Some(github.to_owned());
        self.endpoints.copilot_api = api.parse().expect("a URL");
        self
    }

    pub(crate) fn auth_file(&self) -> PathBuf {
        self.folder.path().join("home/auth.json")
    }

    pub(crate) fn read(&self, name: &str) -> Value {
        read_json(&self.folder.path().join(name))
    }

    /// The program, started in this home. Several may run at once.
    pub(crate) async fn company(&self) -> Company {
        let folder = self.folder.path();
        let paths = AuthPaths {
            claude_code: Some(folder.join("claude.json")).filter(|path| path.exists()),
            ..AuthPaths::root(folder.join("home"))
        };
        let github = self.github.as_deref().and_then(Secret::usable);
        let (config, oddities) = ModelConfig::parse(&self.config);
        assert_eq!(oddities, [], "the settings of a test are understood");
        let logins = Logins::load(&paths, &self.endpoints, github.clone()).await;
        assert_eq!(logins.warnings(), [], "the files of a test can be read");
        // The variables count too, as in the program itself.
        let variables = self.env.iter().filter(|(name, _)| name.ends_with("GITHUB_TOKEN") || name == "GH_TOKEN");
        let variables = variables.filter_map(|(name, text)| Some((Source::Env(name.clone()), Secret::usable(text)?)));
        let tokens = github.map(|token| (Source::GhCli, token)).into_iter().chain(variables).collect();
        let (transport, clock) = (self.transport.clone(), self.clock.clone());
        let auth = AuthContext::new(paths, self.endpoints.clone(), transport, clock, tokens);
        let now = Timestamp::try_from(self.clock.now()).expect("a time");
        let env = Env::new([], self.env.clone());
        let knowledge = Knowledge::new(config, env, logins, folder.to_owned(), now, self.seed);
        Company {
            knowledge: Arc::new(knowledge),
            auth: Arc::new(auth),
            transport: self.transport.clone(),
            clock: self.clock.clone(),
            _folder: self.folder.clone(),
        }
    }

    pub(crate) async fn conversation(&self) -> Conversation {
        self.company().await.conversation()
    }

    /// Asks once, in a conversation of its own.
    pub(crate) async fn ask(&self, request: Request) -> Told {
        self.conversation().await.ask(request).await
    }
}

/// Settings with one endpoint that speaks `mode`.
pub(crate) fn only(base_url: &str, mode: ApiMode) -> Value {
    json!({
        "model": {"provider": "custom:stage", "default": "stage-model"},
        "providers": {"stage": {
            "base_url": base_url, "api_key": KEY, "api_mode": mode.as_str(), "stale_timeout_seconds": STALE.as_secs(),
        }},
    })
}

pub(crate) fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

pub(crate) struct Company {
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) auth: Arc<AuthContext>,
    pub(crate) transport: Arc<dyn Transport>,
    clock: Arc<dyn Clock>,
    /// Lives as long as anybody may write into it.
    _folder: Arc<TempDir>,
}

impl Company {
    pub(crate) fn conversation(self) -> Conversation {
        let board = Board::new(Ask::default(), self.knowledge.clone(), self.auth.clone(), self.transport.clone());
        let manner = Manner { retries: RETRIES, live: false, seed: 7 };
        Conversation { board, line: Line::default(), manner, company: self }
    }

    pub(crate) fn auxiliary(&self) -> Auxiliary {
        Auxiliary::new(self.knowledge.clone(), self.auth.clone(), self.transport.clone(), self.clock.clone())
    }
}

pub(crate) struct Conversation {
    pub(crate) company: Company,
    board: Board,
    line: Line,
    manner: Manner,
}

/// What came of a question.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) result: Result<Reply, Fault>,
    pub(crate) events: Vec<Event>,
    pub(crate) recorded: Vec<Exchange>,
    pub(crate) virtual_time: Duration,
    pub(crate) real_time: Duration,
}

impl Conversation {
    /// Somebody watches the words as they come.
    pub(crate) fn live(mut self) -> Self {
        self.manner.live = true;
        self
    }

    /// The model in use.
    pub(crate) fn model(&self) -> Arc<dyn Model> {
        self.line.model().expect("somebody was asked").clone()
    }

    /// What was paid for answers that were asked for again.
    pub(crate) fn wasted(&mut self) -> Vec<Receipt> {
        self.line.take_in_vain()
    }

    /// What the model in use takes, as far as the conversation knows.
    pub(crate) fn window(&self) -> Option<u64> {
        self.line.window()
    }

    pub(crate) fn begin_turn(&mut self) {
        self.line.begin_turn(self.company.clock.elapsed());
    }

    pub(crate) async fn ask(&mut self, request: Request) -> Told {
        self.ask_until(request, &Stop::new()).await
    }

    pub(crate) async fn ask_until(&mut self, request: Request, stop: &Stop) -> Told {
        let events = Arc::new(Mutex::new(Vec::new()));
        let heard = events.clone();
        let listener = move |event| heard.lock().unwrap().push(event);
        let recorded = Mutex::new(Vec::new());
        let recorder = |exchange| recorded.lock().unwrap().push(exchange);
        let clock = &*self.company.clock;
        let ports = Ports { switchboard: &self.board, clock, listener: &listener, recorder: &recorder };
        let (begun, begun_virtually) = (Instant::now(), clock.elapsed());
        let result = ask(request, &mut self.line, self.manner, &ports, stop).await;
        let virtual_time = clock.elapsed() - begun_virtually;
        let real_time = begun.elapsed();
        self.board.settled().await;
        let events = std::mem::take(&mut *events.lock().unwrap());
        Told { result, events, recorded: recorded.into_inner().unwrap(), virtual_time, real_time }
    }
}

impl Told {
    #[track_caller]
    pub(crate) fn reply(&self) -> Reply {
        self.result.clone().unwrap_or_else(|fault| panic!("no answer: {fault:?} after {:?}", self.steps()))
    }

    #[track_caller]
    pub(crate) fn fault(&self) -> Fault {
        self.result.clone().expect_err("a fault")
    }

    /// The text of the answer, or the fault in a few words.
    pub(crate) fn outcome(&self) -> String {
        match &self.result {
            Ok(reply) => reply.text(),
            Err(fault) => format!("{:?}: {}", fault.kind, fault.message),
        }
    }

    /// The steps of recovery that a person would have heard of, less the reports of waiting.
    pub(crate) fn steps(&self) -> Vec<String> {
        let step = |event: &Event| {
            let Event::Notice { notice } = event else { return None };
            Some(match notice {
                Notice::Retrying { kind, .. } => format!("retry after {kind:?}"),
                Notice::Rotated { kind } => format!("rotate after {kind:?}"),
                Notice::Refreshed => "refresh".to_owned(),
                Notice::FellBack { provider, kind, .. } => format!("fall back to {provider} after {kind:?}"),
                Notice::Conceded { concession } => format!("concede {concession:?}"),
                _ => return None,
            })
        };
        self.events.iter().filter_map(step).collect()
    }

    /// What a person saw, in order; neighbours of a kind are one line.
    pub(crate) fn shown(&self) -> Vec<String> {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for event in &self.events {
            let (kind, text) = match event {
                Event::Text { text } => ("text", text),
                Event::Reasoning { text } => ("reasoning", text),
                Event::ToolCallStarted { name } => ("call", name),
                _ => continue,
            };
            match lines.last_mut() {
                Some((last, line)) if *last == kind && kind != "call" => line.push_str(text),
                _ => lines.push((kind, text.clone())),
            }
        }
        lines.into_iter().map(|(kind, text)| format!("{kind}: {text}")).collect()
    }
}

/// A question with a system prompt and two tools, as a conversation begins.
pub(crate) fn question(text: &str) -> Request {
    let tool = |name: &str, parameters: Value| ToolDefinition {
        name: name.to_owned(),
        description: format!("The tool `{name}`."),
        parameters,
    };
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let tools = [tool("weather", city), tool("clock", json!({"type": "object", "properties": {}}))];
    Request {
        tools: tools.to_vec().into(),
        ..Request::new("", [Message::system("You are on a stage."), Message::user(text)])
    }
}

/// The conversation goes on: the reply, one result for each of its calls, and perhaps a new question.
pub(crate) fn after(mut request: Request, reply: &Reply, next: Option<&str>) -> Request {
    request.messages.push(Arc::new(Message::Assistant(reply.message.clone())));
    for call in reply.tool_calls() {
        let result = format!("the result of {}", call.function.name);
        request.messages.push(Arc::new(Message::tool(call.pairing_id(), &call.function.name, result)));
    }
    request.messages.extend(next.map(|text| Arc::new(Message::user(text))));
    request
}

/// Carries calls for a public host to a server on this machine, as a hosts file would.
pub(crate) struct Rerouted {
    from: &'static str,
    to: Url,
    http: HttpTransport,
}

impl Rerouted {
    pub(crate) fn new(from: &'static str, server: &ModelServer) -> Self {
        let to = server.root_url().parse().expect("a URL");
        Self { from, to, http: HttpTransport::new(HttpOptions::default()) }
    }
}

impl Transport for Rerouted {
    fn send(&self, mut call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        if call.url.host_str() == Some(self.from) {
            let mut there = self.to.clone();
            there.set_path(call.url.path());
            let moved = |secret: &BoundSecret| {
                let shown = secret.for_url(&call.url).expect("the secret is bound to the host that was asked");
                Secret::verbatim(shown).bind([Origin::of(&there)])
            };
            call.credential = call.credential.as_ref().map(|(header, secret)| (*header, moved(secret)));
            call.secret_headers =
                call.secret_headers.iter().map(|(name, secret)| (name.clone(), moved(secret))).collect();
            call.url = there;
        }
        self.http.send(call)
    }
}
