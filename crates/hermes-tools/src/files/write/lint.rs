//! Programs that look for mistakes in what was written.
//!
//! Each gets the content on its standard input and a fixed list of arguments, runs in `/` with hardly any environment, and
//! only parses: no shell, no settings of the project, no plugins, nothing that runs a line of the file. That leaves out
//! `perl -c` (runs BEGIN blocks), `tsc`, `go vet` and `eslint` (load what the project tells them to). A program that is
//! missing, slow or confused is skipped: the file is written all the same.

use crate::settings::Surroundings;
use hermes_core::stop::Stop;
use serde::Serialize;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

const PATIENCE: Duration = Duration::from_secs(5);
/// Larger contents are not checked.
const MOST: usize = 2 << 20;
const OUTPUT: u64 = 16 << 10;
/// Lines of complaints that are reported.
const LINES: usize = 20;
const KEPT_VARIABLES: [&str; 3] = ["PATH", "HOME", "LANG"];

/// What came of looking at a content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Lint {
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
}

impl Lint {
    pub(crate) fn ok() -> Self {
        Self { status: "ok", output: None, message: None }
    }

    pub(crate) fn error(output: impl Into<String>) -> Self {
        Self { status: "error", output: Some(output.into()), message: None }
    }

    fn skipped(message: String) -> Self {
        Self { status: "skipped", output: None, message: Some(message) }
    }
}

struct Linter {
    endings: &'static [&'static str],
    program: &'static str,
    arguments: &'static [&'static str],
    /// Which lines of the complaint say something.
    telling: fn(&str) -> bool,
}

const PYTHON: &str = "import ast,sys
try: ast.parse(sys.stdin.buffer.read())
except SyntaxError as e: sys.exit('SyntaxError: %s (line %s, column %s)' % (e.msg, e.lineno, e.offset))
except ValueError as e: sys.exit('SyntaxError: %s' % e)";

const TABLE: &[Linter] = &[
    Linter {
        endings: &["py", "pyi"],
        program: "python3",
        arguments: &["-I", "-S", "-B", "-c", PYTHON],
        telling: |line| line.starts_with("SyntaxError"),
    },
    Linter {
        endings: &["mjs"],
        program: "node",
        arguments: &["--check", "--input-type=module", "-"],
        telling: of_node,
    },
    Linter {
        endings: &["cjs", "js"],
        program: "node",
        arguments: &["--check", "--input-type=commonjs", "-"],
        telling: of_node,
    },
    Linter {
        endings: &["sh", "bash"],
        program: "bash",
        arguments: &["--norc", "--noprofile", "-n"],
        telling: |line| line.starts_with("bash: line"),
    },
    Linter { endings: &["php"], program: "php", arguments: &["-n", "-l"], telling: |line| line.contains("error") },
    Linter {
        endings: &["go"],
        program: "gofmt",
        arguments: &["-e"],
        telling: |line| line.starts_with("<standard input>"),
    },
    Linter {
        endings: &["rs"],
        program: "rustfmt",
        arguments: &["--edition", "2024", "--quiet"],
        telling: |line| line.starts_with("error") || line.trim_start().starts_with("-->"),
    },
];

fn of_node(line: &str) -> bool {
    line.starts_with("SyntaxError") || line.starts_with("[stdin]:")
}

/// What is wrong with the new content that was not wrong with the old one.
pub(crate) async fn check(path: &Path, old: Option<&str>, new: &str, around: &Surroundings, stop: &Stop) -> Lint {
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
    let Some(linter) = TABLE.iter().find(|linter| linter.endings.contains(&ending.as_str())) else {
        let kind = if ending.is_empty() { "files without an ending".to_owned() } else { format!(".{ending} files") };
        return Lint::skipped(format!("No linter for {kind}"));
    };
    if new.len() > MOST {
        return Lint::skipped("The file is too large to check".to_owned());
    }
    let complaints = match linter.complaints(new, around, stop).await {
        Ok(complaints) if complaints.is_empty() => return Lint::ok(),
        Ok(complaints) => complaints,
        Err(reason) => return Lint::skipped(reason),
    };
    let before = match old.filter(|old| old.len() <= MOST) {
        Some(old) => linter.complaints(old, around, stop).await.unwrap_or_default(),
        None => Vec::new(),
    };
    // A complaint is the same when only its place moved.
    let known: Vec<String> = before.iter().map(|line| without_numbers(line)).collect();
    let new: Vec<String> =
        complaints.into_iter().filter(|line| !known.contains(&without_numbers(line))).take(LINES).collect();
    if new.iter().any(|line| !is_place(line)) { Lint::error(new.join("\n")) } else { Lint::ok() }
}

fn without_numbers(line: &str) -> String {
    line.chars().filter(|found| !found.is_ascii_digit()).collect()
}

/// Lines that only say where.
fn is_place(line: &str) -> bool {
    line.starts_with("[stdin]:") || line.trim_start().starts_with("-->")
}

impl Linter {
    async fn complaints(&self, content: &str, around: &Surroundings, stop: &Stop) -> Result<Vec<String>, String> {
        let first = self.run(self.arguments, content, around, stop).await?;
        // A `.js` file may be either kind of module; it is broken when it is neither.
        let is_module = first.iter().any(|line| {
            line.contains("import statement")
                || line.contains("token 'export'")
                || line.contains("import.meta")
                || line.contains("await is only valid")
        });
        if self.endings.contains(&"js") && is_module {
            return self.run(&["--check", "--input-type=module", "-"], content, around, stop).await;
        }
        Ok(first)
    }

    async fn run(
        &self,
        arguments: &[&str],
        content: &str,
        around: &Surroundings,
        stop: &Stop,
    ) -> Result<Vec<String>, String> {
        let program = self.program;
        let kept = KEPT_VARIABLES.iter().filter_map(|name| Some((*name, around.variables.get(*name)?)));
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(kept).current_dir("/").kill_on_drop(true).process_group(0);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{program} cannot be started: {error}"))?;
        let group = Group::of(&child);
        let (stdin, stderr) = (child.stdin.take(), child.stderr.take());
        let talk = async {
            let write = async {
                if let Some(mut stdin) = stdin {
                    // A program that has seen enough closes its input.
                    let _ = stdin.write_all(content.as_bytes()).await;
                }
            };
            let read = async {
                let mut told = Vec::new();
                if let Some(stderr) = stderr {
                    // What was said before the pipe broke is all there is.
                    let _ = stderr.take(OUTPUT).read_to_end(&mut told).await;
                }
                told
            };
            let ((), told) = tokio::join!(write, read);
            (told, child.wait().await)
        };
        let ended = tokio::select! {
            ended = talk => Ok(ended),
            () = tokio::time::sleep(PATIENCE) => Err(format!("{program} took longer than {} s", PATIENCE.as_secs())),
            () = stop.wait() => Err("The person interrupted the check".to_owned()),
        };
        let (told, status) = ended?;
        group.ended();
        let told = String::from_utf8_lossy(&told);
        let lines: Vec<String> = told.lines().filter(|line| (self.telling)(line)).map(str::to_owned).collect();
        match status {
            Ok(status) if status.success() => Ok(Vec::new()),
            // It failed without a word about the content: that says nothing about the content.
            Ok(_) if lines.is_empty() => Err(format!("{program} cannot be used here")),
            Ok(_) => Ok(lines),
            Err(error) => Err(format!("{program} cannot be waited for: {error}")),
        }
    }
}

/// Everything a linter started. It ends with the check, also when nobody waits for the check any more.
struct Group(Option<rustix::process::Pid>);

impl Group {
    fn of(child: &tokio::process::Child) -> Self {
        Self(child.id().and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw))
    }

    /// It ended by itself; its number may belong to others from now on.
    fn ended(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It fails when everybody in it has ended, which is what is wanted.
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
}
