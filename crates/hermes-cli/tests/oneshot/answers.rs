//! What comes out when all goes well.

use super::*;
use hermes_testkit::Move;
use serde_json::json;
use std::time::Duration;

#[tokio::test]
async fn the_answer_and_a_newline_are_all_there_is() {
    let server = ModelServer::start([Move::say("Because air\nscatters blue."), Move::say("ends with one\n")]).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["-z", "why is the sky blue?"]).await;
    assert_eq!(told(&ran), (Some(0), "Because air\nscatters blue.\n", ""));
    assert_eq!(told(&hermes(&world, &["-z", "again"]).await), (Some(0), "ends with one\n", ""));
    assert_eq!(
        asked(&server),
        [json!([{"role": "user", "content": "why is the sky blue?"}]), json!([{"role": "user", "content": "again"}])]
    );
    server.finish();
}

#[tokio::test]
async fn every_protocol_gives_the_same_answer() {
    for (api_mode, path) in [
        ("chat_completions", "/v1/chat/completions"),
        ("codex_responses", "/v1/responses"),
        ("anthropic_messages", "/v1/messages"),
    ] {
        let server = ModelServer::start(Move::say("naïve ☕").reasoning("hidden from pipes").chunk(1).shred(1)).await;
        let world = home_at(&server).config(&settings(&server.base_url(), api_mode));
        assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "naïve ☕\n", ""), "{api_mode}");
        let paths: Vec<String> = server.model_requests().into_iter().map(|request| request.path).collect();
        assert_eq!(paths, [path]);
        server.finish();
    }
}

#[tokio::test]
async fn a_server_that_does_not_stream_answers_too() {
    let server = ModelServer::start(Move::say("all at once").whole()).await;
    assert_eq!(told(&hermes(&home_at(&server), &["-z", "hi"]).await), (Some(0), "all at once\n", ""));
    server.finish();
}

#[tokio::test]
async fn a_pipe_gets_the_answer_as_the_model_wrote_it() {
    let text = "\u{1b}[31mred\u{1b}[0m\ttab\r\nend  ";
    let server = ModelServer::start(Move::say(text)).await;
    assert_eq!(told(&hermes(&home_at(&server), &["-z", "hi"]).await), (Some(0), format!("{text}\n").as_str(), ""));
    server.finish();
}

#[tokio::test]
async fn chat_tells_of_retries_on_stderr_and_z_keeps_quiet() {
    let hiccup = || Move::status(500).body(json!({"error": {"message": "upstream hiccup"}}));
    let server = ModelServer::start([hiccup(), Move::say("back"), hiccup(), Move::say("back")]).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["chat", "-q", "hi"]).await.expect_code(0);
    assert_eq!(ran.stdout, "back\n");
    let retry = ran.stderr.strip_prefix("… provider error (HTTP 500: upstream hiccup), trying again in 0.");
    assert!(retry.is_some_and(|rest| rest.ends_with(" s\n") && rest.len() == 4), "{}", ran.stderr);
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "back\n", ""));
    server.finish();
}

#[tokio::test]
async fn a_broken_stream_is_begun_again_and_a_pipe_sees_only_the_whole_answer() {
    let answer = "one two three four five six";
    let server = ModelServer::start([
        Move::say(answer).chunk(4).cut_after(3),
        Move::say(answer).chunk(4).reset_after(4),
        Move::say(answer),
    ])
    .await;
    assert_eq!(told(&hermes(&home_at(&server), &["-z", "hi"]).await), (Some(0), format!("{answer}\n").as_str(), ""));
    server.finish();
}

#[tokio::test]
async fn quiet_chat_ends_with_the_session_id_on_stderr() {
    let server = ModelServer::start([Move::status(500), Move::say("hello"), Move::status(401)]).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["chat", "-Q", "-q", "hi"]).await.expect_code(0);
    assert_eq!(ran.stdout, "hello\n");
    let id = ran.stderr.strip_prefix("session_id: ").and_then(|rest| rest.strip_suffix('\n'));
    assert!(id.is_some_and(is_session_id), "{}", ran.stderr);
    let failed = hermes(&world, &["chat", "-Q", "-q", "hi"]).await.expect_code(1);
    assert_eq!(failed.stdout, "");
    assert!(failed.stderr.starts_with("hermes chat: HTTP 401"), "{}", failed.stderr);
    assert!(failed.stderr.lines().last().is_some_and(|line| line.starts_with("session_id: ")), "{}", failed.stderr);
    server.finish();
}

#[tokio::test]
async fn what_is_not_a_whole_answer_is_not_success() {
    use hermes_types::StopReason;
    // Cut answers are asked to go on three times, thoughts alone are mentioned twice, silence is asked three times.
    let cut = ["one ", "two ", "three ", "four"].map(|part| Move::say(part).stop(StopReason::Length));
    let thoughts = vec![Move::say("").reasoning("only thoughts"); 6];
    let withheld = Move::say("").stop(StopReason::ContentFilter);
    let server = ModelServer::start(cut.into_iter().chain(thoughts).chain([withheld]).collect::<Vec<_>>()).await;
    let world = home_at(&server);
    let partial = "hermes -z: the answer is longer than the model may write, even in four parts; \
                   ask for less at a time, or raise model.max_tokens\n";
    assert_eq!(told(&hermes(&world, &["-z", "a"]).await), (Some(1), "one two three four\n", partial));
    let empty = "hermes -z: the model gave no answer, however often it was asked; \
                 another model may do better (`hermes model`)\n";
    assert_eq!(told(&hermes(&world, &["-z", "b"]).await), (Some(1), "", empty));
    let withheld = hermes(&world, &["-z", "c"]).await.expect_code(1);
    assert_eq!(withheld.stdout, "");
    assert!(withheld.stderr.contains("withheld"), "{}", withheld.stderr);
    server.finish();
}

#[tokio::test]
async fn tools_that_do_not_exist_are_no_answer_but_what_was_said_is_shown() {
    let call = |text: &str, city: &str| Move::say(text).call("get_weather", json!({"city": city}));
    let moves = |text: &str| [call(text, "Rome"), call("", "Oslo"), call("", "Bern")];
    let script = [moves("Let me look."), moves(""), moves("Let me look.")].concat();
    let server = ModelServer::start(script).await;
    let world = home_at(&server);
    let remark = "hermes -z: the model kept calling tools that do not exist; another model may do better \
                  (`hermes model`)\n  to go on: hermes --resume ";
    for (question, words) in [("a", "Let me look.\n"), ("b", "")] {
        let ran = hermes(&world, &["-z", question]).await.expect_code(1);
        assert_eq!(ran.stdout, words);
        let id = ran.stderr.strip_prefix(remark).and_then(|rest| rest.strip_suffix('\n'));
        assert!(id.is_some_and(is_session_id), "{}", ran.stderr);
    }
    let ran = hermes(&world, &["-z", "c", "--output-format", "json"]).await.expect_code(1);
    let result: serde_json::Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let facts = ["outcome", "stop_reason", "exit_reason", "text"].map(|key| result[key].clone());
    assert_eq!(facts, ["partial", "tool_calls", "invalid_tool_name_exhausted", "Let me look."].map(|word| json!(word)));
    server.finish();
}

#[tokio::test]
async fn an_answer_of_somebody_else_says_so() {
    let refused = || Move::status(402);
    let server = ModelServer::start([refused(), Move::say("ok"), refused(), Move::say("ok")]).await;
    let spare = format!("  - name: spare\n    base_url: {}\n    key_env: REHEARSAL_KEY\n", server.base_url());
    let fallback = "fallback_providers:\n  - provider: custom:spare\n    model: spare-model\n";
    let world = home_at(&server);
    let world = world.config(&format!("{}{spare}{fallback}", settings(&server.base_url(), "chat_completions")));
    let notice = "… credit or quota used up, going on with spare-model at custom:spare\n";
    assert_eq!(told(&hermes(&world, &["-z", "a"]).await), (Some(0), "ok\n", notice));
    let quiet = hermes(&world, &["chat", "-Q", "-q", "b"]).await.expect_code(0);
    assert!(quiet.stderr.starts_with(notice), "{}", quiet.stderr);
    server.finish();
}

#[tokio::test]
async fn two_homes_and_many_processes_at_once_do_not_mix() {
    let (first, second) = (
        ModelServer::start((0..4).map(|_| Move::say("from one").delay(Duration::from_millis(50))).collect::<Vec<_>>())
            .await,
        ModelServer::start((0..4).map(|_| Move::say("from two").delay(Duration::from_millis(50))).collect::<Vec<_>>())
            .await,
    );
    let (one, two) = (home_at(&first), home_at(&second));
    let ask = |world, text: &'static str| async move { told_owned(&hermes(world, &["-z", text]).await) };
    let answers = tokio::join!(
        ask(&one, "a"),
        ask(&two, "b"),
        ask(&one, "c"),
        ask(&two, "d"),
        ask(&one, "e"),
        ask(&two, "f"),
        ask(&one, "g"),
        ask(&two, "h"),
    );
    let (a, b, c, d, e, f, g, h) = answers;
    let answered = |text: &str| (Some(0), format!("{text}\n"), String::new());
    assert_eq!([a, c, e, g], [0; 4].map(|_| answered("from one")));
    assert_eq!([b, d, f, h], [0; 4].map(|_| answered("from two")));
    let ids = |server: &ModelServer| {
        let mut asked: Vec<String> = asked(server).iter().map(|messages| messages[0]["content"].to_string()).collect();
        asked.sort();
        asked.concat()
    };
    assert_eq!((ids(&first).as_str(), ids(&second).as_str()), (r#""a""c""e""g""#, r#""b""d""f""h""#));
    first.finish();
    second.finish();
}

fn told_owned(ran: &Ran) -> (Option<i32>, String, String) {
    (ran.code, ran.stdout.clone(), ran.stderr.clone())
}
