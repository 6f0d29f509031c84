//! One question to the models of a conversation: attempts, recovery and fallback, until an answer or an honest fault.
//!
//! [`ask`] is the only place that retries. It takes the next step from [`plan`], tells the listener what it does, ends
//! every wait when stopped, and leaves the choice of provider in the [`Line`], which lasts as long as the conversation.

use crate::clock::Clock;
use crate::plan::{LONGEST_WAIT, Means, Step, Tries, plan};
use crate::ports::{Listener, Model, Recorder, Switchboard};
use crate::receipt::Receipt;
use crate::recording::Recording;
use crate::stop::Stop;
use crate::watch::{Limits, watch};
use futures_util::StreamExt;
use hermes_types::{
    Answered, BreakCause, CameBy, Concession, Delta, Event, Fault, FaultKind, Notice, Reply, Request, Scene,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// After leaving the person's choice for lack of quota, it is left alone this long, or as long as it asked for.
const REST_AFTER_LIMIT: Duration = Duration::from_secs(60);

/// What a call needs from the world.
pub struct Ports<'a> {
    pub switchboard: &'a dyn Switchboard,
    pub clock: &'a dyn Clock,
    pub listener: &'a dyn Listener,
    pub recorder: &'a dyn Recorder,
}

/// How a call is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Manner {
    /// Retries per provider.
    pub retries: u32,
    /// A person sees the words as they come, and nothing can take them back. An answer whose connection breaks off is
    /// therefore kept as it is. One that ends in a stall or an error has no end worth keeping and is asked for again;
    /// [`Notice::StartedOver`] then says that the words behind it are a new answer.
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
    /// Why the next request will not begin with the bytes of the last one.
    breaks: Option<BreakCause>,
    /// What led to the next attempt, for the record.
    came_by: CameBy,
    /// Whoever asks can make the conversation shorter, and wants to know when it is too long.
    can_shorten: bool,
    /// No attempt begins after this.
    until: Option<Duration>,
    /// What was counted for answers that broke off and were asked for again.
    in_vain: Vec<Receipt>,
    /// The window of this model, by its own word, where that is less than was known.
    window: Option<Learnt>,
}

/// A window that a refusal named.
#[derive(Debug, Clone, Copy)]
struct Learnt {
    tokens: u64,
    /// Nobody was told yet; that happens once an answer shows that the model is there.
    is_news: bool,
}

impl Line {
    pub fn begin_turn(&mut self, now: Duration) {
        if self.place > 0 && self.rests_until.is_none_or(|until| now >= until) {
            let in_vain = self.take_in_vain();
            *self = Self { calls: self.calls, breaks: Some(BreakCause::Fallback), in_vain, ..Self::default() };
        }
        self.until = None;
    }

    /// What is tried again is tried before this, or not at all.
    pub(crate) fn try_until(&mut self, until: Option<Duration>) {
        self.until = until;
    }

    /// What has to be paid for answers that nobody got, and to whom.
    pub fn take_in_vain(&mut self) -> Vec<Receipt> {
        std::mem::take(&mut self.in_vain)
    }

    /// Moves on to another place. Only the person's choice is come back to, so only it can be resting.
    fn leave_for(&mut self, place: usize, fault: &Fault, now: Duration) {
        let spent = matches!(fault.kind, FaultKind::RateLimit | FaultKind::UpstreamRateLimit | FaultKind::Billing);
        if self.place == 0 && spent {
            let rest = fault.retry_after.unwrap_or_default().max(REST_AFTER_LIMIT);
            self.rests_until = Some(now.saturating_add(rest));
        }
        self.place = place;
        self.window = None;
    }

    /// Whether a conversation that is too long comes back to whoever asked, before another provider is tried.
    pub(crate) fn can_shorten(&mut self, can: bool) {
        self.can_shorten = can;
    }

    pub(crate) fn shortens(&self) -> bool {
        self.can_shorten
    }

    /// The same model, for a question beside the conversation.
    pub(crate) fn aside(&self) -> Self {
        Self { place: self.place, model: self.model.clone(), conceded: self.conceded.clone(), ..Self::default() }
    }

    /// Whether the provider refused this, so that it is left out from now on.
    pub fn concedes(&self, concession: Concession) -> bool {
        self.conceded.contains(&concession)
    }

    /// The next request will not extend the last one, and this is why: whoever changes what was sent says so here.
    pub fn expect_break(&mut self, cause: BreakCause) {
        self.breaks = Some(cause);
    }

    /// The tokens the model in use can read and write in one go, as far as anybody knows by now.
    pub fn window(&self) -> Option<u64> {
        let stated = self.model.as_ref().map(|model| model.card().context_window);
        self.window.map(|learnt| learnt.tokens).or(stated)
    }

    /// Takes note of a window that a refusal named, if it is less than was known. Nothing is guessed.
    fn learn(&mut self, fault: &Fault) {
        if let (Some(tokens), Some(known)) = (fault.window, self.window())
            && tokens < known
        {
            self.window = Some(Learnt { tokens, is_news: true });
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
    // A long conversation outlives its login: what was opened for an earlier question is looked after once per question.
    let mut looked_after = false;
    loop {
        let opened = unless_stopped(stop, open(line, &mut looked_after, ports)).await?;
        let failure = match opened {
            Ok(model) => {
                request.model.clone_from(&model.card().model);
                request.concessions.clone_from(&tries.conceded);
                line.calls += 1;
                match attempt(&*model, Arc::new(request.clone()), line, manner, ports, stop).await {
                    Ok(reply) => {
                        ports.switchboard.answered(line.place);
                        if let Some(learnt) = line.window.as_mut().filter(|learnt| learnt.is_news) {
                            learnt.is_news = false;
                            ports.switchboard.learnt(line.place, learnt.tokens);
                        }
                        return Ok(reply);
                    }
                    Err(failure) => failure,
                }
            }
            Err(fault) => Failure { fault, during: During::Opening },
        };
        tries.attempts += 1;
        line.learn(&failure.fault);
        let told_in_part = failure.during == During::Answer;
        recover(failure, line, &mut tries, manner, roll(&mut dice), ports, stop).await?;
        if told_in_part {
            notice(ports, Notice::StartedOver);
        }
        line.conceded.clone_from(&tries.conceded);
    }
}

/// An attempt that came to nothing.
struct Failure {
    fault: Fault,
    during: During,
}

/// How far an attempt came.
#[derive(Clone, Copy, PartialEq, Eq)]
enum During {
    /// There was no model to ask: the place cannot be used, or its login could not be renewed just now. All its
    /// credentials were tried in that.
    Opening,
    Request,
    /// Part of the answer was told already.
    Answer,
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self { fault, during: During::Request }
    }
}

/// The model that the next question goes to, unless something happens to it.
pub(crate) async fn reach(line: &mut Line, ports: &Ports<'_>, stop: &Stop) -> Result<Arc<dyn Model>, Fault> {
    // Whoever asks looks after its login.
    unless_stopped(stop, open(line, &mut true, ports)).await?
}

/// The model of the line: opened on first use, looked after once for each question.
async fn open(line: &mut Line, looked_after: &mut bool, ports: &Ports<'_>) -> Result<Arc<dyn Model>, Fault> {
    let model = match line.model.clone() {
        Some(model) if *looked_after => model,
        Some(model) => {
            let kept = ports.switchboard.keep(line.place).await;
            kept.inspect_err(|_| line.model = None)?.unwrap_or(model)
        }
        None => ports.switchboard.open(line.place).await?.ok_or_else(nobody_left)?,
    };
    *looked_after = true;
    line.model = Some(model.clone());
    Ok(model)
}

/// One HTTP exchange, watched and recorded.
async fn attempt(
    model: &dyn Model,
    request: Arc<Request>,
    line: &mut Line,
    manner: Manner,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<Reply, Failure> {
    let card = model.card();
    let stale_after = model.stale_after(&request);
    let limits = Limits {
        first_byte_after: card.first_byte_after.unwrap_or(stale_after),
        stale_after,
        give_up_after: card.give_up_after,
    };
    let scene = Scene { place: line.place, came_by: std::mem::take(&mut line.came_by), ..Scene::default() };
    let mut recording = Recording::begin(ports.recorder, card, request.session.clone(), scene);
    let mut deltas = std::pin::pin!(watch(model.stream(request), limits, ports.clock, ports.listener));
    let (mut shown, began) = (false, ports.clock.elapsed());
    let failed = |fault, shown| Failure { fault, during: if shown { During::Answer } else { During::Request } };
    loop {
        let delta = tokio::select! {
            biased;
            () = stop.wait() => return Err(interrupted().into()),
            delta = deltas.next() => delta,
        };
        match delta {
            Some(Ok(Delta::Sent(sent))) => recording.sent(*sent, ports.clock.now().into(), line.breaks.take()),
            Some(Ok(Delta::Done(reply))) => {
                recording.answered(Answered::Reply(reply.clone()));
                if reply.cut_off && !(manner.live && shown) {
                    let took = ports.clock.elapsed().saturating_sub(began);
                    line.in_vain.extend(reply.usage.map(|usage| Receipt::of(model, usage, took)));
                    let fault = Fault::new(FaultKind::Timeout, "the answer broke off in the middle");
                    return Err(failed(fault, shown));
                }
                return Ok(*reply);
            }
            Some(Ok(Delta::Text(text))) => {
                shown = true;
                ports.listener.hear(Event::Text { text });
            }
            Some(Ok(Delta::Reasoning(text))) => ports.listener.hear(Event::Reasoning { text }),
            Some(Ok(Delta::ToolCallStarted(name))) => ports.listener.hear(Event::ToolCallStarted { name }),
            Some(Ok(Delta::Alive)) => {}
            over @ (Some(Err(_)) | None) => {
                let nothing = || Fault::new(FaultKind::EmptyStream, "the provider sent no answer");
                let fault = over.and_then(Result::err).unwrap_or_else(nothing);
                recording.answered(Answered::Fault(fault.clone()));
                return Err(failed(fault, shown));
            }
        }
    }
}

/// Takes the step that [`plan`] names, or returns the fault when there is none left.
async fn recover(
    failure: Failure,
    line: &mut Line,
    tries: &mut Tries,
    manner: Manner,
    chance: f64,
    ports: &Ports<'_>,
    stop: &Stop,
) -> Result<(), Fault> {
    let Failure { mut fault, during } = failure;
    let asked = during != During::Opening;
    let mut means = Means {
        retries: manner.retries,
        refresh: asked,
        rotate: asked,
        compress: line.can_shorten,
        next_provider: true,
    };
    let mut unusable = Vec::new();
    // A means that turns out not to exist is struck off and the plan is made again, so this ends.
    loop {
        let step = plan(&fault, tries, &means, chance);
        let pause = if let Step::Retry(pause) = step { pause } else { Duration::ZERO };
        if step != Step::GiveUp && line.until.is_some_and(|until| ports.clock.elapsed().saturating_add(pause) >= until)
        {
            fault.message.push_str(" (the time of the turn does not allow another try)");
            return Err(in_full(fault, &unusable));
        }
        match step {
            Step::Retry(delay) => {
                let delay_ms = u64::try_from(delay.as_millis()).unwrap_or(u64::MAX);
                let (attempt, kind, message) = (tries.retries + 1, fault.kind, fault.message.clone());
                notice(ports, Notice::Retrying { attempt, delay_ms, kind, message });
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
            Step::Concede(concession) => {
                line.expect_break(BreakCause::Concession);
                notice(ports, Notice::Conceded { concession });
            }
            Step::NextProvider => match unless_stopped(stop, next_provider(line.place, ports)).await? {
                Ok((place, model)) => fall_back(line, place, model, &fault, ports),
                Err(reasons) => {
                    means.next_provider = false;
                    unusable = reasons;
                    continue;
                }
            },
            Step::Compress | Step::GiveUp => return Err(in_full(fault, &unusable)),
        }
        tries.took(step, &fault);
        line.came_by = came_by(step);
        return Ok(());
    }
}

fn came_by(step: Step) -> CameBy {
    match step {
        Step::Retry(_) => CameBy::Retry,
        Step::Refresh => CameBy::Refresh,
        Step::Rotate => CameBy::Rotation,
        Step::Concede(_) => CameBy::Concession,
        Step::NextProvider => CameBy::Fallback,
        Step::Compress | Step::GiveUp => CameBy::Question,
    }
}

/// The model at `place` takes over for this turn, and everybody hears who answers now.
fn fall_back(line: &mut Line, place: usize, model: Arc<dyn Model>, fault: &Fault, ports: &Ports<'_>) {
    line.leave_for(place, fault, ports.clock.elapsed());
    line.expect_break(BreakCause::Fallback);
    let (provider, name) = (model.card().provider.clone(), model.card().model.clone());
    let (kind, message) = (fault.kind, fault.message.clone());
    notice(ports, Notice::FellBack { provider, model: name, kind, message });
    line.model = Some(model);
}

/// Leaves the model in use for the next one, for this turn, because of what it said. False when there is none.
pub async fn leave(line: &mut Line, fault: &Fault, ports: &Ports<'_>, stop: &Stop) -> Result<bool, Fault> {
    match unless_stopped(stop, next_provider(line.place, ports)).await? {
        Ok((place, model)) => {
            fall_back(line, place, model, fault, ports);
            Ok(true)
        }
        Err(_unusable) => Ok(false),
    }
}

/// The next usable place behind `place`, or why each of those behind it cannot be used.
async fn next_provider(mut place: usize, ports: &Ports<'_>) -> Result<(usize, Arc<dyn Model>), Vec<(usize, Fault)>> {
    let mut unusable = Vec::new();
    loop {
        place += 1;
        match ports.switchboard.open(place).await {
            Ok(Some(model)) => return Ok((place, model)),
            Ok(None) => return Err(unusable),
            Err(why) => unusable.push((place, why)),
        }
    }
}

/// The fault with all a person has to know: for how long nobody waited, and why no fallback stepped in.
fn in_full(mut fault: Fault, unusable: &[(usize, Fault)]) -> Fault {
    if let Some(wait) = fault.retry_after.filter(|wait| *wait > LONGEST_WAIT) {
        let minutes = wait.as_secs().div_ceil(60);
        let span = match (minutes / 1440, minutes / 60 % 24, minutes % 60) {
            (0, 0, minutes) => format!("{minutes} min"),
            (0, hours, minutes) => format!("{hours} h {minutes} min"),
            (days, hours, _) => format!("{days} d {hours} h"),
        };
        fault.message.push_str(&format!(" (it asks to wait {span})"));
    }
    for (place, why) in unusable {
        fault.message.push_str(&format!("; fallback {place} cannot step in: {}", why.message));
    }
    fault
}

async fn unless_stopped<T>(stop: &Stop, work: impl Future<Output = T>) -> Result<T, Fault> {
    tokio::select! {
        biased;
        () = stop.wait() => Err(interrupted()),
        done = work => Ok(done),
    }
}

fn nobody_left() -> Fault {
    Fault::new(FaultKind::NotConfigured, "no provider is left to ask")
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
