//! Programs that end in the middle of a pass: nothing is lost, nothing is there twice, one session is alive.

use super::*;
use futures_util::future::poll_fn;
use hermes_core::stop::Stop;
use hermes_core::turn::Asked;
use std::future::Future as _;
use std::task::Poll;

fn summary() -> Move {
    Move::say(SUMMARY).no_usage()
}

/// Runs a turn and drops it where it waits for the `nth` time behind the beginning of its first pass. Whether it came
/// that far.
async fn dropped_at(stage: &Stage, agent: &mut Agent, nth: usize) -> bool {
    let stop = Stop::new();
    let mut turn = Box::pin(agent.run_conversation(RULE, &stop));
    let mut waited = 0;
    poll_fn(|cx| {
        if turn.as_mut().poll(cx).is_ready() {
            return Poll::Ready(false);
        }
        waited += usize::from(stage.has_heard(|event| {
            matches!(event, Event::Notice { notice: Notice::Compressing { .. } })
        }));
        if waited > nth { Poll::Ready(true) } else { Poll::Pending }
    })
    .await
}

#[tokio::test]
async fn wherever_a_pass_is_cut_off_the_conversation_goes_on() {
    for in_place in [false, true] {
        let mut points = 0;
        for nth in 0..40 {
            let server = thinking_aloud(summary).await;
            let policy = Policy { in_place, ..Policy::default() };
            let stage = with_policy(&server, MODES[0], WINDOW, policy).await;
            let mut agent = stage.agent();
            let was_dropped = dropped_at(&stage, &mut agent, nth).await;
            drop(agent);
            if !was_dropped {
                break;
            }
            points += 1;
            let mut again = at_the_tip(&stage).await;
            let outcome = stage.turn(&mut again, Asked::GoOn).await;
            assert_eq!(outcome.text.as_deref(), Some("All is said."), "{in_place} {nth}: {:?}", outcome.end);
            assert_eq!(live(&stage).await, vec![again.session().clone()], "{in_place} {nth}");
            spoken_once(&stage, nth).await;
            drop(server.take_violations());
        }
        assert!(points > 5, "{points} points");
    }
}

/// Every step stands in the store, in the session where it was said, and every call has a result.
async fn spoken_once(stage: &Stage, nth: usize) {
    let mut said: Vec<String> = Vec::new();
    for one in stage.store.lineage(&SessionId::new(FIRST)).await.unwrap() {
        let rows = stage.store.messages(&one.id).await.unwrap();
        said.extend(rows.iter().map(|row| row.message.text()));
    }
    for step in 1..STEPS {
        assert!(said.iter().any(|text| text.starts_with(&format!("{step}: "))), "{nth}: step {step} is lost");
    }
    let tip = stage.store.tip(&SessionId::new(FIRST)).await.unwrap();
    let mut steps: Vec<String> = stage.on_disk(&tip).await.iter().map(Message::text).collect();
    steps.retain(|text| text.contains("I think about this."));
    let all = steps.len();
    steps.dedup();
    assert_eq!(steps.len(), all, "{nth}: nothing is there twice");
}
