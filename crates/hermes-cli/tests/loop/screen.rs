//! The loop on a real terminal: lines for calls, what is going on meanwhile, and a question in the middle of a turn.

use super::person::Person;
use super::*;
use std::num::NonZero;

const QUESTION: &str = " s) > ";
/// No model is consulted before.
const ASK_THE_PERSON: &str = "approvals:\n  mode: manual\n";

/// What is on the screen after all bytes have arrived.
fn shown(bytes: &str, columns: u16) -> Vec<String> {
    let cells = |count| NonZero::new(count).expect("a terminal has cells");
    let mut parser = vt100::Parser::new(cells(40), cells(columns), 0);
    parser.process(bytes.as_bytes());
    parser.screen().contents().lines().map(|line| line.trim_end().to_owned()).collect()
}

#[tokio::test]
async fn words_calls_and_the_way_on_are_lines_of_their_own() {
    const SPENT: &str = "… 2 calls, 240 tokens, price not known";
    let look =
        Move::say("Let me look.").call("terminal", json!({"command": "echo a && echo b # a long comment on it"}));
    let server = ModelServer::start([look, Move::say("Two lines.")]).await;
    let world = home_at(&server).env("TERM", "xterm");
    let ran = on_terminal(&world, 80, "chat -q hi").await.expect_code(0);
    let mut lines = shown(&ran.stdout, 80);
    let last = lines.pop().unwrap_or_default();
    let id = last.strip_prefix("… session ").and_then(|rest| rest.strip_suffix(" · to go on: hermes chat -c -q \"…\""));
    assert!(id.is_some_and(is_session_id), "{last}");
    let lines: Vec<&str> = lines.iter().map(|line| without_time(line)).collect();
    assert_eq!(lines, ["Let me look.", "✓ terminal  echo a && echo b # a long comment on it", "Two lines.", SPENT]);

    server.extend(Move::say("Still two."));
    let ran = on_terminal(&world, 80, "chat -c -q again").await.expect_code(0);
    let lines = shown(&ran.stdout, 80);
    assert_eq!(lines[..2], [format!("… going on with session {}", id.unwrap_or_default()), "Still two.".to_owned()]);
    assert_eq!(lines[2..], ["… 1 call, 120 tokens, price not known".to_owned(), last]);
    server.finish();

    let server = ModelServer::start([Move::say("Hello.")]).await;
    let ran = on_terminal(&home_at(&server).env("TERM", "xterm"), 80, "-z hi").await.expect_code(0);
    assert_eq!(shown(&ran.stdout, 80), ["Hello."], "-z is the answer and nothing else");
    server.finish();
}

#[tokio::test]
async fn a_call_is_one_line_on_a_narrow_screen_too() {
    let server = ModelServer::start([run("echo a && echo b # a long comment on it"), Move::say("Ok.")]).await;
    let world = home_at(&server).env("TERM", "xterm");
    let ran = on_terminal(&world, 40, "chat -q hi").await.expect_code(0);
    let lines = shown(&ran.stdout, 40);
    assert!(lines[0].starts_with("✓ terminal  echo a") && lines[0].chars().count() < 40, "{lines:?}");
    assert_eq!(lines[1], "Ok.", "{lines:?}");
    server.finish();
}

#[tokio::test]
async fn a_long_command_is_named_while_it_runs() {
    let sleep = Move::say("I will sleep.").call("terminal", json!({"command": "sleep 3.2"}));
    let server = ModelServer::start([sleep, Move::say("Slept.")]).await;
    let world = home_at(&server).env("TERM", "xterm");
    let ran = on_terminal(&world, 80, "-z hi").await.expect_code(0);
    assert!(ran.stdout.contains("… terminal sleep 3.2, 2 s (Ctrl-C stops)"), "{:?}", ran.stdout);
    let (said, rest) = ran.stdout.split_once("I will sleep.").expect("said");
    assert!(!said.contains("… terminal") && rest.contains("… terminal"), "no word waits for the work behind it");
    let lines = shown(&ran.stdout, 80);
    assert_eq!(lines.len(), 3, "no status is left behind: {lines:?}");
    assert_eq!(without_time(&lines[1]), "✓ terminal  sleep 3.2");
    assert!(lines[1].ends_with(" s"), "it took long enough for a number: {lines:?}");
    server.finish();
}

#[tokio::test]
async fn consent_is_asked_for_in_the_middle_of_a_turn() {
    let refused = "⊘ terminal  rm -rf build  not permitted: you said no";
    for (keys, stays, mark) in [("o\n", false, "✓ terminal  rm -rf build"), ("n\n", true, refused)] {
        let server = ModelServer::start([
            Move::say("I will clean up.").call("terminal", json!({"command": "rm -rf build"})),
            Move::say("That was it."),
        ])
        .await;
        let world = home_with(&server, ASK_THE_PERSON).env("TERM", "xterm").env("NO_COLOR", "1");
        std::fs::create_dir_all(world.work_dir().join("build/deep")).expect("a folder");
        let mut person = Person::at(&world, "chat -q 'clean up'");
        person.sees("I will clean up.").await.sees("rm -rf build").await.sees(QUESTION).await.types(keys).await;
        person.sees(mark).await.sees("That was it.").await;
        let (code, seen) = person.leaves().await;
        assert_eq!((code, world.work_dir().join("build").exists()), (Some(0), stays), "{seen}");
        server.finish();
    }
}

#[tokio::test]
async fn an_interrupt_at_a_question_is_no_consent() {
    let server = ModelServer::start([run("rm -rf build")]).await;
    let world = home_with(&server, ASK_THE_PERSON).env("TERM", "xterm").env("NO_COLOR", "1");
    std::fs::create_dir_all(world.work_dir().join("build/deep")).expect("a folder");
    let mut person = Person::at(&world, "chat -q 'clean up'");
    person.sees(QUESTION).await.types("\u{3}").await;
    person.sees("– terminal  rm -rf build  interrupted").await.sees("to go on: hermes --resume ").await;
    let (code, seen) = person.leaves().await;
    assert_eq!((code, world.work_dir().join("build").exists()), (Some(130), true), "{seen}");
    server.finish();
}

#[tokio::test]
async fn room_that_is_made_is_one_line_and_the_way_on_leads_behind_it() {
    let count = |from: u32| run(&format!("seq {from} {}", from + 1999)).no_usage();
    let counts = [1000, 3000, 5000, 7000].map(count).into_iter();
    let server = ModelServer::start(counts.chain([Move::say("All counted.").no_usage()]).collect::<Vec<_>>()).await;
    server.allow_prefix_break("compression");
    let world = home_with_window(&server, 28_000).env("TERM", "xterm").env("NO_COLOR", "1");
    let ran = on_terminal(&world, 80, "chat -q count").await.expect_code(0);
    let lines = shown(&ran.stdout, 80);
    let calls = lines.iter().take_while(|line| line.starts_with("✓ terminal  seq ")).count();
    let [room, answer, way] = &lines[calls..] else { panic!("{lines:?}") };
    assert!(room.starts_with("… made room: 1") && room.ends_with(" tokens (old results left out)"), "{room}");
    assert_eq!((calls, answer.as_str()), (4, "All counted."));
    let id = way.strip_prefix("… session ").and_then(|rest| rest.split_once(' ')).map(|(id, _)| id).expect("a session");
    let lineage = hermes(&world, &["sessions", "show", id]).await.expect_code(0);
    assert!(lineage.stdout.contains("[left out: "), "the session that goes on is the one with room: {lineage:?}");
    server.finish();
}

#[tokio::test]
async fn whoever_is_left_without_an_answer_is_told_how_to_get_it() {
    let server = ModelServer::start([Move::status(401), Move::say("Here it is.")]).await;
    let world = home_at(&server).env("TERM", "xterm").env("NO_COLOR", "1");
    let ran = on_terminal(&world, 80, "chat -q hi").await.expect_code(1);
    let lines = shown(&ran.stdout, 80);
    let way = lines.last().and_then(|line| line.strip_prefix("  to go on: hermes ")).expect("a way on");
    let ran = on_terminal(&world, 80, way).await.expect_code(0);
    assert!(shown(&ran.stdout, 80).contains(&"Here it is.".to_owned()), "{}", ran.stdout);
    server.finish();

    let server =
        ModelServer::start([Move::say("words that were seen").chunk(6).cut_after(2), Move::say("The rest.")]).await;
    let world = home_at(&server).env("TERM", "xterm").env("NO_COLOR", "1");
    let ran = on_terminal(&world, 80, "chat -q hi").await.expect_code(1);
    let lines = shown(&ran.stdout, 80);
    let way = lines.last().and_then(|line| line.strip_prefix("  to go on: hermes ")).expect("a way on");
    assert!(way.ends_with(" -q \"go on\""), "{way}");
    let ran = on_terminal(&world, 80, way).await.expect_code(0);
    assert!(shown(&ran.stdout, 80).contains(&"The rest.".to_owned()), "{}", ran.stdout);
    server.finish();
}

#[tokio::test]
async fn a_plan_shows_how_far_it_is_and_a_command_what_it_ended_with() {
    let item = |id: &str, content: &str, status: &str| json!({"id": id, "content": content, "status": status});
    let plan = json!({"todos": [item("1", "Look around", "completed"), item("2", "Build it", "in_progress")]});
    let server = ModelServer::start([Move::say("").call("todo", plan), run("exit 7"), Move::say("Ok.")]).await;
    let ran = on_terminal(&home_at(&server).env("TERM", "xterm"), 80, "chat -q hi").await.expect_code(0);
    let lines = shown(&ran.stdout, 80);
    let lines: Vec<&str> = lines.iter().map(|line| without_time(line)).take(3).collect();
    assert_eq!(lines, ["✓ todo  1 of 2 done, now: Build it", "✗ terminal  exit 7  exit 7", "Ok."]);
    server.finish();
}
