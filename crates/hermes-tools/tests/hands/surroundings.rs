//! What commands see of the environment, and how sudo gets its password.

use crate::stage::{Plan, Stage};
use futures_util::future::BoxFuture;
use hermes_core::clock::RealClock;
use hermes_core::stop::Stop;
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Reply};
use hermes_tools::gate::{Answer, Channel};
use hermes_tools::settings::Surroundings;
use hermes_tools::terminal::TerminalSettings;
use hermes_tools::terminal::sandbox::SandboxMode;
use hermes_tools::terminal::surroundings::sudo::{Asking, Heard, Prepared, Sudo};
use hermes_tools::terminal::surroundings::{session_variables, variables, withheld};
use hermes_types::SessionId;
use proptest::prelude::*;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tempfile::TempDir;

fn around(given: &[(&str, &str)], private: &[&str]) -> Surroundings {
    Surroundings {
        home: PathBuf::from("/home/ada"),
        hermes_home: PathBuf::from("/home/ada/.hermes"),
        hermes_root: PathBuf::from("/home/ada/.hermes"),
        cwd: PathBuf::from("/work"),
        temp: PathBuf::from("/tmp"),
        variables: given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        private_variables: private.iter().map(|name| (*name).to_owned()).collect(),
    }
}

fn passing(names: &[&str]) -> TerminalSettings {
    let env_passthrough = names.iter().map(|name| (*name).to_owned()).collect();
    TerminalSettings { env_passthrough, ..TerminalSettings::default() }
}

fn names(seen: &BTreeMap<String, String>) -> Vec<&str> {
    seen.keys().map(String::as_str).collect()
}

#[test]
fn a_command_sees_the_environment_of_the_person_without_what_is_hermes_own() {
    let given = [
        ("AUXILIARY_VISION_API_KEY", "1"),
        ("AUXILIARY_VISION_BASE_URL", "1"),
        ("AUXILIARY_VISION_MODEL", "1"),
        ("AWS_SECRET_ACCESS_KEY", "1"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "1"),
        ("CONDA_PREFIX", "1"),
        ("DAYTONA_API_KEY", "1"),
        ("EDITOR", "vi"),
        ("EXAMPLE_KEY", "1"),
        ("FAL_KEY", "1"),
        ("GATEWAY_RELAY_EU_SECRET", "1"),
        ("GH_TOKEN", "1"),
        ("GITHUB_APP_ID", "1"),
        ("HERMES_HOME", "1"),
        ("HERMES_SESSION_KEY", "1"),
        ("LINES", "40"),
        ("MODAL_TOKEN_ID", "1"),
        ("OPENAI_API_KEY", "1"),
        ("PATH", "/a::/usr/bin:/a"),
        ("SLACK_BOT_TOKEN", "1"),
        ("SLACK_CHANNEL", "1"),
        ("SUDO_PASSWORD", "1"),
        ("TAVILY_API_KEY", "1"),
        ("TELEGRAM_BOT_TOKEN", "1"),
        ("VIRTUAL_ENV", "1"),
        ("_HERMES_FORCE_OPENAI_API_KEY", "2"),
        ("_HERMES_FORCE_VIRTUAL_ENV", "2"),
    ];
    let seen = variables(
        &around(&given, &["OPENAI_API_KEY"]),
        &passing(&["TAVILY_API_KEY", "OPENAI_API_KEY", "SUDO_PASSWORD"]),
    );
    let expected = [
        ("AUXILIARY_VISION_MODEL", "1"),
        ("AWS_SECRET_ACCESS_KEY", "1"),
        ("CLAUDE_CODE_OAUTH_TOKEN", "1"),
        ("EDITOR", "vi"),
        ("EXAMPLE_KEY", "1"),
        ("HERMES_HOME", "1"),
        ("LINES", "40"),
        (
            "PATH",
            "/home/ada/.hermes/bin:/a:/usr/bin:/opt/homebrew/bin:/opt/homebrew/sbin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/sbin:/bin",
        ),
        ("SLACK_CHANNEL", "1"),
        ("TAVILY_API_KEY", "1"),
        ("VIRTUAL_ENV", "2"),
    ];
    assert_eq!(seen, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
}

#[test]
fn what_is_held_back_is_said_with_its_reason() {
    let around = around(&[("GH_TOKEN", "1"), ("EDITOR", "vi"), ("ZAI_API_KEY", "1")], &["ZAI_API_KEY"]);
    let expected = [
        ("GH_TOKEN".to_owned(), "pushes and publishes as the person"),
        ("ZAI_API_KEY".to_owned(), "a key or an address that Hermes works with"),
    ];
    assert_eq!(withheld(&around, &passing(&[])), expected.into());
}

#[test]
fn a_command_knows_its_own_conversation_and_no_other() {
    let seen = variables(&around(&[("HERMES_SESSION_ID", "other")], &[]), &passing(&["HERMES_SESSION_ID"]));
    assert_eq!(names(&seen), ["PATH"]);
    let own = session_variables(&SessionId::new("20260101_000000_abcdef"));
    assert_eq!(own, BTreeMap::from([("HERMES_SESSION_ID".to_owned(), "20260101_000000_abcdef".to_owned())]));
}

proptest! {
    #[test]
    fn no_private_variable_ever_gets_through(
        given in prop::collection::btree_map("(_HERMES_FORCE_)?[A-C]_(API_KEY|TOKEN|X)", "secret|plain", 0..12),
        private in prop::collection::btree_set("[A-C]_(API_KEY|TOKEN|X)", 0..6),
        wanted in prop::collection::vec("(_HERMES_FORCE_)?[A-C]_(API_KEY|TOKEN|X)", 0..12),
    ) {
        let around = Surroundings { variables: given.clone(), private_variables: private.clone(), ..around(&[], &[]) };
        let seen = variables(&around, &TerminalSettings { env_passthrough: wanted, ..TerminalSettings::default() });
        let leaked: BTreeSet<&String> = seen.keys().filter(|name| private.contains(*name) || name.starts_with("_HERMES_")).collect();
        prop_assert!(leaked.is_empty(), "{:?}", leaked);
        let lost: Vec<&String> = given.keys().filter(|name| !name.starts_with('_') && !private.contains(*name) && !seen.contains_key(*name)).collect();
        prop_assert!(lost.is_empty(), "{:?}", lost);
    }
}

/// Somebody who knows the password, or nobody.
struct Owner {
    password: Option<&'static str>,
    asked: AtomicUsize,
}

impl Face for Owner {
    fn channel(&self) -> Channel {
        if self.password.is_some() { Channel::Person } else { Channel::Nobody }
    }

    fn approve(&self, _question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        Box::pin(std::future::ready(Answer::Deny))
    }

    fn clarify(&self, _question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(std::future::ready(Reply::Silence))
    }

    fn password(&self, _reason: String) -> BoxFuture<'_, Option<String>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Box::pin(std::future::ready(self.password.map(str::to_owned)))
    }
}

/// A machine whose sudo is this program when it may not ask.
struct Machine {
    dir: TempDir,
    owner: Owner,
}

impl Machine {
    fn new(probe: &str, password: Option<&'static str>) -> Self {
        let dir = TempDir::new().expect("a directory");
        std::os::unix::fs::symlink(probe, dir.path().join("sudo")).expect("a program");
        Self { dir, owner: Owner { password, asked: AtomicUsize::new(0) } }
    }

    fn sudo(&self, given: &[(&str, &str)], mode: SandboxMode) -> Sudo {
        let path = BTreeMap::from([("PATH".to_owned(), self.dir.path().display().to_string())]);
        Sudo::new(&around(given, &[]), path, mode)
    }

    async fn prepare(&self, sudo: &Sudo, command: &str) -> Prepared {
        let clock = RealClock::default();
        sudo.prepare(command, Asking { face: &self.owner, clock: &clock, stop: &Stop::new() }).await
    }

    fn asked(&self) -> usize {
        self.owner.asked.load(Ordering::Relaxed)
    }
}

fn told(prepared: &Prepared) -> (&str, Vec<&str>) {
    (&prepared.command, prepared.stdin_lines.iter().map(|line| line.expose_secret()).collect())
}

#[tokio::test]
async fn a_password_from_the_settings_is_given_to_each_sudo_and_printed_nowhere() {
    let machine = Machine::new("/bin/false", None);
    let sudo = machine.sudo(&[("SUDO_PASSWORD", "open sesame")], SandboxMode::Off);
    let prepared = machine.prepare(&sudo, "sudo id && sudo cat").await;
    assert_eq!(told(&prepared), ("sudo -S -p '' id && sudo -S -p '' cat", vec!["open sesame", "open sesame"]));
    assert_eq!(prepared.covered("uid=0\nopen sesame\n"), "uid=0\n«redacted:sudo password»\n");
    assert!(!format!("{prepared:?}").contains("sesame"));
}

#[tokio::test]
async fn a_typed_password_is_kept_until_sudo_refuses_it() {
    let machine = Machine::new("/bin/false", Some("typed"));
    let sudo = machine.sudo(&[], SandboxMode::Off);
    for _ in 0..2 {
        assert_eq!(told(&machine.prepare(&sudo, "sudo id").await), ("sudo -S -p '' id", vec!["typed"]));
    }
    assert_eq!(machine.asked(), 1);
    assert_eq!(sudo.heard("uid=0\n"), Heard::NoRefusal);
    assert_eq!(sudo.heard("Sorry, try again.\nsudo: 1 incorrect password attempt\n"), Heard::RefusedAndForgotten);
    assert_eq!(sudo.heard("Sorry, try again.\n"), Heard::Refused, "there is nothing left to forget");
    machine.prepare(&sudo, "sudo id").await;
    assert_eq!(machine.asked(), 2);
}

#[tokio::test]
async fn nobody_is_asked_where_sudo_needs_no_password_or_is_not_run() {
    let machine = Machine::new("/bin/true", Some("typed"));
    let sudo = machine.sudo(&[], SandboxMode::Off);
    for command in ["sudo id", "echo 'sudo id'"] {
        assert_eq!(told(&machine.prepare(&sudo, command).await), (command, vec![]));
    }
    assert_eq!(machine.asked(), 0);
}

#[tokio::test]
async fn where_there_is_no_password_the_reason_is_said() {
    let machine = Machine::new("/bin/false", None);
    let alone = machine.prepare(&machine.sudo(&[], SandboxMode::Off), "sudo id").await;
    assert_eq!(told(&alone), ("sudo id", vec![]));
    assert_eq!(
        alone.hint.as_deref(),
        Some("sudo needs a password and none was given. The owner can set SUDO_PASSWORD in the .env of Hermes.")
    );
    let boxed = machine.sudo(&[("SUDO_PASSWORD", "x")], SandboxMode::Strict);
    let boxed = machine.prepare(&boxed, "sudo id").await;
    assert_eq!(told(&boxed), ("sudo id", vec![]));
    assert_eq!(boxed.hint.as_deref(), Some("sudo does not work in the sandbox (terminal.sandbox is strict)."));
}

/// Takes the password from its input and from nowhere else, and shows what it was given.
const FAKE_SUDO: &str = r#"#!/bin/bash
[ "$1" = -n ] && exit 1
[ "$#:$1$2[$3]" = "$#:-S-p[]" ] || { echo "sudo: a password is required"; exit 1; }
read -r password
[ "$password" = "open sesame" ] || { echo "Sorry, try again."; exit 1; }
shift 3
SUDO_SEEN=$(env | grep -c sesame) exec "$@"
"#;

async fn with_sudo(password: Option<&str>, calls: &[Value]) -> Vec<Value> {
    let bin = TempDir::new().expect("a directory");
    let program = bin.path().join("sudo");
    std::fs::write(&program, FAKE_SUDO).expect("a program");
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("a program");
    let mut plan = Plan { config: json!({"approvals": {"mode": "off"}}), ..Plan::default() };
    let path = plan.variables["PATH"].clone();
    plan.variables.insert("PATH".to_owned(), format!("{}:{path}", bin.path().display()));
    plan.variables.extend(password.map(|password| ("SUDO_PASSWORD".to_owned(), password.to_owned())));
    let stage = Stage::build(plan);
    let mut said = Vec::new();
    for call in calls {
        let ran = stage.call("terminal", call.clone()).await;
        said.push(match ran["session_id"].as_str() {
            Some(id) => {
                let waited = stage.call("process", json!({"action": "wait", "session_id": id})).await;
                json!({"output": waited["output"], "exit_code": waited["exit_code"], "hint": ran["hint"]})
            }
            None => ran,
        });
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn sudo_in_a_command_gets_its_password_and_nobody_else_does() {
    let both = "sudo echo one && sudo printenv SUDO_SEEN; cat; echo end";
    let said = with_sudo(
        Some("open sesame"),
        &[json!({"command": both}), json!({"command": both, "pty": true}), json!({"command": "cat; sudo true"})],
    )
    .await;
    assert_eq!(said[0], json!({"output": "one\n0\nend", "exit_code": 0, "error": null}));
    let note = "pty was turned off: sudo reads its password from the input";
    assert_eq!(said[1], json!({"output": "one\n0\nend", "exit_code": 0, "error": null, "pty_note": note}));
    assert_eq!(said[2]["output"], "«redacted:sudo password»\nSorry, try again.");
    assert_eq!((&said[2]["sudo_auth_failed"], &said[2]["sudo_cache_cleared"]), (&json!(true), &Value::Null));
    assert_eq!(said[2]["hint"], "sudo refused SUDO_PASSWORD. The owner can correct it in the .env of Hermes.");
}

#[tokio::test(flavor = "multi_thread")]
async fn sudo_in_the_background_is_given_its_password_too() {
    let command = "sudo echo one && sudo printenv SUDO_SEEN";
    let said = with_sudo(Some("open sesame"), &[json!({"command": command, "background": true})]).await;
    assert_eq!(said, [json!({"output": "one\n0\n", "exit_code": 0, "hint": null})]);
    let said = with_sudo(None, &[json!({"command": command, "background": true}), json!({"command": "sudo id"})]).await;
    let hint = "sudo needs a password and none was given. The owner can set SUDO_PASSWORD in the .env of Hermes.";
    let failed = json!({"output": "sudo: a password is required\n", "exit_code": 1, "hint": hint});
    assert_eq!(said[0], failed);
    assert_eq!(said[1]["hint"], hint);
}
