//! What is really enforced on this machine, for people who want to know before they rely on it.

use super::SandboxMode;
use super::means::{Keeper, Means};
use serde::Serialize;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    pub mode: SandboxMode,
    /// Whether commands run at all: with limits that hold, or because none are wanted.
    pub ready: bool,
    /// Version of Landlock's interface.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub landlock_abi: Option<u32>,
    pub seccomp: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bubblewrap: Option<String>,
    pub network: NetworkBy,
    /// All of it in words.
    pub sentence: String,
}

/// What keeps commands from the network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkBy {
    /// It is open.
    Nothing,
    /// A network of its own without a way out.
    Namespace,
    /// No sockets at all.
    Seccomp,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

pub(super) fn of(mode: SandboxMode, means: &Means) -> Report {
    let keeper = means.keeper(mode);
    let network = match (mode, &keeper) {
        (SandboxMode::Strict, Ok(Keeper::Bubblewrap(_))) => NetworkBy::Namespace,
        (SandboxMode::Strict, Ok(Keeper::Kernel)) => NetworkBy::Seccomp,
        _ => NetworkBy::Nothing,
    };
    Report {
        mode,
        ready: mode == SandboxMode::Off || keeper.is_ok(),
        landlock_abi: means.landlock.as_ref().ok().copied(),
        seccomp: means.seccomp.is_ok(),
        bubblewrap: means.bubblewrap().map(|found| found.version.clone()),
        network,
        sentence: sentence(mode, means, keeper.ok()),
    }
}

fn sentence(mode: SandboxMode, means: &Means, keeper: Option<Keeper<'_>>) -> String {
    let Some(keeper) = keeper else {
        return match mode {
            SandboxMode::Off => "Commands run without a sandbox, and this machine could not enforce one.".to_owned(),
            SandboxMode::Workspace | SandboxMode::Strict => format!("{}.", means.missing(mode)),
        };
    };
    let by = match keeper {
        Keeper::Bubblewrap(found) => found.version.clone(),
        Keeper::Kernel => format!("Landlock {} and seccomp", means.landlock.as_ref().copied().unwrap_or_default()),
    };
    let sockets = match keeper {
        Keeper::Bubblewrap(_) => "",
        Keeper::Kernel => {
            " Local sockets (docker, ssh-agent, tmux) are refused too; with bubblewrap installed a command has its own."
        }
    };
    match mode {
        SandboxMode::Off => {
            format!("Commands run without a sandbox; {by} could enforce one (terminal.sandbox: workspace or strict).")
        }
        SandboxMode::Workspace => format!(
            "Commands change files only in the workspace and the temp directory, and cannot read credentials; the network is open ({by}).{sockets} sudo does not work."
        ),
        SandboxMode::Strict => format!(
            "Commands see and change only the workspace and the temp directory, read the system and toolchains, and have no network ({by}).{sockets} sudo does not work."
        ),
    }
}
