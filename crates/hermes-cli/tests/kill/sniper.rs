//! Ends the unmodified program right before its n-th write to the log of the database.
//!
//! Everything that is durable goes through that log, so these are all the states a power cut or a `kill -9` can leave
//! behind. `strace` delivers the signal on entering the system call, which then does not happen.

use crate::HERMES;
use hermes_testkit::{Ran, World};
use std::process::Stdio;
use tokio::process::Command;

/// How it went.
pub(crate) enum Shot {
    Hit,
    /// It came to its own end before that many writes.
    Missed(Ran),
}

/// Why nobody can be shot at here, if that is so: no `strace`, or a place that does not let programs be traced.
pub(crate) async fn hindrance() -> Option<String> {
    let trial = ["-qqq", "-f", "-e", "trace=pwrite64", "-o", "/dev/null", "true"];
    let ran = Command::new("strace").args(trial).stdin(Stdio::null()).output().await;
    match ran {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("strace cannot trace: {}", String::from_utf8_lossy(&output.stderr).trim())),
        Err(error) => Some(format!("strace cannot be started: {error}")),
    }
}

/// Runs the program and ends it at its `nth` write, counted from one.
pub(crate) async fn shoot(world: &World, arguments: &[&str], nth: usize) -> Shot {
    let inject = format!("inject=pwrite64:signal=SIGKILL:when={nth}");
    let ran = traced(world, &["-o", "/dev/null", "-e", &inject], arguments).await;
    match ran.code {
        None => Shot::Hit,
        Some(_) => Shot::Missed(ran),
    }
}

/// How often the program writes, by the thread that does: strace counts each thread by itself.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Writes {
    /// Making or opening the file.
    pub(crate) opening: usize,
    /// Everything behind that.
    pub(crate) session: usize,
}

/// Runs the program to its end and counts its writes.
pub(crate) async fn count(world: &World, arguments: &[&str]) -> (Ran, Writes) {
    let path = world.home().join("writes");
    let ran = traced(world, &["-o", &path.display().to_string()], arguments).await;
    let told = std::fs::read_to_string(path).expect("what strace saw");
    let mut threads: Vec<(&str, usize)> = Vec::new();
    for thread in told.lines().filter(|line| line.contains("pwrite64(")).filter_map(|line| line.split(' ').next()) {
        match threads.iter_mut().find(|(known, _)| *known == thread) {
            Some((_, writes)) => *writes += 1,
            None => threads.push((thread, 1)),
        }
    }
    let session = threads.iter().map(|(_, writes)| *writes).max().unwrap_or_default();
    let opening = threads.first().map(|(_, writes)| *writes).filter(|_| threads.len() > 1).unwrap_or_default();
    (ran, Writes { opening, session })
}

async fn traced(world: &World, how: &[&str], arguments: &[&str]) -> Ran {
    let log = world.hermes_home().canonicalize().expect("a home").join("state.db-wal");
    let log = log.display().to_string();
    let usual = ["-qqq", "-f", "-e", "trace=pwrite64", "-P", &log];
    let words: Vec<&str> = usual.iter().chain(how).chain(&["--", HERMES]).chain(arguments).copied().collect();
    world.run("strace", &words).await
}
