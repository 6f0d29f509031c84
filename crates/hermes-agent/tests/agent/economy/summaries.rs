//! Who writes the summary, what it costs, and what happens when nobody does.

use super::*;
use futures_util::future::BoxFuture;
use hermes_agent::EngineName;
use hermes_core::context::{Material, Scribe, is_summary};
use hermes_core::prefix;
use hermes_core::stop::Stop;
use hermes_core::store::Ledger as _;
use hermes_core::turn::{End, Interrupted};
use hermes_types::{Assistant, Fault, FaultKind, Reply, RowState, Usage};

fn summary() -> Move {
    Move::say(SUMMARY).usage(Usage { input: 1_000, output: 50, ..Usage::default() })
}

/// The summary the conversation goes on with; the person's words are in it or before it.
async fn summary_at(stage: &Stage, session: &SessionId) -> Message {
    let history = stage.on_disk(session).await;
    assert!(history.iter().any(|message| matches!(message, Message::User(_)) && message.text().contains(RULE)));
    history.into_iter().find(is_summary).expect("a summary")
}

#[tokio::test]
async fn the_model_that_read_it_all_is_asked_at_the_end_of_it() {
    for mode in MODES {
        let server = thinking_aloud(summary).await;
        let stage = with_policy(&server, mode, WINDOW, Policy::default()).await;
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, RULE).await;
        assert_eq!(outcome.text.as_deref(), Some("All is said."), "{mode:?}: {:?}", outcome.end);
        let told = compressions(&stage.events());
        assert!(told.contains(&("threshold".into(), "summary".into())), "{mode:?}: {told:?}");
        assert!(summary_at(&stage, agent.session()).await.text().contains(SUMMARY), "{mode:?}");

        // The question is the conversation so far and one message more, so that it costs a cached prefix.
        let requests = server.model_requests();
        let asides: Vec<usize> = (0..requests.len()).filter(|at| asks_for_summary(&requests[*at])).collect();
        for at in &asides {
            assert!(prefix::extends(&requests[at - 1].raw, &requests[*at].raw), "{mode:?}: request {at}");
        }
        // What it cost is known by its name.
        let rows = stage.store.usage(None).await.unwrap();
        let paid = rows.iter().filter(|row| row.task == "compression").map(|row| row.calls).sum::<u64>();
        assert_eq!(paid, asides.len() as u64, "{mode:?}");
        assert!(outcome.usage.is_some_and(|usage| usage.output >= 50 * paid), "in the sums of the turn too");
        server.finish();
    }
}

/// Somebody who was chosen to write summaries.
struct Chosen(fn() -> BoxFuture<'static, Result<Reply, Fault>>);

impl Scribe for Chosen {
    fn summarise<'a>(&'a self, material: Material<'a>) -> BoxFuture<'a, Result<Reply, Fault>> {
        assert!(material.alone().contains("[USER]: ") || material.alone().contains("[ASSISTANT]: "));
        (self.0)()
    }
}

fn written() -> BoxFuture<'static, Result<Reply, Fault>> {
    let message = Assistant { content: Some("## Goal\nAs the chosen one sees it.".into()), ..Assistant::default() };
    Box::pin(std::future::ready(Ok(Reply { message, model: Some("small".into()), ..Reply::default() })))
}

fn refused() -> BoxFuture<'static, Result<Reply, Fault>> {
    Box::pin(std::future::ready(Err(Fault::new(FaultKind::RateLimit, "too many of you"))))
}

fn hanging() -> BoxFuture<'static, Result<Reply, Fault>> {
    Box::pin(std::future::pending())
}

async fn with_scribe(server: &ModelServer, scribe: Chosen) -> Stage {
    let mut stage = with_policy(server, MODES[0], WINDOW, Policy::default()).await;
    stage.kit.scribe = Some(Arc::new(scribe));
    stage
}

#[tokio::test]
async fn a_chosen_model_writes_it_instead() {
    let server = thinking_aloud(|| panic!("the main model is not asked")).await;
    let stage = with_scribe(&server, Chosen(written)).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert!(summary_at(&stage, agent.session()).await.text().contains("As the chosen one sees it."));
    let events = stage.events();
    let by = events.iter().find_map(|event| match event {
        Event::Compressed { model, .. } => model.clone(),
        _ => None,
    });
    assert_eq!((by.as_deref(), told_why(&events)), (Some("small"), vec![]));
    server.finish();
}

#[tokio::test]
async fn when_the_chosen_one_fails_the_main_model_writes_and_the_person_is_told() {
    let server = thinking_aloud(summary).await;
    let stage = with_scribe(&server, Chosen(refused)).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert!(summary_at(&stage, agent.session()).await.text().contains(SUMMARY));
    let told = told_why(&stage.events());
    assert!(
        told.iter().all(|why| why.contains("auxiliary.compression") && why.contains("too many of you")),
        "{told:?}"
    );
    assert!(!told.is_empty());
    server.finish();
}

#[tokio::test]
async fn a_summary_that_never_comes_can_be_interrupted_and_nothing_changed() {
    let server = thinking_aloud(summary).await;
    let mut stage = with_scribe(&server, Chosen(hanging)).await;
    let mut agent = stage.agent();
    let stop = Stop::new();
    let watch = async {
        stage.heard(|event| matches!(event, Event::Notice { notice: Notice::Compressing { .. } })).await;
        stop.stop();
    };
    let (outcome, ()) = tokio::join!(stage.turn_until(&mut agent, RULE, &stop), watch);
    assert_eq!(outcome.end, End::Interrupted(Interrupted::WhileAsking));
    assert_eq!((agent.session().as_str(), live(&stage).await), (FIRST, vec![SessionId::new(FIRST)]));
    drop(agent);
    stage.kit.scribe = None;
    let outcome = stage.turn(&mut at_the_tip(&stage).await, hermes_core::turn::Asked::GoOn).await;
    assert_eq!(outcome.text.as_deref(), Some("All is said."), "{:?}", outcome.end);
    server.finish();
}

#[tokio::test]
async fn without_any_model_it_is_put_together_from_the_messages_and_the_person_is_told() {
    for (summary, why) in
        [(Move::status(400) as Move, ""), (Move::say("").call("look", json!({"n": 0})), "wrote nothing")]
    {
        let server = thinking_aloud(move || summary.clone()).await;
        let stage = with_policy(&server, MODES[0], WINDOW, Policy::default()).await;
        let mut agent = stage.agent();
        assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
        let events = stage.events();
        assert!(
            compressions(&events).contains(&("threshold".into(), "fallback".into())),
            "{:?}",
            compressions(&events)
        );
        let told = told_why(&events);
        assert!(
            told.iter().any(|told| told.contains("without a summary by a model") && told.contains(why)),
            "{told:?}"
        );
        assert!(summary_at(&stage, agent.session()).await.text().contains("## Completed Actions"));
        server.finish();
    }
}

#[tokio::test]
async fn who_wants_no_makeshift_keeps_everything_and_is_told_once() {
    let server = thinking_aloud(|| Move::status(400)).await;
    let policy = Policy { abort_on_failure: true, ..Policy::default() };
    let stage = with_policy(&server, MODES[0], WINDOW, policy).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert_eq!(agent.session().as_str(), FIRST);
    let events = stage.events();
    let told = told_why(&events);
    let (first, rest) = told.split_first().expect("it is told");
    assert!(compressions(&events).is_empty() && first.starts_with("no summary could be made"), "{told:?}");
    assert!(rest.iter().all(|why| why.starts_with("the last summaries failed")) && rest.len() <= 5, "{told:?}");
    let asked = server.model_requests().iter().filter(|request| asks_for_summary(request)).count();
    assert_eq!(asked, 1, "and then they rest");
    server.finish();
}

#[tokio::test]
async fn switched_off_nothing_is_left_out() {
    let server = thinking_aloud(|| panic!("nobody asks")).await;
    let stage = with_policy(&server, MODES[0], WINDOW, Policy { enabled: false, ..Policy::default() }).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert_eq!((agent.session().as_str(), compressions(&stage.events())), (FIRST, vec![]));
    assert_eq!(agent.conversation().history().len(), 2 + 2 * STEPS);
    server.finish();
}

#[tokio::test]
async fn in_place_the_session_stays_and_keeps_what_was_left_out() {
    let server = thinking_aloud(summary).await;
    let stage = with_policy(&server, MODES[0], WINDOW, Policy { in_place: true, ..Policy::default() }).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert!(!compressions(&stage.events()).is_empty());
    assert_eq!((agent.session().as_str(), live(&stage).await.len()), (FIRST, 1));
    summary_at(&stage, agent.session()).await;
    let rows = stage.store.messages(&SessionId::new(FIRST)).await.unwrap();
    let spoken = |step: usize| rows.iter().any(|row| row.message.text().starts_with(&format!("{step}: ")));
    assert!((1..=STEPS).all(spoken), "every word is kept");
    assert!(rows.iter().any(|row| row.state != RowState::Live));
    server.finish();
}

#[tokio::test]
async fn the_other_engine_asks_nobody() {
    let server = thinking_aloud(|| panic!("nobody asks")).await;
    let mut stage = with_policy(&server, MODES[0], WINDOW, Policy::default()).await;
    stage.kit.settings.engine = EngineName::Truncator;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    let told = compressions(&stage.events());
    assert!(!told.is_empty() && told.iter().all(|(_, phase)| phase == "truncate"), "{told:?}");
    summary_at(&stage, agent.session()).await;
    server.finish();
}

/// The plan was made before everything that was left out, and another program still knows it.
#[tokio::test]
async fn the_plan_survives_passes_and_programs() {
    let mut step = 0;
    let server = ModelServer::directed(move |request| {
        if asks_for_summary(request) {
            return summary();
        }
        step += 1;
        match step {
            1 => {
                let todos = json!([{"id": "1", "content": "paint the fence", "status": "in_progress"}]);
                Move::say("").call("todo", json!({ "todos": todos })).no_usage()
            }
            2..=STEPS => aloud(step),
            _ => Move::say("All is said.").no_usage(),
        }
    })
    .await;
    let policy = Policy { protect_first: 0, ..Policy::default() };
    let stage = with_policy(&server, MODES[0], WINDOW, policy).await;
    let mut agent = stage.agent();
    assert_eq!(stage.turn(&mut agent, RULE).await.text.as_deref(), Some("All is said."));
    assert!(summary_at(&stage, agent.session()).await.text().contains("paint the fence"));
    drop(agent);
    let again = at_the_tip(&stage).await;
    assert!(again.desk().todo.reminder().is_some_and(|plan| plan.contains("paint the fence")));
    server.finish();
}

/// A session that was written with a larger window is made to fit before the first question.
#[tokio::test]
async fn a_long_session_is_made_to_fit_before_it_goes_on() {
    let large = thinking_aloud(|| panic!("there is room")).await;
    let mut stage = with_policy(&large, MODES[0], 1_000_000, Policy::default()).await;
    stage.turn(&mut stage.agent(), RULE).await;
    assert_eq!(compressions(&stage.events()), vec![]);
    large.finish();

    let small = ModelServer::directed(|request| match asks_for_summary(request) {
        true => summary(),
        false => Move::say("Still here.").no_usage(),
    })
    .await;
    let other = with_policy(&small, MODES[0], 40_000, Policy::default()).await;
    stage.kit.switchboard = other.kit.switchboard.clone();
    let mut agent = at_the_tip(&stage).await;
    let outcome = stage.turn(&mut agent, "Still there?").await;
    assert_eq!(outcome.text.as_deref(), Some("Still here."), "{:?}", outcome.end);
    let passes = compressions(&stage.events()).len();
    assert!((1..=3).contains(&passes), "{passes}");
    let last = agent.conversation().history().iter().rev().nth(1).map(|message| message.text());
    assert_eq!(last.as_deref(), Some("Still there?"));
    assert_eq!(live(&stage).await, vec![agent.session().clone()]);
    small.finish();
}

/// A question that fills the room by itself: told once, and not tried again before every question to the model.
#[tokio::test]
async fn what_cannot_be_made_shorter_is_told_once() {
    let looks = (0..6).map(|n| Move::say("").call("look", json!({ "n": n })).no_usage());
    let server = ModelServer::start(looks.chain([Move::say("All is said.").no_usage()]).collect::<Vec<_>>()).await;
    let stage = with_policy(&server, MODES[0], 40_000, Policy::default()).await;
    let question = format!("Look at this: {}", "a long list of things ".repeat(6_000));
    let outcome = stage.turn(&mut stage.agent(), question.as_str()).await;
    assert_eq!(outcome.text.as_deref(), Some("All is said."), "{:?}", outcome.end);
    assert_eq!(told_why(&stage.events()), ["its newest messages alone take up the room there is"]);
    server.finish();
}

/// A sub-agent keeps its own conversation short; that of its parent stays as it is.
#[tokio::test]
async fn sub_agents_make_their_own_conversations_shorter() {
    const TASK: &str = "Study the moon.";
    let (mut step, mut asked) = (0, 0);
    let server = ModelServer::directed(move |request| {
        let whole = String::from_utf8_lossy(&request.raw);
        match (asks_for_summary(request), whole.contains(RULE)) {
            (true, _) => summary(),
            (false, true) => {
                asked += 1;
                match asked {
                    1 => Move::say("").call("delegate_task", json!({ "goal": TASK })).no_usage(),
                    _ => Move::say("All is said.").no_usage(),
                }
            }
            (false, false) => {
                step += 1;
                if step <= STEPS { aloud(step) } else { Move::say("It is round.").no_usage() }
            }
        }
    })
    .await;
    let stage = with_policy(&server, MODES[0], WINDOW, Policy::default()).await;
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, RULE).await;
    assert_eq!((outcome.text.as_deref(), agent.session().as_str()), (Some("All is said."), FIRST), "{:?}", outcome.end);
    let results = stage.on_disk(agent.session()).await;
    assert!(results.iter().any(|message| message.text().contains("It is round.")), "its report arrived");
    let family = stage.store.lineage(&SessionId::new(FIRST)).await.unwrap();
    let mut shortened = 0;
    for one in family.iter().filter(|one| one.id.as_str() != FIRST) {
        let session = stage.store.session(&one.id).await.unwrap().unwrap();
        shortened += usize::from(session.end_reason == Some(EndReason::COMPRESSION));
    }
    assert!(shortened >= 1, "{family:?}");
    server.finish();
}

#[tokio::test]
async fn a_summary_that_uses_up_what_may_be_spent_is_the_last_thing_asked() {
    let server = thinking_aloud(summary).await;
    let mut stage = with_policy(&server, MODES[0], WINDOW, Policy::default()).await;
    // Nothing but the summary is counted by this provider.
    stage.kit.settings.limits.turn.tokens = Some(1_000);
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, RULE).await;
    assert!(matches!(outcome.end, End::OverBudget(_)), "{:?}", outcome.end);
    let requests = server.model_requests();
    assert_eq!(requests.iter().position(asks_for_summary), Some(requests.len() - 1));
}
