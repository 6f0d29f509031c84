//! The life of a connection as a pure function: what happened, and what to do next.
//!
//! A server that cannot be reached is tried again with growing pauses; when that leads nowhere it is parked: its tools are
//! taken away, and now and then, or when somebody asks, one more attempt is made. A login that is missing is never tried
//! again by itself. A program that was ended because nobody used it rests: its tools stay, and the next call wakes it.

use std::time::Duration;

/// Attempts after the first one, before a server is parked.
const RETRIES_AT_START: u32 = 3;
const RETRIES_LATER: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// How often a parked server is tried again without being asked for.
const PROBE: Duration = Duration::from_secs(300);

/// Where a connection stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
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
pub struct Life {
    pub phase: Phase,
    past: Past,
}

/// Whether the server ever answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Past {
    NeverReached,
    Reached,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Connected,
    /// An attempt failed.
    Failed(Failure),
    /// The connection is gone without anybody wishing it.
    Lost,
    /// Nobody used it, or it is old.
    Unused,
    /// A pause is over.
    Waited,
    /// A call needs it now.
    Wanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    Unreachable,
    Unauthorized,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    Connect,
    Serve,
    /// Try again after this long, or at once when a call needs it.
    Pause(Duration),
    /// The same with a long wait, which nobody is kept from anything by.
    Probe(Duration),
    /// Wait until a call needs it.
    Rest,
}

/// What becomes of the tools meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tools {
    /// They can be called; a call may have to wait a little.
    Stay,
    Go,
}

impl Default for Life {
    fn default() -> Self {
        Self { phase: Phase::Connecting(0), past: Past::NeverReached }
    }
}

impl Life {
    pub fn step(self) -> Step {
        match self.phase {
            Phase::Connecting(_) => Step::Connect,
            Phase::Ready => Step::Serve,
            Phase::Pausing(failures) => Step::Pause(pause(failures)),
            Phase::Resting | Phase::LoggedOut => Step::Rest,
            Phase::Parked => Step::Probe(PROBE),
        }
    }

    #[must_use]
    pub fn after(self, event: Event) -> Self {
        let phase = match (self.phase, event) {
            (_, Event::Connected) => return Self { phase: Phase::Ready, past: Past::Reached },
            (_, Event::Failed(Failure::Unauthorized)) => Phase::LoggedOut,
            (Phase::Connecting(failures), Event::Failed(Failure::Unreachable)) if failures < self.retries() => {
                Phase::Pausing(failures + 1)
            }
            (_, Event::Failed(Failure::Unreachable)) => Phase::Parked,
            (Phase::Pausing(failures), Event::Waited | Event::Wanted) => Phase::Connecting(failures),
            // One attempt for whoever asks; where it fails, it is parked again.
            (Phase::Parked, Event::Waited | Event::Wanted) => Phase::Connecting(self.retries()),
            (Phase::LoggedOut, Event::Wanted) => Phase::Connecting(self.retries()),
            (Phase::Resting, Event::Wanted) => Phase::Connecting(0),
            (Phase::Ready, Event::Lost) => Phase::Connecting(0),
            (Phase::Ready, Event::Unused) => Phase::Resting,
            (phase, Event::Lost | Event::Unused | Event::Waited | Event::Wanted) => phase,
        };
        Self { phase, ..self }
    }

    /// Tools that were offered stay while there is hope, so that what models see does not move.
    pub fn tools(self) -> Tools {
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
    use Event::{Connected, Failed, Lost, Unused, Waited, Wanted};
    use Failure::{Unauthorized, Unreachable};

    const DEAD: Event = Failed(Unreachable);

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
            ("one that was lost is connected to again at once", &[Connected, Lost], Step::Connect, Tools::Stay),
            (
                "and has more patience on its side",
                &[Connected, Lost, DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD, Waited, DEAD],
                Step::Pause(secs(16)),
                Tools::Stay,
            ),
            ("a login that is missing is not tried again", &[Failed(Unauthorized)], Step::Rest, Tools::Go),
            ("until it is needed", &[Failed(Unauthorized), Wanted], Step::Connect, Tools::Go),
            ("one that nobody uses rests, with its tools", &[Connected, Unused], Step::Rest, Tools::Stay),
            ("and is woken by a call", &[Connected, Unused, Wanted], Step::Connect, Tools::Stay),
            ("the end of one that rests is no loss", &[Connected, Unused, Lost], Step::Rest, Tools::Stay),
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
        let back = [&probed[..], &[Connected, Lost, DEAD]].concat();
        assert_eq!(lived(&back).phase, Phase::Pausing(1));
    }

    #[test]
    fn pauses_grow_to_a_minute() {
        let pauses: Vec<u64> = (1..=9).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 60]);
        assert_eq!(pause(u32::MAX), LONGEST_PAUSE);
    }
}
