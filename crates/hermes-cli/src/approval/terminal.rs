//! One line from the terminal, for as long as somebody waits for it.
//!
//! The reader looks for input in short steps and ends as soon as its question is over, so that no forgotten reader takes
//! the next line. What was typed before the question was put is thrown away.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr};
use std::io::{Stdin, Write as _, stderr, stdin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How often a reader looks whether its question is over.
const STEP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
/// Longer than any terminal hands over at once.
const LINE: usize = 4_096;

/// Whether what is typed appears on the screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Echo {
    On,
    Off,
}

/// A terminal that takes nothing takes no question either; the answer will be a no.
pub(super) fn say(text: &str) {
    let mut err = stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

/// A line, or nothing when the input has ended. `unanswered` is said when the question is over before there was one.
pub(super) async fn line(prompt: String, echo: Echo, unanswered: &'static str) -> Option<String> {
    let over = Arc::new(AtomicBool::new(false));
    let guard = Guard { over: over.clone(), unanswered: Some(unanswered) };
    let read = tokio::task::spawn_blocking(move || {
        let input = stdin();
        // What was typed before the question cannot be an answer to it. Only what is no terminal refuses this, and that has
        // nobody in front of it.
        let _ = tcflush(&input, QueueSelector::IFlush);
        say(&prompt);
        let _hidden = (echo == Echo::Off).then(|| Hidden::new(&input)).flatten();
        read_line(&input, &over)
    });
    let line = read.await.ok().flatten();
    guard.answered();
    line
}

fn read_line(input: &Stdin, over: &AtomicBool) -> Option<String> {
    let mut line = Vec::new();
    while !over.load(Ordering::Relaxed) {
        let mut waiting = [PollFd::new(input, PollFlags::IN)];
        match poll(&mut waiting, Some(&STEP)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(_) => return None,
        }
        let mut chunk = [0_u8; LINE];
        match rustix::io::read(input, &mut chunk) {
            Ok(0) => return None,
            Ok(count) => line.extend_from_slice(chunk.get(..count).unwrap_or_default()),
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
        if line.ends_with(b"\n") {
            return Some(String::from_utf8_lossy(&line).into_owned());
        }
    }
    None
}

/// Ends the reader when the question is dropped.
struct Guard {
    over: Arc<AtomicBool>,
    unanswered: Option<&'static str>,
}

impl Guard {
    fn answered(mut self) {
        self.unanswered = None;
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(text) = self.unanswered {
            say(&format!("\n{text}\n"));
        }
    }
}

/// Typed text stays off the screen while this lives.
struct Hidden<'a> {
    input: &'a Stdin,
    before: Termios,
}

impl<'a> Hidden<'a> {
    fn new(input: &'a Stdin) -> Option<Self> {
        let before = tcgetattr(input).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO);
        tcsetattr(input, OptionalActions::Now, &quiet).ok()?;
        Some(Self { input, before })
    }
}

impl Drop for Hidden<'_> {
    fn drop(&mut self) {
        // A terminal that is gone needs no echo.
        let _ = tcsetattr(self.input, OptionalActions::Now, &self.before);
        say("\n");
    }
}
