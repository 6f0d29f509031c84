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
use crate::schema::{self, states};
use crate::turnstile::{Turn, Turnstile};
use hermes_core::store::StoreError;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// No commit waits for more pieces than this.
const LARGEST_GROUP: usize = 64;
/// Once to build an index anew, once to leave it out.
const MENDINGS: u32 = 2;
/// Who has the turn keeps it this long while more is to be written: handing it on costs more than a write, for the next
/// one finds nothing of the file in its memory.
const SLICE: Duration = Duration::from_millis(1);
/// What is to be written next usually comes within this time, as an answer to what was written last.
const LINGER: Duration = Duration::from_micros(150);
/// After this many commits the log is moved into the file as soon as nobody waits. Where somebody always does, SQLite
/// moves it by itself when it has grown to a thousand pages.
const CHECKPOINT_EVERY: u64 = 50;

/// The way to the writer thread. Dropping it waits until the thread has finished what it was given.
pub(crate) struct Writer {
    queue: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    patience: Patience,
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
        let ours = patience.clone();
        let thread = std::thread::Builder::new()
            .name("session-writer".into())
            .spawn(move || {
                Desk { db, path: &path, health: &health, patience, turnstile, turn: None, commits: 0 }.serve(&orders)
            })
            .map_err(|error| StoreError::Failed(format!("no thread for the writer: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread), patience: ours })
    }

    /// Runs `work` in a transaction; returns after it is committed, so that the end of this process cannot undo it.
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
        // Nobody is there any more to whom it would matter that another program let go of the file in time.
        self.patience.end();
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
    /// Commits since the log was last moved.
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
        self.health.leave(self.db.as_ref(), &self.patience);
        drop(self.db);
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// The next order. The turn is kept for a moment in which more may come, then the others get theirs; when nothing
    /// comes there is time to move the log into the file.
    fn next(&mut self, orders: &Receiver<Order>) -> Option<Order> {
        if self.turn.as_ref().is_some_and(|(_, since)| since.elapsed() >= SLICE) {
            self.turn = None;
        }
        if let Some(order) = soon(orders) {
            return Some(order);
        }
        self.turn = None;
        if self.commits >= CHECKPOINT_EVERY {
            self.checkpoint();
        }
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
            Err(Spoiled::Piece(_)) if group.len() > 1 => self.one_by_one(group),
            outcome => {
                let outcome = outcome.map_err(|spoiled| self.tell(spoiled));
                group.into_iter().for_each(|piece| piece.answer(outcome.clone()));
            }
        }
        self.commits += 1;
    }

    /// Commits each piece by itself, until the file fails: then the rest would only wait for the same.
    fn one_by_one(&mut self, group: Vec<Box<dyn Work>>) {
        let mut failed = None;
        for mut piece in group {
            let outcome = match failed.clone() {
                Some(told) => Err(told),
                None => self.together(std::slice::from_mut(&mut piece)).map_err(|spoiled| {
                    let by_the_file = matches!(spoiled, Spoiled::File(_));
                    let told = self.tell(spoiled);
                    failed = by_the_file.then(|| told.clone());
                    told
                }),
            };
            piece.answer(outcome);
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
            let done = unharmed(|| piece.run(db)).and_then(|()| db.still_in_transaction());
            if let Err(error) = done {
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
        let db = match self.db.take() {
            Some(db) if db.is_current(self.path) => db,
            Some(_) => self.open(&self.patience)?,
            // Whoever opened the store has waited for it already.
            None => self.open(&self.patience.spent())?,
        };
        let db = self.db.insert(db);
        self.patience.with(|| Ok(db.connection.execute_batch("BEGIN IMMEDIATE")?))?;
        let ready = db
            .refresh()
            .and_then(|()| schema::refuse_newer(&db.connection, self.path))
            .and_then(|()| self.health.enter(db))
            .and_then(|()| states::settle(db));
        if let Err(error) = ready {
            db.roll_back();
            return Err(error);
        }
        Ok(db)
    }

    /// Opens the file anew, for it was replaced, or could not be written so far.
    fn open(&self, patience: &Patience) -> DbResult<Db> {
        let opened = Db::open(self.path, Access::Write, patience);
        let db = opened.map_err(|error| error.told_of_readable(self.path))?;
        self.health.opened_anew();
        Ok(db)
    }

    fn checkpoint(&mut self) {
        self.commits = 0;
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

/// What comes within a moment. Looking again and again finds it sooner than being woken up for it.
fn soon(orders: &Receiver<Order>) -> Option<Order> {
    let end = Instant::now() + LINGER;
    loop {
        match orders.try_recv() {
            Ok(order) => return Some(order),
            Err(TryRecvError::Empty) if Instant::now() < end => std::thread::yield_now(),
            Err(_) => return None,
        }
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
