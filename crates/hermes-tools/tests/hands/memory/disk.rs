//! Files that others wrote, and places that cannot be written.

use super::{add, notes, put, remove, replace, stored};
use crate::stage::Stage;
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::Duration;

fn beside(stage: &Stage) -> Vec<String> {
    let folder = fs::read_dir(notes(stage, "")).expect("the folder");
    let mut names: Vec<String> =
        folder.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_editors_do_to_text_is_no_harm() {
    let stage = Stage::new();
    let harmless = ["a\r\n§\r\nb\r\n", "\u{feff}a\n§\nb", "a\n§\nb", "a\n§\nb\n\n", "a\n§\nb\n§\na"];
    for content in harmless {
        put(&stage, "MEMORY.md", content);
        let answer = stage.call("memory", replace("b", "c")).await;
        assert_eq!(answer["success"], true, "{content:?}: {answer}");
        assert_eq!(stored(&stage, "MEMORY.md"), "a\n§\nc", "{content:?}");
    }
}

#[tokio::test]
async fn a_file_with_another_shape_is_copied_and_left_alone() {
    let stage = Stage::new();
    let edited = "# Notes\n\n§\n\n- a list\n§\n";
    put(&stage, "MEMORY.md", edited);
    let answer = stage.call("memory", remove("a list")).await;
    let backup = answer["drift_backup"].as_str().expect("a copy").to_owned();
    let expected = json!({
        "success": false,
        "error": format!("Nothing was changed: MEMORY.md was edited by hand or by another tool into a form that this \
                          change would destroy. It was copied to {backup}."),
        "drift_backup": backup,
        "remediation": "Rewrite the file as entries with a line § between them, each shorter than the limit; or move \
                        what was added elsewhere. Then try again.",
    });
    assert_eq!(answer, expected);
    assert!(backup.starts_with(&format!("{}.bak.", notes(&stage, "MEMORY.md").display())), "{backup}");
    assert_eq!(
        (stored(&stage, "MEMORY.md").as_str(), fs::read_to_string(&backup).expect("the copy").as_str()),
        (edited, edited)
    );

    let again = stage.call("memory", remove("a list")).await;
    assert_eq!(again["drift_backup"], json!(backup), "the same bytes are copied once");
    let added = stage.call("memory", add("one more")).await;
    assert_eq!(added["entry_count"], 3, "another entry costs nothing: {added}");
    assert_eq!(stored(&stage, "MEMORY.md"), "# Notes\n§\n- a list\n§\none more");
}

#[tokio::test]
async fn an_entry_longer_than_the_limit_or_bytes_that_are_no_text_are_not_touched() {
    let stage = Stage::with(json!({"memory": {"memory_char_limit": 20}}));
    for bytes in [b"short\n\xc2\xa7\nand this was appended by a shell".as_slice(), b"caf\xe9"] {
        put(&stage, "MEMORY.md", bytes);
        let answer = stage.call("memory", replace("s", "x")).await;
        let backup = answer["drift_backup"].as_str().unwrap_or_else(|| panic!("a copy: {answer}"));
        assert_eq!(fs::read(backup).expect("the copy"), bytes);
        assert_eq!(fs::read(notes(&stage, "MEMORY.md")).expect("the file"), bytes);
    }
    let added = stage.call("memory", add("x")).await;
    assert!(added["drift_backup"].is_string(), "bytes that are no text cannot be written back: {added}");
    let snapshot = stage.desk.shop.memory.snapshot(&stage.desk.session);
    let trouble =
        format!("{} is not UTF-8 text. Save it as UTF-8, or move it away", notes(&stage, "MEMORY.md").display());
    assert_eq!((snapshot.memory, snapshot.troubles), (None, vec![trouble]));
}

#[tokio::test]
async fn a_link_is_written_through_and_rights_are_kept() {
    let stage = Stage::new();
    stage.call("memory", add("a")).await;
    let mode = |path: &std::path::Path| fs::metadata(path).expect("metadata").permissions().mode() & 0o777;
    assert_eq!(mode(&notes(&stage, "MEMORY.md")), 0o600, "notes are their owner's alone");

    let elsewhere = stage.write("dotfiles/notes.md", "b");
    fs::set_permissions(&elsewhere, fs::Permissions::from_mode(0o640)).expect("rights");
    let link = notes(&stage, "MEMORY.md");
    fs::remove_file(&link).expect("removed");
    symlink(&elsewhere, &link).expect("a link");
    stage.call("memory", add("c")).await;
    assert_eq!(fs::read_link(&link).expect("still a link"), elsewhere);
    assert_eq!((stage.read("dotfiles/notes.md").as_str(), mode(&elsewhere)), ("b\n§\nc", 0o640));

    fs::remove_file(&elsewhere).expect("removed");
    assert_eq!(stage.call("memory", add("d")).await["entry_count"], 1, "a link to nothing leads to a new file");
    assert_eq!(stage.read("dotfiles/notes.md"), "d");
}

#[tokio::test]
async fn what_is_no_file_is_named_and_not_waited_for() {
    let stage = Stage::new();
    put(&stage, "USER.md", "x");
    let pipe = notes(&stage, "MEMORY.md");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo");
    assert!(made.success());
    let answer = stage.call("memory", add("a")).await;
    let error = format!("{} is not an ordinary file of at most 4 MiB. Move it away", pipe.display());
    assert_eq!(answer, json!({"success": false, "error": error}));
    assert_eq!(stage.desk.shop.memory.snapshot(&stage.desk.session).troubles, [error]);
}

#[tokio::test]
async fn a_folder_that_cannot_be_made_is_named() {
    let stage = Stage::new();
    let folder = notes(&stage, "").components().collect::<std::path::PathBuf>();
    fs::write(&folder, "a file in its place").expect("a file");
    let answer = stage.call("memory", add("a")).await;
    let error = answer["error"].as_str().expect("an error");
    let start = format!("{} cannot be written: ", folder.join("MEMORY.md").display());
    let end = ". Its old content is unchanged; check the folder's owner and the free space";
    assert!(error.starts_with(&start) && error.ends_with(end), "{error}");
    assert_eq!(stage.desk.shop.memory.snapshot(&stage.desk.session).troubles.len(), 2);
}

#[tokio::test]
async fn whoever_holds_the_lock_is_waited_for() {
    let stage = Stage::new();
    stage.call("memory", add("a")).await;
    let lock = File::create(notes(&stage, "MEMORY.md.lock")).expect("the lock");
    lock.lock().expect("held");
    let other = async {
        // Time enough to write, for a writer that does not wait.
        tokio::time::sleep(Duration::from_millis(300)).await;
        assert_eq!(stored(&stage, "MEMORY.md"), "a");
        put(&stage, "MEMORY.md", "a\n§\nb");
        drop(lock);
    };
    let (answer, ()) = tokio::join!(stage.call("memory", add("c")), other);
    assert_eq!(answer["entry_count"], 3);
    assert_eq!(stored(&stage, "MEMORY.md"), "a\n§\nb\n§\nc");
}

#[tokio::test]
async fn a_draft_of_a_killed_session_is_swept_away() {
    let stage = Stage::new();
    put(&stage, ".MEMORY.md.Xa81.draft", "half an ent");
    put(&stage, ".MEMORY.md.mine", "somebody's");
    stage.call("memory", add("a")).await;
    assert_eq!(beside(&stage), [".MEMORY.md.mine", "MEMORY.md", "MEMORY.md.lock"]);
}
