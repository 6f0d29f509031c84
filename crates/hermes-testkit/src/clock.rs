//! A clock that moves only when told to.
//!
//! A pause passes at once and is remembered; an alarm rings only when something (a pause, a stalled server, the test)
//! moved time past its deadline. So a fault matrix that would take an hour runs in a second and always ends the same way.

use futures_util::future::BoxFuture;
use hermes_core::clock::Clock;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

/// Clones show the same time.
#[derive(Debug, Clone, Default)]
pub struct FakeClock {
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    elapsed: Duration,
    pauses: Vec<Duration>,
    next_id: u64,
    changes: u64,
    alarms: BTreeMap<u64, Pending>,
}

#[derive(Debug)]
struct Pending {
    deadline: Duration,
    /// Whoever polled the alarm last; nobody before the first poll.
    waker: Option<Waker>,
}

impl FakeClock {
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves time on and returns how many alarms rang on the way.
    pub fn advance(&self, duration: Duration) -> usize {
        let wakers = {
            let mut state = self.state();
            state.elapsed += duration;
            let now = state.elapsed;
            let due = state.alarms.extract_if(.., |_, alarm| alarm.deadline <= now);
            due.map(|(_, alarm)| alarm.waker).collect::<Vec<_>>()
        };
        let rang = wakers.len();
        wakers.into_iter().flatten().for_each(Waker::wake);
        rang
    }

    /// Moves time to the earliest deadline up to `limit` and rings what is due then. False when no alarm is set for so
    /// early.
    pub(crate) fn ring_next(&self, limit: Duration) -> bool {
        let ahead = {
            let state = self.state();
            let earliest = state.alarms.values().map(|alarm| alarm.deadline).min();
            earliest.filter(|deadline| *deadline <= limit).map(|deadline| deadline.saturating_sub(state.elapsed))
        };
        ahead.map(|ahead| self.advance(ahead)).is_some()
    }

    /// Grows whenever an alarm is set or given up: as long as it grows, somebody is still preparing to wait.
    pub(crate) fn changes(&self) -> u64 {
        self.state().changes
    }

    /// Every pause that was taken, in order.
    pub fn pauses(&self) -> Vec<Duration> {
        self.state().pauses.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("nothing panics while holding the clock")
    }
}

impl Clock for FakeClock {
    fn elapsed(&self) -> Duration {
        self.state().elapsed
    }

    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(crate::START) + self.elapsed()
    }

    fn pause(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let clock = self.clone();
        Box::pin(async move {
            clock.state().pauses.push(duration);
            clock.advance(duration);
            // A loop of nothing but pauses must not starve the task that could stop it.
            tokio::task::yield_now().await;
        })
    }

    fn alarm(&self, duration: Duration) -> BoxFuture<'static, ()> {
        let mut state = self.state();
        let deadline = state.elapsed + duration;
        let id = state.next_id;
        state.next_id += 1;
        state.changes += 1;
        state.alarms.insert(id, Pending { deadline, waker: None });
        Box::pin(Alarm { clock: self.clone(), id, deadline })
    }
}

/// Rings once time has reached the deadline; forgotten when dropped.
struct Alarm {
    clock: FakeClock,
    id: u64,
    deadline: Duration,
}

impl Future for Alarm {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.clock.state();
        if state.elapsed >= self.deadline {
            state.alarms.remove(&self.id);
            return Poll::Ready(());
        }
        if let Some(pending) = state.alarms.get_mut(&self.id) {
            pending.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let mut state = self.clock.state();
        state.alarms.remove(&self.id);
        state.changes += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use futures_util::future::{Either, select};

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test]
    async fn a_pause_passes_at_once_and_is_remembered() {
        let clock = FakeClock::new();
        clock.pause(3600 * SECOND).await;
        clock.pause(2 * SECOND).await;
        drop(clock.pause(99 * SECOND));
        assert_eq!(clock.pauses(), [3600 * SECOND, 2 * SECOND]);
        assert_eq!(clock.elapsed(), 3602 * SECOND);
        let start = SystemTime::UNIX_EPOCH + Duration::from_secs(crate::START);
        assert_eq!(clock.now(), start + 3602 * SECOND);
    }

    #[test]
    fn an_alarm_rings_exactly_when_time_reaches_it() {
        let clock = FakeClock::new();
        let mut alarm = clock.alarm(10 * SECOND);
        assert_eq!(clock.advance(9 * SECOND), 0);
        assert!((&mut alarm).now_or_never().is_none());
        assert_eq!(clock.advance(SECOND), 1);
        assert!(alarm.now_or_never().is_some());
        assert!(clock.alarm(Duration::ZERO).now_or_never().is_some());
    }

    #[tokio::test]
    async fn an_alarm_wakes_the_task_that_polled_it_last() {
        let clock = FakeClock::new();
        let mut alarm = clock.alarm(10 * SECOND);
        assert!((&mut alarm).now_or_never().is_none(), "polled here first, then moved to another task");
        let sleeper = tokio::spawn(alarm);
        tokio::task::yield_now().await;
        clock.advance(10 * SECOND);
        sleeper.await.expect("the sleeper wakes");
    }

    #[tokio::test]
    async fn the_earliest_alarm_rings_alone() {
        let clock = FakeClock::new();
        let (stale, give_up) = (clock.alarm(180 * SECOND), clock.alarm(1800 * SECOND));
        assert!(!clock.ring_next(179 * SECOND), "nothing is due so early");
        assert!(clock.ring_next(Duration::MAX));
        assert!(matches!(select(give_up, stale).await, Either::Right(_)), "only the stale alarm rang");
        assert!(!clock.ring_next(Duration::MAX), "dropped alarms are forgotten");
        assert_eq!(clock.elapsed(), 180 * SECOND);
    }
}
