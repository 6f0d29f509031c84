//! What stories about the real program need: a home of its own, a scripted server as its only provider, and a look at what
//! came of it. Every run, whatever it is about, is searched for the key: no output may ever show it.

use hermes_testkit::{ModelServer, Ran, World};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

pub(crate) const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
pub(crate) const KEY: &str = "sk-rehearsal-0123456789abcdef";

/// An empty home on a machine where no model server runs.
pub(crate) fn nowhere() -> World {
    let world = World::new().env("HERMES_MANAGED_DIR", "/nonexistent");
    ["OLLAMA_HOST", "LM_BASE_URL", "VLLM_BASE_URL", "LLAMACPP_BASE_URL"]
        .iter()
        .fold(world, |world, name| world.env(name, "http://127.0.0.1:9/v1"))
}

/// A home whose only provider is this server.
pub(crate) fn home_at(server: &ModelServer) -> World {
    server.expect_key(KEY);
    nowhere().env("REHEARSAL_KEY", KEY).config(&settings(&server.base_url(), "chat_completions"))
}

/// The same with more settings.
pub(crate) fn home_with(server: &ModelServer, more: &str) -> World {
    let yaml = format!("{}{more}", settings(&server.base_url(), "chat_completions"));
    home_at(server).config(&yaml)
}

pub(crate) fn settings(base_url: &str, api_mode: &str) -> String {
    format!(
        "model:\n  provider: custom:rehearsal\n  default: rehearsal-model\ncustom_providers:\n  - name: rehearsal\n    \
         base_url: {base_url}\n    key_env: REHEARSAL_KEY\n    api_mode: {api_mode}\n"
    )
}

/// A home whose only model reads no more than so many tokens at once.
pub(crate) fn home_with_window(server: &ModelServer, tokens: u64) -> World {
    let window = format!("model:\n  context_length: {tokens}\n");
    let settings = settings(&server.base_url(), "chat_completions");
    home_at(server).config(&settings.replacen("model:\n", &window, 1))
}

pub(crate) async fn hermes(world: &World, arguments: &[&str]) -> Ran {
    keeping_secrets(world.run(HERMES, arguments).await)
}

/// A line of shell in which `$0` is the program.
pub(crate) async fn shell(world: &World, line: &str) -> Ran {
    keeping_secrets(world.run("/bin/sh", &["-c", line, HERMES]).await)
}

/// The program on a terminal of this many columns. What it prints, escapes and all, is in `stdout`.
pub(crate) async fn on_terminal(world: &World, columns: u16, arguments: &str) -> Ran {
    let line = format!("stty cols {columns} rows 24 -echo; exec {HERMES} {arguments}");
    keeping_secrets(world.run("script", &["-qec", &line, "/dev/null"]).await)
}

/// The program on a wide terminal, where a person types each answer once its question is on the screen. What it prints,
/// escapes and all, is in `stdout`.
#[allow(dead_code, reason = "only stories with a person at the terminal need it")]
pub(crate) async fn answering(world: &World, arguments: &str, answers: &[(&str, &str)]) -> Ran {
    let line = format!("stty cols 200 rows 24 -echo; exec {HERMES} {arguments}");
    let mut script = world.command("script", &["-qec", &line, "/dev/null"]);
    script.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let begun = Instant::now();
    let mut child = script.spawn().expect("script runs");
    let (mut keys, mut screen) = (child.stdin.take().expect("keys"), child.stdout.take().expect("a screen"));
    let (mut seen, mut read_to, mut answers) = (Vec::new(), 0, answers.iter().peekable());
    loop {
        let mut portion = [0; 4096];
        let read = tokio::time::timeout(Duration::from_secs(60), screen.read(&mut portion)).await;
        let shown = |seen: &[u8]| String::from_utf8_lossy(seen).into_owned();
        match read.unwrap_or_else(|_| panic!("it waits for something:\n{}", shown(&seen))).expect("a screen") {
            0 => break,
            count => seen.extend_from_slice(&portion[..count]),
        }
        let fresh = shown(seen.get(read_to..).unwrap_or_default());
        if let Some((_, answer)) = answers.next_if(|(question, _)| fresh.contains(question)) {
            read_to = seen.len();
            keys.write_all(answer.as_bytes()).await.expect("typed");
        }
    }
    let code = child.wait().await.expect("ended").code();
    let stdout = String::from_utf8_lossy(&seen).into_owned();
    assert_eq!(answers.next(), None, "this was never asked:\n{stdout}");
    keeping_secrets(Ran { stdout, stderr: String::new(), code, wall: begun.elapsed() })
}

#[track_caller]
pub(crate) fn keeping_secrets(ran: Ran) -> Ran {
    for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(!text.contains(KEY), "{name} shows the key:\n{text}");
    }
    ran
}

/// Exit code, stdout, stderr.
pub(crate) fn told(ran: &Ran) -> (Option<i32>, &str, &str) {
    (ran.code, &ran.stdout, &ran.stderr)
}

/// The conversation in each request, without the words the program itself begins with.
pub(crate) fn asked(server: &ModelServer) -> Vec<serde_json::Value> {
    let conversation = |request: &hermes_testkit::Received| {
        let mut messages = request.json()["messages"].as_array().expect("messages").clone();
        messages.retain(|message| message["role"] != "system");
        messages.into()
    };
    server.model_requests().iter().map(conversation).collect()
}

/// The result of the newest call, as the model reads it in the request with this number.
#[track_caller]
pub(crate) fn last_result(server: &ModelServer, request: usize) -> String {
    let messages = asked(server).swap_remove(request);
    let last = messages.as_array().and_then(|all| all.last()).expect("a message").clone();
    assert_eq!(last["role"], "tool", "{messages}");
    last["content"].as_str().expect("text").to_owned()
}

/// Session ids differ from run to run but not in their shape: `20260102_030405_0a1b2c`.
pub(crate) fn is_session_id(text: &str) -> bool {
    let shape = |(c, pattern): (char, char)| match pattern {
        '0' => c.is_ascii_digit(),
        'a' => c.is_ascii_hexdigit(),
        _ => c == pattern,
    };
    let pattern = "00000000_000000_aaaaaa";
    text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(shape)
}

pub(crate) async fn signal(child: &Child, name: &str) {
    let pid = child.id().expect("still running").to_string();
    assert!(Command::new("kill").args([name, &pid]).status().await.expect("kill runs").success());
}

/// The program's end, and how long after now it came.
pub(crate) async fn end(child: Child) -> (Ran, Duration) {
    let begun = Instant::now();
    let output = child.wait_with_output().await.expect("ended");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr, code) = (text(&output.stdout), text(&output.stderr), output.status.code());
    let wall = begun.elapsed();
    (keeping_secrets(Ran { stdout, stderr, code, wall }), wall)
}

pub(crate) async fn until_asked(server: &ModelServer) {
    until(|| !server.model_requests().is_empty(), "nothing was asked").await;
}

/// Waits for something that will happen.
pub(crate) async fn until(happened: impl Fn() -> bool, otherwise: &str) {
    let begun = Instant::now();
    while !happened() {
        assert!(begun.elapsed() < Duration::from_secs(20), "{otherwise}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
