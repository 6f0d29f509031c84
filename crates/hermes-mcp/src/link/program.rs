//! A server that is a program of this machine: started with few variables, in a group of its own, and never left behind.
//!
//! Its family is ended with the connection, and by the kernel should this program be killed. What it prints besides the
//! protocol goes to a log of its own, covered and bounded.

use super::Unconnected;
use crate::server::Server;
use hermes_core::redact;
use hermes_tools::gate::visible;
use hermes_tools::terminal::family::{Family, Leash};
use hermes_types::clip;
use std::collections::{BTreeMap, VecDeque};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::OnceCell;
use tokio::task::JoinSet;

/// Variables that every program gets; the entry of a server names the rest.
const VARIABLES: [&str; 9] = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TERM", "SHELL", "TMPDIR"];
const VARIABLE_FAMILY: &str = "XDG_";
const LOG: &str = "mcp-stderr.log";
const OLD_LOG: &str = "mcp-stderr.log.1";
/// Bytes of the log before it is put aside, and bytes that one run of a server may add to it.
const LARGEST_LOG: u64 = 5 << 20;
const MOST_OF_ONE_RUN: usize = 1 << 20;
const LONGEST_LINE: u64 = 4_096;
/// Lines that are remembered to explain an end.
const LAST_WORDS: usize = 5;
/// How long the last words may take to arrive after a program ended.
const EAVESDROPPING: Duration = Duration::from_millis(200);

/// Asks the kernel to end the child with its parent. A program of the system does it, because what runs between fork and
/// exec cannot be written in safe code.
const GUARDIAN: &str = "setpriv";
static GUARDED: OnceCell<Option<PathBuf>> = OnceCell::const_new();

pub(super) struct Program {
    /// First, so that the family has ended when the child is dropped.
    leash: Leash,
    child: Child,
    last_words: Arc<Mutex<VecDeque<String>>>,
    /// Reads what the program complains about; ends with it.
    listening: JoinSet<()>,
}

impl Program {
    pub(super) async fn start(
        server: &Server,
        command: &str,
        args: &[String],
        env: &BTreeMap<String, String>,
    ) -> Result<(Self, (ChildStdout, ChildStdin)), Unconnected> {
        let around = &server.shop.settings.around;
        let inherited = around.variables.iter();
        let inherited =
            inherited.filter(|(name, _)| VARIABLES.contains(&name.as_str()) || name.starts_with(VARIABLE_FAMILY));
        let mut variables: BTreeMap<String, String> =
            inherited.map(|(name, value)| (name.clone(), value.clone())).collect();
        variables.extend(env.iter().map(|(name, value)| (name.clone(), value.clone())));
        let path = variables.get("PATH").map(String::as_str).unwrap_or_default();
        let program = found(command, path, &around.home, &around.cwd).ok_or_else(|| {
            Unconnected::Unreachable(format!(
                "there is no program `{command}`; install it, or give its full path as `command`"
            ))
        })?;
        let mark = Family::mark(&mut variables);
        let mut words = guarded().await.into_iter().flatten().chain([program.into_os_string()]);
        let mut started = Command::new(words.next().unwrap_or_default());
        started.args(words).args(args).env_clear().envs(variables).current_dir(&around.cwd).process_group(0);
        started.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = started.spawn().map_err(|error| Unconnected::Unreachable(format!("`{command}`: {error}")))?;
        let leash = Leash::new(Family::of(child.id().unwrap_or_default(), mark));
        let streams = child.stdout.take().zip(child.stdin.take());
        let streams = streams.ok_or_else(|| Unconnected::Unreachable(format!("`{command}` has no input or output")))?;
        let last_words = Arc::<Mutex<VecDeque<String>>>::default();
        let mut listening = JoinSet::new();
        if let Some(complaints) = child.stderr.take() {
            let log = Log::of(&around.hermes_home, &server.settings.name);
            listening.spawn(listen(complaints, log, last_words.clone()));
        }
        Ok((Self { leash, child, last_words, listening }, streams))
    }

    /// The reason with what the program said last, which usually is the real one.
    pub(super) async fn explain(mut self, reason: Unconnected) -> Unconnected {
        let Unconnected::Unreachable(mut reason) = reason else { return reason };
        // What it wrote before it ended may still be on its way.
        let _ = tokio::time::timeout(EAVESDROPPING, self.listening.join_next()).await;
        if let Ok(Some(status)) = self.child.try_wait() {
            reason = format!("{reason} ({status})");
        }
        let last: Vec<String> =
            self.last_words.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
        if !last.is_empty() {
            reason = format!("{reason}. It said: {}", last.join(" | "));
        }
        Unconnected::Unreachable(clip(&reason, 1_000))
    }

    /// Its input is closed already, which ends every server that keeps to the protocol; the others are made to.
    pub(super) async fn end(mut self, grace: Duration) {
        // A status is of no use to anybody here.
        let _ = tokio::time::timeout(grace, self.child.wait()).await;
        for survivor in self.leash.family.end(grace).await {
            tracing::warn!(pid = survivor.pid, "a process of an MCP server could not be ended");
        }
        self.leash.let_go();
    }
}

/// Where a command is: in a folder of PATH, or where it says.
fn found(command: &str, path: &str, home: &Path, cwd: &Path) -> Option<PathBuf> {
    let is_program =
        |file: &PathBuf| file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0);
    if let Some(below) = command.strip_prefix("~/") {
        return Some(home.join(below)).filter(is_program);
    }
    if command.contains('/') {
        return Some(cwd.join(command)).filter(is_program);
    }
    path.split(':').filter(|folder| !folder.is_empty()).map(|folder| Path::new(folder).join(command)).find(is_program)
}

/// The words that have the kernel end a program with this one, where the system can say them.
async fn guarded() -> Option<[std::ffi::OsString; 4]> {
    let guardian = GUARDED.get_or_init(|| async {
        let guardian = found(GUARDIAN, "/usr/bin:/bin", Path::new("/"), Path::new("/"))?;
        let said = Command::new(&guardian).arg("--help").stdin(Stdio::null()).output().await.ok()?;
        String::from_utf8_lossy(&said.stdout).contains("--pdeathsig").then_some(guardian)
    });
    let guardian = guardian.await.clone()?;
    Some([guardian.into_os_string(), "--pdeathsig".into(), "KILL".into(), "--".into()])
}

/// Writes down what a program complains about, as long as it is not too much.
async fn listen(complaints: ChildStderr, mut log: Log, last_words: Arc<Mutex<VecDeque<String>>>) {
    let mut complaints = BufReader::new(complaints);
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = (&mut complaints).take(LONGEST_LINE).read_until(b'\n', &mut line).await;
        if !read.is_ok_and(|bytes| bytes > 0) {
            return;
        }
        let said = String::from_utf8_lossy(&line);
        // People look at logs with programs that obey what they show.
        let said = visible(&redact::text(said.trim_end()));
        if said.trim().is_empty() {
            continue;
        }
        log.write(&said);
        let mut last = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        last.push_back(clip(&said, 200));
        if last.len() > LAST_WORDS {
            last.pop_front();
        }
    }
}

/// The log that all servers share. It is there from the first word on.
struct Log {
    folder: PathBuf,
    server: String,
    file: Option<File>,
    left: usize,
}

impl Log {
    fn of(hermes_home: &Path, server: &str) -> Self {
        Self { folder: hermes_home.join("logs"), server: server.to_owned(), file: None, left: MOST_OF_ONE_RUN }
    }

    fn write(&mut self, said: &str) {
        let line = format!("[{}] {said}\n", self.server);
        let line = match line.len() {
            _ if self.left == 0 => return,
            length if length < self.left => line,
            _ => {
                self.left = 0;
                format!("[{}] … (more than this log has room for)\n", self.server)
            }
        };
        self.left = self.left.saturating_sub(line.len());
        // A log that cannot be written is no reason to stop the server that complains.
        let _ = self.opened().and_then(|file| file.write_all(line.as_bytes()));
    }

    fn opened(&mut self) -> std::io::Result<&mut File> {
        match &mut self.file {
            Some(file) => Ok(file),
            empty => Ok(empty.insert(open(&self.folder)?)),
        }
    }
}

fn open(folder: &Path) -> std::io::Result<File> {
    let path = folder.join(LOG);
    std::fs::create_dir_all(folder)?;
    if path.metadata().is_ok_and(|found| found.len() > LARGEST_LOG) {
        // Another process may have been quicker; then there is nothing to put aside.
        let _ = std::fs::rename(&path, folder.join(OLD_LOG));
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_never_stops_complaining_does_not_fill_the_disk() {
        let home = tempfile::tempdir().unwrap();
        let mut log = Log::of(home.path(), "box");
        let path = home.path().join("logs").join(LOG);
        assert!(!path.exists(), "nothing is there before somebody complains");
        for _ in 0..2_000 {
            log.write(&"x".repeat(1_000));
        }
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.len() < MOST_OF_ONE_RUN + 100, "{}", text.len());
        assert_eq!(text.lines().last(), Some("[box] … (more than this log has room for)"));
    }

    #[test]
    fn programs_are_found_like_a_shell_finds_them() {
        let nowhere = Path::new("/nonexistent");
        assert_eq!(found("sh", "/nonexistent:/bin", nowhere, nowhere), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("/bin/sh", "", nowhere, nowhere), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("~/sh", "", Path::new("/bin"), nowhere), Some(PathBuf::from("/bin/sh")));
        assert_eq!(found("./sh", "", nowhere, Path::new("/bin")), Some(PathBuf::from("/bin/./sh")));
        assert_eq!(found("no-such-program", "/bin", nowhere, nowhere), None);
        assert_eq!(found("etc", "/", nowhere, nowhere), None, "a folder is no program");
    }
}
