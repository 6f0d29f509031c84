//! A new file from a damaged one.
//!
//! The damaged file is only read, as raw bytes: everything happens on a copy. Tables are read through SQL around what
//! cannot be read; when that leaves holes, every page is looked at by itself. What is found goes into a new file with the
//! tables of the old one, so that programs that share it find their own. What was deleted stays deleted as long as the
//! file still tells which pages are free.

mod copy;
mod hold;
mod layout;
mod record;
mod rows;
mod scan;
mod swap;
mod target;

pub use hold::Held;
pub use swap::{replace, take_back};

use crate::db::{Access, Db};
use crate::fault::{DbError, DbResult, file_fault};
use crate::health::index::Verdict;
use crate::health::{check, marker, writers};
use crate::patience::Patience;
use copy::{Beginning, Pages};
use hermes_core::store::StoreError;
use hermes_types::SessionId;
use layout::Layout;
use rows::{Reading, Trust};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::collections::HashSet;
use std::io;
use std::path::Path;
use target::{Entry, Target};

/// What came of a recovery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    pub sessions: u64,
    pub messages: u64,
    /// Messages that were only found in loose pages.
    pub from_pages: u64,
    /// Sessions of which only messages were left.
    pub sessions_made_up: u64,
    pub lost: Lost,
    /// The list of free pages was lost too: messages that had been deleted may have come back.
    pub may_hold_deleted: bool,
}

/// How many messages are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lost {
    /// Counted in the index of messages, which could be read.
    Exactly(u64),
    /// Numbers that are not there; some of them may have been deleted before.
    AtMost(u64),
}

/// What a look through a whole file came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Diagnosis {
    Sound,
    /// A search index does not fit the messages, which are sound. Older versions of SQLite leave one behind like that.
    IndexUnfit,
    /// In SQLite's words.
    Damaged(String),
}

/// Looks through all of a file.
pub fn diagnose(path: &Path) -> Result<Diagnosis, StoreError> {
    let opened = Db::open(path, Access::Read, &Patience::default());
    match opened.and_then(|db| check::look_through(&db.connection)) {
        Ok(Verdict::Sound) => Ok(Diagnosis::Sound),
        Ok(Verdict::Index) => Ok(Diagnosis::IndexUnfit),
        Ok(Verdict::Damage(line)) => Ok(Diagnosis::Damaged(line)),
        Err(error) if error.is_damage() => Ok(Diagnosis::Damaged(error.to_string())),
        Err(error) => Err(error.told(path)),
    }
}

/// The same about the tables alone: an index can be made anew at any time.
pub fn diagnose_tables(path: &Path) -> Result<Option<String>, StoreError> {
    match Db::open(path, Access::Read, &Patience::default()).and_then(|db| check::diagnose(&db.connection)) {
        Ok(Verdict::Damage(line)) => Ok(Some(line)),
        Ok(_) => Ok(None),
        Err(error) => Err(error.told(path)),
    }
}

/// Who else has a file open for writing, as far as it can be known.
pub fn user_of(path: &Path) -> Option<String> {
    if let Some(process) = writers(path).unwrap_or_default().first() {
        return Some(format!("process {}", process.pid));
    }
    is_open_elsewhere(path).unwrap_or(false).then(|| "another program".into())
}

/// Asks for the file alone. Nobody gets it as long as anybody has it open, even without writing.
fn is_open_elsewhere(path: &Path) -> DbResult<bool> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_EXRESCODE;
    let connection = Connection::open_with_flags(path, flags)?;
    // The file stays as it is, and so does its log.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let alone = connection.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK");
    Ok(alone.is_err_and(|error| DbError::from(error).is_busy()))
}

/// Takes the mark of damage from a file that was found to be sound.
pub fn absolve(path: &Path) -> Result<bool, StoreError> {
    let was_marked = marker::read(path).is_some();
    marker::remove(path).map_err(|error| StoreError::Failed(format!("the mark of damage stays: {error}")))?;
    Ok(was_marked)
}

/// Saves what can be read of `path` into the new file `into`. The damaged file is not changed.
pub fn recover(path: &Path, into: &Path) -> Result<Recovered, StoreError> {
    Held::take(path)?.recover(into)
}

impl Held {
    /// Saves what can be read into the new file `into`. The damaged file is not changed.
    pub fn recover(&mut self, into: &Path) -> Result<Recovered, StoreError> {
        if into.symlink_metadata().is_ok() {
            return Err(file_fault(into)(io::ErrorKind::AlreadyExists.into()));
        }
        let folder = into.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let work = tempfile::Builder::new().prefix(".recover-").tempdir_in(folder).map_err(file_fault(folder))?;
        self.copied = Some(self.stamp());
        let copy = copy::take(self, work.path()).map_err(file_fault(&self.path))?;
        let made = work.path().join("made.db");
        let recovered = Recovery::begin(&copy, &made).and_then(Recovery::run).map_err(|error| error.told(into))?;
        let file = std::fs::File::open(&made).map_err(file_fault(into))?;
        close_to_others(&file).and_then(|()| file.sync_all()).map_err(file_fault(into))?;
        swap::link(&made, into).map_err(file_fault(into))?;
        Ok(recovered)
    }
}

#[cfg(unix)]
fn close_to_others(file: &std::fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn close_to_others(_file: &std::fs::File) -> io::Result<()> {
    Ok(())
}

/// A recovery under way.
struct Recovery<'a> {
    copy: &'a Path,
    beginning: Beginning,
    source: Connection,
    entries: Vec<Entry>,
    target: Target,
    made: &'a Path,
    from_pages: u64,
}

impl<'a> Recovery<'a> {
    fn begin(copy: &'a Path, made: &'a Path) -> DbResult<Self> {
        let beginning = copy::mend_beginning(copy).map_err(file_fault(copy))?;
        let source = Connection::open(copy)?;
        // Without it one broken entry in the list of tables would hide all others.
        let _ = source.execute_batch("PRAGMA writable_schema = ON; PRAGMA cell_size_check = ON;");
        let _ = source.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
        let entries = target::entries(&source);
        let target = Target::create(made, &entries)?;
        Ok(Self { copy, beginning, source, entries, target, made, from_pages: 0 })
    }

    fn run(mut self) -> DbResult<Recovered> {
        let known = self.known_ids();
        let reading = self.read_tables()?;
        if reading == Reading::WithHoles {
            self.read_pages()?;
        }
        let may_hold_deleted = reading == Reading::WithHoles && self.beginning == Beginning::MadeUp;
        let (made, from_pages) = (self.made, self.from_pages);
        let target::Made { connection, sessions_made_up } = self.target.finish()?;
        let lost = lost(&connection, known)?;
        drop(connection);
        let (sessions, messages) = settle(made)?;
        Ok(Recovered { sessions, messages, from_pages, sessions_made_up, lost, may_hold_deleted })
    }

    /// The first way, for every table there is.
    fn read_tables(&mut self) -> DbResult<Reading> {
        let trust = match check::quick_check(&self.source, None) {
            Ok(Verdict::Sound | Verdict::Index) => Trust::All,
            // Pages that nobody uses are the free ones of a list that was lost.
            Ok(Verdict::Damage(line)) if self.beginning == Beginning::MadeUp && line.contains("never used") => {
                Trust::All
            }
            _ => Trust::Plausible,
        };
        let mut worst = if trust == Trust::All { Reading::Whole } else { Reading::WithHoles };
        let tables: Vec<&Entry> = self.entries.iter().filter(|entry| entry.has_rows_to_keep()).collect();
        if !["messages", "sessions"].iter().all(|name| tables.iter().any(|entry| entry.name == *name)) {
            worst = Reading::WithHoles;
        }
        for entry in tables {
            let Ok(Some(layout)) = Layout::read(&self.source, &entry.name) else {
                worst = Reading::WithHoles;
                continue;
            };
            let target = &mut self.target;
            let mut keep = |row: &layout::Row| target.keep(&layout, row).map(drop);
            let numbered = self.source.prepare(&format!("SELECT rowid FROM \"{}\"", entry.name)).is_ok();
            let reading = if numbered {
                rows::numbered(&self.source, &layout, trust, &mut keep)?
            } else {
                rows::unnumbered(&self.source, &layout, &mut keep)?
            };
            if reading == Reading::WithHoles {
                worst = Reading::WithHoles;
            }
        }
        Ok(worst)
    }

    /// The second way, for the tables whose rows can be told by their looks.
    fn read_pages(&mut self) -> DbResult<()> {
        let layouts = Layout::salvaged(Some(&self.source))?;
        let mut pages = Pages::open(self.copy).map_err(file_fault(self.copy))?;
        let free = match self.beginning {
            Beginning::Kept => pages.free().map_err(file_fault(self.copy))?,
            Beginning::MadeUp => Vec::new(),
        };
        let (target, from_pages) = (&mut self.target, &mut self.from_pages);
        scan::rows(&mut pages, &free, &layouts, |layout, row| -> DbResult<()> {
            if target.keep(layout, &row)? && layout.table == "messages" {
                *from_pages += 1;
            }
            Ok(())
        })
    }

    /// The numbers of all messages, from the index beside them; `None` when that cannot be read.
    fn known_ids(&self) -> Option<HashSet<i64>> {
        let mut statement = self
            .source
            .prepare("SELECT rowid FROM messages INDEXED BY idx_messages_session ORDER BY session_id")
            .ok()?;
        let ids = statement.query_map([], |row| row.get(0)).ok()?;
        ids.collect::<Result<_, _>>().ok()
    }
}

fn lost(connection: &Connection, known: Option<HashSet<i64>>) -> DbResult<Lost> {
    let mut statement = connection.prepare("SELECT id FROM messages")?;
    let found = statement.query_map([], |row| row.get(0))?.collect::<Result<HashSet<i64>, _>>()?;
    let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    if let Some(known) = known {
        return Ok(Lost::Exactly(count(known.difference(&found).count())));
    }
    let last: i64 = connection.query_row("SELECT coalesce(max(id), 0) FROM messages", [], |row| row.get(0))?;
    Ok(Lost::AtMost(u64::try_from(last).unwrap_or_default().saturating_sub(count(found.len()))))
}

/// Makes the counters true and looks through the new file: how many sessions and messages it has.
fn settle(made: &Path) -> DbResult<(u64, u64)> {
    let db = Db::open(made, Access::Write, &Patience::default())?;
    db.connection.execute_batch("BEGIN IMMEDIATE")?;
    let ids = {
        let mut statement = db.connection.prepare("SELECT id FROM sessions")?;
        statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?
    };
    for id in ids {
        crate::transcript::recount(&db, &SessionId::new(id))?;
    }
    crate::search::grams::reset(&db)?;
    db.connection.execute_batch("COMMIT")?;
    let check: String = db.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
    if check != "ok" {
        return Err(StoreError::Failed(format!("the recovered file is not sound: {check}")).into());
    }
    let count = |table: &str| db.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0));
    let counts = (count("sessions")?, count("messages")?);
    // One file, without a log that could be left behind when it is moved.
    db.connection.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    Ok(counts)
}
