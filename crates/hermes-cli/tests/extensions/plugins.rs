//! `hermes plugins`, and a conversation whose model uses what plugins add.

use super::*;
use hermes_testkit::Move;
use serde_json::{Value, json};

/// Answers `initialize` with one tool; the tool does what the story says.
pub(crate) fn python(name: &str, work: &str) -> String {
    format!(
        "import json, os, sys\nfor line in sys.stdin:\n    message = json.loads(line)\n    if 'id' not in message:\n        \
         continue\n    if message['method'] == 'initialize':\n        result = {{'tools': [{{'name': '{name}', 'description': \
         'of a story', 'source': 'machine'}}]}}\n    elif message['method'] == 'tools/call':\n        {work}\n    else:\n        \
         result = None\n    print(json.dumps({{'jsonrpc': '2.0', 'id': message['id'], 'result': result}}), flush=True)\n    \
         if message['method'] == 'shutdown':\n        sys.exit(0)\n"
    )
}

/// The model calls a tool that stands behind the loader, as those of plugins do.
fn calls(tool: &str, arguments: &Value) -> Move {
    Move::say("").call("tool_call", json!({"name": tool, "arguments": arguments}))
}

fn results(server: &ModelServer, request: usize) -> Vec<String> {
    let messages = asked(server).swap_remove(request);
    let tools = messages.as_array().expect("messages").iter().filter(|message| message["role"] == "tool");
    tools.map(|message| message["content"].as_str().expect("text").to_owned()).collect()
}

#[tokio::test]
async fn an_example_is_installed_enabled_used_and_removed() {
    let server = ModelServer::start([calls("what_time_is_it", &json!({})), Move::say("Late.")]).await;
    let world = home_at(&server);
    let folder = example("clock").display().to_string();
    let installed = hermes(&world, &["plugins", "install", &folder]).await.expect_code(0);
    assert!(installed.stdout.contains("`hermes plugins enable clock`"), "{}", installed.stdout);
    let listed = hermes(&world, &["plugins", "list", "--json"]).await.expect_code(0);
    let listed: Value = serde_json::from_str(&listed.stdout).expect("JSON");
    assert_eq!((&listed[0]["name"], &listed[0]["status"]), (&json!("clock"), &json!("not enabled")));
    let enabled = hermes(&world, &["plugins", "enable", "clock"]).await.expect_code(0);
    assert!(enabled.stdout.contains("It adds these tools: what_time_is_it"), "{}", enabled.stdout);

    let info = hermes(&world, &["tools", "info", "what_time_is_it"]).await.expect_code(0);
    assert!(
        info.stdout.contains("It takes no arguments.") && info.stdout.contains("find it with `tool_search`"),
        "{info:?}"
    );

    let ran = hermes(&world, &["-z", "what time is it?"]).await;
    assert_eq!(told(&ran), (Some(0), "Late.\n", ""));
    let offered = server.model_requests().remove(0).json()["tools"].to_string();
    assert!(offered.contains("tool_search") && offered.contains("clock"), "{offered}");
    assert!(results(&server, 1).first().is_some_and(|text| text.starts_with("It is ")), "{:?}", results(&server, 1));
    server.finish();

    hermes(&world, &["plugins", "disable", "clock"]).await.expect_code(0);
    let info = hermes(&world, &["plugins", "info", "clock"]).await.expect_code(0);
    assert!(info.stdout.contains("disabled") && info.stdout.contains("what_time_is_it"), "{}", info.stdout);
    hermes(&world, &["plugins", "remove", "clock"]).await.expect_code(0);
    assert!(!world.hermes_home().join("plugins/clock").exists());
    let gone = hermes(&world, &["plugins", "info", "clock"]).await;
    let message = "there is no plugin `clock`; `hermes plugins list` shows all\n";
    assert_eq!(told(&gone), (Some(2), "", message));
}

#[tokio::test]
async fn a_crash_in_mid_session_costs_one_call() {
    let server = ModelServer::start([
        calls("work", &json!({"crash": true})),
        calls("work", &json!({})),
        Move::say("It works again."),
    ])
    .await;
    let world = home_with(&server, "plugins:\n  enabled: [shaky]\n");
    let work = "result = os._exit(3) if message['params']['arguments'].get('crash') else 'done'";
    plugin(&world, "shaky", "name: shaky\n", &python("work", work));
    hermes(&world, &["plugins", "enable", "shaky"]).await.expect_code(0);
    let ran = hermes(&world, &["-z", "go"]).await;
    assert_eq!(told(&ran), (Some(0), "It works again.\n", ""));
    let seen = results(&server, 2);
    assert!(seen[0].contains("the plugin shaky failed") && seen[0].contains("exit status: 3"), "{seen:?}");
    assert_eq!(seen[1], "done");
    server.finish();
}

#[tokio::test]
async fn a_plugin_that_never_ran_joins_the_first_conversation_and_moves_no_byte_of_it() {
    let todo = Move::say("").call("todo", json!({}));
    let server = ModelServer::start([todo, calls("work", &json!({})), Move::say("Hi.")]).await;
    let world = home_with(&server, "plugins:\n  enabled: [fresh]\n");
    plugin(&world, "fresh", "name: fresh\n", &python("work", "result = 'done'"));
    let ran = hermes(&world, &["chat", "-q", "hello"]).await.expect_code(0);
    assert!(ran.stderr.contains("the plugin fresh runs for the first time"), "{}", ran.stderr);
    // The first call waits for it, because it may be a guard; by the second one it is known.
    assert_eq!(results(&server, 2).last().map(String::as_str), Some("done"), "{:?}", results(&server, 2));
    let tools: Vec<Value> = server.model_requests().iter().map(|request| request.json()["tools"].clone()).collect();
    assert!(tools.windows(2).all(|pair| pair[0] == pair[1]), "the list of a conversation never changes under it");
    server.finish();
}

/// Whatever a plugin says about itself, a terminal obeys none of it.
#[tokio::test]
async fn what_a_plugin_is_called_steers_no_terminal() {
    let world = nowhere();
    let manifest = "name: paint\nversion: \"1\\e]0;owned\\a\\e[31m\"\nauthor: \"\\e[2J\"\nrequires_env: [\"A\\e[0m\"]\n\"\\e[1m\": x\n";
    let program = python("work", "result = 'done'").replace("'tools':", "'hooks': ['pre\\x1b]0;x\\x07'], 'tools':");
    plugin(&world, "paint", manifest, &program);
    let folder = world.hermes_home().join("plugins/paint").display().to_string();
    let elsewhere = world.home().join("paint");
    shell(&world, &format!("cp -r {folder} {}", elsewhere.display())).await.expect_code(0);
    for words in [
        vec!["plugins"],
        vec!["plugins", "info", "paint"],
        vec!["plugins", "enable", "paint"],
        vec!["plugins", "install", &elsewhere.display().to_string(), "--force"],
        vec!["doctor"],
    ] {
        let ran = hermes(&world, &words).await;
        assert!(!format!("{}{}", ran.stdout, ran.stderr).contains(['\u{1b}', '\u{7}']), "{words:?}: {ran:?}");
    }
}

#[tokio::test]
async fn an_update_obeys_nothing_that_a_repository_says_about_itself() {
    let world = nowhere();
    let theirs = world.home().join("theirs");
    let write = |folder: &Path, version: &str| {
        std::fs::create_dir_all(folder).expect("a folder");
        std::fs::write(folder.join("plugin.yaml"), format!("name: tick\nversion: {version}\n")).expect("a manifest");
        std::fs::write(folder.join("plugin.sh"), "exit 0\n").expect("a program");
    };
    write(&theirs, "'1'");
    let commit = "git add . && git -c user.name=a -c user.email=a@b commit -qm x";
    shell(&world, &format!("cd ~/theirs && git init -q . && {commit}")).await.expect_code(0);
    // Somebody hands it on as a folder, with a repository of their own making inside.
    shell(&world, "git clone -q file://$HOME/theirs ~/unpacked/tick").await.expect_code(0);
    let config = format!(
        "[core]\n\trepositoryformatversion = 0\n\tsshCommand = touch {0}\n[remote \"origin\"]\n\turl = file://{1}\n\t\
         fetch = +refs/heads/*:refs/remotes/origin/*\n\tuploadpack = touch {0}; git-upload-pack\n",
        world.home().join("ran").display(),
        theirs.display()
    );
    std::fs::write(world.home().join("unpacked/tick/.git/config"), config).expect("settings");
    let unpacked = world.home().join("unpacked/tick").display().to_string();
    hermes(&world, &["plugins", "install", &unpacked]).await.expect_code(0);
    write(&theirs, "'2'");
    shell(&world, &format!("cd ~/theirs && {commit}")).await.expect_code(0);
    let ran = hermes(&world, &["plugins", "update", "tick"]).await.expect_code(0);
    assert!(!world.home().join("ran").exists(), "nothing of it runs: {ran:?}");
    let read = |below: &str| std::fs::read_to_string(world.hermes_home().join("plugins").join(below)).expect("a file");
    assert!(read("tick/plugin.yaml").contains("'2'") && read(".tick.before/plugin.yaml").contains("'1'"));
    let listed = hermes(&world, &["plugins", "list", "--json"]).await.expect_code(0);
    assert_eq!(serde_json::from_str::<Value>(&listed.stdout).expect("JSON").as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn what_came_from_git_is_fetched_and_what_is_no_plugin_is_refused() {
    let world = nowhere();
    let folder = world.home().join("repo/tick");
    std::fs::create_dir_all(&folder).expect("a folder");
    for file in ["plugin.yaml", "plugin.sh"] {
        std::fs::copy(example("clock").join(file), folder.join(file)).expect("copied");
    }
    hermes_testkit::commit_all(&folder);
    let url = format!("file://{}", folder.display());
    let installed = hermes(&world, &["plugins", "install", &url]).await.expect_code(0);
    assert!(installed.stdout.contains("`clock` 1.0.0 is in"), "{}", installed.stdout);
    let again = hermes(&world, &["plugins", "install", &url]).await;
    assert_eq!(again.code, Some(1));
    assert!(again.stderr.contains("`--force` replaces it"), "{}", again.stderr);
    hermes(&world, &["plugins", "install", &url, "--force"]).await.expect_code(0);
    hermes(&world, &["plugins", "update", "clock"]).await.expect_code(0);
    let nothing = hermes(&world, &["plugins", "install", &world.home().display().to_string()]).await;
    assert!(nothing.stderr.contains("is no plugin"), "{}", nothing.stderr);
}
