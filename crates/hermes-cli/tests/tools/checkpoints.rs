//! The way back: snapshots are taken before a tool changes a project, shown, and gone back to.

use super::*;
use hermes_testkit::golden;
use serde_json::json;

fn project(world: &World) {
    let work = world.work_dir();
    std::fs::write(work.join("Makefile"), "all:\n").expect("a file");
    std::fs::write(work.join("notes.txt"), "one\ntwo\n").expect("a file");
}

fn notes(world: &World) -> String {
    std::fs::read_to_string(world.work_dir().join("notes.txt")).unwrap_or_default()
}

async fn write(world: &World, path: &str, content: &str) {
    call(world, "write_file", &json!({"path": path, "content": content})).await.expect_code(0);
}

/// Hashes and times differ from run to run.
fn masked(text: &str, world: &World) -> String {
    let text = text.replace(&world.home().display().to_string(), "~");
    let word = |word: &str| -> String {
        let bare = word.trim_matches(|c: char| !c.is_ascii_alphanumeric());
        let is_hash = bare.len() == 8 && bare.bytes().all(|byte| byte.is_ascii_hexdigit());
        let is_date = bare.len() == 10 && bare.matches('-').count() == 2;
        let is_time = bare.len() == 5 && bare.contains(':');
        match () {
            () if is_hash => word.replace(bare, "HASHHASH"),
            () if is_date => word.replace(bare, "YYYY-MM-DD"),
            () if is_time => word.replace(bare, "HH:MM"),
            () => word.to_owned(),
        }
    };
    text.split_inclusive('\n').map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ")).collect()
}

#[tokio::test]
async fn a_project_goes_back_and_forth_again() {
    let world = world().config("checkpoints:\n  enabled: true\n");
    project(&world);
    let mut story = String::new();
    write(&world, "notes.txt", "one\nthree\n").await;
    write(&world, "new.txt", "new\n").await;
    let steps: [(&[&str], i32); 10] = [
        (&["checkpoints"], 0),
        (&["checkpoints", "diff", "2"], 0),
        (&["checkpoints", "restore", "2", "notes.txt"], 0),
        (&["checkpoints", "restore", "2"], 0),
        (&["checkpoints", "restore", "1"], 0),
        (&["checkpoints", "diff", "1"], 0),
        (&["checkpoints", "diff", "77"], 1),
        (&["checkpoints", "restore", "one"], 2),
        (&["checkpoints", "restore", "1", "../elsewhere.txt"], 1),
        (&["checkpoints", "list", "--cwd", "nowhere"], 2),
    ];
    for (words, code) in steps {
        let ran = hermes(&world, words).await.expect_code(code);
        let complaints: String = ran.stderr.lines().map(|line| format!("! {line}\n")).collect();
        story.push_str(&format!("$ hermes {}\n{}{complaints}[{code}]\n\n", words.join(" "), ran.stdout));
        if words == ["checkpoints", "restore", "2", "notes.txt"] {
            assert_eq!((notes(&world).as_str(), world.work_dir().join("new.txt").exists()), ("one\ntwo\n", true));
        }
    }
    golden("tests/golden/tools/checkpoints.txt", &masked(&story, &world));
}

#[tokio::test]
async fn programs_get_the_list_as_json_and_nothing_is_kept_unless_wanted() {
    let world = world();
    project(&world);
    write(&world, "notes.txt", "changed\n").await;
    let ran = hermes(&world, &["checkpoints", "list", "--json"]).await.expect_code(0);
    assert_eq!(ran.stdout, "[]\n");
    let ran = hermes(&world, &["checkpoints"]).await.expect_code(0);
    assert!(ran.stdout.contains("hermes config set checkpoints.enabled true"), "{}", ran.stdout);
    hermes(&world, &["config", "set", "checkpoints.enabled", "true"]).await.expect_code(0);
    write(&world, "notes.txt", "changed again\n").await;
    let ran = hermes(&world, &["checkpoints", "list", "--json"]).await.expect_code(0);
    let list: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!((&list[0]["number"], &list[0]["reason"]), (&json!(1), &json!("write_file")));
    assert_eq!(list.as_array().map(Vec::len), Some(1));
}
