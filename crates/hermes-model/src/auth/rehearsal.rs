//! A stage for the tests of logins: a scripted login server, a clock that skips pauses, a home in a temporary folder.

use super::exchange::Reply;
use super::{AuthContext, AuthPaths, Endpoints};
use crate::transport::{Answer, Call, Method, Transport};
use crate::wire::AuthHeader;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream;
use hermes_core::clock::Clock;
use hermes_types::{Fault, FaultKind};
use jiff::Timestamp;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// The time at which every story starts.
pub(super) const START: i64 = 1_800_000_000;

/// The script's way to say that nobody could be reached.
pub(super) const UNREACHABLE: (u16, Value) = (0, Value::Null);

/// A request as the server saw it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Seen {
    pub(super) method: Method,
    pub(super) url: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

type Script = dyn Fn(&Seen) -> (u16, Value) + Send + Sync;

pub(super) struct ScriptedServer {
    script: Box<Script>,
    seen: Arc<Mutex<Vec<Seen>>>,
    /// How long an answer takes, in real time, so that others can get in between.
    delay: Duration,
}

#[derive(Default)]
pub(super) struct SkippingClock(Mutex<Duration>);

pub(super) struct Stage {
    pub(super) cx: Arc<AuthContext>,
    pub(super) clock: Arc<SkippingClock>,
    seen: Arc<Mutex<Vec<Seen>>>,
    folder: TempDir,
}

impl Stage {
    pub(super) fn new(script: impl Fn(&Seen) -> (u16, Value) + Send + Sync + 'static) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let seen = Arc::default();
        let clock = Arc::new(SkippingClock::default());
        let server = ScriptedServer { script: Box::new(script), seen: Arc::clone(&seen), delay: Duration::ZERO };
        let cx = context(folder.path(), Arc::new(server), Arc::clone(&clock) as Arc<dyn Clock>);
        Self { cx: Arc::new(cx), clock, seen, folder }
    }

    pub(super) fn calls(&self) -> Vec<Seen> {
        self.seen.lock().expect("unpoisoned").clone()
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }

    pub(super) fn write(&self, name: &str, content: &Value) {
        write(self.folder.path(), name, content);
    }

    pub(super) fn read(&self, name: &str) -> Value {
        let mut value = read(self.folder.path(), name);
        value.as_object_mut().expect("an object").remove("updated_at");
        value
    }
}

impl ScriptedServer {
    /// A server of its own for stories with several contexts. Also returns what it saw.
    pub(super) fn slow(
        delay: Duration,
        script: impl Fn(&Seen) -> (u16, Value) + Send + Sync + 'static,
    ) -> (Arc<Self>, Arc<Mutex<Vec<Seen>>>) {
        let seen = Arc::default();
        (Arc::new(Self { script: Box::new(script), seen: Arc::clone(&seen), delay }), seen)
    }
}

pub(super) fn write(folder: &Path, name: &str, content: &Value) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().expect("a parent")).expect("made");
    std::fs::write(path, content.to_string()).expect("written");
}

pub(super) fn read(folder: &Path, name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(folder.join(name)).expect("a file")).expect("JSON")
}

/// `home/`, `claude.json` and `codex.json` in a folder.
pub(super) fn context(folder: &Path, transport: Arc<dyn Transport>, clock: Arc<dyn Clock>) -> AuthContext {
    let paths = AuthPaths {
        claude_code: Some(folder.join("claude.json")),
        codex_cli: Some(folder.join("codex.json")),
        ..AuthPaths::root(folder.join("home"))
    };
    AuthContext::new(paths, Endpoints::default(), transport, clock, Vec::new())
}

pub(super) fn start() -> Timestamp {
    Timestamp::from_second(START).expect("a time")
}

pub(super) fn answer(status: u16, body: &Value) -> Reply {
    Reply { status, body: body.as_object().cloned().unwrap_or_default(), retry_after: None }
}

impl Transport for ScriptedServer {
    fn send(&self, call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        let mut headers = call.headers.clone();
        for (name, secret) in &call.secret_headers {
            headers.push((name.clone(), secret.for_url(&call.url).expect("bound to this server").to_owned()));
        }
        if let Some((header, secret)) = &call.credential {
            assert_eq!(*header, AuthHeader::Token, "no login server takes another");
            let token = secret.for_url(&call.url).expect("bound to this server");
            headers.push(("authorization".into(), format!("token {token}")));
        }
        let body = String::from_utf8(call.body.to_vec()).expect("text");
        let seen = Seen { method: call.method, url: call.url.to_string(), headers, body };
        let (status, body) = (self.script)(&seen);
        self.seen.lock().expect("unpoisoned").push(seen);
        let delay = self.delay;
        Box::pin(async move {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            if status == UNREACHABLE.0 {
                return Err(Fault::new(FaultKind::NoRoute, "no route"));
            }
            let chunk = Ok(Bytes::from(body.to_string()));
            Ok(Answer { status, headers: Vec::new(), body: Box::pin(stream::iter([chunk])) })
        })
    }
}

impl Clock for SkippingClock {
    fn elapsed(&self) -> Duration {
        *self.0.lock().expect("unpoisoned")
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(START.unsigned_abs()) + self.elapsed()
    }

    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()> {
        *self.0.lock().expect("unpoisoned") += duration;
        Box::pin(tokio::task::yield_now())
    }

    fn alarm(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}
