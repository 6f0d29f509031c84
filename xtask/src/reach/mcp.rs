//! What the tool of an MCP server costs beyond the server itself, and what configured servers cost at the start.

use crate::hands::{Bench, Timed, ms, row, timed};
use crate::program;
use hermes_mcp::{Servers, settings};
use hermes_testkit::{ModelServer, Move, Script};
use hermes_tools::run::Hands;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/hermes-mcp/tests/mcp/chaos.py");
const HELLO: Duration = Duration::from_secs(30);
const SERVERS: usize = 5;
const STARTS: usize = 20;

pub(crate) fn run() {
    println!("MCP servers, best and median");
    println!("{:<40} {:>10} {:>10} {:>10}   baseline", "measure", "best", "median", "goal");
    one_call();
    start_up();
    println!();
}

fn entry(folder: &Path) -> Value {
    json!({"command": "python3", "args": [SERVER, "plain", folder]})
}

/// A call through registry, gate, dispatcher and protocol, against a line written to the same server and read from it.
fn one_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut bare = Bare::start(folder.path());
    let alone = timed(|| bare.ask());
    let mut bench = Bench::with(&Value::Null);
    let found = settings::read(&json!({"mcp_servers": {"box": entry(folder.path())}}), &|_| None);
    let registry = bench.hands.registry().clone();
    let servers = bench.runtime.block_on(async {
        let servers = Servers::start(found, registry.clone(), &bench.desk.shop);
        servers.settled(HELLO).await;
        servers
    });
    bench.hands = Hands::new(registry, ["mcp__box__echo".to_owned()].into());
    let called = timed(|| {
        let results = bench.call(&[("mcp__box__echo", json!({"text": "hi"}))]);
        assert!(results[0].content.text().contains("hi"), "{:?}", results[0]);
    });
    bench.runtime.block_on(servers.close());
    let beyond =
        Timed { best: called.best.saturating_sub(alone.best), median: called.median.saturating_sub(alone.median) };
    row("one call, beyond the server's own time", beyond, "1 ms", &format!("the server alone {}", ms(alone.median)));
}

/// The server with nothing between it and the question.
struct Bare {
    child: Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Bare {
    fn start(folder: &Path) -> Self {
        let mut command = Command::new("python3");
        command.args([Path::new(SERVER), Path::new("plain"), folder]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("python3");
        let answers = BufReader::new(child.stdout.take().expect("its output"));
        let mut bare = Self { child, answers };
        bare.ask();
        bare
    }

    fn ask(&mut self) {
        let params = json!({"name": "echo", "arguments": {"text": "hi"}});
        let question = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
        let stdin = self.child.stdin.as_mut().expect("its input");
        writeln!(stdin, "{question}").expect("it listens");
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("it answers");
        assert!(line.contains("hi"), "{line}");
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        // It may have ended by itself; there is nothing more to do about it.
        let _ = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// From the start of the program to its answer, with servers and without.
fn start_up() {
    let binary = program::built();
    let folder = tempfile::tempdir().expect("a folder");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let server = runtime.block_on(ModelServer::start(Script::new((0..2 * STARTS).map(|_| Move::say("hello")))));
    // Every start is a conversation of its own, and those with servers are told of them.
    server.allow_prefix_break("another conversation");
    let answered = |home: &Path| {
        let mut times: Vec<Duration> = (0..STARTS).map(|_| answer(&binary, home, &server.base_url())).collect();
        times.sort();
        Timed { best: times[0], median: times[STARTS / 2] }
    };
    let homes = ["without", "with"].map(|name| folder.path().join(name));
    homes.iter().for_each(|home| std::fs::create_dir_all(home).expect("a home"));
    let [without, with] = &homes;
    let entries: serde_json::Map<String, Value> =
        (0..SERVERS).map(|number| (format!("box{number}"), entry(folder.path()))).collect();
    // YAML is JSON and more.
    std::fs::write(with.join("config.yaml"), json!({"mcp_servers": entries}).to_string()).expect("settings");
    let alone = answered(without);
    let five = answered(with);
    row("an answer with 5 servers configured", five, "the same", &format!("without any {}", ms(alone.median)));
}

fn answer(binary: &Path, home: &Path, base: &str) -> Duration {
    let mut command = Command::new(binary);
    command.args(["-z", "hi"]).env_clear().env("HOME", home).env("HERMES_HOME", home).env("CUSTOM_BASE_URL", base);
    command.env("HERMES_INFERENCE_PROVIDER", "custom").env("HERMES_INFERENCE_MODEL", "scripted");
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let began = Instant::now();
    let mut child = command.spawn().expect("the program");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("an answer");
    let took = began.elapsed();
    assert_eq!(line.trim(), "hello");
    assert!(child.wait().expect("it ends").success());
    took
}
