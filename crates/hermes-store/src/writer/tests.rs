use super::*;
use crate::db::Access;
use futures_util::future::join_all;
use rusqlite::Connection;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// A writer on a new file, with little patience.
fn writer() -> (TempDir, Writer) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    let patience = Patience { wait: Duration::from_millis(50), attempts: 4, pause: 5..=10, ..Patience::default() };
    let db = Db::open(&path, Access::Write, &patience).expect("a file");
    let writer = Writer::start(Some(db), &path, Arc::new(Health::new(&path)), patience).expect("a writer");
    (folder, writer)
}

fn other(folder: &TempDir) -> Connection {
    Connection::open(folder.path().join("state.db")).expect("the file")
}

fn note(key: &'static str) -> impl FnMut(&Db) -> DbResult<()> + Send {
    move |db| {
        db.connection.execute("INSERT INTO hermes_meta(key, value) VALUES(?1, 'a note')", [key])?;
        Ok(())
    }
}

fn notes(folder: &TempDir) -> Vec<String> {
    let file = other(folder);
    let mut select = file.prepare("SELECT key FROM hermes_meta WHERE value = 'a note'").expect("sql");
    select.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("keys")
}

type Task = Box<dyn FnMut(&Db) -> DbResult<()> + Send>;

/// Runs pieces in one group: the writer is held by another piece until all of them wait.
async fn together(writer: &Writer, pieces: Vec<Task>) -> Vec<Result<(), StoreError>> {
    let (go, held) = channel::<()>();
    let hold = writer.write(move |_| {
        let _ = held.recv();
        Ok(())
    });
    let writes = join_all(pieces.into_iter().map(|piece| writer.write(piece)));
    let release = async move { drop(go) };
    let (first, results, ()) = tokio::join!(hold, writes, release);
    first.expect("held");
    results
}

#[tokio::test]
async fn a_panic_fails_one_piece_and_not_the_writer() {
    let (folder, writer) = writer();
    let panics = |db: &Db| {
        note("half")(db)?;
        panic!("of a test, on purpose")
    };
    let results = together(&writer, vec![Box::new(note("before")), Box::new(panics), Box::new(note("after"))]).await;
    let told = StoreError::Failed("a write panicked: of a test, on purpose".into());
    assert_eq!(results, [Ok(()), Err(told), Ok(())]);
    writer.write(note("later")).await.expect("the writer lives");
    assert_eq!(notes(&folder), ["after", "before", "later"]);
}

#[tokio::test]
async fn a_piece_that_loses_the_transaction_takes_nobody_with_it() {
    let (folder, writer) = writer();
    // What SQLite does by itself when a disk is full or a page cannot be read.
    let spoils = |db: &Db| {
        note("half")(db)?;
        db.connection.execute_batch("ROLLBACK")?;
        Err(StoreError::Failed("spoiled".into()).into())
    };
    let results = together(&writer, vec![Box::new(note("before")), Box::new(spoils), Box::new(note("after"))]).await;
    assert_eq!(results, [Ok(()), Err(StoreError::Failed("spoiled".into())), Ok(())]);
    assert_eq!(notes(&folder), ["after", "before"]);
}

#[tokio::test]
async fn a_full_disk_fails_what_does_not_fit_and_nothing_else() {
    let (folder, writer) = writer();
    let small = |db: &Db| Ok(db.connection.execute_batch("PRAGMA max_page_count = 80")?);
    writer.write(small).await.expect("a small disk");
    let large = |db: &Db| {
        note("half")(db)?;
        db.connection.execute("INSERT INTO hermes_meta(key, value) VALUES('large', zeroblob(1000000))", [])?;
        Ok(())
    };
    let results = together(&writer, vec![Box::new(note("before")), Box::new(large), Box::new(note("after"))]).await;
    let place = folder.path().join("state.db").display().to_string();
    assert_eq!(results, [Ok(()), Err(StoreError::Full { place }), Ok(())]);
    assert_eq!(notes(&folder), ["after", "before"]);
}

#[tokio::test]
async fn a_lock_that_stays_is_told_in_time_and_nothing_is_written() {
    let (folder, writer) = writer();
    let holder = other(&folder);
    holder.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    let start = Instant::now();
    let refused = writer.write(note("refused")).await;
    let place = folder.path().join("state.db").display().to_string();
    assert_eq!(refused, Err(StoreError::Busy { place }));
    let took = start.elapsed();
    assert!((Duration::from_millis(200)..Duration::from_secs(5)).contains(&took), "{took:?}");
    holder.execute_batch("COMMIT").expect("let go");
    writer.write(note("kept")).await.expect("the lock is free");
    assert_eq!(notes(&folder), ["kept"]);
}

#[tokio::test]
async fn views_that_went_with_a_transaction_are_made_again() {
    let (folder, writer) = writer();
    other(&folder)
        .execute_batch("ALTER TABLE messages ADD COLUMN reasoning_content TEXT DEFAULT 'new'")
        .expect("raised");
    let spoils = |db: &Db| -> DbResult<()> {
        db.connection.execute_batch("ROLLBACK")?;
        Err(StoreError::Failed("spoiled".into()).into())
    };
    writer.write(spoils).await.expect_err("spoiled");
    let seen = writer.write(|db| {
        db.connection.execute_batch(
            "INSERT INTO sessions(id, source, started_at) VALUES('s', 'cli', 0);
             INSERT INTO messages(session_id, role, timestamp) VALUES('s', 'user', 0)",
        )?;
        Ok(db
            .connection
            .query_row("SELECT reasoning_content FROM every_message", [], |row| row.get::<_, Option<String>>(0))?)
    });
    assert_eq!(seen.await, Ok(Some("new".into())));
}

#[tokio::test]
async fn what_waits_together_is_committed_together() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    let mut db = Db::open(&path, Access::Write, &Patience::default()).expect("a file");
    let commits = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&commits);
    let counted = move || {
        count.fetch_add(1, Ordering::Relaxed);
        false
    };
    db.connection.commit_hook(Some(counted)).expect("a hook");
    let writer = Writer::start(Some(db), &path, Arc::new(Health::new(&path)), Patience::default()).expect("a writer");
    let pieces = (0..3 * LARGEST_GROUP).map(|n| {
        let key = format!("note {n}");
        let work: Task = Box::new(move |db| {
            db.connection.execute("INSERT INTO hermes_meta(key, value) VALUES(?1, 'a note')", [&key])?;
            Ok(())
        });
        work
    });
    let results = together(&writer, pieces.collect()).await;
    assert_eq!(results, vec![Ok(()); 3 * LARGEST_GROUP]);
    // One for the piece that held the writer; it may have had company.
    assert!((3..=4).contains(&commits.load(Ordering::Relaxed)), "{commits:?}");
    assert_eq!(notes(&folder).len(), 3 * LARGEST_GROUP);
}

#[test]
fn what_is_queued_when_the_store_goes_is_written() {
    let (folder, writer) = writer();
    let (go, held) = channel::<()>();
    let hold = move |_: &Db| {
        let _ = held.recv();
        Ok(())
    };
    let queue = |piece: Box<dyn Work>| writer.send(Order::Write(piece)).expect("queued");
    queue(Box::new(Piece { work: hold, result: None, waiting: oneshot::channel().0 }));
    for key in ["a", "b", "c"] {
        queue(Box::new(Piece { work: note(key), result: None, waiting: oneshot::channel().0 }));
    }
    drop(go);
    drop(writer);
    assert_eq!(notes(&folder), ["a", "b", "c"]);
}
