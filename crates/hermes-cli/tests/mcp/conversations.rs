//! What a model does with servers.

use super::*;
use hermes_testkit::{ModelServer, Move};
use serde_json::json;

/// Waits, as a model would that looks at something else first, until the server has told its tools after this start.
fn looks_around(world: &World, start: usize) -> Move {
    let listed = folder(world).join(format!("listed{start}"));
    let command = format!("until test -s {}; do sleep 0.05; done; sleep 0.3", listed.display());
    Move::say("").call("terminal", json!({"command": command}))
}

fn uses(tool: &str, arguments: &Value) -> Move {
    Move::say("").call("tool_call", json!({"name": format!("mcp__box__{tool}"), "arguments": arguments}))
}

#[tokio::test]
async fn a_model_uses_a_server_that_dies_and_goes_on_with_it() {
    let world = nowhere();
    let script = [
        looks_around(&world, 1),
        uses("echo", &json!({"text": "a text that is long enough for a frame"})),
        uses("die", &json!({})),
        looks_around(&world, 2),
        uses("bump", &json!({})),
        Move::say("Done."),
    ];
    let server = ModelServer::start(script).await;
    server.expect_key(KEY);
    let settings = format!("{}{}", settings(&server.base_url(), "chat_completions"), entry(&world));
    let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
    let ran = hermes(&world, &["-z", "use the box"]).await;
    assert_eq!(told(&ran), (Some(0), "Done.\n", ""));
    let echoed = last_result(&server, 2);
    assert!(echoed.starts_with("<untrusted_tool_result") && echoed.contains("long enough for a frame"), "{echoed}");
    let died = last_result(&server, 3);
    assert!(died.contains("look before you do it again"), "{died}");
    assert_eq!(unframed(&last_result(&server, 5))["result"], "2", "a new server counts on");
    for pid in lines(&world, "starts") {
        assert!(!lives(&pid), "nothing is left behind");
    }
    server.finish();
}

#[tokio::test]
async fn a_server_that_never_answers_keeps_no_question_waiting() {
    let world = nowhere();
    let started = format!("until test -s {}; do sleep 0.05; done", folder(&world).join("starts").display());
    let script = [
        Move::say("").call("terminal", json!({ "command": started })),
        uses("echo", &json!({"text": "hi"})),
        Move::say("Hello."),
    ];
    let server = ModelServer::start(script).await;
    server.expect_key(KEY);
    let mute = entry(&world).replace("plain", "mute");
    let settings = format!("{}{mute}mcp_discovery_timeout: 0.2\n", settings(&server.base_url(), "chat_completions"));
    let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
    let ran = hermes(&world, &["-z", "hi"]).await;
    assert_eq!(told(&ran), (Some(0), "Hello.\n", ""));
    assert!(ran.wall < std::time::Duration::from_secs(15), "{:?}", ran.wall);
    let away = last_result(&server, 2);
    assert!(away.contains("the MCP server box is not connected"), "{away}");
    for pid in lines(&world, "starts") {
        assert!(!lives(&pid), "nothing is left behind");
    }
    server.finish();
}

#[tokio::test]
async fn a_model_that_reaches_for_a_server_at_once_waits_for_it() {
    let first_moves = [
        (uses("echo", &json!({"text": "here already"})), "here already"),
        (Move::say("").call("tool_search", json!({"query": "echo"})), "mcp__box__echo"),
        (Move::say("").call("tool_search", json!({"query": ""})), "\"tools\":"),
    ];
    for (first, answer) in first_moves {
        let world = nowhere();
        let server = ModelServer::start([first, Move::say("Done.")]).await;
        server.expect_key(KEY);
        let entry = entry(&world);
        let settings =
            format!("{}{entry}mcp_discovery_timeout: 60\n", settings(&server.base_url(), "chat_completions"));
        let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
        let ran = hermes(&world, &["-z", "use the box"]).await;
        assert_eq!(told(&ran), (Some(0), "Done.\n", ""));
        let result = last_result(&server, 1);
        assert!(result.contains(answer) && !result.contains("not connected"), "{result}");
        server.finish();
    }
}

#[tokio::test]
async fn a_server_does_not_outlive_a_program_that_is_killed() {
    if !std::path::Path::new("/usr/bin/setpriv").exists() {
        eprintln!("passed over: the system cannot tie a program to another one");
        return;
    }
    let world = nowhere();
    let server = ModelServer::start([Move::silence()]).await;
    server.expect_key(KEY);
    let deaf = entry(&world).replace("plain", "deaf");
    let settings = format!("{}{deaf}", settings(&server.base_url(), "chat_completions"));
    let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
    let mut program = world.command(HERMES, &["-z", "hi"]).spawn().expect("the program");
    wait_until("the server started", || !lines(&world, "starts").is_empty()).await;
    let pid = lines(&world, "starts").remove(0);
    assert!(lives(&pid));
    program.kill().await.expect("killed");
    wait_until("the server ended", || !lives(&pid)).await;
}

async fn wait_until(what: &str, is: impl Fn() -> bool) {
    let waited = tokio::time::timeout(std::time::Duration::from_secs(30), async {
        while !is() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
    });
    assert!(waited.await.is_ok(), "{what}");
}
