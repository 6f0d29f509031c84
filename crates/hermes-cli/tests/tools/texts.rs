//! The words a person reads: lists, cards of tools, refusals and mistakes, held against golden files.

use super::*;
use hermes_testkit::golden;
use serde_json::json;

/// Runs command after command and writes down what a person would see.
async fn told(world: &World, steps: &[(&[&str], i32)]) -> String {
    let mut told = String::new();
    for (words, code) in steps {
        let ran = hermes(world, words).await.expect_code(*code);
        let complaints: String = ran.stderr.lines().map(|line| format!("! {line}\n")).collect();
        told.push_str(&format!("$ hermes {}\n{}{complaints}[{code}]\n\n", words.join(" "), ran.stdout));
    }
    told.replace(&world.home().display().to_string(), "~")
}

/// Whether what was asked for fits on a usual terminal.
fn fits(told: &str) -> bool {
    told.lines().filter(|line| !line.starts_with("! ")).all(|line| line.chars().count() <= 80)
}

#[tokio::test]
async fn toolsets_are_listed_and_switched() {
    let world = world().config("# mine\nmodel: {default: m} # stays\n");
    let steps: &[(&[&str], i32)] = &[
        (&["tools"], 0),
        (&["tools", "disable", "terminal", "todo"], 0),
        (&["tools", "list"], 0),
        (&["tools", "list", "--platform", "telegram"], 0),
        (&["tools", "enable", "terminal"], 0),
        (&["tools", "enable", "terminal"], 0),
        (&["tools", "enable", "termnal"], 2),
        (&["tools", "enable", "todo", "--platform", "telegarm"], 0),
    ];
    let told = told(&world, steps).await;
    assert!(fits(&told), "{told}");
    golden("tests/golden/tools/toolsets.txt", &told);
    assert!(config(&world).starts_with("# mine\nmodel: {default: m} # stays\n"), "{}", config(&world));
    let ran = hermes(&world, &["tools", "list", "--json"]).await.expect_code(0);
    let rows: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let of = |name: &str| rows.as_array().and_then(|rows| rows.iter().find(|row| row["toolset"] == name)).cloned();
    assert_eq!(of("todo").expect("a row")["state"], "off");
}

#[tokio::test]
async fn a_card_says_what_a_tool_takes() {
    let steps: &[(&[&str], i32)] = &[
        (&["tools", "info", "read_file"], 0),
        (&["tools", "info", "file"], 0),
        (&["tools", "info", "skills"], 0),
        (&["tools", "info", "raed_file"], 2),
        (&["tools", "info", "nothing like it"], 2),
    ];
    let told = told(&world(), steps).await;
    assert!(fits(&told), "{told}");
    golden("tests/golden/tools/info.txt", &told);
    let ran = hermes(&world(), &["tools", "info", "terminal", "--json"]).await.expect_code(0);
    let card: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&card["type"], &card["function"]["name"]), (&json!("function"), &json!("terminal")));
}

#[tokio::test]
async fn mistakes_are_explained_before_anything_runs() {
    let steps: &[(&[&str], i32)] = &[
        (&["tools", "call", "terminal", r#"{"command": "touch ran""#], 2),
        (&["tools", "call", "terminal", "touch ran"], 2),
        (&["tools", "call", "terminal", r#"["touch ran"]"#], 2),
        (&["tools", "call", "termnal", r#"{"command": "touch ran"}"#], 2),
        (&["tools", "call", "terminal", r#"{"command": "touch ran"}"#, "--cwd", "nowhere"], 2),
        (&["tools", "call", "terminal", r#"{"comand": "touch ran"}"#], 1),
        (&["tools", "call", "read_file", r#"{"path": "nothing.txt", "ofset": 3}"#], 1),
    ];
    let world = world();
    let told = told(&world, steps).await;
    assert!(!world.work_dir().join("ran").exists(), "{told}");
    golden("tests/golden/tools/mistakes.txt", &told);
}

#[tokio::test]
async fn refusals_say_why_and_what_is_left() {
    let world = world().config("approvals:\n  deny: ['git push *', 'read_file(**/secret*)']\n");
    let calls = [
        ("terminal", json!({"command": "rm -rf /"}), 1),
        ("terminal", json!({"command": "git push --force"}), 1),
        ("terminal", json!({"command": "rm -rf build"}), 1),
        ("terminal", json!({"command": "echo x | sudo -S true"}), 1),
        ("read_file", json!({"path": "secret.txt"}), 1),
        ("write_file", json!({"path": "/etc/passwd", "content": "x"}), 1),
        ("write_file", json!({"path": "~/.ssh/authorized_keys", "content": "x"}), 1),
    ];
    let mut told = String::new();
    for (tool, arguments, code) in calls {
        let ran = call(&world, tool, &arguments).await.expect_code(code);
        assert_eq!(ran.stderr, "");
        result(&ran);
        told.push_str(&format!("$ {tool} {arguments}\n{}\n", ran.stdout));
    }
    golden("tests/golden/tools/refusals.txt", &told.replace(&world.home().display().to_string(), "~"));
}

/// Every tool, with input it can use.
#[tokio::test]
async fn every_tool_answers_on_one_line() {
    let world = world();
    std::fs::write(world.work_dir().join("notes.txt"), "one\ntwo\n").expect("a file");
    let skill = world.hermes_home().join("skills/tea");
    std::fs::create_dir_all(&skill).expect("a folder");
    std::fs::write(skill.join("SKILL.md"), "---\nname: tea\ndescription: How to brew it\n---\nHot.\n")
        .expect("a skill");
    let calls = [
        ("read_file", json!({"path": "notes.txt"})),
        ("search_files", json!({"pattern": "two"})),
        ("write_file", json!({"path": "more.txt", "content": "more\n"})),
        ("patch", json!({"mode": "replace", "path": "notes.txt", "old_string": "two", "new_string": "three"})),
        ("terminal", json!({"command": "cat notes.txt"})),
        ("process", json!({"action": "list"})),
        ("execute_code", json!({"code": "print(6 * 7)"})),
        ("skills_list", json!({})),
        ("skill_view", json!({"name": "tea"})),
        ("skill_manage", json!({"action": "patch", "name": "tea", "old_string": "Hot", "new_string": "Very hot"})),
        ("todo", json!({"todos": [{"id": "1", "content": "look", "status": "pending"}]})),
        ("memory", json!({"action": "add", "target": "memory", "content": "The person likes tea."})),
    ];
    // One needs a person to answer, one an agent to wait for others, one conversations that are kept, two a web site.
    let mut tried: Vec<&str> = vec!["clarify", "delegate_task", "session_search", "web_extract", "web_search"];
    for (tool, arguments) in &calls {
        let ran = call(&world, tool, arguments).await.expect_code(0);
        assert_eq!(ran.stderr, "", "{tool}");
        assert!(result(&ran).is_object());
        tried.push(tool);
    }
    let ran = hermes(&world, &["tools", "list", "--json"]).await.expect_code(0);
    let rows: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    for tool in
        rows.as_array().into_iter().flatten().flat_map(|row| row["tools"].as_array().cloned().unwrap_or_default())
    {
        assert!(tool.as_str().is_some_and(|tool| tried.contains(&tool)), "{tool} was not tried");
    }
    assert_eq!(std::fs::read_to_string(world.work_dir().join("notes.txt")).expect("a file"), "one\nthree\n");
}
