//! The one writer of a process: a thread with a connection, fed through a queue.
//!
//! What waits in the queue is committed together and answered after the commit. When a piece fails or panics, everything
//! is taken back and each is run by itself, so that a failure leaves no trace and costs nobody but its own. Damage that is
//! the search index's alone is mended and the work tried again. Our processes take turns ([`Turnstile`]); a lock that
//! another program holds is waited for ([`Patience`]).

use crate::db::{Access, Db};
use crate::fault::{DbError, DbResult};
use crate::health::Health;
use crate::patience::Patience;
use crate::schema::states;
use crate::turnstile::{Turn, Turnstile};
use hermes_core::store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// No commit waits for more pieces than this.
const LARGEST_GROUP: usize = 64;
/// Once to build an index anew, once to leave it out.
const MENDINGS: u32 = 2;
/// Who has the turn keeps it this long while more is to be written: handing it on costs more than a write, for the next
/// one finds nothing of the file in its memory.
const SLICE: Duration = Duration::from_millis(2);
/// What is to be written next usually comes within this time, as an answer to what was written last.
const LINGER: Duration = Duration::from_micros(100);
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
    /// Somebody met damage, or may have: see what it is and do what can be done.
    Examine,
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
    /// Without `db` the file can only be read for now; every write tries to open it again.
    pub(crate) fn start(db: Option<Db>, path: &Path, health: Arc<Health>, patience: Patience) -> DbResult<Self> {
        let (queue, orders) = channel();
        if let Some(db) = &db {
            let bell = queue.clone();
            health.look(db, move || drop(bell.send(Order::Examine)));
        }
        let turnstile = Turnstile::beside(path);
        let path = path.to_owned();
        let thread = std::thread::Builder::new()
            .name("session-writer".into())
            .spawn(move || {
                Desk { db, path: &path, health: &health, patience, turnstile, turn: None, commits: 0 }.serve(&orders)
            })
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
    patience: Patience,
    turnstile: Turnstile,
    /// Ours to write, and since when.
    turn: Option<(Turn, Instant)>,
    commits: u64,
}

/// Why a transaction was taken back.
enum Spoiled {
    /// By one of the pieces.
    Piece(DbError),
    /// By the file: nobody would fare better.
    File(DbError),
}

impl Desk<'_> {
    fn serve(mut self, orders: &Receiver<Order>) {
        // A file that another program raised since is put right at once, for that program may read it next.
        let raised = |db: &Db| states::are_beside(&db.connection, &db.shape).unwrap_or_default();
        if self.db.as_ref().is_some_and(raised) {
            drop(self.together(&mut []));
        }
        let mut closing = None;
        while closing.is_none() {
            let Some(order) = self.next(orders) else { break };
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
        self.health.leave(self.db.as_ref());
        drop(self.db);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// The next order. While it is our turn, it is waited for only a moment before the others get theirs.
    fn next(&mut self, orders: &Receiver<Order>) -> Option<Order> {
        if let Some((_, since)) = &self.turn
            && since.elapsed() < SLICE
            && let Ok(order) = orders.recv_timeout(LINGER)
        {
            return Some(order);
        }
        self.turn = None;
        orders.recv().ok()
    }

    /// Commits a group and answers everybody in it.
    fn commit(&mut self, mut group: Vec<Box<dyn Work>>) {
        if group.is_empty() {
            return;
        }
        if self.turn.is_none() {
            self.turn = self.turnstile.pass().map(|turn| (turn, Instant::now()));
        }
        match self.together(&mut group) {
            Err(Spoiled::Piece(_)) if group.len() > 1 => {
                for mut piece in group {
                    let alone = self.together(std::slice::from_mut(&mut piece));
                    piece.answer(alone.map_err(|spoiled| self.tell(spoiled)));
                }
            }
            outcome => {
                let outcome = outcome.map_err(|spoiled| self.tell(spoiled));
                group.into_iter().for_each(|piece| piece.answer(outcome.clone()));
            }
        }
        self.commits += 1;
        if self.commits.is_multiple_of(CHECKPOINT_EVERY) {
            self.checkpoint();
        }
    }

    /// Commits all pieces or none, and tries again after mending what can be mended.
    fn together(&mut self, pieces: &mut [Box<dyn Work>]) -> Result<(), Spoiled> {
        let mut outcome = self.attempt(pieces);
        for _ in 0..MENDINGS {
            let mended = match (&outcome, &mut self.db) {
                (Err(Spoiled::Piece(error) | Spoiled::File(error)), Some(db)) if error.is_damage() => {
                    self.health.mend(db, error)
                }
                _ => false,
            };
            if !mended {
                break;
            }
            outcome = self.attempt(pieces);
        }
        outcome
    }

    /// Runs the pieces in one transaction; an error means that nothing of them was kept.
    fn attempt(&mut self, pieces: &mut [Box<dyn Work>]) -> Result<(), Spoiled> {
        let patience = self.patience.clone();
        let db = self.begin().map_err(Spoiled::File)?;
        for piece in pieces {
            if let Err(error) = unharmed(|| piece.run(db)) {
                db.roll_back();
                return Err(Spoiled::Piece(error));
            }
        }
        // Without a log, readers can hold up a commit.
        if let Err(error) = patience.with(|| Ok(db.connection.execute_batch("COMMIT")?)) {
            db.roll_back();
            return Err(Spoiled::File(error));
        }
        self.health.entered();
        Ok(())
    }

    /// Takes the write lock, however long others need it within reason.
    fn begin(&mut self) -> DbResult<&mut Db> {
        self.health.permit()?;
        let db = match self.db.take().filter(|db| db.is_current(self.path)) {
            Some(db) => db,
            None => {
                let opened = Db::open(self.path, Access::Write, &self.patience);
                let db = opened.map_err(|error| error.told_of_readable(self.path))?;
                self.health.opened_anew();
                db
            }
        };
        let db = self.db.insert(db);
        self.patience.with(|| Ok(db.connection.execute_batch("BEGIN IMMEDIATE")?))?;
        let ready = db.refresh().and_then(|()| self.health.enter(db)).and_then(|()| states::settle(db));
        if let Err(error) = ready {
            db.roll_back();
            return Err(error);
        }
        Ok(db)
    }

    fn checkpoint(&self) {
        let Some(db) = &self.db else { return };
        if let Err(error) = db.connection.execute_batch("PRAGMA wal_checkpoint(PASSIVE)") {
            tracing::debug!("a checkpoint of the session store failed: {error}");
        }
    }

    fn tell(&self, (Spoiled::Piece(error) | Spoiled::File(error)): Spoiled) -> StoreError {
        let told = if self.db.is_some() { error.told_of_open(self.path) } else { error.told(self.path) };
        self.health.hear(&told);
        told
    }
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
