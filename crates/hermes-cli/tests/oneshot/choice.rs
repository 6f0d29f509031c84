//! Who is asked: flags, environment, settings, profiles, and servers that happen to run here.

use super::*;
use hermes_testkit::{Move, model_entry};
use std::time::Duration;

fn model_asked(server: &ModelServer) -> Vec<String> {
    server.model_requests().iter().filter_map(|request| Some(request.json()["model"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn flags_beat_settings_and_settings_beat_the_environment() {
    let server = ModelServer::start((0..4).map(|_| Move::say("ok")).collect::<Vec<_>>()).await;
    let world = home_at(&server).env("HERMES_INFERENCE_MODEL", "from-environment");
    for arguments in [
        &["-z", "a"][..],
        &["-z", "b", "-m", "from-flag"],
        &["chat", "-q", "c", "-m", "rehearsal:from-prefix"],
        &["-m", "before-command", "--provider", "custom:rehearsal", "chat", "-q", "d"],
    ] {
        assert_eq!(told(&hermes(&world, arguments).await), (Some(0), "ok\n", ""));
    }
    assert_eq!(model_asked(&server), ["rehearsal-model", "from-flag", "from-prefix", "before-command"]);
    server.finish();
}

#[tokio::test]
async fn the_environment_alone_is_enough() {
    let server = ModelServer::start(Move::say("ok")).await;
    server.forbid_keys();
    let world = nowhere()
        .env("CUSTOM_BASE_URL", &server.base_url())
        .env("HERMES_INFERENCE_MODEL", "from-environment")
        .env("OPENROUTER_API_KEY", KEY);
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "ok\n", ""));
    assert_eq!(model_asked(&server), ["from-environment"]);
    server.finish();
}

#[tokio::test]
async fn a_profile_is_a_home_of_its_own() {
    let (main, work) = (ModelServer::start(Move::say("main")).await, ModelServer::start(Move::say("work")).await);
    work.expect_key("sk-work-key-000000");
    main.never_show("sk-work-key-000000");
    work.never_show(KEY);
    let world = home_at(&main)
        .file("profiles/work/config.yaml", &settings(&work.base_url(), "chat_completions"))
        .file("profiles/work/.env", "REHEARSAL_KEY=sk-work-key-000000\n");
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "main\n", ""));
    assert_eq!(told(&hermes(&world, &["-p", "work", "-z", "hi"]).await), (Some(0), "work\n", ""));
    let missing = "hermes -z: The profile `play` does not exist.\n`hermes profile list` shows those that do; \
                   `hermes profile create play` makes it.\n";
    assert_eq!(told(&hermes(&world, &["-z", "hi", "-p", "play"]).await), (Some(1), "", missing));
    main.finish();
    work.finish();
}

#[tokio::test]
async fn nothing_configured_is_told_at_once_with_the_ways_out() {
    let ran = hermes(&nowhere(), &["-z", "hi"]).await;
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.lines().count()), (Some(1), "", 5), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("hermes -z: no model is set up, no local server answers."), "{}", ran.stderr);
    assert!(ran.wall < Duration::from_secs(1), "{:?}", ran.wall);
}

#[tokio::test]
async fn a_server_on_this_machine_is_found_and_a_pipe_hears_nothing_of_it() {
    let server = ModelServer::start([Move::say("local"), Move::say("local")]).await;
    server.forbid_keys();
    server.list_models([model_entry("qwen3:32b"), model_entry("other")]);
    let address = server.root_url().replace("http://", "");
    let world = nowhere().env("OLLAMA_HOST", &address);
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(0), "local\n", ""));
    assert_eq!(model_asked(&server), ["qwen3:32b"]);
    let paths: Vec<String> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(
        paths.first().map(String::as_str),
        Some("/v1/models"),
        "it is asked what it has before it is asked anything"
    );
    let talkative = hermes(&world, &["chat", "-q", "hi"]).await;
    let notice = format!("… using qwen3:32b at Ollama (http://{address}/v1); `hermes model` makes it a choice\n");
    assert_eq!(told(&talkative), (Some(0), "local\n", notice.as_str()));
    server.finish();
}

#[tokio::test]
async fn names_nobody_knows_are_answered_with_names_that_exist() {
    let provider = hermes(&nowhere(), &["-z", "hi", "--provider", "opnrouter"]).await;
    let message =
        "hermes -z: `opnrouter` is not a provider (did you mean openrouter?). Type `hermes model` to see all of them\n";
    assert_eq!(told(&provider), (Some(2), "", message));
    let status = hermes(&nowhere(), &["status", "--provider", "opnrouter"]).await.expect_code(2);
    assert!(message.ends_with(&status.stderr), "{}", status.stderr);
    // In the settings it is no mistake of the command line.
    let world = nowhere().config("model: {provider: opnrouter, default: m}\n");
    assert_eq!(told(&hermes(&world, &["-z", "hi"]).await), (Some(1), "", message));
    let server = ModelServer::start(Move::status(404).body(
        serde_json::json!({"error": {"message": "The model `qwen3-32` does not exist", "code": "model_not_found"}}),
    ))
    .await;
    server.list_models(["qwen3-32b", "qwen3-8b", "llama-4"].map(model_entry));
    let model = hermes(&home_at(&server), &["-z", "hi", "-m", "qwen3-32"]).await.expect_code(1);
    assert_eq!(
        model.stderr,
        "hermes -z: HTTP 404: The model `qwen3-32` does not exist (did you mean qwen3-32b or qwen3-8b?)\n  \
         next: choose one the provider has (hermes model), or name it with -m\n"
    );
    server.finish();
}

#[tokio::test]
async fn what_cannot_be_written_is_told_and_what_is_not_read_is_not() {
    for command in ["completion bash", "--help", "version", "--version"] {
        let full = shell(&nowhere(), &format!("$0 {command} > /dev/full")).await.expect_code(1);
        assert!(full.stderr.contains("the output could not be written: "), "{command}: {}", full.stderr);
        assert_eq!(full.stderr.lines().count(), 1, "{command}: {}", full.stderr);
        let read = shell(&nowhere(), &format!("($0 {command}; echo $? >&2) | true")).await;
        assert_eq!(read.stderr, "0\n", "{command}");
    }
}

#[tokio::test]
async fn help_is_a_command_and_what_is_missing_is_called_so() {
    let world = nowhere();
    let (word, flag) = (hermes(&world, &["help"]).await, hermes(&world, &["--help"]).await);
    assert_eq!(told(&word), (Some(0), flag.stdout.as_str(), ""));
    for (arguments, message) in [
        (&["setup"][..], "hermes: there is no `hermes setup` here; what comes nearest: hermes model\n"),
        (&["chat", "-q", "hi", "--tui"], "hermes: `--tui` is not there yet; `hermes --help` shows what is\n"),
        (
            &["-p", "default", "cron", "list", "--all"],
            "hermes: `hermes cron` is not there yet; `hermes --help` shows what is\n",
        ),
        (&["it's late"], "hermes: that is not a command; to ask it, type\n  hermes -z 'it'\\''s late'\n"),
    ] {
        assert_eq!(told(&hermes(&world, arguments).await), (Some(2), "", message), "{arguments:?}");
    }
    let below = hermes(&world, &["config", "setup"]).await.expect_code(2);
    assert!(below.stderr.contains("unrecognized subcommand 'setup'"), "{}", below.stderr);
}

#[tokio::test]
async fn help_offers_a_flag_only_where_it_does_something() {
    let flags = ["--model", "--provider", "--output-format", "--usage-file", "--image"];
    for (command, expected) in [
        ("", &flags[..]),
        ("chat", &flags),
        ("demo", &flags[2..4]),
        ("model", &flags[..2]),
        ("status", &flags[..2]),
        ("config", &[]),
        ("profile", &[]),
        ("version", &[]),
    ] {
        let help = shell(&nowhere(), &format!("$0 {command} --help")).await.expect_code(0).stdout;
        let offered: Vec<&str> = flags.into_iter().filter(|flag| help.contains(&format!("{flag} <"))).collect();
        assert_eq!(offered, expected, "{command}");
    }
}

#[tokio::test]
async fn a_wrong_command_line_is_exit_2_with_a_hint() {
    for (arguments, hint) in [
        (&["--oneshto", "hi"][..], "'--oneshot'"),
        (&["chta", "-q", "hi"], "'chat'"),
        (&["-z", "hi", "--output-format", "jsn"], "'json'"),
        (&["-z"], "--oneshot <PROMPT>"),
        (&["-z", "hi", "demo"], "-z takes no command"),
    ] {
        let ran = hermes(&nowhere(), arguments).await.expect_code(2);
        assert_eq!(ran.stdout, "");
        assert!(ran.stderr.contains(hint), "{arguments:?}: {}", ran.stderr);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_named_before_a_model_is_asked_for() {
    let world = nowhere().config("model:\n  base_url: http://127.0.0.1:9/v1\n");
    let ran = hermes(&world, &["-z", "hi"]).await.expect_code(1);
    let message = "hermes -z: http://127.0.0.1:9/v1 lists no model. Is a server running there? If it is, name the model: \
                   `hermes config set model.default MODEL`, or `-m MODEL` for once\n";
    assert_eq!(ran.stderr, message);
}
