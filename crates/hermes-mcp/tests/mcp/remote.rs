//! Servers behind an address: both protocols, headers that stay at home, and logins.

use crate::stage::{Plan, Stage};
use hermes_mcp::settings::{self, ServerSettings};
use hermes_mcp::{Login, State};
use hermes_testkit::FakeClock;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

const REMOTE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/mcp/remote.py");

/// The scripted server, ended with the test.
struct Remote {
    child: Child,
    folder: PathBuf,
    port: u16,
}

impl Remote {
    fn start(folder: &Path, port: u16) -> Self {
        std::fs::create_dir_all(folder).unwrap();
        let mut command = Command::new("python3");
        command.arg(REMOTE).arg(folder).arg(port.to_string()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, folder: folder.to_owned(), port: line.trim().parse().unwrap() }
    }

    fn at(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    fn requests(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.folder.join("requests")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn set(&self, name: &str, value: &str) {
        std::fs::write(self.folder.join(name), value).unwrap();
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

/// A stage with the entry as its server `box`, and a home that lies at `home` already.
async fn stage(entry: Value) -> Stage {
    Stage::build(Plan::default(), |_| json!({"box": entry})).await
}

#[tokio::test]
async fn both_protocols_lead_to_the_same_tools() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    for (path, more) in [("/mcp", json!({})), ("/sse", json!({"transport": "sse"}))] {
        let mut entry = json!({"url": remote.at(path), "headers": {"X-Key": "hush"}});
        entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let stage = stage(entry).await;
        assert_eq!(stage.report().state, State::Ready, "{path}: {:?}", stage.report().trouble);
        assert_eq!(stage.call("echo", json!({"text": path})).await, json!({"result": path}));
        stage.close().await;
    }
    let with_key = remote.requests().iter().filter(|request| request["x-key"] == "hush").count();
    assert_eq!(with_key, remote.requests().len(), "every request carried the key");
}

#[tokio::test]
async fn an_answer_without_end_costs_the_call_and_no_memory() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    for (path, said, more) in [
        ("/mcp", "endless", json!({})),
        ("/mcp", "endless event", json!({})),
        ("/sse", "endless", json!({"transport": "sse"})),
    ] {
        let mut entry = json!({"url": remote.at(path), "timeout": 40});
        entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let stage = stage(entry).await;
        let told = stage.call("echo", json!({"text": said})).await;
        assert_eq!(told["outcome"], "unknown", "{path}, {said}: {told}");
        assert!(!told["error"].as_str().unwrap().contains("within 40 s"), "{path}, {said}: {told}");
        stage.becomes_ready().await;
        assert_eq!(stage.call("echo", json!({"text": "hi"})).await, json!({"result": "hi"}), "{path}, {said}");
        stage.close().await;
    }
}

#[tokio::test]
async fn headers_do_not_follow_a_redirect_to_another_origin() {
    let folder = tempfile::tempdir().unwrap();
    let home = Remote::start(&folder.path().join("home"), 0);
    let stranger = Remote::start(&folder.path().join("stranger"), 0);
    home.set("elsewhere", &stranger.at("/mcp"));
    let entry = json!({"url": home.at("/moved"), "headers": {"Authorization": "Bearer hush"}});
    let stage = stage(entry).await;
    assert_ne!(stage.report().state, State::Ready);
    let trouble = stage.report().trouble.unwrap();
    assert!(trouble.contains("it redirects to") && !trouble.contains("hush"), "{trouble}");
    assert_eq!(stranger.requests().len(), 0);
    stage.close().await;
    home.set("elsewhere", "/mcp");
    let stage = self::stage(json!({"url": home.at("/moved")})).await;
    assert_eq!(stage.report().state, State::Ready, "to the same origin it is followed: {:?}", stage.report().trouble);
    stage.close().await;
}

#[tokio::test]
async fn an_address_that_is_a_secret_is_not_told() {
    for more in [json!({}), json!({"transport": "sse"})] {
        let mut entry = json!({"url": "http://127.0.0.1:9/s/hush-hush-hush/mcp?hidden=quiet"});
        entry.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let stage = stage(entry).await;
        let trouble = stage.report().trouble.unwrap();
        assert!(trouble.contains("http://127.0.0.1:9)"), "{trouble}");
        assert!(!trouble.contains("hush") && !trouble.contains("quiet"), "{trouble}");
        stage.close().await;
    }
}

#[tokio::test]
async fn a_key_that_is_not_accepted_is_looked_for_in_the_headers() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    let stage = stage(json!({"url": remote.at("/locked"), "headers": {"Authorization": "Bearer wrong-wrong"}})).await;
    assert_eq!(stage.report().state, State::LoggedOut);
    let trouble = stage.report().trouble.unwrap();
    assert!(trouble.contains("check the key in its `headers`") && !trouble.contains("wrong-wrong"), "{trouble}");
    stage.close().await;
}

#[tokio::test]
async fn events_that_point_to_another_origin_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    remote.set("endpoint", "http://127.0.0.1:9/messages");
    let stage = stage(json!({"url": remote.at("/sse"), "transport": "sse"})).await;
    let trouble = stage.report().trouble.unwrap();
    assert!(trouble.contains("another place"), "{trouble}");
    stage.close().await;
}

#[tokio::test]
async fn a_server_that_restarts_is_found_again() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    let port = remote.port;
    let stage = stage(json!({"url": remote.at("/mcp")})).await;
    assert_eq!(stage.call("echo", json!({"text": "one"})).await, json!({"result": "one"}));
    drop(remote);
    let away = stage.call("echo", json!({"text": "two"})).await;
    assert!(away["error"].as_str().unwrap().contains("could not be reached"), "{away}");
    let _remote = Remote::start(folder.path(), port);
    assert_eq!(stage.call("echo", json!({"text": "three"})).await, json!({"result": "three"}));
    stage.close().await;
}

fn entry_of(url: &str) -> (Value, ServerSettings) {
    let entry = json!({"url": url, "auth": "oauth"});
    let found = settings::read(&json!({"mcp_servers": {"box": entry}}), &|_| None);
    (entry, found.servers.into_iter().next().unwrap())
}

/// The person's browser: opens the address and is sent back.
async fn browse(login: Login) {
    let address = login.address().to_owned();
    let (done, _) = tokio::join!(login.finish(std::future::pending()), async {
        let page = reqwest::get(&address).await.unwrap().text().await.unwrap();
        assert!(page.contains("it says whether the login worked"), "{page}");
    });
    done.unwrap();
}

#[tokio::test]
async fn a_login_is_made_once_kept_and_renewed() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(&folder.path().join("remote"), 0);
    let (entry, settings) = entry_of(&remote.at("/locked"));
    let stage = stage(entry.clone()).await;
    assert_eq!(stage.report().state, State::LoggedOut);
    assert!(stage.report().trouble.unwrap().contains("`hermes mcp login box`"));
    assert_eq!(remote.requests().len(), 0, "nothing was asked in the background");
    // Good for less than the time in which it counts as over, so the first use renews it.
    remote.set("lasts", "5");
    browse(Login::begin(&settings, &stage.home()).await.unwrap()).await;
    let file = stage.home().join("mcp-tokens/box.json");
    let before = std::fs::read_to_string(&file).unwrap();
    remote.set("lasts", "3600");
    let again = Stage::build_at(stage, |_| json!({"box": entry})).await;
    assert_eq!(again.report().state, State::Ready, "{:?}", again.report().trouble);
    assert_eq!(again.call("echo", json!({"text": "in"})).await, json!({"result": "in"}));
    assert_ne!(std::fs::read_to_string(&file).unwrap(), before, "it was renewed, and the new one kept");
    again.close().await;
}

#[tokio::test]
async fn a_login_is_for_the_address_it_was_made_at() {
    let folder = tempfile::tempdir().unwrap();
    let home = Remote::start(&folder.path().join("home"), 0);
    let stranger = Remote::start(&folder.path().join("stranger"), 0);
    // The stranger says that one logs in where the person has logged in already.
    stranger.set("authority", &home.at(""));
    let (entry, settings) = entry_of(&home.at("/locked"));
    let stage = stage(entry.clone()).await;
    browse(Login::begin(&settings, &stage.home()).await.unwrap()).await;
    let moved = Stage::build_at(stage, |_| json!({"box": entry_of(&stranger.at("/locked")).0})).await;
    assert_eq!(moved.report().state, State::LoggedOut, "{:?}", moved.report().trouble);
    let shown = stranger.requests().iter().filter(|request| !request["authorization"].is_null()).count();
    assert_eq!(shown, 0, "no token is shown to somebody else");
    assert!(moved.report().trouble.unwrap().contains("the login is for another address"));
    // A login at the new address that is begun and given up does not hand it over either.
    let elsewhere = entry_of(&stranger.at("/locked")).1;
    drop(Login::begin(&elsewhere, &moved.home()).await.unwrap());
    let again = Stage::build_at(moved, |_| json!({"box": entry_of(&stranger.at("/locked")).0})).await;
    assert_eq!(again.report().state, State::LoggedOut, "{:?}", again.report().trouble);
    let back = Stage::build_at(again, |_| json!({"box": entry})).await;
    assert_eq!(back.report().state, State::Ready, "it is kept: {:?}", back.report().trouble);
    back.close().await;
}

#[tokio::test]
async fn a_server_comes_back_when_somebody_has_logged_in() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(&folder.path().join("remote"), 0);
    let (entry, settings) = entry_of(&remote.at("/locked"));
    let clock = FakeClock::new();
    let plan = Plan { clock: Arc::new(clock.clone()), ..Plan::default() };
    let stage = Stage::build(plan, |_| json!({"box": entry})).await;
    assert_eq!(stage.report().state, State::LoggedOut);
    clock.advance(Duration::from_secs(60));
    assert_eq!(remote.requests().len(), 0, "nobody is bothered meanwhile");
    browse(Login::begin(&settings, &stage.home()).await.unwrap()).await;
    stage.passing(&clock, Duration::from_secs(2), || stage.report().state == State::Ready).await;
    assert_eq!(stage.call("echo", json!({"text": "in"})).await, json!({"result": "in"}));
    stage.close().await;
}

#[tokio::test]
async fn a_login_that_is_over_for_good_is_said_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(&folder.path().join("remote"), 0);
    let (entry, settings) = entry_of(&remote.at("/locked"));
    let stage = stage(entry.clone()).await;
    remote.set("lasts", "5");
    browse(Login::begin(&settings, &stage.home()).await.unwrap()).await;
    remote.set("closed", "yes");
    let again = Stage::build_at(stage, |_| json!({"box": entry})).await;
    again.becomes("logged out", |report| report.state == State::LoggedOut).await;
    assert!(again.report().trouble.unwrap().contains("`hermes mcp login box`"));
    again.close().await;
}

#[tokio::test]
async fn a_refusal_at_the_login_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let remote = Remote::start(folder.path(), 0);
    let (_, settings) = entry_of(&remote.at("/locked"));
    let home = tempfile::tempdir().unwrap();
    let login = Login::begin(&settings, home.path()).await.unwrap();
    let pasted = async { "http://127.0.0.1/callback?error=access_denied".to_owned() };
    let refused = tokio::time::timeout(Duration::from_secs(20), login.finish(pasted)).await.unwrap();
    assert_eq!(refused.unwrap_err().to_string(), "the login was refused: access_denied");
}
