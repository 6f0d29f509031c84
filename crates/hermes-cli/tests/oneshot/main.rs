//! The first minute with the real program: one question, one answer, and everything that can go wrong in between.
//!
//! Each story starts `hermes` in a home of its own against a scripted server. Every run, whatever it is about, is searched
//! for the key: no output may ever show it.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod answers;
mod choice;
mod demo;
mod failures;
mod formats;
mod input;
mod interrupts;
mod kept;
mod terminal;

use hermes_testkit::{ModelServer, Ran, World};

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
const KEY: &str = "sk-rehearsal-0123456789abcdef";

/// An empty home on a machine where no model server runs.
fn nowhere() -> World {
    let world = World::new().env("HERMES_MANAGED_DIR", "/nonexistent");
    ["OLLAMA_HOST", "LM_BASE_URL", "VLLM_BASE_URL", "LLAMACPP_BASE_URL"]
        .iter()
        .fold(world, |world, name| world.env(name, "http://127.0.0.1:9/v1"))
}

/// A home whose only provider is this server.
fn home_at(server: &ModelServer) -> World {
    server.expect_key(KEY);
    nowhere().env("REHEARSAL_KEY", KEY).config(&settings(&server.base_url(), "chat_completions"))
}

fn settings(base_url: &str, api_mode: &str) -> String {
    format!(
        "model:\n  provider: custom:rehearsal\n  default: rehearsal-model\ncustom_providers:\n  - name: rehearsal\n    \
         base_url: {base_url}\n    key_env: REHEARSAL_KEY\n    api_mode: {api_mode}\n"
    )
}

async fn hermes(world: &World, arguments: &[&str]) -> Ran {
    keeping_secrets(world.run(HERMES, arguments).await)
}

/// A line of shell in which `$0` is the program.
async fn shell(world: &World, line: &str) -> Ran {
    keeping_secrets(world.run("/bin/sh", &["-c", line, HERMES]).await)
}

/// The program on a terminal of this many columns. What it prints, escapes and all, is in `stdout`.
async fn on_terminal(world: &World, columns: u16, arguments: &str) -> Ran {
    let line = format!("stty cols {columns} rows 24 -echo; exec {HERMES} {arguments}");
    keeping_secrets(world.run("script", &["-qec", &line, "/dev/null"]).await)
}

#[track_caller]
fn keeping_secrets(ran: Ran) -> Ran {
    for (name, text) in [("stdout", &ran.stdout), ("stderr", &ran.stderr)] {
        assert!(!text.contains(KEY), "{name} shows the key:\n{text}");
    }
    ran
}

/// Exit code, stdout, stderr.
fn told(ran: &Ran) -> (Option<i32>, &str, &str) {
    (ran.code, &ran.stdout, &ran.stderr)
}

/// What the model was asked, message by message.
fn asked(server: &ModelServer) -> Vec<serde_json::Value> {
    server.model_requests().iter().map(|request| request.json()["messages"].clone()).collect()
}

/// Session ids differ from run to run but not in their shape: `20260102_030405_0a1b2c`.
fn is_session_id(text: &str) -> bool {
    let shape = |(c, pattern): (char, char)| match pattern {
        '0' => c.is_ascii_digit(),
        'a' => c.is_ascii_hexdigit(),
        _ => c == pattern,
    };
    let pattern = "00000000_000000_aaaaaa";
    text.len() == pattern.len() && text.chars().zip(pattern.chars()).all(shape)
}
