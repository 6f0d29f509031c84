//! Other keys and other providers: pools, variables, fallbacks, and what of it is written down.

use crate::stage::{Stage, after, question};
use hermes_core::stop::Stop;
use hermes_model::resolve::Ask;
use hermes_model::wire::ApiMode;
use hermes_testkit::{FakeClock, ModelServer, Move, START};
use hermes_types::FaultKind;
use serde_json::{Value, json};
use std::time::Duration;

/// A key a person stored.
fn row(id: &str, key: &str, priority: u64, count: u64) -> Value {
    json!({"id": id, "label": id, "auth_type": "api_key", "source": "manual", "priority": priority,
        "access_token": key, "request_count": count})
}

fn deepseek_pool(rows: &[Value]) -> Value {
    json!({"version": 1, "credential_pool": {"deepseek": rows}})
}

/// DeepSeek moved to the stage, with its keys in the store.
fn deepseek(server: &ModelServer, rows: &[Value]) -> Stage {
    let config = json!({"model": {"provider": "deepseek", "default": "deepseek-chat"}});
    Stage::new(config).env("DEEPSEEK_BASE_URL", &server.base_url()).auth(&deepseek_pool(rows))
}

fn keys(server: &ModelServer) -> Vec<String> {
    let bearer = |request: &hermes_testkit::Received| {
        request.header("authorization").and_then(|value| value.strip_prefix("Bearer ")).unwrap_or_default().to_owned()
    };
    server.model_requests().iter().map(bearer).collect()
}

/// The stored rows by id: status, error code and reason.
fn statuses(stage: &Stage, provider: &str) -> Vec<(String, Value, Value, Value)> {
    let document = stage.read("home/auth.json");
    let rows = document["credential_pool"][provider].as_array().cloned().unwrap_or_default();
    let status = |row: &Value| {
        let id = row["id"].as_str().unwrap_or_default().to_owned();
        (id, row["last_status"].clone(), row["last_error_code"].clone(), row["last_error_reset_at"].clone())
    };
    rows.iter().map(status).collect()
}

#[tokio::test]
async fn a_refused_key_gives_way_to_the_next_and_its_rest_is_on_disk() {
    let cases: [(&str, Vec<Move>, FaultKind, Value); 4] = [
        ("401", vec![Move::status(401)], FaultKind::Auth, json!(401)),
        ("402", vec![Move::status(402)], FaultKind::Billing, json!(402)),
        // A limit is waited out once on the same key.
        ("429", vec![Move::status(429), Move::status(429)], FaultKind::RateLimit, json!(429)),
        (
            "429 with a time",
            vec![Move::status(429).header("retry-after", "5"), Move::status(429).header("retry-after", "90")],
            FaultKind::RateLimit,
            json!(429),
        ),
    ];
    for (name, faults, kind, code) in cases {
        let refused = faults.len();
        let server =
            ModelServer::start(faults.into_iter().chain([Move::say("by the second key")]).collect::<Vec<_>>()).await;
        let stage = deepseek(&server, &[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]);
        let told = stage.ask(question("hi")).await;
        assert_eq!(told.outcome(), "by the second key", "{name}");
        let mut steps = vec![format!("retry after {kind:?}"); refused - 1];
        steps.push(format!("rotate after {kind:?}"));
        assert_eq!(told.steps(), steps, "{name}");
        let mut shown = vec!["sk-ds-1111"; refused];
        shown.push("sk-ds-2222");
        assert_eq!(keys(&server), shown, "{name}");
        let reset = match name {
            "429 with a time" => json!((START + 5 + 90) as f64),
            _ => Value::Null,
        };
        let [one, two] = <[_; 2]>::try_from(statuses(&stage, "deepseek")).expect("two rows");
        assert_eq!(one, ("one".to_owned(), json!("exhausted"), code, reset), "{name}");
        assert_eq!(two.1, Value::Null, "{name}: the second key is as it was");
        server.finish();

        // Another process learns of it from the disk.
        let server = ModelServer::start(Move::say("hello")).await;
        let next = stage.env("DEEPSEEK_BASE_URL", &server.base_url());
        next.ask(question("hi")).await.reply();
        assert_eq!(keys(&server), ["sk-ds-2222"], "{name}");
    }
}

/// When every key is refused the first fault is not hidden behind the last means.
#[tokio::test]
async fn a_pool_that_is_used_up_ends_in_the_fault_itself() {
    let server = ModelServer::start([Move::status(401), Move::status(401)]).await;
    let stage = deepseek(&server, &[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]);
    let told = stage.ask(question("hi")).await;
    assert_eq!((told.fault().kind, told.steps()), (FaultKind::Auth, vec!["rotate after Auth".to_owned()]));
    let resting: Vec<Value> = statuses(&stage, "deepseek").into_iter().map(|row| row.1).collect();
    assert_eq!(resting, [json!("exhausted"), Value::Null], "a key without a successor does not rest");

    // A new process tries the one that is left, and learns the truth from the provider.
    let server = ModelServer::start(Move::say("well again")).await;
    let again = stage.env("DEEPSEEK_BASE_URL", &server.base_url());
    assert_eq!(again.ask(question("hi")).await.outcome(), "well again");
    assert_eq!(keys(&server), ["sk-ds-2222"]);
}

/// Where everything stored rests, by the word of another program, the person hears that and not that a key is missing.
#[tokio::test]
async fn a_pool_that_rests_as_a_whole_says_so() {
    let server = ModelServer::start(Vec::new()).await;
    let mut tired = row("one", "sk-ds-1111", 0, 0);
    tired["last_status"] = json!("exhausted");
    tired["last_status_at"] = json!(START);
    tired["last_error_code"] = json!(429);
    let fault = deepseek(&server, &[tired]).ask(question("hi")).await.fault();
    assert_eq!(
        (fault.kind, fault.code.as_deref()),
        (FaultKind::NotConfigured, Some("credentials_exhausted")),
        "{fault}"
    );
}

/// An answer takes back what was held against a key.
#[tokio::test]
async fn a_key_that_answers_is_well_again() {
    let server = ModelServer::start([Move::say("one"), Move::say("two")]).await;
    let mut rested = row("one", "sk-ds-1111", 0, 4);
    rested["last_status"] = json!("exhausted");
    rested["last_status_at"] = json!(START - 4_000);
    rested["last_error_code"] = json!(429);
    let stage = deepseek(&server, &[rested]);
    let mut conversation = stage.conversation().await;
    conversation.ask(question("hi")).await.reply();
    conversation.ask(question("hi again")).await.reply();
    assert_eq!(stage.read("home/auth.json")["credential_pool"]["deepseek"], json!([row("one", "sk-ds-1111", 0, 4)]));
}

/// Within one conversation a key that has rested long enough takes over again.
#[tokio::test]
async fn a_key_comes_back_when_its_rest_is_over() {
    let clock = FakeClock::new();
    let limited = || Move::status(429).header("retry-after", "90");
    let server = ModelServer::start([limited(), Move::say("two"), limited(), Move::say("one again")]).await;
    let stage = deepseek(&server, &[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]).clock(&clock);
    let mut conversation = stage.conversation().await;
    assert_eq!(conversation.ask(question("hi")).await.outcome(), "two");
    clock.advance(Duration::from_secs(91));
    let told = conversation.ask(question("and now?")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("one again", vec!["rotate after RateLimit".to_owned()]));
    assert_eq!(keys(&server), ["sk-ds-1111", "sk-ds-2222", "sk-ds-2222", "sk-ds-1111"]);
}

/// Another process holds the store: the next key is tried at once, and only the note about it waits.
#[tokio::test]
async fn a_locked_store_does_not_hold_up_the_next_key() {
    let server = ModelServer::start([Move::status(402), Move::say("at once")]).await;
    let stage = deepseek(&server, &[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]).real_time();
    let lock = std::fs::File::create(stage.auth_file().with_file_name("auth.lock")).expect("a file");
    lock.lock().expect("locked");
    let mut conversation = stage.conversation().await;
    let holder = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        drop(lock);
    });
    let told = conversation.ask(question("hi")).await;
    assert_eq!(told.outcome(), "at once");
    assert!(told.real_time < Duration::from_millis(1_400), "{:?}", told.real_time);
    holder.await.expect("released");
    assert_eq!(statuses(&stage, "deepseek")[0].1, json!("exhausted"), "the note was taken all the same");
}

/// A fallback has its own cap and its own effort.
#[tokio::test]
async fn a_fallback_does_not_inherit_the_settings_of_the_first_model() {
    let (first, second) = (ModelServer::start(Move::status(404)).await, ModelServer::start(Move::say("hello")).await);
    let stage = Stage::new(json!({
        "model": {"provider": "custom:first", "default": "model-1", "max_tokens": 77},
        "providers": {
            "first": {"base_url": first.base_url(), "api_key": "first-key"},
            "second": {"base_url": second.base_url(), "api_key": "second-key"},
        },
        "fallback_providers": [{"provider": "custom:second", "model": "model-2"}],
        "agent": {"reasoning_overrides": {"model-1": "high"}},
    }));
    assert_eq!(stage.ask(question("hi")).await.outcome(), "hello");
    let sent = |server: &ModelServer| {
        let requests = server.model_requests();
        let body = requests[0].json();
        (body["max_tokens"].clone(), body["reasoning_effort"].clone())
    };
    assert_eq!(sent(&first), (json!(77), json!("high")));
    assert_eq!(sent(&second), (Value::Null, Value::Null), "no cap and no effort of its own");
}

/// A side job that is switched off asks nobody.
#[tokio::test]
async fn a_side_job_can_be_switched_off() {
    let main = ModelServer::start(Vec::new()).await;
    let config = json!({
        "model": {"provider": "custom:main", "default": "big"},
        "providers": {"main": {"base_url": main.base_url(), "api_key": "main-key-1"}},
        "auxiliary": {"title_generation": {"enabled": false}},
    });
    let company = Stage::new(config).company().await;
    let runtime = company.knowledge.resolve(&Ask::default()).expect("a runtime");
    let refused = company.auxiliary().ask("title_generation", question("name it"), &runtime, &Stop::new()).await;
    assert_eq!(refused.expect_err("switched off").kind, FaultKind::NotConfigured);
    main.finish();
}

#[tokio::test]
async fn a_rest_ends_by_itself() {
    let server = ModelServer::start([Move::status(401), Move::say("two"), Move::say("one again")]).await;
    let clock = FakeClock::new();
    let stage = deepseek(&server, &[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]).clock(&clock);
    stage.ask(question("hi")).await.reply();
    clock.advance(Duration::from_secs(301));
    stage.ask(question("hello")).await.reply();
    assert_eq!(keys(&server), ["sk-ds-1111", "sk-ds-2222", "sk-ds-1111"]);
}

/// Each strategy, over three runs of the program on one home.
#[tokio::test]
async fn every_strategy_shares_the_work_across_runs() {
    /// Strategy, seeds of the runs, keys they use, and the tallies of the three rows afterwards.
    type Case = (&'static str, [u64; 3], [&'static str; 3], [u64; 3]);
    let cases: [Case; 4] = [
        ("fill_first", [0, 1, 2], ["sk-ds-aaaa", "sk-ds-aaaa", "sk-ds-aaaa"], [5, 1, 1]),
        ("round_robin", [0, 1, 2], ["sk-ds-aaaa", "sk-ds-bbbb", "sk-ds-cccc"], [6, 2, 2]),
        ("least_used", [0, 1, 2], ["sk-ds-bbbb", "sk-ds-cccc", "sk-ds-bbbb"], [5, 3, 2]),
        ("random", [1, 2, 0], ["sk-ds-bbbb", "sk-ds-cccc", "sk-ds-aaaa"], [5, 1, 1]),
    ];
    for (strategy, seeds, expected, counts) in cases {
        let server = ModelServer::start([Move::say("1"), Move::say("2"), Move::say("3")]).await;
        let rows = [row("a", "sk-ds-aaaa", 0, 5), row("b", "sk-ds-bbbb", 1, 1), row("c", "sk-ds-cccc", 2, 1)];
        let config = json!({"model": {"provider": "deepseek", "default": "deepseek-chat"},
            "credential_pool_strategies": {"deepseek": strategy}});
        let mut stage = Stage::new(config).env("DEEPSEEK_BASE_URL", &server.base_url()).auth(&deepseek_pool(&rows));
        for (run, seed) in seeds.into_iter().enumerate() {
            stage = stage.seed(seed);
            stage.ask(question(&format!("run {run}"))).await.reply();
        }
        assert_eq!(keys(&server), expected, "{strategy}");
        let document = stage.read("home/auth.json");
        let rows = document["credential_pool"]["deepseek"].as_array().expect("rows").clone();
        let counted: Vec<u64> = rows.iter().map(|row| row["request_count"].as_u64().unwrap_or(0)).collect();
        assert_eq!(counted, counts, "{strategy}");
    }
}

/// The pool of an endpoint the person named lives under that name.
#[tokio::test]
async fn a_named_endpoint_has_a_pool_of_its_own() {
    let server = ModelServer::start([Move::status(402), Move::say("by the second key")]).await;
    let config = json!({"model": {"provider": "custom:mine", "default": "m"},
        "providers": {"mine": {"base_url": server.base_url()}}});
    let rows = [row("one", "mine-1111", 0, 0), row("two", "mine-2222", 1, 0)];
    let stage = Stage::new(config).auth(&json!({"version": 1, "credential_pool": {"custom:mine": rows}}));
    assert_eq!(stage.ask(question("hi")).await.outcome(), "by the second key");
    assert_eq!(keys(&server), ["mine-1111", "mine-2222"]);
    let [one, _] = <[_; 2]>::try_from(statuses(&stage, "custom:mine")).expect("two rows");
    assert_eq!((one.1, one.2), (json!("exhausted"), json!(402)));
}

#[tokio::test]
async fn several_variables_of_one_provider_are_a_pool_too() {
    let server = ModelServer::start([Move::status(401), Move::say("by the second variable")]).await;
    let stage = Stage::new(json!({"model": {"provider": "gemini", "default": "gemini-2.5-flash"}}))
        .env("GEMINI_BASE_URL", &server.base_url())
        .env("GOOGLE_API_KEY", "AIza-first")
        .env("GEMINI_API_KEY", "AIza-second");
    let told = stage.ask(question("hi")).await;
    assert_eq!(told.outcome(), "by the second variable");
    assert_eq!(
        (keys(&server), told.steps()),
        (vec!["AIza-first".into(), "AIza-second".into()], vec!["rotate after Auth".to_owned()])
    );
    assert!(!stage.auth_file().exists(), "what is borrowed from the environment is not copied into the store");
}

/// Three servers that speak three protocols; each answers with its own key and sees the whole conversation.
fn chain(first: &ModelServer, second: &ModelServer, third: &ModelServer) -> Stage {
    let entry = |server: &ModelServer, key: &str, mode: ApiMode| json!({"base_url": server.base_url(), "api_key": key, "api_mode": mode.as_str(), "stale_timeout_seconds": 3});
    first.expect_key("first-key");
    second.expect_key("second-key");
    third.expect_key("third-key");
    Stage::new(json!({
        "model": {"provider": "custom:first", "default": "model-1"},
        "providers": {
            "first": entry(first, "first-key", ApiMode::ChatCompletions),
            "second": entry(second, "second-key", ApiMode::AnthropicMessages),
            "third": entry(third, "third-key", ApiMode::CodexResponses),
        },
        "fallback_providers": [
            {"provider": "nobody-knows-this", "model": "x"},
            {"provider": "custom:second", "model": "model-2"},
            {"provider": "custom:third", "model": "model-3"},
        ],
    }))
}

#[tokio::test]
async fn the_chain_is_walked_in_order_and_lasts_for_the_turn() {
    let clock = FakeClock::new();
    let first = ModelServer::start([
        Move::say("").text("Looking.").call("clock", json!({})).id("call_1"),
        Move::status(500),
        Move::status(500),
        Move::say("back at home"),
    ])
    .await;
    let second = ModelServer::start([Move::status(404)]).await;
    let third = ModelServer::start([
        Move::say("").text("Looking again.").call("clock", json!({})).id("call_2"),
        Move::say("Noon."),
    ])
    .await;
    let mut conversation = chain(&first, &second, &third).clock(&clock).conversation().await;
    conversation.begin_turn();
    let request = question("What time is it?");
    let told = conversation.ask(request.clone()).await;
    let request = after(request, &told.reply(), None);
    let told = conversation.ask(request.clone()).await;
    let steps = [
        "retry after ServerError",
        "fall back to custom:second after ServerError",
        "fall back to custom:third after ModelNotFound",
    ];
    assert_eq!(told.steps(), steps);
    // The rest of the turn stays where it was answered.
    let request = after(request, &told.reply(), None);
    let told = conversation.ask(request.clone()).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("Noon.", vec![]));
    // The next turn begins with the person's choice.
    conversation.begin_turn();
    let told = conversation.ask(after(request, &told.reply(), Some("And now?"))).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("back at home", vec![]));
    let models = |server: &ModelServer| -> Vec<String> {
        server.model_requests().iter().map(|request| request.json()["model"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!((models(&first), models(&second)), (vec!["model-1".to_owned(); 4], vec!["model-2".to_owned()]));
    assert_eq!(models(&third), ["model-3", "model-3"]);
}

#[tokio::test]
async fn a_provider_left_for_lack_of_quota_rests_for_a_minute() {
    let clock = FakeClock::new();
    let first = ModelServer::start([Move::status(402), Move::say("home")]).await;
    let second = ModelServer::start([Move::say("1"), Move::say("2")]).await;
    let third = ModelServer::start(Vec::new()).await;
    let mut conversation = chain(&first, &second, &third).clock(&clock).conversation().await;
    let mut said = Vec::new();
    for (turn, pause) in [0, 30, 31].into_iter().enumerate() {
        clock.advance(Duration::from_secs(pause));
        conversation.begin_turn();
        said.push(conversation.ask(question(&format!("turn {turn}"))).await.outcome());
    }
    assert_eq!(said, ["1", "2", "home"]);
}

/// A wait longer than anybody's patience is a reason to go on to the next.
#[tokio::test]
async fn a_long_wait_is_left_for_the_next_provider() {
    let first = ModelServer::start(Move::status(429).header("retry-after", "3600")).await;
    let second = ModelServer::start(Move::say("at once")).await;
    let third = ModelServer::start(Vec::new()).await;
    let told = chain(&first, &second, &third).ask(question("hi")).await;
    assert_eq!(told.outcome(), "at once");
    assert_eq!(
        (told.steps(), told.virtual_time),
        (vec!["fall back to custom:second after RateLimit".to_owned()], Duration::ZERO)
    );
}

/// The fault reported at the very end is that of the last provider asked, and nothing was asked twice too often.
#[tokio::test]
async fn a_chain_that_fails_throughout_ends_in_bounded_time() {
    let fail = |times: usize| ModelServer::start((0..times).map(|_| Move::status(503)).collect::<Vec<_>>());
    let (first, second, third) = (fail(2).await, fail(2).await, fail(3).await);
    let told = chain(&first, &second, &third).ask(question("hi")).await;
    assert_eq!(told.fault().kind, FaultKind::Overloaded);
    let requests = [&first, &second, &third].map(|server| server.model_requests().len());
    assert_eq!(requests, [2, 2, 3], "two tries where there is somewhere to go, all retries where there is not");
    assert!(told.virtual_time < Duration::from_secs(30), "{:?}", told.virtual_time);
}

/// What one request conceded need not be refused again in the next (promise P2).
#[tokio::test]
async fn a_concession_lasts_as_long_as_the_model() {
    let refusal = json!({"error": {"message": "Unsupported parameter", "param": "temperature", "code": "unsupported"}});
    let server = ModelServer::start([Move::status(400).body(refusal), Move::say("one"), Move::say("two")]).await;
    let mut conversation = Stage::at(&server, ApiMode::ChatCompletions).conversation().await;
    let warm = |text: &str| hermes_types::Request { temperature: Some(0.5), ..question(text) };
    assert_eq!(conversation.ask(warm("hi")).await.steps(), ["concede Temperature"]);
    let told = conversation.ask(warm("again")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("two", vec![]));
    let warmth: Vec<bool> =
        server.model_requests().iter().map(|request| request.json().get("temperature").is_some()).collect();
    assert_eq!(warmth, [true, false, false]);
}

/// A side job recovers with the keys of its own provider, never with those of the conversation's.
#[tokio::test]
async fn a_side_job_rotates_within_its_own_pool() {
    let main = ModelServer::start(Vec::new()).await;
    let side = ModelServer::start([Move::status(402), Move::say("a title")]).await;
    let config = json!({
        "model": {"provider": "custom:main", "default": "big"},
        "providers": {"main": {"base_url": main.base_url(), "api_key": "main-key-1"}},
        "auxiliary": {"title_generation": {"provider": "deepseek", "model": "deepseek-chat"}},
    });
    let stage = Stage::new(config)
        .env("DEEPSEEK_BASE_URL", &side.base_url())
        .auth(&deepseek_pool(&[row("one", "sk-ds-1111", 0, 0), row("two", "sk-ds-2222", 1, 0)]));
    let company = stage.company().await;
    let runtime = company.knowledge.resolve(&Ask::default()).expect("a runtime");
    let auxiliary = company.auxiliary();
    let reply = auxiliary.ask("title_generation", question("name it"), &runtime, &Stop::new()).await;
    auxiliary.settled().await;
    assert_eq!(reply.map(|reply| reply.text()), Ok("a title".to_owned()));
    assert_eq!(keys(&side), ["sk-ds-1111", "sk-ds-2222"]);
    assert_eq!(statuses(&stage, "deepseek")[0].1, json!("exhausted"));
}

/// An empty account is left alone by side jobs, which are many, for ten minutes.
#[tokio::test]
async fn a_side_job_does_not_knock_at_an_empty_account_again() {
    let clock = FakeClock::new();
    let main = ModelServer::start([Move::say("by main"), Move::say("by main again")]).await;
    let side = ModelServer::start([Move::status(402), Move::say("paid")]).await;
    let config = json!({
        "model": {"provider": "custom:main", "default": "big"},
        "providers": {
            "main": {"base_url": main.base_url(), "api_key": "main-key-1"},
            "side": {"base_url": side.base_url(), "api_key": "side-key-1"},
        },
        "auxiliary": {"title_generation": {"provider": "custom:side", "model": "small"}},
    });
    let company = Stage::new(config).clock(&clock).company().await;
    let (runtime, auxiliary) = (company.knowledge.resolve(&Ask::default()).expect("a runtime"), company.auxiliary());
    let mut said = Vec::new();
    for pause in [0, 599, 2] {
        clock.advance(Duration::from_secs(pause));
        let request = question(&format!("job after {pause} s"));
        let reply = auxiliary.ask("title_generation", request, &runtime, &Stop::new()).await;
        said.push(reply.expect("an answer").text());
    }
    assert_eq!(said, ["by main", "by main again", "paid"]);
}

/// The provider that rests is the one whose account was empty, also when others were passed over on the way.
#[tokio::test]
async fn the_provider_that_ran_dry_is_the_one_that_rests() {
    let clock = FakeClock::new();
    let main = ModelServer::start([Move::say("by main"), Move::say("by main")]).await;
    let (first, second) =
        (ModelServer::start([Move::status(404), Move::status(404)]).await, ModelServer::start(Move::status(402)).await);
    let entry = |server: &ModelServer, key: &str| json!({"base_url": server.base_url(), "api_key": key});
    let config = json!({
        "model": {"provider": "custom:main", "default": "big"},
        "providers": {
            "main": entry(&main, "main-key-1"), "first": entry(&first, "first-key"), "second": entry(&second, "second-key"),
        },
        "auxiliary": {"title_generation": {
            "provider": "custom:first", "model": "small",
            "fallback_chain": [{"provider": "custom:second", "model": "small"}],
        }},
    });
    let company = Stage::new(config).clock(&clock).company().await;
    let (runtime, auxiliary) = (company.knowledge.resolve(&Ask::default()).expect("a runtime"), company.auxiliary());
    let ask = async |text: &str| {
        let reply = auxiliary.ask("title_generation", question(text), &runtime, &Stop::new()).await;
        reply.map(|reply| reply.text())
    };
    assert_eq!(ask("one").await.as_deref(), Ok("by main"));
    // The second rests now; the first is asked again, because a missing model is no empty account.
    assert_eq!(ask("two").await.as_deref(), Ok("by main"));
    assert_eq!((first.model_requests().len(), second.model_requests().len()), (2, 1));
}
