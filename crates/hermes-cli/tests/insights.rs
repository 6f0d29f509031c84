//! `hermes insights` as a person types it: the real program on the file of the Python program, and on no file at all.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a stage that cannot be set up reports by a panic")]

use hermes_testkit::World;
use serde_json::{Value, json};

const HERMES: &str = env!("CARGO_BIN_EXE_hermes");
const PYTHON: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hermes-store/tests/store/fixtures/v22.db");
/// The file is of October 2025; this reaches back to it for as long as these tests will be run.
const LONG_AGO: &str = "20000";

#[tokio::test]
async fn looking_at_an_empty_home_says_so_and_leaves_it_empty() {
    let world = World::new();
    let ran = world.run(HERMES, &["insights"]).await.expect_code(0);
    assert_eq!(ran.stdout, "");
    let (first, next) = ran.stderr.split_once('\n').expect("two lines");
    assert!(first.starts_with("No conversations began in this time (") && first.ends_with(", 30 days)."), "{first}");
    assert_eq!(next, "Ask something with `hermes -z \"…\"`, or look further back with `hermes insights --days 365`.\n");
    let ran = world.run(HERMES, &["insights", "--json"]).await.expect_code(0);
    let told: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&told["sessions"], &told["cost_usd"], &told["days"]), (&json!(0), &json!(null), &json!(30)));
    assert!(!world.hermes_home().join("state.db").exists());
}

#[tokio::test]
async fn the_same_numbers_come_out_as_json_text_and_page() {
    let world = World::new().env("TZ", "UTC");
    std::fs::create_dir_all(world.hermes_home()).expect("a home");
    std::fs::copy(PYTHON, world.hermes_home().join("state.db")).expect("a copy");
    let json = world.run(HERMES, &["insights", "--days", LONG_AGO, "--json"]).await.expect_code(0);
    let told: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let counted = ["sessions", "messages", "tool_calls", "input_tokens", "cost_usd"].map(|key| told[key].clone());
    assert_eq!(counted, [json!(15), json!(49), json!(5), json!(2640), json!(0.0134)]);
    assert_eq!(told["local"]["weekdays"], json!([0, 0, 0, 49, 0, 0, 0]), "a Thursday");

    let text = world.run(HERMES, &["insights", "--days", LONG_AGO, "--source", "telegram"]).await.expect_code(0);
    let numbers: Vec<&str> = text.stdout.lines().nth(3).expect("numbers").split_whitespace().collect();
    assert_eq!(numbers, ["Conversations", "1", "Messages", "10"], "{}", text.stdout);

    let printed = world.run(HERMES, &["insights", "--days", LONG_AGO, "--html", "-"]).await.expect_code(0);
    let file = world.home().join("page.html");
    let shown = file.display().to_string();
    let ran = world.run(HERMES, &["insights", "--days", LONG_AGO, "--html", &shown]).await.expect_code(0);
    assert!(
        ran.stdout.is_empty() && ran.stderr.starts_with(&format!("Wrote {shown} (15 conversations, ")),
        "{}",
        ran.stderr
    );
    assert_eq!(std::fs::read_to_string(file).expect("a page"), printed.stdout);
}

#[tokio::test]
async fn a_wrong_command_line_is_told_as_such() {
    let world = World::new();
    for words in [&["insights", "--days", "0"][..], &["insights", "--json", "--html", "x"]] {
        let ran = world.run(HERMES, words).await.expect_code(2);
        assert_eq!(ran.stdout, "", "{words:?}");
    }
}
