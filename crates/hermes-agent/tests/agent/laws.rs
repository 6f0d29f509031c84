//! What holds for every turn, whatever the model does: the real loop, the real tools' way, a real store, and a model that
//! makes any moves in any order. `PROPTEST_CASES=10000` tells more tales than the usual 256.

use crate::puppet::{Puppet, answer};
use crate::script::{Act, Scripted, acts, unique};
use crate::stage::{Plan, Stage, in_memory};
use hermes_agent::{Agent, Beginning, Kit};
use hermes_core::stop::Stop;
use hermes_core::turn::budget::{Caps, Limits};
use hermes_core::turn::{Asked, End, Outcome};
use hermes_tools::tool::ToolError;
use hermes_types::{CallId, Event, Message, OutcomeKind};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Ends that many of the tales come to.
const COMMON: [&str; 7] = [
    "text_response",
    "max_iterations_reached",
    "interrupted_by_user",
    "interrupted_during_api_call",
    "thinking_budget_exhausted",
    "tool_aborted",
    "api_error",
];

/// A turn that a generator thought of.
#[derive(Debug, Clone)]
struct Tale {
    acts: Vec<Act>,
    iterations: u32,
    tokens: Option<u64>,
    has_spare: bool,
    /// The provider counts its calls anew in each reply.
    reuses_ids: bool,
    /// Another program takes the turn up again before it asks something else.
    goes_on: bool,
    /// Before all this, turns that are dropped after so many steps of their futures.
    falls: Vec<Fall>,
}

/// A turn that is gone in the middle.
#[derive(Debug, Clone)]
struct Fall {
    after: usize,
    /// Whether the program that had it is gone too.
    with_program: bool,
    /// The next one goes on with it, or asks something else.
    goes_on: bool,
}

fn tale() -> impl Strategy<Value = Tale> {
    let fall = (0..60usize, any::<[bool; 2]>()).prop_map(|(after, [with_program, goes_on])| Fall {
        after,
        with_program,
        goes_on,
    });
    let falls = prop_oneof![2 => Just(Vec::new()), 1 => prop::collection::vec(fall, 1..4)];
    let spread = (acts(), 1..12u32, prop::option::weighted(0.1, 100..900u64), any::<[bool; 3]>(), falls);
    spread.prop_map(|(acts, iterations, tokens, [has_spare, reuses_ids, goes_on], falls)| Tale {
        acts,
        iterations,
        tokens,
        has_spare,
        reuses_ids,
        goes_on,
        falls,
    })
}

/// Drives a future for so many steps, and drops it unless it has ended by then.
async fn dropped_after<T>(steps: usize, work: impl Future<Output = T>) -> Option<T> {
    let mut work = std::pin::pin!(work);
    let mut left = steps;
    std::future::poll_fn(|cx| match work.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if left == 0 => Poll::Ready(None),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// One stage for all tales; each has a session of its own.
struct Theatre {
    stage: Stage,
    told: AtomicUsize,
    /// The calls of the tale that is told have this number and later ones.
    since: AtomicU64,
    /// Whom the tool `stops` stops.
    stop: Arc<Mutex<Stop>>,
    tools: Vec<Puppet>,
    /// How turns ended so far.
    ends: Mutex<BTreeMap<String, u32>>,
}

impl Theatre {
    async fn open() -> Self {
        let stage = Stage::build(Plan::default()).await;
        let stop: Arc<Mutex<Stop>> = Arc::default();
        let held = stop.clone();
        let tools = vec![
            Puppet::looking("look").on(&stage),
            Puppet::changing("change").on(&stage),
            Puppet::changing("execute_code").on(&stage),
            Puppet::looking("memory").on(&stage),
            Puppet::doing("fails", |_, _| async { Err(ToolError::told("it did not work")) }).on(&stage),
            Puppet::doing("aborts", |_, _| async { Err(ToolError::Abort("the disk is gone".into())) }).on(&stage),
            Puppet::doing("stops", move |arguments, _| {
                held.lock().unwrap().stop();
                async move { answer(&arguments) }
            })
            .on(&stage),
        ];
        Self { stage, told: AtomicUsize::new(0), since: AtomicU64::new(0), stop, tools, ends: Mutex::default() }
    }

    fn kit(&self, tale: &Tale, model: &Arc<Scripted>) -> Arc<Kit> {
        let mut kit = Kit { switchboard: model.clone(), ..self.stage.kit.clone() };
        kit.settings.iterations = tale.iterations;
        // A conversation that a provider finds too long would be made shorter; that has laws of its own.
        kit.settings.compression.enabled = false;
        kit.settings.limits = Limits { turn: Caps { tokens: tale.tokens, ..Caps::default() }, ..Limits::default() };
        Arc::new(kit)
    }

    fn beginning(&self) -> Beginning {
        let number = self.told.fetch_add(1, Ordering::SeqCst);
        self.stage.beginning(&format!("20260102_030405_{number:06x}"))
    }

    /// Everything that ran in this tale, by the number of the call; what only looks may run again after a fall.
    fn ran(&self, tale: &Tale) -> Vec<u64> {
        let counts = |tool: &&Puppet| tale.falls.is_empty() || !tool.only_looks();
        let all = self.tools.iter().filter(counts).flat_map(Puppet::ran);
        let since = self.since.load(Ordering::SeqCst);
        all.filter_map(|arguments: Value| arguments["n"].as_u64()).filter(|number| *number >= since).collect()
    }

    /// Turns that are dropped in the middle, one behind the other.
    async fn fall(
        &self,
        mut agent: Agent,
        kit: &Arc<Kit>,
        beginning: &Beginning,
        model: &Scripted,
        tale: &Tale,
    ) -> Agent {
        let mut asked = Asked::from("Go.");
        for fall in &tale.falls {
            let (stop, inbox) = (Stop::new(), agent.inbox());
            *self.stop.lock().unwrap() = stop.clone();
            model.begin(&stop, &inbox);
            dropped_after(fall.after, agent.run_conversation(asked, &stop)).await;
            inbox.take_all();
            if fall.with_program
                && let Ok(other) = Agent::resume(kit.clone(), beginning.clone()).await
            {
                agent = other;
            }
            asked = if fall.goes_on { Asked::GoOn } else { Asked::from("Once more.") };
        }
        agent
    }

    async fn tell(&self, tale: &Tale) -> Result<(), TestCaseError> {
        self.since.store(unique(), Ordering::SeqCst);
        let model = Scripted::new(&tale.acts, tale.has_spare, tale.reuses_ids);
        let (kit, beginning) = (self.kit(tale, &model), self.beginning());
        let agent = Agent::begin(kit.clone(), beginning.clone());
        let mut agent = self.fall(agent, &kit, &beginning, &model, tale).await;
        self.turn(&mut agent, "Go.", &model, tale).await?;
        // The curtain falls; another program opens the same conversation.
        model.forget_moves();
        let mut again = Agent::resume(kit, beginning).await.unwrap();
        prop_assert_eq!(in_memory(&again), in_memory(&agent), "what was resumed is what was left");
        if tale.goes_on {
            self.turn(&mut again, Asked::GoOn, &model, tale).await?;
        }
        let outcome = self.turn(&mut again, "And now?", &model, &Tale { tokens: None, ..tale.clone() }).await?;
        if tale.tokens.is_none() {
            prop_assert_eq!(outcome.text.as_deref(), Some("The end."));
        }
        Ok(())
    }

    /// One turn, and everything that must be true behind it.
    async fn turn(
        &self,
        agent: &mut Agent,
        asked: impl Into<Asked>,
        model: &Arc<Scripted>,
        tale: &Tale,
    ) -> Result<Outcome, TestCaseError> {
        let (stop, inbox) = (Stop::new(), agent.inbox());
        *self.stop.lock().unwrap() = stop.clone();
        model.begin(&stop, &inbox);
        self.stage.events();
        let outcome = self.stage.turn_until(agent, asked, &stop).await;
        let end = outcome.end.exit_reason();
        *self.ends.lock().unwrap().entry(end.split('(').next().unwrap().to_owned()).or_default() += 1;
        let history = in_memory(agent);
        well_formed(&history)?;
        honest(&outcome, &history, &stop)?;
        prop_assert!(outcome.iterations <= tale.iterations, "{} iterations", outcome.iterations);
        let (ends, told) = (self.stage.events(), outcome.event());
        let ends: Vec<&Event> =
            ends.iter().filter(|event| matches!(event, Event::Answer { .. } | Event::Failed { .. })).collect();
        prop_assert_eq!(ends, vec![&told], "one end, told once");
        for pair in model.requests().windows(2) {
            prop_assert!(pair[1].starts_with(&pair[0]), "a request extends the one before: {:#?}", pair);
        }
        let ran = self.ran(tale);
        prop_assert_eq!(ran.iter().collect::<BTreeSet<_>>().len(), ran.len(), "nothing ran twice");
        let sent: String = history.iter().map(Message::text).collect();
        for text in model.spoken() {
            let times = sent.matches(&text).count() + outcome.undelivered.iter().filter(|left| **left == text).count();
            prop_assert_eq!(times, 1, "{} is delivered or given back", text);
        }
        Ok(outcome)
    }
}

/// Roles alternate, and every call has exactly one result, directly behind it and in order.
fn well_formed(history: &[Message]) -> Result<(), TestCaseError> {
    let mut awaited: Vec<CallId> = Vec::new();
    let mut before = "tool";
    for message in history {
        let speaker = match message {
            Message::System(_) => "system",
            Message::User(_) => "user",
            Message::Assistant(_) => "assistant",
            Message::Tool(_) => "tool",
        };
        match message {
            Message::Tool(result) => {
                prop_assert!(!awaited.is_empty() && awaited.remove(0) == result.tool_call_id, "{:#?}", history);
            }
            _ => {
                prop_assert!(awaited.is_empty(), "calls without results: {:#?}", history);
                prop_assert_ne!(before, speaker, "{:#?}", history);
            }
        }
        if let Message::Assistant(said) = message {
            prop_assert!(!said.tool_calls.is_empty() || !message.text().trim().is_empty(), "a reply without words");
            awaited = said.tool_calls.iter().map(|call| call.pairing_id().clone()).collect();
        }
        before = speaker;
    }
    prop_assert!(awaited.is_empty(), "calls left open: {:#?}", history);
    Ok(())
}

/// The outcome says what happened.
fn honest(outcome: &Outcome, history: &[Message], stop: &Stop) -> Result<(), TestCaseError> {
    let last = history.last().map(Message::text).unwrap_or_default();
    let text = outcome.text.as_deref().unwrap_or_default();
    let ends_with_text = matches!(history.last(), Some(Message::Assistant(_)))
        && (text.ends_with(&last) || (last == "(empty)" && !text.trim().is_empty()));
    prop_assert_eq!(outcome.not_kept.as_deref(), None);
    match outcome.kind() {
        OutcomeKind::Answered => prop_assert!(!text.trim().is_empty() && ends_with_text, "{:?} / {}", text, last),
        OutcomeKind::Empty => prop_assert_eq!(outcome.text.as_deref(), None),
        OutcomeKind::Interrupted => prop_assert!(stop.stopped()),
        OutcomeKind::Filtered => prop_assert!(outcome.text.is_none() || is_said(history, text)),
        OutcomeKind::Failed => {
            prop_assert!(matches!(outcome.end, End::Unanswered(_) | End::Aborted(_) | End::NothingOpen));
        }
        OutcomeKind::Partial => match &outcome.end {
            End::LastWord { used, most } => prop_assert!(used == most && ends_with_text, "{:?} / {}", text, last),
            End::BrokenOff | End::TooLong => prop_assert!(ends_with_text),
            End::UnknownTools => prop_assert!(matches!(history.last(), Some(Message::Tool(_)))),
            End::ThoughtTooLong | End::CutCalls | End::OverBudget(_) => {}
            other => prop_assert!(false, "{:?} is not partial", other),
        },
    }
    Ok(())
}

/// Whether the person reads what the model said, to its last word.
fn is_said(history: &[Message], text: &str) -> bool {
    history.iter().any(|message| matches!(message, Message::Assistant(_)) && text.ends_with(&message.text()))
}

#[test]
fn whatever_the_model_does_the_turn_ends_and_its_record_is_whole() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let theatre = runtime.block_on(Theatre::open());
    let mut runner =
        TestRunner::new(Config { max_shrink_iters: 2_000, failure_persistence: None, ..Config::default() });
    let done = runner.run(&tale(), |tale| runtime.block_on(theatre.tell(&tale)));
    assert!(done.is_ok(), "{}", done.unwrap_err());
    let ends = theatre.ends.lock().unwrap();
    for end in COMMON {
        assert!(ends.contains_key(end), "a law about cases that never come is worth nothing: {end} is not in {ends:?}");
    }
}
