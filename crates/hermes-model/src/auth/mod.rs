//! Stored logins: where they live, which of them may be used now, and how they are renewed.
//!
//! Two kinds of file are read: our own (`auth.json`, `.anthropic_oauth.json`) and, when the person chose that login,
//! those of other programs (Claude Code, Codex). Every change happens under `auth.lock` on what is on disk at that
//! moment, so several processes can share one home. A refresh token works once; therefore it is read again before it is
//! spent, its place is proven writable, and what came back is on disk before anybody uses it; should the disk fail just
//! then, it is kept in memory and the person is warned.
//!
//! Nothing here reads the environment, prints or opens a browser: paths, transport and clock come in through
//! [`AuthContext`], and vendor addresses are plain fields of [`Endpoints`].

pub mod anthropic;
pub mod codex;
pub mod copilot;
mod device;
mod document;
pub mod edit;
mod endpoints;
mod error;
mod exchange;
mod files;
pub mod jwt;
mod lock;
mod moment;
pub mod nous;
pub mod pkce;
pub mod pool;
#[cfg(test)]
mod rehearsal;
mod renew;
mod row;
mod snapshot;
mod source;
mod store;
mod tokens;
mod unsaved;

pub use device::DevicePrompt;
pub use document::Document;
pub use endpoints::Endpoints;
pub use error::{AuthCode, AuthError, DeadReason};
pub use renew::{Need, Renewal, Renewed, renew};
pub use row::{AuthType, Row, Standing};
pub use snapshot::{Login, Logins, Parts};
pub use source::Source;
pub use store::{AuthStore, Loaded, StoreError, StoreWarning};

use crate::secret::Secret;
use crate::transport::Transport;
use hermes_core::clock::Clock;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Who we say we are to every login server. Never the name of another program.
pub use crate::http::USER_AGENT;

/// A renewal has this long to come to its end after the person wanted to leave.
pub const SETTLE_LIMIT: Duration = Duration::from_secs(25);
const ANTHROPIC_FILE: &str = ".anthropic_oauth.json";

/// The provider ids logins are stored under.
pub mod provider_id {
    pub const ANTHROPIC: &str = "anthropic";
    pub const CODEX: &str = "openai-codex";
    pub const NOUS: &str = "nous";
    pub const COPILOT: &str = "copilot";
}

/// Where logins are stored on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthPaths {
    /// The home in use: the root home or that of a profile.
    pub home: PathBuf,
    /// The root home, when `home` is that of a profile. What the profile lacks is read from there.
    pub root: Option<PathBuf>,
    /// Claude Code's `.credentials.json`.
    pub claude_code: Option<PathBuf>,
    /// The Codex program's `auth.json`. Read, never written.
    pub codex_cli: Option<PathBuf>,
}

/// What a login needs from the world. Shared by everything in the process that may renew one.
pub struct AuthContext {
    pub paths: AuthPaths,
    pub endpoints: Endpoints,
    pub transport: Arc<dyn Transport>,
    pub clock: Arc<dyn Clock>,
    /// The GitHub tokens that Copilot sessions are made from: those of the environment and of GitHub's own program.
    pub github: Vec<(Source, Secret)>,
    /// One renewal at a time in this process; the lock file does the same between processes.
    turn: tokio::sync::Mutex<()>,
    copilot: copilot::Cache,
    unsaved: unsaved::Keeper,
}

impl AuthContext {
    pub fn new(
        paths: AuthPaths,
        endpoints: Endpoints,
        transport: Arc<dyn Transport>,
        clock: Arc<dyn Clock>,
        github: Vec<(Source, Secret)>,
    ) -> Self {
        Self {
            paths,
            endpoints,
            transport,
            clock,
            github,
            turn: tokio::sync::Mutex::new(()),
            copilot: copilot::Cache::default(),
            unsaved: unsaved::Keeper::default(),
        }
    }

    /// Held by whoever is about to change the store, so that tasks of one process need not poll for its lock.
    pub(crate) async fn in_turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Waits until no renewal is under way, for a program that is about to end: a refresh token that was spent and not
    /// replaced on disk is a login lost. False when it took too long.
    pub async fn settled(&self) -> bool {
        use futures_util::future::{Either, select};
        let idle = std::pin::pin!(self.turn.lock());
        matches!(select(idle, self.clock.alarm(SETTLE_LIMIT)).await, Either::Left(_))
    }

    /// What a person should know about their logins before the program ends.
    pub fn warnings(&self) -> Vec<String> {
        self.unsaved.warnings()
    }

    pub fn store(&self) -> AuthStore {
        AuthStore::new(&self.paths)
    }
}

impl AuthPaths {
    /// A root home and nothing else.
    pub fn root(home: impl Into<PathBuf>) -> Self {
        Self { home: home.into(), root: None, claude_code: None, codex_cli: None }
    }

    /// Where a new Anthropic login is stored.
    fn own_anthropic_file(&self) -> PathBuf {
        self.home.join(ANTHROPIC_FILE)
    }

    /// Where the Anthropic login in use is stored: in the profile, else in the root.
    fn anthropic_file(&self) -> PathBuf {
        let own = self.own_anthropic_file();
        match &self.root {
            Some(root) if !own.exists() => root.join(ANTHROPIC_FILE),
            _ => own,
        }
    }
}

impl fmt::Debug for AuthContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AuthContext")
            .field("paths", &self.paths)
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}
