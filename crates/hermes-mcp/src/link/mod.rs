//! One live connection to one server. The protocol library is known in this folder (and to the login) and nowhere else.
//!
//! A [`Link`] puts questions and gives answers as JSON, or a [`Fault`] that says whether the question was sent. A
//! [`Connection`] is what the supervisor holds: the link, the moment it ends, and the program behind it, which does not
//! outlive it.

mod bounded;
mod cause;
mod ear;
mod http;
mod patient;
mod program;
mod sse;

pub(crate) use ear::Ear;

use crate::fault::Fault;
use crate::server::Server;
use crate::settings::{Place, Wire};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use patient::Patient;
use program::Program;
use rmcp::model::{ClientRequest, CustomRequest};
use rmcp::service::{
    Peer, PeerRequestOptions, RoleClient, RunningService, RunningServiceCancellationToken, ServiceExt as _,
};
use rmcp::transport::async_rw::AsyncRwTransport;
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Pages of a list that are read; whoever has more is not believed.
const MOST_PAGES: usize = 50;
/// Bytes of a list, all its pages together.
const LARGEST_LIST: usize = 32 << 20;
/// How long a server has to end by itself when its connection is closed.
const FAREWELL: Duration = Duration::from_secs(1);

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Unconnected {
    Unreachable(String),
    /// A person has to log in.
    Unauthorized(String),
}

/// What a server can do besides running tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Abilities {
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
}

pub(crate) struct Link {
    peer: Peer<RoleClient>,
    pub(crate) abilities: Abilities,
}

pub(crate) struct Connection {
    pub(crate) link: Arc<Link>,
    /// Done when the connection has ended, whoever ended it.
    pub(crate) ended: Shared<BoxFuture<'static, ()>>,
    end: Option<RunningServiceCancellationToken>,
    program: Option<Program>,
}

impl Connection {
    /// Connects to the server at its place, without any limit of time: whoever calls holds the clock.
    pub(crate) async fn to(server: &Arc<Server>) -> Result<Self, Unconnected> {
        let ear = Ear::new(server.clone());
        match &server.settings.place {
            Place::Program { command, args, env } => {
                let (program, streams) = Program::start(server, command, args, env).await?;
                match ear.serve(Patient::new(AsyncRwTransport::new_client(streams.0, streams.1))).await {
                    Ok(running) => Ok(Self::of(running, Some(program))),
                    Err(error) => Err(program.explain(cause::of_start(&error)).await),
                }
            }
            Place::Remote(remote) => match remote.wire {
                Wire::StreamableHttp => {
                    let running = http::connect(server, remote, ear).await?;
                    Ok(Self::of(running, None))
                }
                Wire::Sse => {
                    let transport = sse::Events::open(server, remote).await?;
                    let running = ear.serve(Patient::new(transport)).await.map_err(|error| cause::of_start(&error))?;
                    Ok(Self::of(running, None))
                }
            },
        }
    }

    fn of(running: RunningService<RoleClient, Ear>, program: Option<Program>) -> Self {
        let peer = running.peer().clone();
        let capabilities = peer.peer_info().map(|info| info.capabilities.clone()).unwrap_or_default();
        let abilities = Abilities {
            tools: capabilities.tools.is_some(),
            resources: capabilities.resources.is_some(),
            prompts: capabilities.prompts.is_some(),
        };
        let end = Some(running.cancellation_token());
        let ended = async move {
            // How the task of the library ended changes nothing: the connection is gone.
            let _ = running.waiting().await;
        };
        let ended = ended.boxed().shared();
        Self { link: Arc::new(Link { peer, abilities }), ended, end, program }
    }

    /// Ends the connection and everything that was started for it.
    pub(crate) async fn close(mut self) {
        if let Some(end) = self.end.take() {
            end.cancel();
        }
        if tokio::time::timeout(FAREWELL, self.ended.clone()).await.is_err() {
            tracing::debug!("the connection to an MCP server did not end in time");
        }
        if let Some(program) = self.program.take() {
            program.end(FAREWELL).await;
        }
    }
}

impl Link {
    /// Puts a question. Dropping the future leaves the server at work; [`Link::ask_until`] tells it.
    pub(crate) async fn ask(&self, method: &str, params: Value) -> Result<Value, Fault> {
        self.ask_until(method, params, std::future::pending()).await
    }

    /// The same until `over` gives a reason to stop waiting; then the server is told that nobody waits any more.
    pub(crate) async fn ask_until(
        &self,
        method: &str,
        params: Value,
        over: impl Future<Output = Fault> + Send,
    ) -> Result<Value, Fault> {
        let request = ClientRequest::CustomRequest(CustomRequest::new(method, Some(params)));
        let mut over = std::pin::pin!(over);
        let sent = tokio::select! {
            biased;
            sent = self.peer.send_cancellable_request(request, PeerRequestOptions::no_options()) => sent,
            fault = &mut over => return Err(fault),
        };
        let mut handle = sent.map_err(|error| Fault::NotSent(error.to_string()))?;
        let answered = tokio::select! {
            biased;
            answered = &mut handle.rx => answered,
            fault = &mut over => {
                let telling = handle.cancel(Some("nobody waits for the answer any more".to_owned()));
                // One that does not listen cannot be told.
                if !matches!(tokio::time::timeout(FAREWELL, telling).await, Ok(Ok(()))) {
                    tracing::debug!("an MCP server could not be told that nobody waits");
                }
                return Err(fault);
            }
        };
        match answered {
            Ok(Ok(answer)) => serde_json::to_value(&answer).map_err(|error| Fault::Refused(error.to_string())),
            Ok(Err(error)) => Err(cause::of_question(&error)),
            Err(_) => Err(Fault::Lost("the connection was closed".to_owned())),
        }
    }

    /// All items of a list that comes in pages.
    pub(crate) async fn list(&self, method: &str, items: &str) -> Result<Vec<Value>, Fault> {
        let mut all = Vec::new();
        let mut room = LARGEST_LIST;
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let params = cursor.as_ref().map_or_else(|| json!({}), |cursor| json!({"cursor": cursor}));
            let mut page = self.ask(method, params).await?;
            let Some(left) = room.checked_sub(weight(&page)) else {
                tracing::warn!(method, "an MCP server lists more than anybody can use; the rest is not read");
                break;
            };
            room = left;
            let found = page.get_mut(items).map(Value::take);
            all.extend(
                found
                    .and_then(|found| if let Value::Array(found) = found { Some(found) } else { None })
                    .unwrap_or_default(),
            );
            let next = page.get("nextCursor").and_then(Value::as_str).map(str::to_owned);
            match next {
                Some(next) if Some(&next) != cursor.as_ref() => cursor = Some(next),
                _ => break,
            }
        }
        Ok(all)
    }

    pub(crate) fn is_open(&self) -> bool {
        !self.peer.is_transport_closed()
    }

    /// Whether the server still answers. One that does not know what a ping is answers too.
    pub(crate) async fn lives(&self) -> bool {
        match self.ask("ping", json!({})).await {
            Ok(_) | Err(Fault::Refused(_)) => true,
            Err(_) => false,
        }
    }
}

/// About as many bytes as a value takes.
fn weight(value: &Value) -> usize {
    let inside = match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(map) => map.iter().map(|(key, value)| key.len() + weight(value)).sum(),
        _ => 0,
    };
    size_of::<Value>() + inside
}
