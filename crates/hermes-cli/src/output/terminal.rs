//! What the program's streams are attached to, and text made fit for it.
//!
//! Colours and cursor movement go only to terminals that understand them: never to a pipe, never with `TERM=dumb`;
//! colours never with `NO_COLOR`. Foreign text loses its control characters before it reaches a terminal, because a
//! model or a server must not be able to move a person's cursor or set their clipboard.

use std::borrow::Cow;
use std::io::IsTerminal;
use terminal_size::Width;

const USUAL_WIDTH: u16 = 80;

/// The two streams of this process, looked at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminal {
    pub(crate) out: Attached,
    pub(crate) err: Attached,
    pub(crate) colour: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Attached {
    /// A file, a pipe, another program.
    Elsewhere,
    /// A terminal that shows text and nothing more.
    Plain,
    Terminal,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Dim,
    Alarm,
}

impl Terminal {
    pub(crate) fn of_process() -> Self {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        let attached = |is_terminal| match (is_terminal, dumb) {
            (false, _) => Attached::Elsewhere,
            (true, true) => Attached::Plain,
            (true, false) => Attached::Terminal,
        };
        Self {
            out: attached(std::io::stdout().is_terminal()),
            err: attached(std::io::stderr().is_terminal()),
            colour: set("NO_COLOR").is_none(),
        }
    }

    /// Both streams on one screen that can tell thoughts from words.
    pub(super) fn can_dim(self) -> bool {
        self.colour && self.out == Attached::Terminal && self.err == Attached::Terminal
    }

    /// Text for stderr in a style, where there are styles.
    pub(super) fn styled(self, style: Style, text: &str) -> String {
        let code = match style {
            Style::Dim => "2",
            Style::Alarm => "1;31",
        };
        if self.colour && self.err == Attached::Terminal {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}

impl Attached {
    pub(crate) fn is_terminal(self) -> bool {
        self != Self::Elsewhere
    }
}

/// Cells per line, asked anew each time because people resize their windows.
pub(crate) fn width() -> usize {
    let size = terminal_size::terminal_size();
    let width = size.map_or(0, |(Width(cells), _)| cells);
    usize::from(if width == 0 { USUAL_WIDTH } else { width })
}

/// The text without anything that would act on a terminal instead of being shown.
pub(super) fn harmless(text: &str) -> Cow<'_, str> {
    let acts = |c: char| c.is_control() && c != '\n' && c != '\t';
    if text.contains(acts) { Cow::Owned(text.replace(acts, "")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_cannot_act_on_the_terminal() {
        let clipboard = "a\u{1b}]52;c;aGk=\u{7}b\r\n\tc\u{9b}2Jd";
        assert_eq!(harmless(clipboard), "a]52;c;aGk=b\n\tc2Jd");
        assert!(matches!(harmless("plain ünïcode\n"), Cow::Borrowed("plain ünïcode\n")));
    }

    #[test]
    fn styles_go_only_to_terminals_that_have_them() {
        let terminal = Terminal { out: Attached::Terminal, err: Attached::Terminal, colour: true };
        assert_eq!(terminal.styled(Style::Dim, "x"), "\u{1b}[2mx\u{1b}[0m");
        assert!(terminal.can_dim());
        for other in [
            Terminal { colour: false, ..terminal },
            Terminal { err: Attached::Elsewhere, ..terminal },
            Terminal { err: Attached::Plain, ..terminal },
        ] {
            assert_eq!(other.styled(Style::Alarm, "x"), "x");
            assert!(!other.can_dim());
        }
    }
}
