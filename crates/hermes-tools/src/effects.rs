//! What a call would touch, as data. The planner keeps conflicting calls apart by it, and the gate judges it.

use crate::gate::Remembered;
use hermes_types::Touch;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Everything one call would do to the world.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Effects {
    pub scopes: Vec<Scope>,
    pub command: Option<ShellCommand>,
    pub script: Option<Script>,
    pub company: Company,
    /// What it does besides, where neither paths nor a command tell.
    pub besides: Touch,
}

/// Whether other calls of the same batch may run at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Company {
    /// Beside everything whose scopes do not conflict.
    #[default]
    Welcome,
    /// Nothing before it is still running, nothing after it has begun.
    Alone,
}

/// Files a call reads or writes. Paths are absolute and resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    pub path: PathBuf,
    pub access: Access,
    pub reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    Read,
    Write,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This file alone.
    File,
    /// The directory and all below it.
    Tree,
}

/// Text for a shell, where it would run, and what that shell holds from earlier commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShellCommand {
    pub text: String,
    pub cwd: PathBuf,
    pub remembered: Arc<Remembered>,
}

/// A whole program in another language than the shell's, and where it would run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    pub text: String,
    pub cwd: PathBuf,
}

impl Effects {
    /// Nothing outside of the program.
    pub fn none() -> Self {
        Self::default()
    }

    /// Nothing outside of the program, but a person is spoken to or the order matters.
    pub fn alone() -> Self {
        Self { company: Company::Alone, ..Self::default() }
    }

    /// Something outside that neither paths nor a command describe: another agent at work, a server that was told.
    pub fn deed() -> Self {
        Self { besides: Touch::Changes, ..Self::default() }
    }

    /// Whether the call may change anything. A command that may run beside others only looks.
    pub fn touch(&self) -> Touch {
        let writes = self.scopes.iter().any(|scope| scope.access == Access::Write);
        let acts = self.command.is_some() && self.company == Company::Alone;
        if writes || acts { Touch::Changes } else { self.besides }
    }

    pub fn read(path: impl Into<PathBuf>) -> Self {
        Self::touching(path, Access::Read, Reach::File)
    }

    pub fn read_tree(path: impl Into<PathBuf>) -> Self {
        Self::touching(path, Access::Read, Reach::Tree)
    }

    pub fn write(path: impl Into<PathBuf>) -> Self {
        Self::touching(path, Access::Write, Reach::File)
    }

    fn touching(path: impl Into<PathBuf>, access: Access, reach: Reach) -> Self {
        Self { scopes: vec![Scope { path: path.into(), access, reach }], ..Self::default() }
    }

    pub fn command(text: impl Into<String>, cwd: impl Into<PathBuf>, company: Company) -> Self {
        let command = ShellCommand { text: text.into(), cwd: cwd.into(), remembered: Arc::default() };
        Self { command: Some(command), company, ..Self::default() }
    }

    /// A program of which nobody can say beforehand all that it touches.
    pub fn script(text: impl Into<String>, cwd: impl Into<PathBuf>) -> Self {
        let script = Script { text: text.into(), cwd: cwd.into() };
        Self { script: Some(script), company: Company::Alone, besides: Touch::Changes, ..Self::default() }
    }

    /// Where the command or the script would run.
    pub fn cwd(&self) -> Option<&Path> {
        let script = self.script.as_ref().map(|script| script.cwd.as_path());
        self.command.as_ref().map(|command| command.cwd.as_path()).or(script)
    }

    /// The command runs in a shell that holds this.
    #[must_use]
    pub fn after(mut self, remembered: Arc<Remembered>) -> Self {
        if let Some(command) = &mut self.command {
            command.remembered = remembered;
        }
        self
    }

    /// Whether the two may not run at the same time.
    pub fn conflicts_with(&self, other: &Self) -> bool {
        let alone = self.company == Company::Alone || other.company == Company::Alone;
        alone || self.scopes.iter().any(|mine| other.scopes.iter().any(|theirs| mine.conflicts_with(theirs)))
    }
}

impl Scope {
    fn conflicts_with(&self, other: &Self) -> bool {
        let both_read = self.access == Access::Read && other.access == Access::Read;
        !both_read && (self.covers(&other.path) || other.covers(&self.path))
    }

    /// A written path also stands for everything below it: `d` written as a file and `d/x` cannot both be.
    fn covers(&self, path: &Path) -> bool {
        match (self.access, self.reach) {
            (Access::Read, Reach::File) => path == self.path,
            (Access::Write, _) | (Access::Read, Reach::Tree) => path.starts_with(&self.path),
        }
    }
}
