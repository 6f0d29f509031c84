//! Whether the file may be written, and what is known about its state.
//!
//! A program signs in with its first write and signs out at a clean end. A signature whose process is gone tells of an
//! unclean end: then a check is due, which runs beside everything else and stays due until it has come to its end.
//! Damage of messages stops all writing, here and, by a marker beside the file, in every other program of ours. Damage of
//! a search index stops nothing: the index is built anew, once, or left out.

pub(crate) mod check;
pub(crate) mod index;
pub(crate) mod marker;
mod mend;
pub(crate) mod process;

use crate::db::{Access, Db};
use crate::fault::DbResult;
use crate::patience::Patience;
use check::Check;
use hermes_core::store::StoreError;
use hermes_types::Moment;
use index::Verdict;
use mend::Rebuilt;
use process::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

/// Who ends does not wait as long as who writes.
const TRIES_TO_SAY_GOODBYE: u32 = 4;
const DUE: &str = "check_due";
const GRAMS: &str = "hermes_grams";
const OFF: &str = "index_off:";

/// What is known about the state of a store, for people who ask.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HealthReport {
    /// Why nothing is written, when that is so.
    pub refusal: Option<StoreError>,
    /// A program ended without a goodbye, and nobody has looked through the file since.
    pub check_due: bool,
    /// Search indexes that are not kept up any more; `hermes sessions recover --force` makes new ones.
    pub indexes_off: Vec<String>,
}

pub(crate) struct Health {
    path: PathBuf,
    this: Process,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    damage: Option<StoreError>,
    /// In the file that is open now.
    signed_in: bool,
    /// Processes that ended without a goodbye, as far as a check of ours covers them.
    dead: Vec<Process>,
    /// Since when a check is due, as the file says it.
    due: Option<f64>,
    /// The check came to its end; the file does not know it yet.
    passed: bool,
    /// The transaction under way writes down that the check passed. The check may end at any time, also between the
    /// beginning of a transaction and its end.
    forgiving: bool,
    check: Option<Check>,
    /// Damage that was met was looked at, and nothing has changed since.
    examined: bool,
    /// Damage that was met last is not known to be damage of messages, though nothing could be done about it now.
    spared: bool,
    /// The indexes that were built anew by this process.
    rebuilt: BTreeMap<String, Rebuilt>,
}

impl Health {
    pub(crate) fn new(path: &Path) -> Self {
        let state = State { damage: marked(path), ..State::default() };
        Self { path: path.to_owned(), this: Process::this(), state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Refuses once damage is known, here or to another program.
    pub(crate) fn permit(&self) -> Result<(), StoreError> {
        let mut state = self.state();
        if state.damage.is_none() {
            state.damage = marked(&self.path);
        }
        state.damage.clone().map_or(Ok(()), Err)
    }

    /// Remembers damage for every write to come, and for every other program, unless it was found to be an index's alone.
    pub(crate) fn hear(&self, error: &StoreError) {
        let StoreError::Damaged { detail, .. } = error else { return };
        let spared = std::mem::take(&mut self.state().spared);
        if !spared {
            self.condemn(detail.clone());
        }
    }

    fn condemn(&self, detail: String) {
        marker::set(&self.path, &detail);
        let error = StoreError::Damaged { place: self.path.display().to_string(), detail };
        tracing::warn!("{error}");
        self.state().damage = Some(error);
    }

    /// When the file was opened: has everybody who wrote here said goodbye? If not, a check begins beside us. `nudge` is
    /// called when it found an index to be mended.
    pub(crate) fn look(self: &Arc<Self>, db: &Db, nudge: impl Fn() + Send + 'static) {
        let found = signatures(db).and_then(|signed| Ok((signed, due(db)?)));
        let Ok((signed, due)) = found else { return };
        let dead: Vec<Process> = signed.into_iter().filter(|process| !process.is_alive()).collect();
        if dead.is_empty() && due.is_none() {
            return;
        }
        let health = Arc::clone(self);
        let check = Check::start(&self.path, move |verdict| {
            match verdict {
                Verdict::Damage(line) => return health.condemn(line),
                Verdict::Index => {
                    health.state().examined = false;
                    nudge();
                }
                Verdict::Sound => {}
            }
            health.state().passed = true;
        });
        let mut state = self.state();
        (state.dead, state.due) = (dead, due);
        match check {
            Ok(check) => state.check = Some(check),
            Err(error) => tracing::debug!("the session store could not be checked: {error}"),
        }
    }

    /// Another file has taken the place of the one that was open: nothing that was found or written there holds here.
    pub(crate) fn opened_anew(&self) {
        self.stop_check();
        let mut state = self.state();
        *state = State { damage: state.damage.take(), ..State::default() };
    }

    fn stop_check(&self) {
        // The check needs the state to come to its end.
        let check = self.state().check.take();
        if let Some(check) = check {
            check.stop();
        }
    }

    /// At the beginning of a transaction: signs in, and writes down what is known about unclean ends.
    pub(crate) fn enter(&self, db: &Db) -> DbResult<()> {
        let mut state = self.state();
        state.forgiving = state.passed;
        if state.forgiving {
            forgive(db, &state)?;
        }
        if state.signed_in {
            return Ok(());
        }
        let now = Moment::from(SystemTime::now()).seconds();
        let dead: Vec<Process> = signatures(db)?.into_iter().filter(|process| !process.is_alive()).collect();
        for process in &dead {
            sign_out(db, process)?;
        }
        if !dead.is_empty() {
            db.connection.execute(
                "INSERT INTO hermes_meta(key, value) VALUES(?1, ?2) ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                (DUE, now),
            )?;
            // A check that began before these died does not speak for them.
            state.due = dead.iter().all(|process| state.dead.contains(process)).then_some(now);
        }
        db.connection
            .prepare_cached("INSERT OR IGNORE INTO hermes_writers(pid, born, since) VALUES(?1, ?2, ?3)")?
            .execute((self.this.pid, &self.this.born, now))?;
        Ok(())
    }

    /// After the commit of a transaction that began with [`enter`](Self::enter).
    pub(crate) fn entered(&self) {
        let mut state = self.state();
        state.signed_in = true;
        if std::mem::take(&mut state.forgiving) {
            (state.passed, state.due) = (false, None);
            state.dead.clear();
        }
    }

    /// At a clean end: gives up a check that is going on, signs out and empties the log into the file.
    pub(crate) fn leave(&self, db: Option<&Db>, patience: &Patience) {
        self.stop_check();
        let Some(db) = db else { return };
        if self.permit().is_err() {
            return;
        }
        if let Err(error) = self.say_goodbye(db, patience) {
            tracing::debug!("the session store could not be signed out of: {error}");
            if !db.connection.is_autocommit() {
                let _ = db.connection.execute_batch("ROLLBACK");
            }
        }
        let _ = db.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn say_goodbye(&self, db: &Db, patience: &Patience) -> DbResult<()> {
        let state = self.state();
        if !state.signed_in && !state.passed {
            return Ok(());
        }
        let patience = Patience { attempts: TRIES_TO_SAY_GOODBYE, ..patience.clone() };
        patience.with(|| Ok(db.connection.execute_batch("BEGIN IMMEDIATE")?))?;
        if state.passed {
            forgive(db, &state)?;
        }
        sign_out(db, &self.this)?;
        patience.with(|| Ok(db.connection.execute_batch("COMMIT")?))
    }

    /// What the file says about itself, beside what this process knows.
    pub(crate) fn report(&self, db: &Db) -> DbResult<HealthReport> {
        let mut off = db.connection.prepare_cached(
            "SELECT substr(key, length(?1) + 1) FROM hermes_meta
             WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key",
        )?;
        let indexes_off = off.query_map([OFF], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let unclean = signatures(db)?.iter().any(|process| !process.is_alive());
        let check_due = (unclean || due(db)?.is_some()) && !self.state().passed;
        Ok(HealthReport { refusal: self.permit().err(), check_due, indexes_off })
    }
}

fn marked(path: &Path) -> Option<StoreError> {
    marker::read(path).map(|detail| StoreError::Damaged { place: path.display().to_string(), detail })
}

/// Those who write here and have not said goodbye.
fn signatures(db: &Db) -> DbResult<Vec<Process>> {
    let mut statement = db.connection.prepare_cached("SELECT pid, born FROM hermes_writers")?;
    let rows = statement.query_map([], |row| Ok(Process { pid: row.get(0)?, born: row.get(1)? }))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

fn due(db: &Db) -> DbResult<Option<f64>> {
    use rusqlite::OptionalExtension;
    let mut statement = db.connection.prepare_cached("SELECT value FROM hermes_meta WHERE key = ?1")?;
    Ok(statement.query_row([DUE], |row| row.get(0)).optional()?)
}

fn sign_out(db: &Db, process: &Process) -> DbResult<()> {
    db.connection
        .prepare_cached("DELETE FROM hermes_writers WHERE pid = ?1 AND born = ?2")?
        .execute((process.pid, &process.born))?;
    Ok(())
}

/// The check came to its end: what it was due for is settled, and nothing that came after it.
fn forgive(db: &Db, state: &State) -> DbResult<()> {
    for process in &state.dead {
        sign_out(db, process)?;
    }
    db.connection.execute("DELETE FROM hermes_meta WHERE key = ?1 AND value = ?2", (DUE, state.due))?;
    Ok(())
}

/// The processes that write to a file now; `None` when the file does not say.
pub(crate) fn writers(path: &Path) -> Option<Vec<Process>> {
    let db = Db::open(path, Access::Read, &Patience::default()).ok()?;
    let this = Process::this();
    let signed = signatures(&db).ok()?;
    Some(signed.into_iter().filter(|process| *process != this && process.is_alive()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn file() -> (tempfile::TempDir, PathBuf, Db) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let db = Db::open(&path, Access::Write, &Patience::default()).expect("a file");
        (folder, path, db)
    }

    fn dead() -> Process {
        Process { pid: 999_999, born: "another boot:1".into() }
    }

    fn write(health: &Health, db: &Db, meanwhile: impl FnOnce()) {
        db.connection.execute_batch("BEGIN IMMEDIATE").expect("begun");
        health.enter(db).expect("entered");
        meanwhile();
        db.connection.execute_batch("COMMIT").expect("written");
        health.entered();
    }

    #[test]
    fn a_check_that_ends_within_a_transaction_is_written_down_by_the_next() {
        let (_folder, path, db) = file();
        let Process { pid, born } = dead();
        db.connection.execute("INSERT INTO hermes_writers VALUES(?1, ?2, 0)", (pid, born)).expect("a dead writer");
        let health = Health::new(&path);
        health.state().dead = vec![dead()];
        write(&health, &db, || health.state().passed = true);
        assert!(due(&db).expect("read").is_some(), "this transaction began before the check ended");
        write(&health, &db, || ());
        assert_eq!(due(&db).expect("read"), None);
        assert!(!health.state().passed);
    }

    #[test]
    fn every_file_is_signed_by_itself() {
        let (_folder, path, db) = file();
        let (_other_folder, _, other) = file();
        let health = Health::new(&path);
        write(&health, &db, || ());
        health.opened_anew();
        write(&health, &other, || ());
        assert_eq!(signatures(&other).expect("read"), [Process::this()]);
    }

    #[test]
    fn whoever_ends_waits_for_the_lock_to_say_goodbye() {
        let (_folder, path, db) = file();
        let health = Health::new(&path);
        write(&health, &db, || ());
        let other = Db::open(&path, Access::Write, &Patience::default()).expect("another");
        other.connection.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        std::thread::scope(|scope| {
            let leaving = scope.spawn(move || health.say_goodbye(&db, &Patience::default()));
            // Longer than one try takes, far shorter than all of them.
            std::thread::sleep(Patience::default().wait + Duration::from_millis(200));
            other.connection.execute_batch("COMMIT").expect("free");
            leaving.join().expect("no panic").expect("signed out");
        });
        assert_eq!(signatures(&other).expect("read"), []);
    }
}
