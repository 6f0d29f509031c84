//! One connection with its views, and how connections are opened.

use crate::fault::DbResult;
use crate::health::marker::beside;
use crate::patience::Patience;
use crate::private;
use crate::schema::{self, Shape};
use crate::tape::Newest;
use hermes_core::store::StoreError;
use rusqlite::{Connection, OpenFlags};
use std::cell::RefCell;
use std::path::Path;

/// A log that once grew beyond this is cut when it begins anew.
const LARGEST_LOG: i64 = 16 << 20;

/// Which file this is, whatever its name: another one may take its place.
type Identity = Option<(u64, u64)>;

/// A search touches more pages than the two megabytes SQLite keeps by itself.
const CACHE_KIB: i64 = 16 * 1024;

/// A connection and what the file behind it looks like.
pub(crate) struct Db {
    pub(crate) connection: Connection,
    pub(crate) shape: Shape,
    /// Changes when any program changes the tables; `None` when the views may not be those of `shape`.
    cookie: Option<i64>,
    identity: Identity,
    /// What the last row of the tape holds.
    pub(crate) newest_body: RefCell<Option<Newest>>,
    /// Opened without locks, so what it knows about the file holds for one question.
    frozen: bool,
}

/// How commits are made safe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Log {
    Wal,
    Plain,
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
        match patience.with(|| Self::open_as(path, access, false, patience)) {
            // In a folder that cannot be written a log cannot be shared; without a log there is nothing to share.
            Err(error) if access == Access::Read && error.is_closed_door() && has_no_log(path) => {
                Self::open_as(path, access, true, patience)
            }
            opened => opened,
        }
    }

    fn open_as(path: &Path, access: Access, frozen: bool, patience: &Patience) -> DbResult<Self> {
        let mut connection = connect(path, access, frozen)?;
        patience.prepare(&connection)?;
        let identity = identity(path);
        if access == Access::Write {
            schema::refuse_newer(&connection, path)?;
            let log = enter_wal(&connection)?;
            if log == Log::Wal && !cfg!(target_os = "macos") {
                // A log survives the end of any process without waiting for the disk at every commit.
                connection.pragma_update(None, "synchronous", "NORMAL")?;
            }
            connection.pragma_update(None, "foreign_keys", true)?;
            connection.pragma_update(None, "journal_size_limit", LARGEST_LOG)?;
            crate::oblivion::leave_no_copies(&connection)?;
            schema::prepare(&mut connection)?;
        }
        // Read before the shape: a change between the two is noticed by the next look.
        let cookie = Some(cookie(&connection)?);
        let shape = Shape::read(&connection)?;
        shape.dress(&connection)?;
        if access == Access::Read {
            connection.pragma_update(None, "query_only", true)?;
        }
        Ok(Self { connection, shape, cookie, identity, frozen, newest_body: RefCell::default() })
    }

    /// Whether the file under this name is still the one that was opened.
    pub(crate) fn is_current(&self, path: &Path) -> bool {
        !self.frozen && self.identity == identity(path)
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

    /// Refuses when SQLite has given up the transaction: what came after would have been kept by itself.
    pub(crate) fn still_in_transaction(&self) -> DbResult<()> {
        if self.connection.is_autocommit() {
            return Err(StoreError::Failed("the transaction was given up by the database".into()).into());
        }
        Ok(())
    }

    /// Takes a transaction back, where SQLite has not done so itself. Views made in it go with it.
    pub(crate) fn roll_back(&mut self) {
        if !self.connection.is_autocommit() {
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        self.cookie = None;
        self.newest_body.take();
    }
}

fn connect(path: &Path, access: Access, frozen: bool) -> DbResult<Connection> {
    if access == Access::Write {
        private::create_before_opening(path);
    }
    let common = OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let flags = match access {
        Access::Write => common | OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE,
        Access::Read => common | OpenFlags::SQLITE_OPEN_READ_ONLY,
    };
    let connection = if frozen {
        Connection::open_with_flags(frozen_address(path), flags | OpenFlags::SQLITE_OPEN_URI)?
    } else {
        Connection::open_with_flags(path, flags)?
    };
    connection.set_prepared_statement_cache_capacity(64);
    connection.pragma_update(None, "cache_size", -CACHE_KIB)?;
    Ok(connection)
}

fn has_no_log(path: &Path) -> bool {
    std::fs::metadata(beside(path, "-wal")).map_or(true, |log| log.len() == 0)
}

/// The file as something that nobody changes.
fn frozen_address(path: &Path) -> String {
    let path = path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?immutable=1")
}

#[cfg(unix)]
fn identity(path: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).ok().map(|file| (file.dev(), file.ino()))
}

#[cfg(not(unix))]
fn identity(_path: &Path) -> Identity {
    None
}

/// Sets the journal only where it is not set: setting it while others hold the file may cost them their log.
fn enter_wal(connection: &Connection) -> DbResult<Log> {
    let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
    if mode == "wal" {
        return Ok(Log::Wal);
    }
    let set = connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get::<_, String>(0));
    match set {
        Ok(_) => Ok(Log::Wal),
        // Network file systems have no shared memory; a plain journal works there, with less company.
        Err(error) if refuses_wal(&error) => {
            tracing::warn!("the file system of the session store refuses its log ({error}); using a plain journal");
            connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
            Ok(Log::Plain)
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
