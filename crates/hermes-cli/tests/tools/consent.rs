//! Who may do what: rules, lists, modes, and the answers of a person.

use super::person::Person;
use super::*;
use hermes_testkit::golden;
use serde_json::json;

const QUESTION: &str = " s) > ";

/// Something that needs consent, does no harm here, and can be seen afterwards.
fn dangerous(world: &World) -> Value {
    std::fs::create_dir_all(world.work_dir().join("build/deep")).expect("a folder");
    json!({"command": "rm -rf build"})
}

fn is_there(world: &World) -> bool {
    world.work_dir().join("build").exists()
}

#[tokio::test]
async fn a_yes_holds_once_and_a_no_holds() {
    for (keys, code, stays) in [("o\n", 0, false), ("\n", 1, true), ("d\n", 1, true), ("\u{4}", 1, true)] {
        let world = world();
        let mut person = Person::calling(&world, "terminal", &dangerous(&world));
        person.sees("rm -rf build").await.sees(QUESTION).await.types(keys).await;
        let (ended, seen) = person.leaves().await;
        assert_eq!((ended, is_there(&world)), (Some(code), stays), "{keys:?}\n{seen}");
        assert_eq!(config(&world), "", "nothing was written down");
    }
}

#[tokio::test]
async fn what_is_no_answer_is_asked_again_and_what_was_typed_before_does_not_count() {
    let world = world();
    let mut person = Person::calling(&world, "terminal", &dangerous(&world));
    person.types("o\n").await.sees(QUESTION).await.types("maybe\n").await;
    person.sees("That is none of the answers.").await.sees(QUESTION).await.types("no\n").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, is_there(&world)), (Some(1), true), "{seen}");
}

#[tokio::test]
async fn always_is_written_down_beside_the_comments_and_holds_for_scripts() {
    let world = world().config("# mine\nmodel: {default: m} # stays\ncommand_allowlist:\n  - git push * # daily\n");
    let arguments = dangerous(&world);
    let refused = call(&world, "terminal", &arguments).await.expect_code(1);
    assert_eq!(result(&refused)["status"], "blocked");
    let mut person = Person::calling(&world, "terminal", &arguments);
    person.sees(QUESTION).await.types("a\n").await;
    assert_eq!(person.leaves().await.0, Some(0));
    let written =
        "# mine\nmodel: {default: m} # stays\ncommand_allowlist:\n  - git push * # daily\n  - recursive delete\n";
    assert_eq!(config(&world), written);
    let arguments = dangerous(&world);
    call(&world, "terminal", &arguments).await.expect_code(0);
    assert!(!is_there(&world));
}

#[tokio::test]
async fn silence_is_no_consent() {
    let world = world().config("approvals:\n  timeout: 1\n");
    let mut person = Person::calling(&world, "terminal", &dangerous(&world));
    person.sees("(deny after 1 s) > ").await.sees("No answer: it does not run.").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, is_there(&world)), (Some(1), true), "{seen}");
    assert!(seen.contains("silence is no consent"), "{seen}");
}

#[tokio::test]
async fn an_interrupted_question_is_a_no() {
    let world = world();
    let mut person = Person::calling(&world, "terminal", &dangerous(&world));
    person.sees(QUESTION).await.types("\u{3}").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, is_there(&world)), (Some(130), true), "{seen}");
}

/// What is asked is what runs: nothing a terminal would obey or hide, and all of it on demand.
#[tokio::test]
async fn a_question_hides_nothing() {
    let world = world();
    let mut lines: Vec<String> = (0..300).map(|at| format!("echo line {at}")).collect();
    lines[150] = "rm -rf build # \u{1b}[2K\u{202e}\u{200b}".to_owned();
    let _ = dangerous(&world);
    let mut person = Person::calling(&world, "terminal", &json!({"command": lines.join("\n")}));
    person.sees("echo line 0").await.sees("v shows all of it").await.sees("echo line 299").await;
    person.sees(QUESTION).await.types("v\n").await;
    person.sees("rm -rf build # ⟨ESC⟩[2K⟨U+202E⟩⟨U+200B⟩").await.sees(QUESTION).await.types("n\n").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, is_there(&world)), (Some(1), true));
    assert!(!seen.contains('\u{202e}') && !seen.contains("\u{1b}[2K"), "{seen:?}");
}

#[tokio::test]
async fn the_question_is_one_a_person_can_read() {
    let world = world();
    let mut person = Person::calling(&world, "terminal", &dangerous(&world));
    person.sees(QUESTION).await.types("d\n").await;
    let (_, seen) = person.leaves().await;
    let seen = seen.replace(&world.home().display().to_string(), "~");
    assert!(seen.lines().all(|line| line.chars().count() <= 80 || line.starts_with('{')), "{seen}");
    golden("tests/golden/tools/question.txt", &seen);
}

#[tokio::test]
async fn rules_lists_and_modes_decide_where_nobody_is() {
    let (done, failed) = (0, 1);
    let table = [
        ("", "rm -rf build", failed),
        ("approvals:\n  allow: ['rm -rf build']\n", "rm -rf build", done),
        ("approvals:\n  allow: ['terminal(rm -rf *)']\n", "rm -rf build", done),
        ("approvals:\n  allow: ['rm -rf *']\n", "rm -rf build; rm -rf work", failed),
        ("approvals:\n  allow: ['rm *']\n  deny: ['rm -rf *']\n", "rm -rf build", failed),
        ("approvals:\n  allow: ['*']\n  ask: ['rm *']\n", "rm -rf build", failed),
        ("approvals:\n  ask: ['ls*']\n", "ls", failed),
        ("approvals:\n  deny: ['terminal(*)']\n", "true", failed),
        ("approvals:\n  mode: off\n", "rm -rf build", done),
        ("approvals:\n  mode: off\n  deny: ['rm *']\n", "rm -rf build", failed),
        ("command_allowlist: [recursive delete]\n", "rm -rf build", done),
        ("command_allowlist: ['rm -rf build']\n", "rm -rf build", done),
        ("command_allowlist: ['rm -rf build']\n", "rm -rf build && true", failed),
    ];
    for (settings, command, code) in table {
        let world = world().config(settings);
        let _ = dangerous(&world);
        let ran = call(&world, "terminal", &json!({"command": command})).await;
        assert_eq!(ran.code, Some(code), "{settings}{command}\n{}{}", ran.stdout, ran.stderr);
        if code == failed {
            assert!(result(&ran)["error"].as_str().is_some_and(|told| told.starts_with("BLOCKED")), "{}", ran.stdout);
            assert!(is_there(&world));
        }
    }
}

#[tokio::test]
async fn yolo_asks_nothing_and_still_obeys_the_owner_and_the_hard_line() {
    let world = world().config("approvals:\n  deny: ['git push *']\n").env("HERMES_YOLO_MODE", "1");
    let by_variable = dangerous(&world);
    call(&world, "terminal", &by_variable).await.expect_code(0);
    let world = super::world().config("approvals:\n  deny: ['git push *']\n");
    let arguments = dangerous(&world).to_string();
    hermes(&world, &["tools", "call", "terminal", &arguments, "--yolo"]).await.expect_code(0);
    assert!(!is_there(&world));
    for (command, told) in [("git push origin main", "the owner's rule"), ("rm -rf /", "hardline")] {
        let arguments = json!({"command": command}).to_string();
        let ran = hermes(&world, &["tools", "call", "terminal", &arguments, "--yolo"]).await.expect_code(1);
        assert!(result(&ran)["error"].as_str().is_some_and(|error| error.contains(told)), "{}", ran.stdout);
    }
}

#[tokio::test]
async fn the_model_asks_and_the_person_chooses() {
    let world = world();
    let question = json!({"question": "Which colour?", "choices": ["red", "blue"]});
    let mut person = Person::calling(&world, "clarify", &question);
    person.sees("Which colour?").await.sees("2 blue").await.sees("> ").await.types("2\n").await;
    let (code, seen) = person.leaves().await;
    assert_eq!(code, Some(0), "{seen}");
    assert!(seen.contains(r#""user_response":"blue""#), "{seen}");
}
