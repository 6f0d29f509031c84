//! A conversation that is on disk: several hold it, or nobody does.

use crate::stage::{MODES, Stage, in_memory, told};
use hermes_core::stop::Stop;
use hermes_core::store::{Tape as _, Transcript as _};
use hermes_testkit::{ModelServer, Move};
use hermes_types::BreakCause;

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

/// What the person took back elsewhere is not said to the model any more, and the break that it makes has its name.
#[tokio::test]
async fn an_agent_hears_that_others_took_back_what_was_said() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("One."), Move::say("Two."), Move::say("Three.")]).await;
        server.allow_prefix_break("the person took something back");
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        stage.turn(&mut agent, "Count.").await;
        stage.turn(&mut agent, "Go on.").await;
        let rows = stage.store.messages(agent.session()).await.unwrap();
        stage.store.rewind(agent.session(), rows[2].id).await.unwrap();
        let outcome = agent.run_conversation("And on.", &Stop::new()).await;
        assert_eq!(outcome.text.as_deref(), Some("Three."), "{mode:?}");
        let whole = ["user: Count.", "assistant: One.", "user: And on.", "assistant: Three."];
        assert_eq!(told(&in_memory(&agent)), whole, "{mode:?}");
        assert_eq!(told(&stage.on_disk(agent.session()).await), whole, "{mode:?}");
        let breaks = stage.store.breaks(agent.session()).await.unwrap();
        let causes: Vec<Option<BreakCause>> = breaks.into_iter().map(|one| one.cause).collect();
        assert_eq!(causes, [Some(BreakCause::UserEdit)], "{mode:?}");
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
