//! What a conversation hears of its processes without asking, and how it reads as the beginning of a turn.

use super::buffer::tail;
use std::fmt::Write;

const SHOWN_COMMAND: usize = 500;

/// One thing that happened to a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct News {
    /// `proc_…`.
    pub process: String,
    pub command: String,
    pub what: Happened,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Happened {
    Ended { exit_code: Option<i32>, reason: Reason, output: String },
    /// A line with one of the patterns in it. `dropped` lines matched since the last one and are not shown.
    Matched { pattern: String, line: String, dropped: usize },
    /// Matches came too often: from now on only the end is told.
    WatchGivenUp,
    /// All processes together matched too often: matches are held back for a while.
    MatchesPaused,
    /// The pause is over.
    MatchesResumed { held: usize },
}

/// Why a process is no longer there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    Exited,
    Killed,
    /// It was started by an earlier run of the program and is gone; nobody saw how it ended.
    Lost,
}

impl News {
    /// As a message for the model.
    pub fn text(&self) -> String {
        let id = &self.process;
        let mut text = match &self.what {
            Happened::Ended { exit_code, reason, .. } => {
                let status = match reason {
                    Reason::Exited => "completed",
                    Reason::Killed => "was killed",
                    Reason::Lost => "is gone",
                };
                let code = exit_code.map_or_else(String::new, |code| format!(" (exit code {code})"));
                format!("[IMPORTANT: Background process {id} {status}{code}.")
            }
            Happened::Matched { pattern, .. } => {
                format!("[IMPORTANT: Background process {id} printed a line with \"{pattern}\".")
            }
            Happened::WatchGivenUp => format!(
                "[IMPORTANT: Background process {id} matches its watch patterns too often. It is no longer watched; \
                 its end will be told."
            ),
            Happened::MatchesPaused => {
                format!("[IMPORTANT: Too many watched lines, the last from {id}. They are held back for 30 s.")
            }
            Happened::MatchesResumed { held } => {
                return format!("[IMPORTANT: Watched lines are told again. {held} were held back; see process log.]");
            }
        };
        let command: String = self.command.chars().take(SHOWN_COMMAND).collect();
        let body = match &self.what {
            Happened::Ended { output, .. } => format!("\nOutput:\n{}", tail(output, super::LAST_OUTPUT)),
            Happened::Matched { line, dropped: 0, .. } => format!("\nLine: {line}"),
            Happened::Matched { line, dropped, .. } => {
                format!("\nLine: {line}\n({dropped} more matched since the last one and are not shown.)")
            }
            _ => String::new(),
        };
        let written = write!(text, "\nCommand: {command}{body}]");
        debug_assert!(written.is_ok(), "writing to a text cannot fail");
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_reads_as_a_turn() {
        let news = |what| News { process: "proc_1".into(), command: "make all".into(), what }.text();
        let ended = Happened::Ended { exit_code: Some(2), reason: Reason::Exited, output: "boom\n".into() };
        assert_eq!(
            news(ended),
            "[IMPORTANT: Background process proc_1 completed (exit code 2).\nCommand: make all\nOutput:\nboom\n]"
        );
        let matched = Happened::Matched { pattern: "up".into(), line: "it is up".into(), dropped: 2 };
        assert_eq!(
            news(matched),
            "[IMPORTANT: Background process proc_1 printed a line with \"up\".\nCommand: make all\nLine: it is up\n\
             (2 more matched since the last one and are not shown.)]"
        );
    }
}
