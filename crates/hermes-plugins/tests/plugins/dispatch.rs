//! Plugins that call tools of Hermes: through the same hands, the same hooks and the same gate.

use crate::stage::{Plan, Stage, Story};
use hermes_tools::run::Status;
use serde_json::{Value, json};

/// Calls whatever it is told to, in the name of the call it works on.
pub(crate) const RELAY: &str = r#"
if method == "initialize":
    return {"tools": [tool("relay", timeout=30), tool("other")], "hooks": ["pre_tool_call", "post_tool_call"]}
if method == "tools/call" and params["name"] == "relay":
    wanted = params["arguments"]
    call = wanted.get("in_the_name_of", id)
    return dispatch(call, wanted["tool"], json.loads(wanted.get("payload") or "{}"))
if method == "hooks/pre_tool_call" or method == "hooks/post_tool_call":
    with open(os.path.join(home, "heard"), "a") as log:
        log.write(method + " " + params["tool_name"] + "\n")
    return None
return "other"
"#;

pub(crate) fn relay() -> Story {
    let answer = format!("global home\nif method == 'initialize': home = params['home']\n{RELAY}");
    Story::new("relay", &answer)
}

/// What the relay is asked to call. The arguments travel as text, so that only the dispatched call shows what they are.
pub(crate) fn through(tool: &str, arguments: &Value) -> Value {
    json!({"tool": tool, "payload": arguments.to_string()})
}

#[tokio::test]
async fn a_dispatched_call_goes_the_way_of_every_call() {
    let stage = Stage::of([relay()]).await;
    std::fs::write(stage.project("notes.txt"), "three short words\n").expect("written");
    let relayed = async |tool: &str, arguments: Value| -> Value {
        serde_json::from_str(&stage.text("relay", through(tool, &arguments)).await).expect("JSON")
    };
    let read = relayed("read_file", json!({"path": "notes.txt"})).await;
    assert_eq!(read["result"]["status"], "ok", "{read}");
    assert!(read["result"]["content"].as_str().is_some_and(|text| text.contains("three short words")), "{read}");

    let refused = relayed("read_file", json!({"path": "~/.hermes/auth.json"})).await;
    assert_eq!(refused["result"]["status"], "error", "{refused}");
    let refused = relayed("terminal", json!({"command": "rm -rf build"})).await;
    assert_eq!(refused["result"]["status"], "blocked", "nobody is there to consent: {refused}");
    stage.extensions.close().await;
    let heard = stage.data("relay", "heard");
    assert!(!heard.contains("terminal"), "a plugin is not asked about what it does itself:\n{heard}");
    assert!(heard.contains("hooks/pre_tool_call relay"), "{heard}");
}

#[tokio::test]
async fn hooks_of_others_see_a_dispatched_call() {
    let guard = Story::new(
        "guard",
        r#"
if method == "initialize":
    return {"hooks": ["pre_tool_call"]}
if method == "hooks/pre_tool_call" and params["tool_name"] == "read_file":
    return {"action": "block", "message": "no reading today"}
"#,
    );
    let stage = Stage::of([relay(), guard]).await;
    let answer: Value =
        serde_json::from_str(&stage.text("relay", through("read_file", &json!({"path": "x"}))).await).expect("JSON");
    assert_eq!(answer["result"]["status"], "blocked");
    assert!(answer["result"]["content"].as_str().is_some_and(|text| text.contains("no reading today")), "{answer}");
    stage.extensions.close().await;
}

#[tokio::test]
async fn only_in_the_name_of_a_call_that_is_going_on_and_never_to_itself() {
    let stage = Stage::of([relay()]).await;
    for (wanted, told) in [
        (json!({"tool": "todo", "in_the_name_of": 4711}), "no call 4711 of yours"),
        (json!({"tool": "other"}), "is your own tool"),
        (json!({"tool": "relay"}), "is your own tool"),
        (json!({"tool": "nonsense"}), "Unknown tool"),
        (json!({"tool": "todo", "in_the_name_of": "x"}), "tools/dispatch: invalid type"),
    ] {
        let answer = stage.text("relay", wanted.clone()).await;
        assert!(answer.contains(told), "{wanted}: {answer}");
    }
    stage.extensions.close().await;
}

#[tokio::test]
async fn a_person_is_asked_about_a_dispatched_command_as_about_any_other() {
    use hermes_tools::gate::Answer;
    let plan = Plan { stories: vec![relay()], answers: Some(vec![Answer::Once]), ..Plan::default() };
    let stage = Stage::build(plan).await;
    std::fs::create_dir_all(stage.project("build")).expect("a folder");
    let finished = stage.call("relay", through("terminal", &json!({"command": "rm -rf build"}))).await;
    assert_eq!(finished.status, Status::Done, "{}", finished.content.text());
    assert!(!stage.project("build").exists(), "the person consented");
    assert_eq!(stage.person.asked.lock().expect("questions").len(), 1);
    stage.extensions.close().await;
}
