//! What things cost: one truth in the ledger, at the end of a turn, in `sessions cost`, in `insights`, and on the bill of
//! the provider; and limits that hold by it.

use super::*;
use hermes_core::clock::RealClock;
use hermes_core::store::{Ledger, Sessions};
use hermes_store::SqliteStore;
use hermes_types::{EndReason, NewSession, SessionId, Usage, Usd};
use std::sync::Arc;
use std::time::Duration;

const PRICES: &str = "pricing:\n  overrides:\n    rehearsal-model: {input: 1000, output: 5000, cache_read: 100}\n";
const SMART: &str =
    "approvals:\n  mode: smart\nfallback_providers:\n  - {provider: 'custom:rehearsal', model: spare-model}\n";

fn used(input: u64, cache_read: u64, output: u64) -> Usage {
    Usage { input, cache_read, output, ..Usage::default() }
}

fn billed(input: u64, output: u64, dollars: &str) -> Usage {
    Usage { input, output, cost: dollars.parse().ok(), ..Usage::default() }
}

async fn store(world: &World) -> SqliteStore {
    SqliteStore::open(&world.hermes_home().join("state.db"), Arc::new(RealClock::default())).await.expect("a store")
}

async fn json_of(world: &World, words: &[&str]) -> Value {
    let ran = hermes(world, words).await.expect_code(0);
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {}", ran.stdout))
}

/// Everything in the ledger: calls, tokens, dollars.
async fn in_ledger(world: &World) -> (u64, u64, Usd) {
    let store = store(world).await;
    let (mut calls, mut tokens, mut cost) = (0, 0, Usd::default());
    for row in store.usage(None).await.expect("read") {
        calls += row.calls;
        tokens += row.usage.total();
        cost = cost + row.estimated_cost_usd.unwrap_or_default() + row.actual_cost_usd.unwrap_or_default();
    }
    store.close().await;
    (calls, tokens, cost)
}

#[tokio::test]
async fn every_report_tells_what_was_billed() {
    // $1,000, $5,000 and $100 for a million, or what the provider says itself.
    let script = [
        Move::say("").call("delegate_task", json!({"goal": "look around"})).usage(used(1_000, 0, 100)), // 1.50
        Move::say("Nothing there.").usage(used(300, 0, 20)), // the sub-agent: 0.40
        Move::say("").call("terminal", json!({"command": "rm -rf build"})).usage(used(100, 1_200, 40)), // 0.42
        Move::say("APPROVE").usage(used(60, 0, 2)),          // the adviser: 0.07
        Move::status(402),
        Move::say("Cleared by the spare one.").usage(billed(1_500, 30, "0.25")), // the fallback
        Move::say("And on it goes.").usage(used(50, 0, 10)),                     // behind a compression: 0.10
    ];
    let server = ModelServer::start(script).await;
    let world = home_with(&server, &format!("{PRICES}{SMART}"));
    std::fs::create_dir(world.work_dir().join("build")).expect("a folder");
    let ran = on_terminal(&world, 100, "chat -q 'clear up'").await;
    assert!(!world.work_dir().join("build").exists(), "it was allowed:\n{}", ran.stdout);
    assert!(ran.stdout.contains("… 5 calls, 4,352 tokens, $2.64 (estimated)"), "{}", ran.stdout);
    assert_eq!(in_ledger(&world).await, (5, 4_352, "2.64".parse().expect("money")));

    // A compression goes on in another session.
    let kept = store(&world).await;
    let listed = kept.list(Default::default(), hermes_types::ListOrder::Started, 10, 0).await.expect("a list");
    let root = listed.iter().find(|one| one.session.parent.is_none()).expect("the conversation").session.id.clone();
    kept.reopen(&root).await.expect("open again");
    kept.end(&root, EndReason::COMPRESSION).await.expect("ended");
    let next = SessionId::new("20990101_000000_ffffff");
    let child = NewSession { parent: Some(root.clone()), ..NewSession::new(next.clone(), "cli") };
    kept.create(child).await.expect("begun");
    kept.close().await;
    let ran =
        hermes(&world, &["chat", "-q", "and then?", "--resume", root.as_str(), "--usage-file", "usage.json"]).await;
    assert_eq!(ran.expect_code(0).stdout, "And on it goes.\n");
    let usage = std::fs::read_to_string(world.work_dir().join("usage.json")).expect("a usage file");
    let usage: Value = serde_json::from_str(&usage).expect("JSON");
    assert_eq!(usage["estimated_cost_usd"], json!(0.1));
    assert_eq!((&usage["cost_status"], &usage["cost_source"]), (&json!("estimated"), &json!("user_override")));

    let ledger = in_ledger(&world).await;
    assert_eq!(ledger, (6, 4_412, "2.74".parse().expect("money")));
    // The whole conversation, whichever of its sessions is named.
    for name in [root.as_str(), next.as_str()] {
        let bill = json_of(&world, &["sessions", "cost", name, "--json"]).await;
        let total = |key: &str| bill["total"][key].clone();
        assert_eq!((total("calls"), total("total_tokens"), total("cost_usd")), (json!(6), json!(4_412), json!(2.74)));
        assert_eq!((total("cost_status"), total("unpriced_calls")), (json!("estimated"), json!(0)));
        let rows: Vec<[Value; 5]> = bill["rows"]
            .as_array()
            .expect("rows")
            .iter()
            .map(|row| ["model", "task", "payer", "calls", "cost_usd"].map(|key| row[key].clone()))
            .collect();
        let expected = [
            json!(["rehearsal-model", "", "conversation", 3, 2.02]),
            json!(["rehearsal-model", "", "sub_agent", 1, 0.4]),
            json!(["spare-model", "", "conversation", 1, 0.25]),
            json!(["rehearsal-model", "approval", "conversation", 1, 0.07]),
        ];
        assert_eq!(json!(rows), json!(expected));
    }
    let insights = json_of(&world, &["insights", "--json"]).await;
    assert_eq!((&insights["cost_usd"], &insights["input_tokens"]), (&json!(2.74), &json!(3_010)));
    let table = hermes(&world, &["sessions", "cost", root.as_str()]).await.expect_code(0);
    assert!(table.stdout.lines().last().is_some_and(|line| line.ends_with("$2.74 (estimated)")), "{}", table.stdout);
    server.finish();
}

#[tokio::test]
async fn a_limit_in_dollars_holds_by_the_price_list_too() {
    let server = ModelServer::start(run("echo one").usage(used(400, 0, 20))).await;
    let world = home_with(&server, &format!("{PRICES}budget:\n  turn_usd: 0.5\n"));
    let ran = hermes(&world, &["-z", "go"]).await.expect_code(1);
    let words = "hermes -z: the limit of $0.50 for one turn is reached ($0.50 used); budget.turn_usd sets it\n";
    assert!(ran.stderr.starts_with(words), "{}", ran.stderr);
    server.finish();
}

#[tokio::test]
async fn what_nobody_names_a_price_for_is_unknown_and_never_nothing() {
    let server = ModelServer::start(Move::say("Hello.").usage(used(400, 0, 20))).await;
    let world = home_with(&server, "budget:\n  turn_usd: 0.5\n");
    let ran = on_terminal(&world, 100, "chat -q hello").await;
    assert!(ran.stdout.contains("nobody says what rehearsal-model costs"), "{}", ran.stdout);
    assert!(ran.stdout.contains("… 1 call, 420 tokens, price not known"), "{}", ran.stdout);
    let listed = json_of(&world, &["sessions", "list", "--json"]).await;
    let id = listed[0]["id"].as_str().expect("a session").to_owned();
    let bill = json_of(&world, &["sessions", "cost", &id, "--json"]).await;
    assert_eq!((&bill["total"]["cost_status"], &bill["total"]["unpriced_calls"]), (&json!("unknown"), &json!(1)));
    let told = hermes(&world, &["sessions", "cost", &id]).await.expect_code(0);
    assert!(told.stdout.contains("not known") && told.stderr.contains("pricing.overrides"), "{told:?}");
    server.finish();
}

#[tokio::test]
async fn a_list_is_asked_for_by_the_way_and_the_answer_does_not_wait_for_it() {
    let slow = Move::say("Hello.").delay(Duration::from_millis(700));
    let server = ModelServer::start([slow, Move::say("Again.")]).await;
    server.list_models([json!({"id": "rehearsal-model", "max_model_len": 65536})]);
    let world = home_at(&server);
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "Hello.\n", ""));
    let file = world.hermes_home().join("cache/endpoint_models.json");
    let kept = std::fs::read_to_string(&file).expect("it came while the model thought");
    assert!(kept.contains("65536"), "{kept}");
    // For an hour nobody is asked again; a list that cannot be had costs nothing either.
    server.refuse_models(500);
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "Again.\n", ""));
    assert_eq!(std::fs::read_to_string(&file).expect("still there"), kept);
    server.finish();
}

#[tokio::test]
async fn a_catalogue_that_was_asked_prices_the_next_calls() {
    let server = ModelServer::start(Move::say("Hello.").usage(used(1_000, 0, 100))).await;
    server.list_models([json!({"id": "rehearsal-model", "context_length": 65536,
        "pricing": {"prompt": "0.000003", "completion": "0.000015"}})]);
    let world = home_at(&server);
    let ran = hermes(&world, &["model", "--refresh"]).await.expect_code(0);
    assert_eq!(ran.stdout, "rehearsal: 1 model, 1 with a context window, 1 with prices.\n");
    let kept = std::fs::read_to_string(world.hermes_home().join("cache/endpoint_models.json")).expect("kept");
    assert!(kept.contains("\"context_length\":65536") && !kept.contains(KEY), "{kept}");
    let result = json_of(&world, &["-z", "hi", "--output-format", "json"]).await;
    assert_eq!(result["cost"], json!({"usd": 0.0045, "status": "estimated", "source": "provider_models_api"}));
    server.finish();
}
