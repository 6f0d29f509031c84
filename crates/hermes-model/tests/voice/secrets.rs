//! No secret reaches a host it is not bound to, on any path (promise P7; #28660, #91308, #14134).
//!
//! Every server here lives on a loopback address of its own, which to any client is another host, and says which key it
//! expects and which it must never see.

use crate::stage::{Company, Stage, Told, only, question};
use hermes_core::ask::{Line, Manner, Ports, ask};
use hermes_core::clock::RealClock;
use hermes_core::ports::Unrecorded;
use hermes_core::stop::Stop;
use hermes_model::board::Board;
use hermes_model::resolve::Ask;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, START, jwt};
use hermes_types::{Fault, FaultKind, Reply};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const AT_TWO: &str = "key-for-host-two";
const AT_THREE: &str = "key-for-host-three";
const AT_FOUR: &str = "key-for-host-four";
/// What lies around in an ordinary environment.
const LYING_AROUND: [(&str, &str); 6] = [
    ("OPENAI_API_KEY", "sk-openai-lying-around"),
    ("OPENROUTER_API_KEY", "sk-or-lying-around"),
    ("ANTHROPIC_API_KEY", "sk-ant-api-lying-around"),
    ("ANTHROPIC_TOKEN", "sk-ant-oat-lying-around"),
    ("GITHUB_TOKEN", "gho_lying_around"),
    ("DEEPSEEK_API_KEY", "sk-ds-lying-around"),
];

/// A server at 127.0.0.`host` that expects `key` (or none) and must not see any other.
async fn server(host: u8, key: Option<&str>, moves: impl IntoIterator<Item = Move>) -> ModelServer {
    let server = ModelServer::start_on(&format!("127.0.0.{host}"), moves.into_iter().collect::<Vec<_>>()).await;
    match key {
        Some(key) => server.expect_key(key),
        None => server.forbid_keys(),
    }
    let strangers = [AT_TWO, AT_THREE, AT_FOUR].into_iter().chain(LYING_AROUND.map(|(_, value)| value));
    strangers.filter(|stranger| Some(*stranger) != key).for_each(|stranger| server.never_show(stranger));
    server
}

fn entry(server: &ModelServer, key: Option<&str>) -> Value {
    let mut entry = json!({"base_url": server.base_url()});
    if let Some(key) = key {
        entry["api_key"] = json!(key);
    }
    entry
}

/// A stage where every other key lies around as well.
fn stage(config: Value) -> Stage {
    LYING_AROUND.iter().fold(Stage::new(config), |stage, (name, value)| stage.env(name, value))
}

#[tokio::test]
async fn the_main_model_sees_its_own_key_in_every_protocol() {
    for mode in ApiMode::ALL {
        let two = server(2, Some(AT_TWO), [Move::say("hello")]).await;
        let mut config = only(&two.base_url(), mode);
        config["providers"]["stage"]["api_key"] = json!(AT_TWO);
        stage(config).ask(question("hi")).await.reply();
        two.finish();
    }
}

/// An endpoint nobody gave a key for gets none, whatever is in the environment or in other entries.
#[tokio::test]
async fn a_custom_endpoint_without_a_key_gets_none() {
    let (two, three) = (server(2, None, [Move::say("hello")]).await, server(3, Some(AT_THREE), []).await);
    let config = json!({
        "model": {"base_url": two.base_url(), "default": "m"},
        "providers": {"three": entry(&three, Some(AT_THREE))},
    });
    stage(config).ask(question("hi")).await.reply();
    two.finish();

    let two = server(2, None, [Move::say("hello")]).await;
    let bare = json!({"model": {"default": "m"}});
    let stage = stage(bare).env("CUSTOM_BASE_URL", &two.base_url());
    stage.ask(question("hi")).await.reply();
    two.finish();
}

/// A vendor's key goes where the person moved the vendor, and not along when another provider is asked.
#[tokio::test]
async fn a_vendors_key_follows_the_vendor_alone() {
    let two = ModelServer::start_on("127.0.0.2", Move::status(500)).await;
    two.expect_key("sk-ds-lying-around");
    let three = server(3, Some(AT_THREE), [Move::say("hello")]).await;
    two.extend(Move::status(500));
    let config = json!({
        "model": {"provider": "deepseek", "default": "deepseek-chat"},
        "providers": {"three": entry(&three, Some(AT_THREE))},
        "fallback_model": {"provider": "custom:three", "model": "m"},
    });
    stage(config).env("DEEPSEEK_BASE_URL", &two.base_url()).ask(question("hi")).await.reply();
    two.finish();
    three.finish();
}

#[tokio::test]
async fn each_place_of_a_chain_sees_its_own_key() {
    let two = server(2, Some(AT_TWO), [Move::status(402)]).await;
    let three = server(3, Some(AT_THREE), [Move::status(401)]).await;
    let four = server(4, Some(AT_FOUR), [Move::status(404)]).await;
    let five = server(5, None, [Move::say("for nothing")]).await;
    let config = json!({
        "model": {"provider": "custom:two", "default": "m2"},
        "providers": {
            "two": entry(&two, Some(AT_TWO)),
            "three": entry(&three, Some(AT_THREE)),
            "five": entry(&five, None),
        },
        "fallback_providers": [
            {"provider": "custom:three", "model": "m3"},
            {"provider": "custom", "model": "m4", "base_url": four.base_url(), "api_key": AT_FOUR},
            {"provider": "custom:five", "model": "m5"},
        ],
    });
    assert_eq!(stage(config).ask(question("hi")).await.outcome(), "for nothing");
    [two, three, four, five].into_iter().for_each(ModelServer::finish);
}

async fn side_job(company: &Company, task: &str) -> Result<Reply, Fault> {
    let main = company.knowledge.resolve(&Ask::default()).expect("a runtime");
    company.auxiliary().ask(task, question("a side job"), &main, &Stop::new()).await
}

#[tokio::test]
async fn side_jobs_take_their_own_keys_along_and_nobody_elses() {
    // Its own endpoint and key; when that fails, the conversation's model with the conversation's key.
    let two = server(2, Some(AT_TWO), [Move::say("by the main model")]).await;
    let three = server(3, Some(AT_THREE), [Move::status(404)]).await;
    // Its own endpoint without a key.
    let four = server(4, None, [Move::say("for nothing")]).await;
    let config = json!({
        "model": {"provider": "custom:two", "default": "m2"},
        "providers": {"two": entry(&two, Some(AT_TWO))},
        "auxiliary": {
            "title_generation": {"base_url": three.base_url(), "api_key": AT_THREE, "model": "small"},
            "approval": {"base_url": four.base_url(), "model": "small"},
        },
    });
    let company = stage(config).company().await;
    assert_eq!(side_job(&company, "title_generation").await.expect("an answer").text(), "by the main model");
    assert_eq!(side_job(&company, "approval").await.expect("an answer").text(), "for nothing");
    [two, three, four].into_iter().for_each(ModelServer::finish);
}

/// A side job's key that is refused is not replaced by the key of another endpoint of the same kind.
#[tokio::test]
async fn a_side_job_never_rotates_to_another_endpoint() {
    let two = server(2, Some(AT_TWO), []).await;
    let three = server(3, Some(AT_THREE), [Move::status(401)]).await;
    let config = json!({
        "model": {"provider": "custom", "base_url": two.base_url(), "api_key": AT_TWO, "default": "m2"},
        "auxiliary": {"approval": {"base_url": three.base_url(), "api_key": AT_THREE, "model": "small"}},
    });
    let company = stage(config).company().await;
    let main = company.knowledge.resolve(&Ask::default()).expect("a runtime");
    // With the conversation's model out of reach there is nothing left to try.
    let elsewhere = hermes_model::resolve::Runtime { base_url: three.base_url().parse().unwrap(), ..main };
    let fault = company.auxiliary().ask("approval", question("hi"), &elsewhere, &Stop::new()).await;
    assert_eq!(fault.map_err(|fault| fault.kind).map(|reply| reply.text()), Err(FaultKind::WrongOrigin));
    [two, three].into_iter().for_each(ModelServer::finish);
}

/// A stored key goes to the endpoint it was stored for.
#[tokio::test]
async fn a_pool_is_bound_to_its_endpoint() {
    let three = server(3, Some(AT_THREE), [Move::status(402)]).await;
    let four = server(4, None, []).await;
    let row = |id: &str, key: &str, base_url: String| json!({"id": id, "auth_type": "api_key", "source": "manual", "access_token": key, "base_url": base_url});
    let rows = [row("here", AT_THREE, three.base_url()), row("elsewhere", AT_FOUR, four.base_url())];
    let config = json!({"model": {"provider": "custom:three", "default": "m"},
        "providers": {"three": {"base_url": three.base_url()}}});
    let stage = stage(config).auth(&json!({"credential_pool": {"custom:three": rows}}));
    // The key of the other host is no spare key for this one.
    assert_eq!(stage.ask(question("hi")).await.fault().kind, FaultKind::Billing);
    [three, four].into_iter().for_each(ModelServer::finish);
}

fn keyed(server: &ModelServer) -> Stage {
    let mut entry = entry(server, Some(AT_TWO));
    entry["extra_headers"] = json!({"x-team": "team-secret"});
    stage(json!({"model": {"provider": "custom:two", "default": "m"}, "providers": {"two": entry}}))
}

#[tokio::test]
async fn a_redirect_to_another_host_is_refused_before_a_byte_leaves() {
    let three = server(3, None, []).await;
    let two = server(2, Some(AT_TWO), []).await;
    two.extend(Move::redirect(&format!("{}/chat/completions", three.base_url())));
    let fault = keyed(&two).ask(question("hi")).await.fault();
    assert_eq!(fault.kind, FaultKind::WrongOrigin, "{fault}");
    assert!(fault.message.contains("127.0.0.2") && fault.message.contains("127.0.0.3"), "{fault}");

    // Without a key it is still the conversation of a person who chose the first host.
    let keyless = server(2, None, []).await;
    keyless.extend(Move::redirect(&format!("{}/chat/completions", three.base_url())));
    let told = stage(json!({"model": {"base_url": keyless.base_url(), "default": "m"}})).ask(question("hi")).await;
    assert_eq!(told.fault().kind, FaultKind::WrongOrigin);

    assert_eq!(three.requests().len(), 0, "the other host heard nothing");
    [two, three, keyless].into_iter().for_each(ModelServer::finish);
}

#[tokio::test]
async fn a_redirect_at_home_is_followed_with_the_key_and_another_port_is_not_home() {
    let two = server(2, Some(AT_TWO), [Move::redirect("/v2/chat/completions"), Move::say("moved")]).await;
    let told = keyed(&two).ask(question("hi")).await;
    assert_eq!((told.outcome().as_str(), told.steps()), ("moved", vec![]));
    let paths: Vec<String> = two.model_requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/chat/completions", "/v2/chat/completions"]);
    assert!(two.model_requests().iter().all(|request| request.header("x-team") == Some("team-secret")));

    let neighbour = server(2, None, []).await;
    neighbour.never_show("team-secret");
    two.extend(Move::redirect(&format!("{}/chat/completions", neighbour.base_url())));
    assert_eq!(keyed(&two).ask(question("again")).await.fault().kind, FaultKind::WrongOrigin);
    assert_eq!(neighbour.requests().len(), 0);
    [two, neighbour].into_iter().for_each(ModelServer::finish);
}

/// Headers the person configured count as secrets.
#[tokio::test]
async fn extra_headers_go_to_their_endpoint_alone() {
    let two = server(2, Some(AT_TWO), [Move::status(404), Move::status(404)]).await;
    let three = server(3, Some(AT_THREE), [Move::status(404)]).await;
    let four = server(4, None, [Move::say("hello"), Move::say("hello again")]).await;
    for (server, own) in [(&two, "secret-of-two"), (&three, "secret-of-three"), (&four, "")] {
        let foreign = ["secret-of-two", "secret-of-three"].into_iter().filter(|other| *other != own);
        foreign.for_each(|foreign| server.never_show(foreign));
    }
    let mut entries = json!({"two": entry(&two, Some(AT_TWO)), "three": entry(&three, Some(AT_THREE))});
    entries["two"]["extra_headers"] = json!({"x-team": "secret-of-two"});
    entries["three"]["headers"] = json!({"x-team": "secret-of-three"});
    let config = json!({
        "model": {"provider": "custom:two", "default": "m2"},
        "providers": entries,
        "fallback_providers": [
            {"provider": "custom:three", "model": "m3"},
            {"provider": "custom", "model": "m4", "base_url": four.base_url()},
        ],
    });
    assert_eq!(stage(config).ask(question("hi")).await.outcome(), "hello");
    assert_eq!(two.model_requests()[0].header("x-team"), Some("secret-of-two"));
    assert_eq!(three.model_requests()[0].header("x-team"), Some("secret-of-three"));

    // The same kind of provider at another address is another place.
    let config = json!({
        "model": {"provider": "custom", "base_url": two.base_url(), "api_key": AT_TWO, "default": "m2",
            "extra_headers": {"x-team": "secret-of-two"}},
        "fallback_model": {"provider": "custom", "model": "m4", "base_url": four.base_url()},
    });
    assert_eq!(stage(config).ask(question("again")).await.outcome(), "hello again");
    assert_eq!(two.model_requests()[1].header("x-team"), Some("secret-of-two"));
    [two, three, four].into_iter().for_each(ModelServer::finish);
}

/// A server that repeats the key in its complaint does not make us repeat it.
#[tokio::test]
async fn what_is_told_about_a_fault_shows_no_key() {
    const KEY: &str = "sk-proj-0123456789abcdefghijABCDEFGHIJ";
    for mode in ApiMode::ALL {
        let complaint =
            json!({"error": {"message": format!("Incorrect API key provided: {KEY}."), "code": "invalid_api_key"}});
        let server = ModelServer::start([
            Move::status(401).body(&complaint),
            Move::status(500).body(format!("upstream said: Authorization: Bearer {KEY}")),
            Move::say("x").fail_after(1, "server_error", &format!("bad key {KEY}")),
            Move::say("fine"),
        ])
        .await;
        let mut config = only(&server.base_url(), mode);
        config["providers"]["stage"]["api_key"] = json!(KEY);
        let mut conversation = Stage::new(config).conversation().await;
        let refused = conversation.ask(question("hi")).await;
        assert_eq!(refused.fault().kind, FaultKind::Auth);
        let answered = conversation.ask(question("again")).await;
        assert_eq!(answered.outcome(), "fine");
        let told = format!("{refused:?} {answered:?} {:?}", conversation.company.knowledge.resolve(&Ask::default()));
        assert!(!told.contains("0123456789abcdefghij"), "{mode}: {told}");
    }
}

/// A login server that points elsewhere does not get a refresh token delivered there, not even on the same host.
#[tokio::test]
async fn a_refresh_token_follows_no_redirect() {
    for host in [1, 3] {
        let elsewhere = server(host, None, []).await;
        let told = refused_by_portal(&format!("{}/oauth/token", elsewhere.root_url())).await;
        assert_eq!(elsewhere.requests().len(), 0, "{}", told.outcome());
        assert_eq!(told.fault().kind, FaultKind::WrongOrigin, "{}", told.outcome());
        elsewhere.finish();
    }
}

/// A call with a login that is refused, and whose login server points to `location`.
async fn refused_by_portal(location: &str) -> Told {
    let portal = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let root = format!("http://{}", portal.local_addr().unwrap());
    let location = location.to_owned();
    let pointing = tokio::spawn(async move {
        loop {
            let (mut socket, _) = portal.accept().await.expect("a connection");
            let _asked = socket.read(&mut [0; 4096]).await.expect("a request");
            let answer = format!("HTTP/1.1 307 Elsewhere\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
            socket.write_all(answer.as_bytes()).await.expect("written");
        }
    });
    let model = ModelServer::start(Move::status(401)).await;
    let access = jwt(&json!({"exp": START + 9_000}));
    let stage = Stage::new(json!({"model": {"provider": "openai-codex", "default": "gpt-5.4"}}))
        .env("HERMES_CODEX_BASE_URL", &model.base_url())
        .auth(&json!({"providers": {"openai-codex": {
            "tokens": {"access_token": access, "refresh_token": "refresh-token-of-two"}}}}))
        .logins_at(&root);
    let told = stage.ask(question("hi")).await;
    pointing.abort();
    told
}

/// Tells a run of this binary that it is the one behind the proxy, and where the local server is.
const BEHIND_PROXY: &str = "HERMES_TEST_BEHIND_PROXY";

/// A proxy is for the world outside, whoever was asked first. The environment of a test cannot be changed while others
/// run, so the binary runs this test once more with the variable set.
#[tokio::test]
async fn a_proxy_hears_nothing_of_what_is_said_to_this_machine() {
    if let Ok(local) = std::env::var(BEHIND_PROXY) {
        return behind_proxy(&local).await;
    }
    let proxy = server(2, Some(AT_TWO), [Move::say("by the proxy")]).await;
    let local = server(1, Some(AT_THREE), [Move::say("directly")]).await;
    let ran = tokio::process::Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "secrets::a_proxy_hears_nothing_of_what_is_said_to_this_machine", "--nocapture"])
        .env("http_proxy", proxy.root_url())
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .env(BEHIND_PROXY, local.base_url())
        .output()
        .await
        .expect("this binary runs");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let hosts: Vec<String> = proxy.requests().into_iter().map(|request| request.host).collect();
    assert_eq!((hosts, local.requests().len()), (vec!["far-away.test".to_owned()], 1));
    [proxy, local].into_iter().for_each(ModelServer::finish);
}

async fn behind_proxy(local: &str) {
    let config = json!({
        "model": {"provider": "custom:far", "default": "m"},
        "providers": {
            "far": {"base_url": "http://far-away.test/v1", "api_key": AT_TWO},
            "near": {"base_url": local, "api_key": AT_THREE},
        },
    });
    let stage = Stage::new(config);
    let company = stage.company().await;
    let (auth, transport) = (company.auth.clone(), company.transport.clone());
    let knowledge = company.knowledge.clone();
    assert_eq!(company.conversation().ask(question("far")).await.outcome(), "by the proxy");
    let near = Ask { provider: Some("custom:near".into()), model: Some("m".into()), ..Ask::default() };
    let near = Board::new(near, knowledge, auth, transport);
    let ports = Ports { switchboard: &near, clock: &RealClock::default(), listener: &|_| {}, recorder: &Unrecorded };
    let manner = Manner { retries: 0, live: false, seed: 0 };
    let reply = ask(question("near"), &mut Line::default(), manner, &ports, &Stop::new()).await;
    assert_eq!(reply.expect("an answer").text(), "directly");
}
