//! What calls work with. The [`Workshop`] is shared by all conversations of a process; a [`Desk`] belongs to one
//! conversation (or one sub-agent) and holds what it remembers between calls; [`Cx`] is what one call gets.

use crate::aide::Aide;
use crate::checkpoint::{Checkpoints, looks_destructive};
use crate::delegate::Crew;
use crate::effects::{Access, Effects};
use crate::face::{Adviser, Face, Nobody};
use crate::files::search::Searches;
use crate::files::{History, Traffic};
use crate::gate::{Channel, Gate, LastingConsent};
use crate::memory::MemoryStore;
use crate::process::Processes;
use crate::run::{Ground, Guardrail, Hands, Hints, Room, Spill};
use crate::settings::Settings;
use crate::terminal::Terminal;
use crate::terminal::sandbox::Sandbox;
use crate::terminal::surroundings::session_variables;
use crate::threat::{self, Scanner, Scope};
use crate::todo::TodoList;
use hermes_core::clock::Clock;
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_types::{CallId, SessionId};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The only tool whose calls do not make it sensible to read a file again.
pub(crate) const READ_FILE: &str = "read_file";

/// Shared by every conversation of the process.
pub struct Workshop {
    pub settings: Settings,
    pub gate: Gate,
    pub face: Arc<dyn Face>,
    /// A model for jobs beside the conversation, where there is one.
    pub aide: Option<Arc<dyn Aide>>,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<dyn Listener>,
    pub processes: Processes,
    pub memory: MemoryStore,
    pub checkpoints: Checkpoints,
    pub spill: Spill,
    /// Who writes which file, across conversations.
    pub traffic: Traffic,
    pub scanner: Arc<Scanner>,
}

/// Whether a conversation hears what happens after its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    #[default]
    Lasting,
    /// It is over with one answer.
    OneShot,
}

/// What becomes of pictures that a tool gives back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Pictures {
    /// The model sees them.
    Seen,
    /// It reads their summary, or nobody knows: a tool that wants to be sure describes them.
    #[default]
    Unseen,
}

/// What the model of one conversation sees. It changes with the model, and when a provider refuses pictures.
#[derive(Debug, Default)]
pub struct Sight(AtomicBool);

impl Sight {
    pub fn set(&self, pictures: Pictures) {
        self.0.store(pictures == Pictures::Seen, Ordering::Relaxed);
    }

    pub fn pictures(&self) -> Pictures {
        if self.0.load(Ordering::Relaxed) { Pictures::Seen } else { Pictures::Unseen }
    }
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
    /// Directories that have told about themselves.
    pub hints: Hints,
    /// How long results may be.
    pub room: Room,
    /// Whether pictures in results are seen.
    pub sight: Sight,
    /// What was searched for, to notice a search that goes in circles.
    pub searches: Searches,
    /// Whether news of processes can reach the conversation later.
    pub news: Reach,
    /// Hears what calls of this conversation do.
    pub listener: Arc<dyn Listener>,
    /// Whether the person hears questions of this conversation.
    attendance: Channel,
    crew: OnceLock<Arc<dyn Crew>>,
    cwd: Mutex<PathBuf>,
}

/// What one call gets.
#[derive(Clone)]
pub struct Cx {
    pub desk: Arc<Desk>,
    /// For tools that call others: everything about those calls is as if the model had made them.
    pub hands: Hands,
    pub call: CallId,
    pub stop: Stop,
}

/// Everything a workshop is made of that comes from outside.
pub struct Ports {
    pub face: Arc<dyn Face>,
    pub adviser: Option<Arc<dyn Adviser>>,
    pub aide: Option<Arc<dyn Aide>>,
    pub lasting: Arc<dyn LastingConsent>,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<dyn Listener>,
}

impl Workshop {
    pub fn new(settings: Settings, ports: Ports) -> Arc<Self> {
        let Ports { face, adviser, aide, lasting, clock, listener } = ports;
        let gate =
            Gate::new(settings.approvals.clone(), &settings.around, face.clone(), adviser, clock.clone(), lasting);
        let scanner = Arc::new(Scanner::new());
        Arc::new(Self {
            gate,
            processes: Processes::new(&settings),
            memory: MemoryStore::new(&settings, scanner.clone()),
            checkpoints: Checkpoints::new(&settings),
            spill: Spill::new(&settings),
            traffic: Traffic::default(),
            scanner,
            face,
            aide,
            clock,
            listener,
            settings,
        })
    }

    /// What keeps commands inside limits on this machine, in one sentence.
    pub fn sandbox_report(&self) -> String {
        Sandbox::new(self.settings.terminal.sandbox, &self.settings.around).report().to_string()
    }

    /// Says why a text of a directory must not speak to the model, or nothing.
    pub(crate) fn objection(&self) -> impl Fn(&str) -> Option<String> + Send + 'static {
        let scanner = self.scanner.clone();
        move |text| {
            let threats = scanner.scan(text, Scope::Context);
            (!threats.is_empty()).then(|| threat::ids(&threats))
        }
    }
}

impl Desk {
    pub fn new(shop: Arc<Workshop>, session: SessionId) -> Arc<Self> {
        Self::reached(shop, session, Reach::default())
    }

    pub fn reached(shop: Arc<Workshop>, session: SessionId, news: Reach) -> Arc<Self> {
        let (cwd, listener) = (shop.settings.terminal.start(&shop.settings.around), shop.listener.clone());
        Arc::new(Self::at(shop, session, news, listener, Channel::Person, cwd))
    }

    /// The place of a sub-agent: it starts where this conversation is now and has everything else for itself. Nobody
    /// answers its questions, and it is over with its report.
    pub fn of_child(&self, session: SessionId, listener: Arc<dyn Listener>) -> Arc<Self> {
        Arc::new(Self::at(self.shop.clone(), session, Reach::OneShot, listener, Channel::Nobody, self.cwd()))
    }

    fn at(
        shop: Arc<Workshop>,
        session: SessionId,
        news: Reach,
        listener: Arc<dyn Listener>,
        attendance: Channel,
        cwd: PathBuf,
    ) -> Self {
        let terminal = Terminal::new(&shop.settings).with(session_variables(&session));
        Self {
            session,
            shop,
            terminal,
            todo: TodoList::default(),
            history: History::default(),
            guardrail: Guardrail::default(),
            hints: Hints::default(),
            room: Room::default(),
            sight: Sight::default(),
            searches: Searches::default(),
            news,
            listener,
            attendance,
            crew: OnceLock::new(),
            cwd: Mutex::new(cwd),
        }
    }

    /// Whom this conversation can ask.
    pub fn face(&self) -> &dyn Face {
        match self.attendance {
            Channel::Person => &*self.shop.face,
            Channel::Nobody => &Nobody,
        }
    }

    /// From now on work can be handed to these. The first crew stays.
    pub fn give_crew(&self, crew: Arc<dyn Crew>) {
        // A desk is given its crew by the one agent that sits at it; a second one is no news to anybody.
        let _ = self.crew.set(crew);
    }

    /// Who takes work off this conversation, if anybody does.
    pub fn crew(&self) -> Option<&Arc<dyn Crew>> {
        self.crew.get()
    }

    /// The directory that relative paths start from.
    pub fn cwd(&self) -> PathBuf {
        self.cwd.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn move_to(&self, cwd: impl Into<PathBuf>) {
        *self.cwd.lock().unwrap_or_else(PoisonError::into_inner) = cwd.into();
    }

    /// Ends everything that calls of this conversation started and that still runs.
    pub async fn close(&self) {
        self.shop.processes.end_all_of(&self.session).await;
        self.terminal.close().await;
    }

    /// A new turn: what was tried, saved or refused in the one before does not count.
    pub fn begin_turn(&self) {
        self.guardrail.begin_turn();
        self.shop.memory.begin_turn(&self.session);
        self.shop.checkpoints.begin_turn();
    }

    /// The last moment before a call has its effects: what it will change is saved where the owner wants that.
    pub(crate) async fn about_to_run(&self, tool: &str, effects: &Effects) {
        if tool != READ_FILE {
            self.history.other_tool_ran();
        }
        let checkpoints = &self.shop.checkpoints;
        if !self.settings().checkpoints.enabled {
            return;
        }
        for scope in effects.scopes.iter().filter(|scope| scope.access == Access::Write) {
            checkpoints.before_change(&scope.path, tool).await;
        }
        if let Some(command) = effects.command.as_ref().filter(|command| looks_destructive(&command.text)) {
            checkpoints.before_change(&command.cwd, &command.text).await;
        }
        if let Some(script) = &effects.script {
            checkpoints.before_change(&script.cwd, tool).await;
        }
    }

    /// Where the conversation started and where it is.
    pub(crate) fn ground(&self) -> Ground {
        let around = &self.settings().around;
        let cover = self.settings().cover;
        Ground { start: around.cwd.clone(), home: around.home.clone(), cwd: self.cwd(), cover }
    }

    pub fn settings(&self) -> &Settings {
        &self.shop.settings
    }
}
