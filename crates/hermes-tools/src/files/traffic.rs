//! What all conversations of the process do to files: one at a time for each path, and known to the others.

use hermes_types::SessionId;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::{Mutex as Gate, OwnedMutexGuard};

/// Writes that are remembered.
const WRITES: usize = 1_000;
/// Locks after which those nobody holds are thrown away.
const LOCKS: usize = 256;

/// Shared by all conversations.
#[derive(Debug, Default)]
pub struct Traffic {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Counts writes; the clock of this module.
    now: u64,
    writes: BTreeMap<PathBuf, (u64, SessionId)>,
    locks: HashMap<PathBuf, Weak<Gate<()>>>,
}

/// Nobody else in this process changes these paths while it lives.
#[derive(Debug)]
pub(crate) struct Held {
    _guards: Vec<OwnedMutexGuard<()>>,
}

impl Traffic {
    /// Waits for every path, in their order, so that two that want the same ones never wait for each other.
    pub(crate) async fn hold(&self, paths: BTreeSet<PathBuf>) -> Held {
        let mut guards = Vec::with_capacity(paths.len());
        for path in paths {
            let gate = self.gate(path);
            guards.push(gate.lock_owned().await);
        }
        Held { _guards: guards }
    }

    pub(crate) fn now(&self) -> u64 {
        self.state().now
    }

    pub(crate) fn wrote(&self, path: &Path, by: &SessionId) {
        let mut state = self.state();
        state.now += 1;
        let now = state.now;
        state.writes.insert(path.to_path_buf(), (now, by.clone()));
        if state.writes.len() > WRITES {
            let oldest = state.writes.iter().min_by_key(|(_, (at, _))| *at).map(|(path, _)| path.clone());
            oldest.and_then(|path| state.writes.remove(&path));
        }
    }

    /// The other conversation that wrote a file last, when that was after this moment.
    pub(crate) fn other_writer(&self, path: &Path, me: &SessionId, since: u64) -> Option<SessionId> {
        let state = self.state();
        let (at, by) = state.writes.get(path)?;
        (*at > since && by != me).then(|| by.clone())
    }

    fn gate(&self, path: PathBuf) -> Arc<Gate<()>> {
        let mut state = self.state();
        if let Some(gate) = state.locks.get(&path).and_then(Weak::upgrade) {
            return gate;
        }
        if state.locks.len() >= LOCKS {
            state.locks.retain(|_, gate| gate.strong_count() > 0);
        }
        let gate = Arc::new(Gate::new(()));
        state.locks.insert(path, Arc::downgrade(&gate));
        gate
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
