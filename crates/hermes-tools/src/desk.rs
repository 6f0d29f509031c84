//! What calls work with. The [`Workshop`] is shared by all conversations of a process; a [`Desk`] belongs to one
//! conversation (or one sub-agent) and holds what it remembers between calls; [`Cx`] is what one call gets.

use crate::checkpoint::Checkpoints;
use crate::face::{Adviser, Face};
use crate::files::History;
use crate::gate::{Gate, LastingConsent};
use crate::memory::MemoryStore;
use crate::process::Processes;
use crate::run::{Guardrail, Spill};
use crate::settings::Settings;
use crate::terminal::Terminal;
use crate::todo::TodoList;
use hermes_core::clock::Clock;
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_types::{CallId, SessionId};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Shared by every conversation of the process.
pub struct Workshop {
    pub settings: Settings,
    pub gate: Gate,
    pub face: Arc<dyn Face>,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<dyn Listener>,
    pub processes: Processes,
    pub memory: MemoryStore,
    pub checkpoints: Checkpoints,
    pub spill: Spill,
}

/// One conversation's place: its directory, its shell, its lists.
pub struct Desk {
    pub session: SessionId,
    pub shop: Arc<Workshop>,
    /// The shell whose variables and directory live on between commands.
    pub terminal: Terminal,
    pub todo: TodoList,
    /// What was read and written, and when.
    pub history: History,
    pub guardrail: Guardrail,
    cwd: Mutex<PathBuf>,
}

/// What one call gets.
#[derive(Clone)]
pub struct Cx {
    pub desk: Arc<Desk>,
    pub call: CallId,
    pub stop: Stop,
}

/// Everything a workshop is made of that comes from outside.
pub struct Ports {
    pub face: Arc<dyn Face>,
    pub adviser: Option<Arc<dyn Adviser>>,
    pub lasting: Arc<dyn LastingConsent>,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<dyn Listener>,
}

impl Workshop {
    pub fn new(settings: Settings, ports: Ports) -> Arc<Self> {
        let Ports { face, adviser, lasting, clock, listener } = ports;
        let gate =
            Gate::new(settings.approvals.clone(), &settings.around, face.clone(), adviser, clock.clone(), lasting);
        Arc::new(Self {
            gate,
            processes: Processes::new(&settings),
            memory: MemoryStore::new(&settings),
            checkpoints: Checkpoints::new(&settings),
            spill: Spill::new(&settings),
            face,
            clock,
            listener,
            settings,
        })
    }
}

impl Desk {
    pub fn new(shop: Arc<Workshop>, session: SessionId) -> Arc<Self> {
        let cwd = Mutex::new(shop.settings.around.cwd.clone());
        let terminal = Terminal::new(&shop.settings);
        Arc::new(Self {
            session,
            shop,
            terminal,
            todo: TodoList::default(),
            history: History::default(),
            guardrail: Guardrail::default(),
            cwd,
        })
    }

    /// The directory that relative paths start from.
    pub fn cwd(&self) -> PathBuf {
        self.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn move_to(&self, cwd: impl Into<PathBuf>) {
        *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = cwd.into();
    }

    pub fn settings(&self) -> &Settings {
        &self.shop.settings
    }
}
