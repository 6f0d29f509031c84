//! A person at a terminal who reads before they type.

use super::*;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, ChildStdout};

const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) struct Person {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    /// Everything that was printed so far.
    pub(crate) seen: String,
    /// How much of it was waited for already.
    read: usize,
}

impl Person {
    /// Starts the program on a terminal of 80 columns. `line` is what a shell would be given behind `hermes`.
    pub(crate) fn at(world: &World, line: &str) -> Self {
        let line = format!("stty cols 80 rows 24; exec {HERMES} {line}");
        let mut command = world.command("script", &["-qec", &line, "/dev/null"]);
        let mut child = command.stdin(Stdio::piped()).spawn().expect("a terminal");
        let (keys, screen) = (child.stdin.take().expect("keys"), child.stdout.take().expect("a screen"));
        Self { child, keys, screen, seen: String::new(), read: 0 }
    }

    /// A call on a terminal. Quotes of the shell are not for arguments that have some.
    #[allow(dead_code, reason = "only calls by hand need it")]
    pub(crate) fn calling(world: &World, tool: &str, arguments: &Value) -> Self {
        let json = arguments.to_string();
        assert!(!json.contains('\''), "{json}");
        Self::at(world, &format!("tools call {tool} '{json}'"))
    }

    /// Waits until this text appears behind what was waited for before.
    pub(crate) async fn sees(&mut self, text: &str) -> &mut Self {
        let waiting = async {
            loop {
                if let Some(at) = self.seen[self.read..].find(text) {
                    self.read += at + text.len();
                    return;
                }
                let mut bytes = [0; 4096];
                let count = self.screen.read(&mut bytes).await.expect("readable");
                assert!(count > 0, "{text:?} never came:\n{}", self.seen);
                self.seen.push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        };
        if tokio::time::timeout(PATIENCE, waiting).await.is_err() {
            panic!("{text:?} did not come in time:\n{}", self.seen);
        }
        self
    }

    pub(crate) async fn types(&mut self, keys: &str) -> &mut Self {
        self.keys.write_all(keys.as_bytes()).await.expect("typed");
        self
    }

    /// The exit code and all that was printed.
    pub(crate) async fn leaves(mut self) -> (Option<i32>, String) {
        let mut rest = Vec::new();
        let ended = async {
            self.screen.read_to_end(&mut rest).await.expect("readable");
            self.child.wait().await.expect("ended")
        };
        let status = tokio::time::timeout(PATIENCE, ended).await;
        self.seen.push_str(&String::from_utf8_lossy(&rest));
        let Ok(status) = status else { panic!("it did not end:\n{}", self.seen) };
        (status.code(), self.seen.replace("\r\n", "\n"))
    }
}
