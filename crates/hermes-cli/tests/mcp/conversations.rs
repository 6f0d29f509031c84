//! What a model does with servers.

use super::*;
use hermes_testkit::{ModelServer, Move};
use serde_json::json;

/// Waits, as a model would that looks at something else first, until the server has told its tools.
fn looks_around(world: &World) -> Move {
    let listed = folder(world).join("listed");
    let command = format!("until test -s {}; do sleep 0.05; done; sleep 0.3", listed.display());
    Move::say("").call("terminal", json!({"command": command}))
}

fn uses(tool: &str, arguments: &Value) -> Move {
    Move::say("").call("tool_call", json!({"name": format!("mcp__box__{tool}"), "arguments": arguments}))
}

/// The result of the newest call, as the model reads it in the request with this number.
fn last_result(server: &ModelServer, request: usize) -> String {
    let messages = asked(server).swap_remove(request);
    let last = messages.as_array().and_then(|all| all.last()).expect("a message").clone();
    last["content"].as_str().expect("text").to_owned()
}

#[tokio::test]
async fn a_model_uses_a_server_that_dies_and_goes_on_with_it() {
    let world = nowhere();
    let script = [
        looks_around(&world),
        uses("echo", &json!({"text": "a text that is long enough for a frame"})),
        uses("die", &json!({})),
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
    assert_eq!(unframed(&last_result(&server, 4))["result"], "2", "a new server counts on");
    for pid in lines(&world, "starts") {
        assert!(!lives(&pid), "nothing is left behind");
    }
    server.finish();
}

#[tokio::test]
async fn a_server_that_never_answers_keeps_no_question_waiting() {
    let world = nowhere();
    let server = ModelServer::start([Move::say("Hello.")]).await;
    server.expect_key(KEY);
    let mute = entry(&world).replace("plain", "mute");
    let settings = format!("{}{mute}", settings(&server.base_url(), "chat_completions"));
    let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
    let ran = hermes(&world, &["-z", "hi"]).await;
    assert_eq!(told(&ran), (Some(0), "Hello.\n", ""));
    assert!(ran.wall < std::time::Duration::from_secs(15), "{:?}", ran.wall);
    for pid in lines(&world, "starts") {
        assert!(!lives(&pid), "nothing is left behind");
    }
    server.finish();
}
