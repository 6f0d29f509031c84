//! A conversation that is on disk: several hold it, or nobody does.

use crate::stage::{MODES, Stage, in_memory, told};
use hermes_testkit::{ModelServer, Move};

#[tokio::test]
async fn an_agent_hears_what_others_said_in_its_conversation_meanwhile() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("One."), Move::say("Two."), Move::say("Three.")]).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        stage.turn(&mut agent, "Count.").await;
        let mut other = stage.resume().await;
        stage.turn(&mut other, "Go on.").await;
        // The server would complain about a request that does not begin with all that was said.
        let outcome = stage.turn(&mut agent, "And on.").await;
        assert_eq!(outcome.text.as_deref(), Some("Three."));
        let whole = [
            "user: Count.",
            "assistant: One.",
            "user: Go on.",
            "assistant: Two.",
            "user: And on.",
            "assistant: Three.",
        ];
        assert_eq!(told(&in_memory(&agent)), whole, "{mode:?}");
        server.finish();
    }
}

#[tokio::test]
async fn an_agent_that_rests_holds_nothing_and_goes_on_with_the_same_bytes() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("One.").reasoning("easy"), Move::say("Two.")]).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        agent.rest();
        stage.turn(&mut agent, "Count.").await;
        agent.rest();
        assert_eq!(in_memory(&agent), []);
        let outcome = stage.turn(&mut agent, "Go on.").await;
        assert_eq!(outcome.text.as_deref(), Some("Two."));
        assert_eq!(told(&in_memory(&agent)), ["user: Count.", "assistant: One.", "user: Go on.", "assistant: Two."]);
        server.finish();
    }
}
