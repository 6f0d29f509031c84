//! The whole way of a turn, in all three protocols.

use crate::stage::{MODES, Stage, told};
use hermes_testkit::{ModelServer, Move};
use hermes_types::OutcomeKind;
use serde_json::json;

#[tokio::test]
async fn a_turn_thinks_acts_and_answers() {
    for mode in MODES {
        let server = ModelServer::start([
            Move::say("Let me look.").call("read_file", json!({"path": "notes.txt"})).call("todo", json!({})),
            Move::say("").call("terminal", json!({"command": "echo done >> notes.txt && cat notes.txt"})),
            Move::say("Your notes say hello, and now also done."),
            Move::say("You are welcome."),
        ])
        .await;
        let stage = Stage::at(&server, mode).await;
        stage.write("notes.txt", "hello\n");
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "What do my notes say?").await;
        assert_eq!(outcome.text.as_deref(), Some("Your notes say hello, and now also done."), "{mode:?}");
        assert_eq!((outcome.kind(), outcome.iterations, outcome.api_calls), (OutcomeKind::Answered, 3, 3));
        assert_eq!(outcome.tool_calls, 3);
        assert_eq!(stage.read("notes.txt"), "hello\ndone\n");
        let outcome = stage.turn(&mut agent, "Thank you.").await;
        assert_eq!(outcome.text.as_deref(), Some("You are welcome."));

        // Another process goes on with the same words.
        server.extend([Move::say("Still here.")]);
        let mut again = stage.resume().await;
        let outcome = stage.turn(&mut again, "Are you there?").await;
        assert_eq!(outcome.text.as_deref(), Some("Still here."), "{:?}", told(&stage.on_disk(again.session()).await));
        server.finish();
    }
}
