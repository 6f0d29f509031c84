//! Messages for a turn that is already under way.

use std::sync::{Mutex, PoisonError};

/// Where a person speaks to a working agent. Shared with whoever holds the keyboard.
#[derive(Debug, Default)]
pub struct Inbox {
    steering: Mutex<Vec<String>>,
    queued: Mutex<Vec<String>>,
}

impl Inbox {
    /// A word in between: the model reads it as soon as it can. Never stops what is running. Blank text is refused.
    pub fn steer(&self, text: &str) -> bool {
        put(&self.steering, text)
    }

    /// The next message, for when the answer is there.
    pub fn queue(&self, text: &str) -> bool {
        put(&self.queued, text)
    }

    /// Everything that was meant to steer.
    pub(crate) fn steering(&self) -> Option<String> {
        let all: Vec<String> = std::mem::take(&mut *self.steering.lock().unwrap_or_else(PoisonError::into_inner));
        (!all.is_empty()).then(|| all.join("\n"))
    }

    /// What comes after an answer: what could not steer any more, then one queued message.
    pub(crate) fn next(&self) -> Option<String> {
        self.steering().or_else(|| {
            let mut queued = self.queued.lock().unwrap_or_else(PoisonError::into_inner);
            (!queued.is_empty()).then(|| queued.remove(0))
        })
    }

    /// What was taken out and did not arrive, in front of everything that waits.
    pub(crate) fn give_back(&self, text: String) {
        self.steering.lock().unwrap_or_else(PoisonError::into_inner).insert(0, text);
    }

    /// Everything nobody read.
    pub fn take_all(&self) -> Vec<String> {
        let mut all = std::mem::take(&mut *self.steering.lock().unwrap_or_else(PoisonError::into_inner));
        all.append(&mut self.queued.lock().unwrap_or_else(PoisonError::into_inner));
        all
    }
}

fn put(list: &Mutex<Vec<String>>, text: &str) -> bool {
    let text = text.trim();
    if !text.is_empty() {
        list.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
    }
    !text.is_empty()
}
