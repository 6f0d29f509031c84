//! What the model gets to read: the prompt, standard input, images.

use super::*;
use hermes_testkit::Move;
use serde_json::json;

/// Runs a line of shell and returns what the model was asked.
async fn read_by_model(line: &str) -> serde_json::Value {
    let server = ModelServer::start(Move::say("read")).await;
    let ran = shell(&home_at(&server), line).await;
    assert_eq!(told(&ran), (Some(0), "read\n", ""), "{line}");
    let content = asked(&server).remove(0)[0]["content"].clone();
    server.finish();
    content
}

#[tokio::test]
async fn what_is_piped_in_follows_the_prompt() {
    assert_eq!(
        read_by_model("printf '  indented\\nlines\\n\\n' | $0 -z 'review this'").await,
        "review this\n\n  indented\nlines"
    );
    assert_eq!(read_by_model("printf '' | $0 -z hi").await, "hi");
    assert_eq!(read_by_model("printf '\\n \\n' | $0 -z hi").await, "hi");
    assert_eq!(read_by_model("$0 -z hi </dev/null").await, "hi");
    assert_eq!(read_by_model("$0 -z hi <&-").await, "hi");
    assert_eq!(read_by_model("echo file >f; $0 -z hi <f").await, "hi\n\nfile");
    assert_eq!(read_by_model("(printf a; sleep 0.3; printf b) | $0 -z slow").await, "slow\n\nab");
}

#[tokio::test]
async fn a_dash_is_the_prompt_on_standard_input() {
    assert_eq!(read_by_model("echo 'what is this?' | $0 -z -").await, "what is this?");
    assert_eq!(read_by_model("echo 'what is this?' | $0 chat -q - 2>/dev/null").await, "what is this?");
}

#[tokio::test]
async fn bytes_that_are_no_text_are_marked_and_binary_is_refused() {
    assert_eq!(read_by_model("printf 'caf\\351 au lait' | $0 -z hi").await, "hi\n\ncaf� au lait");
    let binary = "hermes -z: standard input is not text; an image can be attached with `--image FILE`\n";
    assert_eq!(told(&shell(&nowhere(), "printf 'a\\000b' | $0 -z hi").await), (Some(2), "", binary));
}

#[tokio::test]
async fn a_large_input_arrives_whole_and_a_huge_one_is_refused_before_anything_is_sent() {
    let text = read_by_model("head -c 4000000 /dev/zero | tr '\\0' x | $0 -z hi").await;
    assert_eq!(text.as_str().map(str::len), Some("hi\n\n".len() + 4_000_000));
    let refused = shell(&nowhere(), "head -c 16777217 /dev/zero | tr '\\0' x | $0 -z hi").await;
    let message = "hermes -z: standard input is larger than 16 MiB; send the part that matters, for example through `tail -c 1M`\n";
    assert_eq!(told(&refused), (Some(2), "", message));
    let endless = shell(&nowhere(), "yes | $0 -z hi").await;
    assert_eq!(told(&endless), (Some(2), "", message));
}

#[tokio::test]
async fn nothing_to_ask_is_wrong_usage() {
    for (line, message) in [
        ("$0 -z ''", "hermes -z: the prompt is empty\n"),
        ("echo context | $0 -z '  '", "hermes -z: the prompt is empty\n"),
        ("printf '' | $0 -z -", "hermes -z: the prompt is `-`, but nothing came in on standard input\n"),
    ] {
        assert_eq!(told(&shell(&nowhere(), line).await), (Some(2), "", message), "{line}");
    }
}

#[tokio::test]
async fn input_that_never_ends_is_explained() {
    let ran = shell(&nowhere(), "sleep 3 | $0 -z hi").await;
    let (reminder, rest) = ran.stderr.split_once('\n').expect("two lines at least");
    assert_eq!(reminder, "… reading standard input; add `</dev/null` if there is none");
    assert!(rest.starts_with("hermes -z: no model is set up"), "{rest}");
}

#[tokio::test]
async fn images_go_along_and_other_files_do_not() {
    let server = ModelServer::start(Move::say("a dot")).await;
    let world = home_at(&server);
    std::fs::write(world.work_dir().join("dot.png"), b"\x89PNG\r\n").expect("written");
    std::fs::write(world.work_dir().join("notes.txt"), "notes").expect("written");
    let ran = hermes(&world, &["-z", "what is this?", "--image", "dot.png"]).await;
    assert_eq!(told(&ran), (Some(0), "a dot\n", ""));
    assert_eq!(
        asked(&server),
        [json!([{"role": "user", "content": [
            {"type": "text", "text": "what is this?"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
        ]}])]
    );
    let other = hermes(&world, &["chat", "-q", "hi", "--image", "notes.txt"]).await;
    assert_eq!(told(&other), (Some(2), "", "hermes chat: image notes.txt: not a PNG, JPEG, GIF or WebP file\n"));
    let missing = hermes(&world, &["chat", "-q", "hi", "--image", "gone.png"]).await.expect_code(2);
    assert!(missing.stderr.starts_with("hermes chat: image gone.png: No such file"), "{}", missing.stderr);
    server.finish();
}
