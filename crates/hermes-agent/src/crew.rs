//! Sub-agents: other agents that an agent sends out while its call of `delegate_task` waits.
//!
//! A sub-agent has a conversation, a desk and iterations of its own; it pays from the purse of the turn that sent it, so
//! that limits and costs hold for the whole tree. Nobody answers its questions. Every errand gets exactly one report:
//! from a sub-agent that answered, that failed, that was cut off by its limit or by the person, and from one that never
//! began. What a sub-agent started has ended when its report is given.

mod child;
mod ear;
mod report;
mod words;

use crate::agent::Kit;
pub use child::session_id;
use child::{Child, Task};
use futures_util::future::{BoxFuture, join_all};
use hermes_core::turn::Sending;
use hermes_core::turn::budget::Purse;
use hermes_tools::delegate::{self, Crew, DelegationSettings, Errand, Fate, Report, Role};
use hermes_tools::desk::Cx;
use hermes_tools::toolset::Grant;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Tools that no sub-agent has: they speak to people, act in the name of the person, or outlive the errand.
const BLOCKED: [&str; 5] = ["clarify", "cronjob", "execute_code", "memory", "send_message"];
/// How long a sub-agent that was stopped has to end by itself; each generation less than the one that waits for it.
/// Shorter than what a call is left after an interrupt, so that there is time for the reports.
const GRACE: Duration = Duration::from_millis(1500);

/// What one agent needs to send others out.
pub(crate) struct AgentCrew {
    kit: Arc<Kit>,
    /// What the agent itself may call.
    tools: Grant,
    /// Generations between the agent and the person: 0 is the person's own.
    depth: u32,
    /// As many work at the same time, over all calls of the agent.
    seats: Semaphore,
    /// What the turn in work pays from.
    purse: Mutex<Arc<Purse>>,
}

impl AgentCrew {
    /// For the agent a person speaks to.
    pub(crate) fn of_person(kit: Arc<Kit>, tools: Grant) -> Arc<Self> {
        Self::at_depth(kit, tools, 0)
    }

    fn at_depth(kit: Arc<Kit>, tools: Grant, depth: u32) -> Arc<Self> {
        let seats = Semaphore::new(kit.shop.settings.delegation.side_by_side());
        Arc::new(Self { kit, tools, depth, seats, purse: Mutex::default() })
    }

    /// A turn began: sub-agents pay from its purse.
    pub(crate) fn pay_from(&self, purse: Arc<Purse>) {
        *self.purse.lock().unwrap_or_else(PoisonError::into_inner) = purse;
    }

    fn purse(&self) -> Arc<Purse> {
        self.purse.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settings(&self) -> &DelegationSettings {
        &self.kit.shop.settings.delegation
    }

    /// The role it gets: who leads must be allowed to send somebody.
    fn granted(&self, role: Role) -> Role {
        match role {
            Role::Orchestrator if self.settings().may_send(self.depth + 1) => Role::Orchestrator,
            Role::Orchestrator | Role::Leaf => Role::Leaf,
        }
    }

    /// What a sub-agent in this role may call: at most what its parent may, now and when tools join.
    fn tools_for(&self, role: Role) -> Grant {
        let granted = self.tools.clone().without(BLOCKED);
        let granted = if role == Role::Leaf { granted.without([delegate::NAME]) } else { granted };
        if self.settings().inherit_mcp_toolsets { granted } else { granted.without_servers() }
    }

    /// From an errand to its report, as soon as there is a seat.
    async fn see_to(&self, number: usize, mut errand: Errand, cx: &Cx) -> Report {
        let _seat = tokio::select! {
            biased;
            () = cx.stop.wait() => {
                return Report::without_work(Fate::Interrupted, "the person interrupted before it began");
            }
            seat = self.seats.acquire() => seat,
        };
        errand.role = self.granted(errand.role);
        let task = Task { number, errand, cx };
        let child = Child::new(self, task);
        self.tell_of(child.sending(), cx).await;
        child.work().await
    }

    /// Tells those who listen; a person who interrupts does not wait for them.
    async fn tell_of(&self, sending: Sending<'_>, cx: &Cx) {
        let telling = async {
            for hook in &self.kit.hooks {
                hook.sends(sending).await;
            }
        };
        tokio::select! {
            biased;
            () = cx.stop.wait() => {}
            () = telling => {}
        }
    }
}

impl Crew for AgentCrew {
    fn send<'a>(&'a self, errands: Vec<Errand>, cx: &'a Cx) -> BoxFuture<'a, Result<Vec<Report>, String>> {
        Box::pin(async move {
            if !self.settings().may_send(self.depth) {
                let most = self.settings().max_spawn_depth;
                return Err(format!(
                    "Sub-agents go no deeper than {most} level(s) here (delegation.max_spawn_depth). Do the work yourself."
                ));
            }
            let sent = errands.into_iter().enumerate().map(|(number, errand)| self.see_to(number, errand, cx));
            Ok(join_all(sent).await)
        })
    }
}
