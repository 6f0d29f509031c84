//! One turn in one protocol, and the proof that the conversation can go on behind it.

use crate::puppet::Puppet;
use crate::stage::{Plan, Stage, in_memory, only, told};
use hermes_core::turn::Outcome;
use hermes_model::wire::ApiMode;
use hermes_testkit::{ModelServer, Move, Received};
use hermes_types::OutcomeKind;

/// What came of a turn.
pub(crate) struct Played {
    pub(crate) outcome: Outcome,
    /// Who said what, a line each.
    pub(crate) history: Vec<String>,
    /// What the loop said about itself.
    pub(crate) steps: Vec<String>,
    pub(crate) requests: Vec<Received>,
    /// Every tool call the puppet `look` answered.
    pub(crate) looked: Vec<serde_json::Value>,
}

impl Played {
    pub(crate) fn exit(&self) -> String {
        self.outcome.end.exit_reason()
    }

    pub(crate) fn text(&self) -> &str {
        self.outcome.text.as_deref().unwrap_or_default()
    }

    pub(crate) fn kind(&self) -> OutcomeKind {
        self.outcome.kind()
    }

    pub(crate) fn history(&self) -> Vec<&str> {
        self.history.iter().map(String::as_str).collect()
    }
}

/// Asks "Go." of a model that makes these moves. There is a tool `look`, beside all built-in ones.
pub(crate) async fn play(mode: ApiMode, moves: impl IntoIterator<Item = Move>) -> Played {
    play_with(mode, Plan::default(), moves).await
}

/// The same with other settings. Behind the turn another program resumes the conversation and asks once more: whatever
/// happened, what is on disk can be sent, begins with the bytes that were sent before, and has no call without a result.
pub(crate) async fn play_with(mode: ApiMode, plan: Plan, moves: impl IntoIterator<Item = Move>) -> Played {
    let server = ModelServer::start(moves.into_iter().collect::<Vec<_>>()).await;
    let stage = Stage::build(Plan { models: only(&server, mode), ..plan }).await;
    let look = Puppet::looking("look").on(&stage);
    server.attach_clock(&stage.clock);
    let mut agent = stage.agent();
    let outcome = stage.turn(&mut agent, "Go.").await;
    let played = Played {
        outcome,
        history: told(&in_memory(&agent)),
        steps: stage.steps(),
        requests: server.model_requests(),
        looked: look.ran(),
    };
    goes_on(&stage, &server).await;
    server.finish();
    played
}

/// Another program goes on with the conversation.
pub(crate) async fn goes_on(stage: &Stage, server: &ModelServer) {
    server.extend([Move::say("Still here.")]);
    let mut again = stage.resume().await;
    let outcome = stage.turn(&mut again, "And now?").await;
    assert_eq!(outcome.text.as_deref(), Some("Still here."), "{:?}", told(&in_memory(&again)));
}
