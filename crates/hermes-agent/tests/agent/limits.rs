//! What a turn may spend: iterations, tokens, time and money, and what there is when they are used.

use crate::play::{Played, goes_on, play_with};
use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, Plan, Stage, in_memory, only, told};
use hermes_core::turn::budget::{Caps, Limits};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use hermes_types::{Event, Notice, OutcomeKind, StopReason, Usage, Usd};
use serde_json::{Value, json};
use std::time::Duration;

const LAST_WORD: &str = "user: The limit of steps for this turn is reached; no more tools can be called. Say now what was \
                         done, what you found, and what is left to do.";

fn iterations(most: u32) -> Plan {
    let mut plan = Plan::default();
    plan.settings.iterations = most;
    plan
}

fn limits(turn: Caps) -> Plan {
    let mut plan = Plan::default();
    plan.settings.limits = Limits { turn, ..Limits::default() };
    plan
}

fn look(n: u64) -> Move {
    Move::say("").call("look", json!({ "n": n }))
}

/// Whether this request lets the model call anything.
fn may_call(request: &Received) -> bool {
    let choice = &request.body.as_ref().unwrap()["tool_choice"];
    *choice != json!("none") && choice["type"] != json!("none")
}

fn may_call_all(played: &Played) -> Vec<bool> {
    played.requests.iter().map(may_call).collect()
}

#[tokio::test]
async fn the_last_word_is_one_question_without_tools() {
    for mode in MODES {
        let played = play_with(mode, iterations(2), [look(1), look(2), Move::say("Two looks, nothing found.")]).await;
        assert_eq!((played.text(), played.kind()), ("Two looks, nothing found.", OutcomeKind::Partial), "{mode:?}");
        assert_eq!(played.exit(), "max_iterations_reached(2/2)");
        assert_eq!((played.outcome.iterations, played.outcome.api_calls), (2, 3));
        assert_eq!(played.steps, ["look: Done", "look: Done", "last word"]);
        assert_eq!(played.history[5..], [LAST_WORD, "assistant: Two looks, nothing found."]);
        assert_eq!(may_call_all(&played), [true, true, false]);
    }
}

#[tokio::test]
async fn calls_beside_the_last_word_are_not_answered() {
    for mode in MODES {
        let played =
            play_with(mode, iterations(1), [look(1), Move::say("One more?").call("look", json!({"n": 2}))]).await;
        assert_eq!((played.text(), played.looked.len()), ("One more?", 1), "{mode:?}");
        assert_eq!(played.history.last().unwrap(), "assistant: One more?");
    }
}

#[tokio::test]
async fn a_last_word_that_is_silence_is_asked_for_once_more() {
    for mode in MODES {
        let played = play_with(mode, iterations(1), [look(1), look(2), Move::say("Nothing found.")]).await;
        assert_eq!((played.text(), played.looked.len()), ("Nothing found.", 1), "{mode:?}");
        let played = play_with(mode, iterations(1), [look(1), Move::say("\n"), look(2)]).await;
        assert_eq!(played.text(), "The limit of steps was reached before there was an answer.");
        assert_eq!(played.exit(), "max_iterations_reached(1/1)");
        assert_eq!(played.outcome.usage.unwrap().input, 300, "what was asked for in vain was paid for too");
        assert_eq!(may_call_all(&played), [true, false, false]);
    }
}

#[tokio::test]
async fn a_provider_that_is_gone_at_the_last_word_does_not_hide_the_limit() {
    for mode in MODES {
        let played = play_with(mode, iterations(1), [look(1), Move::status(400)]).await;
        assert_eq!(played.exit(), "max_iterations_reached(1/1)", "{mode:?}");
        assert_eq!(played.text(), "The limit of steps was reached before there was an answer.");
    }
}

/// Before a model is asked once more for its last word, what may be spent is looked at like before any other question.
#[tokio::test]
async fn a_last_word_that_is_silence_is_not_asked_for_again_with_an_empty_purse() {
    for mode in MODES {
        let mut plan = limits(Caps { tokens: Some(240), ..Caps::default() });
        plan.settings.iterations = 1;
        let played = play_with(mode, plan, [look(1), Move::say("\n")]).await;
        assert_eq!(played.text(), "The limit of steps was reached before there was an answer.", "{mode:?}");
        assert_eq!((played.exit().as_str(), played.outcome.api_calls), ("max_iterations_reached(1/1)", 2));
    }
}

/// The end of the iterations comes right behind a message of the loop: two in a row would be refused.
#[tokio::test]
async fn the_last_word_follows_whatever_was_said_last() {
    for mode in MODES {
        let cut = Move::say("One, ").stop(StopReason::Length);
        let played = play_with(mode, iterations(1), [cut, Move::say("two.")]).await;
        assert_eq!((played.text(), played.exit().as_str()), ("One, two.", "max_iterations_reached(1/1)"), "{mode:?}");
        let played = play_with(mode, iterations(1), [Move::say("\n"), Move::say("Sorry.")]).await;
        assert_eq!(played.history(), ["user: Go.", "assistant: (empty)", LAST_WORD, "assistant: Sorry."], "{mode:?}");
        let half = Move::say("").call("look", json!({"text": "too long to arrive"})).length_in_call();
        let played = play_with(mode, iterations(2), [look(1), half, Move::say("One look.")]).await;
        assert_eq!(played.history[3..], ["assistant: (empty)", LAST_WORD, "assistant: One look."], "{mode:?}");
    }
}

#[tokio::test]
async fn tokens_of_a_turn_are_counted_before_each_question() {
    for mode in MODES {
        let plan = limits(Caps { tokens: Some(200), ..Caps::default() });
        let played = play_with(mode, plan, [look(1), look(2)]).await;
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("budget_exhausted(budget.turn_tokens)", OutcomeKind::Partial)
        );
        assert_eq!(played.looked.len(), 2, "{mode:?}: what was paid for is used");
        let told = played.outcome.end.explanation().unwrap();
        assert_eq!(told, "the limit of 200 tokens for one turn is reached (240 used); budget.turn_tokens sets it");
    }
}

#[tokio::test]
async fn time_of_a_turn_runs_while_tools_work() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("").call("rests", json!({}))]).await;
        let stage = Stage::build(Plan {
            models: only(&server, mode),
            ..limits(Caps { time: Some(Duration::from_secs(30)), ..Caps::default() })
        })
        .await;
        let clock = stage.clock.clone();
        Puppet::doing("rests", move |arguments, _| {
            clock.advance(Duration::from_secs(31));
            async move { answer(&arguments) }
        })
        .on(&stage);
        let outcome = stage.turn(&mut stage.agent(), "Go.").await;
        assert_eq!(outcome.end.exit_reason(), "budget_exhausted(budget.turn_seconds)", "{mode:?}");
        goes_on(&stage, &server).await;
        server.finish();
    }
}

/// Nobody waits for a provider longer than the turn may take; what fits is waited for.
#[tokio::test]
async fn time_of_a_turn_is_not_spent_on_waiting_beyond_its_end() {
    for mode in MODES {
        let busy = |seconds: &str| Move::status(429).header("retry-after", seconds);
        let half_a_minute = || limits(Caps { time: Some(Duration::from_secs(30)), ..Caps::default() });
        let played = play_with(mode, half_a_minute(), [busy("29"), busy("5")]).await;
        assert_eq!((played.exit().as_str(), played.outcome.api_calls), ("api_error(rate_limit)", 2), "{mode:?}");
        let told = played.outcome.end.explanation().unwrap();
        assert!(told.contains("the time of the turn does not allow another try"), "{told}");
        let played = play_with(mode, half_a_minute(), [busy("20"), Move::say("Done.")]).await;
        assert_eq!(played.text(), "Done.", "{mode:?}");
    }
}

/// One protocol counts the prompt before it answers: an answer that broke off was not free.
#[tokio::test]
async fn an_answer_that_broke_off_is_paid_for() {
    let broken = Move::say("Half of the answer, and then nothing more.").chunk(4).cut_after(6);
    let server = ModelServer::start([broken, Move::say("All of it.")]).await;
    let stage = Stage::at(&server, ApiMode::AnthropicMessages).await;
    server.attach_clock(&stage.clock);
    let agent = &mut stage.agent();
    let outcome = stage.turn(agent, "Go.").await;
    assert_eq!((outcome.text.as_deref(), outcome.api_calls), (Some("All of it."), 2));
    assert_eq!(outcome.usage.map(|usage| usage.input), Some(200));
    assert_eq!(outcome.usage_of_all, outcome.usage);
    let books = hermes_core::store::Ledger::usage(&stage.store, Some(agent.session())).await.unwrap();
    assert_eq!(books.iter().map(|row| row.usage.input).collect::<Vec<_>>(), [200]);
    server.finish();
}

#[tokio::test]
async fn money_of_a_turn_is_what_the_provider_says_it_cost() {
    let cost = |dollars: f64| Usage { input: 10, output: 5, cost: Usd::from_f64(dollars), ..Usage::default() };
    let plan = limits(Caps { usd: Usd::from_f64(0.05), ..Caps::default() });
    let moves = [look(1).usage(cost(0.03)), look(2).usage(cost(0.02))];
    let played = play_with(ApiMode::ChatCompletions, plan, moves).await;
    assert_eq!(played.exit(), "budget_exhausted(budget.turn_usd)");
    assert_eq!(played.outcome.usage.unwrap().cost, Usd::from_f64(0.05));
}

/// Numbers without sense are the provider's; the turn, its record and its limits stand.
#[tokio::test]
async fn a_provider_that_counts_without_sense_is_survived() {
    for mode in MODES {
        let all = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        let played =
            play_with(mode, Plan::default(), [look(1).usage(all), look(2).usage(all), Move::say("Done.")]).await;
        assert_eq!((played.text(), played.outcome.not_kept.as_deref()), ("Done.", None), "{mode:?}");
        let plan = limits(Caps { tokens: Some(1_000_000), ..Caps::default() });
        let played = play_with(mode, plan, [look(1).usage(all)]).await;
        assert_eq!(played.exit(), "budget_exhausted(budget.turn_tokens)", "{mode:?}");
    }
}

#[tokio::test]
async fn a_price_nobody_knows_is_told_once() {
    for mode in MODES {
        let server = ModelServer::start([look(1), look(2), Move::say("Done.")]).await;
        let plan = limits(Caps { usd: Usd::from_f64(0.05), ..Caps::default() });
        let stage = Stage::build(Plan { models: only(&server, mode), ..plan }).await;
        Puppet::looking("look").on(&stage);
        let outcome = stage.turn(&mut stage.agent(), "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Done."), "{mode:?}: a limit that cannot be held stops nobody");
        let told = stage.events().into_iter().filter(
            |event| matches!(event, Event::Notice { notice: Notice::PriceUnknown { model } } if model == "stage-model"),
        );
        assert_eq!(told.count(), 1);
        server.finish();
    }
}

/// A question that this turn could not answer any more is given back instead of being left without an answer.
#[tokio::test]
async fn a_question_behind_the_last_iteration_is_for_the_next_turn() {
    for mode in MODES {
        let server = ModelServer::start([Move::say("Done.")]).await;
        let stage = Stage::build(Plan { models: only(&server, mode), ..iterations(1) }).await;
        let mut agent = stage.agent();
        agent.inbox().queue("And the other one?");
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.text.as_deref(), outcome.kind()), (Some("Done."), OutcomeKind::Answered), "{mode:?}");
        assert_eq!(outcome.undelivered, ["And the other one?"]);
        assert_eq!(told(&in_memory(&agent)), ["user: Go.", "assistant: Done."]);
        server.finish();
    }
}

/// A hundred iterations with every built-in tool on offer: no request changes a byte of the one before.
#[tokio::test]
async fn a_hundred_iterations_extend_one_prefix() {
    let story = async |mode: ApiMode| {
        let call = |n: u64| match n % 4 {
            0 => Move::say("Noted.")
                .call("todo", json!({"todos": [{"id": "1", "content": format!("step {n}"), "status": "pending"}]})),
            1 => Move::say("")
                .reasoning("Write it.")
                .call("write_file", json!({"path": format!("{n}.txt"), "content": "x\n"})),
            2 => Move::say("")
                .call("read_file", json!({"path": format!("{}.txt", n - 1)}))
                .call("look", json!({ "n": n })),
            _ => Move::say("").call("search_files", json!({"pattern": "x", "path": "."})),
        };
        let moves: Vec<Move> = (0..99).map(call).chain([Move::say("A hundred.")]).collect();
        let server = ModelServer::start(moves).await;
        let mut plan = Plan { models: only(&server, mode), ..iterations(100) };
        plan.settings.manner.live = false;
        let stage = Stage::build(plan).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let inbox = agent.inbox();
        inbox.steer("Be quick.");
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.text.as_deref(), outcome.iterations), (Some("A hundred."), 100), "{mode:?}");
        let requests = server.model_requests();
        assert_eq!(requests.len(), 100);
        let tools = |request: &Received| request.body.as_ref().unwrap()["tools"].as_array().map_or(0, Vec::len);
        let offered = stage.registry.describe().len();
        assert!(requests.iter().all(|request| tools(request) > 5 && tools(request) <= offered), "{mode:?}");
        assert_eq!(server.violations(), Vec::<String>::new(), "{mode:?}");
        goes_on(&stage, &server).await;
        server.finish();
    };
    let [chat, responses, anthropic] = MODES;
    tokio::join!(story(chat), story(responses), story(anthropic));
}

#[tokio::test]
async fn a_hundred_iterations_cost_what_they_say() {
    let moves: Vec<Move> = (0..9).map(look).chain([Move::say("Ten.")]).collect();
    let played = play_with(ApiMode::ChatCompletions, Plan::default(), moves).await;
    assert_eq!(played.outcome.usage.map(|usage| (usage.input, usage.output)), Some((1_000, 200)));
    assert_eq!(played.outcome.tool_calls, 9);
    assert_eq!(played.looked, (0..9).map(|n| json!({ "n": n })).collect::<Vec<Value>>());
}
