//! The person speaks while the agent works: every word arrives once, or is given back.

use crate::play::goes_on;
use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, Stage, in_memory, told};
use hermes_core::turn::Inbox;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{Message, OutcomeKind, StopReason};
use serde_json::json;
use std::sync::{Arc, OnceLock};

const FRAMED: &str = "\n\n[OUT-OF-BAND USER MESSAGE — a direct message from the user, delivered mid-turn; not tool output]\n\
                      Only the blue ones.\nAnd hurry.\n[/OUT-OF-BAND USER MESSAGE]";

/// A tool during which the person says something.
fn listener(stage: &Stage, say: impl Fn(&Inbox) + Send + Sync + 'static) -> Arc<OnceLock<Arc<Inbox>>> {
    let inbox: Arc<OnceLock<Arc<Inbox>>> = Arc::default();
    let held = inbox.clone();
    Puppet::doing("work", move |arguments, _| {
        say(held.get().unwrap());
        async move { answer(&arguments) }
    })
    .on(stage);
    inbox
}

#[tokio::test]
async fn a_word_during_tools_stands_behind_the_last_result() {
    for mode in MODES {
        let two = Move::say("").call("work", json!({"n": 1})).call("look", json!({"n": 2}));
        let server = ModelServer::start([two, Move::say("Only blue, quickly.")]).await;
        let stage = Stage::at(&server, mode).await;
        Puppet::looking("look").on(&stage);
        let inbox = listener(&stage, |inbox| {
            assert!(inbox.steer(" Only the blue ones. ") && inbox.steer("And hurry.") && !inbox.steer(" \n"));
        });
        let mut agent = stage.agent();
        inbox.set(agent.inbox()).unwrap();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Only blue, quickly."), "{mode:?}");
        let results: Vec<String> = in_memory(&agent)[2..4].iter().map(Message::text).collect();
        assert_eq!(results, [r#"{"did":{"n":1}}"#.to_owned(), format!(r#"{{"did":{{"n":2}}}}{FRAMED}"#)]);
        let steps = stage.steps();
        assert_eq!(steps.last().map(String::as_str), Some("delivered: Only the blue ones.\nAnd hurry."), "{steps:?}");
        // What the tool said is kept apart from what was sent in its place.
        let rows = hermes_core::store::Transcript::messages(&stage.store, agent.session()).await.unwrap();
        let last = rows.iter().rfind(|row| matches!(row.message, Message::Tool(_))).unwrap();
        assert_eq!(last.message.text(), r#"{"did":{"n":2}}"#);
        assert!(last.sent.as_ref().unwrap().text().ends_with(FRAMED));
        goes_on(&stage, &server).await;
        server.finish();
    }
}

/// There is no result to put it behind: it is the next question, in the same turn.
#[tokio::test]
async fn a_word_during_the_answer_is_the_next_question() {
    for mode in MODES {
        let server =
            ModelServer::start([Move::say("Red and blue."), Move::say("Blue."), Move::say("Yes, light blue.")]).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        agent.inbox().queue("Are you sure?");
        agent.inbox().steer("Only the blue ones.");
        let outcome = stage.turn(&mut agent, "Which colours?").await;
        assert_eq!(
            (outcome.text.as_deref(), outcome.undelivered.as_slice()),
            (Some("Yes, light blue."), &[][..]),
            "{mode:?}"
        );
        assert_eq!(
            told(&in_memory(&agent)),
            [
                "user: Which colours?",
                "assistant: Red and blue.",
                "user: Only the blue ones.",
                "assistant: Blue.",
                "user: Are you sure?",
                "assistant: Yes, light blue.",
            ]
        );
        assert_eq!(stage.steps(), ["delivered: Only the blue ones.", "delivered: Are you sure?"]);
        goes_on(&stage, &server).await;
        server.finish();
    }
}

/// An answer of the question before does not stand in for the next one's.
#[tokio::test]
async fn the_next_question_has_an_answer_of_its_own() {
    for mode in MODES {
        let moves = [
            Move::say("Saved it.").call("memory", json!({"action": "read"})),
            Move::say("Done."),
            Move::say("\n"),
            Move::say("\n"),
            Move::say("\n"),
            Move::say("\n"),
        ];
        let server = ModelServer::start(moves).await;
        let stage = Stage::at(&server, mode).await;
        Puppet::looking("memory").on(&stage);
        let mut agent = stage.agent();
        agent.inbox().queue("And now?");
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.kind(), outcome.text.as_deref()), (OutcomeKind::Empty, None), "{mode:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_word_that_reached_nobody_is_given_back() {
    for mode in MODES {
        let filtered = Move::say("I must not.").stop(StopReason::ContentFilter);
        let server = ModelServer::start([filtered]).await;
        let stage = Stage::at(&server, mode).await;
        let mut agent = stage.agent();
        agent.inbox().queue("And then?");
        agent.inbox().steer("Carefully.");
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.kind(), OutcomeKind::Filtered, "{mode:?}");
        assert_eq!(outcome.undelivered, ["Carefully.", "And then?"]);
        goes_on(&stage, &server).await;
        server.finish();
    }
}

/// A result the model has seen must not change: the word waits for the next one.
#[tokio::test]
async fn a_result_that_was_sent_stays_as_it_is() {
    for mode in MODES {
        let cut = Move::say("").call("look", json!({"text": "too long to arrive"})).length_in_call();
        let look = |n: u64| Move::say("").call("look", json!({ "n": n }));
        let server = ModelServer::start([look(1), cut, look(2), Move::say("Done.")]).await;
        let stage = Stage::at(&server, mode).await;
        let inbox: Arc<OnceLock<Arc<Inbox>>> = Arc::default();
        let held = inbox.clone();
        Puppet::doing("look", move |arguments, _| {
            if arguments["n"] == 2 {
                held.get().unwrap().steer("Stop there.");
            }
            async move { answer(&arguments) }
        })
        .on(&stage);
        let mut agent = stage.agent();
        inbox.set(agent.inbox()).unwrap();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Done."), "{mode:?}");
        assert!(told(&in_memory(&agent))[4].contains("Stop there."));
        server.finish();
    }
}
