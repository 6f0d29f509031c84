//! Waiting for something slow with a person in front of it: they see what is awaited, and Ctrl-C ends it.

use super::{Console, Trouble};
use hermes_core::stop::Stop;
use std::io::IsTerminal;
use std::pin::pin;
use std::time::{Duration, Instant};

const TICK: Duration = Duration::from_secs(1);
/// What is over sooner needs no explanation.
const WORTH_A_LINE: Duration = Duration::from_millis(300);

/// Ctrl-C and a polite kill end the work; everything that waits listens to this.
pub(super) fn stop_on_signal() -> Stop {
    use tokio::signal::unix::{SignalKind, signal};
    let stop = Stop::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate()] {
        let stop = stop.clone();
        // Without the handler the default action ends the program, which is also an answer to a signal.
        let Ok(mut signals) = signal(kind) else { continue };
        tokio::spawn(async move {
            signals.recv().await;
            stop.stop();
        });
    }
    stop
}

/// Waits for `work`. On a terminal `describe` says, second by second, what is awaited; the line is gone afterwards.
pub(super) async fn watch<T>(
    console: &mut Console<'_>,
    describe: impl Fn(Duration) -> String,
    work: impl Future<Output = T>,
) -> Result<T, Trouble> {
    let stop = stop_on_signal();
    let live = std::io::stderr().is_terminal();
    let begun = Instant::now();
    let mut work = pin!(work);
    let mut pause = WORTH_A_LINE;
    let mut has_line = false;
    let outcome = loop {
        tokio::select! {
            biased;
            done = &mut work => break Ok(done),
            () = stop.wait() => break Err(Trouble::Interrupted),
            () = tokio::time::sleep(pause) => {}
        }
        pause = TICK;
        if live {
            write!(console.err, "\r\x1b[2K… {}", describe(begun.elapsed()))?;
            console.err.flush()?;
            has_line = true;
        }
    };
    if has_line {
        write!(console.err, "\r\x1b[2K")?;
        console.err.flush()?;
    }
    outcome
}
