//! `vision_analyze`: where pictures come from, who looks at them, and what is told when nobody can.

use super::site::{Say, Site, page};
use super::stage::{Plan, Stage};
use base64::Engine as _;
use hermes_types::{Concession, Content, Fault, FaultKind, PartView};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A red dot.
const DOT: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

fn dot() -> Vec<u8> {
    base64::engine::general_purpose::STANDARD.decode(DOT).expect("a picture")
}

fn stage(says: Vec<Result<&'static str, Fault>>) -> Stage {
    Stage::build(Plan { config: json!({"security": {"allow_private_urls": true}}), says, ..Plan::default() })
}

async fn look(stage: &Stage, image_url: &str) -> Value {
    stage.call("vision_analyze", json!({"image_url": image_url, "question": "What is this?"})).await
}

#[tokio::test]
async fn a_picture_from_anywhere_is_shown_to_the_model_for_that_job() {
    let tries = AtomicUsize::new(0);
    let site = Site::start(move |_| match tries.fetch_add(1, Ordering::Relaxed) {
        0 => Say::Break,
        _ => page("image/png", dot()),
    })
    .await;
    let stage = stage(vec![Ok("A red dot."); 4]);
    std::fs::write(stage.project().join("dot.png"), dot()).expect("written");
    let file = format!("file://{}", stage.project().join("dot.png").display());
    for place in ["dot.png", &file, &site.url("/dot.png"), &format!("data:image/png;base64,{DOT}")] {
        assert_eq!(look(&stage, place).await, json!({"success": true, "analysis": "A red dot."}), "{place}");
    }
    assert_eq!(site.asked().len(), 2, "a connection that broke is tried again");
    for (task, request) in stage.aide.asked.lock().expect("asked").iter() {
        assert_eq!((task.as_str(), request.temperature, request.max_output_tokens), ("vision", Some(0.1), Some(2_000)));
        let Some(Content::Parts(parts)) = request.messages[1].content() else { panic!("{request:?}") };
        let views: Vec<PartView<'_>> = parts.iter().map(hermes_types::Part::view).collect();
        let url = format!("data:image/png;base64,{DOT}");
        assert_eq!(views, [PartView::Text("What is this?"), PartView::Image { url: &url, detail: None }]);
    }
}

#[tokio::test]
async fn a_path_is_checked_like_every_path() {
    let stage = stage(Vec::new());
    std::fs::write(stage.project().join(".env"), "KEY=x").expect("written");
    std::os::unix::fs::symlink(stage.project().join(".env"), stage.project().join("cat.png")).expect("a link");
    std::fs::write(stage.project().join("notes.txt"), "words").expect("written");
    for (place, words) in [
        (".env", ".env"),
        ("cat.png", ".env"),
        ("/dev/zero", "/dev/zero"),
        ("missing.png", "File not found: missing.png"),
        (".", "is a directory"),
        ("notes.txt", "This is text, no picture."),
        ("data:image/png,xx", "not in base64"),
        ("data:image/png;base64,%%%", "cannot be read"),
        ("http://169.254.169.254/cat.png", "never fetched"),
    ] {
        let told = look(&stage, place).await;
        assert!(told["error"].as_str().is_some_and(|error| error.contains(words)), "{place}: {told}");
    }
    assert!(stage.aide.asked.lock().expect("asked").is_empty(), "nobody was shown anything");
}

#[tokio::test]
async fn a_model_that_could_not_look_is_never_taken_at_its_word() {
    let cases = [
        (Ok("NO PICTURE."), "does not see pictures"),
        (Ok("  "), "said nothing"),
        (Err(Fault::new(FaultKind::Billing, "402")), "has no credit"),
        (Err(Fault::new(FaultKind::Refused(Concession::Images), "blind")), "does not see pictures"),
        (Err(Fault::new(FaultKind::BadRequest, "odd")), "smaller one"),
    ];
    for (says, words) in cases {
        let told = look(&stage(vec![says]), &format!("data:image/png;base64,{DOT}")).await;
        assert_eq!(told["success"], false, "{told}");
        assert!(told["analysis"].as_str().is_some_and(|analysis| analysis.contains(words)), "{told}");
        assert!(told["error"].as_str().is_some(), "{told}");
    }
}

#[tokio::test]
async fn a_picture_that_is_too_large_is_not_fetched_to_its_end() {
    let site = Site::start(|_| Say::Flood(300 << 20)).await;
    let told = look(&stage(Vec::new()), &site.url("/big.png")).await;
    assert_eq!(told["error"], "The picture is larger than 50 MB.");
    assert!(site.sent() < 120 << 20, "{} bytes were taken", site.sent());
}

#[tokio::test]
async fn a_model_that_sees_pictures_in_results_looks_for_itself() {
    let stage = stage(Vec::new());
    stage.desk.sight.set(hermes_tools::desk::Pictures::Seen);
    let asked = json!({"image_url": format!("data:image/png;base64,{DOT}"), "question": "What is this?"});
    let finished = stage.finished("vision_analyze", asked).await;
    let Content::Parts(parts) = &finished.content else { panic!("{finished:?}") };
    let url = format!("data:image/png;base64,{DOT}");
    assert!(parts.iter().any(|part| part.view() == PartView::Image { url: &url, detail: None }), "{parts:?}");
    assert!(finished.content.text().contains("What is this?"), "{finished:?}");
    assert!(stage.aide.asked.lock().expect("asked").is_empty(), "nobody else is asked");
}
