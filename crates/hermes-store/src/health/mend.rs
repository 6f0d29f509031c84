//! What is done when damage was met: it is looked at once, with an end, and an index that is damaged is built anew or left
//! out. Whatever cannot be known (the file is busy, the look took too long) leads to nothing: no index is touched and no
//! file condemned for it.

use super::index::{self, Verdict};
use super::{GRAMS, Health, OFF, check};
use crate::db::Db;
use crate::fault::{DbError, DbResult};
use std::time::{Duration, Instant};

/// Nobody waits longer than this for a new index; messages go on without it.
const LONGEST_REBUILD: Duration = Duration::from_secs(20);
/// Those who write wait behind a look that readers asked for, so it is short.
const LONGEST_LOOK: Duration = Duration::from_secs(3);
/// A write that met damage cannot go on without an answer.
const LONGEST_NEEDED_LOOK: Duration = Duration::from_secs(20);
/// Steps of SQLite between two looks at the clock.
const STEPS: i32 = 10_000;

/// What was done about an index by this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rebuilt {
    Once,
    /// It broke again, or could not be built.
    LeftOut,
}

impl Health {
    /// Damage was met. If it is an index alone, that is mended or left out and the work may be tried again.
    pub(crate) fn mend(&self, db: &mut Db, met: &DbError) -> bool {
        if met.is_index_damage() {
            return self.mended(db, Suspects::AllIfNoneIsUnsound);
        }
        let (mended, spared) = match in_time(db, LONGEST_NEEDED_LOOK, |db| check::diagnose(&db.connection)) {
            Ok(Verdict::Index) => {
                let mended = self.mended(db, Suspects::Unsound);
                (mended, !mended)
            }
            Ok(_) => (false, false),
            Err(error) => {
                tracing::debug!("damage of the session store could not be looked at: {error}");
                // Whoever looked for so long without an end has met damage all the same.
                (false, !error.is_cut_off())
            }
        };
        self.state().spared = spared;
        mended
    }

    /// Damage was met while reading, or found by a check. Readers meet the same damage again and again; it is looked at
    /// once, and again only after something was done about it.
    pub(crate) fn examine(&self, db: &mut Db) {
        if self.permit().is_err() || std::mem::replace(&mut self.state().examined, true) {
            return;
        }
        match in_time(db, LONGEST_LOOK, |db| check::diagnose(&db.connection)) {
            Ok(Verdict::Damage(line)) => self.condemn(line),
            Ok(Verdict::Index | Verdict::Sound) => drop(self.mended(db, Suspects::Unsound)),
            Err(error) => tracing::debug!("damage that was read could not be looked at: {error}"),
        }
    }

    /// `true` when something was done about it.
    fn mended(&self, db: &mut Db, suspects: Suspects) -> bool {
        let mended = self.mend_indexes(db, suspects).unwrap_or_else(|error| {
            tracing::debug!("the search indexes were left as they are: {error}");
            false
        });
        if mended {
            self.state().examined = false;
        }
        mended
    }

    fn mend_indexes(&self, db: &mut Db, suspects: Suspects) -> DbResult<bool> {
        let mut done = false;
        for table in suspects.among(db)? {
            let before = self.state().rebuilt.get(&table.name).copied();
            let after = match before {
                None => match in_time(db, LONGEST_REBUILD, |db| in_transaction(db, |db| table.rebuild(&db.connection)))
                {
                    Ok(()) => Rebuilt::Once,
                    Err(error) if error.is_damage() || error.is_cut_off() => leave_out(db, &table)?,
                    Err(error) => return Err(error),
                },
                Some(Rebuilt::Once) => leave_out(db, &table)?,
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
        Ok(done | self.mend_grams(db)?)
    }

    fn mend_grams(&self, db: &mut Db) -> DbResult<bool> {
        if !crate::schema::table_exists(&db.connection, GRAMS)? || self.state().rebuilt.contains_key(GRAMS) {
            return Ok(false);
        }
        match in_time(db, LONGEST_LOOK, |db| check::quick_check(&db.connection, Some(GRAMS))) {
            Ok(Verdict::Sound) => return Ok(false),
            Err(error) if !error.is_damage() => return Err(error),
            Ok(_) | Err(_) => {}
        }
        let reset = match in_time(db, LONGEST_REBUILD, |db| in_transaction(db, crate::search::grams::reset)) {
            Ok(_) => true,
            Err(error) if error.is_damage() || error.is_cut_off() => false,
            Err(error) => return Err(error),
        };
        self.state().rebuilt.insert(GRAMS.into(), if reset { Rebuilt::Once } else { Rebuilt::LeftOut });
        tracing::warn!("the search index {GRAMS} is damaged{}", if reset { " and was emptied" } else { "" });
        Ok(reset)
    }
}

/// Which indexes are to be built anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Suspects {
    Unsound,
    /// A write met damage of an index; when no table admits to it, it may be any of them.
    AllIfNoneIsUnsound,
}

impl Suspects {
    fn among(self, db: &mut Db) -> DbResult<Vec<index::Table>> {
        let tables = index::tables(&db.connection)?;
        let mut unsound = Vec::new();
        for table in &tables {
            if !in_time(db, LONGEST_REBUILD, |db| table.is_sound(&db.connection))? {
                unsound.push(table.clone());
            }
        }
        Ok(if unsound.is_empty() && self == Self::AllIfNoneIsUnsound { tables } else { unsound })
    }
}

/// Work with an end: what takes too long is cut off.
fn in_time<T>(db: &mut Db, longest: Duration, work: impl FnOnce(&Db) -> DbResult<T>) -> DbResult<T> {
    let end = Instant::now() + longest;
    db.connection.progress_handler(STEPS, Some(move || Instant::now() > end))?;
    let done = work(db);
    db.connection.progress_handler(0, None::<fn() -> bool>)?;
    done
}

/// Lets messages be written without this index.
fn leave_out(db: &Db, table: &index::Table) -> DbResult<Rebuilt> {
    in_transaction(db, |db| {
        table.silence(&db.connection)?;
        db.connection
            .execute("INSERT OR REPLACE INTO hermes_meta(key, value) VALUES(?1 || ?2, 1)", (OFF, &table.name))?;
        Ok(Rebuilt::LeftOut)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Access;
    use crate::patience::Patience;
    use std::path::{Path, PathBuf};

    const MESSAGES: i64 = 20_000;

    fn file() -> (tempfile::TempDir, PathBuf, Db) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let db = open(&path);
        let fill = format!(
            "INSERT INTO sessions(id, source, started_at) VALUES('s', 'cli', 1);
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MESSAGES})
             INSERT INTO messages(session_id, role, content, timestamp) SELECT 's', 'user', 'apple ' || i, i FROM n;"
        );
        db.connection.execute_batch(&fill).expect("messages");
        (folder, path, db)
    }

    fn open(path: &Path) -> Db {
        Db::open(path, Access::Write, &Patience::default()).expect("a file")
    }

    fn break_index(db: &Db) {
        db.connection.execute_batch("UPDATE messages_fts_data SET block = x'0000000000'").expect("broken");
    }

    /// How many messages the index finds, and how many triggers keep it up.
    fn index_of(db: &Db) -> (i64, i64) {
        let count = |of: &str| {
            db.connection.query_row(&format!("SELECT count(*) FROM {of}"), [], |row| row.get(0)).expect("a count")
        };
        (count("messages_fts WHERE messages_fts MATCH 'apple'"), count("sqlite_master WHERE type = 'trigger'"))
    }

    #[test]
    fn a_rebuild_that_is_cut_off_leaves_the_index_as_it_was() {
        let (_folder, _path, mut db) = file();
        let before = index_of(&db);
        assert_eq!(before.0, MESSAGES);
        let table = index::tables(&db.connection).expect("tables").remove(0);
        let done = in_time(&mut db, Duration::ZERO, |db| in_transaction(db, |db| table.rebuild(&db.connection)));
        assert!(done.is_err_and(|error| error.is_cut_off()));
        assert_eq!(index_of(&db), before);
    }

    #[test]
    fn a_busy_file_is_not_an_unsound_index() {
        let (_folder, path, mut db) = file();
        let before = index_of(&db);
        db.connection.busy_timeout(Duration::ZERO).expect("no waiting");
        let other = open(&path);
        other.connection.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        let table = index::tables(&db.connection).expect("tables").remove(0);
        assert!(table.is_sound(&db.connection).is_err_and(|error| error.is_busy()));
        let health = Health::new(&path);
        assert!(!health.mended(&mut db, Suspects::AllIfNoneIsUnsound));
        other.connection.execute_batch("COMMIT").expect("free");
        assert_eq!((index_of(&db), health.state().rebuilt.len()), (before, 0));
        break_index(&db);
        assert!(!table.is_sound(&db.connection).expect("known"));
        assert!(health.mended(&mut db, Suspects::Unsound));
        assert_eq!(index_of(&db), before);
    }

    #[test]
    fn what_cannot_be_looked_at_is_not_damaged() {
        let (_folder, path, mut db) = file();
        let cut_off = in_time(&mut db, Duration::ZERO, |db| check::diagnose(&db.connection));
        assert!(cut_off.as_ref().is_err_and(DbError::is_cut_off), "{cut_off:?}");
        let holder = open(&path);
        holder.connection.execute_batch("PRAGMA journal_mode = DELETE").expect_err("somebody reads");
        drop(db);
        holder.connection.execute_batch("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE").expect("a lock");
        let reader = rusqlite::Connection::open(&path).expect("a reader");
        reader.busy_timeout(Duration::ZERO).expect("no waiting");
        assert!(check::diagnose(&reader).is_err_and(|error| error.is_busy()));
    }

    #[test]
    fn damage_is_looked_at_once_unless_something_was_done() {
        let (_folder, path, mut db) = file();
        let health = Health::new(&path);
        break_index(&db);
        health.examine(&mut db);
        assert_eq!(health.state().rebuilt.get("messages_fts"), Some(&Rebuilt::Once));
        // Built anew, so the next look finds nothing, and there is none after it.
        health.examine(&mut db);
        break_index(&db);
        health.examine(&mut db);
        assert_eq!(health.state().rebuilt.get("messages_fts"), Some(&Rebuilt::Once));
        health.opened_anew();
        health.examine(&mut db);
        assert_eq!(health.state().rebuilt.get("messages_fts"), Some(&Rebuilt::Once), "known as another file's index");
        assert_eq!(index_of(&db).0, MESSAGES);
    }

    #[test]
    fn an_index_that_cannot_be_mended_now_does_not_condemn_the_messages() {
        let (_folder, path, mut db) = file();
        let health = Health::new(&path);
        break_index(&db);
        db.connection.busy_timeout(Duration::ZERO).expect("no waiting");
        let other = open(&path);
        other.connection.execute_batch("BEGIN IMMEDIATE").expect("a lock");
        let corrupt = || DbError::Sql(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(11), None));
        assert!(!health.mend(&mut db, &corrupt()));
        health.hear(&corrupt().told(&path));
        assert_eq!(health.permit(), Ok(()));
        other.connection.execute_batch("COMMIT").expect("free");
        assert!(health.mend(&mut db, &corrupt()), "built anew as soon as the lock is there");
    }

    #[test]
    fn a_file_that_is_known_to_be_damaged_is_not_looked_at() {
        let (_folder, path, mut db) = file();
        let health = Health::new(&path);
        super::super::marker::set(&path, "found before");
        break_index(&db);
        health.examine(&mut db);
        assert!(health.state().rebuilt.is_empty());
    }
}
