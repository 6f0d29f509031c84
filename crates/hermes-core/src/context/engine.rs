//! The two engines: one that keeps the thread, and one that only cuts.

use super::assemble::{Digest, assembled, is_said, is_summary, pins_in, plan_in};
use super::pins::{self, Pin};
use super::{
    Compressed, Declined, Engine, Job, Material, Phase, Scribe, Trigger, boundary, fallback, mask, rest, summary,
    weight,
};
use futures_util::future::BoxFuture;
use hermes_types::{Fault, FaultKind, Message};
use std::sync::Arc;

/// A pass that saves less than one part in so many is not worth its broken cache.
const LEAST_SAVING: u64 = 10;

/// Prunes first, summarises only if that does not suffice.
#[derive(Debug, Clone, Copy, Default)]
pub struct Compressor;

/// Leaves out the oldest messages, and asks nobody.
#[derive(Debug, Clone, Copy, Default)]
pub struct Truncator;

impl Engine for Compressor {
    fn name(&self) -> &'static str {
        "compressor"
    }

    fn compress<'a>(&'a self, job: Job<'a>, scribe: &'a dyn Scribe) -> BoxFuture<'a, Result<Compressed, Declined>> {
        Box::pin(compress(job, scribe))
    }
}

impl Engine for Truncator {
    fn name(&self) -> &'static str {
        "truncator"
    }

    fn compress<'a>(&'a self, job: Job<'a>, _scribe: &'a dyn Scribe) -> BoxFuture<'a, Result<Compressed, Declined>> {
        Box::pin(std::future::ready(truncate(&job)))
    }
}

async fn compress(job: Job<'_>, scribe: &dyn Scribe) -> Result<Compressed, Declined> {
    let tail_in = |room| {
        let room = job.meter.as_estimated(room);
        boundary::tail(job.history, room, job.policy.protect_last, job.sent)
    };
    let pruned = mask::pruned(job.history, tail_in(job.room.fresh), job.rows);
    let just_pruned =
        Compressed { history: pruned, phase: Phase::Prune, model: None, warning: None, notes: Vec::new() };
    let would_use = job.would_use(&just_pruned.history);
    // Who asks for it wants a summary; for everybody else a model is asked only where it takes one.
    let wants_summary = job.trigger == Trigger::Manual;
    if !wants_summary && would_use <= job.room.goal && would_use < job.meter.used() {
        return Ok(just_pruned);
    }
    let tail_at = tail_in(job.room.tail);
    match summarised(&job, tail_at, &mask::pruned(job.history, tail_at, job.rows), scribe).await {
        Ok(shorter) if job.is_worth_it(&shorter.history) => Ok(shorter),
        // A summary that is longer than what it stands for has failed; what pruning saved is saved all the same.
        Ok(_) if job.is_worth_it(&just_pruned.history) => Ok(just_pruned),
        Ok(_) => Err(Declined::NothingToLeaveOut),
        Err(Declined::Interrupted) => Err(Declined::Interrupted),
        Err(why) if job.is_worth_it(&just_pruned.history) => {
            Ok(Compressed { warning: Some(why.to_string()), ..just_pruned })
        }
        Err(why) => Err(why),
    }
}

async fn summarised(
    job: &Job<'_>,
    tail_at: usize,
    pruned: &[Arc<Message>],
    scribe: &dyn Scribe,
) -> Result<Compressed, Declined> {
    let cut = Cut::of(job, tail_at)?;
    let pins = cut.pins(job)?;
    let material = Material::of(job, cut.head, cut.tail);
    let asked = match job.resting {
        // Somewhere there is room left: a good summary later is better than a poor one now.
        Some(left) if job.trigger.is_patient() => return Err(Declined::Resting { seconds: left.as_secs() }),
        Some(left) => Err(Fault::new(FaultKind::Unknown, Declined::Resting { seconds: left.as_secs() }.to_string())),
        None => scribe.summarise(material).await,
    };
    let taken = asked.map(|reply| (summary::taken(&reply, job.room.summary), reply.model));
    let ((text, notes), phase, model, warning) = match taken {
        Ok((Some(told), model)) => (told, Phase::Summary, model, None),
        Err(fault) if fault.kind == FaultKind::Interrupted => return Err(Declined::Interrupted),
        failed => {
            let fault = failed.err().unwrap_or_else(|| Fault::new(FaultKind::EmptyStream, "the model wrote nothing"));
            let why = fault.message;
            if job.policy.abort_on_failure || (rest::is_hopeless(fault.kind) && job.trigger.is_patient()) {
                return Err(Declined::NoSummary(why));
            }
            let middle = between(pruned, cut.head, cut.tail);
            ((fallback::summary(middle), Vec::new()), Phase::Fallback, None, Some(why))
        }
    };
    let digest = Digest { pins, plan: cut.plan(job), text };
    let history = assembled(between(pruned, 0, cut.head), digest, cut.request, between(pruned, cut.tail, pruned.len()));
    Ok(Compressed { history, phase, model, warning, notes })
}

fn truncate(job: &Job<'_>) -> Result<Compressed, Declined> {
    let room = job.meter.as_estimated(job.room.goal.saturating_sub(job.meter.fixed()));
    let tail_at = boundary::tail(job.history, room, job.history.len(), job.sent);
    let cut = Cut::behind(job, 0, tail_at)?;
    let digest = Digest { pins: cut.pins(job)?, plan: cut.plan(job), text: String::new() };
    let history = assembled(&[], digest, cut.request, between(job.history, cut.tail, job.history.len()));
    if !job.is_worth_it(&history) {
        return Err(Declined::NothingToLeaveOut);
    }
    Ok(Compressed { history, phase: Phase::Truncate, model: None, warning: None, notes: Vec::new() })
}

/// How a history is divided.
struct Cut {
    /// The head ends here.
    head: usize,
    /// The tail begins here.
    tail: usize,
    /// The newest request of the person, where it is in the middle and has to be said again.
    request: Option<Arc<Message>>,
}

impl Cut {
    fn of(job: &Job<'_>, tail: usize) -> Result<Self, Declined> {
        let asked_at = job.history.iter().rposition(|message| is_said(message));
        let head = boundary::head(job.history, job.policy.protect_first, tail);
        // Early messages are protected once; later they would fossilise, unless the newest request is among them.
        let is_first_time = !job.history.iter().any(|message| is_summary(message));
        let head = if is_first_time || asked_at.is_some_and(|at| at < head) { head } else { 0 };
        Self::behind(job, head, tail)
    }

    fn behind(job: &Job<'_>, head: usize, tail: usize) -> Result<Self, Declined> {
        if head >= tail {
            return Err(if tail == 0 { Declined::NewestFillTheRoom } else { Declined::NothingToLeaveOut });
        }
        let asked_at = job.history.iter().rposition(|message| is_said(message));
        let in_the_middle = asked_at.filter(|at| (head..tail).contains(at));
        let request = in_the_middle.and_then(|at| job.history.get(at)).cloned();
        Ok(Self { head, tail, request })
    }

    /// What the person said in the middle, as much of it as there is room for. The newest request is said anew anyway.
    fn pins(&self, job: &Job<'_>) -> Result<Vec<Pin>, Declined> {
        let middle = between(job.history, self.head, self.tail);
        let carried = middle.iter().flat_map(|message| pins_in(message));
        let is_request =
            |message: &Arc<Message>| self.request.as_ref().is_some_and(|request| Arc::ptr_eq(request, message));
        let said = middle.iter().filter(|message| !is_request(message)).flat_map(|message| pins::of(message));
        let all: Vec<Pin> = carried.chain(said).collect();
        let room = job.meter.as_estimated(job.room.tail);
        if pins::weight_of_rules(&all) > room {
            return Err(Declined::WordsFillTheRoom);
        }
        Ok(pins::fitting(all, room))
    }

    /// The newest plan, where the tail does not tell it.
    fn plan(&self, job: &Job<'_>) -> Option<String> {
        let tail = between(job.history, self.tail, job.history.len());
        if tail.iter().any(|message| plan_in(message).is_some()) {
            return None;
        }
        between(job.history, 0, self.tail).iter().rev().find_map(|message| plan_in(message))
    }
}

fn between(history: &[Arc<Message>], from: usize, upto: usize) -> &[Arc<Message>] {
    history.get(from..upto).unwrap_or_default()
}

impl Job<'_> {
    /// What the next request would take up with this history.
    fn would_use(&self, history: &[Arc<Message>]) -> u64 {
        let (before, after) = (weight::of_all(self.history), weight::of_all(history));
        self.meter.used().saturating_sub(self.meter.as_counted(before.saturating_sub(after)))
    }

    /// Whether enough is saved. Where it was too long for the provider, or the person wants it, shorter is enough.
    fn is_worth_it(&self, history: &[Arc<Message>]) -> bool {
        let used = self.meter.used();
        let saved = used.saturating_sub(self.would_use(history));
        saved
            > match self.trigger {
                Trigger::Threshold => used / LEAST_SAVING,
                Trigger::Overflow | Trigger::Manual | Trigger::Hygiene => 0,
            }
    }
}
