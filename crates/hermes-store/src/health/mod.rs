//! Whether the file may be written, and what is known about its state.
//!
//! A program signs in with its first write and signs out at a clean end. A signature whose process is gone tells of an
//! unclean end: then a check is due, which runs beside everything else and stays due until it has come to its end.
//! Damage of messages stops all writing, here and, by a marker beside the file, in every other program of ours. Damage of
//! a search index stops nothing: the index is built anew, once, or left out.

pub(crate) mod check;
pub(crate) mod index;
pub(crate) mod marker;
pub(crate) mod process;

use crate::db::{Access, Db};
use crate::fault::{DbError, DbResult};
use crate::patience::Patience;
use check::Check;
use hermes_core::store::StoreError;
use hermes_types::Moment;
use index::Verdict;
use process::Process;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

/// Nobody waits longer than this for a new index; messages go on without it.
const LONGEST_REBUILD: Duration = Duration::from_secs(20);
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
    signed_in: bool,
    /// Processes that ended without a goodbye, as far as a check of ours covers them.
    dead: Vec<Process>,
    /// Since when a check is due, as the file says it.
    due: Option<f64>,
    /// The check came to its end; the file does not know it yet.
    passed: bool,
    check: Option<Check>,
    /// The indexes that were built anew by this process.
    rebuilt: BTreeMap<String, Rebuilt>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rebuilt {
    Once,
    /// It broke again, or could not be built.
    LeftOut,
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

    /// Remembers damage for every write to come, and for every other program.
    pub(crate) fn hear(&self, error: &StoreError) {
        if let StoreError::Damaged { detail, .. } = error {
            tracing::warn!("{error}");
            marker::set(&self.path, detail);
            self.state().damage = Some(error.clone());
        }
    }

    fn condemn(&self, detail: String) {
        self.hear(&StoreError::Damaged { place: self.path.display().to_string(), detail });
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
                Verdict::Index => nudge(),
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

    /// At the beginning of a transaction: signs in, and writes down what is known about unclean ends.
    pub(crate) fn enter(&self, db: &Db) -> DbResult<()> {
        let mut state = self.state();
        if state.passed {
            forgive(db, &mut state)?;
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
        if state.passed {
            (state.passed, state.due) = (false, None);
            state.dead.clear();
        }
    }

    /// At a clean end: gives up a check that is going on, signs out and empties the log into the file.
    pub(crate) fn leave(&self, db: Option<&Db>) {
        let check = self.state().check.take();
        if let Some(check) = check {
            check.stop();
        }
        let Some(db) = db else { return };
        if self.permit().is_err() {
            return;
        }
        if let Err(error) = self.say_goodbye(db) {
            tracing::debug!("the session store could not be signed out of: {error}");
            let _ = db.connection.execute_batch("ROLLBACK");
        }
        let _ = db.connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)");
    }

    fn say_goodbye(&self, db: &Db) -> DbResult<()> {
        let mut state = self.state();
        if !state.signed_in && !state.passed {
            return Ok(());
        }
        db.connection.execute_batch("BEGIN IMMEDIATE")?;
        if state.passed {
            forgive(db, &mut state)?;
        }
        sign_out(db, &self.this)?;
        db.connection.execute_batch("COMMIT")?;
        Ok(())
    }

    /// Damage was met. If it is an index alone, that is mended or left out and the work may be tried again.
    pub(crate) fn mend(&self, db: &mut Db, met: &DbError) -> bool {
        let index_alone = met.is_index_damage() || check::diagnose(&db.connection) == Verdict::Index;
        index_alone && self.mend_indexes(db, met.is_index_damage())
    }

    /// Damage was met while reading, or found by a check.
    pub(crate) fn examine(&self, db: &mut Db) {
        match check::diagnose(&db.connection) {
            Verdict::Damage(line) => self.condemn(line),
            Verdict::Index | Verdict::Sound => drop(self.mend_indexes(db, false)),
        }
    }

    /// `true` when something was done about it.
    fn mend_indexes(&self, db: &mut Db, met: bool) -> bool {
        let Ok(tables) = index::tables(&db.connection) else { return false };
        let unsound: Vec<index::Table> =
            tables.iter().filter(|table| !table.is_sound(&db.connection)).cloned().collect();
        // A write met damage that no table admits to: then all of them are built anew.
        let suspects = if unsound.is_empty() && met { tables } else { unsound };
        let mut done = false;
        for table in suspects {
            let before = self.state().rebuilt.get(&table.name).copied();
            let after = match before {
                None if in_time(db, |db| table.rebuild(&db.connection)).is_ok() => Rebuilt::Once,
                None | Some(Rebuilt::Once) => {
                    if leave_out(db, &table).is_err() {
                        continue;
                    }
                    Rebuilt::LeftOut
                }
                Some(Rebuilt::LeftOut) => continue,
            };
            match after {
                Rebuilt::Once => tracing::warn!("the search index {} was damaged and has been built anew", table.name),
                Rebuilt::LeftOut => tracing::warn!(
                    "the search index {} is damaged and could not be built anew; messages are kept, but new ones are not \
                     found by search. `hermes sessions recover --force` makes a new one",
                    table.name
                ),
            }
            self.state().rebuilt.insert(table.name.clone(), after);
            done = true;
        }
        done | self.mend_grams(db)
    }

    fn mend_grams(&self, db: &mut Db) -> bool {
        let is_there = crate::schema::table_exists(&db.connection, GRAMS).unwrap_or(false);
        let is_sound =
            || check::quick_check(&db.connection, Some(GRAMS)).is_ok_and(|verdict| verdict == Verdict::Sound);
        if !is_there || is_sound() || self.state().rebuilt.contains_key(GRAMS) {
            return false;
        }
        let reset = in_time(db, crate::search::grams::reset).is_ok();
        self.state().rebuilt.insert(GRAMS.into(), if reset { Rebuilt::Once } else { Rebuilt::LeftOut });
        tracing::warn!("the search index {GRAMS} is damaged{}", if reset { " and was emptied" } else { "" });
        reset
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
fn forgive(db: &Db, state: &mut State) -> DbResult<()> {
    for process in &state.dead {
        sign_out(db, process)?;
    }
    db.connection.execute("DELETE FROM hermes_meta WHERE key = ?1 AND value = ?2", (DUE, state.due))?;
    Ok(())
}

/// A transaction with an end: what takes too long is undone.
fn in_time<T>(db: &mut Db, work: impl FnOnce(&Db) -> DbResult<T>) -> DbResult<T> {
    let end = Instant::now() + LONGEST_REBUILD;
    db.connection.progress_handler(10_000, Some(move || Instant::now() > end))?;
    let done = in_transaction(db, work);
    db.connection.progress_handler(0, None::<fn() -> bool>)?;
    done
}

fn leave_out(db: &Db, table: &index::Table) -> DbResult<()> {
    in_transaction(db, |db| {
        table.silence(&db.connection)?;
        db.connection
            .execute("INSERT OR REPLACE INTO hermes_meta(key, value) VALUES(?1 || ?2, 1)", (OFF, &table.name))?;
        Ok(())
    })
}

fn in_transaction<T>(db: &Db, work: impl FnOnce(&Db) -> DbResult<T>) -> DbResult<T> {
    db.connection.execute_batch("BEGIN IMMEDIATE")?;
    let done = work(db).and_then(|value| {
        db.connection.execute_batch("COMMIT")?;
        Ok(value)
    });
    if done.is_err() && !db.connection.is_autocommit() {
        db.connection.execute_batch("ROLLBACK")?;
    }
    done
}

/// The processes that write to a file now; `None` when the file does not say.
pub(crate) fn writers(path: &Path) -> Option<Vec<Process>> {
    let db = Db::open(path, Access::Read, &Patience::default()).ok()?;
    let this = Process::this();
    let signed = signatures(&db).ok()?;
    Some(signed.into_iter().filter(|process| *process != this && process.is_alive()).collect())
}
