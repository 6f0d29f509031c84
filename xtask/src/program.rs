//! What the whole program costs: processes started, a scripted model server on loopback, wall time and memory.

use hermes_testkit::{ModelServer, Move, Script};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RUNS: usize = 30;
const TOKENS: usize = 20_000;
const GNU_TIME: &str = "/usr/bin/time";

pub(crate) fn run() {
    let hermes = built();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    println!("the program, best and median of {RUNS} runs");
    println!("{:<34} {:>10} {:>10} {:>26}", "measure", "best", "median", "baseline");

    let home = tempfile::tempdir().expect("a home");
    let version = timed(RUNS, || run_once(&hermes, home.path(), "http://127.0.0.1:1/v1", &["--version"]));
    let nothing = timed(RUNS, || wait(Command::new("true")));
    row("--version", version, &format!("true: {}", ms(nothing.0)));

    let reply = "word ".repeat(10);
    let asked = RUNS * 2 + usize::from(Path::new(GNU_TIME).exists());
    let server = runtime.block_on(ModelServer::start(Script::new((0..asked).map(|_| Move::say(&reply)))));
    let base = server.base_url();
    let short = timed(RUNS, || run_once(&hermes, home.path(), &base, &["-z", "hi"]));
    let curl = timed(RUNS, || wait(fetch(&base)));
    row("one-shot text answer", short, &format!("curl: {}", ms(curl.0)));
    if let Some(peak) = peak_memory(&hermes, home.path(), &base) {
        println!("{:<34} {:>9.1}M", "  peak memory", peak as f64 / 1024.0);
    }
    server.finish();

    let long = "token ".repeat(TOKENS);
    let script = Script::new((0..10).map(|_| Move::say(&long).chunk(6)));
    let server = runtime.block_on(ModelServer::start(script));
    let base = server.base_url();
    let streamed = timed(5, || run_once(&hermes, home.path(), &base, &["-z", "hi"]));
    let beyond = (streamed.0.saturating_sub(short.0), streamed.1.saturating_sub(short.1));
    let fetched = timed(5, || wait(fetch(&base)));
    row("20,000 streamed tokens, beyond short", beyond, &format!("curl: {}", ms(fetched.0.saturating_sub(curl.0))));
    server.finish();

    let faults = || [Move::status(429).header("retry-after", "1"), Move::status(500), Move::say("back")];
    let server = runtime.block_on(ModelServer::start(Script::new((0..3).flat_map(|_| faults()))));
    let base = server.base_url();
    let recovery = timed(3, || run_once(&hermes, home.path(), &base, &["-z", "hi"]));
    row("429 (retry-after 1), then 500", recovery, "the wait asked for: 1000 ms");
    server.finish();
}

/// The release binary, built now so that the numbers are of this code.
pub(crate) fn built() -> PathBuf {
    let status = Command::new("cargo")
        .args(["build", "--release", "--quiet", "--locked", "-p", "hermes-cli"])
        .status()
        .expect("cargo runs");
    assert!(status.success(), "the release build failed");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| PathBuf::from("target"), PathBuf::from);
    target.join("release/hermes").canonicalize().expect("the binary is where cargo puts it")
}

fn hermes(binary: &Path, home: &Path, base: &str, args: &[&str]) -> Command {
    let mut command = Command::new(binary);
    command.args(args).env_clear().env("HOME", home).env("HERMES_HOME", home).env("CUSTOM_BASE_URL", base);
    command.env("HERMES_INFERENCE_PROVIDER", "custom").env("HERMES_INFERENCE_MODEL", "scripted");
    command
}

fn run_once(binary: &Path, home: &Path, base: &str, args: &[&str]) {
    wait(hermes(binary, home, base, args));
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

/// Peak resident memory in KiB, where GNU time is installed.
fn peak_memory(binary: &Path, home: &Path, base: &str) -> Option<u64> {
    let inner = hermes(binary, home, base, &["-z", "hi"]);
    let mut timed = Command::new(GNU_TIME);
    timed.args(["-f", "%M"]).arg(inner.get_program()).args(inner.get_args()).env_clear();
    for (name, value) in inner.get_envs() {
        timed.env(name, value.unwrap_or_default());
    }
    let output = timed.stdin(Stdio::null()).output().ok()?;
    String::from_utf8_lossy(&output.stderr).trim().lines().last()?.parse().ok()
}

/// Best and median.
fn timed(runs: usize, mut work: impl FnMut()) -> (Duration, Duration) {
    let mut times: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    times.sort();
    (times[0], times[runs / 2])
}

fn row(measure: &str, (best, median): (Duration, Duration), baseline: &str) {
    println!("{measure:<34} {:>10} {:>10} {baseline:>26}", ms(best), ms(median));
}

fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1e3)
}
