//! Turns that may not go on for ever: steps, tokens, dollars, seconds.

use super::*;
use hermes_types::{Usage, Usd};
use std::time::Duration;

/// A model that would go on for ever.
fn restless(last: Move) -> [Move; 3] {
    [run("echo one"), run("echo two"), last]
}

#[tokio::test]
async fn a_turn_without_steps_left_says_what_there_is() {
    let server = ModelServer::start(restless(Move::say("One and two are done, three is left."))).await;
    let ran = hermes(&home_at(&server), &["-z", "count", "--max-turns", "2"]).await;
    let message = "hermes -z: all 2 steps of the turn are used; this is what there is. \
                   `--max-turns N` or agent.max_turns allows more\n  to go on: hermes chat --resume ";
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), "One and two are done, three is left.\n"));
    let id = ran.stderr.strip_prefix(message).and_then(|rest| rest.strip_suffix(" -q \"go on\"\n"));
    assert!(id.is_some_and(is_session_id), "{}", ran.stderr);
    assert_eq!(server.model_requests()[2].json()["tool_choice"], "none", "the last question is one without tools");
    server.finish();
}

#[tokio::test]
async fn steps_are_a_setting_and_the_flag_beats_it() {
    let script = [&restless(Move::say("Two."))[..], &restless(Move::say("Three."))].concat();
    let server = ModelServer::start(script).await;
    let world = home_with(&server, "agent:\n  max_turns: 2\n");
    assert_eq!(hermes(&world, &["-z", "count to two"]).await.expect_code(1).stdout, "Two.\n");
    let ran = hermes(&world, &["-z", "count to three", "--max-turns", "3"]).await;
    assert_eq!(told(&ran), (Some(0), "Three.\n", ""));
    let wrong = hermes(&world, &["-z", "count", "--max-turns", "0"]).await.expect_code(2);
    assert!(wrong.stderr.contains("--max-turns"), "{}", wrong.stderr);
    server.finish();
}

#[tokio::test]
async fn what_may_be_spent_is_spent_and_no_more() {
    let usage = |cost| Usage { input: 100, output: 20, cost: Usd::from_f64(cost), ..Usage::default() };
    let dear = |cost| Move::say("Beginning.").call("terminal", json!({"command": "echo one"})).usage(usage(cost));
    let slow = dear(0.0).delay(Duration::from_millis(1100));
    for (limit, first, words) in [
        (
            "turn_tokens: 120",
            dear(0.0),
            "the limit of 120 tokens for one turn is reached (120 used); budget.turn_tokens",
        ),
        ("turn_usd: 0.5", dear(0.6), "the limit of $0.50 for one turn is reached ($0.60 used); budget.turn_usd"),
        ("turn_seconds: 1", slow, "the limit of 1 s for one turn is reached (1 s used); budget.turn_seconds"),
    ] {
        let server = ModelServer::start([first, Move::say("The end.").usage(usage(0.0))]).await;
        let world = home_with(&server, &format!("budget:\n  {limit}\n"));
        let ran = hermes(&world, &["-z", "go"]).await.expect_code(1);
        assert_eq!(ran.stdout, "Beginning.\n", "what was said is shown");
        assert!(ran.stderr.starts_with(&format!("hermes -z: {words} sets it\n")), "{limit}: {}", ran.stderr);
        // Another turn may spend as much again: the work goes on where it stopped.
        let id = named_session(&ran.stderr);
        assert_eq!(told(&hermes(&world, &["--resume", &id]).await), (Some(0), "The end.\n", ""), "{limit}");
        server.finish();
    }
}
