//! Watches a stream for silence. A peer that stops talking is reported while we wait and counted as dead at its limit.

use crate::clock::Clock;
use crate::ports::Listener;
use futures_util::Stream;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use hermes_types::{Delta, Event, Fault, FaultKind, Notice};
use std::time::Duration;

/// A person hears of a wait after this long …
const FIRST_NOTICE: Duration = Duration::from_secs(2);
/// … and again each time this much more has passed.
const NOTICE_EVERY: Duration = Duration::from_secs(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Longest silence before the first byte.
    pub(crate) first_byte_after: Duration,
    /// Longest silence after it.
    pub(crate) stale_after: Duration,
    /// Longest attempt.
    pub(crate) give_up_after: Duration,
}

/// The same stream, ended by a fault when it is silent or takes too long.
pub(crate) fn watch<'a>(
    deltas: impl Stream<Item = Result<Delta, Fault>> + Send + 'a,
    limits: Limits,
    clock: &'a dyn Clock,
    listener: &'a dyn Listener,
) -> impl Stream<Item = Result<Delta, Fault>> + Send + 'a {
    let state = Watch {
        deltas: Box::pin(deltas),
        overall: clock.alarm(limits.give_up_after),
        silence: limits.first_byte_after,
        limits,
        clock,
        listener,
        done: false,
    };
    futures_util::stream::unfold(state, |mut watch| async move {
        if watch.done {
            return None;
        }
        let next = watch.next().await?;
        // What we sent ourselves is no sign of life.
        if !matches!(next, Ok(Delta::Sent(_))) {
            watch.silence = watch.limits.stale_after;
        }
        watch.done = next.is_err();
        Some((next, watch))
    })
}

struct Watch<'a, S> {
    deltas: std::pin::Pin<Box<S>>,
    overall: BoxFuture<'static, ()>,
    limits: Limits,
    /// The silence tolerated now.
    silence: Duration,
    clock: &'a dyn Clock,
    listener: &'a dyn Listener,
    done: bool,
}

impl<S: Stream<Item = Result<Delta, Fault>> + Send> Watch<'_, S> {
    async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        // What is already there needs no alarm clock: this is the hot path of a stream.
        if let Some(ready) = futures_util::FutureExt::now_or_never(self.deltas.next()) {
            return ready;
        }
        let silent_since = self.clock.elapsed();
        let mut stale = self.clock.alarm(self.silence);
        let mut due = FIRST_NOTICE;
        loop {
            let mut reminder = self.clock.alarm(due);
            tokio::select! {
                biased;
                delta = self.deltas.next() => return delta,
                () = &mut stale => {
                    let seconds = self.silence.as_secs();
                    return Some(Err(Fault::new(FaultKind::Stalled, format!("no data for {seconds} s"))));
                }
                () = &mut self.overall => {
                    let seconds = self.limits.give_up_after.as_secs();
                    return Some(Err(Fault::new(FaultKind::Timeout, format!("no complete answer after {seconds} s"))));
                }
                () = &mut reminder => {
                    let seconds = self.clock.elapsed().saturating_sub(silent_since).as_secs();
                    self.listener.hear(Event::Notice { notice: Notice::Waiting { seconds } });
                    due = NOTICE_EVERY;
                }
            }
        }
    }
}
