//! `hermes sessions compress`, and `sessions cost --requests`, which shows what it did to the cache.

use super::*;

const SUMMARY: &str = "## Goal\nTo know the numbers.";

/// Three turns with long answers, and one question more behind the summary.
async fn conversation() -> (ModelServer, World, String) {
    let long = |word: &str| Move::say(&format!("{word} {}", "and so on and so forth ".repeat(400)));
    let server =
        ModelServer::start([long("One."), long("Two."), long("Three."), Move::say(SUMMARY), Move::say("Four.")]).await;
    let world = home_with(&server, "");
    hermes(&world, &["chat", "-Q", "-q", "Count. Never skip a number."]).await.expect_code(0);
    hermes(&world, &["chat", "-Q", "-c", "-q", "Next."]).await.expect_code(0);
    hermes(&world, &["chat", "-Q", "-c", "-q", "And next."]).await.expect_code(0);
    let listed = hermes(&world, &["sessions", "list", "--json"]).await.expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    (server, world, id)
}

#[tokio::test]
async fn a_person_has_a_conversation_made_shorter_and_goes_on_in_it() {
    let (server, world, id) = conversation().await;
    server.allow_prefix_break("compression");
    let ran = hermes(&world, &["sessions", "compress", &id, "the", "numbers"]).await.expect_code(0);
    let next = ran.stdout.trim().to_owned();
    assert_ne!(next, id);
    assert!(ran.stderr.contains("Asking rehearsal-model for a summary"), "{}", ran.stderr);
    assert!(ran.stderr.contains("with a summary by rehearsal-model"), "{}", ran.stderr);
    assert!(ran.stderr.contains(&format!("`hermes --resume {next}`")), "{}", ran.stderr);
    let asked = server.model_requests().pop().expect("somebody was asked");
    assert!(String::from_utf8_lossy(&asked.raw).contains("about this topic: the numbers"));

    // Whichever of its sessions is named, it goes on in the new one, with the rule of the person in its words.
    let ran = hermes(&world, &["chat", "-Q", "--resume", &id, "-q", "Go on."]).await.expect_code(0);
    assert_eq!(ran.stdout, "Four.\n");
    let asked = server.model_requests().pop().expect("somebody was asked");
    let sent = String::from_utf8_lossy(&asked.raw).into_owned();
    assert!(sent.contains("Never skip a number.") && sent.contains("To know the numbers."), "{sent}");
    assert!(!sent.contains("Two. and so on"), "what was summarised is not sent: {sent}");

    // The break has its price and its cause.
    let ran = hermes(&world, &["sessions", "cost", &next, "--requests", "--json"]).await.expect_code(0);
    let rows: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let told: Vec<[Value; 2]> =
        rows.as_array().expect("rows").iter().map(|row| ["task", "broken_by"].map(|key| row[key].clone())).collect();
    let conversation = || json!(["", null]);
    let summary = json!(["compression", null]);
    let broken = json!(["", "compression"]);
    assert_eq!(json!(told), json!([conversation(), conversation(), conversation(), summary, broken]));
    let shared = |at: usize| rows[at]["shared_bytes"].as_u64().unwrap_or_default();
    assert!(shared(2) > shared(1) && shared(4) > 1_000, "instructions and tools outlive it: {rows}");
    let table = hermes(&world, &["sessions", "cost", &next, "--requests"]).await.expect_code(0);
    assert!(table.stderr.contains("1 of 5 do not begin with the request before; 0 unexplained."), "{}", table.stderr);
    drop(server.take_violations());
}

#[tokio::test]
async fn what_cannot_be_made_shorter_is_said_and_stays() {
    let server = ModelServer::start(Move::say("Hello.")).await;
    let world = home_with(&server, "");
    hermes(&world, &["chat", "-Q", "-q", "Hello?"]).await.expect_code(0);
    let listed = hermes(&world, &["sessions", "list", "--json"]).await.expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    let ran = hermes(&world, &["sessions", "compress", &id]).await.expect_code(1);
    assert!(ran.stderr.contains("The conversation stays as it is: "), "{}", ran.stderr);
    let ran = hermes(&world, &["sessions", "compress", "nobody"]).await.expect_code(1);
    assert!(ran.stderr.contains("nobody"), "{}", ran.stderr);
    server.finish();
}
