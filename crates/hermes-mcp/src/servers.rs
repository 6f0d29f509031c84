//! All servers of the process, each with a task of its own. Starting them takes no time: they connect in the background.

use crate::life::Phase;
use crate::name;
use crate::server::Server;
use crate::settings::{Found, Problem};
use crate::supervise::Supervisor;
use futures_util::future::join_all;
use hermes_core::stop::Stop;
use hermes_tools::desk::Workshop;
use hermes_tools::registry::Registry;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long servers have to end, all of them together.
const FAREWELL: Duration = Duration::from_secs(6);

pub struct Servers {
    servers: Vec<Arc<Server>>,
    problems: Vec<Problem>,
    registry: Arc<Registry>,
    tasks: Mutex<JoinSet<()>>,
    stop: Stop,
}

/// How a server is, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    pub name: String,
    pub state: State,
    /// What went wrong last, while it is not ready.
    pub trouble: Option<String>,
    /// Names of its tools here.
    pub tools: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Connecting,
    Ready,
    /// Ended because nobody used it; the next call starts it.
    Resting,
    /// It cannot be reached; it is tried again now and then.
    Away,
    /// Somebody has to log in.
    LoggedOut,
}

impl Servers {
    /// Begins to connect to all of them. Their tools join the registry as they arrive. Must be called inside of a runtime.
    pub fn start(found: Found, registry: Arc<Registry>, shop: &Arc<Workshop>) -> Self {
        Self::start_in(Duration::ZERO, found, registry, shop)
    }

    /// The same after a while, so that whoever starts them is done with what matters more first.
    pub fn start_in(delay: Duration, found: Found, registry: Arc<Registry>, shop: &Arc<Workshop>) -> Self {
        let stop = Stop::new();
        let mut tasks = JoinSet::new();
        let servers: Vec<Arc<Server>> =
            found.servers.into_iter().map(|settings| Server::new(settings, shop.clone())).collect();
        for server in &servers {
            tasks.spawn(Supervisor::new(server.clone(), registry.clone()).run_in(delay, stop.clone()));
        }
        for problem in &found.problems {
            tracing::warn!("{problem}");
        }
        Self { servers, problems: found.problems, registry, tasks: Mutex::new(tasks), stop }
    }

    /// What is wrong with the settings.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }

    pub fn report(&self) -> Vec<Report> {
        self.servers.iter().map(|server| self.report_of(server)).collect()
    }

    fn report_of(&self, server: &Server) -> Report {
        let condition = server.condition.borrow().clone();
        let state = match condition.phase {
            Phase::Connecting(0) => State::Connecting,
            Phase::Ready => State::Ready,
            Phase::Resting => State::Resting,
            Phase::LoggedOut => State::LoggedOut,
            Phase::Connecting(_) | Phase::Pausing(_) | Phase::Parked => State::Away,
        };
        let name = server.settings.name.clone();
        let tools = self.registry.tools_of(&name::toolset(&name)).into_iter().collect();
        Report { name, state, trouble: condition.trouble, tools }
    }

    /// Waits until every server has answered once, or failed to, but not longer than this.
    pub async fn settled(&self, limit: Duration) {
        let all = join_all(self.servers.iter().map(|server| async {
            let mut condition = server.condition.subscribe();
            // The sender lives as long as the server.
            let _ = condition.wait_for(|condition| condition.phase != Phase::Connecting(0)).await;
        }));
        // Whoever is late joins later.
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// Ends all connections and every program that was started for one.
    pub async fn close(&self) {
        self.stop.stop();
        let mut tasks = std::mem::take(&mut *self.tasks.lock().unwrap_or_else(PoisonError::into_inner));
        let ended = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(FAREWELL, ended).await.is_err() {
            tracing::warn!("an MCP server did not end in time");
        }
    }
}
