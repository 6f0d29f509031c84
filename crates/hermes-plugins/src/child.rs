//! Programs that others wrote, started: in a group of their own, with an environment that holds no key of Hermes, marked
//! as a family and on a leash, so that whatever they start ends with them.

use hermes_tools::settings::{Settings, Surroundings};
use hermes_tools::terminal::TerminalSettings;
use hermes_tools::terminal::family::{Family, Leash};
use hermes_tools::terminal::surroundings;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

const READ_AT_ONCE: usize = 16 * 1024;

/// What programs of others may see, and where they are.
#[derive(Debug, Clone)]
pub struct Outside {
    pub(crate) around: Surroundings,
    terminal: TerminalSettings,
    /// Variables that a plugin may ask for by name, with their values.
    grantable: BTreeMap<String, String>,
}

impl Outside {
    /// `all` are the variables Hermes itself can see, its `.env` included; `own` those that are keys of Hermes to models,
    /// which nobody gets.
    pub fn new(settings: &Settings, all: &BTreeMap<String, String>, own: &BTreeSet<String>) -> Self {
        let around = settings.around.clone();
        let everything = Surroundings { variables: all.clone(), private_variables: own.clone(), ..around.clone() };
        // What the owner can let pass to commands, a manifest can ask for; everything else is held back as from commands.
        let lenient = TerminalSettings { env_passthrough: all.keys().cloned().collect(), ..settings.terminal.clone() };
        let held = surroundings::withheld(&everything, &lenient);
        let grantable = all.iter().filter(|(name, _)| !held.contains_key(*name));
        let grantable = grantable.map(|(name, value)| (name.clone(), value.clone())).collect();
        Self { around, terminal: settings.terminal.clone(), grantable }
    }

    /// The environment of a program that asks for these variables besides the usual ones.
    pub(crate) fn variables(&self, wanted: &[String]) -> BTreeMap<String, String> {
        let mut seen = surroundings::variables(&self.around, &self.terminal);
        let granted = wanted.iter().filter_map(|name| Some((name.clone(), self.grantable.get(name)?.clone())));
        seen.extend(granted);
        seen
    }

    /// Those of the wanted variables that it will not get.
    pub fn missing<'a>(&self, wanted: &'a [String]) -> Vec<&'a str> {
        let is_there = |name: &String| self.grantable.get(name).is_some_and(|value| !value.is_empty());
        wanted.iter().filter(|name| !is_there(name)).map(String::as_str).collect()
    }
}

/// A program with its words.
pub(crate) struct Program<'a> {
    pub(crate) words: &'a [String],
    pub(crate) folder: PathBuf,
    pub(crate) variables: BTreeMap<String, String>,
}

/// A program that runs. The leash goes first, so that the family has ended when the child is let go.
pub(crate) struct Running {
    pub(crate) leash: Leash,
    pub(crate) child: Child,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) stderr: ChildStderr,
}

impl Program<'_> {
    pub(crate) fn start(mut self) -> io::Result<Running> {
        let (program, arguments) = self.words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
        let mark = Family::mark(&mut self.variables);
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(&self.variables).current_dir(&self.folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        // A child that was not waited for has a number.
        let leash = Leash::new(Family::of(child.id().unwrap_or_default(), mark));
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = pipes else { return Err(io::ErrorKind::BrokenPipe.into()) };
        Ok(Running { leash, child, stdin, stdout, stderr })
    }
}

/// Words for why a program did not start.
pub(crate) fn not_started(program: &str, folder: &Path, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("`{program}` was not found (started in {})", folder.display()),
        io::ErrorKind::PermissionDenied => format!("`{program}` cannot be run; `chmod +x` may be missing"),
        _ => format!("`{program}` did not start: {error}"),
    }
}

/// Lines of a pipe, none of them longer than `longest`.
pub(crate) struct Lines<R> {
    pipe: R,
    waiting: Vec<u8>,
    longest: usize,
    /// How much of `waiting` holds no end of a line.
    searched: usize,
}

/// One line, or why there is none.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    Text(Vec<u8>),
    /// Longer than it may be. Nothing more comes before [`Lines::break_off`].
    TooLong,
    End,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(pipe: R, longest: usize) -> Self {
        Self { pipe, waiting: Vec::new(), longest, searched: 0 }
    }

    /// What was read of a line that is too long; what follows is read as another line.
    pub(crate) fn break_off(&mut self) -> Vec<u8> {
        self.searched = 0;
        std::mem::take(&mut self.waiting)
    }

    /// The next line without its end. Can be dropped and asked again: what was read stays.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            let fresh = self.waiting.get(self.searched..).unwrap_or_default();
            if let Some(at) = fresh.iter().position(|byte| *byte == b'\n') {
                let rest = self.waiting.split_off(self.searched + at + 1);
                let mut line = std::mem::replace(&mut self.waiting, rest);
                self.searched = 0;
                line.pop();
                return Ok(Line::Text(line));
            }
            self.searched = self.waiting.len();
            if self.searched > self.longest {
                return Ok(Line::TooLong);
            }
            self.waiting.reserve(READ_AT_ONCE);
            if self.pipe.read_buf(&mut self.waiting).await? == 0 {
                let last = std::mem::take(&mut self.waiting);
                self.searched = 0;
                return Ok(if last.is_empty() { Line::End } else { Line::Text(last) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(bytes: &[u8], longest: usize) -> Vec<Line> {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut lines = Lines::new(bytes, longest);
            let mut all = Vec::new();
            loop {
                let line = lines.next().await.unwrap();
                let is_last = !matches!(line, Line::Text(_));
                all.push(line);
                if is_last {
                    return all;
                }
            }
        })
    }

    #[test]
    fn a_line_that_never_ends_is_noticed() {
        let mut endless = vec![b'x'; 100_000];
        assert_eq!(lines(&endless, 1_000), [Line::TooLong]);
        endless.push(b'\n');
        assert_eq!(lines(&endless, 200_000).len(), 2);
    }

    #[tokio::test]
    async fn a_line_that_was_broken_off_is_followed_by_the_rest() {
        let mut lines = Lines::new(&b"a long line\nnext\n"[..], 4);
        assert_eq!(lines.next().await.unwrap(), Line::Text(b"a long line".to_vec()), "it came whole");
        let endless = [b'x'; READ_AT_ONCE + 9];
        let mut lines = Lines::new(&endless[..], 16);
        assert_eq!(lines.next().await.unwrap(), Line::TooLong);
        let begun = lines.break_off().len();
        let Line::Text(rest) = lines.next().await.unwrap() else { panic!("the rest is short") };
        assert_eq!(begun + rest.len(), endless.len(), "nothing is lost");
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_lines(words in proptest::collection::vec("[a-zé ]{0,12}", 0..20)) {
            let text = words.iter().map(|word| format!("{word}\n")).collect::<String>();
            let mut expected: Vec<Line> = words.iter().map(|word| Line::Text(word.clone().into_bytes())).collect();
            expected.push(Line::End);
            prop_assert_eq!(lines(text.as_bytes(), 1_000), expected);
        }
    }
}
