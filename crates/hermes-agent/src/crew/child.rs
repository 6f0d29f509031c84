//! The life of one sub-agent: born for an errand, gone with its report.

use super::ear::Ear;
use super::report::{Cut, Ending, Facts, report};
use super::{AgentCrew, GRACE, words};
use crate::agent::{Agent, Beginning, Kit, Settings};
use futures_util::FutureExt as _;
use hermes_core::ask::Manner;
use hermes_core::turn::Sending;
use hermes_tools::delegate::{Errand, Fate, Report, Role};
use hermes_tools::desk::{Cx, Desk};
use hermes_tools::gate::Yolo;
use hermes_types::{EndReason, Event, FaultKind, NewSession, Object, SessionId};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

const SOURCE: &str = "subagent";
/// Marks a session as somebody's errand, beside its parent; the same word as the Python program's.
const DELEGATED_FROM: &str = "_delegate_from";

/// One errand of one call.
pub(super) struct Task<'a> {
    /// Its place among the tasks of the call.
    pub(super) number: usize,
    pub(super) errand: Errand,
    pub(super) cx: &'a Cx,
}

pub(super) struct Child<'a> {
    agent: Agent,
    ear: Arc<Ear>,
    task: Task<'a>,
    grace: Duration,
    limit: Option<Duration>,
    began: Duration,
    kit: Arc<Kit>,
    life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    Working,
    /// Everything it started has ended.
    Over,
}

impl<'a> Child<'a> {
    pub(super) fn new(crew: &AgentCrew, task: Task<'a>) -> Self {
        let (desk, role) = (&task.cx.desk, task.errand.role);
        let clock = crew.kit.clock.clone();
        let id = session_id(clock.now());
        let ear = Ear::new(desk.listener.clone(), task.cx.call.clone(), task.number, id.clone(), clock.clone());
        let ear = Arc::new(ear);
        let kit = Arc::new(kit(crew, &ear, task.number));
        let own = desk.of_child(id.clone(), ear.clone());
        // The sizes of results follow the model; a sub-agent has its parent's unless it is told otherwise.
        own.room.take_from(&desk.room);
        if crew.kit.for_children.is_none() {
            own.sight.set(desk.sight.pictures());
        }
        if crew.settings().subagent_auto_approve || desk.shop.gate.yolo(&desk.session) == Yolo::On {
            desk.shop.gate.set_yolo(&id, Yolo::On);
        }
        let cwd = own.cwd();
        let session = NewSession {
            parent: Some(desk.session.clone()),
            model_config: Some(Object::from_iter([(
                DELEGATED_FROM.to_owned(),
                Value::String(desk.session.to_string()),
            )])),
            system_prompt: Some(words::prompt(role, &cwd)),
            cwd: Some(cwd.display().to_string()),
            ..NewSession::new(id, SOURCE)
        };
        let tools = crew.tools_for(role);
        let own_crew = match role {
            Role::Orchestrator => Some(AgentCrew::at_depth(kit.clone(), tools.clone(), crew.depth + 1)),
            Role::Leaf => None,
        };
        let agent = Agent::sent_out(kit.clone(), Beginning::new(session, tools), own, crew.purse().lend(), own_crew);
        let (grace, limit) = (GRACE / 2u32.saturating_pow(crew.depth), crew.settings().child_timeout());
        Self { agent, ear, task, grace, limit, began: clock.elapsed(), kit, life: Life::Working }
    }

    /// What those are told who want to know who is sent.
    pub(super) fn sending(&self) -> Sending<'_> {
        let Errand { goal, role, .. } = &self.task.errand;
        Sending { parent: &self.task.cx.desk.session, child: &self.agent.desk().session, role: role.name(), goal }
    }

    /// Does the errand; whatever happens, everything it started is over afterwards.
    pub(super) async fn work(mut self) -> Report {
        let ending = Box::pin(self.run()).await;
        let fate = ending.fate();
        if let Some(error) = ending.error() {
            let kind = match fate {
                Fate::TimedOut => FaultKind::Timeout,
                Fate::Interrupted => FaultKind::Interrupted,
                Fate::Completed | Fate::OutOfIterations | Fate::Failed | Fate::Broken => FaultKind::Unknown,
            };
            self.ear.end_with(Event::Failed { kind, message: error, exit_reason: fate.exit_reason().to_owned() });
        }
        if let Err(error) = self.agent.close(EndReason::new(fate.status())).await {
            tracing::warn!(session = %self.agent.session(), %error, "the end of a sub-agent could not be written down");
        }
        forget(self.agent.desk());
        self.life = Life::Over;
        let talk = self.agent.conversation();
        let facts = Facts {
            history: talk.history(),
            heard: self.ear.heard(),
            api_calls: talk.line.calls(),
            took: self.kit.clock.elapsed().saturating_sub(self.began),
            model: talk.line.model().map(|model| model.card().model.clone()),
        };
        report(&ending, facts)
    }

    /// Works until the answer, the limit or the person ends it.
    async fn run(&mut self) -> Ending {
        let Self { agent, ear, task, grace, limit, kit, .. } = self;
        let stop = task.cx.stop.child();
        let question = words::task(&task.errand);
        // One sub-agent that panics must not cost the others their reports.
        let turn = AssertUnwindSafe(agent.run_conversation(question.as_str(), &stop)).catch_unwind();
        let mut turn = Box::pin(turn);
        let too_late = async {
            match limit {
                Some(limit) => {
                    kit.clock.alarm(*limit).await;
                    *limit
                }
                None => std::future::pending().await,
            }
        };
        let cut = tokio::select! {
            ended = &mut turn => return Ending { cut: None, outcome: ended.ok() },
            () = task.cx.stop.wait() => Cut::Interrupted,
            limit = too_late => Cut::TimedOut(limit),
            never = ear.speak_up() => match never {},
        };
        stop.stop();
        // What does not end by itself is dropped, and its calls with it.
        let ended = tokio::time::timeout(*grace, &mut turn).await;
        Ending { cut: Some(cut), outcome: ended.ok().and_then(Result::ok) }
    }
}

impl Drop for Child<'_> {
    /// A call that is dropped takes its sub-agents with it, and they what they started: a turn that was abandoned must
    /// not leave servers behind. Nobody is there to wait for that, so the runtime does it.
    fn drop(&mut self) {
        let (Life::Working, Ok(runtime)) = (self.life, tokio::runtime::Handle::try_current()) else { return };
        let (desk, store) = (self.agent.desk().clone(), self.kit.store.clone());
        runtime.spawn(async move {
            desk.close().await;
            forget(&desk);
            if let Some(store) = store
                && let Err(error) = store.end(&desk.session, EndReason::new(Fate::Interrupted.status())).await
            {
                tracing::warn!(session = %desk.session, %error, "the end of a sub-agent could not be written down");
            }
        });
    }
}

/// Consents and counts of a conversation that nobody comes back to.
fn forget(desk: &Desk) {
    desk.shop.gate.forget(&desk.session);
    desk.shop.memory.forget(&desk.session);
}

/// What a sub-agent is made of: its parent's kit, with a listener and iterations of its own.
fn kit(crew: &AgentCrew, ear: &Arc<Ear>, number: usize) -> Kit {
    let usual = crew.kit.settings.clone();
    let seed = usual.manner.seed.wrapping_add(number as u64);
    // Nobody sees the words as they come; and those who fail together must not come back together.
    let manner = Manner { live: false, seed, ..usual.manner };
    let settings = Settings { iterations: crew.settings().max_iterations, manner, ..usual };
    let switchboard = crew.kit.for_children.clone().unwrap_or_else(|| crew.kit.switchboard.clone());
    // Hooks know the person and their memory; an errand is none of their business.
    Kit { switchboard, listener: ear.clone(), hooks: Vec::new(), settings, ..(*crew.kit).clone() }
}

/// A name for a conversation that begins now: `YYYYMMDD_HHMMSS_<6 hex>`.
pub fn session_id(now: SystemTime) -> SessionId {
    let [a, b, c]: [u8; 3] = rand::random();
    let now = Timestamp::try_from(now).unwrap_or_default().to_zoned(TimeZone::system());
    SessionId::new(format!("{}_{a:02x}{b:02x}{c:02x}", now.strftime("%Y%m%d_%H%M%S")))
}
