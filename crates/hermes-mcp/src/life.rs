//! The life of a connection as a pure function: what happened, and what to do next.
//!
//! A server that cannot be reached is tried again with growing pauses; when that leads nowhere it is parked: its tools are
//! taken away, and now and then, or when somebody asks, one more attempt is made. One that is reached and dies again and
//! again soon after is given growing pauses too. Where a login is missing, the next attempt is made when somebody has
//! logged in, and now and then. A program that was ended because nobody used it rests: its tools stay, and the next call
//! wakes it.

use std::time::Duration;

/// Attempts after the first one, before a server is parked.
const RETRIES_AT_START: u32 = 3;
const RETRIES_LATER: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often a parked server is tried again without being asked for.
const PROBE: Duration = Duration::from_secs(300);
/// A connection that ended earlier than this was none.
const SETTLED: Duration = Duration::from_secs(30);

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Being made; so many attempts failed before this one.
    Connecting(u32),
    Ready,
    /// Between two attempts; so many failed.
    Pausing(u32),
    /// Ended because nobody used it; the next call wakes it.
    Resting,
    /// Given up for now.
    Parked,
    /// A person has to log in first.
    LoggedOut,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) phase: Phase,
    past: Past,
    /// Connections in a row that ended soon after they were made.
    short_lives: u32,
}

/// Whether the server ever answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    NeverReached,
    Reached,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Connected,
    /// An attempt failed.
    Failed(Failure),
    /// The connection is gone without anybody wishing it, after so long.
    Lost(Duration),
    /// Nobody used it, or it is old.
    Unused,
    /// A pause is over.
    Waited,
    /// A call needs it now.
    Wanted,
    /// Somebody has logged in.
    LoggedIn,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    Unreachable,
    Unauthorized,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    Connect,
    Serve,
    /// Try again after this long, or at once when a call needs it.
    Pause(Duration),
    /// The same with a long wait, which nobody is kept from anything by.
    Probe(Duration),
    /// The same, or until somebody has logged in.
    AwaitLogin(Duration),
    /// Wait until a call needs it.
    Rest,
}

/// What becomes of the tools meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tools {
    /// They can be called; a call may have to wait a little.
    Stay,
    Go,
}

impl Default for Life {
    fn default() -> Self {
        Self { phase: Phase::Connecting(0), past: Past::NeverReached, short_lives: 0 }
    }
}

impl Life {
    pub(crate) fn step(self) -> Step {
        match self.phase {
            Phase::Connecting(_) => Step::Connect,
            Phase::Ready => Step::Serve,
            Phase::Pausing(failures) => Step::Pause(pause(failures.saturating_add(self.short_lives))),
            Phase::Resting => Step::Rest,
            Phase::Parked => Step::Probe(PROBE),
            Phase::LoggedOut => Step::AwaitLogin(PROBE),
        }
    }

    #[must_use]
    pub(crate) fn after(self, event: Event) -> Self {
        let phase = match (self.phase, event) {
            (_, Event::Connected) => return Self { phase: Phase::Ready, past: Past::Reached, ..self },
            (Phase::Ready, Event::Lost(after)) => return self.lost(after),
            (_, Event::Failed(Failure::Unauthorized)) => Phase::LoggedOut,
            (Phase::Connecting(failures), Event::Failed(Failure::Unreachable)) if failures < self.retries() => {
                Phase::Pausing(failures + 1)
            }
            (_, Event::Failed(Failure::Unreachable)) => Phase::Parked,
            (Phase::Pausing(failures), Event::Waited | Event::Wanted) => Phase::Connecting(failures),
            // One attempt for whoever asks; where it fails, it is parked again.
            (Phase::Parked | Phase::LoggedOut, Event::Waited | Event::Wanted) => Phase::Connecting(self.retries()),
            (Phase::LoggedOut, Event::LoggedIn) => Phase::Connecting(0),
            (Phase::Resting, Event::Wanted) => Phase::Connecting(0),
            (Phase::Ready, Event::Unused) => Phase::Resting,
            (phase, Event::Lost(_) | Event::Unused | Event::Waited | Event::Wanted | Event::LoggedIn) => phase,
        };
        Self { phase, ..self }
    }

    /// One that served for a while, or was lost for the first time, is connected to again at once.
    fn lost(self, after: Duration) -> Self {
        if after >= SETTLED {
            return Self { phase: Phase::Connecting(0), short_lives: 0, ..self };
        }
        let phase = if self.short_lives == 0 { Phase::Connecting(0) } else { Phase::Pausing(0) };
        Self { phase, short_lives: self.short_lives.saturating_add(1), ..self }
    }

    /// Tools that were offered stay while there is hope, so that what models see does not move.
    pub(crate) fn tools(self) -> Tools {
        match self.phase {
            Phase::Parked | Phase::LoggedOut => Tools::Go,
            Phase::Connecting(failures) if failures >= self.retries() && failures > 0 => Tools::Go,
            Phase::Connecting(_) | Phase::Ready | Phase::Pausing(_) | Phase::Resting => Tools::Stay,
        }
    }

    fn retries(self) -> u32 {
        match self.past {
            Past::NeverReached => RETRIES_AT_START,
            Past::Reached => RETRIES_LATER,
        }
    }
}

/// One second, doubled with every failure.
fn pause(failures: u32) -> Duration {
    FIRST_PAUSE.saturating_mul(1_u32.checked_shl(failures.saturating_sub(1)).unwrap_or(u32::MAX)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Event::{Connected, Failed, LoggedIn, Unused, Waited, Wanted};
    use Failure::{Unauthorized, Unreachable};

    const DEAD: Event = Failed(Unreachable);
    const LOST: Event = Event::Lost(SETTLED);
    const CRASHED: Event = Event::Lost(Duration::from_secs(1));

    fn lived(events: &[Event]) -> Life {
        events.iter().fold(Life::default(), |life, event| life.after(*event))
    }

    #[test]
    fn lives_of_servers() {
        let secs = Duration::from_secs;
        let table: &[(&str, &[Event], Step, Tools)] = &[
            ("at first it is connected to", &[], Step::Connect, Tools::Stay),
            ("then it serves", &[Connected], Step::Serve, Tools::Stay),
            ("one that cannot be reached is tried again", &[DEAD], Step::Pause(secs(1)), Tools::Stay),
            ("after the pause", &[DEAD, Waited], Step::Connect, Tools::Stay),
            ("or as soon as it is needed", &[DEAD, Wanted], Step::Connect, Tools::Stay),
            ("with longer pauses", &[DEAD, Waited, DEAD, Waited, DEAD], Step::Pause(secs(4)), Tools::Stay),
            (
                "and parked in the end",
                &[DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD],
                Step::Probe(secs(300)),
                Tools::Go,
            ),
            ("one that was lost is connected to again at once", &[Connected, LOST], Step::Connect, Tools::Stay),
            (
                "and has more patience on its side",
                &[Connected, LOST, DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD],
                Step::Pause(secs(16)),
                Tools::Stay,
            ),
            ("one that dies young is connected to again at once", &[Connected, CRASHED], Step::Connect, Tools::Stay),
            (
                "one that dies young again and again has to wait, and its tools with it",
                &[Connected, CRASHED, Connected, CRASHED, Waited, Connected, CRASHED],
                Step::Pause(secs(4)),
                Tools::Stay,
            ),
            (
                "until it has served for a while",
                &[Connected, CRASHED, Connected, CRASHED, Waited, Connected, LOST],
                Step::Connect,
                Tools::Stay,
            ),
            ("a login that is missing is waited for", &[Failed(Unauthorized)], Step::AwaitLogin(secs(300)), Tools::Go),
            ("and looked for now and then", &[Failed(Unauthorized), Waited], Step::Connect, Tools::Go),
            ("one attempt at a time", &[Failed(Unauthorized), Waited, DEAD], Step::Probe(secs(300)), Tools::Go),
            ("or as soon as it is needed", &[Failed(Unauthorized), Wanted], Step::Connect, Tools::Go),
            (
                "once it is there it has all its patience",
                &[Failed(Unauthorized), LoggedIn, DEAD],
                Step::Pause(secs(1)),
                Tools::Stay,
            ),
            ("one that nobody uses rests, with its tools", &[Connected, Unused], Step::Rest, Tools::Stay),
            ("and is woken by a call", &[Connected, Unused, Wanted], Step::Connect, Tools::Stay),
            ("the end of one that rests is no loss", &[Connected, Unused, LOST], Step::Rest, Tools::Stay),
        ];
        for (story, events, step, tools) in table {
            let life = lived(events);
            assert_eq!((life.step(), life.tools()), (*step, *tools), "{story}");
        }
    }

    #[test]
    fn a_parked_server_comes_back_with_all_its_patience() {
        let parked = [DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD];
        let probed = [&parked[..], &[Waited]].concat();
        assert_eq!((lived(&probed).step(), lived(&probed).tools()), (Step::Connect, Tools::Go));
        assert_eq!(lived(&[&probed[..], &[DEAD]].concat()).phase, Phase::Parked, "one attempt, then parked again");
        let back = [&probed[..], &[Connected, LOST, DEAD]].concat();
        assert_eq!(lived(&back).phase, Phase::Pausing(1));
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        let pauses: Vec<u64> = (1..=9).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }
}
