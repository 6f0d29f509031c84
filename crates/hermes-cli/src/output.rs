//! What a person or a program sees of a turn: the one place that writes to stdout and stderr.
//!
//! Stdout carries the answer and nothing else. Text goes out live to a terminal and whole to a pipe, so that a retry
//! never leaves half an answer in somebody's file. Everything else goes to stderr, for people. A person at a terminal is
//! never left in silence for long: [`Screen::keep_time`] shows what is being waited for.

mod drawing;
mod ending;
mod hearing;
mod report;
pub(crate) mod terminal;
mod words;
mod work;
pub(crate) mod wrap;

use crate::args::OutputFormat;
use drawing::{Voice, err, laid_out};
use hermes_core::stop::Stop;
use hermes_core::turn::{End, Interrupted, Outcome};
use hermes_model::resolve::Source;
use hermes_types::{Fault, FaultKind, SessionId};
use std::convert::Infallible;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use terminal::{Style, Terminal};
use words::Phase;
pub(crate) use words::describe;
use work::Work;
use wrap::Wrap;

/// The command whose answer is all there is.
pub(crate) const ONESHOT: &str = "hermes -z";

pub const EXIT_FAILED: u8 = 1;
pub const EXIT_USAGE: u8 = 2;
pub(crate) const EXIT_INTERRUPTED: u8 = 130;

/// How often the line about what is being waited for is drawn anew.
const TICK: Duration = Duration::from_millis(500);

/// How to show a turn.
#[derive(Debug, Clone)]
pub struct Show {
    pub format: OutputFormat,
    pub aside: Aside,
    /// The prefix of errors: the command as it was typed.
    pub command: &'static str,
    pub usage_file: Option<PathBuf>,
}

/// How much is said on stderr.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aside {
    /// Errors alone, and who answered when it was not the one who was asked.
    Errors,
    /// Errors, and the session's id at the end.
    ErrorsAndSession,
    /// What happens meanwhile, too.
    Everything,
}

/// How a conversation can go on behind a turn, as far as it is worth a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GoOn {
    Unsaid,
    /// With another question.
    WithAQuestion,
    /// The turn has no answer yet.
    WithTheTurn,
    /// There is part of an answer.
    FromThere,
}

pub struct Screen {
    show: Show,
    terminal: Terminal,
    /// Stopped when nobody reads us any more: an answer without a reader only costs money.
    stop: Stop,
    state: Mutex<State>,
}

struct State {
    session: SessionId,
    provider: Option<String>,
    model: Option<String>,
    /// Where the credential in use came from.
    key: Option<Source>,
    phase: Phase,
    work: Work,
    /// A question of the program itself is on the screen; these lines wait until it is answered.
    hushed: bool,
    held: Vec<String>,
    /// Words of the answer went out as they came.
    streamed: bool,
    go_on: GoOn,
    /// Thoughts are shown.
    reasoning: bool,
    /// Whose words are on the screen, and how they are laid out.
    voice: Option<Voice>,
    wrap: Wrap,
    /// The status line is on the screen; the cursor was at this column before it.
    status: Option<usize>,
    /// Stdout cannot be written to any more, and why.
    broken: Option<ErrorKind>,
}

impl Screen {
    pub fn new(show: Show, session: SessionId, stop: Stop) -> Self {
        let state = State {
            session,
            provider: None,
            model: None,
            key: None,
            phase: Phase::Preparing { what: "getting ready", since: Instant::now() },
            work: Work::default(),
            hushed: false,
            held: Vec::new(),
            streamed: false,
            go_on: GoOn::Unsaid,
            reasoning: false,
            voice: None,
            wrap: Wrap::default(),
            status: None,
            broken: None,
        };
        Self { show, terminal: Terminal::of_process(), stop, state: Mutex::new(state) }
    }

    /// The conversation that is shown.
    pub fn session(&self) -> SessionId {
        self.lock().session.clone()
    }

    /// It is one that was there before. Who watches is told which.
    pub fn goes_on_with(&self, session: SessionId) {
        let mut state = self.lock();
        if self.show.format == OutputFormat::Text && self.has_visitor() {
            self.tell(&mut state, &format!("… going on with session {session}"));
        }
        state.session = session;
    }

    /// Says how to go on, where that is worth a word.
    pub fn can_go_on(&self, how: GoOn) {
        self.lock().go_on = how;
    }

    /// Whether a tool is running.
    pub fn is_working(&self) -> bool {
        self.lock().work.now().is_some()
    }

    /// Nothing was asked, and why.
    pub fn unasked(&self, fault: Fault) -> Outcome {
        let state = self.lock();
        let end = match fault.kind {
            FaultKind::Interrupted => End::Interrupted(Interrupted::BetweenSteps),
            _ => End::Unanswered(fault),
        };
        Outcome::unasked(state.session.clone(), end, state.provider.clone(), state.model.clone())
    }

    /// A question of the program stands on the screen until the guard is gone; nothing else is drawn over it.
    pub fn hush(&self) -> Hush<'_> {
        let mut state = self.lock();
        self.end_line(&mut state);
        state.hushed = true;
        Hush(self)
    }

    /// True when a person watches the words arrive.
    pub fn is_live(&self) -> bool {
        self.show.format == OutputFormat::Text && self.terminal.out.is_terminal()
    }

    /// Shows what the model thinks, where a terminal can set it apart from what it says.
    pub fn show_reasoning(&self, wanted: bool) {
        let talkative = self.show.aside == Aside::Everything;
        self.lock().reasoning = wanted && talkative && self.is_live() && self.terminal.can_dim();
    }

    /// Remembers where the credential came from, for the case that it is refused.
    pub fn key_is_from(&self, source: Source) {
        self.lock().key = Some(source);
    }

    /// Prints a line of the program's own on stdout.
    pub fn line(&self, text: &str) {
        let mut state = self.lock();
        self.wipe(&mut state);
        let text = if self.is_live() { wrap::fill(text, terminal::width()) } else { text.to_owned() };
        self.out(&mut state, &format!("{text}\n"));
    }

    /// An error for a person, on stderr.
    pub fn complain(&self, message: &str) {
        let mut state = self.lock();
        self.end_line(&mut state);
        let prefix = format!("{}:", self.show.command);
        let text = laid_out(self.terminal, &format!("{prefix} {message}"));
        let rest = text.strip_prefix(&prefix).unwrap_or(&text);
        err(&format!("{}{rest}\n", self.terminal.styled(Style::Alarm, &prefix)));
    }

    /// Something a person should know, if they want to hear such things.
    pub fn remark(&self, text: &str) {
        if self.show.aside == Aside::Everything {
            self.tell(&mut self.lock(), &format!("… {text}"));
        }
    }

    /// Says what the program waits for before it can ask, and how to end that, to everybody who did not want silence.
    pub fn explain_wait(&self, what: &'static str, way_out: &str) {
        let mut state = self.lock();
        if self.show.aside != Aside::ErrorsAndSession {
            self.tell(&mut state, &format!("… {what}; {way_out}"));
        }
        state.phase = Phase::Preparing { what, since: Instant::now() };
    }

    /// Shows what is being waited for, for as long as it is polled.
    pub async fn keep_time(&self) -> Infallible {
        loop {
            tokio::time::sleep(TICK).await;
            self.tick();
        }
    }

    /// A panic elsewhere must not silence the answer.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// Keeps the screen quiet while it lives.
pub struct Hush<'a>(&'a Screen);

impl Drop for Hush<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.hushed = false;
        for line in std::mem::take(&mut state.held) {
            self.0.tell(&mut state, &line);
        }
    }
}

/// An error before there is a screen.
pub fn complain(message: &str) -> ExitCode {
    complain_early(message);
    ExitCode::from(EXIT_FAILED)
}

/// The command line does not say what to do.
pub fn misused(message: &str) -> ExitCode {
    complain_early(message);
    ExitCode::from(EXIT_USAGE)
}

fn complain_early(message: &str) {
    let text = laid_out(Terminal::of_process(), &format!("hermes: {message}"));
    err(&format!("{text}\n"));
}
