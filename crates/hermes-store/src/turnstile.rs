//! Takes turns with the other processes that write to the same file.
//!
//! SQLite keeps the file whole without this; but its waiters poll, so that under load the lock goes to whoever happens to
//! look first and some wait for seconds. Two locked files beside the database make a queue of it: who holds the first one
//! is next, who holds the second one writes. A turn that does not come within a second is not waited for any longer
//! (somebody was stopped in the middle of one), and nothing but order is lost.

use crate::private;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(1);

pub(crate) struct Turnstile {
    /// `None` where files cannot be locked: then there are no turns.
    gates: Option<Gates>,
    porter: Option<Arc<Desk>>,
}

/// Held while writing; the next one passes when it is dropped.
pub(crate) struct Turn(Arc<File>);

#[derive(Clone)]
struct Gates {
    next: Arc<File>,
    turn: Arc<File>,
}

/// Where the writer waits for the porter, the thread that waits for the gates.
#[derive(Default)]
struct Desk {
    want: Mutex<Want>,
    bell: Condvar,
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
        Self { gates: Gates::open(database), porter: None }
    }

    /// Waits for a turn, but not for ever.
    pub(crate) fn pass(&mut self) -> Option<Turn> {
        let gates = self.gates.clone()?;
        let passed = gates.free() || self.wait(&gates);
        passed.then(|| Turn(gates.turn))
    }

    /// Waits on another thread, because a lock on a file cannot be waited for with a limit.
    fn wait(&mut self, gates: &Gates) -> bool {
        if self.porter.is_none() {
            self.porter = hire(gates.clone());
        }
        let Some(desk) = &self.porter else { return false };
        *desk.lock() = Want::Turn;
        desk.bell.notify_all();
        let (mut want, _) = desk
            .bell
            .wait_timeout_while(desk.lock(), PATIENCE, |want| *want == Want::Turn)
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *want) == Want::Granted
    }
}

impl Drop for Turnstile {
    fn drop(&mut self) {
        // Not waited for: the porter may be waiting for somebody who was stopped.
        if let Some(desk) = &self.porter {
            *desk.lock() = Want::Leave;
            desk.bell.notify_all();
        }
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
        let open = |role: &str| {
            let path = folder.join(format!(".{name}.{role}"));
            private::open_or_create(&path).map(Arc::new).ok()
        };
        Some(Self { next: open("next")?, turn: open("turn")? })
    }

    /// Takes the turn if nobody has it and nobody waits for it.
    fn free(&self) -> bool {
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

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Want> {
        self.want.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn hire(gates: Gates) -> Option<Arc<Desk>> {
    let desk = Arc::new(Desk::default());
    let post = Arc::clone(&desk);
    let work = move || {
        loop {
            let idle = |want: &mut Want| matches!(want, Want::Nothing | Want::Granted);
            let want = post.bell.wait_while(post.lock(), idle).unwrap_or_else(PoisonError::into_inner);
            if *want == Want::Leave {
                return;
            }
            drop(want);
            if !gates.queue() {
                return;
            }
            let mut want = post.lock();
            if *want == Want::Turn {
                *want = Want::Granted;
                post.bell.notify_all();
            } else {
                // Nobody waits any longer.
                let _ = gates.turn.unlock();
            }
        }
    };
    std::thread::Builder::new().name("session-porter".into()).spawn(work).ok()?;
    Some(desk)
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
        assert!(began.elapsed() >= PATIENCE);
        drop(asleep);
        let turn = second.pass().expect("free again");
        let waiting = std::thread::spawn(move || first.pass().is_some());
        while !waiting.is_finished() && second.gates.as_ref().is_some_and(|gates| gates.next.try_lock().is_ok()) {
            let _ = second.gates.as_ref().map(|gates| gates.next.unlock());
        }
        drop(turn);
        assert!(waiting.join().expect("no panic"), "the one in the queue got it");
    }
}
