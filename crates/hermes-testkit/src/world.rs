//! A throw-away home for the real binary: its settings, its secrets, a clean environment, and what came of the run.

use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::process::Stdio;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{ChildStdin, Command};

const USUAL_TIMEOUT: Duration = Duration::from_secs(30);

/// Everything a run of the program can see. The folder lives as long as the value.
///
/// ```no_run
/// # async fn example(hermes: &std::path::Path) {
/// use hermes_testkit::World;
/// let world = World::new().config("model: {default: m}").env("OPENAI_API_KEY", "sk-x");
/// let ran = world.run(hermes, &["-z", "hi"]).await;
/// assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "hello\n"));
/// # }
/// ```
#[derive(Debug)]
pub struct World {
    root: TempDir,
    env: Vec<(String, String)>,
    stdin: Option<String>,
    timeout: Duration,
}

/// What came of a run.
#[derive(Debug, Clone)]
pub struct Ran {
    pub stdout: String,
    pub stderr: String,
    /// `None` when a signal ended it, such as the one behind the timeout.
    pub code: Option<i32>,
    /// Real time from start to end.
    pub wall: Duration,
}

impl Default for World {
    fn default() -> Self {
        let world = Self {
            root: TempDir::new().expect("a temporary folder"),
            env: Vec::new(),
            stdin: None,
            timeout: USUAL_TIMEOUT,
        };
        for folder in [world.hermes_home(), world.work_dir()] {
            fs::create_dir(folder).expect("a folder in a new folder");
        }
        world
    }
}

impl World {
    pub fn new() -> Self {
        Self::default()
    }

    /// `config.yaml`
    #[must_use]
    pub fn config(self, yaml: &str) -> Self {
        self.file("config.yaml", yaml)
    }

    /// `.env`
    #[must_use]
    pub fn dotenv(self, text: &str) -> Self {
        self.file(".env", text)
    }

    /// `auth.json`
    #[must_use]
    pub fn auth(self, store: &Value) -> Self {
        self.file("auth.json", &store.to_string())
    }

    /// Any file below the program's home.
    #[must_use]
    pub fn file(self, path: &str, text: &str) -> Self {
        let path = self.hermes_home().join(path);
        fs::create_dir_all(path.parent().expect("a file lies in a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
        self
    }

    /// A variable of the otherwise empty environment.
    #[must_use]
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// What is piped in; without it standard input is closed.
    #[must_use]
    pub fn stdin(mut self, text: &str) -> Self {
        self.stdin = Some(text.to_owned());
        self
    }

    /// After this long the program and its whole process group are killed.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// `$HOME`
    pub fn home(&self) -> &Path {
        self.root.path()
    }

    /// `$HERMES_HOME`
    pub fn hermes_home(&self) -> PathBuf {
        self.root.path().join(".hermes")
    }

    /// The empty folder in which the program runs.
    pub fn work_dir(&self) -> PathBuf {
        self.root.path().join("work")
    }

    /// Runs the program to its end. `binary` is `env!("CARGO_BIN_EXE_hermes")` of the calling test.
    pub async fn run(&self, binary: impl AsRef<Path>, arguments: &[&str]) -> Ran {
        let begun = Instant::now();
        let mut child = self.command(binary, arguments).spawn().expect("the binary starts");
        let group = child.id().expect("a running child has an id");
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let life = async { tokio::join!(self.feed(stdin), read(stdout), read(stderr), child.wait()) };
        let mut life = pin!(life);
        let ((), stdout, stderr, status) = match tokio::time::timeout(self.timeout, &mut life).await {
            Ok(ended) => ended,
            Err(_late) => {
                kill_group(group).await;
                life.await
            }
        };
        let code = status.expect("a child can be waited for").code();
        Ran { stdout, stderr, code, wall: begun.elapsed() }
    }

    async fn feed(&self, pipe: Option<ChildStdin>) {
        if let (Some(mut pipe), Some(text)) = (pipe, &self.stdin) {
            // A program that does not read its input to the end closes the pipe, which is its right.
            let _closed = pipe.write_all(text.as_bytes()).await;
        }
    }

    /// The program as [`run`](Self::run) starts it, for tests that talk to it while it runs.
    pub fn command(&self, binary: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(binary.as_ref());
        command.args(arguments).current_dir(self.work_dir()).env_clear();
        command.env("PATH", env::var_os("PATH").unwrap_or_default());
        command.env("HOME", self.home()).env("HERMES_HOME", self.hermes_home());
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.process_group(0).kill_on_drop(true);
        command
    }
}

/// What still runs in this world.
impl World {
    /// The command lines of processes whose home this is: what a program left behind, if it should have ended.
    pub fn inhabitants(&self) -> Vec<String> {
        let home = format!("HOME={}", self.home().display());
        let lives_here = |process: &Path| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|variable| variable == home.as_bytes())
        };
        let processes = fs::read_dir("/proc").expect("a process table").flatten().map(|entry| entry.path());
        let lines = processes.filter(|process| lives_here(process)).map(|process| fs::read(process.join("cmdline")));
        lines.flatten().map(|line| String::from_utf8_lossy(&line).replace('\0', " ")).collect()
    }
}

impl Ran {
    /// This run, if it ended with this exit code; else a panic that shows what it printed.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n--- stdout\n{}\n--- stderr\n{}", self.stdout, self.stderr);
        self
    }
}

async fn read(pipe: Option<impl AsyncRead + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        pipe.read_to_end(&mut bytes).await.expect("a pipe can be read");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Children too: what a test leaves behind would disturb the next one. The shell's own `kill` needs no unsafe code.
async fn kill_group(group: u32) {
    let kill = Command::new("sh").args(["-c", &format!("kill -KILL -{group}")]).output().await;
    kill.expect("a shell runs"); // whether anybody was left to kill does not matter
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[tokio::test]
    async fn the_program_sees_only_its_world() {
        let world = World::new().env("KEY", "value").stdin("from the pipe");
        let listed = world.run("/usr/bin/env", &[]).await.expect_code(0).stdout;
        let mut names: Vec<&str> = listed.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
        names.sort_unstable();
        assert_eq!(names, ["HERMES_HOME", "HOME", "KEY", "PATH"]);
        let ran = world.run("/bin/sh", &["-c", "cat; pwd >&2; exit 7"]).await;
        assert_eq!(ran.stdout, "from the pipe");
        assert!(ran.stderr.trim_end().ends_with("/work"), "{}", ran.stderr);
        assert_eq!(ran.code, Some(7));
    }

    #[tokio::test]
    async fn files_land_in_the_programs_home() {
        let world =
            World::new().config("a: 1\n").dotenv("K=v\n").auth(&json!({"version": 1})).file("memories/M.md", "m");
        let ran =
            world.run("/bin/sh", &["-c", "cd $HERMES_HOME && cat config.yaml .env auth.json memories/M.md"]).await;
        assert_eq!(ran.expect_code(0).stdout, "a: 1\nK=v\n{\"version\":1}m");
    }

    #[tokio::test]
    async fn a_program_that_hangs_dies_with_its_children() {
        let world = World::new().timeout(Duration::from_millis(300));
        // The grandchild keeps the pipe open: reading ends only when it is dead too.
        let ran = world.run("/bin/sh", &["-c", "echo begun; sleep 600 & sleep 600"]).await;
        assert_eq!((ran.stdout.as_str(), ran.code), ("begun\n", None));
        assert_eq!(world.inhabitants(), Vec::<String>::new());
        let left = world.run("/bin/sh", &["-c", "sleep 600 & exit 0"]).await;
        assert_eq!(left.code, Some(0), "an orphan that holds the pipe is cut off by the same timeout");
        assert!(ran.wall + left.wall < Duration::from_secs(20), "{:?} {:?}", ran.wall, left.wall);
    }
}
