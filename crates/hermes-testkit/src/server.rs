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
use crate::render_sse::{Cue, Protocol, SseEvent, lay_out};
use crate::script::{Act, Framing, Move, Say, Script, Twist, TwistKind};
use bytes::Bytes;
use hermes_core::clock::Clock;
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Alarms must have been left alone for this long, in real time, before the next one rings: a client may be slow to set
/// them and to act on them.
const REACTION: Duration = Duration::from_millis(100);
/// A client that bears silence longer than this, in real time, has no limit at all.
const PATIENCE: Duration = Duration::from_secs(60);

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

#[derive(Debug, Default)]
struct State {
    moves: VecDeque<Move>,
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
        let left = std::mem::take(&mut state.moves).len();
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
                let scene = Scene { stage: self, label, protocol, cue: Cue::of(number, &body) };
                scene.perform(&play, wire).await
            }
        }
    }
}

impl Stage {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding the stage")
    }

    fn clock(&self) -> Option<FakeClock> {
        self.state().clock.clone()
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
        match self.moves.pop_front() {
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

/// One move on its way over the wire.
struct Scene<'a> {
    stage: &'a Stage,
    label: String,
    protocol: Protocol,
    cue: Cue,
}

impl Scene<'_> {
    async fn perform(&self, play: &Move, wire: &mut Wire) -> io::Result<After> {
        self.wait(play.delay, wire).await;
        match &play.act {
            Act::Say(say) if say.whole => {
                let body = self.protocol.whole(say, &self.cue).to_string();
                wire.whole(200, &headers(play, "application/json"), body.as_bytes()).await
            }
            Act::Say(say) => self.stream(self.render(say, play), play, wire).await,
            Act::Raw(bytes) => self.stream(vec![bytes.clone()], play, wire).await,
            Act::Status { code, body } => {
                let usual = || self.protocol.error_body(*code).to_string();
                let body = body.clone().unwrap_or_else(usual);
                wire.whole(*code, &headers(play, "application/json"), body.as_bytes()).await
            }
            Act::Silence => self.stall(wire).await,
            Act::Reset => reset(wire),
        }
    }

    fn render(&self, say: &Say, play: &Move) -> Vec<Bytes> {
        lay_out(&self.protocol.stream(say, &self.cue), &play.framing)
    }

    /// Sends events until the twist of the move, if it has one.
    async fn stream(&self, events: Vec<Bytes>, play: &Move, wire: &mut Wire) -> io::Result<After> {
        wire.head(200, &headers(play, "text/event-stream; charset=utf-8")).await?;
        let after = play.twist.as_ref().map_or(events.len(), |twist| twist.after.min(events.len()));
        let (before, rest) = events.split_at(after);
        send(before, &play.framing, wire).await?;
        match play.twist.as_ref().map(|twist: &Twist| &twist.kind) {
            None => {}
            Some(TwistKind::Stall) => return self.stall(wire).await,
            Some(TwistKind::Cut) => return Ok(After::Close),
            Some(TwistKind::Reset) => return reset(wire),
            Some(TwistKind::Malformed) => {
                send(&lay_out(&[SseEvent::malformed()], &play.framing), &play.framing, wire).await?;
                send(rest, &play.framing, wire).await?;
            }
            Some(TwistKind::Fail { code, message }) => {
                let failure = self.protocol.failure(&self.cue, after, code, message);
                send(&lay_out(&[failure], &play.framing), &play.framing, wire).await?;
            }
        }
        wire.last_chunk().await?;
        Ok(After::KeepOpen)
    }

    /// Says nothing until the client gives up.
    async fn stall(&self, wire: &mut Wire) -> io::Result<After> {
        let left = match self.stage.clock() {
            Some(clock) => self.pass(&clock, Duration::MAX, wire).await,
            None => tokio::time::timeout(PATIENCE, wire.hung_up()).await.is_ok(),
        };
        if !left {
            let complaint = format!("the client bore {} s of silence without hanging up", PATIENCE.as_secs());
            self.stage.state().violations.push(format!("{}: {complaint}", self.label));
        }
        Ok(After::Close)
    }

    async fn wait(&self, delay: Duration, wire: &mut Wire) {
        if delay.is_zero() {
            return;
        }
        // Whether the client left meanwhile shows when the answer is written.
        let _left = match self.stage.clock() {
            Some(clock) => self.pass(&clock, clock.elapsed() + delay, wire).await,
            None => tokio::time::timeout(delay, wire.hung_up()).await.is_ok(),
        };
    }

    /// Lets virtual time pass until then, or until the client hangs up (true).
    ///
    /// Time jumps from alarm to alarm, and each one that rings gets real time to take effect: the limit that comes first
    /// is the one that ends the wait, however slow the machine.
    async fn pass(&self, clock: &FakeClock, until: Duration, wire: &mut Wire) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let changes = clock.changes();
            if tokio::time::timeout(REACTION, wire.hung_up()).await.is_ok() {
                return true;
            }
            let quiet = clock.changes() == changes;
            if quiet && !clock.ring_next(until) && until < Duration::MAX {
                clock.advance(until.saturating_sub(clock.elapsed()));
                return false;
            }
        }
        false
    }
}

async fn send(events: &[Bytes], framing: &Framing, wire: &mut Wire) -> io::Result<()> {
    for event in events {
        for chunk in event.chunks(framing.shred.unwrap_or(usize::MAX)) {
            wire.chunk(chunk).await?;
        }
    }
    Ok(())
}

fn reset(wire: &Wire) -> io::Result<After> {
    wire.reset_on_close()?;
    Ok(After::Close)
}

/// The headers of the move behind the usual content type, unless the move has its own.
fn headers(play: &Move, content_type: &str) -> Vec<(String, String)> {
    let mut headers = play.headers.clone();
    if !headers.iter().any(|(name, _)| name == "content-type") {
        headers.insert(0, ("content-type".to_owned(), content_type.to_owned()));
    }
    headers
}
