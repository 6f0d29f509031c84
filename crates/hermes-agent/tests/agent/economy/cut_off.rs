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

/// Runs a turn and drops it where it waits for the `nth` time in its first pass. Whether the pass lasted that long.
async fn dropped_at(stage: &Stage, agent: &mut Agent, nth: usize) -> bool {
    let stop = Stop::new();
    let mut turn = Box::pin(agent.run_conversation(RULE, &stop));
    let mut waited = 0;
    poll_fn(|cx| {
        let is_over = turn.as_mut().poll(cx).is_ready();
        if is_over || stage.has_heard(|event| matches!(event, Event::Compressed { .. })) {
            return Poll::Ready(false);
        }
        let is_passing = |event: &Event| matches!(event, Event::Notice { notice: Notice::Compressing { .. } });
        waited += usize::from(stage.has_heard(is_passing));
        if waited > nth { Poll::Ready(true) } else { Poll::Pending }
    })
    .await
}

/// What was said in any session of the conversation.
async fn on_record(stage: &Stage) -> Vec<String> {
    let mut said = Vec::new();
    for one in stage.store.lineage(&SessionId::new(FIRST)).await.unwrap() {
        said.extend(stage.store.messages(&one.id).await.unwrap().into_iter().map(|row| row.message.text()));
    }
    said
}

#[tokio::test]
async fn wherever_a_pass_is_cut_off_the_conversation_goes_on() {
    for in_place in [false, true] {
        let mut points = 0;
        // Every third wait, another one for each way to go on.
        for nth in (usize::from(in_place)..60).step_by(3) {
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
            let said = on_record(&stage).await;
            let mut again = at_the_tip(&stage).await;
            // Replaying what happened takes longer than the turn, so that only some are.
            let outcome = match points % 4 {
                0 => stage.turn(&mut again, Asked::GoOn).await,
                _ => again.run_conversation(Asked::GoOn, &Stop::new()).await,
            };
            assert_eq!(outcome.text.as_deref(), Some("All is said."), "{in_place} {nth}: {:?}", outcome.end);
            assert_eq!(live(&stage).await, vec![again.session().clone()], "{in_place} {nth}");
            let kept = on_record(&stage).await;
            assert!(said.iter().all(|text| kept.contains(text)), "{in_place} {nth}: nothing is lost");
            spoken_once(&stage, nth).await;
            drop(server.take_violations());
        }
        assert!(points > 3, "{points} points");
    }
}

/// No step stands twice in the conversation as it goes on.
async fn spoken_once(stage: &Stage, nth: usize) {
    let tip = stage.store.tip(&SessionId::new(FIRST)).await.unwrap();
    let mut steps: Vec<String> = stage.on_disk(&tip).await.iter().map(Message::text).collect();
    steps.retain(|text| text.contains("I think about this."));
    let all = steps.len();
    steps.sort();
    steps.dedup();
    assert_eq!(steps.len(), all, "{nth}: nothing is there twice");
}
