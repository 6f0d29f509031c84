//! Ends the unmodified program right before its n-th write to the log of the database.
//!
//! Everything that is durable goes through that log, so these are all the states a power cut or a `kill -9` can leave
//! behind. `strace` delivers the signal on entering the system call, which then does not happen.

use crate::HERMES;
use hermes_testkit::{Ran, World};
use std::collections::BTreeMap;
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
    let trial = ["-qqq", "-f", "--seccomp-bpf", "-e", "trace=pwrite64", "-o", "/dev/null", "true"];
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

/// Runs the program to its end and counts its writes.
pub(crate) async fn count(world: &World, arguments: &[&str]) -> (Ran, usize) {
    let path = world.home().join("writes");
    let ran = traced(world, &["-o", &path.display().to_string()], arguments).await;
    let told = std::fs::read_to_string(path).expect("what strace saw");
    let mut by_thread: BTreeMap<&str, usize> = BTreeMap::new();
    for thread in told.lines().filter(|line| line.contains("pwrite64(")).filter_map(|line| line.split(' ').next()) {
        *by_thread.entry(thread).or_default() += 1;
    }
    eprintln!("{by_thread:?}");
    (ran, by_thread.into_values().max().unwrap_or_default())
}

async fn traced(world: &World, how: &[&str], arguments: &[&str]) -> Ran {
    let log = world.hermes_home().canonicalize().expect("a home").join("state.db-wal");
    let log = log.display().to_string();
    let usual = ["-qqq", "-f", "--seccomp-bpf", "-e", "trace=pwrite64", "-P", &log];
    let words: Vec<&str> = usual.iter().chain(how).chain(&["--", HERMES]).chain(arguments).copied().collect();
    world.run("strace", &words).await
}
