//! What the kernel lets a command do, beside what the gate allowed it to try.
//!
//! `workspace`: files change only below the directory the conversation started in and below the temp directory, and
//! nobody reads Hermes' secrets or the person's credentials. `strict`: also no network, and only the workspace, the
//! system and the toolchains can be read. `cd` widens nothing: the workspace is where the conversation began.
//!
//! The limits are [`Policy`], as data; [`bubblewrap`] keeps them with mounts and namespaces, [`rules`] (Landlock) and
//! [`calls`] (seccomp) without any help. Landlock and seccomp hold for a thread and all it starts, so a thread restricts
//! itself, starts the command and ends. What cannot be enforced is refused, never pretended. All of it takes away the
//! right to gain rights: sudo does not work in here.

mod bubblewrap;
mod calls;
mod means;
mod policy;
mod report;
mod rights;
mod rules;

pub use report::{NetworkBy, Report};

use crate::settings::Surroundings;
use means::{Keeper, Means};
use policy::Policy;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// `terminal.sandbox`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SandboxMode {
    #[default]
    Off,
    Workspace,
    Strict,
}

impl fmt::Display for SandboxMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Off => "off",
            Self::Workspace => "workspace",
            Self::Strict => "strict",
        })
    }
}

/// Whether what will be spawned begins with the words of [`Sandbox::prefix`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrapped {
    Yes,
    No,
}

/// Starts commands inside their limits. Cheap to make and to clone; what the machine can do is found out at first use.
#[derive(Clone)]
pub struct Sandbox(Arc<Inner>);

struct Inner {
    mode: SandboxMode,
    around: Surroundings,
    /// Directories the owner made writable beside the workspace.
    also_writable: Vec<PathBuf>,
    means: OnceLock<Means>,
}

impl Sandbox {
    pub fn new(mode: SandboxMode, around: &Surroundings) -> Self {
        Self::with_writable(mode, around, Vec::new())
    }

    /// With more directories that commands may change: caches of package managers, a second repository.
    pub fn with_writable(mode: SandboxMode, around: &Surroundings, also_writable: Vec<PathBuf>) -> Self {
        Self(Arc::new(Inner { mode, around: around.clone(), also_writable, means: OnceLock::new() }))
    }

    pub fn mode(&self) -> SandboxMode {
        self.0.mode
    }

    /// What is really enforced on this machine. The first call may start a short process: not for an async task.
    pub fn report(&self) -> Report {
        report::of(self.0.mode, self.0.means())
    }

    /// Words that belong in front of a program where a wrapper keeps the limits; none where the kernel does it alone.
    /// A command without them is also kept inside, only by Landlock and seccomp. `setsid` may stand before them.
    pub async fn prefix(&self) -> io::Result<Vec<OsString>> {
        if self.0.mode == SandboxMode::Off {
            return Ok(Vec::new());
        }
        let inner = Arc::clone(&self.0);
        tokio::task::spawn_blocking(move || inner.prefix()).await.map_err(io::Error::other)?
    }

    /// Runs `spawn` where everything it starts is inside the limits. What it gives back is dropped where nobody waits for
    /// it any more, and has to end then.
    pub async fn inside<T, F>(&self, wrapped: Wrapped, spawn: F) -> io::Result<T>
    where
        T: Send + 'static,
        F: FnOnce() -> io::Result<T> + Send + 'static,
    {
        if self.0.mode == SandboxMode::Off {
            return spawn();
        }
        let (inner, runtime) = (Arc::clone(&self.0), Handle::current());
        let (done, spawned) = oneshot::channel();
        std::thread::Builder::new().name("sandbox".to_owned()).spawn(move || {
            let _context = runtime.enter();
            let result = inner.restrict(wrapped).and_then(|()| spawn());
            // Nobody waits any more: what was started is dropped.
            drop(done.send(result));
        })?;
        spawned.await.map_err(|_| io::Error::other("the thread that starts commands in the sandbox ended early"))?
    }
}

impl Inner {
    fn means(&self) -> &Means {
        self.means.get_or_init(|| Means::of(&self.around))
    }

    fn policy(&self) -> io::Result<Policy> {
        Policy::of(self.mode, &self.around, &self.also_writable)
            .map_err(|conflict| io::Error::new(io::ErrorKind::PermissionDenied, conflict))
    }

    fn prefix(&self) -> io::Result<Vec<OsString>> {
        match self.means().keeper(self.mode)? {
            Keeper::Bubblewrap(found) => Ok(bubblewrap::words(&found.path, &self.policy()?)),
            Keeper::Kernel => Ok(Vec::new()),
        }
    }

    /// Restricts the calling thread, and with it all that it starts.
    fn restrict(&self, wrapped: Wrapped) -> io::Result<()> {
        let policy = self.policy()?;
        match wrapped {
            // The wrapper must still be able to mount; what mounts do not keep is kept by the filter.
            Wrapped::Yes => {
                rules::restrict_nameless_sockets()?;
                calls::refuse(calls::Sockets::of_namespace(policy.network))
            }
            Wrapped::No => {
                self.means().kernel(self.mode)?;
                rights::give_up()?;
                rules::restrict(&policy)?;
                calls::refuse(calls::Sockets::of_kernel(policy.network))
            }
        }
    }
}
