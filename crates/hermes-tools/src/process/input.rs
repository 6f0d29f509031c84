//! What is written to a process, and who has to agree to it.
//!
//! Text for a shell is a command, wherever the shell runs. So everything that is written is shown to the gate, unless
//! the process is one plain command that is known to take its input for data ([`DATA`]). A language without a script is
//! shown code (`python3 -c …`); all others (shells, those that carry to a shell such as `ssh` and `docker`, scripts that
//! ask questions, whatever is not known) are shown shell text. What is judged is not this portion alone but all that
//! was written before without a person's consent and this portion behind it, so that `rm -rf` and ` /` in two portions
//! are what they are in one. Keys that edit a line would make the shell read something else than the gate: for shells
//! and languages they are refused, for others they are left out of what is judged.

use crate::gate::{Place, Shape, judge};
use pty_process::OwnedWritePty;
use std::io;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

/// Programs that never take their input for commands.
const DATA: [&str; 16] = [
    "cat", "tee", "wc", "sort", "uniq", "head", "tail", "tr", "cut", "grep", "rev", "nl", "jq", "base64", "sha256sum",
    "tac",
];
/// Shells, and what carries to one.
const SHELLS: [&str; 30] = [
    "bash", "sh", "zsh", "dash", "ksh", "mksh", "fish", "csh", "tcsh", "busybox", "ssh", "mosh", "telnet", "nc", "ncat",
    "socat", "docker", "podman", "kubectl", "su", "sudo", "doas", "tmux", "screen", "script", "expect", "chroot",
    "nsenter", "unshare", "pwsh",
];
/// Languages that read code when they have no script, and their option for code.
const LANGUAGES: [(&str, &str); 11] = [
    ("python", "-c"),
    ("python2", "-c"),
    ("python3", "-c"),
    ("ipython", "-c"),
    ("node", "-e"),
    ("deno", "eval"),
    ("ruby", "-e"),
    ("irb", "-e"),
    ("perl", "-e"),
    ("php", "-r"),
    ("lua", "-e"),
];
/// Control characters that do the same wherever they come alone: interrupt, end of input, suspend, quit.
const SIGNALS: [&str; 4] = ["\u{3}", "\u{4}", "\u{1a}", "\u{1c}"];
/// The most that is kept for judging; what would be more is refused.
const MOST_WRITTEN: usize = 64 * 1024;

/// Where a process reads from.
pub(super) enum Input {
    Pipe(ChildStdin),
    Pty(OwnedWritePty),
    Closed,
}

impl Input {
    /// Writes a part of it and says how much.
    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Pipe(pipe) => pipe.write(bytes).await,
            Self::Pty(pty) => pty.write(bytes).await,
            Self::Closed => Err(io::Error::new(io::ErrorKind::BrokenPipe, "its input was closed")),
        }
    }

    /// The end of the input. A terminal has none; it is told by a key.
    pub(super) async fn close(&mut self) -> io::Result<()> {
        match self {
            Self::Pty(pty) => pty.write_all(&[4]).await,
            Self::Pipe(_) | Self::Closed => {
                *self = Self::Closed;
                Ok(())
            }
        }
    }
}

/// How a process takes what is written to it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Reader {
    Data,
    Shell,
    Language { name: &'static str, option: &'static str },
    Unknown,
}

/// The text the gate has to judge before `data` is written to a process of `command`; nothing when it is data. An error
/// says why it cannot be judged.
pub(super) fn judged(command: &str, place: &Place, written: &str, data: &str) -> Result<Option<String>, String> {
    let reader = reader(command, place);
    if reader == Reader::Data || SIGNALS.contains(&data) {
        return Ok(None);
    }
    let edits = data.chars().any(|key| key.is_control() && !matches!(key, '\n' | '\r' | '\t'));
    let completes = data.contains('\t') && reader == Reader::Shell;
    let text = match (&reader, edits || completes) {
        (Reader::Shell | Reader::Language { .. }, true) => {
            return Err("control characters and tabs cannot be judged before a shell reads them. \
                        Write plain lines; \\u0003 (interrupt) and \\u0004 (end) may be written alone."
                .to_owned());
        }
        (_, true) => super::buffer::plain(data).replace(|key: char| key.is_control() && key != '\n', ""),
        (_, false) => data.replace('\r', "\n"),
    };
    if written.len() + text.len() > MOST_WRITTEN {
        return Err("too much was written to this process to judge it as a whole. Put it into a file instead.".to_owned());
    }
    let whole = format!("{written}{text}");
    Ok(Some(match reader {
        Reader::Language { name, option } => format!("{name} {option} '{}'", whole.replace('\'', r"'\''")),
        Reader::Data | Reader::Shell | Reader::Unknown => whole,
    }))
}

fn reader(command: &str, place: &Place) -> Reader {
    let judgement = judge(command, place);
    let has_operators = command.contains(['|', '&', ';', '<', '>', '$', '`', '(', ')', '{', '\n']);
    let texts = || judgement.texts.iter().map(String::as_str).chain([command]);
    if texts().any(|text| SHELLS.contains(&program(text).as_str())) {
        return Reader::Shell;
    }
    let language = texts().find_map(|text| {
        let is_prompt = text.split_whitespace().skip(1).all(|word| word.starts_with('-'));
        LANGUAGES.iter().find(|(name, _)| is_prompt && is_version_of(&program(text), name))
    });
    if let Some((name, option)) = language {
        return Reader::Language { name, option };
    }
    let is_plain = judgement.shape == Shape::Plain && judgement.readable && !has_operators;
    if is_plain && DATA.contains(&program(command).as_str()) { Reader::Data } else { Reader::Unknown }
}

/// `python3.12` is python.
fn is_version_of(program: &str, name: &str) -> bool {
    program.strip_prefix(name).is_some_and(|rest| rest.chars().all(|found| found.is_ascii_digit() || found == '.'))
}

/// The name of the program a command begins with.
fn program(text: &str) -> String {
    let first = text.split_whitespace().next().unwrap_or_default();
    first.rsplit('/').next().unwrap_or(first).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &str, written: &str, data: &str) -> Result<Option<String>, String> {
        let place = Place { home: "/home/me".into(), hermes_home: "/home/me/.hermes".into(), cwd: "/work".into() };
        judged(command, &place, written, data)
    }

    #[test]
    fn everything_but_plain_data_is_shown_to_the_gate() {
        let table: &[(&str, &str, &str, Option<&str>)] = &[
            ("cat", "", "rm -rf /\n", None),
            ("cat | bash", "", "rm -rf /\n", Some("rm -rf /\n")),
            ("bash", "rm -rf", " /\n", Some("rm -rf /\n")),
            ("cd x && /bin/sh -i", "", "ls\r", Some("ls\n")),
            ("env python3 -i", "", "print('a')\n", Some("python3 -c 'print('\\''a'\\'')\n'")),
            ("python3.12", "", "1\n", Some("python -c '1\n'")),
            ("python3 quiz.py", "", "yes\n", Some("yes\n")),
            ("npm create thing", "", "\u{1b}[B\r", Some("")),
            ("bash", "", "\u{3}", None),
        ];
        for (command, written, data, expected) in table {
            let expected = expected.map(str::to_owned);
            assert_eq!(shown(command, written, data), Ok(expected), "{command}: {data:?}");
        }
    }

    #[test]
    fn keys_that_edit_a_line_do_not_reach_a_shell() {
        for data in ["rm -rx\u{7f}f /\n", "rm -rf /et\t\n", "\u{1b}[A\n"] {
            assert!(shown("bash", "", data).is_err(), "{data:?}");
        }
        assert!(shown("bash", &"x".repeat(MOST_WRITTEN), "y").is_err());
    }
}
