//! What a person or a program sees of a turn: the one place that writes to stdout and stderr.
//!
//! Stdout carries the answer and nothing else. Text goes out live to a terminal and whole to a pipe, so that a retry
//! never leaves half an answer in somebody's file. Everything else goes to stderr, for people. A person at a terminal is
//! never left in silence for long: [`Screen::keep_time`] shows what is being waited for.

mod ending;
mod report;
pub(crate) mod terminal;
mod words;
mod work;
pub(crate) mod wrap;

use crate::args::OutputFormat;
use crate::commands::paper::{json_line, one_line, shown};
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_core::turn::{End, Interrupted, Outcome};
use hermes_model::resolve::Source;
use hermes_types::{Event, Fault, FaultKind, Notice, SessionId};
use std::convert::Infallible;
use std::io::{ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use terminal::{Attached, Style, Terminal, harmless};
use words::Phase;
use work::{Caller, Ended, Work};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    Thought,
    Answer,
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

    /// Words of the model on the terminal, thoughts set apart from the answer.
    fn speak(&self, state: &mut State, voice: Voice, text: &str) {
        self.wipe(state);
        state.phase = Phase::Speaking { since: Instant::now() };
        let mut text = harmless(text);
        if state.voice != Some(voice) {
            if state.voice.is_some() {
                self.end_line(state);
                self.write(state, voice, "\n");
            }
            text = text.trim_start_matches('\n').to_owned().into();
            state.voice = (!text.is_empty()).then_some(voice);
        }
        state.streamed |= voice == Voice::Answer && state.voice.is_some();
        let shown = state.wrap.push(&text, terminal::width());
        self.write(state, voice, &shown);
    }

    fn write(&self, state: &mut State, voice: Voice, shown: &str) {
        match voice {
            Voice::Answer => self.out(state, shown),
            Voice::Thought if shown.trim().is_empty() => err(shown),
            Voice::Thought => err(&self.terminal.styled(Style::Dim, shown)),
        }
    }

    /// The cursor to the start of a line, with all words out and the status gone.
    fn end_line(&self, state: &mut State) {
        self.wipe(state);
        let Some(voice) = state.voice.take() else { return };
        let rest = state.wrap.flush(terminal::width());
        self.write(state, voice, &rest);
        if state.wrap.column() > 0 {
            self.write(state, voice, "\n");
        }
        state.wrap = Wrap::default();
    }

    fn tell(&self, state: &mut State, text: &str) {
        if state.hushed {
            state.held.push(text.to_owned());
            return;
        }
        self.end_line(state);
        err(&format!("{}\n", self.terminal.styled(Style::Dim, &laid_out(self.terminal, text))));
    }

    /// Cells of a line on stderr, where lines have an end.
    fn width_of_lines(&self) -> usize {
        if self.terminal.err.is_terminal() { terminal::width() } else { usize::MAX }
    }

    fn has_status_line(&self) -> bool {
        self.show.aside == Aside::Everything && self.terminal.err == Attached::Terminal
    }

    fn tick(&self) {
        if !self.has_status_line() {
            return;
        }
        let mut state = self.lock();
        if state.hushed {
            return;
        }
        let status = match state.work.now() {
            Some((what, since)) => Phase::Working { what, since }.status(None, Instant::now()),
            None => state.phase.status(state.model.as_deref(), Instant::now()),
        };
        let Some(text) = status else { return };
        let width = terminal::width();
        // Room for the `^C` a terminal shows behind it: a line that wraps cannot be wiped.
        let text = hermes_types::clip(&one_line(&text), width.saturating_sub(3));
        let text = self.terminal.styled(Style::Dim, &text);
        match (state.status, state.wrap.column()) {
            (Some(_), _) => err(&format!("\r\x1b[2K{text}")),
            (None, column) if column >= width => {} // no way back to behind the last cell of a line
            (None, column) => {
                err(&format!("{}{text}", if column > 0 { "\n" } else { "" }));
                state.status = Some(column);
            }
        }
    }

    /// Takes the status line away and puts the cursor back to where it was.
    fn wipe(&self, state: &mut State) {
        match state.status.take() {
            None => {}
            Some(0) => err("\r\x1b[2K"),
            Some(column) => err(&format!("\r\x1b[2K\x1b[A\x1b[{column}C")),
        }
    }

    /// Writes to stdout. A reader that went away ends the turn.
    fn out(&self, state: &mut State, text: &str) {
        if state.broken.is_some() || text.is_empty() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            state.broken = Some(error.kind());
            self.stop.stop();
        }
    }

    fn note(&self, state: &mut State, event: &Event) {
        let now = Instant::now();
        match event {
            Event::Started { provider, model, .. }
            | Event::Notice { notice: Notice::FellBack { provider, model, .. } } => {
                state.provider = Some(provider.clone());
                state.model = Some(model.clone());
                state.key = None;
                state.phase = Phase::Asking { since: now };
            }
            Event::Notice { notice: Notice::Retrying { delay_ms, .. } } => {
                state.phase = Phase::Pausing { until: now + Duration::from_millis(*delay_ms) };
            }
            Event::Notice { notice: Notice::Waiting { .. } } => {}
            Event::Notice { notice: Notice::LastWord { .. } } => {
                // What was said before is no part of it.
                state.streamed = false;
                state.phase = Phase::Asking { since: now };
            }
            Event::ToolCallStarted { name } => state.phase = Phase::Calling { name: name.clone(), since: now },
            Event::Reply { calls, .. } if !calls.is_empty() => {
                state.phase = Phase::Working { what: calls.join(", "), since: now };
            }
            Event::Notice { .. } | Event::Step { .. } => state.phase = Phase::Asking { since: now },
            Event::ToolStarted { .. } | Event::Subagent { .. } => match Caller::of(event) {
                (caller, Event::ToolStarted { call_id, name, about }) => {
                    state.work.begins(caller, call_id, name, about);
                }
                (caller, Event::Answer { .. } | Event::Failed { .. }) => state.work.leaves(&caller),
                _ => {}
            },
            Event::Reasoning { .. } if !matches!(state.phase, Phase::Thinking { .. }) => {
                state.phase = Phase::Thinking { since: now };
            }
            _ => {}
        }
    }

    /// What is said of a call that ended, and of what else happens to a sub-agent.
    fn line_of_work(&self, state: &mut State, caller: Caller, told: &Event) -> Option<String> {
        match told {
            Event::ToolFinished { call_id, name, status, duration_ms, about, exit_code, note } => {
                let (status, exit_code, note) = (*status, *exit_code, note.as_deref());
                let took = Duration::from_millis(*duration_ms);
                let ended = Ended { name, status, took, about, exit_code, note };
                Some(state.work.ends(caller, call_id, ended, self.width_of_lines()))
            }
            // The status line says this better; and of an answer that starts over nothing was shown.
            Event::Notice { notice: Notice::Waiting { .. } } if self.has_status_line() => None,
            Event::Notice { notice: Notice::StartedOver } => None,
            Event::Notice { notice } => words::describe(notice).map(|text| format!("{caller}{text}")),
            Event::Failed { message, .. } => Some(format!("{caller}✗ {message}")),
            _ => None,
        }
    }

    /// A panic elsewhere must not silence the answer.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Listener for Screen {
    fn hear(&self, event: Event) {
        let mut state = self.lock();
        self.note(&mut state, &event);
        match (&event, self.show.format) {
            // The end is told by `finish`, with what came to light behind it.
            (Event::Answer { .. } | Event::Failed { .. }, _) => {}
            (_, OutputFormat::StreamJson) => {
                if let (caller, Event::ToolFinished { call_id, .. }) = Caller::of(&event) {
                    state.work.forget(caller, call_id);
                }
                let line = json_line(&event).unwrap_or_default();
                self.out(&mut state, &format!("{line}\n"));
            }
            (Event::Text { text }, OutputFormat::Text) if self.is_live() => {
                self.speak(&mut state, Voice::Answer, text);
            }
            // What was said is said: no word waits for the work behind it.
            (Event::ToolCallStarted { .. } | Event::Reply { .. }, _) => self.end_line(&mut state),
            (Event::ToolFinished { .. } | Event::Subagent { .. }, _) => {
                let (caller, told) = Caller::of(&event);
                let line = self.line_of_work(&mut state, caller, told);
                if let Some(line) = line.filter(|_| self.show.aside == Aside::Everything) {
                    self.tell(&mut state, &line);
                }
            }
            (Event::Delivered { text }, _) if self.show.aside == Aside::Everything => {
                self.tell(&mut state, &format!("› {text}"));
            }
            (Event::Reasoning { text }, _) if state.reasoning => self.speak(&mut state, Voice::Thought, text),
            // The status line says this better.
            (Event::Notice { notice: Notice::Waiting { .. } }, _) if self.has_status_line() => {}
            // Half an answer that nobody watched was not shown.
            (Event::Notice { notice: Notice::StartedOver }, _) if !self.is_live() => {}
            // Without a word, two answers would read as one: even who wants silence has to know.
            // Nor may somebody take the words of one model for those of another.
            (Event::Notice { notice }, format)
                if self.show.aside == Aside::Everything
                    || *notice == Notice::StartedOver
                    || (matches!(notice, Notice::FellBack { .. }) && format == OutputFormat::Text) =>
            {
                if let Some(text) = words::describe(notice) {
                    self.tell(&mut state, &text);
                }
            }
            _ => {}
        }
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

/// Text for stderr, in lines that fit where lines have an end.
fn laid_out(terminal: Terminal, text: &str) -> String {
    let text = shown(text);
    if terminal.err.is_terminal() { wrap::fill(&text, terminal::width()) } else { text }
}

/// Writes to stderr. When even that fails there is nobody left to tell.
fn err(text: &str) {
    let written = std::io::stderr().lock().write_all(text.as_bytes());
    drop(written);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_happens_to_a_sub_agent_is_told_as_its_own() {
        let (format, aside) = (OutputFormat::Text, Aside::Everything);
        let show = Show { format, aside, command: "hermes", usage_file: None };
        let screen = Screen::new(show, SessionId::new("s"), Stop::new());
        let told = |event: Event| {
            let caller = Caller::Subagent(vec![(SessionId::new("c"), 1)]);
            screen.line_of_work(&mut screen.lock(), caller, &event)
        };
        let notice = |notice| told(Event::Notice { notice });
        assert_eq!(notice(Notice::Refreshed).as_deref(), Some("  sub-agent 1 … login renewed"));
        assert_eq!(notice(Notice::StartedOver), None, "of its words nothing was shown");
        let (kind, message, exit_reason) = (FaultKind::Timeout, "out of time".to_owned(), "timeout".to_owned());
        let failed = told(Event::Failed { kind, message, exit_reason });
        assert_eq!(failed.as_deref(), Some("  sub-agent 1 ✗ out of time"));
        assert_eq!(told(Event::Step { iteration: 1, of: 2 }), None);
    }
}
