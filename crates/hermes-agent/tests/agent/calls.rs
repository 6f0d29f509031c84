//! What the loop makes of calls: names that are wrong, arguments that were cut, the same twice, tools that fall.

use crate::play::{goes_on, play};
use crate::puppet::{Puppet, answer};
use crate::stage::{MODES, Plan, Stage, in_memory, told};
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_tools::tool::ToolError;
use hermes_types::{Message, OutcomeKind};
use serde_json::{Value, json};
use std::time::Duration;

fn calling(name: &str, arguments: Value) -> Move {
    Move::say("").call(name, arguments)
}

#[tokio::test]
async fn a_name_that_is_almost_right_is_understood() {
    for mode in MODES {
        let played = play(mode, [calling("Look_Tool", json!({"at": 1})), Move::say("Seen.")]).await;
        assert_eq!((played.text(), played.looked.as_slice()), ("Seen.", &[json!({"at": 1})][..]), "{mode:?}");
        assert_eq!(played.history[1], "assistant:  -> look", "the history knows the tool by its name");
    }
}

#[tokio::test]
async fn an_unknown_name_beside_a_known_one_costs_nobody_anything() {
    for mode in MODES {
        let mixed = || calling("launch_rocket", json!({})).call("look", json!({"at": 1}));
        let played = play(mode, [mixed(), mixed(), mixed(), mixed(), Move::say("Seen.")]).await;
        assert_eq!((played.text(), played.looked.len()), ("Seen.", 4), "{mode:?}: no strike is counted");
        let result: Value = serde_json::from_str(played.history[2].strip_prefix("launch_rocket: ").unwrap()).unwrap();
        assert_eq!(result["error"], "Unknown tool: launch_rocket");
        let there: Vec<&str> = result["available_tools"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert!(there.contains(&"look") && there.contains(&"terminal") && there.is_sorted(), "{there:?}");
        assert!(played.history[3].starts_with(r#"look: {"did":"#), "{:?}", played.history);
    }
}

#[tokio::test]
async fn three_replies_with_nothing_but_unknown_names_are_enough() {
    for mode in MODES {
        let unknown = || calling("launch_rocket", json!({})).call("land_rocket", json!({}));
        let played = play(mode, [unknown(), unknown(), unknown()]).await;
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("invalid_tool_name_exhausted", OutcomeKind::Partial),
            "{mode:?}"
        );
        assert_eq!(played.steps.iter().filter(|step| *step == "again: UnknownTool").count(), 3);
        assert_eq!(played.history.len(), 1 + 3 * 3, "each call has its result, the last ones too");
    }
}

#[tokio::test]
async fn a_call_that_was_cut_is_asked_for_again_with_more_room() {
    for mode in MODES {
        let cut = || calling("look", json!({"text": "a long text that does not fit"})).length_in_call();
        let played = play(mode, [cut(), cut(), calling("look", json!({"text": "short"})), Move::say("Done.")]).await;
        assert_eq!((played.text(), played.looked.as_slice()), ("Done.", &[json!({"text": "short"})][..]), "{mode:?}");
        assert_eq!(played.steps, ["again: CutCall", "again: CutCall", "look: Done"]);
        assert_eq!(played.history.len(), 4, "the cut ones left no trace");
    }
}

#[tokio::test]
async fn calls_that_never_arrive_whole_are_never_run() {
    let nonsense = ["{\"path\": \"x", "not json at all", "[1, 2", "{\"path\": }"];
    for (mode, raw) in MODES.into_iter().flat_map(|mode| nonsense.iter().map(move |raw| (mode, *raw))) {
        let broken = || Move::say("").call_raw("look", raw);
        let played = play(mode, [broken(), broken(), broken(), broken()]).await;
        assert_eq!(played.looked, Vec::<Value>::new(), "{mode:?}: {raw}");
        assert_eq!(
            (played.exit().as_str(), played.kind()),
            ("truncated_tool_call", OutcomeKind::Partial),
            "{mode:?}: {raw}"
        );
        assert_eq!(played.steps, ["again: CutCall"; 3], "asked twice again, told once");
        assert_eq!(played.history[1], "assistant: (empty)");
        assert!(played.history[2].contains("call of look did not arrive whole"), "{:?}", played.history);
    }
}

#[tokio::test]
async fn what_arrived_whole_runs_and_the_model_hears_of_the_rest() {
    for mode in MODES {
        let half = calling("look", json!({"at": 1})).call("look", json!({"at": "the very end of it"})).length_in_call();
        let played = play(mode, [half, Move::say("Seen.")]).await;
        assert_eq!((played.text(), played.looked.as_slice()), ("Seen.", &[json!({"at": 1})][..]), "{mode:?}");
        let note = "[Not run, because it did not arrive whole: look. Make that call again.]";
        assert!(played.history[2].ends_with(note), "{:?}", played.history);
    }
}

#[tokio::test]
async fn the_same_call_twice_in_one_reply_runs_once() {
    for mode in MODES {
        let twice =
            calling("look", json!({"a": 1, "b": 2})).call_raw("look", r#"{ "b": 2, "a": 1 }"#).call("look", json!({}));
        let played = play(mode, [twice, Move::say("Seen.")]).await;
        assert_eq!(played.looked.len(), 2, "{mode:?}: {:?}", played.looked);
        let results: Vec<bool> =
            played.history[2..5].iter().map(|line| line.contains("the same call stands")).collect();
        assert_eq!(results, [false, true, false], "in the order of the calls: {:?}", played.history);
    }
}

#[tokio::test]
async fn a_program_that_calls_tools_is_no_step_of_the_work() {
    for mode in MODES {
        let code = || calling("execute_code", json!({"code": "look()"}));
        let mixed = calling("execute_code", json!({"code": "1"})).call("look", json!({}));
        let server = ModelServer::start([code(), code(), mixed, Move::say("Done.")]).await;
        let mut plan = Plan { models: crate::stage::only(&server, mode), ..Plan::default() };
        plan.settings.iterations = 2;
        let stage = Stage::build(plan).await;
        Puppet::looking("look").on(&stage);
        Puppet::changing("execute_code").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.text.as_deref(), outcome.iterations, outcome.api_calls), (Some("Done."), 2, 4), "{mode:?}");
        server.finish();
    }
}

#[tokio::test]
async fn a_model_that_only_writes_programs_comes_to_an_end_too() {
    let code = (0..4).map(|n| calling("execute_code", json!({ "code": n })));
    let server = ModelServer::start(code.chain([Move::say("That was all.")]).collect::<Vec<_>>()).await;
    let mut plan = Plan { models: crate::stage::only(&server, ApiMode::ChatCompletions), ..Plan::default() };
    plan.settings.iterations = 2;
    let stage = Stage::build(plan).await;
    Puppet::changing("execute_code").on(&stage);
    let outcome = stage.turn(&mut stage.agent(), "Go.").await;
    assert_eq!(outcome.end.exit_reason(), "max_iterations_reached(2/2)");
    server.finish();
}

#[tokio::test]
async fn a_tool_that_cannot_go_on_ends_the_turn_and_leaves_no_call_open() {
    for mode in MODES {
        let batch = calling("look", json!({})).call("breaks", json!({})).call("look", json!({"at": 2}));
        let server = ModelServer::start([batch]).await;
        let stage = Stage::at(&server, mode).await;
        let look = Puppet::looking("look").on(&stage);
        Puppet::doing("breaks", |_, _| async { Err(ToolError::Abort("the disk is gone".into())) }).on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(
            (outcome.end.exit_reason().as_str(), outcome.kind()),
            ("tool_aborted", OutcomeKind::Failed),
            "{mode:?}"
        );
        assert_eq!(outcome.end.explanation().as_deref(), Some("the disk is gone"));
        assert_eq!(told(&in_memory(&agent)).len(), 5, "one result for each call");
        assert!(!look.ran().is_empty());
        goes_on(&stage, &server).await;
        server.finish();
    }
}

#[tokio::test]
async fn a_tool_that_panics_or_never_ends_is_a_result_and_the_turn_goes_on() {
    let story = async |mode: ApiMode| {
        let batch = calling("falls", json!({})).call("hangs", json!({})).call("look", json!({}));
        let server = ModelServer::start([batch, Move::say("Never mind.")]).await;
        let stage = Stage::at(&server, mode).await;
        let clock = stage.clock.clone();
        Puppet::looking("look").on(&stage);
        Puppet::doing("falls", |arguments, _| async move {
            assert!(arguments.is_null(), "it fell");
            answer(&arguments)
        })
        .on(&stage);
        Puppet::doing("hangs", move |_, _| {
            clock.advance(Duration::from_secs(60));
            std::future::pending()
        })
        .on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Never mind."), "{mode:?}");
        let history = told(&in_memory(&agent));
        assert!(history[2].contains("it fell"), "{history:?}");
        assert!(history[3].contains("hangs was stopped: it did not end within 20 s"), "{history:?}");
        assert!(history[4].contains("did"), "{history:?}");
        server.finish();
    };
    let [chat, responses, anthropic] = MODES;
    tokio::join!(story(chat), story(responses), story(anthropic));
}

/// Whatever an id looks like, a result carries the one that its call is known by.
#[tokio::test]
async fn results_stand_under_the_id_that_pairs_them() {
    for mode in MODES {
        let server = ModelServer::start([
            calling("look", json!({"n": 1})).id("call_7").call("look", json!({"n": 2})),
            calling("look", json!({"n": 3})).id("call_7"),
            Move::say("Done."),
        ])
        .await;
        let stage = Stage::at(&server, mode).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.text.as_deref(), Some("Done."), "{mode:?}: {:?}", outcome.end);
        let mut awaited = Vec::new();
        for message in in_memory(&agent) {
            match message {
                Message::Assistant(said) => {
                    awaited.extend(said.tool_calls.into_iter().map(|call| call.pairing_id().clone()))
                }
                Message::Tool(result) => assert_eq!(awaited.remove(0), result.tool_call_id),
                _ => {}
            }
        }
        goes_on(&stage, &server).await;
        server.finish();
    }
}

#[tokio::test]
async fn arguments_are_as_the_model_wrote_them_or_not_at_all() {
    for mode in MODES {
        let slips =
            [r#"{"a": True, "b": None,}"#, "```json\n{\"a\": true, \"b\": null}\n```", r#"{"a":true,"b":null}}"#];
        for slip in slips {
            let played = play(mode, [Move::say("").call_raw("look", slip), Move::say("Seen.")]).await;
            assert_eq!(played.looked, [json!({"a": true, "b": null})], "{mode:?}: {slip}");
        }
    }
}
