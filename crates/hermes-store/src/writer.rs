//! The one writer of a process: a thread with a connection, fed through a queue.
//!
//! What waits in the queue is committed together, each piece in a savepoint of its own, and answered after the commit.
//! A lock that others hold is waited for: SQLite for a second, then up to fifteen more tries with a random pause between
//! them, so that programs do not march in step.

use crate::db::{Access, Db};
use crate::fault::{DbError, DbResult};
use crate::health::Health;
use crate::housekeeping::Housekeeper;
use hermes_core::store::StoreError;
use rand::RngExt;
use rusqlite::Connection;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::oneshot;

const ATTEMPTS: u32 = 15;
const SHORTEST_PAUSE: u64 = 20;
const LONGEST_PAUSE: u64 = 150;
/// No commit waits for more pieces than this.
const LARGEST_GROUP: usize = 64;
/// Once to build an index anew, once to leave it out.
const MENDINGS: u32 = 2;
/// Small enough that messages of other sessions get between two long pieces of work.
const CHECKPOINT_EVERY: u64 = 50;

/// The way to the writer thread. Dropping it waits until the thread has finished what it was given.
pub(crate) struct Writer {
    queue: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Write(Box<dyn Work>),
    /// Somebody met damage, or may have: see what it is and do what can be done.
    Examine,
    Close(oneshot::Sender<()>),
}

/// A piece of work with the one who waits for it.
trait Work: Send {
    /// May run again after the search index was mended.
    fn run(&mut self, db: &Db) -> DbResult<()>;

    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

struct Piece<T, F> {
    work: F,
    result: Option<T>,
    waiting: oneshot::Sender<Result<T, StoreError>>,
}

impl<T: Send, F: FnMut(&Db) -> DbResult<T> + Send> Work for Piece<T, F> {
    fn run(&mut self, db: &Db) -> DbResult<()> {
        self.result = Some((self.work)(db)?);
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let Self { result, waiting, .. } = *self;
        // Whoever asked may have gone; what was committed stays.
        let _ = waiting.send(committed.and_then(|()| result.ok_or(StoreError::Closed)));
    }
}

impl Writer {
    /// Without `db` the file can only be read for now; every write tries to open it again.
    pub(crate) fn start(db: Option<Db>, path: &Path, health: Arc<Health>) -> DbResult<Self> {
        let (queue, orders) = channel();
        if let Some(db) = &db {
            let bell = queue.clone();
            health.look(db, move || drop(bell.send(Order::Examine)));
        }
        let housekeeper = Housekeeper::new(path);
        let path = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("session-writer".into())
            .spawn(move || Desk { db, path: &path, health: &health, housekeeper, commits: 0 }.serve(&orders))
            .map_err(|error| StoreError::Failed(format!("no thread for the writer: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Runs `work` in a transaction; returns after it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        work: impl FnMut(&Db) -> DbResult<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (waiting, answer) = oneshot::channel();
        let piece = Box::new(Piece { work, result: None, waiting });
        self.send(Order::Write(piece))?;
        answer.await.unwrap_or(Err(StoreError::Closed))
    }

    /// Finishes what is in the queue, empties the log into the file and lets go of it.
    pub(crate) async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.send(Order::Close(done)).is_ok() {
            let _ = closed.await;
        }
    }

    /// Asks for a look at what was damaged; nobody waits for it.
    pub(crate) fn examine(&self) {
        let _ = self.send(Order::Examine);
    }

    fn send(&self, order: Order) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(order).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // A check that goes on holds an end of the queue, so the thread has to be told.
        let _ = self.send(Order::Close(oneshot::channel().0));
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The writer thread's own things.
struct Desk<'a> {
    /// Missing while the file cannot be opened for writing.
    db: Option<Db>,
    path: &'a Path,
    health: &'a Health,
    housekeeper: Housekeeper,
    commits: u64,
}

impl Desk<'_> {
    fn serve(mut self, orders: &Receiver<Order>) {
        let mut closing = None;
        while closing.is_none() {
            let Ok(order) = orders.recv() else { break };
            let (mut group, mut examine) = (Vec::new(), false);
            let mut next = Some(order);
            while let Some(order) = next.take() {
                match order {
                    Order::Write(piece) => group.push(piece),
                    Order::Examine => examine = true,
                    Order::Close(done) => closing = Some(done),
                }
                if closing.is_none() && group.len() < LARGEST_GROUP {
                    next = orders.try_recv().ok();
                }
            }
            self.commit(group);
            if let (true, None, Some(db)) = (examine, &closing, &mut self.db) {
                self.health.examine(db);
            }
        }
        self.housekeeper.finish();
        self.health.leave(self.db.as_ref());
        drop(self.db);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    fn commit(&mut self, mut group: Vec<Box<dyn Work>>) {
        if group.is_empty() {
            return;
        }
        let mut outcome = self.attempt(&mut group);
        for _ in 0..MENDINGS {
            let mended = match (&outcome, &mut self.db) {
                (Err(error), Some(db)) if error.is_damage() => self.health.mend(db, error),
                _ => false,
            };
            if !mended {
                break;
            }
            outcome = self.attempt(&mut group);
        }
        match outcome {
            Ok(answers) => group.into_iter().zip(answers).for_each(|(piece, answer)| piece.answer(answer)),
            Err(error) => {
                let told = self.tell(error);
                group.into_iter().for_each(|piece| piece.answer(Err(told.clone())));
            }
        }
        self.commits += 1;
        if self.commits.is_multiple_of(CHECKPOINT_EVERY) {
            self.housekeeper.checkpoint();
        }
    }

    /// Runs the pieces in one transaction; an error means that nothing of them was kept.
    fn attempt(&mut self, group: &mut [Box<dyn Work>]) -> DbResult<Vec<Result<(), StoreError>>> {
        let path = self.path;
        let db = self.begin()?;
        let mut answers = Vec::with_capacity(group.len());
        for piece in group {
            match in_savepoint(&db.connection, || piece.run(db)) {
                Ok(()) => answers.push(Ok(())),
                // A full disk takes the whole transaction with it, and damage is no matter of one piece.
                Err(error) if error.is_damage() || db.connection.is_autocommit() => {
                    let _ = db.connection.execute_batch("ROLLBACK");
                    return Err(error);
                }
                Err(error) => answers.push(Err(error.told(path))),
            }
        }
        if let Err(error) = db.connection.execute_batch("COMMIT") {
            let _ = db.connection.execute_batch("ROLLBACK");
            return Err(error.into());
        }
        self.health.entered();
        Ok(answers)
    }

    /// Takes the write lock, however long others need it within reason.
    fn begin(&mut self) -> DbResult<&Db> {
        self.health.permit()?;
        let db = match self.db.take().filter(|db| db.is_current(self.path)) {
            Some(db) => db,
            None => Db::open(self.path, Access::Write).map_err(|error| error.told_of_readable(self.path))?,
        };
        let db = self.db.insert(db);
        let mut tried = 0;
        loop {
            tried += 1;
            match db.connection.execute_batch("BEGIN IMMEDIATE").map_err(DbError::from) {
                Ok(()) => break,
                Err(error) if error.is_busy() && tried < ATTEMPTS => {
                    let pause = rand::rng().random_range(SHORTEST_PAUSE..=LONGEST_PAUSE);
                    std::thread::sleep(Duration::from_millis(pause));
                }
                Err(error) => return Err(error),
            }
        }
        if let Err(error) = db.refresh().and_then(|()| self.health.enter(db)) {
            let _ = db.connection.execute_batch("ROLLBACK");
            return Err(error);
        }
        Ok(db)
    }

    fn tell(&self, error: DbError) -> StoreError {
        let told = if self.db.is_some() { error.told_of_open(self.path) } else { error.told(self.path) };
        self.health.hear(&told);
        told
    }
}

/// Undoes what the work did when it fails, unless the failure has undone everything already.
fn in_savepoint(connection: &Connection, work: impl FnOnce() -> DbResult<()>) -> DbResult<()> {
    connection.prepare_cached("SAVEPOINT piece")?.execute([])?;
    let done = work();
    if connection.is_autocommit() {
        return done;
    }
    if done.is_err() {
        connection.prepare_cached("ROLLBACK TO piece")?.execute([])?;
    }
    connection.prepare_cached("RELEASE piece")?.execute([])?;
    done
}
