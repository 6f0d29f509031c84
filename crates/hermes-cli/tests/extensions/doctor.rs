//! `hermes doctor`: what is well is said to be well, what is broken is named with what to type.

use super::*;
use serde_json::{Value, json};

#[tokio::test]
async fn a_home_in_order_is_in_order() {
    let server = ModelServer::start([]).await;
    let world = home_at(&server);
    let ran = hermes(&world, &["doctor"]).await;
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    for told in
        ["Home\n  ✓", "Settings\n", "Model\n  ✓ rehearsal-model at", "Sessions\n  ✓", "Tools\n  ✓", "Sandbox\n  ✓"]
    {
        assert!(ran.stdout.contains(told), "{told:?} in\n{}", ran.stdout);
    }
    assert!(!ran.stdout.contains('✗'), "{}", ran.stdout);
    assert_eq!(server.requests().len(), 0, "nothing is asked over the network");
}

#[tokio::test]
async fn what_is_broken_is_named_and_the_exit_code_says_so() {
    let server = ModelServer::start([]).await;
    let more = "plugins:\n  enabled: [torn, gone, module, dead]\nmcp_servers:\n  empty: {}\n  fine:\n    command: x\n\
                \x20 planted:\n    command: bash\n    args: [-c, curl example.org]\n  odd:\n    command: x\n    timeout: soon\n\
                security:\n  website_blocklist:\n    enabled: true\n    shared_files: [gone.txt]\n\
                hooks:\n  pre_verify:\n    - command: x\n  post_tool_call:\n    - command: ~/not-there.sh\n";
    let world = home_with(&server, more);
    plugin(&world, "torn", "name: torn\nprovides_tools: 7\n", "");
    plugin(&world, "dead", "name: dead\nhomepage: x\n", "import sys\nsys.exit('no cheese')\n");
    let torn = world.hermes_home().join("skills/torn");
    std::fs::create_dir_all(&torn).expect("a folder");
    std::fs::write(torn.join("SKILL.md"), "---\nname: torn\ndescription: [a\n---\nText.\n").expect("a skill");
    let module = world.hermes_home().join("plugins/module");
    std::fs::create_dir_all(&module).expect("a folder");
    std::fs::write(module.join("plugin.yaml"), "name: module\n").expect("a manifest");
    std::fs::write(module.join("__init__.py"), "def register(ctx): pass\n").expect("a module");
    let ran = hermes(&world, &["doctor", "--json"]).await;
    assert_eq!(ran.code, Some(1), "{}{}", ran.stdout, ran.stderr);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    let checks = |section: &str| -> Vec<(String, String)> {
        let sections = report["sections"].as_array().expect("sections");
        let found = sections.iter().find(|one| one["name"] == section).unwrap_or_else(|| panic!("{section}: {report}"));
        let text = |check: &Value, field: &str| check[field].as_str().unwrap_or_default().to_owned();
        let checks = found["checks"].as_array().expect("checks").iter();
        checks.map(|check| (text(check, "state"), text(check, "text"))).collect()
    };
    let has = |section: &str, state: &str, told: &str| {
        let checks = checks(section);
        assert!(checks.iter().any(|(is, text)| is == state && text.contains(told)), "{state} {told}: {checks:?}");
    };
    has("Skills", "odd", "skills/torn/SKILL.md:3:14: ");
    has("Plugins", "broken", "torn/plugin.yaml:2:");
    has("Plugins", "broken", "field `provides_tools`");
    has("Plugins", "broken", "no cheese");
    has("Plugins", "odd", "nobody knows these fields of its manifest: homepage");
    has("Plugins", "odd", "module: it needs the Python program");
    has("Plugins", "odd", "gone is enabled and not there");
    has("Tools", "odd", "gone.txt cannot be read");
    has("MCP servers", "broken", "mcp_servers.empty: it needs `command`");
    has("MCP servers", "broken", "mcp_servers.planted.command: not started");
    has("MCP servers", "odd", "mcp_servers.odd.timeout: it has to be a number of seconds");
    has("MCP servers", "fine", "odd is set");
    has("MCP servers", "fine", "fine is set");
    has("Hooks", "odd", "`pre_verify` never happens here");
    has("Hooks", "broken", "not-there.sh is not there");
    assert!(report["broken"].as_u64().is_some_and(|broken| broken >= 4), "{report}");
    assert_eq!(report["sections"][0]["checks"][0]["state"], json!("fine"));
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_told_and_nothing_is_guessed() {
    let world = nowhere().config("model: [\n");
    let ran = hermes(&world, &["doctor"]).await;
    assert_eq!(ran.code, Some(1));
    assert!(ran.stdout.contains("✗") && ran.stdout.contains("config.yaml"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("Plugins"), "{}", ran.stdout);
}
