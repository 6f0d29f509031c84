//! One question to the models of a conversation: attempts, recovery and fallback, until an answer or an honest fault.
//!
//! [`ask`] is the only place that retries. It takes the next step from [`plan`], tells the listener what it does, ends
//! every wait when stopped, and leaves the choice of provider in the [`Line`], which lasts as long as the conversation.

use crate::clock::Clock;
use crate::plan::{Means, Step, Tries, plan};
use crate::ports::{Listener, Model, Switchboard};
use crate::stop::Stop;
use crate::watch::{Limits, watch};
use futures_util::StreamExt;
use hermes_types::{Concession, Delta, Event, Fault, FaultKind, Notice, Reply, Request};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// After leaving the person's choice for lack of quota, it is left alone this long.
const REST_AFTER_LIMIT: Duration = Duration::from_secs(60);

/// What a call needs from the world.
pub struct Ports<'a> {
    pub switchboard: &'a dyn Switchboard,
    pub clock: &'a dyn Clock,
    pub listener: &'a dyn Listener,
}

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Retries per provider.
    pub retries: u32,
    /// A person sees the words as they come: an answer that breaks off is then kept, not silently begun again.
    pub live: bool,
    /// Makes the spread of pauses repeatable.
    pub seed: u64,
}

/// Which model the conversation talks to. Fallback lasts for a turn; the next turn begins with the person's choice
/// again, unless that one is still resting.
#[derive(Default)]
pub struct Line {
    place: usize,
    model: Option<Arc<dyn Model>>,
    rests_until: Option<Duration>,
    /// What this model refused before; asking for it again would cost an attempt and the prompt cache each time.
    conceded: BTreeSet<Concession>,
    calls: u64,
}

impl Line {
    pub fn begin_turn(&mut self, now: Duration) {
        if self.place > 0 && self.rests_until.is_none_or(|until| now >= until) {
            *self = Self { calls: self.calls, ..Self::default() };
        }
    }

    /// Attempts so far, those that failed included.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// The model in use, once a call has opened it.
    pub fn model(&self) -> Option<&Arc<dyn Model>> {
        self.model.as_ref()
    }
}

/// Asks until there is an answer or nothing more to try.
pub async fn ask(
    mut request: Request,
    line: &mut Line,
    manner: Manner,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<Reply, Fault> {
    let mut tries = Tries { conceded: line.conceded.clone(), ..Tries::default() };
    let mut dice = manner.seed;
    loop {
        let model = current(line, ports, stop).await?;
        request.model.clone_from(&model.card().model);
        request.concessions.clone_from(&tries.conceded);
        line.calls += 1;
        let fault = match attempt(&*model, Arc::new(request.clone()), manner, ports, stop).await {
            Ok(reply) => return Ok(reply),
            Err(fault) => fault,
        };
        tries.attempts += 1;
        recover(fault, line, &mut tries, manner, roll(&mut dice), ports, stop).await?;
        line.conceded.clone_from(&tries.conceded);
    }
}

/// The model of the line, opened on first use. Places that cannot be used are passed over.
async fn current(line: &mut Line, ports: &Ports<'_>, stop: &Stop) -> Result<Arc<dyn Model>, Fault> {
    let mut refused = None;
    loop {
        if let Some(model) = &line.model {
            return Ok(model.clone());
        }
        match unless_stopped(stop, ports.switchboard.open(line.place)).await? {
            Ok(Some(model)) => line.model = Some(model),
            Ok(None) => {
                return Err(refused.unwrap_or_else(|| Fault::new(FaultKind::Unknown, "no provider is left to ask")));
            }
            // The fault of the person's own choice is the one worth reporting.
            Err(fault) => {
                refused.get_or_insert(fault);
                line.place += 1;
            }
        }
    }
}

/// One HTTP exchange, watched.
async fn attempt(
    model: &dyn Model,
    request: Arc<Request>,
    manner: Manner,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<Reply, Fault> {
    let card = model.card();
    let stale_after = model.stale_after(&request);
    let limits = Limits {
        first_byte_after: card.first_byte_after.unwrap_or(stale_after),
        stale_after,
        give_up_after: card.give_up_after,
    };
    let mut deltas = std::pin::pin!(watch(model.stream(request), limits, ports.clock, ports.listener));
    let mut shown = false;
    loop {
        let delta = tokio::select! {
            biased;
            () = stop.wait() => return Err(interrupted()),
            delta = deltas.next() => delta,
        };
        match delta {
            Some(Ok(Delta::Done(reply))) if reply.cut_off && !(manner.live && shown) => {
                return Err(Fault::new(FaultKind::Timeout, "the answer broke off in the middle"));
            }
            Some(Ok(Delta::Done(reply))) => return Ok(*reply),
            Some(Ok(Delta::Text(text))) => {
                shown = true;
                ports.listener.hear(Event::Text { text });
            }
            Some(Ok(Delta::Reasoning(text))) => ports.listener.hear(Event::Reasoning { text }),
            Some(Ok(Delta::ToolCallStarted(name))) => ports.listener.hear(Event::ToolCallStarted { name }),
            Some(Ok(Delta::Alive)) => {}
            Some(Err(fault)) => return Err(fault),
            None => return Err(Fault::new(FaultKind::EmptyStream, "the provider sent no answer")),
        }
    }
}

/// Takes the step that [`plan`] names, or returns the fault when there is none left.
async fn recover(
    mut fault: Fault,
    line: &mut Line,
    tries: &mut Tries,
    manner: Manner,
    chance: f64,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<(), Fault> {
    let mut means =
        Means { retries: manner.retries, refresh: true, rotate: true, compress: false, next_provider: true };
    // A means that turns out not to exist is struck off and the plan is made again, so this ends.
    loop {
        let step = plan(&fault, tries, &means, chance);
        match step {
            Step::Retry(delay) => {
                notice(
                    ports,
                    Notice::Retrying {
                        attempt: tries.retries + 1,
                        delay_ms: u64::try_from(delay.as_millis()).unwrap_or(u64::MAX),
                        kind: fault.kind,
                        message: fault.message.clone(),
                    },
                );
                unless_stopped(stop, ports.clock.pause(delay)).await?;
            }
            Step::Refresh => {
                match unless_stopped(stop, ports.switchboard.refresh(line.place, &fault)).await? {
                    Ok(Some(model)) => line.model = Some(model),
                    Ok(None) => {
                        means.refresh = false;
                        continue;
                    }
                    // Why the login cannot be renewed is what the person has to know.
                    Err(why) => {
                        means.refresh = false;
                        fault = why;
                        continue;
                    }
                }
                notice(ports, Notice::Refreshed);
            }
            Step::Rotate => match unless_stopped(stop, ports.switchboard.rotate(line.place, &fault)).await? {
                Some(model) => {
                    line.model = Some(model);
                    notice(ports, Notice::Rotated { kind: fault.kind });
                }
                None => {
                    means.rotate = false;
                    continue;
                }
            },
            Step::Concede(concession) => notice(ports, Notice::Conceded { concession }),
            Step::NextProvider => match next_provider(line, ports, stop).await? {
                Some(model) => {
                    if matches!(fault.kind, FaultKind::RateLimit | FaultKind::UpstreamRateLimit | FaultKind::Billing) {
                        line.rests_until = Some(ports.clock.elapsed() + REST_AFTER_LIMIT);
                    }
                    let card = model.card();
                    let (provider, model_name) = (card.provider.clone(), card.model.clone());
                    let message = fault.message.clone();
                    notice(ports, Notice::FellBack { provider, model: model_name, kind: fault.kind, message });
                    line.model = Some(model);
                }
                None => {
                    means.next_provider = false;
                    continue;
                }
            },
            Step::Compress | Step::GiveUp => return Err(fault),
        }
        tries.took(step, &fault);
        return Ok(());
    }
}

/// The next usable place behind the current one. The line moves only when there is one.
async fn next_provider(line: &mut Line, ports: &Ports<'_>, stop: &Stop) -> Result<Option<Arc<dyn Model>>, Fault> {
    let mut place = line.place;
    loop {
        place += 1;
        match unless_stopped(stop, ports.switchboard.open(place)).await? {
            Ok(Some(model)) => {
                line.place = place;
                return Ok(Some(model));
            }
            Ok(None) => return Ok(None),
            Err(_) => {} // this one cannot be used; the one behind it may
        }
    }
}

async fn unless_stopped<T>(stop: &Stop, work: impl Future<Output = T>) -> Result<T, Fault> {
    tokio::select! {
        biased;
        () = stop.wait() => Err(interrupted()),
        done = work => Ok(done),
    }
}

fn interrupted() -> Fault {
    Fault::new(FaultKind::Interrupted, "interrupted")
}

fn notice(ports: &Ports<'_>, notice: Notice) {
    ports.listener.hear(Event::Notice { notice });
}

/// A number in 0..1 from a seed (SplitMix64): good enough to spread pauses, and repeatable.
fn roll(seed: &mut u64) -> f64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut bits = *seed;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((bits ^ (bits >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}
