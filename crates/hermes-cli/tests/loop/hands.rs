//! What a model can do through `-z`, and what it cannot.

use super::*;
use std::collections::BTreeSet;

#[tokio::test]
async fn a_model_reads_writes_and_runs_before_it_answers() {
    let server = ModelServer::start([
        Move::say("First a look.").call("read_file", json!({"path": "notes.txt"})),
        Move::say("").call("write_file", json!({"path": "list.txt", "content": "milk\nbread\n"})),
        run("wc -l < list.txt"),
        Move::say("Two things to buy."),
    ])
    .await;
    let world = home_at(&server);
    std::fs::write(world.work_dir().join("notes.txt"), "buy milk and bread\n").expect("written");
    let ran = hermes(&world, &["-z", "make a list"]).await;
    assert_eq!(told(&ran), (Some(0), "Two things to buy.\n", ""), "only the answer is on stdout");
    let list = std::fs::read_to_string(world.work_dir().join("list.txt")).expect("written by the model");
    assert_eq!(list, "milk\nbread\n");
    assert!(last_result(&server, 1).contains("buy milk and bread"), "{}", last_result(&server, 1));
    let counted: Value = serde_json::from_str(&last_result(&server, 3)).expect("JSON");
    assert_eq!((counted["output"].as_str().map(str::trim), &counted["exit_code"]), (Some("2"), &json!(0)));
    server.finish();
}

#[tokio::test]
async fn chat_tells_of_every_call_on_stderr() {
    let missing = Move::say("").call("read_file", json!({"path": "missing.txt"}));
    let server =
        ModelServer::start([run("echo hi"), run("exit 3"), missing, run("rm -rf build"), Move::say("Done.")]).await;
    let ran = hermes(&home_at(&server), &["chat", "-q", "go"]).await.expect_code(0);
    assert_eq!(ran.stdout, "Done.\n");
    let lines: Vec<&str> = ran.stderr.lines().map(without_time).collect();
    let refused = "not permitted: nobody to ask (recursive delete)";
    let refused = format!("⊘ terminal  rm -rf build  {refused}");
    let missing = "✗ read_file  missing.txt  File not found: missing.txt";
    assert_eq!(lines, ["✓ terminal  echo hi", "✗ terminal  exit 3  exit 3", missing, &refused]);
    server.finish();
}

#[tokio::test]
async fn in_safe_mode_nothing_that_others_wrote_is_run_or_announced() {
    let foreign = "mcp_servers:\n  far:\n    command: touch\n    args: [server-ran]\nplugins:\n  enabled: [near]\n\
                   hooks:\n  on_session_start:\n    - command: touch hook-ran\nhooks_auto_accept: true\n";
    // Caution is not a matter of the right word.
    for (word, is_safe) in [("y", true), ("off", false)] {
        let server = ModelServer::start([Move::say("Hi.")]).await;
        let yaml = format!("{}{foreign}", settings(&server.base_url(), "chat_completions"));
        let world = home_at(&server).config(&yaml).env("HERMES_SAFE_MODE", word);
        hermes(&world, &["-z", "hi"]).await.expect_code(0);
        let offered = server.model_requests().pop().expect("a request").json()["tools"].to_string();
        let announced = [offered.contains("MCP servers far"), offered.contains("plugins near")];
        assert_eq!(announced, [!is_safe; 2], "{word}: {offered}");
        assert_eq!(world.work_dir().join("hook-ran").exists(), !is_safe, "{word}");
        assert!(!is_safe || !world.work_dir().join("server-ran").exists(), "{word}");
        server.finish();
    }
}

#[tokio::test]
async fn whoever_guards_commands_guards_those_of_a_skill_too() {
    let server = ModelServer::start([Move::say("Soup.")]).await;
    let skill = "---\nname: cook\ndescription: Soup\n---\nToday: !`touch cooked`.\n";
    let guard = "echo '{\"action\": \"block\", \"message\": \"not in my kitchen\"}'\n";
    let world = home_at(&server).file("skills/cook/SKILL.md", skill).file("guard.sh", guard);
    let more = format!(
        "skills: {{inline_shell: true}}\nhooks_auto_accept: true\nhooks:\n  pre_tool_call:\n    - command: sh {}\n",
        world.hermes_home().join("guard.sh").display()
    );
    let world = world.config(&format!("{}{more}", settings(&server.base_url(), "chat_completions")));
    hermes(&world, &["-z", "/cook for two"]).await.expect_code(0);
    let said = asked(&server)[0].to_string();
    assert!(said.contains("not in my kitchen"), "{said}");
    assert!(!world.work_dir().join("cooked").exists());
    server.finish();
}

/// Something that needs consent, does no harm here, and can be seen afterwards.
fn with_build(world: World) -> World {
    std::fs::create_dir_all(world.work_dir().join("build/deep")).expect("a folder");
    world
}

#[tokio::test]
async fn a_dangerous_command_needs_a_person_and_yolo_is_one() {
    let script = || [run("rm -rf build"), Move::say("I see.")];
    let server = ModelServer::start(script()).await;
    let world = with_build(home_at(&server));
    let ran = hermes(&world, &["-z", "clean up"]).await;
    assert_eq!(told(&ran), (Some(0), "I see.\n", ""));
    assert!(world.work_dir().join("build").exists(), "nobody consented");
    let refused: Value = serde_json::from_str(&last_result(&server, 1)).expect("JSON");
    assert_eq!(refused["status"], "blocked", "{refused}");
    server.finish();

    let server = ModelServer::start(script()).await;
    let world = with_build(home_at(&server));
    hermes(&world, &["-z", "clean up", "--yolo"]).await.expect_code(0);
    assert!(!world.work_dir().join("build").exists(), "the person said so in advance");
    server.finish();
}

/// The disk does not exist, so that this would do no harm if it ran.
#[tokio::test]
async fn yolo_does_not_open_the_hardline() {
    let server = ModelServer::start([run("mkfs.ext4 /nonexistent/disk"), Move::say("I see.")]).await;
    hermes(&home_at(&server), &["-z", "go", "--yolo"]).await.expect_code(0);
    let refused: Value = serde_json::from_str(&last_result(&server, 1)).expect("JSON");
    assert_eq!(refused["status"], "blocked", "{refused}");
    server.finish();
}

fn offered(server: &ModelServer) -> BTreeSet<String> {
    let request = server.model_requests().pop().expect("asked");
    let tools = request.json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().filter_map(|tool| Some(tool["function"]["name"].as_str()?.to_owned())).collect()
}

#[tokio::test]
async fn toolsets_of_the_command_line_are_all_that_is_offered() {
    let server = ModelServer::start([Move::say("ok"), Move::say("ok"), Move::say("ok")]).await;
    let world = home_at(&server);
    hermes(&world, &["-z", "one", "-t", "file"]).await.expect_code(0);
    let files = ["patch", "read_file", "search_files", "write_file"].map(str::to_owned);
    assert_eq!(offered(&server), BTreeSet::from(files.clone()));
    hermes(&world, &["-t", "file,terminal", "chat", "-q", "two"]).await.expect_code(0);
    let both = offered(&server);
    assert!(both.contains("terminal") && files.iter().all(|name| both.contains(name)), "{both:?}");
    hermes(&world, &["-z", "three"]).await.expect_code(0);
    assert!(offered(&server).is_superset(&both), "without the flag there is more");
    let unknown = hermes(&world, &["-z", "hi", "-t", "fiel"]).await;
    let message = "hermes -z: no toolset is called `fiel`; `hermes tools` lists them\n";
    assert_eq!(told(&unknown), (Some(2), "", message));
    server.finish();
}

/// A server goes by its name before it is connected, and what it will bring is found by searching.
#[tokio::test]
async fn a_server_of_the_settings_can_be_chosen_and_left_out() {
    let server = ModelServer::start([Move::say("ok"), Move::say("ok"), Move::say("ok")]).await;
    let world = home_at(&server);
    hermes(&world, &["config", "set", "mcp_servers.github.command", "/nonexistent/server"]).await.expect_code(0);
    let has_loader = |names: &BTreeSet<String>| names.contains("tool_search") && names.contains("tool_call");
    hermes(&world, &["-z", "one", "-t", "file,github"]).await.expect_code(0);
    let with_server = offered(&server);
    assert!(has_loader(&with_server) && with_server.contains("read_file"), "{with_server:?}");
    hermes(&world, &["-z", "two", "-t", "file"]).await.expect_code(0);
    assert!(!has_loader(&offered(&server)), "nothing of the server is within reach");
    hermes(&world, &["-z", "three"]).await.expect_code(0);
    assert!(has_loader(&offered(&server)), "servers come by themselves");
    server.finish();
}

#[tokio::test]
async fn an_image_goes_along_and_stays_in_the_conversation() {
    let server = ModelServer::start([run("echo a dot"), Move::say("A dot."), Move::say("Still a dot.")]).await;
    let world = home_at(&server);
    std::fs::write(world.work_dir().join("dot.png"), b"\x89PNG\r\n").expect("written");
    hermes(&world, &["-z", "what is this?", "--image", "dot.png"]).await.expect_code(0);
    hermes(&world, &["-c", "-z", "sure?"]).await.expect_code(0);
    let question = json!({"role": "user", "content": [
        {"type": "text", "text": "what is this?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0K"}},
    ]});
    for request in asked(&server) {
        assert_eq!(request[0], question);
    }
    let alone = hermes(&world, &["-c", "--image", "dot.png"]).await;
    let message = "hermes: an image belongs to a question; add one with `-z` or `chat -q`\n";
    assert_eq!(told(&alone), (Some(2), "", message));
    server.finish();
}

#[tokio::test]
async fn a_secret_in_a_command_is_on_no_screen_and_in_no_stream() {
    let key = format!("sk-proj-{}", "a1B2c3D4e5F6g7H8".repeat(3));
    let script = || [run(&format!("echo 'Authorization: Bearer {key}' > /dev/null")), Move::say("Done.")];
    for arguments in [&["chat", "-q", "go"][..], &["-z", "go", "--output-format", "stream-json"]] {
        let server = ModelServer::start(script()).await;
        let ran = hermes(&home_at(&server), arguments).await.expect_code(0);
        let seen = format!("{}{}", ran.stdout, ran.stderr);
        assert!(seen.contains("Authorization") && !seen.contains("a1B2c3"), "{seen}");
        server.finish();
    }
}
