//! One conversation that uses everything: a script, the web, a skill, a server and a plugin that falls over in it. It is
//! gone on with by another process, and nothing of it has moved.
//!
//! The web is a proxy on this machine, so that public names can be played without a network; what is private stays private
//! behind it. Where the system lets us, the program also sees a table of names of our own, which changes its mind.

use super::*;
use crate::plugins::python;
use hermes_testkit::{Line, Move, Page, Ran, Received, WebSite, integrity, lines_of};
use serde_json::{Value, json};
use std::process::{Command, Stdio};

const CHAOS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../hermes-mcp/tests/mcp/chaos.py");
const PUBLIC: &str = "93.184.215.14 turncoat.test\n";
const PRIVATE: &str = "127.0.0.1 turncoat.test\n";
/// The program under a table of names of our own, which the test may change while it runs.
const WITH_NAMES: &str = r#"mount --bind "$HOME/hosts" /etc/hosts && exec "$0" "$@""#;

/// A call of the model, and words that its result must hold.
struct Step {
    tool: &'static str,
    arguments: Value,
    hears: Vec<String>,
}

fn step(tool: &'static str, arguments: Value, hears: &[&str]) -> Step {
    Step { tool, arguments, hears: hears.iter().map(|&words| words.to_owned()).collect() }
}

/// A call of what stands behind the loader.
fn behind_loader(tool: &str, arguments: &Value, hears: &[&str]) -> Step {
    step("tool_call", json!({"name": tool, "arguments": arguments}), hears)
}

fn moves(steps: &[Step], answer: &str) -> Vec<Move> {
    let calls = steps.iter().map(|step| Move::say("").call(step.tool, step.arguments.clone()));
    calls.chain([Move::say(answer)]).collect()
}

/// Every step was answered, each by its own result, in the requests from this one on.
fn assert_heard(server: &ModelServer, steps: &[Step], first: usize) {
    let requests = asked(server);
    assert_eq!(requests.len(), first + steps.len() + 1);
    for (at, step) in steps.iter().enumerate() {
        let messages = requests[first + at + 1].as_array().expect("messages");
        let result = messages.last().expect("a result");
        assert_eq!(result["role"], "tool", "{}: {result}", step.tool);
        let text = result["content"].as_str().expect("text");
        for words in &step.hears {
            assert!(text.contains(words.as_str()), "{} {}: {words:?} is not in\n{text}", step.tool, step.arguments);
        }
    }
}

/// Public pages, as a proxy has them; one leads into the private network.
fn public_web(asked: &Received) -> Page {
    match asked.path.as_str() {
        "http://tides.test/today" => {
            Page::of("text/html", "<title>Tides</title><h1>Tides</h1><p>High water is at noon.</p>")
        }
        "http://tides.test/archive" => Page::moved("http://10.0.0.7/archive"),
        "http://turncoat.test/" => Page::of("text/plain", "Nothing to see here."),
        _ => Page::missing(),
    }
}

/// Whether a program can be given a table of names of its own here.
fn names_can_be_played(world: &World) -> bool {
    std::fs::write(world.home().join("hosts"), PUBLIC).expect("a table of names");
    let mut trial = Command::new("unshare");
    trial.args(["-rm", "sh", "-c", WITH_NAMES, "true"]).env("HOME", world.home());
    trial.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

async fn run(world: &World, with_names: bool, words: &[&str]) -> Ran {
    match with_names {
        true => {
            keeping_secrets(world.run("unshare", &[&["-rm", "sh", "-c", WITH_NAMES, HERMES], words].concat()).await)
        }
        false => hermes(world, words).await,
    }
}

/// The files of the project, the skill and the plugin.
fn furnished(world: World) -> World {
    std::fs::write(world.work_dir().join("log.txt"), "calm\nTODO: ask for the tide\n").expect("a file");
    let skill = "---\nname: harbour-log\ndescription: How the log of the harbour is written.\n---\n\
                 Run `sh ${HERMES_SKILL_DIR}/scripts/enter.sh 'WORDS'` in the folder of the log.\n";
    let world = world
        .file("skills/harbour-log/SKILL.md", skill)
        .file("skills/harbour-log/scripts/enter.sh", "echo \"entered: $1\" | tee -a log.txt\n");
    let work = "result = os._exit(3) if message['params']['arguments'].get('storm') else 'the lamp is lit'";
    plugin(&world, "lighthouse", "name: lighthouse\n", &python("light_lamp", work));
    world
}

/// What the model does in the first process. It waits in its script until the server has told its tools.
fn first_day(world: &World, names_play: bool) -> Vec<Step> {
    let script = format!(
        "from hermes_tools import read_file, search_files, terminal\n\
         for match in search_files('TODO', path='.')['matches']:\n    print(match['path'], match['line'])\n\
         print(terminal('wc -l < log.txt')['output'].strip(), 'lines')\n\
         print('calm' in read_file('log.txt')['content'])\n\
         terminal('until test -s {}; do sleep 0.05; done')\n",
        world.home().join("listed1").display()
    );
    let enter = world.hermes_home().join("skills/harbour-log/scripts/enter.sh");
    let enter = enter.canonicalize().expect("a script").display().to_string();
    let page = |url: &str| json!({"urls": [url]});
    let private = "Blocked: URL targets a private or internal network address";
    let mut steps = vec![
        step("execute_code", json!({ "code": script }), &[r#""status":"success""#, "log.txt 2\\n2 lines\\nTrue\\n"]),
        step("web_search", json!({"query": "high water"}), &["<untrusted_tool_result", "http://tides.test/today"]),
        step("web_extract", page("http://tides.test/today"), &["<untrusted_tool_result", "High water is at noon."]),
        step("web_extract", page("http://tides.test/archive"), &[private, "10.0.0.7 is a private network"]),
        step("web_extract", page("http://turncoat.test/"), &["Nothing to see here."]),
    ];
    if names_play {
        steps.push(step("web_extract", page("http://turncoat.test/"), &[private, "turncoat.test is this machine"]));
    }
    steps.extend([
        step("skill_view", json!({"name": "harbour-log"}), &[&format!("Run `sh {enter} 'WORDS'`")]),
        step(
            "terminal",
            json!({"command": format!("sh {enter} 'high water at noon'")}),
            &["entered: high water at noon"],
        ),
        behind_loader("mcp__box__bump", &json!({}), &[r#"{"result":"1"}"#]),
        behind_loader("light_lamp", &json!({"storm": true}), &["the plugin lighthouse failed", "exit status: 3"]),
        behind_loader("light_lamp", &json!({}), &["the lamp is lit"]),
    ]);
    steps
}

/// Plays the moves one after another, and turns the table of names over before the second question about the turncoat.
fn director(world: &World, days: Vec<Move>) -> impl FnMut(&Received) -> Move + Send + 'static {
    let (hosts, mut days) = (world.home().join("hosts"), days.into_iter());
    move |request| {
        if String::from_utf8_lossy(&request.raw).contains("Nothing to see here.") {
            std::fs::write(&hosts, PRIVATE).expect("another table of names");
        }
        days.next().expect("a move for every question")
    }
}

/// One result for each call, right behind it and in its order; a question and an answer around them.
fn assert_whole(lines: &[Line]) {
    let mut open: Vec<&str> = Vec::new();
    let mut before = "assistant";
    for line in lines {
        match line.role.as_str() {
            "tool" => {
                let answered = line.answers.as_deref().expect("a result answers a call");
                assert_eq!(open.first(), Some(&answered), "{lines:#?}");
                open.remove(0);
            }
            role => {
                assert!(open.is_empty(), "calls without results: {open:?} in {lines:#?}");
                assert_ne!((role, before), ("user", "user"), "{lines:#?}");
                assert_ne!((role, before), ("assistant", "assistant"), "{lines:#?}");
                open = line.calls.iter().map(String::as_str).collect();
            }
        }
        before = &line.role;
    }
    assert_eq!((before, open.len()), ("assistant", 0), "{lines:#?}");
}

#[tokio::test]
async fn one_conversation_uses_everything_and_goes_on_in_another_process() {
    let web = WebSite::start(public_web).await;
    let engine = WebSite::start(|_| {
        let found =
            json!({"results": [{"title": "Tides", "url": "http://tides.test/today", "content": "Today's tides"}]});
        Page::of("application/json", found.to_string())
    })
    .await;
    let world = furnished(nowhere())
        .env("HTTP_PROXY", &format!("http://{}", web.address()))
        .env("NO_PROXY", "127.0.0.1")
        .env("SEARXNG_URL", &format!("http://{}", engine.address()));
    let names_play = names_can_be_played(&world);
    if !names_play {
        eprintln!("passed over: names cannot be played on this system");
    }
    let first = first_day(&world, names_play);
    let second = [
        behind_loader("light_lamp", &json!({}), &["the lamp is lit"]),
        step("terminal", json!({"command": "tail -n 1 log.txt"}), &["entered: high water at noon"]),
    ];
    let days = [moves(&first, "It is written down."), moves(&second, "The lamp burns.")].concat();
    let server = ModelServer::directed(director(&world, days)).await;
    server.expect_key(KEY);
    let settings = format!(
        "{}plugins:\n  enabled: [lighthouse]\nmcp_servers:\n  box:\n    command: python3\n    args: [{CHAOS}, plain, {}]\n",
        settings(&server.base_url(), "chat_completions"),
        world.home().display()
    );
    let world = world.env("REHEARSAL_KEY", KEY).config(&settings);
    hermes(&world, &["plugins", "enable", "lighthouse"]).await.expect_code(0);

    let ran = run(&world, names_play, &["-z", "Write the tide into the log.", "--output-format", "json"]).await;
    let result: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    assert_eq!((ran.code, &result["text"]), (Some(0), &json!("It is written down.")), "{}", ran.stderr);
    assert_heard(&server, &first, 0);
    assert_eq!(world.inhabitants(), Vec::<String>::new(), "nobody is left behind");
    let visits = ["http://tides.test/today", "http://tides.test/archive", "http://turncoat.test/"];
    assert_eq!(web.visits(), visits, "what was refused was not asked for");
    assert_eq!(engine.visits(), ["/search?q=high+water&format=json&pageno=1"]);
    let log = std::fs::read_to_string(world.work_dir().join("log.txt")).expect("the log");
    assert_eq!(log, "calm\nTODO: ask for the tide\nentered: high water at noon\n");

    let session = result["session_id"].as_str().expect("a session");
    let ran = run(&world, names_play, &["--resume", session, "-z", "Does the lamp burn?"]).await;
    assert_eq!(told(&ran), (Some(0), "The lamp burns.\n", ""));
    assert_heard(&server, &second, first.len() + 1);
    assert_eq!(world.inhabitants(), Vec::<String>::new(), "nobody is left behind");
    assert_goes_on(&server, first.len());
    server.finish();

    let database = world.hermes_home().join("state.db");
    assert_eq!(integrity(&database), Vec::<String>::new());
    let lines = lines_of(&database, session);
    assert_whole(&lines);
    let results = lines.iter().filter(|line| line.role == "tool").count();
    assert_eq!((results, lines.len()), (first.len() + second.len(), 2 * (first.len() + second.len()) + 4));

    let doctor = hermes(&world, &["doctor"]).await.expect_code(0).stdout;
    let fall = doctor.lines().find(|line| line.contains("! lighthouse fell over in a conversation"));
    assert!(fall.is_some_and(|line| line.contains("exit status: 3")), "{doctor}");
    hermes(&world, &["plugins", "enable", "lighthouse"]).await.expect_code(0);
    let doctor = hermes(&world, &["doctor"]).await.expect_code(0).stdout;
    assert!(!doctor.contains("fell over"), "it was tried since: {doctor}");
}

/// What the second process sends begins with all that the first one sent last: tools, and every message of it.
fn assert_goes_on(server: &ModelServer, last: usize) {
    let requests = server.model_requests();
    let (before, after) = (requests[last].json(), requests[last + 1].json());
    assert_eq!(before["tools"].to_string(), after["tools"].to_string());
    let messages = |body: &Value| -> Vec<String> {
        body["messages"].as_array().expect("messages").iter().map(Value::to_string).collect()
    };
    let (before, after) = (messages(before), messages(after));
    assert_eq!(after.len(), before.len() + 2, "the answer and the new question");
    assert_eq!(after[..before.len()], before[..]);
}
