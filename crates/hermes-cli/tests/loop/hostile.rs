//! Text from outside on its way to a terminal and to programs: it is shown, and does nothing there.

use super::*;

/// Sets the clipboard, clears the screen (also with one character), turns the direction of what follows.
const ACTS: &str = "a\u{1b}]52;c;aGk=\u{7}b\u{1b}[2Jc\u{9b}2Jd\u{202e}e";

/// What acts on a terminal besides the line about what is waited for and the ends of lines.
fn foreign_controls(screen: &str) -> String {
    screen
        .replace("\r\u{1b}[2K", "")
        .replace("\r\n", "\n")
        .chars()
        .filter(|c| c.is_control() && *c != '\n' || *c == '\u{202e}')
        .collect()
}

#[tokio::test]
async fn names_of_tools_and_files_do_nothing_to_the_terminal() {
    let server = ModelServer::start([
        Move::say("").call(&format!("{ACTS}\n✓ forged"), json!({})),
        Move::say("").call("terminal", json!({"command": format!("echo '{ACTS}'")})),
        Move::say(&ACTS.replace('\u{202e}', "")),
    ])
    .await;
    let world = home_at(&server).env("TERM", "xterm").env("NO_COLOR", "1");
    let rules = world.work_dir().join(".cursor/rules");
    std::fs::create_dir_all(&rules).expect("a folder");
    std::fs::write(rules.join(format!("{ACTS}.mdc")), b"\xff\xfe").expect("a rule that is no text");
    let ran = on_terminal(&world, 80, "chat -q hi").await.expect_code(0);
    assert_eq!(foreign_controls(&ran.stdout), "", "{:?}", ran.stdout);
    assert!(!ran.stdout.contains("\n✓ forged"), "{:?}", ran.stdout);
    let listed = hermes(&world, &["sessions", "list", "--json"]).await.expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    let id = listed[0]["id"].as_str().expect("a session");
    let (show, replay) = (format!("sessions show {id}"), format!("sessions replay {id}"));
    for command in ["prompt show", "prompt size", "sessions", &show, &replay] {
        let ran = on_terminal(&world, 80, command).await.expect_code(0);
        assert_eq!(foreign_controls(&ran.stdout), "", "{command}: {:?}", ran.stdout);
    }
    server.finish();
}

#[tokio::test]
async fn json_holds_no_character_that_acts() {
    let server = ModelServer::start([Move::say(ACTS), Move::say(ACTS)]).await;
    let world = home_at(&server);
    for format in ["json", "stream-json"] {
        let ran = hermes(&world, &["-z", "hi", "--output-format", format]).await.expect_code(0);
        assert!(!ran.stdout.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{:?}", ran.stdout);
        let last: Value = serde_json::from_str(ran.stdout.lines().last().unwrap_or_default()).expect("JSON");
        assert_eq!(last["text"], ACTS, "nothing of it is lost");
    }
    server.finish();
}

/// What was refused is named, with its secrets covered, on the screen and in the stream.
#[tokio::test]
async fn a_refused_command_is_named() {
    let command = "git reset --hard # sk-proj-Ab3dEf6hIj9kLm2nOp5q";
    let server = ModelServer::start([run(command), Move::say("No."), run(command), Move::say("No.")]).await;
    let world = home_with(&server, "approvals:\n  mode: manual\n");
    let ran = hermes(&world, &["chat", "-q", "go"]).await.expect_code(0);
    let line = ran.stderr.lines().next().unwrap_or_default();
    assert!(
        line.starts_with("⊘ terminal  git reset --hard # «redacted:sk-p…Op5q»  not permitted: nobody to ask ("),
        "{line}"
    );
    let ran = hermes(&world, &["-z", "once more", "--output-format", "stream-json"]).await.expect_code(0);
    let refused = ran.stdout.lines().find(|line| line.contains("tool_finished")).unwrap_or_default();
    let refused: Value = serde_json::from_str(refused).expect("JSON");
    assert_eq!(
        (&refused["status"], &refused["about"]),
        (&json!("blocked"), &json!("git reset --hard # «redacted:sk-p…Op5q»"))
    );
    server.finish();
}

#[tokio::test]
async fn an_interrupted_command_is_told_as_interrupted() {
    let server = ModelServer::start([run("touch begun; sleep 300")]).await;
    let world = home_at(&server);
    let child = world.command(HERMES, &["-z", "wait", "--output-format", "stream-json"]).spawn().expect("started");
    until(|| world.work_dir().join("begun").exists(), "the command did not begin").await;
    signal(&child, "-INT").await;
    let (ran, _) = end(child).await;
    assert_eq!(ran.code, Some(130), "{ran:?}");
    let ends: Vec<Value> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|event| event["type"] == "tool_finished")
        .collect();
    assert_eq!(ends.iter().map(|end| &end["status"]).collect::<Vec<_>>(), ["cancelled"], "{ran:?}");
    server.finish();
}
