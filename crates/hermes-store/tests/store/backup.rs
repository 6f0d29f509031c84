//! A copy taken while others write is whole and sound.

use crate::stage::{Kind, Stage, open};
use hermes_core::store::{Sessions, StoreError, Transcript};
use hermes_store::backup;
use hermes_types::{Message, NewMessage};
use rusqlite::Connection;
use std::fs;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_taken_while_others_write_is_sound_and_has_what_was_kept_before() {
    for kind in [Kind::New, Kind::Python] {
        let stage = Stage::of(kind).await;
        let id = stage.session("busy").await;
        let say = |text: &str| NewMessage::from(Message::user(text));
        stage.store.append(&id, (0..500).map(|_| say(&"w".repeat(500))).collect()).await.expect("kept");
        let to = stage.path.with_file_name("copy.db");
        let (from, into) = (stage.path.clone(), to.clone());
        let copying = tokio::task::spawn_blocking(move || backup(&from, &into));
        for _ in 0..20 {
            stage.store.append(&id, vec![say("meanwhile")]).await.expect("no writer is kept waiting");
        }
        copying.await.expect("ended").expect("copied");
        for beside in ["db-wal", "db-shm", "db-journal"] {
            assert!(!to.with_extension(beside).exists(), "{beside}");
        }
        let check: String = Connection::open(&to)
            .expect("the copy")
            .query_row("PRAGMA integrity_check", [], |row| row.get(0))
            .expect("a check");
        assert_eq!(check, "ok");
        let copy = open(&to).await;
        let count = copy.session(&id).await.expect("read").expect("there").message_count;
        assert_eq!(copy.messages(&id).await.expect("read").len() as u64, count);
        assert!((500..=520).contains(&count), "{count}");
    }
}

#[tokio::test]
async fn nothing_is_overwritten_and_no_half_copy_is_left() {
    let stage = Stage::of(Kind::New).await;
    let to = stage.path.with_file_name("copy.db");
    fs::write(&to, "precious").expect("written");
    assert!(matches!(backup(&stage.path, &to), Err(StoreError::Unusable { .. })));
    assert_eq!(fs::read_to_string(&to).expect("there"), "precious");
    let (text, copy) = (stage.path.with_file_name("text"), stage.path.with_file_name("copy of text"));
    fs::write(&text, "no database ".repeat(1_000)).expect("written");
    assert!(matches!(backup(&text, &copy), Err(StoreError::Unusable { .. })));
    assert!(!copy.exists());
}

#[tokio::test]
async fn the_file_that_is_copied_stays_as_it_is_and_so_does_its_log() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("crashed").await;
    stage.store.append(&id, vec![Message::user("only in the log").into()]).await.expect("kept");
    let crashed = stage.path.with_file_name("crashed.db");
    for beside in ["db", "db-wal"] {
        fs::copy(stage.path.with_extension(beside), crashed.with_extension(beside)).expect("as a crash leaves it");
    }
    let bytes = || ["db", "db-wal"].map(|beside| fs::read(crashed.with_extension(beside)).expect("there"));
    let before = bytes();
    let to = stage.path.with_file_name("copy.db");
    backup(&crashed, &to).expect("copied");
    assert!(bytes() == before, "the original was changed");
    assert_eq!(open(&to).await.messages(&id).await.expect("read").len(), 1);
}

#[tokio::test]
async fn what_a_copy_did_not_make_it_does_not_remove() {
    let stage = Stage::of(Kind::New).await;
    let to = stage.path.with_file_name("copy.db");
    std::os::unix::fs::symlink("nowhere", &to).expect("a link to nothing");
    let reason = "it exists already".to_owned();
    assert_eq!(backup(&stage.path, &to), Err(StoreError::Unusable { place: to.display().to_string(), reason }));
    assert!(to.symlink_metadata().is_ok(), "the link is gone");
}
