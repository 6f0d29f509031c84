//! Removing for good: what was deleted is not in the file any more, not only out of reach.
//!
//! Freed space is overwritten while a removal runs, and rows never leave copies behind when they move. The search indexes forget a message only when their segments are
//! merged, so they are merged: wholly where the index is small, step by step where it is large. Pages that were freed
//! before, with older copies of the same text on them, are filled with zeros. The log still has the old pages until it
//! goes into the file, which it does at the latest when the last program lets go of it. What another program wrote may have
//! left copies beside live rows; those go with [`SqliteStore::shrink`].

use crate::db::{Access, Db};
use crate::fault::DbResult;
use crate::health::marker::beside;
use crate::patience::Patience;
use crate::schema::table_exists;
use crate::search::grams;
use crate::store::SqliteStore;
use hermes_core::store::StoreError;
use rusqlite::Connection;
use rusqlite::ffi::SQLITE_BUSY;
use std::path::Path;

/// The indexes that hold words of messages, ours and the other program's.
const INDEXES: [&str; 2] = ["messages_fts", "messages_fts_trigram"];
/// An index over more messages is not merged as a whole while others wait.
const SMALL: i64 = 20_000;
/// Pages that one step merges in a large index, and how many steps a removal takes.
const STEP: i64 = 1000;
const STEPS: usize = 8;
/// More free pages than this are left to [`SqliteStore::shrink`].
const MOST_WIPED: i64 = 64 << 20;
/// Zeros are laid in pieces of this size.
const PIECE: i64 = 8 << 20;

/// Runs a removal, which tells how many messages went, and leaves nothing of them behind.
pub(crate) fn for_good(db: &Db, removal: impl FnOnce() -> DbResult<u64>) -> DbResult<u64> {
    set_overwriting(&db.connection, "ON")?;
    let removed = removal().and_then(|removed| {
        if removed > 0 {
            forget_words(db)?;
            wipe_free_pages(db)?;
        }
        Ok(removed)
    });
    leave_no_copies(&db.connection)?;
    removed
}

/// How a connection writes while nothing is removed: a row that moves to another page leaves no copy on the old one.
/// Costs no page more to be written; pages that become free as a whole are not overwritten.
pub(crate) fn leave_no_copies(connection: &Connection) -> DbResult<()> {
    set_overwriting(connection, "FAST")
}

fn set_overwriting(connection: &Connection, how: &str) -> DbResult<()> {
    Ok(connection.pragma_update_and_check(None, "secure_delete", how, |_| Ok(()))?)
}

fn forget_words(db: &Db) -> DbResult<()> {
    let newest: Option<i64> = db.connection.query_row("SELECT max(id) FROM main.messages", [], |row| row.get(0))?;
    let is_small = newest.unwrap_or_default() <= SMALL;
    for index in INDEXES {
        if table_exists(&db.connection, index)?
            && let Err(error) = merge(db, index, is_small)
        {
            // A broken index does not hold up a removal; it is built anew from what is left.
            if !error.is_index_damage() {
                return Err(error);
            }
            tracing::warn!("the search index {index} could not be merged after a removal: {error}");
        }
    }
    grams::merge(db, |index| merge(db, index, is_small))
}

fn merge(db: &Db, index: &str, wholly: bool) -> DbResult<()> {
    if wholly {
        db.connection.execute(&format!("INSERT INTO main.{index}({index}) VALUES('optimize')"), [])?;
        return Ok(());
    }
    // A negative number begins a merge of everything, positive ones go on with it; it is done when little changes.
    let mut step = db.connection.prepare(&format!("INSERT INTO main.{index}({index}, rank) VALUES('merge', ?1)"))?;
    for number in 0..STEPS {
        let before = db.connection.total_changes();
        step.execute([if number == 0 { -STEP } else { STEP }])?;
        if db.connection.total_changes() - before < 2 {
            break;
        }
    }
    Ok(())
}

/// Takes the free pages, full of zeros, and gives them back.
fn wipe_free_pages(db: &Db) -> DbResult<()> {
    let number = |pragma: &str| db.connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let free = number("freelist_count")? * number("page_size")?;
    if free > MOST_WIPED {
        return Ok(());
    }
    let mut lay = db.connection.prepare_cached("INSERT INTO main.hermes_meta(key, value) VALUES(?1, zeroblob(?2))")?;
    let mut left = free;
    while left > 0 {
        lay.execute((format!("zeros {left}"), left.min(PIECE)))?;
        left -= PIECE;
    }
    db.connection.execute("DELETE FROM main.hermes_meta WHERE key GLOB 'zeros *'", [])?;
    Ok(())
}

impl SqliteStore {
    /// Gives the room that removed sessions took back to the disk; tells how many bytes. Refused as busy while another
    /// program writes.
    pub async fn shrink(&self) -> Result<u64, StoreError> {
        // Whoever may not write is told here, in the words of every other write.
        self.write(|_| Ok(())).await?;
        let path = self.path().to_owned();
        let shrunk = tokio::task::spawn_blocking(move || {
            let before = size(&path);
            vacuum(&path).map_err(|error| error.told_of_open(&path))?;
            Ok(before.saturating_sub(size(&path)))
        });
        shrunk.await.unwrap_or_else(|error| Err(StoreError::Failed(error.to_string())))
    }
}

fn vacuum(path: &Path) -> DbResult<()> {
    let patience = Patience::default();
    let db = Db::open(path, Access::Write, &patience)?;
    patience.with(|| Ok(db.connection.execute_batch("VACUUM")?))?;
    // The file is small only when its log is in it. Somebody who reads or moves the log at this moment is waited for.
    let emptied = patience.with(|| {
        let busy: bool = db.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if busy {
            Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(SQLITE_BUSY), None).into())
        } else {
            Ok(())
        }
    });
    emptied.or_else(|error| if error.is_busy() { Ok(()) } else { Err(error) })
}

/// The file with its log.
fn size(path: &Path) -> u64 {
    let of = |path: &Path| std::fs::metadata(path).map_or(0, |facts| facts.len());
    of(path) + of(beside(path, "-wal").as_ref())
}
