//! What the session store costs: appends by one and by eight processes, search, opening, room on disk. Each beside a plain
//! loop over SQLite with the same tables in the same run.

mod append;
mod corpus;
mod find;
mod open;

pub(crate) use append::writer_process;

use hermes_core::clock::RealClock;
use hermes_core::store::Sessions;
use hermes_store::SqliteStore;
use hermes_types::{NewSession, SessionId};
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

const TABLES: &str = include_str!("../../../crates/hermes-store/src/schema/founding.sql");
const INDEX: &str = include_str!("../../../crates/hermes-store/src/schema/index.sql");

pub(crate) fn run() {
    append::run();
    find::run(100_000);
}

/// What takes minutes to prepare.
pub(crate) fn run_large() {
    open::run();
    find::run(1_000_000);
}

pub(crate) fn run_open() {
    open::run();
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

async fn open(path: &Path, session: &SessionId) -> SqliteStore {
    let store = SqliteStore::open(path, Arc::new(RealClock::default())).await.expect("a store");
    store.create(NewSession::new(session.clone(), "cli")).await.expect("a session");
    store
}

/// The same tables without us.
fn plain(path: &Path) -> Connection {
    let connection = Connection::open(path).expect("a file");
    connection.execute_batch("PRAGMA journal_mode=wal; PRAGMA synchronous=NORMAL").expect("a log");
    connection.execute_batch(TABLES).expect("tables");
    connection.execute_batch(INDEX).expect("an index");
    connection.execute("INSERT INTO sessions(id, source, started_at) VALUES('s', 'cli', 0)", []).expect("a session");
    connection
}

/// The value below which `share` of all are, in milliseconds.
fn percentile(sorted: &[Duration], share: f64) -> f64 {
    let place = ((sorted.len() as f64 * share) as usize).min(sorted.len().saturating_sub(1));
    sorted[place].as_secs_f64() * 1e3
}
