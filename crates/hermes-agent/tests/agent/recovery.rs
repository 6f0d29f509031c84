//! Providers that fail in the middle of a turn: what was done stays done, what can be tried is tried, and what is left is
//! said as it is.

use crate::play::{goes_on, play};
use crate::puppet::Puppet;
use crate::reroute::Rerouted;
use crate::stage::{MODES, Plan, Stage, in_memory, told, with_spare};
use hermes_core::turn::{Asked, End};
use hermes_testkit::{ModelServer, Move, OAuthServer, START, Vendor, jwt};
use hermes_types::{Event, FaultKind, Notice, OutcomeKind};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn look(n: u64) -> Move {
    Move::say("").call("look", json!({ "n": n }))
}

#[tokio::test]
async fn a_provider_that_is_down_from_the_first_question_on() {
    for mode in MODES {
        let played = play(mode, [Move::status(500), Move::status(503), Move::status(500)]).await;
        assert_eq!(played.kind(), OutcomeKind::Failed, "{mode:?}");
        assert!(matches!(&played.outcome.end, End::Unanswered(fault) if fault.kind == FaultKind::ServerError));
        assert_eq!((played.exit().as_str(), played.outcome.api_calls), ("api_error(server_error)", 3));
        assert_eq!((played.history(), played.outcome.text.as_deref()), (vec!["user: Go."], None));
        assert_eq!(played.steps.len(), 2, "{:?}", played.steps);
    }
}

/// Everything that was done before is on disk, and the turn can be taken up again once the provider is back.
#[tokio::test]
async fn a_provider_that_goes_down_after_the_work() {
    for mode in MODES {
        let down = [Move::status(500), Move::status(500), Move::status(500)];
        let server = ModelServer::start([look(1)].into_iter().chain(down).collect::<Vec<_>>()).await;
        let stage = Stage::at(&server, mode).await;
        let looked = Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.kind(), outcome.iterations, outcome.api_calls), (OutcomeKind::Failed, 2, 4), "{mode:?}");
        server.extend([Move::say("One look.")]);
        let outcome = stage.turn(&mut stage.resume().await, Asked::GoOn).await;
        assert_eq!((outcome.text.as_deref(), looked.ran().len()), (Some("One look."), 1), "{mode:?}");
        goes_on(&stage, &server).await;
        server.finish();
    }
}

#[tokio::test]
async fn a_storm_of_limits_is_waited_out() {
    for mode in MODES {
        let busy = || Move::status(429).header("retry-after", "7");
        let moves = [look(1), busy(), look(2), busy(), busy(), look(3), busy(), Move::say("Three looks.")];
        let server = ModelServer::start(moves).await;
        let stage = Stage::at(&server, mode).await;
        let looked = Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!((outcome.text.as_deref(), looked.ran().len()), (Some("Three looks."), 3), "{mode:?}");
        assert_eq!((outcome.iterations, outcome.api_calls), (4, 8));
        assert_eq!(stage.clock.pauses(), [Duration::from_secs(7); 4]);
        server.finish();
    }
}

/// Fallback lasts a turn: the next one begins with the person's choice, unless that asked for a rest.
#[tokio::test]
async fn the_next_provider_steps_in_and_steps_back() {
    for mode in MODES {
        let server =
            ModelServer::start([look(1), Move::status(500), Move::status(500), Move::say("Back again.")]).await;
        let spare = ModelServer::start([look(2), Move::say("From the spare.")]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        let looked = Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(
            (outcome.text.as_deref(), outcome.provider.as_deref()),
            (Some("From the spare."), Some("custom:spare")),
            "{mode:?}"
        );
        assert_eq!(looked.ran().len(), 2, "nothing is done twice because somebody else goes on");
        let outcome = stage.turn(&mut agent, "And now?").await;
        assert_eq!((outcome.text.as_deref(), outcome.provider.as_deref()), (Some("Back again."), Some("custom:stage")));
        goes_on(&stage, &server).await;
        server.finish();
        spare.finish();
    }
}

#[tokio::test]
async fn a_choice_that_asked_for_a_rest_is_left_alone_for_it() {
    for mode in MODES {
        let busy = || Move::status(429).header("retry-after", "300");
        let server = ModelServer::start([busy()]).await;
        let spare = ModelServer::start([Move::say("One."), Move::say("Two.")]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        let mut agent = stage.agent();
        assert_eq!(stage.turn(&mut agent, "Go.").await.text.as_deref(), Some("One."), "{mode:?}");
        assert_eq!(stage.turn(&mut agent, "Go on.").await.text.as_deref(), Some("Two."));
        stage.clock.advance(Duration::from_secs(301));
        server.extend([Move::say("Three.")]);
        assert_eq!(stage.turn(&mut agent, "And now?").await.text.as_deref(), Some("Three."));
        server.finish();
        spare.finish();
    }
}

#[tokio::test]
async fn when_everybody_is_down_the_first_fault_is_not_hidden_by_the_last() {
    for mode in MODES {
        let server = ModelServer::start([look(1), Move::status(500), Move::status(500)]).await;
        let spare = ModelServer::start([Move::status(503), Move::status(503), Move::status(503)]).await;
        let stage = Stage::build(Plan { models: with_spare(&server, &spare, mode), ..Plan::default() }).await;
        Puppet::looking("look").on(&stage);
        let mut agent = stage.agent();
        let outcome = stage.turn(&mut agent, "Go.").await;
        assert_eq!(outcome.kind(), OutcomeKind::Failed, "{mode:?}");
        assert_eq!(outcome.api_calls, 6);
        assert_eq!(told(&in_memory(&agent)).len(), 3, "what was done is there");
        goes_on(&stage, &server).await;
        server.finish();
        spare.finish();
    }
}

/// A vendor that does not know its own signatures any more gets the conversation without them, from there on.
#[tokio::test]
async fn signatures_that_are_refused_in_mid_turn_are_left_out() {
    let refusal = Move::status(400).body(json!({"type": "error", "error": {"type": "invalid_request_error",
        "message": "messages.1.content.0: Invalid `signature` in `thinking` block"}}));
    let thinking = |n: u64| Move::say("").reasoning("Hm.").signature("c2lnbmVk").call("look", json!({ "n": n }));
    let server = ModelServer::start([thinking(1), refusal, thinking(2), Move::say("Done.")]).await;
    server.allow_prefix_break("the signatures are gone");
    let stage = Stage::build(claude(&server)).await;
    let looked = Puppet::looking("look").on(&stage);
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, "Go.").await;
    assert_eq!((outcome.text.as_deref(), looked.ran().len()), (Some("Done."), 2), "{:?}", outcome.end);
    let signed: Vec<bool> = server
        .model_requests()
        .iter()
        .map(|request| request.body.as_ref().unwrap().to_string().contains("c2lnbmVk"))
        .collect();
    assert_eq!(signed, [false, true, false, false], "asked for once, then left out for good");
    server.finish();
}

/// Claude at the vendor's own address.
fn claude(server: &ModelServer) -> Plan {
    Plan {
        models: json!({"model": {"provider": "anthropic", "default": "claude-sonnet-4-6"}}),
        variables: vec![("ANTHROPIC_API_KEY".into(), "sk-ant-api-stage".into())],
        transport: Some(Arc::new(Rerouted::new("api.anthropic.com", server))),
        ..Plan::default()
    }
}

/// Signed thoughts go back to the vendor that signed them, as they were.
#[tokio::test]
async fn signed_thoughts_go_back_to_whoever_signed_them() {
    let thinking = |n: u64| Move::say("").reasoning("Hm.").signature("c2lnbmVk").call("look", json!({ "n": n }));
    let server = ModelServer::start([thinking(1), thinking(2), Move::say("Done.")]).await;
    let stage = Stage::build(claude(&server)).await;
    Puppet::looking("look").on(&stage);
    let outcome = stage.turn(&mut stage.agent(), "Go.").await;
    assert_eq!(outcome.text.as_deref(), Some("Done."), "{:?}", outcome.end);
    let signed: Vec<usize> = server
        .model_requests()
        .iter()
        .map(|request| request.body.as_ref().unwrap().to_string().matches("c2lnbmVk").count())
        .collect();
    assert_eq!(signed, [0, 1, 2]);
    goes_on(&stage, &server).await;
    server.finish();
}

/// A login that ends in the middle of the work is renewed, and nothing is done twice.
#[tokio::test]
async fn a_login_that_ends_in_mid_turn_is_renewed() {
    let server = ModelServer::start([look(1), Move::status(401), look(2), Move::say("Done.")]).await;
    let oauth = OAuthServer::start().await;
    let old = jwt(&json!({"jti": "old", "exp": START + 9_000, "scope": "inference:invoke"}));
    let refresh = oauth.issue_refresh_token(Vendor::Nous);
    let stage = Stage::build(Plan {
        models: json!({"model": {"provider": "nous", "default": "nousresearch/hermes-4-405b"}}),
        variables: vec![("NOUS_INFERENCE_BASE_URL".into(), server.base_url())],
        logins: Some(json!({"version": 1, "providers": {"nous": {
            "access_token": old, "refresh_token": refresh, "portal_base_url": oauth.root_url()}}})),
        login_server: Some(oauth.root_url()),
        ..Plan::default()
    })
    .await;
    oauth.attach_clock(&stage.clock);
    let looked = Puppet::looking("look").on(&stage);
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, "Go.").await;
    assert_eq!((outcome.text.as_deref(), looked.ran().len()), (Some("Done."), 2), "{:?}", outcome.end);
    let refreshed =
        stage.events().into_iter().filter(|event| matches!(event, Event::Notice { notice: Notice::Refreshed }));
    assert_eq!(refreshed.count(), 1);
    let bearers: Vec<bool> = server
        .model_requests()
        .iter()
        .map(|request| request.header("authorization").unwrap_or_default().ends_with(&old))
        .collect();
    assert_eq!(bearers, [true, true, false, false]);
    server.finish();
    oauth.finish();
}

#[tokio::test]
async fn a_request_that_is_refused_for_good_is_not_repeated() {
    for mode in MODES {
        let played = play(mode, [look(1), Move::status(403)]).await;
        assert_eq!((played.kind(), played.outcome.api_calls), (OutcomeKind::Failed, 2), "{mode:?}");
        assert!(played.exit().starts_with("api_error("), "{}", played.exit());
    }
}
