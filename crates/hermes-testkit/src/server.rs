//! The scripted model server: it speaks the three protocols, plays a [`Script`], and holds every request against what
//! must always be true.
//!
//! Violations are collected, not thrown, so that the program under test runs on as it would in the field; [`finish`]
//! (or the drop at the end of the test) panics with all of them.
//!
//! [`finish`]: ModelServer::finish

use crate::checks;
use crate::clock::FakeClock;
use crate::http::{After, Handler, Received, Service, Wire};
use crate::keys::KeyRules;
use crate::prefix::{Prefix, first_user_message};
use crate::render_sse::{Cue, Protocol};
use crate::scene::{PATIENCE, Played, Scene};
use crate::script::{Move, Script};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};

/// A model provider on loopback.
///
/// ```no_run
/// # async fn example() {
/// use hermes_testkit::{ModelServer, Move};
/// let server = ModelServer::start([Move::status(429).header("retry-after", "1"), Move::say("hello")]).await;
/// let endpoint = server.base_url(); // http://127.0.0.1:PORT/v1
/// // … run the code under test against `endpoint` …
/// server.finish();
/// # }
/// ```
#[derive(Debug)]
pub struct ModelServer {
    service: Service,
    stage: Arc<Stage>,
}

#[derive(Debug, Default)]
struct Stage {
    state: Mutex<State>,
}

/// Answers a request by what stands in it.
struct Director(Box<dyn FnMut(&Received) -> Move + Send>);

impl fmt::Debug for Director {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Director")
    }
}

#[derive(Debug, Default)]
struct State {
    moves: VecDeque<Move>,
    /// Decides once the moves are played.
    director: Option<Director>,
    /// The moves of conversations whose first user message has a text in it.
    parts: Vec<(String, VecDeque<Move>)>,
    played: usize,
    requests: Vec<Received>,
    violations: Vec<String>,
    keys: KeyRules,
    clock: Option<FakeClock>,
    models: Models,
    /// The last request of each conversation.
    conversations: HashMap<String, Prefix>,
    /// The header or body field that names a conversation.
    conversation_key: Option<String>,
    /// Breaks of the prefix that may still come, by cause.
    allowed_breaks: VecDeque<String>,
}

#[derive(Debug)]
enum Models {
    Listed(Vec<Value>),
    Refused(u16),
}

impl Default for Models {
    fn default() -> Self {
        Self::Listed(vec![model_entry("rehearsal-model")])
    }
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(script: impl Into<Script>) -> Self {
        Self::start_on("127.0.0.1", script).await
    }

    /// Listens on a free port of another loopback address (`127.0.0.2`), which to any client is another host.
    pub async fn start_on(address: &str, script: impl Into<Script>) -> Self {
        let stage = Arc::new(Stage::default());
        stage.state().moves = script.into().moves.into();
        let service = Service::start(address, stage.clone()).await;
        Self { service, stage }
    }

    /// Answers every request by what stands in it, so that a program which was ended and begins again is answered from
    /// where it is. The director must not wait for the program: nobody else is answered meanwhile.
    pub async fn directed(director: impl FnMut(&Received) -> Move + Send + 'static) -> Self {
        let server = Self::start([]).await;
        server.stage.state().director = Some(Director(Box::new(director)));
        server
    }

    /// `http://127.0.0.1:PORT/v1`
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.root_url())
    }

    /// `http://127.0.0.1:PORT`, for endpoints that add the version themselves.
    pub fn root_url(&self) -> String {
        format!("http://{}", self.service.address())
    }

    /// The base URL under another host name. The client must resolve the name to this server's address, as most do with
    /// `anything.localhost`.
    pub fn url_as_host(&self, host: &str) -> String {
        format!("http://{host}:{}/v1", self.service.address().port())
    }

    /// From now on stalls and delays let this clock's time pass instead of real time.
    pub fn attach_clock(&self, clock: &FakeClock) {
        self.stage.state().clock = Some(clock.clone());
    }

    /// Adds moves behind those not yet played.
    pub fn extend(&self, script: impl Into<Script>) {
        self.stage.state().moves.extend(script.into().moves);
    }

    /// Conversations whose first user message has this text in it play a script of their own, beside the others: for
    /// agents that work at the same time.
    pub fn when_asked(&self, text: &str, script: impl Into<Script>) {
        self.stage.state().parts.push((text.to_owned(), script.into().moves.into()));
    }

    /// Every request must carry exactly this credential.
    pub fn expect_key(&self, key: &str) {
        self.stage.state().keys.expect(None, key);
    }

    /// Every request to this host name must carry exactly this credential, whatever holds for the others.
    pub fn expect_key_at(&self, host: &str, key: &str) {
        self.stage.state().keys.expect(Some(host), key);
    }

    /// No request may carry a credential.
    pub fn forbid_keys(&self) {
        self.stage.state().keys.forbid(None);
    }

    /// No request to this host name may carry a credential.
    pub fn forbid_keys_at(&self, host: &str) {
        self.stage.state().keys.forbid(Some(host));
    }

    /// This text must not appear anywhere in a request: not in the address, a header or the body.
    pub fn never_show(&self, secret: &str) {
        self.stage.state().keys.never_show(secret);
    }

    /// What `GET …/models` lists, entry by entry ([`model_entry`], [`gateway_entry`]); `/api/tags` follows.
    pub fn list_models(&self, entries: impl IntoIterator<Item = Value>) {
        self.stage.state().models = Models::Listed(entries.into_iter().collect());
    }

    /// `GET …/models` answers with this status.
    pub fn refuse_models(&self, status: u16) {
        self.stage.state().models = Models::Refused(status);
    }

    /// Conversations are told apart by this header or top-level body field instead of by their first user message.
    pub fn key_conversations_by(&self, name: &str) {
        self.stage.state().conversation_key = Some(name.to_owned());
    }

    /// The next request that does not extend the one before has this cause and is no violation.
    pub fn allow_prefix_break(&self, cause: &str) {
        self.stage.state().allowed_breaks.push_back(cause.to_owned());
    }

    /// Everything that came, in order.
    pub fn requests(&self) -> Vec<Received> {
        self.stage.state().requests.clone()
    }

    /// The model requests alone: no catalogue, no probes.
    pub fn model_requests(&self) -> Vec<Received> {
        let is_model = |request: &Received| request.method == "POST" && Protocol::of(&request.path).is_some();
        self.requests().into_iter().filter(is_model).collect()
    }

    pub fn violations(&self) -> Vec<String> {
        self.stage.state().violations.clone()
    }

    /// Hands over the violations so far, for the test that provokes them.
    pub fn take_violations(&self) -> Vec<String> {
        std::mem::take(&mut self.stage.state().violations)
    }

    /// Ends the rehearsal: panics if a request broke a rule or a move was never played.
    #[track_caller]
    pub fn finish(mut self) {
        self.settle();
    }

    #[track_caller]
    fn settle(&mut self) {
        self.service.stop();
        let mut state = self.stage.state();
        let parts = std::mem::take(&mut state.parts);
        let left: usize =
            std::mem::take(&mut state.moves).len() + parts.iter().map(|(_, moves)| moves.len()).sum::<usize>();
        let mut violations = std::mem::take(&mut state.violations);
        let played = state.played;
        drop(state);
        if left > 0 {
            violations.push(format!("{left} moves of the script were never asked for, {played} were"));
        }
        if !violations.is_empty() && !std::thread::panicking() {
            panic!("the model server saw {} violations:\n  {}", violations.len(), violations.join("\n  "));
        }
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.settle();
    }
}

/// An entry of an OpenAI model list.
pub fn model_entry(id: &str) -> Value {
    json!({"id": id, "object": "model", "created": crate::START, "owned_by": "rehearsal"})
}

/// An entry as the AI Gateway lists it, with its kind (`language`, `embedding`) and tags (`tool-use`).
pub fn gateway_entry(id: &str, kind: &str, tags: &[&str]) -> Value {
    let mut entry = model_entry(id);
    entry["type"] = json!(kind);
    entry["tags"] = json!(tags);
    entry["context_window"] = json!(200_000);
    entry["pricing"] = json!({"input": "0.000003", "output": "0.000015"});
    entry
}

fn ollama_tags(entries: &[Value]) -> Value {
    let tag = |entry: &Value| {
        json!({
            "name": entry["id"], "model": entry["id"], "modified_at": "2026-01-02T03:04:05Z", "size": 4_661_224_676_u64,
            "digest": "365c0bd3c000", "details": {"format": "gguf", "family": "llama", "parameter_size": "8B"},
        })
    };
    json!({"models": entries.iter().map(tag).collect::<Vec<_>>()})
}

/// What to do with a request, decided in one go while nobody else looks.
enum Reaction {
    Perform { play: Box<Move>, number: usize, protocol: Protocol },
    Answer { status: u16, body: Value },
}

impl Handler for Stage {
    async fn answer(&self, request: Received, wire: &mut Wire) -> io::Result<After> {
        let body = request.body.clone().unwrap_or_default();
        let label = request.label();
        match self.react(request) {
            Reaction::Answer { status, body } => wire.json(status, &body).await,
            Reaction::Perform { play, number, protocol } => {
                let clock = self.state().clock.clone();
                let scene = Scene { protocol, cue: Cue::of(number, &body), clock };
                match scene.perform(&play, wire).await? {
                    Played::AsScripted(after) => Ok(after),
                    Played::NobodyLeft => {
                        let seconds = PATIENCE.as_secs();
                        let complaint = format!("{label}: the client bore {seconds} s of silence without hanging up");
                        self.state().violations.push(complaint);
                        Ok(After::Close)
                    }
                }
            }
        }
    }
}

impl Stage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding the stage")
    }

    fn react(&self, request: Received) -> Reaction {
        let mut state = self.state();
        let protocol = Protocol::of(&request.path).filter(|_| request.method == "POST");
        state.check(protocol, &request);
        let reaction = match protocol {
            Some(protocol) => state.next_move(protocol, &request),
            None => state.catalogue(&request),
        };
        state.requests.push(request);
        reaction
    }
}

impl State {
    fn check(&mut self, protocol: Option<Protocol>, request: &Received) {
        let mut complaints = self.keys.complaints(request);
        if let Some(protocol) = protocol {
            complaints.extend(checks::complaints(protocol, request));
            complaints.extend(self.prefix_break(protocol, request));
        }
        let label = request.label();
        self.violations.extend(complaints.into_iter().map(|complaint| format!("{label}: {complaint}")));
    }

    fn prefix_break(&mut self, protocol: Protocol, request: &Received) -> Option<String> {
        let body = request.body.as_ref()?;
        let explicit = self
            .conversation_key
            .as_deref()
            .and_then(|name| request.header(name).map(str::to_owned).or_else(|| Some(body.get(name)?.to_string())));
        let key = explicit.unwrap_or_else(|| first_user_message(protocol, body));
        let prefix = Prefix::of(protocol, body);
        let key = format!("{protocol:?} {} {key}", request.host);
        let before = self.conversations.insert(key, prefix.clone());
        let change = before?.break_in(&prefix)?;
        match self.allowed_breaks.pop_front() {
            Some(_cause) => None,
            None => Some(format!("the request does not extend the one before: {change}")),
        }
    }

    fn next_move(&mut self, protocol: Protocol, request: &Received) -> Reaction {
        let first = request.body.as_ref().map(|body| first_user_message(protocol, body)).unwrap_or_default();
        let part = self.parts.iter_mut().find(|(text, _)| first.contains(text.as_str()));
        let scripted = part.map_or(&mut self.moves, |(_, moves)| moves).pop_front();
        let directed = || self.director.as_mut().map(|director| (director.0)(request));
        match scripted.or_else(directed) {
            Some(play) => {
                self.played += 1;
                Reaction::Perform { play: Box::new(play), number: self.played, protocol }
            }
            None => {
                let complaint = format!("the script has only {} moves and they are all played", self.played);
                self.violations.push(format!("{}: {complaint}", request.label()));
                Reaction::Answer { status: 500, body: json!({"error": {"message": complaint, "type": "script_over"}}) }
            }
        }
    }

    fn catalogue(&mut self, request: &Received) -> Reaction {
        let wants = |suffix: &str| request.method == "GET" && request.path.ends_with(suffix);
        let (status, body) = match &self.models {
            Models::Listed(entries) if wants("/models") => (200, json!({"object": "list", "data": entries})),
            Models::Listed(entries) if wants("/api/tags") => (200, ollama_tags(entries)),
            // Ollama tells of one model at a time; this one has nothing to tell.
            Models::Listed(_) if request.path.ends_with("/api/show") => (200, json!({"model_info": {}})),
            Models::Refused(status) if wants("/models") || wants("/api/tags") => {
                (*status, Protocol::Chat.error_body(*status))
            }
            _ => (404, json!({"error": {"message": format!("nothing at {}", request.path), "type": "not_found"}})),
        };
        // A probe may ask for what is not there; a model request to nowhere is a wrong address.
        if status == 404 && request.method == "POST" {
            self.violations.push(format!("{}: no protocol has this path", request.label()));
        }
        Reaction::Answer { status, body }
    }
}
