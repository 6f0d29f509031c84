//! Conversations that go on: by id, by its beginning, by title, as the newest, and in the middle of a turn.

use super::*;

/// What the model was asked in the newest request, in short: who said what.
fn heard(server: &ModelServer) -> Vec<String> {
    let messages = asked(server).pop().expect("asked");
    let messages = messages.as_array().expect("messages").clone();
    messages.iter().map(|message| format!("{}: {}", message["role"], message["content"])).collect()
}

#[tokio::test]
async fn a_session_goes_on_by_every_name_it_has() {
    let answers = (0..6).map(|number| Move::say(&format!("answer {number}"))).collect::<Vec<_>>();
    let server = ModelServer::start(answers).await;
    let world = home_at(&server);
    let id = session_of(&world, &["-z", "question 0"]).await;
    hermes(&world, &["sessions", "rename", &id, "The sky"]).await.expect_code(0);
    let names = [
        vec!["--resume", id.as_str(), "-z"],
        vec!["chat", "--resume", &id[..id.len() - 2], "-q"],
        vec!["-r", "The sky", "chat", "-q"],
        vec!["-c", "-z"],
        vec!["chat", "-c", "The sky", "-q"],
    ];
    for (number, name) in names.iter().enumerate() {
        let question = format!("question {}", number + 1);
        let ran = hermes(&world, &[&name[..], &[&question]].concat()).await.expect_code(0);
        assert_eq!(ran.stdout, format!("answer {}\n", number + 1));
        let expected =
            (0..=number).flat_map(|n| [format!(r#""user": "question {n}""#), format!(r#""assistant": "answer {n}""#)]);
        let expected: Vec<String> = expected.chain([format!(r#""user": "{question}""#)]).collect();
        assert_eq!(heard(&server), expected, "{name:?}");
    }
    assert_eq!(session_of_newest(&world).await, id, "it is one conversation");
    server.finish();
}

async fn session_of_newest(world: &World) -> String {
    let ran = hermes(world, &["sessions", "list", "--json"]).await.expect_code(0);
    let listed: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    listed[0]["id"].as_str().expect("an id").to_owned()
}

#[tokio::test]
async fn a_name_nobody_has_is_no_question() {
    let server = ModelServer::start(Vec::<Move>::new()).await;
    let world = home_at(&server);
    let nothing = hermes(&world, &["-c", "-z", "hi"]).await;
    let message = "hermes -z: there is no session to go on with yet; `hermes sessions list` shows what there is.\n";
    assert_eq!(told(&nothing), (Some(1), "", message));
    for name in [&["--resume", "nobody"][..], &["-c", "nobody"]] {
        let ran = hermes(&world, &[name, &["-z", "hi"]].concat()).await;
        let message = "hermes -z: there is no session nobody; `hermes sessions list` shows what there is.\n";
        assert_eq!(told(&ran), (Some(1), "", message), "{name:?}");
    }
    let empty = hermes(&world, &["--resume", "", "-z", "hi"]).await.expect_code(2);
    assert!(empty.stderr.contains("--resume"), "{}", empty.stderr);
    assert!(server.model_requests().is_empty());
    server.finish();
}

#[tokio::test]
async fn a_turn_that_was_cut_off_is_finished_without_a_question() {
    let server = ModelServer::start([run("echo one >> log"), Move::silence(), Move::say("One line is written.")]).await;
    let world = home_at(&server);
    let mut child = world.command(HERMES, &["-z", "write a line"]).spawn().expect("started");
    until(|| server.model_requests().len() == 2, "the result was not sent").await;
    child.kill().await.expect("killed");
    let id = session_of_newest(&world).await;
    let ran = hermes(&world, &["--resume", &id]).await;
    assert_eq!(told(&ran), (Some(0), "One line is written.\n", ""));
    let log = std::fs::read_to_string(world.work_dir().join("log")).expect("a log");
    assert_eq!(log, "one\n", "what was done is not done again");
    let requests = asked(&server);
    assert_eq!(requests[2], requests[1], "the model is asked the same again");
    let again = hermes(&world, &["--resume", &id]).await;
    let message = format!(
        "hermes: nothing in session {id} is unfinished\n  to ask something: hermes chat --resume {id} -q \"…\"\n"
    );
    assert_eq!(told(&again), (Some(1), "", message.as_str()));
    server.finish();
}

#[tokio::test]
async fn what_scripts_ask_stays_out_of_the_list() {
    let server = ModelServer::start([Move::say("one"), Move::say("two"), Move::say("also"), Move::say("three")]).await;
    let world = home_at(&server);
    let mine = session_of(&world, &["-z", "by hand"]).await;
    let hidden = session_of(&world, &["-z", "by a script", "--source", "tool"]).await;
    let line = "HERMES_SESSION_SOURCE=tool $0 -z 'by another script'";
    assert_eq!(told(&shell(&world, line).await), (Some(0), "also\n", ""));
    assert_eq!(session_of_newest(&world).await, mine, "the other one is not listed");
    assert_eq!(session_of(&world, &["-c", "-z", "go on"]).await, mine, "nor is it the newest of a person");
    let shown = hermes(&world, &["sessions", "show", &hidden]).await.expect_code(0);
    assert!(shown.stdout.contains("by a script"), "{}", shown.stdout);
    server.finish();
}

/// Two programs in one conversation: who is answered is kept, who is refused is told why, and what they leave behind is a
/// conversation a model understands (the server checks every request).
#[tokio::test]
async fn two_programs_in_one_session_spoil_nothing() {
    // Who finds the other one at work asks nothing, so nobody knows how many questions come.
    let server = ModelServer::directed(|_| Move::say("Yes.")).await;
    let world = home_at(&server);
    let id = session_of(&world, &["-z", "first"]).await;
    let (left, right) = (["--resume", &id, "-z", "left"], ["--resume", &id, "-z", "right"]);
    let (left, right) = tokio::join!(hermes(&world, &left), hermes(&world, &right));
    let mut kept = vec!["first", "last"];
    for (question, ran) in [("left", left), ("right", right)] {
        match ran.code {
            Some(0) => kept.push(question),
            code => assert!(code == Some(1) && ran.stderr.contains("is at work in session"), "{ran:?}"),
        }
    }
    assert!(kept.len() > 2, "one of them has its turn");
    assert_eq!(told(&hermes(&world, &["--resume", &id, "-z", "last"]).await), (Some(0), "Yes.\n", ""));
    let all = heard(&server).join("\n");
    kept.iter().for_each(|question| assert!(all.contains(question), "{question} is lost: {all}"));
    // Neither knew of the other one, so their requests need not extend each other; everything else holds.
    server.violations().iter().for_each(|told| assert!(told.contains("does not extend the one before"), "{told}"));
}

#[tokio::test]
async fn a_session_works_where_it_began() {
    let where_am_i = |number: u32| [run("pwd"), Move::say(&format!("There, {number}."))];
    let server = ModelServer::start((1..=4).flat_map(where_am_i).collect::<Vec<_>>()).await;
    let world = home_at(&server);
    let (work, home) = (world.work_dir(), world.home().to_path_buf());
    let worked_in = |request: usize| {
        let result: Value = serde_json::from_str(&last_result(&server, request)).expect("JSON");
        std::path::PathBuf::from(result["output"].as_str().expect("output").trim())
    };
    hermes(&world, &["-z", "where?"]).await.expect_code(0);
    assert_eq!(worked_in(1), work);
    let again = shell(&world, "cd .. && $0 chat -c -q 'and now?'").await.expect_code(0);
    assert!(again.stderr.starts_with(&format!("… working in {}, where this session began\n", work.display())));
    assert_eq!(worked_in(3), work);
    shell(&world, "cd .. && $0 -c --no-restore-cwd -z 'and here?'").await.expect_code(0);
    assert_eq!(worked_in(5), home);
    let gone = shell(&world, "cd .. && mv work moved && $0 -c -z 'and then?'; mv moved work").await.expect_code(0);
    let message = format!("hermes -z: {} is gone; this session works in {} now\n", work.display(), home.display());
    assert_eq!(gone.stderr, message);
    assert_eq!(worked_in(7), home);
    server.finish();
}

/// Half way through, the conversation grew too long and went on in another session; whoever names the first one means
/// the conversation.
#[tokio::test]
async fn a_conversation_that_was_made_shorter_is_found_by_its_first_name() {
    const RULE: &str = "Look around. Never touch secret.txt.";
    let server = ModelServer::directed(|request| {
        let whole = String::from_utf8_lossy(&request.raw);
        match () {
            () if whole.contains("Summarise this conversation so far") => Move::say("## Goal\nTo look around."),
            () if whole.contains("END OF CONTEXT SUMMARY") || !whole.contains(RULE) => Move::say("Done."),
            () => Move::say(&"I look at it step by step. ".repeat(400)).call("terminal", json!({"command": "true"})),
        }
        .no_usage()
    })
    .await;
    for _ in 0..4 {
        server.allow_prefix_break("compression");
    }
    let world = home_at(&server);
    hermes(&world, &["config", "set", "model.context_length", "64000"]).await.expect_code(0);
    let first = session_of(&world, &["-z", "Hello."]).await;
    let tip = session_of(&world, &["--resume", &first, "-z", RULE]).await;
    assert_ne!(tip, first, "it went on elsewhere");
    for name in [&["--resume", first.as_str()][..], &["--resume", tip.as_str()], &["-c"]] {
        assert_eq!(session_of(&world, &[name, &["-z", "Still there?"]].concat()).await, tip, "{name:?}");
        assert!(heard(&server).iter().any(|said| said.contains(RULE)), "{name:?}: the rule is still there");
    }
    assert_eq!(session_of_newest(&world).await, tip, "it is one conversation");
    server.finish();
}
