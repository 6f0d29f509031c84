//! One task for each server: does what its [`Life`] says next, and keeps the tools in the registry in step with it.
//!
//! Tools that stay the same are not registered again, so that nothing that a model has seen moves. What was registered by
//! this task is all that it ever takes away.

use crate::life::{Event, Failure, Life, Step, Tools};
use crate::link::{Connection, Link, Unconnected};
use crate::pace::Pace;
use crate::server::Server;
use crate::settings::{Auth, Place};
use crate::tool::RemoteTool;
use crate::{auth, name, tool};
use futures_util::FutureExt as _;
use hermes_core::stop::Stop;
use hermes_tools::registry::{Arriving, Registry, Replace};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// How long a server may take to answer a ping.
const PING: Duration = Duration::from_secs(10);
/// How often a login that is missing is looked for on the disk.
const LOOK: Duration = Duration::from_secs(2);

/// What a connection needs while it serves.
enum Need {
    Listing,
    Ping,
}

pub(crate) struct Supervisor {
    server: Arc<Server>,
    registry: Arc<Registry>,
    /// Until the server has answered, or failed to, for the first time.
    arriving: Option<Arriving>,
    registered: BTreeMap<String, RemoteTool>,
    connection: Option<Connection>,
    since: Duration,
    /// How often the server may have its tools listed again.
    pace: Pace,
}

impl Supervisor {
    pub(crate) fn new(server: Arc<Server>, registry: Arc<Registry>) -> Self {
        Self {
            arriving: Some(registry.announce()),
            server,
            registry,
            registered: BTreeMap::new(),
            connection: None,
            since: Duration::ZERO,
            pace: Pace::default(),
        }
    }

    /// Begins after a while, and lives until it is stopped.
    pub(crate) async fn run_in(self, delay: Duration, stop: Stop) {
        if !delay.is_zero() {
            let clock = self.server.shop.clock.clone();
            tokio::select! {
                biased;
                () = stop.wait() => return,
                () = clock.pause(delay) => {}
            }
        }
        self.run(stop).await;
    }

    async fn run(mut self, stop: Stop) {
        let mut life = Life::default();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.wait() => break,
                event = self.step(life.step()) => event,
            };
            life = life.after(event);
            self.arriving = None;
            tracing::debug!(server = %self.server.settings.name, ?event, phase = ?life.phase, "an MCP server");
            if !matches!(life.step(), Step::Serve) {
                self.disconnect().await;
            }
            if life.tools() == Tools::Go {
                self.withdraw();
            }
            self.server.condition.send_modify(|condition| {
                condition.phase = life.phase;
                if event == Event::Connected {
                    condition.trouble = None;
                }
            });
        }
        self.disconnect().await;
    }

    async fn step(&mut self, step: Step) -> Event {
        match step {
            Step::Connect => return self.connect().await,
            Step::Serve => return self.serve().await,
            Step::Pause(_) | Step::Probe(_) | Step::AwaitLogin(_) | Step::Rest => {}
        }
        let clock = self.server.shop.clock.clone();
        let server = self.server.clone();
        if step == Step::Rest && server.idle_since().is_some() {
            // Whoever wanted the server while it served has been answered since; it is not woken for nobody.
            let _ = server.wanted.notified().now_or_never();
        }
        let wanted = server.wanted.notified();
        let waited = async {
            match step {
                Step::Pause(pause) => clock.pause(pause).await,
                Step::Probe(pause) | Step::AwaitLogin(pause) => clock.alarm(pause).await,
                Step::Connect | Step::Serve | Step::Rest => std::future::pending().await,
            }
        };
        tokio::select! {
            () = wanted => Event::Wanted,
            () = waited => Event::Waited,
            () = self.login(), if matches!(step, Step::AwaitLogin(_)) => Event::LoggedIn,
        }
    }

    /// Returns when another process, or this one, has put a login on the disk. Looking costs no request to anybody.
    async fn login(&self) {
        let around = &self.server.shop.settings.around;
        let seen = || auth::login_stamp(&around.hermes_home, &self.server.settings.name);
        let before = seen();
        loop {
            self.server.clock().alarm(LOOK).await;
            let now = seen();
            if now.is_some() && now != before {
                return;
            }
        }
    }

    async fn connect(&mut self) -> Event {
        let limit = self.server.settings.connect_timeout;
        let clock = self.server.shop.clock.clone();
        let made = tokio::select! {
            biased;
            made = self.connected() => made,
            () = clock.alarm(limit) => {
                Err(Unconnected::Unreachable(format!("it did not say hello within {} s", limit.as_secs_f64())))
            }
        };
        let (reason, failure) = match made {
            Ok(()) => return Event::Connected,
            Err(Unconnected::Unreachable(reason)) => (reason, Failure::Unreachable),
            Err(Unconnected::Unauthorized(reason)) => (format!("{reason}; {}", self.way_in()), Failure::Unauthorized),
        };
        tracing::warn!(server = %self.server.settings.name, %reason, "an MCP server cannot be reached");
        self.server.condition.send_modify(|condition| condition.trouble = Some(reason));
        Event::Failed(failure)
    }

    /// What the person can do where a login is missing.
    fn way_in(&self) -> String {
        let name = &self.server.settings.name;
        match &self.server.settings.place {
            Place::Remote(remote) if remote.auth == Auth::Headers => {
                format!("check the key in its `headers`, or set `auth: oauth` and type `hermes mcp login {name}`")
            }
            Place::Remote(_) | Place::Program { .. } => format!("`hermes mcp login {name}` logs in"),
        }
    }

    /// A connection counts from the moment that the tools behind it are known.
    async fn connected(&mut self) -> Result<(), Unconnected> {
        let connection = Connection::to(&self.server).await?;
        let link = connection.link.clone();
        self.connection = Some(connection);
        let listed = self.refresh(&link).await;
        listed.map_err(|reason| Unconnected::Unreachable(format!("it does not tell its tools: {reason}")))?;
        self.since = self.server.clock().elapsed();
        self.server.link.send_replace(Some(link));
        Ok(())
    }

    /// Looks after a connection until something happens to it.
    async fn serve(&mut self) -> Event {
        loop {
            let server = self.server.clone();
            let unused = self.unused();
            let Some(connection) = &self.connection else { return self.lost() };
            let (link, ended) = (connection.link.clone(), connection.ended.clone());
            let wait = self.pace.wait(server.clock().elapsed());
            let changed = async {
                if !wait.is_zero() {
                    server.clock().alarm(wait).await;
                }
                server.changed.notified().await;
            };
            let need = tokio::select! {
                biased;
                () = ended => return self.lost(),
                () = changed => Need::Listing,
                () = unused => return Event::Unused,
                () = server.doubted.notified() => Need::Ping,
                () = server.clock().alarm(server.settings.keepalive) => Need::Ping,
            };
            match need {
                Need::Listing => self.listed_again(&link).await,
                // A server at work may have no time for a ping; it is asked when it has nothing to do.
                Need::Ping if server.idle_since().is_some() && !answers(&server, &link).await => {
                    tracing::warn!(server = %server.settings.name, "an MCP server does not answer any more");
                    return self.lost();
                }
                Need::Ping => {}
            }
        }
    }

    fn lost(&self) -> Event {
        Event::Lost(self.server.clock().elapsed().saturating_sub(self.since))
    }

    /// Lists the tools because the server said that they are others now. One that does not answer costs nothing but time,
    /// and not without end: it may be at work.
    async fn listed_again(&mut self, link: &Link) {
        let server = self.server.clone();
        self.pace.used(server.clock().elapsed());
        let late = server.clock().alarm(server.settings.connect_timeout);
        let listed = tokio::select! {
            biased;
            listed = self.refresh(link) => listed,
            () = late => Err("it does not answer".to_owned()),
        };
        if let Err(reason) = listed {
            tracing::warn!(server = %server.settings.name, reason, "its tools could not be listed again");
        }
    }

    /// Returns when a program has not been used for too long, or is too old and not in use.
    fn unused(&self) -> impl Future<Output = ()> + use<> {
        let (server, since) = (self.server.clone(), self.since);
        async move {
            let recycle = server.settings.recycle;
            let is_program = matches!(server.settings.place, Place::Program { .. });
            if !is_program || (recycle.idle.is_none() && recycle.lifetime.is_none()) {
                return std::future::pending().await;
            }
            loop {
                let now = server.clock().elapsed();
                let left = server.idle_since().map(|last| {
                    let idle = recycle.idle.map(|idle| (last.max(since) + idle).saturating_sub(now));
                    let old = recycle.lifetime.map(|lifetime| (since + lifetime).saturating_sub(now));
                    idle.into_iter().chain(old).min().unwrap_or_default()
                });
                match left {
                    Some(Duration::ZERO) => return,
                    Some(left) => server.clock().alarm(left).await,
                    // Somebody is calling; the call has an end.
                    None => server.clock().alarm(Duration::from_secs(1)).await,
                }
            }
        }
    }

    /// Reads what tools there are and registers what is new or different.
    async fn refresh(&mut self, link: &Link) -> Result<(), String> {
        let tools = tool::all(&self.server, link).await.map_err(|fault| fault.told(&self.server.settings.name))?;
        let server = &self.server.settings.name;
        let mut news = Vec::new();
        let mut present = BTreeMap::new();
        for tool in tools {
            let name = tool.card().name.to_string();
            if present.contains_key(&name) {
                tracing::warn!(server, name, "two tools of the server have the same name here; the first one counts");
                continue;
            }
            let (tool, threats) = tool.tempered(&self.server.shop.scanner);
            if let Some(threats) = threats.filter(|_| self.registered.get(&name) != Some(&tool)) {
                tracing::warn!(%server, name, threats, "the words of a tool want to steer the agent; they are left out");
            }
            present.insert(name, tool);
        }
        let gone: Vec<String> = self.registered.keys().filter(|name| !present.contains_key(*name)).cloned().collect();
        for name in gone {
            self.registry.deregister(&name);
            self.registered.remove(&name);
            news.push(format!("-{name}"));
        }
        for (name, tool) in present {
            if self.registered.get(&name) == Some(&tool) {
                continue;
            }
            if !self.registered.contains_key(&name) && self.registry.has(&name) {
                tracing::warn!(server, name, "the name is taken, so this tool of the server is not offered");
                continue;
            }
            if self.registry.register(tool.clone(), Replace::Refuse).is_ok() {
                news.push(format!("+{name}"));
                self.registered.insert(name, tool);
            }
        }
        if !news.is_empty() {
            self.registry.alias(server, &name::toolset(server));
            tracing::info!(server, news = news.join(" "), "tools of an MCP server");
        }
        Ok(())
    }

    fn withdraw(&mut self) {
        for name in std::mem::take(&mut self.registered).into_keys() {
            self.registry.deregister(&name);
        }
    }

    async fn disconnect(&mut self) {
        self.server.link.send_replace(None);
        if let Some(connection) = self.connection.take() {
            connection.close().await;
        }
    }
}

async fn answers(server: &Server, link: &Link) -> bool {
    tokio::select! {
        biased;
        answered = link.lives() => answered,
        () = server.clock().alarm(PING) => false,
    }
}
