//! `hermes demo` in a pipe: the same bytes every time, without a home, a key or a network.

use super::*;
use hermes_testkit::golden;

#[tokio::test]
async fn the_demo_is_the_same_every_time() {
    let world = nowhere();
    let ran = hermes(&world, &["demo"]).await.expect_code(0);
    golden("tests/oneshot/golden/demo.txt", &format!("{}--- stderr\n{}", ran.stdout, ran.stderr));
    let events = hermes(&world, &["demo", "--output-format", "stream-json"]).await.expect_code(0);
    let last: serde_json::Value = serde_json::from_str(events.stdout.lines().last().expect("events")).expect("JSON");
    let answer = last["text"].as_str().expect("an answer");
    assert!(ran.stdout.ends_with(answer), "{answer}");
    let left: Vec<_> = std::fs::read_dir(world.hermes_home()).expect("the home").collect();
    assert!(left.is_empty(), "the demo wrote {left:?}");
}
