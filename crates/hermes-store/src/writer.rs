//! The one writer of a process: a thread with a connection, fed through a queue.
//!
//! What waits in the queue is committed together, each piece in a savepoint of its own, and answered after the commit.
//! A piece that fails or panics leaves no trace and takes nobody with it: where SQLite gave up the whole transaction
//! because of it (a full disk, a failed read), the others run again without it.
//! A lock that others hold is waited for, see [`Patience`].

use crate::db::Db;
use crate::fault::{DbError, DbResult};
use crate::health::Health;
use crate::housekeeping::Housekeeper;
use crate::patience::Patience;
use crate::schema::states;
use hermes_core::store::StoreError;
use rusqlite::Connection;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// No commit waits for more pieces than this.
const LARGEST_GROUP: usize = 64;
/// Small enough that messages of other sessions get between two long pieces of work.
const CHECKPOINT_EVERY: u64 = 50;

/// The way to the writer thread. Dropping it waits until the thread has finished what it was given.
pub(crate) struct Writer {
    queue: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

enum Order {
    Write(Box<dyn Work>),
    Close(oneshot::Sender<()>),
}

/// A piece of work with the one who waits for it.
trait Work: Send {
    /// May run again: after the search index was mended, or after another piece spoiled the transaction.
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
    pub(crate) fn start(db: Db, path: &Path, health: Arc<Health>, patience: Patience) -> DbResult<Self> {
        let (queue, orders) = channel();
        let housekeeper = Housekeeper::new(path);
        let path = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("session-writer".into())
            .spawn(move || Desk { db, path: &path, health: &health, patience, housekeeper, commits: 0 }.serve(&orders))
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

    fn send(&self, order: Order) -> Result<(), StoreError> {
        let queue = self.queue.as_ref().ok_or(StoreError::Closed)?;
        queue.send(order).map_err(|_| StoreError::Closed)
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        drop(self.queue.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The writer thread's own things.
struct Desk<'a> {
    db: Db,
    path: &'a Path,
    health: &'a Health,
    patience: Patience,
    housekeeper: Housekeeper,
    commits: u64,
}

impl Desk<'_> {
    fn serve(mut self, orders: &Receiver<Order>) {
        // A file that another program raised since is put right at once, for that program may read it next.
        if states::are_beside(&self.db.connection, &self.db.shape).unwrap_or_default() {
            self.commit_once(Vec::new());
        }
        let mut closing = None;
        while closing.is_none() {
            let Ok(order) = orders.recv() else { break };
            let mut group = Vec::new();
            let mut next = Some(order);
            while let Some(order) = next.take() {
                match order {
                    Order::Write(piece) => group.push(piece),
                    Order::Close(done) => closing = Some(done),
                }
                if closing.is_none() && group.len() < LARGEST_GROUP {
                    next = orders.try_recv().ok();
                }
            }
            self.commit(group);
        }
        self.housekeeper.finish();
        self.health.leave(&self.db);
        drop(self.db);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Commits a group and answers everybody in it. Every round but the last answers at least one.
    fn commit(&mut self, mut group: Vec<Box<dyn Work>>) {
        while !group.is_empty() {
            group = self.commit_once(group);
        }
    }

    /// Returns those who have to be run again, because another one spoiled the transaction.
    fn commit_once(&mut self, group: Vec<Box<dyn Work>>) -> Vec<Box<dyn Work>> {
        if let Err(error) = self.health.permit().map_err(DbError::from).and_then(|()| self.begin()) {
            let told = self.tell(error);
            group.into_iter().for_each(|piece| piece.answer(Err(told.clone())));
            return Vec::new();
        }
        let mut good = Vec::with_capacity(group.len());
        let mut pieces = group.into_iter();
        while let Some(mut piece) = pieces.next() {
            let Err(error) = self.run(&mut *piece) else {
                good.push(piece);
                continue;
            };
            piece.answer(Err(self.tell(error)));
            if self.db.connection.is_autocommit() {
                self.db.forget();
                good.extend(pieces);
                return good;
            }
        }
        let committed = self.end().map_err(|error| self.tell(error));
        good.into_iter().for_each(|piece| piece.answer(committed.clone()));
        self.commits += 1;
        if self.commits.is_multiple_of(CHECKPOINT_EVERY) {
            self.housekeeper.checkpoint();
        }
        self.housekeeper.finish_long_log(&self.db.connection);
        Vec::new()
    }

    /// Runs one piece so that its failure leaves no trace in the transaction.
    fn run(&self, piece: &mut dyn Work) -> DbResult<()> {
        self.mending(|| unharmed(|| piece.run(&self.db)))
    }

    /// Runs work in a savepoint, and again after the search index was found damaged and mended.
    fn mending(&self, mut work: impl FnMut() -> DbResult<()>) -> DbResult<()> {
        match in_savepoint(&self.db.connection, &mut work) {
            Err(error) if error.is_index_damage() => {
                in_savepoint(&self.db.connection, || self.health.mend_index(&self.db))?;
                in_savepoint(&self.db.connection, work)
            }
            other => other,
        }
    }

    /// Takes the write lock, however long others need it within reason.
    fn begin(&mut self) -> DbResult<()> {
        let Self { db, patience, .. } = self;
        patience.with(|| Ok(db.connection.execute_batch("BEGIN IMMEDIATE")?))?;
        let ready = db.refresh().and_then(|()| self.health.enter(&self.db)).and_then(|()| self.settle());
        if ready.is_err() {
            self.roll_back();
        }
        ready
    }

    /// States that were noted beside the messages move into the columns as soon as there are any.
    fn settle(&self) -> DbResult<()> {
        let Db { connection, shape, .. } = &self.db;
        if states::are_beside(connection, shape)? {
            self.mending(|| states::move_into_columns(connection))?;
        }
        Ok(())
    }

    /// Without a log, readers can hold up a commit.
    fn end(&mut self) -> DbResult<()> {
        let Self { db, patience, .. } = self;
        let ended = patience.with(|| Ok(db.connection.execute_batch("COMMIT")?));
        if ended.is_err() {
            self.roll_back();
        }
        ended
    }

    fn roll_back(&mut self) {
        if !self.db.connection.is_autocommit() {
            let _ = self.db.connection.execute_batch("ROLLBACK");
        }
        self.db.forget();
    }

    fn tell(&self, error: DbError) -> StoreError {
        let told = error.told(self.path);
        self.health.hear(&told);
        told
    }
}

/// The error of the work itself is what is told, also where SQLite has taken everything back already.
fn in_savepoint(connection: &Connection, work: impl FnOnce() -> DbResult<()>) -> DbResult<()> {
    connection.prepare_cached("SAVEPOINT piece")?.execute([])?;
    let done = work();
    if done.is_err() {
        if connection.is_autocommit() {
            return done;
        }
        connection.prepare_cached("ROLLBACK TO piece")?.execute([])?;
    }
    connection.prepare_cached("RELEASE piece")?.execute([])?;
    done
}

/// A panic is the failure of the piece it happens in, not of the writer.
fn unharmed(work: impl FnOnce() -> DbResult<()>) -> DbResult<()> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let words = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Err(StoreError::Failed(format!("a write panicked: {}", words.unwrap_or("without words"))).into())
    })
}

#[cfg(test)]
mod tests;
