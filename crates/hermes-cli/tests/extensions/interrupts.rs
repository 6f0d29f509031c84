//! A person who has had enough of a program that never answers: Ctrl-C ends the command, and the program with it.

use super::*;
use serde_json::json;
use std::time::Duration;

/// Says that it lives, and nothing more, ever.
const MUTE: &str = "import os, time\nopen(os.path.expanduser('~/lives'), 'w').close()\ntime.sleep(600)\n";

#[tokio::test]
async fn nobody_who_never_answers_outlives_the_command_that_started_it() {
    for words in [
        &["plugins", "enable", "mute"][..],
        &["doctor"],
        &["hooks", "test", "pre_tool_call"],
        &["hooks", "doctor"],
        &["mcp", "test", "mute"],
        &["tools", "call", "mcp__mute__x"],
    ] {
        let world = nowhere();
        plugin(&world, "mute", "name: mute\n", MUTE);
        let program = world.hermes_home().join("plugins/mute/plugin.py").display().to_string();
        let command = format!("python3 {program}");
        let consent = json!({"approvals": [{"event": "pre_tool_call", "command": command}]});
        let enabled = if words == ["doctor"] { "plugins: {enabled: [mute]}\n" } else { "" };
        let world = world.file("shell-hooks-allowlist.json", &consent.to_string()).config(&format!(
            "{enabled}hooks:\n  pre_tool_call:\n    - command: {command}\nmcp_servers:\n  mute:\n    command: python3\n    \
             args: [{program}]\n"
        ));
        let child = world.command(HERMES, words).spawn().expect("started");
        until(|| world.home().join("lives").exists(), "nothing was started").await;
        signal(&child, "-INT").await;
        let (ran, took) = end(child).await;
        assert_eq!(ran.code, Some(130), "{words:?}: {}{}", ran.stdout, ran.stderr);
        assert!(took < Duration::from_secs(5), "{words:?}: {took:?}");
        until(|| world.inhabitants().is_empty(), &format!("{words:?} left somebody behind")).await;
    }
}
