//! The one writer of a process: a thread with a connection, fed through a queue.
//!
//! What waits in the queue is committed together, each piece in a savepoint of its own, and answered after the commit.
//! A lock that others hold is waited for: SQLite for a second, then up to fifteen more tries with a random pause between
//! them, so that programs do not march in step. Our own processes take turns ([`Turnstile`]), so that this is rare.

use crate::db::Db;
use crate::fault::{DbError, DbResult};
use crate::health::Health;
use crate::turnstile::Turnstile;
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
/// The log goes into the file after this many commits, while it is our turn: between two writers it could never begin
/// anew, and would only grow.
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
    pub(crate) fn start(db: Db, path: &Path, health: Arc<Health>) -> DbResult<Self> {
        let (queue, orders) = channel();
        let turnstile = Turnstile::beside(path);
        let path = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("session-writer".into())
            .spawn(move || Desk { db, path: &path, health: &health, turnstile, commits: 0 }.serve(&orders))
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
    turnstile: Turnstile,
    commits: u64,
}

impl Desk<'_> {
    fn serve(mut self, orders: &Receiver<Order>) {
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
        self.health.leave(&self.db);
        drop(self.db);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    fn commit(&mut self, group: Vec<Box<dyn Work>>) {
        if group.is_empty() {
            return;
        }
        let _turn = self.turnstile.pass();
        if let Err(error) = self.health.permit().map_err(DbError::from).and_then(|()| self.begin()) {
            let told = self.tell(error);
            group.into_iter().for_each(|piece| piece.answer(Err(told.clone())));
            return;
        }
        let mut good = Vec::with_capacity(group.len());
        for mut piece in group {
            match self.run(&mut *piece) {
                Ok(()) => good.push(piece),
                Err(error) => piece.answer(Err(self.tell(error))),
            }
        }
        let committed = self.db.connection.execute_batch("COMMIT").map_err(|error| {
            let _ = self.db.connection.execute_batch("ROLLBACK");
            self.tell(error.into())
        });
        good.into_iter().for_each(|piece| piece.answer(committed.clone()));
        self.commits += 1;
        if self.commits.is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoint();
        }
    }

    /// Runs one piece so that its failure leaves no trace in the transaction.
    fn run(&self, piece: &mut dyn Work) -> DbResult<()> {
        let attempt = |piece: &mut dyn Work| in_savepoint(&self.db.connection, || piece.run(&self.db));
        match attempt(piece) {
            Err(error) if error.is_index_damage() => {
                self.health.mend_index(&self.db)?;
                attempt(piece)
            }
            other => other,
        }
    }

    /// Takes the write lock, however long others need it within reason.
    fn begin(&mut self) -> DbResult<()> {
        let mut tried = 0;
        loop {
            tried += 1;
            match self.db.connection.execute_batch("BEGIN IMMEDIATE").map_err(DbError::from) {
                Ok(()) => break,
                Err(error) if error.is_busy() && tried < ATTEMPTS => {
                    let pause = rand::rng().random_range(SHORTEST_PAUSE..=LONGEST_PAUSE);
                    std::thread::sleep(Duration::from_millis(pause));
                }
                Err(error) => return Err(error),
            }
        }
        let ready = self.db.refresh().and_then(|()| self.health.enter(&self.db));
        if ready.is_err() {
            let _ = self.db.connection.execute_batch("ROLLBACK");
        }
        ready
    }

    fn checkpoint(&self) {
        if let Err(error) = self.db.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)") {
            tracing::debug!("a checkpoint of the session store failed: {error}");
        }
    }

    fn tell(&self, error: DbError) -> StoreError {
        let told = error.told(self.path);
        self.health.hear(&told);
        told
    }
}

fn in_savepoint(connection: &Connection, work: impl FnOnce() -> DbResult<()>) -> DbResult<()> {
    connection.prepare_cached("SAVEPOINT piece")?.execute([])?;
    let done = work();
    if done.is_err() {
        connection.prepare_cached("ROLLBACK TO piece")?.execute([])?;
    }
    connection.prepare_cached("RELEASE piece")?.execute([])?;
    done
}
