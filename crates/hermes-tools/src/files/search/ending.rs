//! Why a search ends before it has seen everything, known to all of its threads at once.

use std::io::{self, Read};
use std::sync::atomic::{AtomicU8, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Early {
    TimedOut = 1,
    Interrupted = 2,
}

impl Early {
    /// The word in `limit_reason`.
    pub(super) fn reason(self) -> &'static str {
        match self {
            Self::TimedOut => "search_timeout",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Set once, looked at often.
#[derive(Debug, Default)]
pub(super) struct Ending(AtomicU8);

impl Ending {
    /// The first reason counts.
    pub(super) fn end(&self, why: Early) {
        // A second reason changes nothing, so the outcome of the exchange does not matter.
        let _ = self.0.compare_exchange(0, why as u8, Ordering::Relaxed, Ordering::Relaxed);
    }

    pub(super) fn ended(&self) -> Option<Early> {
        match self.0.load(Ordering::Relaxed) {
            0 => None,
            1 => Some(Early::TimedOut),
            _ => Some(Early::Interrupted),
        }
    }
}

/// A file that cannot be read any further once the search has ended, however large it is.
pub(super) struct Endable<'e, R> {
    pub(super) inner: R,
    pub(super) ending: &'e Ending,
}

impl<R: Read> Read for Endable<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.ending.ended() {
            Some(why) => Err(io::Error::other(why.reason())),
            None => self.inner.read(buffer),
        }
    }
}

/// Ends a search whose caller went away.
pub(super) struct EndOnDrop(pub(super) std::sync::Arc<Ending>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end(Early::Interrupted);
    }
}
