//! Memory is bounded: many conversations in one process, each with far more output of tools than anybody can hold, all
//! of them kept while nothing happens in them.
//!
//! The ordinary run has fewer and smaller ones; `HERMES_SOAK=all` has a thousand with ten megabytes each.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "a panic is how a test fails, and the numbers are for people who read the log"
)]

mod model;
#[path = "../agent/stage.rs"]
#[allow(dead_code, reason = "a stage for all tests of the crate; this one needs less of it")]
mod stage;

use hermes_agent::{Agent, Kit};
use hermes_core::stop::Stop;
use hermes_testkit::ModelServer;
use hermes_types::OutcomeKind;
use stage::{Plan, Stage, only};
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinSet;

/// How much of everything.
#[derive(Debug, Clone, Copy)]
struct Amount {
    /// Conversations in each of the two crowds that are kept.
    agents: usize,
    /// Commands in a turn.
    commands: usize,
    /// What each of them has to say.
    megabytes: usize,
}

const ORDINARY: Amount = Amount { agents: 100, commands: 1, megabytes: 1 };
const ALL: Amount = Amount { agents: 500, commands: 2, megabytes: 5 };
/// As many turns run at the same time.
const SIDE_BY_SIDE: usize = 4;
/// What an idle conversation may add to the process, in KB. What its model has read is the larger part of that, and pages
/// that the store keeps, until those are as many as it may.
const MOST_WHILE_IDLE: usize = 400;
/// What a crowd may add that finds the room of two others that went to rest.
const MOST_AT_REST: usize = 100;

/// The memory of this process that is in use, in KB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("a status");
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a size");
    line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
}

async fn turn(kit: Arc<Kit>, stage: Arc<Stage>, number: usize, amount: Amount) -> Agent {
    let mut agent = Agent::begin(kit, stage.beginning(&format!("20260102_030405_{number:06x}")));
    let question = model::question(amount.commands, amount.megabytes);
    let outcome = agent.run_conversation(question, &Stop::new()).await;
    assert_eq!((outcome.kind(), outcome.tool_calls), (OutcomeKind::Answered, amount.commands as u64), "{outcome:?}");
    // What was heard of the turn is no part of what an agent holds.
    drop(stage.events());
    agent
}

async fn many(stage: &Arc<Stage>, kit: &Arc<Kit>, amount: Amount, from: usize) -> Vec<Agent> {
    let mut agents = Vec::with_capacity(amount.agents);
    let mut waiting = from..from + amount.agents;
    let mut running = JoinSet::new();
    loop {
        while running.len() < SIDE_BY_SIDE
            && let Some(number) = waiting.next()
        {
            running.spawn(turn(kit.clone(), stage.clone(), number, amount));
        }
        let Some(agent) = running.join_next().await else { return agents };
        agents.push(agent.expect("a turn"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_bears_many_idle_conversations() {
    let amount = if std::env::var_os("HERMES_SOAK").is_some() { ALL } else { ORDINARY };
    let nobody = ModelServer::start([]).await;
    let models = only(&nobody, hermes_model::wire::ApiMode::ChatCompletions);
    let stage = Arc::new(Stage::build(Plan { models, real_time: true, ..Plan::default() }).await);
    let kit = Arc::new(Kit { switchboard: Arc::new(model::Board), ..stage.kit.clone() });

    let began = Instant::now();
    // What a process needs once is there with the first crowd; the second one tells what a conversation costs.
    let mut agents = many(&stage, &kit, amount, 0).await;
    let first = resident();
    agents.extend(many(&stage, &kit, amount, agents.len()).await);
    let idle = resident();
    let said = agents.iter().map(|agent| stage::in_memory(agent).iter().map(|said| said.text().len()).sum::<usize>());
    let said = said.sum::<usize>() / 1024 / agents.len();
    // What is given back stays with the process; that a third crowd finds room in it shows that it was given back.
    agents.iter_mut().for_each(Agent::rest);
    agents.extend(many(&stage, &kit, amount, agents.len()).await);
    agents.iter_mut().for_each(Agent::rest);
    let resting = resident();
    let answer = agents[0].run_conversation(model::question(0, 0), &Stop::new()).await;
    assert_eq!(answer.kind(), OutcomeKind::Answered, "{answer:?}");
    assert_eq!(stage.on_disk(agents[0].session()).await, stage::in_memory(&agents[0]), "it came back whole");

    let while_idle = idle.saturating_sub(first) / amount.agents;
    let at_rest = resting.saturating_sub(idle) / amount.agents;
    eprintln!(
        "{} conversations with {} MB of output each, after {} s\n  \
           idle     {while_idle:>5} KB each; {said} KB is what was said in it\n  \
           at rest  {at_rest:>5} KB for each of {} more\n  \
           process  {first} KB with half of them, {idle} KB idle, {resting} KB with all at rest",
        2 * amount.agents,
        amount.commands * amount.megabytes,
        began.elapsed().as_secs(),
        amount.agents,
    );
    assert!(while_idle < MOST_WHILE_IDLE, "{while_idle} KB");
    assert!(at_rest < MOST_AT_REST, "{at_rest} KB");
    nobody.finish();
}
