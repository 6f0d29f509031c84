//! What calls cost, who pays, and what refusals teach.

use crate::stage::*;
use hermes_core::clock::RealClock;
use hermes_core::receipt::Receipt;
use hermes_core::stop::Stop;
use hermes_core::till::Till;
use hermes_core::turn::budget::{Caps, Limits, Purse};
use hermes_model::resolve::Ask;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move};
use hermes_types::{CostStatus, FaultKind, SessionId, Spent, Usage, Usd};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

fn usd(text: &str) -> Usd {
    text.parse().expect("an amount")
}

fn priced(server: &ModelServer) -> serde_json::Value {
    let mut config = only(&server.base_url(), ApiMode::ChatCompletions);
    config["pricing"] = json!({"overrides": {"stage-model": {"input": 1000, "output": 5000, "cache_read": "100"}}});
    config
}

#[tokio::test]
async fn a_side_job_pays_from_the_purse_of_its_turn_and_is_refused_when_that_is_empty() {
    let usage = Usage { input: 1_000, output: 100, cache_read: 500, ..Usage::default() };
    let server = ModelServer::start(Move::say("a title").usage(usage)).await;
    let company = Stage::new(priced(&server)).company().await;
    let runtime = company.knowledge.resolve(&Ask::default()).expect("a runtime");
    let limits = Limits { turn: Caps { usd: Some(usd("1.5")), ..Caps::default() }, ..Limits::default() };
    let purse = Arc::new(Purse::new(limits, Spent::default(), Spent::default(), Duration::ZERO));
    let till = Arc::new(Till::new(None, Arc::new(RealClock::default())));
    let session = SessionId::new("20260102_030405_0a1b2c");
    let _paying = till.open(session.clone(), purse.clone());
    let auxiliary = company.auxiliary().paid_at(till.clone());
    let mut request = question("name it");
    request.session = Some(session);
    let reply = auxiliary.ask("title_generation", request.clone(), &runtime, &Stop::new()).await.expect("a title");
    assert_eq!(reply.usage, Some(usage));
    // 1,000 × $1,000 + 100 × $5,000 + 500 × $100, for a million each.
    assert_eq!((purse.spent().cost, purse.spent().status()), (usd("1.55"), CostStatus::Estimated));
    let refused = auxiliary.ask("title_generation", request, &runtime, &Stop::new()).await.expect_err("no money left");
    assert_eq!(refused.kind, FaultKind::Billing);
    assert_eq!(refused.message, "the limit of $1.50 for one turn is reached ($1.55 used); budget.turn_usd sets it");
    assert_eq!(server.model_requests().len(), 1, "nobody was asked");
    server.finish();
}

#[tokio::test]
async fn a_window_that_a_refusal_names_is_remembered_once_the_model_answers() {
    let refusal = json!({"error": {"code": "context_length_exceeded",
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens."}});
    let refused = || Move::status(400).body(&refusal.to_string());
    let server = ModelServer::start([refused(), refused(), Move::say("short enough")]).await;
    let mut talk = Stage::at(&server, ApiMode::ChatCompletions).conversation().await;
    let almanac = talk.company.knowledge.almanac.clone();
    let runtime = talk.company.knowledge.resolve(&Ask::default()).expect("a runtime");
    let known = || almanac.window(runtime.provider, &runtime.base_url, "stage-model");
    for _ in 0..2 {
        let told = talk.ask(question("long")).await;
        let fault = told.result.expect_err("too long");
        assert_eq!((fault.kind, fault.window), (FaultKind::ContextOverflow, Some(8_192)));
        assert_eq!(
            (talk.window(), known()),
            (Some(8_192), None),
            "it holds here, but an error alone teaches nobody else"
        );
    }
    talk.ask(question("short")).await.reply();
    assert_eq!(known(), Some(8_192));
    let next = talk.company.knowledge.resolve(&Ask::default()).expect("a runtime");
    assert_eq!(next.limits.context_window, 8_192);
    server.finish();
}

#[tokio::test]
async fn the_same_receipt_comes_of_every_way_to_count() {
    let usage = Usage { input: 10, output: 20, cache_read: 30, cache_write: 0, ..Usage::default() };
    for mode in [ApiMode::ChatCompletions, ApiMode::CodexResponses, ApiMode::AnthropicMessages] {
        let server = ModelServer::start(Move::say("hello").usage(usage)).await;
        let mut config = priced(&server);
        config["providers"]["stage"]["api_mode"] = mode.as_str().into();
        let mut talk = Stage::new(config).conversation().await;
        let reply = talk.ask(question("hi")).await.reply();
        let model = talk.model();
        let receipt = Receipt::of(&*model, reply.usage.expect("counted"), Duration::ZERO);
        assert_eq!(receipt.cost.known(), Some(usd("0.113")), "{mode:?}");
        assert_eq!(receipt.cost.source, "user_override", "{mode:?}");
        server.finish();
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_and_was_asked_for_again_is_paid_for_too() {
    let usage = Usage { input: 10, output: 20, ..Usage::default() };
    let broken = Move::say("a long answer that is cut in the middle").chunk(4).usage(usage).cut_after(5);
    let server = ModelServer::start([broken, Move::say("whole").usage(usage)]).await;
    let mut config = priced(&server);
    config["providers"]["stage"]["api_mode"] = ApiMode::AnthropicMessages.as_str().into();
    let mut talk = Stage::new(config).conversation().await;
    assert_eq!(talk.ask(question("hi")).await.reply().text(), "whole");
    let wasted = talk.wasted();
    assert_eq!(wasted.len(), 1, "{wasted:?}");
    assert_eq!(wasted[0].usage.input, 10, "the protocol counts what was read before it answers");
    assert!(wasted[0].cost.known() >= Some(usd("0.01")), "{wasted:?}");
    assert_eq!(talk.wasted(), [], "it is paid once");
    server.finish();
}
