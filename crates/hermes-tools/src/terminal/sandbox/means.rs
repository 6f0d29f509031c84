//! What this machine offers to keep limits with, found out by trying.

use super::{SandboxMode, bubblewrap, calls, rules};
use crate::settings::Surroundings;
use landlock::LandlockStatus;
use std::io;
use std::path::PathBuf;

/// Found at first use, true for the life of the program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Means {
    pub(super) landlock: Result<u32, String>,
    pub(super) seccomp: Result<(), String>,
    pub(super) bubblewrap: Result<Bubblewrap, String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bubblewrap {
    pub(super) path: PathBuf,
    pub(super) version: String,
}

/// Who keeps the limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keeper<'a> {
    Bubblewrap(&'a Bubblewrap),
    /// Landlock and seccomp.
    Kernel,
}

impl Means {
    pub(super) fn of(around: &Surroundings) -> Self {
        Self {
            landlock: landlock(),
            seccomp: calls::probe().map_err(|error| error.to_string()),
            bubblewrap: bubblewrap::find(around),
        }
    }

    pub(super) fn bubblewrap(&self) -> Option<&Bubblewrap> {
        self.bubblewrap.as_ref().ok()
    }

    pub(super) fn keeper(&self, mode: SandboxMode) -> io::Result<Keeper<'_>> {
        // The filter is part of either.
        match (&self.bubblewrap, &self.seccomp) {
            (Ok(found), Ok(())) => Ok(Keeper::Bubblewrap(found)),
            _ => self.kernel(mode).map(|()| Keeper::Kernel),
        }
    }

    /// Whether the kernel alone can keep the limits.
    pub(super) fn kernel(&self, mode: SandboxMode) -> io::Result<()> {
        match (&self.landlock, &self.seccomp) {
            (Ok(_), Ok(())) => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::Unsupported, self.missing(mode))),
        }
    }

    /// What is missing and what to do, for people.
    pub(super) fn missing(&self, mode: SandboxMode) -> String {
        let reasons = [
            self.landlock.as_ref().err().map(|reason| format!("Landlock: {reason}")),
            self.seccomp.as_ref().err().map(|reason| format!("seccomp: {reason}")),
            self.bubblewrap.as_ref().err().map(|reason| format!("bubblewrap: {reason}")),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        format!(
            "terminal.sandbox is {mode}, and nothing here can enforce it ({}). No command runs without it. \
             Install bubblewrap, use Linux 6.2 or newer with Landlock, or set terminal.sandbox to off",
            reasons.join("; ")
        )
    }
}

/// The version of Landlock's interface. Only a restricted thread learns it, so one is sacrificed.
fn landlock() -> Result<u32, String> {
    let probed = std::thread::spawn(|| rules::probe().map_err(|error| error.to_string())).join();
    let status = probed.map_err(|_| "its probe failed".to_owned())??;
    match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => Ok(effective_abi as u32),
        LandlockStatus::NotEnabled => Err("not enabled in this kernel".to_owned()),
        _ => Err("not in this kernel".to_owned()),
    }
}
