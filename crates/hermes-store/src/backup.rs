//! A copy of a database that others go on writing to: SQLite's own backup, in steps, so that no writer waits for it.

use crate::fault::DbResult;
use crate::health::check;
use crate::health::index::{self, Verdict};
use hermes_core::store::StoreError;
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use std::path::Path;
use std::time::{Duration, Instant};

const PAGES_PER_STEP: i32 = 512;
const PAUSE: Duration = Duration::from_millis(5);
/// A writer that never rests starts the copy over and over; then one step takes it all.
const IN_STEPS: Duration = Duration::from_secs(20);
const PATIENCE: Duration = Duration::from_secs(60);

/// Copies a database of any kind into the new file `to`. The copy is one sound file without a log beside it.
pub fn backup(path: &Path, to: &Path) -> Result<(), StoreError> {
    if to.exists() {
        return Err(StoreError::Unusable { place: to.display().to_string(), reason: "it exists already".into() });
    }
    let made = create(to).and_then(|mut target| copy(path, &mut target));
    if let Err(error) = made {
        let _ = std::fs::remove_file(to);
        return Err(error.told(path));
    }
    Ok(())
}

/// The new file, closed to everyone else before anything is in it.
fn create(to: &Path) -> DbResult<Connection> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(to)?;
    Ok(Connection::open(to)?)
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
                _ if begun.elapsed() > PATIENCE => {
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
    connection.busy_timeout(Duration::from_secs(1))?;
    connection.query_row("SELECT count(*) FROM sqlite_master", [], |_| Ok(()))?;
    Ok(connection)
}
