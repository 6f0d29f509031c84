//! A copy of a database that others go on writing to: SQLite's own backup, in steps, so that no writer waits for it.

use crate::fault::{DbError, DbResult, file_fault};
use crate::health::check;
use crate::health::index::{self, Verdict};
use crate::private;
use hermes_core::store::StoreError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

const PAGES_PER_STEP: i32 = 512;
const PAUSE: Duration = Duration::from_millis(5);
/// A writer that never rests starts the copy over and over; then one step takes it all.
const IN_STEPS: Duration = Duration::from_secs(20);
/// A source that others hold locked is not waited for any longer.
const LONGEST_WAIT: Duration = Duration::from_secs(60);

/// Copies a database of any kind into the new file `to`. The copy is one sound file without a log beside it.
pub fn backup(path: &Path, to: &Path) -> Result<(), StoreError> {
    private::create_new(to).map_err(file_fault(to))?;
    let made = Connection::open(to).map_err(DbError::from).and_then(|mut target| copy(path, &mut target));
    made.map_err(|error| {
        // From here on the file is ours.
        let _ = std::fs::remove_file(to);
        error.told(path)
    })
}

fn copy(path: &Path, target: &mut Connection) -> DbResult<()> {
    let source = open(path)?;
    {
        let backup = Backup::new(&source, target)?;
        let begun = Instant::now();
        loop {
            let pages = if begun.elapsed() < IN_STEPS { PAGES_PER_STEP } else { -1 };
            match backup.step(pages)? {
                StepResult::Done => break,
                StepResult::More => {}
                _ if begun.elapsed() > LONGEST_WAIT => {
                    return Err(StoreError::Busy { place: path.display().to_string() }.into());
                }
                _ => std::thread::sleep(PAUSE),
            }
        }
    }
    // The copy has the journal mode of the original, which would leave a log beside it.
    target.pragma_update_and_check(None, "journal_mode", "delete", |_| Ok(()))?;
    settle(path, target)
}

/// Looks through the copy. An index that is not sound is built anew in it: older programs leave such behind.
fn settle(path: &Path, target: &Connection) -> DbResult<()> {
    match check::quick_check(target, None)? {
        Verdict::Sound => Ok(()),
        Verdict::Index => {
            target.execute_batch("BEGIN")?;
            for table in index::tables(target)? {
                if !table.is_sound(target)? {
                    table.rebuild(target)?;
                }
            }
            Ok(target.execute_batch("COMMIT")?)
        }
        Verdict::Damage(detail) => Err(StoreError::Damaged { place: path.display().to_string(), detail }.into()),
    }
}

fn open(path: &Path) -> DbResult<Connection> {
    let read_write = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let read_only = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    // A log that a crash left behind can only be read by who may write.
    let connection =
        Connection::open_with_flags(path, read_write).or_else(|_| Connection::open_with_flags(path, read_only))?;
    // Whoever closes a file last empties its log into it; but this one is only looked at.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}
