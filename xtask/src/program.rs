//! What the whole program costs: processes started, a scripted model server on loopback, wall time and memory.
//!
//! Beside each number stands what a program pays that does nothing but copy the bytes (`true`, `curl`), where it is
//! installed, and what we aim for.

use hermes_testkit::{ModelServer, Move, Script};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 30;
const LONG_RUNS: usize = 5;
const RECOVERIES: usize = 3;
const TOKENS: usize = 20_000;

pub(crate) fn run() {
    let bench = Bench::new();
    println!("the program, best and median of up to {RUNS} runs");
    println!("{:<38} {:>10} {:>10} {:>10}   baseline", "measure", "best", "median", "goal");

    let version = timed(RUNS, || wait(bench.hermes("http://127.0.0.1:1/v1", &["--version"])));
    let nothing = timed(RUNS, || wait(Command::new("true")));
    row("--version", version, "5 ms", &format!("true {}", ms(nothing.best)));

    let short_answer = || Move::say(&"word ".repeat(10));
    let short = bench.asked(RUNS, short_answer);
    row("one short answer", short.hermes, "20 ms", &curl(short.curl));
    if let Some(peak) = bench.peak_memory(short_answer()) {
        println!("{:<38} {:>8.1} M {:>10} {:>10}", "  peak memory", peak as f64 / 1024.0, "", "20 M");
    }

    let long_answer = || Move::say(&"token ".repeat(TOKENS)).chunk("token ".len());
    let at_once = long_answer().events("/chat/completions").concat();
    let long = bench.asked(LONG_RUNS, || Move::raw(at_once.clone())).beyond(&short);
    row("20,000 tokens, beyond the short answer", long.hermes, "50 ms", &curl(long.curl));
    let long = bench.asked(LONG_RUNS, long_answer).beyond(&short);
    row("  each in a packet of its own", long.hermes, "", &curl(long.curl));

    let faults = || [Move::status(429).header("retry-after", "1"), Move::status(500), short_answer()];
    let server = bench.serve((0..RECOVERIES).flat_map(|_| faults()));
    let recovery = timed(RECOVERIES, || wait(bench.hermes(&server.base_url(), &["-z", "hi"])));
    row("429 (retry-after 1), then 500", recovery, "1500 ms", "the wait asked for 1000 ms");
}

struct Bench {
    binary: PathBuf,
    home: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    has_curl: bool,
}

/// The same answer, fetched by us and by a program that only copies bytes.
struct Asked {
    hermes: Timed,
    curl: Option<Timed>,
}

#[derive(Clone, Copy)]
struct Timed {
    best: Duration,
    median: Duration,
}

impl Bench {
    fn new() -> Self {
        Self {
            binary: built(),
            home: tempfile::tempdir().expect("a home"),
            runtime: tokio::runtime::Runtime::new().expect("a runtime"),
            has_curl: Command::new("curl").arg("--version").stdout(Stdio::null()).status().is_ok(),
        }
    }

    fn serve(&self, moves: impl IntoIterator<Item = Move>) -> ModelServer {
        let server = self.runtime.block_on(ModelServer::start(Script::new(moves)));
        // Every run is a conversation of its own, and curl has none.
        server.allow_prefix_break("another conversation");
        server
    }

    fn asked(&self, runs: usize, answer: impl Fn() -> Move) -> Asked {
        let requests = if self.has_curl { 2 * runs } else { runs };
        let server = self.serve((0..requests).map(|_| answer()));
        let base = server.base_url();
        let hermes = timed(runs, || wait(self.hermes(&base, &["-z", "hi"])));
        let curl = self.has_curl.then(|| timed(runs, || wait(fetch(&base))));
        Asked { hermes, curl }
    }

    fn hermes(&self, base: &str, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        let home = self.home.path();
        command.args(args).env_clear().env("HOME", home).env("HERMES_HOME", home).env("CUSTOM_BASE_URL", base);
        command.env("HERMES_INFERENCE_PROVIDER", "custom").env("HERMES_INFERENCE_MODEL", "scripted");
        command
    }

    /// Peak resident memory in KiB: by GNU time, else by looking at the process while it lives.
    fn peak_memory(&self, answer: Move) -> Option<u64> {
        let server = self.serve([answer]);
        let mut command = self.hermes(&server.base_url(), &["-z", "hi"]);
        if !Path::new("/usr/bin/time").exists() {
            return watched(&mut command);
        }
        let mut timed = Command::new("/usr/bin/time");
        timed.args(["-f", "%M"]).arg(command.get_program()).args(command.get_args()).env_clear();
        for (name, value) in command.get_envs() {
            timed.env(name, value.unwrap_or_default());
        }
        let output = timed.stdin(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stderr).trim().lines().last()?.parse().ok()
    }
}

impl Asked {
    /// What this costs more than `other`.
    fn beyond(self, other: &Self) -> Self {
        Self { hermes: self.hermes.beyond(other.hermes), curl: self.curl.zip(other.curl).map(|(a, b)| a.beyond(b)) }
    }
}

impl Timed {
    fn beyond(self, other: Self) -> Self {
        Self { best: self.best.saturating_sub(other.best), median: self.median.saturating_sub(other.median) }
    }
}

/// The release binary, built now so that the numbers are of this code.
pub(crate) fn built() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
        .args(["build", "--release", "--quiet", "--locked", "-p", "hermes-cli"])
        .current_dir(&root)
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the release build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    target.join("release/hermes").canonicalize().expect("the binary is where cargo puts it")
}

/// The same request by a program that only copies bytes.
fn fetch(base: &str) -> Command {
    let mut command = Command::new("curl");
    let body = r#"{"model":"scripted","stream":true,"messages":[{"role":"user","content":"hi"}]}"#;
    command.args(["-sN", "-H", "content-type: application/json", "-d", body, &format!("{base}/chat/completions")]);
    command
}

fn wait(mut command: Command) {
    let name = format!("{command:?}");
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(status.is_ok_and(|status| status.success()), "{name} failed");
}

/// The high-water mark the kernel keeps for a process, read until the process is gone.
fn watched(command: &mut Command) -> Option<u64> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().ok()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = None;
    while child.try_wait().ok()?.is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        peak = mark.and_then(|mark| mark.trim().trim_end_matches(" kB").parse().ok()).max(peak);
    }
    peak
}

fn timed(runs: usize, mut work: impl FnMut()) -> Timed {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    Timed { best: times[0], median: times[runs / 2] }
}

fn row(measure: &str, timed: Timed, goal: &str, baseline: &str) {
    println!("{measure:<38} {:>10} {:>10} {goal:>10}   {baseline}", ms(timed.best), ms(timed.median));
}

fn curl(timed: Option<Timed>) -> String {
    timed.map_or_else(|| "curl is not installed".to_owned(), |timed| format!("curl {}", ms(timed.best)))
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}
