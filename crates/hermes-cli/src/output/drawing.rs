//! The hand that writes: words as they come, lines beside them, and the one line about what is being waited for, which is
//! gone before anything else is written.

use super::terminal::{self, Attached, Style, Terminal, harmless};
use super::words::Phase;
use super::wrap::{self, Wrap};
use super::{Aside, Screen, State};
use crate::commands::paper::{one_line, shown};
use std::io::Write;
use std::time::Instant;

/// Whose words are on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Voice {
    Thought,
    Answer,
}

impl Screen {
    /// Words of the model on the terminal, thoughts set apart from the answer.
    pub(super) fn speak(&self, state: &mut State, voice: Voice, text: &str) {
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
    pub(super) fn end_line(&self, state: &mut State) {
        self.wipe(state);
        let Some(voice) = state.voice.take() else { return };
        let rest = state.wrap.flush(terminal::width());
        self.write(state, voice, &rest);
        if state.wrap.column() > 0 {
            self.write(state, voice, "\n");
        }
        state.wrap = Wrap::default();
    }

    pub(super) fn tell(&self, state: &mut State, text: &str) {
        if state.hushed {
            state.held.push(text.to_owned());
            return;
        }
        self.end_line(state);
        err(&format!("{}\n", self.terminal.styled(Style::Dim, &laid_out(self.terminal, text))));
    }

    /// Cells of a line on stderr, where lines have an end.
    pub(super) fn width_of_lines(&self) -> usize {
        if self.terminal.err.is_terminal() { terminal::width() } else { usize::MAX }
    }

    pub(super) fn has_status_line(&self) -> bool {
        self.show.aside == Aside::Everything && self.terminal.err == Attached::Terminal
    }

    pub(super) fn tick(&self) {
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
    pub(super) fn wipe(&self, state: &mut State) {
        match state.status.take() {
            None => {}
            Some(0) => err("\r\x1b[2K"),
            Some(column) => err(&format!("\r\x1b[2K\x1b[A\x1b[{column}C")),
        }
    }

    /// Writes to stdout. A reader that went away ends the turn.
    pub(super) fn out(&self, state: &mut State, text: &str) {
        if state.broken.is_some() || text.is_empty() {
            return;
        }
        let mut stdout = std::io::stdout().lock();
        if let Err(error) = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
            state.broken = Some(error.kind());
            self.stop.stop();
        }
    }
}

/// Text for stderr, in lines that fit where lines have an end.
pub(super) fn laid_out(terminal: Terminal, text: &str) -> String {
    let text = shown(text);
    if terminal.err.is_terminal() { wrap::fill(&text, terminal::width()) } else { text }
}

/// Writes to stderr. When even that fails there is nobody left to tell.
pub(super) fn err(text: &str) {
    let written = std::io::stderr().lock().write_all(text.as_bytes());
    drop(written);
}
