//! A recorded session is held again without a server: the same bytes, or a difference that says where.
//!
//! Every turn on a [`Stage`] is replayed behind it; these are the stories about replaying itself.

use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, PROMPT, Plan, Stage, only, with_spare};
use hermes_agent::replay::{Compared, How, Reason, Verdict, replay};
use hermes_agent::{Agent, Beginning};
use hermes_core::stop::Stop;
use hermes_core::store::{Sessions, Tape, Transcript};
use hermes_core::turn::{Asked, Inbox};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{BreakCause, Content, Message, Part, RowState, SessionId, StopReason, ToolDefinition};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn look(n: u64) -> Move {
    Move::say("").reasoning("Hm.").call("look", json!({ "n": n }))
}

async fn replayed(stage: &Stage, session: &SessionId, how: &How) -> Vec<Compared> {
    replay(&stage.store, session, how).await.unwrap()
}

/// The verdicts, in a word each.
fn verdicts(requests: &[Compared]) -> Vec<&'static str> {
    let word = |request: &Compared| match request.verdict {
        Verdict::Same => "same",
        Verdict::Different(_) => "different",
        Verdict::NotAsked => "not asked",
        Verdict::LeftOut(_) => "left out",
    };
    requests.iter().map(word).collect()
}

/// What would be sent now in place of a request.
fn now(request: &Compared) -> String {
    match &request.verdict {
        Verdict::Different(now) => String::from_utf8(now.to_vec()).unwrap(),
        other => panic!("request {} is not different: {other:?}", request.number),
    }
}

/// Thoughts, an image, tools, a fault, a cut answer, a word in between, silence, a queued question, a fallback, and
/// another program that goes on.
#[tokio::test]
async fn a_long_session_with_everything_that_happens_is_replayed_to_the_byte() {
    for mode in MODES {
        let server = ModelServer::start([
            look(1),
            Move::status(500),
            Move::say("Half of").stop(StopReason::Length),
            Move::say(" the answer."),
            Move::say("").call("work", json!({"n": 1})).call("look", json!({"n": 2})),
            Move::say(""),
            Move::say("Only the blue ones."),
            Move::say("Quite sure."),
            Move::status(500),
            Move::status(500),
            look(3),
            Move::say("Back again."),
        ])
        .await;
        let spare = ModelServer::start([Move::say("From the spare.")]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        Puppet::looking("look").on(&stage);
        let inbox: Arc<OnceLock<Arc<Inbox>>> = Arc::default();
        let held = inbox.clone();
        Puppet::doing("work", move |arguments, _| {
            held.get().unwrap().steer("Only the blue ones.");
            async move { answer(&arguments) }
        })
        .on(&stage);
        let mut agent = stage.agent();
        inbox.set(agent.inbox()).unwrap();
        let image = Content::Parts(vec![Part::of_text("What is this?"), Part::of_image(PIXEL)]);
        stage.turn(&mut agent, Asked::Question(Box::new(image.into()))).await;
        agent.inbox().queue("Are you sure?");
        assert_eq!(stage.turn(&mut agent, "Which colours?").await.text.as_deref(), Some("Quite sure."), "{mode:?}");
        assert_eq!(stage.turn(&mut agent, "And now?").await.text.as_deref(), Some("From the spare."));
        let session = agent.session().clone();
        drop(agent);
        let outcome = stage.turn(&mut stage.resume().await, "Go on.").await;
        assert_eq!(outcome.text.as_deref(), Some("Back again."), "{:?}", outcome.end);
        let requests = replayed(&stage, &session, &How::default()).await;
        let sent = server.model_requests().len() + spare.model_requests().len();
        assert_eq!(verdicts(&requests), vec!["same"; sent], "{mode:?}");
        assert_eq!(sent, 13);
        let first = replayed(&stage, &session, &How { until: Some(3), ..How::default() }).await;
        assert_eq!(first, requests[..3]);
        server.finish();
        spare.finish();
    }
}

/// A turn that was stopped while the model was asked, and what came behind it.
#[tokio::test]
async fn an_attempt_nobody_waited_for_is_played_as_one() {
    for mode in MODES {
        let server = ModelServer::start([look(1), Move::silence(), Move::say("Here.")]).await;
        let stage = Stage::build(Plan { models: only(&server, mode), real_time: true, ..Plan::default() }).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let stop = Stop::new();
        let stopping = async {
            while server.model_requests().len() < 2 {
                tokio::time::sleep(std::time::Duration::from_millis(5)).await;
            }
            stop.stop();
        };
        tokio::join!(stage.turn_until(&mut agent, "Go.", &stop), stopping);
        stage.turn(&mut agent, "Are you there?").await;
        let requests = replayed(&stage, agent.session(), &How::default()).await;
        assert_eq!(verdicts(&requests), ["same"; 3], "{mode:?}");
        server.finish();
    }
}

/// A session of one turn with one call, and its agent's id.
async fn told(stage: &Stage) -> SessionId {
    Puppet::looking("look").on(stage);
    let mut agent = stage.agent();
    stage.turn(&mut agent, "Go.").await;
    agent.session().clone()
}

#[tokio::test]
async fn another_prompt_is_a_difference_of_every_request() {
    for mode in MODES {
        let server = ModelServer::start([look(1), Move::say("Done.")]).await;
        let stage = Stage::at(&server, mode).await;
        let session = told(&stage).await;
        stage.store.set_prompt(&session, "You are on another stage.").await.unwrap();
        let requests = replayed(&stage, &session, &How::default()).await;
        assert_eq!(verdicts(&requests), ["different"; 2], "{mode:?}");
        for request in &requests {
            let then = String::from_utf8(request.body.to_vec()).unwrap();
            assert_eq!(
                without_cache_key(&then.replace(PROMPT, "You are on another stage.")),
                without_cache_key(&now(request))
            );
        }
        server.finish();
    }
}

/// The key that names a cache is made of what the cache begins with, so it moves with the prompt.
fn without_cache_key(body: &str) -> serde_json::Value {
    let mut body: serde_json::Value = serde_json::from_str(body).unwrap();
    body.as_object_mut().unwrap().remove("prompt_cache_key");
    body
}

#[tokio::test]
async fn another_description_of_a_tool_is_a_difference_of_every_request() {
    for mode in MODES {
        let server = ModelServer::start([look(1), Move::say("Done.")]).await;
        let stage = Stage::at(&server, mode).await;
        let session = told(&stage).await;
        let hands = hermes_tools::run::Hands::new(stage.registry.clone(), stage.names());
        let tools = stage.registry.shared(hands.definitions());
        let as_they_are = How { tools: Some(tools.clone()), ..How::default() };
        assert_eq!(verdicts(&replayed(&stage, &session, &as_they_are).await), ["same"; 2], "{mode:?}");
        let renamed = |tool: &ToolDefinition| match tool.name.as_str() {
            "look" => ToolDefinition { description: "Looks twice.".into(), ..tool.clone() },
            _ => tool.clone(),
        };
        let how = How { tools: Some(tools.iter().map(renamed).collect()), ..How::default() };
        let requests = replayed(&stage, &session, &how).await;
        assert_eq!(verdicts(&requests), ["different"; 2]);
        assert!(now(&requests[0]).contains("Looks twice."));
        server.finish();
    }
}

/// What is on disk is not what was sent: only the requests behind it differ.
#[tokio::test]
async fn a_message_that_changed_on_disk_is_a_difference_of_what_follows() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("Blue."), Move::say("Yes.")]).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        let session = agent.session().clone();
        stage.turn(&mut agent, "Which colour?").await;
        let last = stage.store.messages(&session).await.unwrap().pop().unwrap();
        let Message::Assistant(mut said) = last.message else { panic!("an answer is last") };
        (said.content, said.codex_message_items) = (Some("Green.".into()), None);
        stage.store.revise(&session, last.id, Message::Assistant(said).into()).await.unwrap();
        agent.run_conversation("Sure?", &Stop::new()).await;
        let requests = replayed(&stage, &session, &How::default()).await;
        assert_eq!(verdicts(&requests), ["same", "different"], "{mode:?}");
        assert!(now(&requests[1]).contains("Green.") && !now(&requests[1]).contains("Blue."));
        server.finish();
    }
}

#[tokio::test]
async fn what_cannot_be_held_again_is_named() {
    let server = ModelServer::start([Move::say("One."), Move::say("Two."), Move::say("Three.")]).await;
    let stage = Stage::at(&server, ApiMode::ChatCompletions).await;
    let mut agent = stage.agent();
    let session = agent.session().clone();
    assert_eq!(replayed_or_empty(&stage, &session).await, 0, "nothing was said yet");
    stage.turn(&mut agent, "First?").await;
    stage.turn(&mut agent, "Second?").await;
    let question = stage.store.messages(&session).await.unwrap().into_iter().nth(2).unwrap();
    stage.store.rewind(&session, question.id).await.unwrap();
    let requests = replayed(&stage, &session, &How::default()).await;
    assert_eq!(verdicts(&requests), ["same", "left out"]);
    assert_eq!(requests[1].verdict, Verdict::LeftOut(Reason::MessagesGone));
    let rows = stage.store.messages(&session).await.unwrap();
    assert_eq!(rows.iter().filter(|row| row.state == RowState::Live).count(), 2);
    let whispered =
        hermes_agent::Beginning { ephemeral: Some("Whisper.".into()), ..stage.beginning("20260102_030405_5ce4e1") };
    let mut agent = hermes_agent::Agent::begin(Arc::new(stage.kit.clone()), whispered);
    agent.run_conversation("Third?", &Stop::new()).await;
    let requests = replayed(&stage, agent.session(), &How::default()).await;
    assert_eq!(requests[0].verdict, Verdict::LeftOut(Reason::UnkeptWords));
    server.finish();
}

async fn replayed_or_empty(stage: &Stage, session: &SessionId) -> usize {
    replay(&stage.store, session, &How::default()).await.map_or(0, |requests| requests.len())
}

/// The causes in the ledger of breaks, in their order.
async fn causes(stage: &Stage, session: &SessionId) -> Vec<Option<BreakCause>> {
    stage.store.breaks(session).await.unwrap().into_iter().map(|broken| broken.cause).collect()
}

#[tokio::test]
async fn a_fallback_and_the_way_back_are_all_that_breaks_the_prefix() {
    for mode in MODES {
        let script = [look(1), Move::status(500), Move::status(500), look(3), Move::say("Back.")];
        let server = ModelServer::start(script).await;
        let spare = ModelServer::start([look(2), Move::say("From the spare.")]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        stage.turn(&mut agent, "Go.").await;
        assert_eq!(causes(&stage, agent.session()).await, [Some(BreakCause::Fallback)], "{mode:?}");
        stage.turn(&mut agent, "And now?").await;
        assert_eq!(causes(&stage, agent.session()).await, [Some(BreakCause::Fallback); 2]);
        server.finish();
        spare.finish();
    }
}

/// Going on in another program breaks nothing by itself, and is the cause where the model is another one there.
#[tokio::test]
async fn a_program_that_goes_on_with_another_model_is_named_as_the_cause() {
    let server =
        ModelServer::start([Move::status(500), Move::status(500), Move::say("Back."), Move::say("Still.")]).await;
    let spare = ModelServer::start([Move::say("From the spare.")]).await;
    let models = with_spare(&server, &spare, ApiMode::ChatCompletions);
    let stage = Stage::build(Plan { models, ..Plan::default() }).await;
    let mut agent = stage.agent();
    stage.turn(&mut agent, "Go.").await;
    let expected = [Some(BreakCause::Fallback), Some(BreakCause::Resume)];
    for question in ["And now?", "And then?"] {
        stage.turn(&mut stage.resume().await, question).await;
        assert_eq!(causes(&stage, agent.session()).await, expected, "{question}");
    }
    server.finish();
    spare.finish();
}

/// Tools come and go between two turns, never within one; the ledger of breaks says that it was them.
#[tokio::test]
async fn a_tool_that_came_between_two_turns_is_named_as_the_cause() {
    for mode in MODES {
        for rests in [false, true] {
            let script = [Move::say("One."), look(1), Move::say("Two."), Move::say("Three.")];
            let server = ModelServer::start(script).await;
            server.allow_prefix_break("a tool came");
            let stage = Stage::at(&server, mode).await;
            let tools: BTreeSet<String> = stage.names().into_iter().chain(["look".to_owned()]).collect();
            let beginning = Beginning { tools: tools.into(), ..stage.beginning("20260102_030405_5ce4e0") };
            let mut agent = Agent::begin(Arc::new(stage.kit.clone()), beginning);
            stage.turn(&mut agent, "Go.").await;
            Puppet::looking("look").on(&stage);
            for question in ["And now?", "And then?"] {
                if rests {
                    agent.rest();
                }
                stage.turn(&mut agent, question).await;
                let causes = causes(&stage, agent.session()).await;
                assert_eq!(causes, [Some(BreakCause::Tools)], "{mode:?}: {question}");
            }
            server.finish();
        }
    }
}

#[tokio::test]
async fn a_concession_is_all_that_breaks_the_prefix() {
    let refusal = Move::status(400).body(json!({"error": {"message": "this model does not support image input"}}));
    let server = ModelServer::start([look(1), refusal, look(2), Move::say("Done.")]).await;
    server.allow_prefix_break("the images are gone");
    let stage = Stage::at(&server, ApiMode::ChatCompletions).await;
    Puppet::looking("look").on(&stage);
    let mut agent = stage.agent();
    let image = Content::Parts(vec![Part::of_text("What is this?"), Part::of_image(PIXEL)]);
    let outcome = stage.turn(&mut agent, Asked::Question(Box::new(image.into()))).await;
    assert_eq!(outcome.text.as_deref(), Some("Done."), "{:?}", outcome.end);
    assert_eq!(causes(&stage, agent.session()).await, [Some(BreakCause::Concession)]);
    server.finish();
}

#[tokio::test]
async fn a_hundred_iterations_break_nothing_and_are_replayed() {
    for mode in MODES {
        let moves: Vec<Move> = (0..99).map(look).chain([Move::say("A hundred.")]).collect();
        let server = ModelServer::start(moves).await;
        let mut plan = Plan { models: only(&server, mode), ..Plan::default() };
        plan.settings.iterations = 100;
        let stage = Stage::build(plan).await;
        let session = told(&stage).await;
        assert_eq!(causes(&stage, &session).await, [], "{mode:?}");
        assert_eq!(verdicts(&replayed(&stage, &session, &How::default()).await), ["same"; 100]);
        server.finish();
    }
}
