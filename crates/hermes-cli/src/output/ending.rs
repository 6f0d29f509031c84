//! The end of a turn on the screen: the answer where it is not there yet, what a person should know besides, the usage
//! file, and the exit code, which says the same in every form.

use super::drawing::{Voice, err};
use super::words;
use super::{Aside, EXIT_FAILED, EXIT_INTERRUPTED, GoOn, ONESHOT, Screen, State, report};
use crate::args::OutputFormat;
use crate::commands::money;
use crate::commands::paper::{json_line, one_line};
use hermes_core::turn::{End, Outcome};
use hermes_types::OutcomeKind;
use std::io::ErrorKind;
use std::process::ExitCode;

impl Screen {
    /// Prints how the turn ended, and says it in the exit code.
    pub fn finish(&self, outcome: &Outcome) -> ExitCode {
        self.wipe(&mut self.lock());
        match self.show.format {
            OutputFormat::Text => self.finish_text(outcome),
            OutputFormat::Json => self.line(&json_line(&report::result(outcome)).unwrap_or_default()),
            OutputFormat::StreamJson => self.line(&json_line(&outcome.event()).unwrap_or_default()),
        }
        if self.show.aside == Aside::ErrorsAndSession && self.show.format == OutputFormat::Text {
            err(&format!("session_id: {}\n", one_line(self.session().as_str())));
        }
        if let Err(error) = self.write_usage(outcome) {
            self.complain(&error);
            return ExitCode::from(EXIT_FAILED);
        }
        let broken = self.lock().broken;
        match broken {
            // Whoever read us has seen enough, as in `hermes … | head -1`; there is nobody to complain to.
            None | Some(ErrorKind::BrokenPipe) => exit_code(outcome.kind()),
            Some(reason) => {
                self.complain(&format!("the answer could not be written: {reason}"));
                ExitCode::from(EXIT_FAILED)
            }
        }
    }

    /// Writes the usage file, if one is wanted.
    pub fn write_usage(&self, outcome: &Outcome) -> Result<(), String> {
        let Some(path) = &self.show.usage_file else { return Ok(()) };
        let text = format!("{}\n", report::usage(outcome));
        std::fs::write(path, text).map_err(|error| format!("cannot write the usage file {}: {error}", path.display()))
    }

    fn finish_text(&self, outcome: &Outcome) {
        let mut state = self.lock();
        let is_on_screen = state.streamed && outcome.end != End::SaidBefore;
        self.end_line(&mut state);
        if let Some(text) = outcome.text.as_ref().filter(|_| !is_on_screen) {
            self.print(&mut state, text);
        }
        let trouble = words::ending(outcome, state.go_on, state.provider.as_deref(), state.key.as_ref());
        if let Some(line) = money::line(&outcome.spent).filter(|_| self.has_visitor()) {
            self.tell(&mut state, &line);
        }
        if trouble.is_none() && state.go_on == GoOn::WithAQuestion && self.has_visitor() {
            self.tell(&mut state, &words::invitation(&outcome.session));
        }
        drop(state);
        if let Some(trouble) = trouble {
            self.complain(&trouble);
        }
        for words in &outcome.undelivered {
            self.complain(&format!("this did not reach the model any more: {words}"));
        }
    }

    /// The answer, whole. A terminal gets it as it gets every word of a model.
    fn print(&self, state: &mut State, text: &str) {
        if self.is_live() {
            self.speak(state, Voice::Answer, text);
            return self.end_line(state);
        }
        let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
        self.out(state, &format!("{text}{newline}"));
    }

    /// A person reads along who did not ask for the answer alone.
    pub(crate) fn has_visitor(&self) -> bool {
        let on_terminals = self.terminal.out.is_terminal() && self.terminal.err.is_terminal();
        on_terminals && self.show.aside == Aside::Everything && self.show.command != ONESHOT
    }
}

/// Failure never looks like success.
fn exit_code(kind: OutcomeKind) -> ExitCode {
    match kind {
        OutcomeKind::Answered => ExitCode::SUCCESS,
        OutcomeKind::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
        OutcomeKind::Partial | OutcomeKind::Empty | OutcomeKind::Filtered | OutcomeKind::Failed => {
            ExitCode::from(EXIT_FAILED)
        }
    }
}
