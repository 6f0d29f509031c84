//! A recovered file takes the place of a damaged one: nothing is written in between, and no log is parted from its file.

use crate::stage::{Kind, Stage, open};
use hermes_core::store::{StoreError, Transcript};
use hermes_store::{Held, recover, replace, take_back};
use hermes_types::{Message, NewMessage, SessionId};
use rusqlite::{Connection, ErrorCode};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const OTHER_PROCESS: &str = "HERMES_STORE_TEST_WRITES_TO";

fn say(text: &str) -> NewMessage {
    Message::user(text).into()
}

/// A store with one message that nobody has open.
async fn at_rest() -> (Stage, SessionId) {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("a").await;
    stage.store.append(&id, vec![say("one")]).await.expect("kept");
    stage.store.close().await;
    (stage, id)
}

/// A store as a crash leaves it: a message is only in the log.
async fn crashed() -> (Stage, SessionId, PathBuf) {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("a").await;
    stage.store.append(&id, vec![say("only in the log")]).await.expect("kept");
    let folder = stage.path.with_file_name("crashed");
    fs::create_dir(&folder).expect("a folder");
    let path = folder.join("state.db");
    for beside in ["db", "db-wal"] {
        fs::copy(stage.path.with_extension(beside), path.with_extension(beside)).expect("as a crash leaves it");
    }
    (stage, id, path)
}

/// Every file of a folder with its content.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| (entry.file_name().to_string_lossy().into(), fs::read(entry.path()).expect("bytes"))).collect()
}

fn names(folder: &Path) -> Vec<String> {
    files(folder).into_keys().collect()
}

#[tokio::test]
async fn our_programs_do_not_write_between_the_copy_and_the_swap() {
    let (stage, id) = at_rest().await;
    let [made, kept] = ["made.db", "kept.db"].map(|name| stage.path.with_file_name(name));
    let mut held = Held::take(&stage.path).expect("free");
    held.mark("being recovered");
    held.recover(&made).expect("recovered");
    let store = open(&stage.path).await;
    let refused = store.append(&id, vec![say("two")]).await;
    assert!(matches!(refused, Err(StoreError::Damaged { .. })), "{refused:?}");
    store.close().await;
    drop(store);
    held.replace(&made, &kept).expect("replaced");
    let store = open(&stage.path).await;
    store.append(&id, vec![say("two")]).await.expect("it may be written again");
    assert_eq!(store.messages(&id).await.expect("read").len(), 2);
}

#[tokio::test]
async fn a_recovery_that_is_given_up_leaves_the_file_to_its_programs() {
    let (stage, id) = at_rest().await;
    let mut held = Held::take(&stage.path).expect("free");
    held.mark("being recovered");
    drop(held);
    let store = open(&stage.path).await;
    store.append(&id, vec![say("two")]).await.expect("written");
}

#[tokio::test]
async fn no_other_process_gets_at_a_file_that_is_held() {
    let (stage, _) = at_rest().await;
    let write = || {
        let mut other = Command::new(std::env::current_exe().expect("this program"));
        other.args(["--exact", "swap::the_job_of_another_process", "--nocapture"]).env(OTHER_PROCESS, &stage.path);
        let ran = other.output().expect("a process");
        String::from_utf8_lossy(&ran.stdout).into_owned()
    };
    let mut held = Held::take(&stage.path).expect("free");
    held.recover(&stage.path.with_file_name("made.db")).expect("recovered");
    assert!(write().contains("kept out"), "{}", write());
    drop(held);
    assert!(write().contains("written"), "{}", write());
}

#[test]
#[expect(clippy::print_stdout, reason = "the test that started this process reads it")]
fn the_job_of_another_process() {
    let Some(path) = std::env::var_os(OTHER_PROCESS) else { return };
    let file = Connection::open(path).expect("a connection");
    match file.execute("UPDATE sessions SET title = 'changed'", []) {
        Ok(_) => println!("written"),
        Err(error) => {
            assert_eq!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy));
            println!("kept out");
        }
    }
}

#[tokio::test]
async fn a_file_that_was_written_after_all_is_not_replaced() {
    let (stage, _) = at_rest().await;
    let [made, kept] = ["made.db", "kept.db"].map(|name| stage.path.with_file_name(name));
    let mut held = Held::take(&stage.path).expect("free");
    held.recover(&made).expect("recovered");
    stage.look().execute_batch("UPDATE sessions SET title = 'changed'").expect("written by whoever heeds no lock");
    let refused = held.replace(&made, &kept);
    assert!(matches!(&refused, Err(StoreError::Unusable { reason, .. }) if reason.contains("wrote")), "{refused:?}");
    assert!(!kept.exists());
    let title: String =
        stage.look().query_row("SELECT title FROM sessions", [], |row| row.get(0)).expect("the file is in its place");
    assert_eq!(title, "changed");
}

#[tokio::test]
async fn the_old_file_is_kept_with_its_log() {
    let (_stage, id, path) = crashed().await;
    fs::write(path.with_extension("db-journal"), "").expect("an empty journal");
    let folder = path.parent().expect("a folder");
    let before = files(folder);
    let [made, kept] = ["made.db", "kept.db"].map(|name| path.with_file_name(name));
    let mut held = Held::take(&path).expect("free");
    held.mark("being recovered");
    assert_eq!(held.recover(&made).expect("recovered").messages, 1);
    held.replace(&made, &kept).expect("replaced");
    let after = files(folder);
    assert_eq!(after["kept.db"], before["state.db"]);
    assert_eq!(after["kept.db-wal"], before["state.db-wal"]);
    assert!(!["state.db-wal", "state.db-journal", "state.db.damaged"].iter().any(|name| after.contains_key(*name)));
    for file in [&path, &kept] {
        assert_eq!(open(file).await.messages(&id).await.expect("read").len(), 1, "{}", file.display());
    }
}

#[tokio::test]
async fn a_swap_that_fails_puts_everything_back() {
    let (_stage, _, path) = crashed().await;
    let folder = path.parent().expect("a folder");
    let before = files(folder);
    let mut held = Held::take(&path).expect("free");
    held.mark("being recovered");
    held.replace(&path.with_file_name("nothing.db"), &path.with_file_name("kept.db"))
        .expect_err("there is no new file");
    assert_eq!(files(folder), before);
}

#[tokio::test]
async fn a_swap_that_was_cut_off_is_taken_back_by_the_next_recovery() {
    let (_stage, id, path) = crashed().await;
    let folder = path.parent().expect("a folder");
    let before = files(folder);
    let kept = path.with_file_name("kept.db");
    // As a crash leaves it between the two: the log has only its second name, and the mark knows it.
    fs::hard_link(&path, &kept).expect("a second name");
    fs::rename(path.with_extension("db-wal"), kept.with_extension("db-wal")).expect("moved");
    let mark = path.with_extension("db.damaged");
    fs::write(&mark, format!("being recovered\nkept: {}\n", kept.display())).expect("a mark");
    assert_eq!(take_back(&path), Ok(true));
    assert_eq!(take_back(&path), Ok(false));
    fs::remove_file(&mark).expect("a mark");
    assert_eq!(files(folder), before);
    assert_eq!(open(&path).await.messages(&id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn a_swap_that_came_to_its_end_is_not_taken_back() {
    let (stage, _, path) = crashed().await;
    let kept = path.with_file_name("kept.db");
    fs::rename(path.with_extension("db-wal"), kept.with_extension("db-wal")).expect("moved");
    fs::rename(&path, &kept).expect("moved");
    stage.store.close().await;
    fs::copy(&stage.path, &path).expect("the new file");
    fs::write(path.with_extension("db.damaged"), format!("x\nkept: {}\n", kept.display())).expect("a mark");
    assert_eq!(take_back(&path), Ok(false));
    assert_eq!(names(path.parent().expect("a folder")), ["kept.db", "kept.db-wal", "state.db", "state.db.damaged"]);
}

#[tokio::test]
async fn nothing_that_exists_is_overwritten() {
    let (stage, _) = at_rest().await;
    let [made, taken] = ["made.db", "taken.db"].map(|name| stage.path.with_file_name(name));
    fs::write(&taken, "precious").expect("a file");
    let exists =
        Err(StoreError::Unusable { place: taken.display().to_string(), reason: "it exists already".to_owned() });
    assert_eq!(recover(&stage.path, &taken).map(drop), exists);
    recover(&stage.path, &made).expect("recovered");
    assert_eq!(replace(&stage.path, &made, &taken).map(drop), exists);
    assert_eq!(fs::read_to_string(&taken).expect("there"), "precious");
    assert!(made.exists() && stage.path.exists());
}
