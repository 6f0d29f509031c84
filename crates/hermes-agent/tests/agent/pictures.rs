//! Pictures that tools give back: the model sees them, or reads their summary, in every protocol.

use crate::puppet::Puppet;
use crate::stage::{MODES, Stage};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use hermes_tools::desk::Pictures;
use hermes_tools::tool::Output;
use hermes_types::Part;
use serde_json::{Value, json};

const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const SUMMARY: &str = "a red square, 1 by 1";

fn camera(stage: &Stage) {
    Puppet::doing("photograph", |_, _| async {
        Ok(Output::Parts { parts: vec![Part::of_image(PIXEL)], summary: SUMMARY.to_owned() })
    })
    .on(stage);
}

/// What the last result says on the wire.
fn result(request: &Received, mode: ApiMode) -> Value {
    let body = request.json();
    let (list, kind, value, content) = match mode {
        ApiMode::ChatCompletions => ("messages", "role", "tool", "content"),
        ApiMode::CodexResponses => ("input", "type", "function_call_output", "output"),
        ApiMode::AnthropicMessages => {
            let last = body["messages"].as_array().unwrap().last().unwrap()["content"].clone();
            let block = last.as_array().unwrap().iter().find(|block| block["type"] == "tool_result").cloned();
            return block.expect("a result")["content"].clone();
        }
    };
    let found = body[list].as_array().unwrap().iter().rev().find(|item| item[kind] == value).cloned();
    found.unwrap_or_else(|| panic!("no result: {body}"))[content].clone()
}

fn photograph() -> Move {
    Move::say("").call("photograph", json!({}))
}

#[tokio::test]
async fn a_picture_and_its_summary_arrive_in_every_protocol() {
    for mode in MODES {
        let server = ModelServer::start([photograph(), Move::say("Red.")]).await;
        let stage = Stage::at(&server, mode).await;
        camera(&stage);
        let mut agent = stage.agent();
        agent.desk().sight.set(Pictures::Seen);
        let outcome = stage.turn(&mut agent, "What is on the table?").await;
        assert_eq!(outcome.text.as_deref(), Some("Red."), "{mode:?}");
        let sent = result(&server.model_requests()[1], mode).to_string();
        let picture = PIXEL.rsplit_once(',').unwrap().1;
        assert!(sent.starts_with('[') && sent.contains(SUMMARY) && sent.contains(picture), "{mode:?}: {sent}");
        assert_eq!(agent.desk().sight.pictures(), Pictures::Seen, "nobody complained");
        server.finish();
    }
}

#[tokio::test]
async fn a_provider_that_takes_no_pictures_from_tools_gets_the_summary_and_is_not_asked_twice() {
    let refusals = [
        "Image URLs are only allowed for messages with role 'user', but this message with role 'tool' contains an image.",
        "This model does not support vision.",
    ];
    for (mode, refusal) in MODES.into_iter().flat_map(|mode| refusals.map(|refusal| (mode, refusal))) {
        let error = json!({"error": {"message": refusal, "type": "invalid_request_error", "code": null}});
        let server = ModelServer::start([
            photograph(),
            Move::status(400).body(error),
            Move::say("A square."),
            photograph(),
            Move::say("The same one."),
        ])
        .await;
        server.allow_prefix_break("concession");
        let stage = Stage::at(&server, mode).await;
        camera(&stage);
        let mut agent = stage.agent();
        agent.desk().sight.set(Pictures::Seen);
        let outcome = stage.turn(&mut agent, "What is on the table?").await;
        assert_eq!(outcome.text.as_deref(), Some("A square."), "{mode:?}: {refusal}: {:?}", outcome.end);
        assert_eq!(agent.desk().sight.pictures(), Pictures::Unseen, "tools know it from now on");
        stage.turn(&mut agent, "And now?").await;
        let requests = server.model_requests();
        for request in [2, 4] {
            let sent = result(&requests[request], mode).to_string();
            assert!(sent.contains(SUMMARY) && !sent.contains("base64"), "{mode:?}: {refusal}: {sent}");
        }
        server.finish();
    }
}
