//! One wave: the gate in order, then everything side by side, then the results in order.

use super::guardrail::Seen;
use super::read::{Candidate, Read, State};
use super::telling;
use super::{Disposition, Finished, Status};
use super::{Hands, Reader, frame, sanitise};
use crate::attic;
use crate::desk::Desk;
use crate::effects::{Access, Effects};
use crate::gate::{Permit, Wish};
use crate::tool::{Afterword, Card, Output, Source, ToolError};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use hermes_core::prompt::steer::defang;
use hermes_core::stop::Stop;
use hermes_types::{Content, Event, Object, ToolCall};
use serde_json::{Value, json};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio_util::task::AbortOnDropHandle;

/// As many calls run at the same time.
const SIDE_BY_SIDE: usize = 8;
/// After an interrupt a tool has this long to end by itself and say what became of it.
const GRACE: Duration = Duration::from_secs(3);

const UNJUDGED: &str = "BLOCKED: the call could not be judged, so it does not run. Say it in a simpler way.";

/// Hears of a call before it has any effect, and of its end.
pub trait Witness: Send + Sync {
    /// What it returns an error for does not run.
    fn begins<'a>(&'a self, call: &'a ToolCall, effects: &'a Effects) -> BoxFuture<'a, Result<(), String>>;

    /// Every call ends, also one that never began. The last word about a call counts: when all results of a reply are
    /// too long together, those that were shortened are told once more as the model will read them.
    fn ended<'a>(&'a self, finished: &'a Finished) -> BoxFuture<'a, Result<(), String>>;
}

/// Nobody keeps a record.
#[derive(Debug, Clone, Copy, Default)]
pub struct Untold;

impl Witness for Untold {
    fn begins<'a>(&'a self, _call: &'a ToolCall, _effects: &'a Effects) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn ended<'a>(&'a self, _finished: &'a Finished) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A call that ended before it began, and what a person is told of it.
pub(super) struct Unbegun {
    finished: Finished,
    afterword: Afterword,
}

impl From<Finished> for Unbegun {
    fn from(finished: Finished) -> Self {
        Self { afterword: telling::failure(&finished), finished }
    }
}

/// How the work of one call ended.
enum End {
    Gave(Result<Output, ToolError>),
    Panicked(String),
    TimedOut(Duration),
    Cancelled,
    /// It was cut off, and said in its own words how far it had come.
    CutShort(Status, Result<Output, ToolError>),
}

impl Hands {
    /// Runs calls that get along. The reason to end the turn comes beside their results, when there is one.
    pub(super) async fn run_wave(
        &self,
        wave: Vec<Read>,
        desk: &Arc<Desk>,
        witness: &dyn Witness,
        stop: &Stop,
    ) -> (Vec<Finished>, Option<String>) {
        let seats = Arc::new(Semaphore::new(SIDE_BY_SIDE));
        let mut running = FuturesUnordered::new();
        let mut results: Vec<Option<Finished>> = Vec::new();
        let mut abort = None;
        for (place, read) in wave.into_iter().enumerate() {
            results.push(None);
            let settled = match read.state {
                State::Ended(finished) => finished.into(),
                State::Abort(reason) => {
                    abort = Some(reason);
                    Finished::skipped(&read.call).into()
                }
                State::Ready(_) if abort.is_some() || stop.stopped() => Finished::skipped(&read.call).into(),
                State::Ready(candidate) => match self.admit(&read.call, *candidate, desk, witness, stop).await {
                    Ok((candidate, permit)) => {
                        let work = self.work(read.call, read.shown, candidate, permit, seats.clone(), stop.clone());
                        running.push(async move { (place, work.await) });
                        continue;
                    }
                    Err(refused) => refused,
                },
            };
            let mut finished = self.unbegun(settled, read.shown.as_ref(), desk).await;
            finished.content = frame::unmarked(finished.content);
            abort = abort.or(tell(witness, &finished).await);
            put(&mut results, place, finished);
        }
        while let Some((place, (finished, reason))) = running.next().await {
            abort = abort.or(reason).or(tell(witness, &finished).await);
            put(&mut results, place, finished);
        }
        (results.into_iter().flatten().collect(), abort)
    }

    /// The end of a call that nobody saw begin; that it will not is news all the same.
    pub(super) async fn unbegun(&self, settled: Unbegun, shown: Option<&Object>, desk: &Desk) -> Finished {
        let Unbegun { finished, afterword } = settled;
        let cover = desk.settings().cover;
        desk.listener.hear(telling::ended(&finished, telling::about(shown, cover), afterword, cover));
        self.conclude(finished, shown, desk).await
    }

    /// Guardrail, gate and witness: everything between a call and its first effect.
    async fn admit(
        &self,
        call: &ToolCall,
        mut candidate: Candidate,
        desk: &Arc<Desk>,
        witness: &dyn Witness,
        stop: &Stop,
    ) -> Result<(Candidate, Permit), Unbegun> {
        let refused = |status, content: Value, note| Unbegun {
            finished: Finished::refused(call, status, content.to_string()),
            afterword: Afterword { note, ..Afterword::default() },
        };
        let blocked = |content, note: &str| refused(Status::Blocked, content, Some(note.to_owned()));
        let guardrails = &desk.settings().run.guardrails;
        if let Some(reason) = desk.guardrail.before(candidate.seen(), guardrails) {
            return Err(blocked(json!({ "error": reason }), "it goes round in circles"));
        }
        let effects = std::mem::take(&mut candidate.prepared.effects);
        let tool: &str = &candidate.entry.card.name;
        let wanted = candidate.wanted.take();
        let channel = desk.face().channel();
        let wish = Wish { tool, session: &desk.session, channel, effects, arguments: &candidate.canonical, wanted };
        let permit = match AssertUnwindSafe(desk.shop.gate.admit(wish, stop)).catch_unwind().await {
            Ok(Ok(permit)) => permit,
            Ok(Err(refusal)) => {
                let content = candidate.entry.tool.refused(&refusal);
                return Err(refused(refusal.status(), content, refusal.to_person()));
            }
            Err(_) => {
                let content = json!({ "error": UNJUDGED, "status": "blocked" });
                return Err(blocked(content, "it could not be judged"));
            }
        };
        if let Err(reason) = witness.begins(call, permit.effects()).await {
            let error = format!("not run, because it could not be recorded: {reason}");
            return Err(blocked(json!({ "error": error }), "it could not be recorded"));
        }
        desk.about_to_run(tool, permit.effects()).await;
        Ok((candidate, permit))
    }

    /// Runs one call to its one end.
    async fn work(
        &self,
        call: ToolCall,
        shown: Option<Object>,
        candidate: Candidate,
        permit: Permit,
        seats: Arc<Semaphore>,
        stop: Stop,
    ) -> (Finished, Option<String>) {
        let Candidate { entry, canonical, cx, prepared, .. } = candidate;
        let desk = cx.desk.clone();
        let source = source_of(&permit, &entry.card, &desk);
        if source == Source::Strangers {
            self.heard_strangers.store(true, Ordering::Relaxed);
        }
        let clock = desk.shop.clock.clone();
        let _seat = seats.acquire().await;
        let began = clock.elapsed();
        let about = telling::about(shown.as_ref(), desk.settings().cover);
        desk.listener.hear(Event::ToolStarted { call_id: call.id.clone(), name: call.function.name.clone(), about });
        // A turn that is dropped takes its calls with it.
        let task = AbortOnDropHandle::new(tokio::spawn((prepared.run)(permit, cx.clone())));
        let end = wait(task, prepared.limit, &cx.stop, &stop, &*clock).await;
        let (status, disposition, content, abort) = end.told(&call.function.name);
        let name = call.function.name.clone();
        let took = clock.elapsed().saturating_sub(began);
        let finished = Finished { call: call.id, name, content, status, disposition, took };
        let afterword = match status {
            Status::Done => entry.tool.afterword(&finished.content.text()),
            _ => telling::failure(&finished),
        };
        // What it is about was told when it began.
        desk.listener.hear(telling::ended(&finished, String::new(), afterword, desk.settings().cover));
        let finished = self.conclude(finished, shown.as_ref(), &desk).await;
        let read = match self.reader {
            Reader::Model => self.trim(finished, (&entry.card, source), &canonical, shown.as_ref(), &desk).await,
            Reader::Program => finished,
        };
        (read, abort)
    }

    /// What the model sees of a result: bounded, framed, and with a warning when it goes round in circles.
    async fn trim(
        &self,
        mut finished: Finished,
        (card, source): (&Card, Source),
        canonical: &str,
        arguments: Option<&Object>,
        desk: &Desk,
    ) -> Finished {
        let seen = Seen { tool: &card.name, arguments: canonical, repeats: card.repeats };
        let failed = finished.status != Status::Done;
        let note = desk.guardrail.after(seen, failed, &finished.content.text(), &desk.settings().run.guardrails);
        let sizes = desk.room.sizes();
        finished.content =
            desk.shop.spill.capped(&finished.call, (card.result_cap, source), finished.content, sizes).await;
        finished.content = match source {
            Source::Strangers => frame::framed(&card.name, finished.content),
            Source::Machine => finished.content,
        };
        let hints = match arguments.filter(|_| !failed) {
            Some(arguments) => desk.hints.for_call(arguments, desk.ground(), desk.shop.objection()).await,
            None => None,
        };
        // What a directory tells stands where messages of the person stand, and must not look like one.
        let hints = hints.map(|text| defang(&text).into_owned());
        for note in hints.into_iter().chain(note) {
            finished.content.append(&format!("\n\n{note}"));
        }
        // Last of all, because files of the project speak in the notes too.
        finished.content = frame::unmarked(finished.content);
        finished
    }
}

/// Whose words a call will bring: those of its tool, or of strangers where it reads what they left here.
fn source_of(permit: &Permit, card: &Card, desk: &Desk) -> Source {
    let home = &desk.settings().around.hermes_home;
    let is_theirs = |path| attic::keeps(path, home) || desk.shop.spill.is_of_strangers(path);
    match permit.effects().scopes.iter().any(|scope| scope.access == Access::Read && is_theirs(&scope.path)) {
        true => Source::Strangers,
        false => card.source,
    }
}

/// Waits for the work, its limit, or an interrupt with its grace. Work that does not end is cut off.
async fn wait(
    mut task: AbortOnDropHandle<Result<Output, ToolError>>,
    limit: Option<Duration>,
    own: &Stop,
    stop: &Stop,
    clock: &dyn hermes_core::clock::Clock,
) -> End {
    let limit_passed = async {
        match limit {
            Some(limit) => clock.alarm(limit).await,
            None => std::future::pending().await,
        }
    };
    let (status, cut) = tokio::select! {
        biased;
        // First, because a tool hears of an interrupt as soon as we do and may have ended because of it by now.
        () = stop.wait() => (Status::Cancelled, End::Cancelled),
        joined = &mut task => return End::of(joined),
        () = limit_passed => (Status::TimedOut, End::TimedOut(limit.unwrap_or_default())),
    };
    own.stop();
    if let Ok(joined) = tokio::time::timeout(GRACE, &mut task).await {
        return match End::of(joined) {
            End::Gave(gave) => End::CutShort(status, gave),
            other => other,
        };
    }
    task.abort();
    cut
}

impl End {
    /// The end as a result, and the reason to end the turn when there is one.
    fn told(self, tool: &str) -> (Status, Disposition, Content, Option<String>) {
        let told = |value: Value| Content::Text(value.to_string());
        match self {
            Self::Gave(Ok(output)) => (Status::Done, Disposition::Complete, output.into_content(), None),
            Self::Gave(Err(ToolError::Tell(value))) => (Status::Failed, Disposition::Complete, told(value), None),
            Self::Gave(Err(ToolError::Unknown(value))) => (Status::Failed, Disposition::Unknown, told(value), None),
            Self::Gave(Err(ToolError::Abort(reason))) => {
                (Status::Failed, Disposition::Complete, told(json!({ "error": reason })), Some(reason))
            }
            Self::Panicked(reason) => {
                let error = sanitise::error(&format!("Tool execution failed: {reason}"));
                (Status::Failed, Disposition::Unknown, told(json!({ "error": error })), None)
            }
            Self::TimedOut(limit) => {
                let error = format!("{tool} was stopped: it did not end within {} s", limit.as_secs());
                (Status::TimedOut, Disposition::Unknown, told(json!({ "error": error })), None)
            }
            Self::Cancelled => {
                let error = format!("{tool} was interrupted; it may have done part of its work");
                (Status::Cancelled, Disposition::Unknown, told(json!({"error": error, "status": "cancelled"})), None)
            }
            Self::CutShort(status, gave) => {
                let (_, _, content, abort) = Self::Gave(gave).told(tool);
                (status, Disposition::Unknown, content, abort)
            }
        }
    }

    fn of(joined: Result<Result<Output, ToolError>, tokio::task::JoinError>) -> Self {
        match joined {
            Ok(gave) => Self::Gave(gave),
            Err(error) if error.is_cancelled() => Self::Cancelled,
            Err(error) => {
                let payload = error.into_panic();
                let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
                Self::Panicked(format!("panic: {}", text.unwrap_or_else(|| "no reason given".to_owned())))
            }
        }
    }
}

/// A result that could not be recorded ends the turn: going on would lose it.
pub(super) async fn tell(witness: &dyn Witness, finished: &Finished) -> Option<String> {
    witness.ended(finished).await.err().map(|reason| format!("a result could not be recorded: {reason}"))
}

fn put(results: &mut [Option<Finished>], place: usize, finished: Finished) {
    if let Some(slot) = results.get_mut(place) {
        *slot = Some(finished);
    }
}
