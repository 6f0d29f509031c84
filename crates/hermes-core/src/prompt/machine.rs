//! The machine in a few words: what a model would otherwise spend its first calls on.

/// The system the program runs on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
    /// Linux inside of Windows.
    Wsl,
    /// Linux on Android, without root.
    Termux,
    Other(String),
}

/// Where commands run and files lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Commands {
    Here,
    /// Somewhere else: `docker`, `ssh`, …; what is true of this machine is not true there.
    In(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub system: System,
    pub commands: Commands,
    pub home: String,
    pub cwd: String,
}

impl Machine {
    pub(super) fn described(&self) -> String {
        if let Commands::In(backend) = &self.commands {
            return format!("Commands and files are in a `{backend}` environment, not on the person's own machine.");
        }
        let (name, note) = self.system.described();
        let facts = format!("System: {name}. Home: {}. Working directory: {}.", self.home, self.cwd);
        if note.is_empty() { facts } else { format!("{facts} {note}") }
    }
}

impl System {
    /// Its name, and what is different there.
    fn described(&self) -> (&str, &'static str) {
        match self {
            Self::Linux => ("Linux", ""),
            Self::MacOs => ("macOS", ""),
            Self::Windows => ("Windows", "Commands run in bash: write paths with `/`."),
            Self::Wsl => {
                ("Linux in WSL", "Windows drives are below /mnt (C: is /mnt/c); Windows programs need their `.exe`.")
            }
            Self::Termux => ("Android (Termux)", "Packages come with `pkg`; there is no root, sudo or systemd."),
            Self::Other(name) => (name, ""),
        }
    }
}
