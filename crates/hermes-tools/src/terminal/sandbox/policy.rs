//! The limits as data: which trees may change, what may be read, what nobody sees, and whether there is a network.
//!
//! All paths are real ones, because the kernel judges real paths. A workspace that contains something hidden (or lies in
//! it) is refused: rights to a directory are rights to all below it, and what is moved today is not where it is looked
//! for tomorrow.

use super::SandboxMode;
use crate::settings::Surroundings;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Credentials in the person's home.
const HIDDEN_IN_HOME: [&str; 15] = [
    ".ssh",
    ".aws",
    ".gnupg",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".cargo/credentials",
    ".cargo/credentials.toml",
];
/// Secrets in a home of Hermes; each profile has one.
const HIDDEN_IN_HERMES: [&str; 9] = [
    ".env",
    "auth.json",
    "auth.lock",
    ".anthropic_oauth.json",
    "webhook_subscriptions.json",
    "auth",
    "cache/bws_cache.json",
    "mcp-tokens",
    "pairing",
];
/// What only root can read at all, and needs not.
const HIDDEN_IN_SYSTEM: [&str; 5] =
    ["/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/sudoers.d", "/etc/ssl/private"];
/// What programs need to start: `strict` reads no more than this beside the workspace.
const SYSTEM: [&str; 15] = [
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/etc",
    "/opt",
    "/nix",
    "/snap",
    "/gnu",
    "/proc",
    "/sys",
    "/run/current-system",
];
/// Toolchains that live in a home, and the settings of git.
const TOOLCHAINS: [&str; 20] = [
    ".cargo",
    ".rustup",
    ".nvm",
    ".npm",
    ".pyenv",
    ".rbenv",
    ".sdkman",
    ".asdf",
    ".volta",
    ".bun",
    ".deno",
    "go",
    ".local/bin",
    ".local/lib",
    ".local/share/uv",
    ".local/share/mise",
    ".local/share/pnpm",
    ".cache",
    ".gitconfig",
    ".config/git",
];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Policy {
    /// Trees in which everything may be done.
    pub(super) writable: Vec<PathBuf>,
    pub(super) readable: Readable,
    /// Nobody reads or changes these, whatever else is said.
    pub(super) hidden: Vec<PathBuf>,
    pub(super) network: Network,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Readable {
    Everything,
    Only(Vec<PathBuf>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    Open,
    Closed,
}

/// Limits that cannot hold at once.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum Conflict {
    #[error(
        "terminal.sandbox is {mode}, but commands may change {} and must not see {}, and one lies in the other. \
         Start Hermes in a project directory of its own, or set terminal.sandbox to off", .writable.display(), .hidden.display()
    )]
    Exposed { mode: SandboxMode, writable: PathBuf, hidden: PathBuf },
    #[error(
        "terminal.sandbox is {mode}, but {} cannot be found ({reason}). \
         Start Hermes in a directory that exists, or set terminal.sandbox to off", .path.display()
    )]
    Missing { mode: SandboxMode, path: PathBuf, reason: String },
}

impl Policy {
    pub(super) fn of(mode: SandboxMode, around: &Surroundings, also: &[PathBuf]) -> Result<Self, Conflict> {
        let mut writable = Vec::new();
        for path in [&around.cwd, &around.temp].into_iter().chain(also) {
            let real = fs::canonicalize(path).map_err(|error| Conflict::Missing {
                mode,
                path: path.clone(),
                reason: error.to_string(),
            })?;
            writable.push(real);
        }
        let hidden = hidden(around);
        for tree in &writable {
            if let Some(path) = hidden.iter().find(|path| path.starts_with(tree) || tree.starts_with(path)) {
                return Err(Conflict::Exposed { mode, writable: tree.clone(), hidden: path.clone() });
            }
        }
        let (readable, network) = match mode {
            SandboxMode::Off | SandboxMode::Workspace => (Readable::Everything, Network::Open),
            SandboxMode::Strict => (Readable::Only(needed(around)), Network::Closed),
        };
        Ok(Self { writable, readable, hidden, network })
    }

    pub(super) fn hides(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| path.starts_with(hidden))
    }

    /// Whether something hidden lies below the path.
    pub(super) fn hides_below(&self, path: &Path) -> bool {
        self.hidden.iter().any(|hidden| hidden.starts_with(path))
    }
}

fn hidden(around: &Surroundings) -> Vec<PathBuf> {
    let mut homes = vec![around.hermes_home.clone(), around.hermes_root.clone()];
    let profiles = fs::read_dir(around.hermes_root.join("profiles")).into_iter().flatten().flatten();
    homes.extend(profiles.map(|profile| profile.path()));
    let of_home = HIDDEN_IN_HOME.iter().map(|name| around.home.join(name));
    let of_hermes = homes.iter().flat_map(|home| HIDDEN_IN_HERMES.iter().map(move |name| home.join(name)));
    let of_system = HIDDEN_IN_SYSTEM.iter().map(PathBuf::from);
    let all: BTreeSet<PathBuf> = of_home.chain(of_hermes).chain(of_system).map(|path| real(&path)).collect();
    all.into_iter().collect()
}

/// Where a path leads, as far as it exists: a credential that appears later is hidden as well.
fn real(path: &Path) -> PathBuf {
    match (fs::canonicalize(path), path.parent(), path.file_name()) {
        (Ok(real), ..) => real,
        (Err(_), Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

fn needed(around: &Surroundings) -> Vec<PathBuf> {
    let commands = around.variables.get("PATH").map(String::as_str).unwrap_or_default();
    let commands = std::env::split_paths(commands).filter(|path| path.is_absolute() && path.components().count() > 2);
    let toolchains = TOOLCHAINS.iter().map(|name| around.home.join(name));
    let system = SYSTEM.iter().map(PathBuf::from);
    let all: BTreeSet<PathBuf> =
        system.chain(toolchains).chain(commands).filter_map(|path| fs::canonicalize(path).ok()).collect();
    all.into_iter().collect()
}
