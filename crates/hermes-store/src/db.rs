//! One connection with its views, and how connections are opened.

use crate::fault::DbResult;
use crate::patience::Patience;
use crate::schema::{self, Shape};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;

/// A log that once grew beyond this is cut when it begins anew.
const LARGEST_LOG: i64 = 16 << 20;

/// A connection and what the file behind it looks like.
pub(crate) struct Db {
    pub(crate) connection: Connection,
    pub(crate) shape: Shape,
    /// Changes when any program changes the tables; `None` when the views may not be those of `shape`.
    cookie: Option<i64>,
}

/// What a connection may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    Write,
    Read,
}

impl Db {
    /// Opens a file and, with write access, brings it to a form we can work with.
    ///
    /// Whoever opens a file waits for the others as whoever writes does: they may be creating it.
    pub(crate) fn open(path: &Path, access: Access, patience: &Patience) -> DbResult<Self> {
        patience.with(|| Self::open_once(path, access, patience))
    }

    fn open_once(path: &Path, access: Access, patience: &Patience) -> DbResult<Self> {
        let mut connection = connect(path, access)?;
        patience.prepare(&connection)?;
        if access == Access::Write {
            enter_wal(&connection)?;
            connection.pragma_update(None, "synchronous", "NORMAL")?;
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "journal_size_limit", LARGEST_LOG)?;
            schema::prepare(&mut connection, path)?;
        }
        // Read before the shape: a change between the two is noticed by the next look.
        let cookie = Some(cookie(&connection)?);
        let shape = Shape::read(&connection)?;
        shape.dress(&connection)?;
        if access == Access::Read {
            connection.pragma_update(None, "query_only", true)?;
        }
        Ok(Self { connection, shape, cookie })
    }

    /// Looks again when another program changed the tables since. Belongs at the beginning of a transaction: only inside
    /// of one is the answer still true when it is used.
    pub(crate) fn refresh(&mut self) -> DbResult<()> {
        let now = Some(cookie(&self.connection)?);
        if now == self.cookie {
            return Ok(());
        }
        self.cookie = None;
        let read_only: bool = self.connection.pragma_query_value(None, "query_only", |row| row.get(0))?;
        self.connection.pragma_update(None, "query_only", false)?;
        self.shape = Shape::read(&self.connection)?;
        self.shape.dress(&self.connection)?;
        self.connection.pragma_update(None, "query_only", read_only)?;
        self.cookie = now;
        Ok(())
    }

    /// After a transaction was taken back: views made in it went with it.
    pub(crate) fn forget(&mut self) {
        self.cookie = None;
    }
}

fn connect(path: &Path, access: Access) -> DbResult<Connection> {
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let flags = match access {
        Access::Write => common | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Read => common | OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Sets the journal only where it is not set: setting it while others hold the file may cost them their log.
fn enter_wal(connection: &Connection) -> DbResult<()> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(());
    }
    let set = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    match set {
        Ok(_) => Ok(()),
        // Network file systems have no shared memory; a plain journal works there, with less company.
        Err(error) if refuses_wal(&error) => {
            tracing::warn!("the file system of the session store refuses its log ({error}); using a plain journal");
            connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

fn refuses_wal(error: &rusqlite::Error) -> bool {
    let text = error.to_string();
    text.contains("locking protocol") || text.contains("not authorized")
}

fn cookie(connection: &Connection) -> DbResult<i64> {
    let mut statement = connection.prepare_cached("PRAGMA schema_version")?;
    Ok(statement.query_row([], |row| row.get(0))?)
}
