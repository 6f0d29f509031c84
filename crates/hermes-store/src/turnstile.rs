//! Takes turns with the other processes that write to the same file.
//!
//! SQLite keeps the file whole without this; but its waiters poll, so that under load the lock goes to whoever happens to
//! look first and some wait for seconds. Two locked files beside the database make a queue of it: who holds the first one
//! is next, who holds the second one writes. A turn that does not come within a second is not waited for any longer
//! (somebody was stopped in the middle of one), and nothing but order is lost.

use crate::private;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Long enough for everybody in a long queue, short enough for a person.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

pub(crate) struct Turnstile {
    database: PathBuf,
    /// `None` where files cannot be locked: then there are no turns.
    gates: Option<Gates>,
    porter: Option<Porter>,
}

/// Held while writing; the next one passes when it is dropped.
pub(crate) struct Turn(Arc<File>);

#[derive(Clone)]
struct Gates {
    next: Arc<File>,
    turn: Arc<File>,
}

/// A thread that waits at gates of its own: a lock on a file cannot be waited for with a limit, and it belongs to whoever
/// opened the file.
struct Porter {
    bell: Arc<Bell>,
    gates: Gates,
}

/// Between the writer and its porter.
#[derive(Default)]
struct Bell {
    state: Mutex<State>,
    rung: Condvar,
}

#[derive(Default)]
struct State {
    want: Want,
    /// The porter stands in the queue.
    queueing: bool,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Want {
    #[default]
    Nothing,
    Turn,
    /// The porter holds the turn for us.
    Granted,
    Leave,
}

impl Turnstile {
    pub(crate) fn beside(database: &Path) -> Self {
        Self { database: database.to_owned(), gates: Gates::open(database), porter: None }
    }

    /// Waits for a turn, but not for ever.
    pub(crate) fn pass(&mut self) -> Option<Turn> {
        let gates = self.gates.as_ref()?;
        if gates.are_free() {
            return Some(Turn(Arc::clone(&gates.turn)));
        }
        if self.porter.is_none() {
            self.porter = Porter::hire(&self.database);
        }
        self.porter.as_ref()?.wait()
    }
}

impl Porter {
    fn hire(database: &Path) -> Option<Self> {
        let (bell, gates) = (Arc::<Bell>::default(), Gates::open(database)?);
        let (post, at) = (Arc::clone(&bell), gates.clone());
        std::thread::Builder::new().name("session-porter".into()).spawn(move || post.serve(&at)).ok()?;
        Some(Self { bell, gates })
    }

    fn wait(&self) -> Option<Turn> {
        let mut state = self.bell.lock();
        // Still in the queue since the last time: somebody was stopped, and is not waited for again.
        if state.queueing {
            return None;
        }
        state.want = Want::Turn;
        self.bell.rung.notify_all();
        let (mut state, _) = self
            .bell
            .rung
            .wait_timeout_while(state, LONGEST_WAIT, |state| state.want == Want::Turn)
            .unwrap_or_else(PoisonError::into_inner);
        (std::mem::take(&mut state.want) == Want::Granted).then(|| Turn(Arc::clone(&self.gates.turn)))
    }
}

impl Drop for Porter {
    fn drop(&mut self) {
        // Not waited for: it may be waiting for somebody who was stopped.
        self.bell.lock().want = Want::Leave;
        self.bell.rung.notify_all();
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

impl Gates {
    fn open(database: &Path) -> Option<Self> {
        let folder = database.parent()?;
        let name = database.file_name()?.to_string_lossy();
        let open = |role: &str| private::open_or_create(&folder.join(format!(".{name}.{role}"))).map(Arc::new).ok();
        Some(Self { next: open("next")?, turn: open("turn")? })
    }

    /// Takes the turn if nobody has it and nobody waits for it.
    fn are_free(&self) -> bool {
        if self.next.try_lock().is_err() {
            return false;
        }
        let free = self.turn.try_lock().is_ok();
        let _ = self.next.unlock();
        free
    }

    /// Queues for the turn.
    fn queue(&self) -> bool {
        let passed = self.next.lock().is_ok() && self.turn.lock().is_ok();
        let _ = self.next.unlock();
        passed
    }
}

impl Bell {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the porter does all day.
    fn serve(&self, gates: &Gates) {
        loop {
            let idle = |state: &mut State| matches!(state.want, Want::Nothing | Want::Granted);
            let mut state = self.rung.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            if state.want == Want::Leave {
                return;
            }
            state.queueing = true;
            drop(state);
            let passed = gates.queue();
            let mut state = self.lock();
            state.queueing = false;
            if state.want == Want::Turn && passed {
                state.want = Want::Granted;
                self.rung.notify_all();
                continue;
            }
            // Nobody waits any longer.
            let _ = gates.turn.unlock();
            if !passed {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    #[test]
    fn turns_are_taken_one_at_a_time_and_somebody_who_sleeps_costs_a_second() {
        let folder = tempfile::tempdir().expect("a folder");
        let database = folder.path().join("state.db");
        let (mut first, mut second) = (Turnstile::beside(&database), Turnstile::beside(&database));
        let asleep = first.pass().expect("free");
        let began = Instant::now();
        assert!(second.pass().is_none(), "two at a time");
        assert!(began.elapsed() >= LONGEST_WAIT);
        assert!(second.pass().is_none() && began.elapsed() < 2 * LONGEST_WAIT, "waited for again");
        drop(asleep);
        // The porter that stood in the queue gives the turn back first.
        let turn = std::iter::from_fn(|| Some(second.pass())).find_map(|turn| turn).expect("free again");
        let waiting = std::thread::spawn(move || first.pass().is_some());
        while !waiting.is_finished() && second.gates.as_ref().is_some_and(|gates| gates.next.try_lock().is_ok()) {
            let _ = second.gates.as_ref().map(|gates| gates.next.unlock());
        }
        drop(turn);
        assert!(waiting.join().expect("no panic"), "the one in the queue got it");
    }
}
