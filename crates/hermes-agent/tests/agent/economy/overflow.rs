//! Providers that find a conversation too long: it is made shorter and asked again, or somebody else is asked, or the
//! turn ends and says why.

use super::*;
use crate::stage::with_spare;
use hermes_core::turn::End;
use hermes_types::FaultKind;

/// Two ways to say that it is too much.
fn too_long() -> [(&'static str, Move); 2] {
    let error = json!({"error": {"message": "This model's maximum context length is exceeded.", "type": "invalid_request_error", "code": "context_length_exceeded"}});
    [("413", Move::status(413)), ("overflow", Move::status(400).body(error))]
}

/// A provider that takes so many bytes and no more, whatever window it has by name.
async fn narrow(most: usize, refusal: Move) -> ModelServer {
    let mut step = 0;
    ModelServer::directed(move |request| {
        if request.raw.len() > most {
            return refusal.clone();
        }
        if asks_for_summary(request) {
            return Move::say(SUMMARY).no_usage();
        }
        step += 1;
        if step <= STEPS { aloud(step) } else { Move::say("All is said.").no_usage() }
    })
    .await
}

#[tokio::test]
async fn what_was_too_long_is_made_shorter_and_asked_again() {
    for mode in MODES {
        for (name, refusal) in too_long() {
            let server = narrow(120_000, refusal).await;
            let stage = with_policy(&server, mode, 1_000_000, Policy::default()).await;
            let mut agent = stage.agent();
            let outcome = stage.turn(&mut agent, RULE).await;
            assert_eq!(outcome.text.as_deref(), Some("All is said."), "{mode:?} {name}: {:?}", outcome.end);
            let told = compressions(&stage.events());
            assert!(
                !told.is_empty() && told.iter().all(|(trigger, _)| trigger == "overflow"),
                "{mode:?} {name}: {told:?}"
            );
            // The part that is left out is shown to the model beside the conversation, which was too long.
            assert!(told.iter().any(|(_, phase)| phase == "summary"), "{mode:?} {name}: {told:?}");
            let history = stage.on_disk(agent.session()).await;
            assert!(history.iter().any(|message| message.text() == RULE), "{mode:?} {name}");
            assert_eq!(live(&stage).await, vec![agent.session().clone()]);
            server.finish();
        }
    }
}

/// No model is asked where leaving out old results is enough.
#[tokio::test]
async fn old_results_go_first() {
    let mut step = 0;
    let server = ModelServer::directed(move |request| {
        assert!(!asks_for_summary(request), "pruning suffices");
        if request.raw.len() > 60_000 {
            return Move::status(413);
        }
        step += 1;
        if step <= STEPS { reading(step) } else { Move::say("All is said.").no_usage() }
    })
    .await;
    let stage = stage(&server, MODES[0], 1_000_000).await;
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, RULE).await;
    assert_eq!(outcome.text.as_deref(), Some("All is said."), "{:?}", outcome.end);
    let told = compressions(&stage.events());
    assert!(!told.is_empty() && told.iter().all(|one| *one == ("overflow".into(), "prune".into())), "{told:?}");
    server.finish();
}

#[tokio::test]
async fn when_nothing_helps_somebody_else_is_asked() {
    for mode in MODES {
        for (name, refusal) in too_long() {
            let server = narrow(0, refusal).await;
            let spare = ModelServer::start([Move::say("There is room here.")]).await;
            let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
            let outcome = stage.turn(&mut stage.agent(), RULE).await;
            assert_eq!(outcome.text.as_deref(), Some("There is room here."), "{mode:?} {name}: {:?}", outcome.end);
            assert_eq!(told_why(&stage.events()).len(), 1, "why it stayed as long as it was");
            server.finish();
            spare.finish();
        }
    }
}

#[tokio::test]
async fn when_there_is_nobody_else_the_turn_says_so() {
    for (name, refusal) in too_long() {
        let server = narrow(0, refusal).await;
        let stage = with_policy(&server, MODES[0], 1_000_000, Policy::default()).await;
        let outcome = stage.turn(&mut stage.agent(), RULE).await;
        let kind = match &outcome.end {
            End::Unanswered(fault) => fault.kind,
            other => panic!("{name}: {other:?}"),
        };
        assert!(matches!(kind, FaultKind::ContextOverflow | FaultKind::PayloadTooLarge), "{name}: {kind:?}");
        assert_eq!(outcome.kind(), OutcomeKind::Failed);
        assert!(server.model_requests().len() <= 8, "{name}: {} requests", server.model_requests().len());
        server.finish();
    }
}
