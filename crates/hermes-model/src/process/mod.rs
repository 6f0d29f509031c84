//! A model behind an agent program that speaks the Agent Client Protocol, such as the GitHub Copilot CLI.
//!
//! Each request is one short session: start the program (or connect to one that listens), hand it the whole conversation
//! as one prompt, stream what it says, and end it. The program's own tools are refused; tool calls come back in its text.
//! Dropping the stream ends the program and everything it started.

mod calls;
pub mod launch;
mod link;
mod prompt;
mod rpc;
mod session;

use futures_util::stream::{BoxStream, once, unfold};
use futures_util::{StreamExt, TryFutureExt};
use hermes_core::ports::{Card, Model};
use hermes_types::{Cost, Delta, Fault, FaultKind, Object, Request, Sent, Usage};
use link::{End, Link};
use session::Session;
use std::collections::VecDeque;
use std::fmt;
use std::future::ready;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use url::Url;

/// The name of the protocol in records of what was sent.
pub const MODE: &str = "acp";

/// How the program is started.
#[derive(Clone, PartialEq, Eq)]
pub struct ProcessCommand {
    /// A path, or a name to look for in the `PATH` of `env`.
    pub program: String,
    pub args: Vec<String>,
    /// All the program gets to see of the environment.
    pub env: Vec<(String, String)>,
    /// An absolute path.
    pub cwd: PathBuf,
}

/// Where an agent listens: `acp+tcp://host:port`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpAddress {
    host: String,
    port: u16,
}

/// The model.
pub struct ProcessModel {
    card: Card,
    peer: Arc<Peer>,
}

enum Peer {
    Program(ProcessCommand),
    Socket { address: TcpAddress, cwd: PathBuf },
}

impl ProcessModel {
    /// A model behind a program that is started for each request. A model name equal to the provider's leaves the
    /// choice of model to the program.
    pub fn new(card: Card, command: ProcessCommand) -> Self {
        Self { card, peer: Arc::new(Peer::Program(command)) }
    }

    /// A model behind a program that runs already. `cwd` is the folder its sessions are told to be in.
    pub fn at(card: Card, address: TcpAddress, cwd: PathBuf) -> Self {
        Self { card, peer: Arc::new(Peer::Socket { address, cwd }) }
    }
}

impl Model for ProcessModel {
    fn card(&self) -> &Card {
        &self.card
    }

    /// The program has a login of its own, and that is a subscription.
    fn price(&self, usage: &Usage) -> Cost {
        usage.cost.map_or_else(Cost::included, Cost::actual)
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        let (agent, peer) = (self.peer.name(), self.peer.clone());
        let cwd = peer.cwd().display().to_string();
        let session = Session::new(&request, &self.card.provider, agent.clone(), cwd);
        let body = session.prompt().to_owned().into();
        let sent = Sent { mode: MODE.into(), url: agent.clone(), target: Object::new(), body };
        let opening = async move {
            let mut link = peer.open().await?;
            link.send(&Session::greeting())?;
            let talk = Talk { agent, session, link: Some(link), ready: VecDeque::new() };
            Ok(unfold(talk, |mut talk| async move {
                let next = talk.next().await?;
                Some((next, talk))
            }))
        };
        once(ready(Ok(Delta::Sent(Box::new(sent))))).chain(opening.try_flatten_stream()).boxed()
    }
}

/// A session in progress.
struct Talk {
    agent: String,
    session: Session,
    /// Gone once the session is over, and with it the program.
    link: Option<Link>,
    ready: VecDeque<Delta>,
}

impl Talk {
    async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            let step = match self.link.as_mut()?.line().await {
                Ok(Some(line)) => self.hear(&line),
                Ok(None) => self.mourn().await,
                Err(fault) => Err(fault),
            };
            let over = step.is_err() || matches!(self.ready.back(), Some(Delta::Done(_)));
            if over {
                self.link = None;
            }
            if let Err(fault) = step {
                return Some(Err(fault));
            }
        }
    }

    fn hear(&mut self, line: &[u8]) -> Result<(), Fault> {
        let outcome = self.session.hear(line)?;
        self.ready.extend(outcome.deltas);
        match &mut self.link {
            Some(link) => link.send(&outcome.send),
            None => Ok(()),
        }
    }

    /// The agent is gone before its turn was over. Words that were heard are kept as an answer that broke off.
    async fn mourn(&mut self) -> Result<(), Fault> {
        let Some(link) = &mut self.link else { return Ok(()) };
        let End { how, last_words } = link.end().await;
        let garbage = self.session.garbage;
        tracing::debug!(agent = self.agent, how, last_words, garbage, "the agent is gone before its turn was over");
        self.ready.extend(self.session.break_off());
        if self.ready.is_empty() {
            let mut message = format!("`{}` {how} before it answered", self.agent);
            if garbage > 0 {
                message += &format!(" (lines that were no messages: {garbage})");
            }
            if !last_words.is_empty() {
                message += &format!(": {last_words}");
            }
            return Err(Fault::new(FaultKind::ServerError, message));
        }
        Ok(())
    }
}

impl Peer {
    async fn open(&self) -> Result<Link, Fault> {
        match self {
            Self::Program(command) => Link::start(command),
            Self::Socket { address, .. } => Link::connect(address).await,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Program(command) => command.name(),
            Self::Socket { address, .. } => address.to_string(),
        }
    }

    fn cwd(&self) -> &Path {
        match self {
            Self::Program(command) => &command.cwd,
            Self::Socket { cwd, .. } => cwd,
        }
    }
}

impl ProcessCommand {
    /// The program as a person knows it.
    fn name(&self) -> String {
        let file = Path::new(&self.program).file_name().map(|name| name.to_string_lossy().into_owned());
        file.unwrap_or_else(|| self.program.clone())
    }
}

impl fmt::Debug for ProcessCommand {
    /// Names of variables only: their values may be secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.env.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("ProcessCommand")
            .field("program", &self.program)
            .field("args", &self.args)
            .field("env", &names)
            .field("cwd", &self.cwd)
            .finish()
    }
}

impl TcpAddress {
    pub const SCHEME: &str = "acp+tcp";

    /// The address in a base URL, if it is one of this kind.
    pub fn of(url: &Url) -> Option<Self> {
        let (host, port) = (url.host_str()?, url.port()?);
        let host = host.trim_start_matches('[').trim_end_matches(']');
        (url.scheme() == Self::SCHEME && !host.is_empty()).then(|| Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for TcpAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
