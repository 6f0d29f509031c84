//! The real program on real homes: several processes at once, exit codes, and profiles chosen on the command line.

use std::path::Path;
use std::process::{Command, Output};

fn hermes(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hermes"));
    command.args(words).env_clear().env("HERMES_HOME", home).env("HERMES_MANAGED_DIR", home.join("no-such-folder"));
    command
}

fn run(home: &Path, words: &[&str]) -> Output {
    hermes(home, words).output().expect("started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn processes_that_set_different_keys_at_once_lose_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    std::fs::write(home.join("config.yaml"), "# shared by all\n").expect("written");
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let (key, value) = (format!("personalities.p{n}"), format!("voice {n}"));
            hermes(home, &["config", "set", &key, &value]).spawn().expect("started")
        })
        .chain((0..4).map(|n| {
            let name = format!("BOX{n}_API_KEY");
            hermes(home, &["config", "set", &name, "some-key"]).spawn().expect("started")
        }))
        .collect();
    for mut writer in writers {
        assert!(writer.wait().expect("ended").success());
    }
    let config = std::fs::read_to_string(home.join("config.yaml")).expect("readable");
    assert!(config.starts_with("# shared by all\npersonalities:\n"), "{config}");
    for n in 0..8 {
        assert!(config.contains(&format!("  p{n}: voice {n}\n")), "{config}");
    }
    let env = std::fs::read_to_string(home.join(".env")).expect("readable");
    for n in 0..4 {
        assert!(env.contains(&format!("BOX{n}_API_KEY=some-key\n")), "{env}");
    }
}

#[test]
fn exit_codes_tell_the_truth() {
    let folder = tempfile::tempdir().expect("a folder");
    let code = |words: &[&str]| run(folder.path(), words).status.code();
    assert_eq!(code(&["config", "get", "agent.max_turns"]), Some(0));
    assert_eq!(code(&["config", "get", "agent.max_turnips"]), Some(1));
    assert_eq!(code(&["config", "get", "a..b"]), Some(2));
    assert_eq!(code(&["config", "sett"]), Some(2));
    assert_eq!(code(&["-p", "nobody", "config", "show"]), Some(1));
    assert_eq!(code(&["profile", "use", "nobody"]), Some(1));
}

#[test]
fn a_profile_has_its_own_settings() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = folder.path();
    assert!(run(home, &["profile", "create", "work"]).status.success());
    assert!(run(home, &["-p", "work", "config", "set", "agent.max_turns", "7"]).status.success());
    let asked = |words: &[&str]| text(&run(home, words).stdout);
    assert_eq!(asked(&["-p", "work", "config", "get", "agent.max_turns"]), "7\n");
    assert_eq!(asked(&["config", "get", "agent.max_turns"]), "90\n");
    assert!(run(home, &["profile", "use", "work"]).status.success());
    assert_eq!(asked(&["config", "get", "agent.max_turns"]), "7\n");
    assert_eq!(asked(&["-p", "default", "config", "get", "agent.max_turns"]), "90\n");
    std::fs::remove_dir_all(home.join("profiles/work")).expect("removed");
    let gone = run(home, &["config", "set", "agent.max_turns", "8"]);
    assert_eq!(gone.status.code(), Some(1));
    assert!(text(&gone.stderr).starts_with("The profile `work` (chosen by `hermes profile use`) does not exist."));
    assert!(!home.join("profiles/work").exists());
}
