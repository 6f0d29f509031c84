//! Other processes: this binary again, with a job in its environment. They are real, so they can really be killed.

use crate::{crowd, kill};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

const JOB: &str = "HERMES_PROOF_JOB";

/// What a process is there for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Writes messages in a crowd and notes what was acknowledged.
    Write(crowd::Writing),
    /// Reads until `stop` exists.
    Read { path: PathBuf, session: String, stop: PathBuf },
    /// Goes on with a list of operations and says where it is.
    Script { path: PathBuf, seed: u64, from: usize },
    /// Holds the write lock as a foreign program would.
    Hold { path: PathBuf, millis: u64 },
}

impl Job {
    /// Begins the job in a process of its own; what it says can be read.
    pub(crate) fn start(&self) -> Child {
        Command::new(std::env::current_exe().expect("this binary"))
            .args(["--exact", "worker::the_job_of_another_process", "--nocapture", "--quiet"])
            .env(JOB, serde_json::to_string(self).expect("a job"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process")
    }
}

/// Says a line to the process that started this one.
pub(crate) fn say(line: &str) {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdout.flush()).expect("somebody listens");
}

/// Not a story: what the processes of the other tests do. Without a job there is nothing to do.
#[test]
fn the_job_of_another_process() {
    let Ok(job) = std::env::var(JOB) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    match serde_json::from_str(&job).expect("a job") {
        Job::Write(writing) => runtime.block_on(crowd::write(&writing)),
        Job::Read { path, session, stop } => runtime.block_on(crowd::read(&path, &session, &stop)),
        Job::Script { path, seed, from } => runtime.block_on(kill::go_on(&path, seed, from)),
        Job::Hold { path, millis } => hold(&path, Duration::from_millis(millis)),
    }
}

fn hold(path: &Path, time: Duration) {
    let connection = Connection::open(path).expect("the file");
    connection.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    say("held");
    std::thread::sleep(time);
    connection.execute_batch("COMMIT").expect("let go");
}
