//! What a turn needs from the world.

use super::budget::Purse;
use super::inbox::Inbox;
use super::outcome::Outcome;
use crate::ask::{self, Manner};
use crate::book::Book;
use crate::clock::Clock;
use crate::context::{Engine, Policy, Scribe};
use crate::ports::{Listener, Switchboard};
use crate::stop::Stop;
use futures_util::future::BoxFuture;
use hermes_types::{Finished, Message, SessionId, ToolCall, ToolDefinition};
use std::sync::Arc;

pub struct Ports<'a> {
    pub switchboard: &'a dyn Switchboard,
    pub hands: &'a dyn Hands,
    pub book: &'a Book,
    pub purse: &'a Purse,
    pub inbox: &'a Inbox,
    pub listener: &'a dyn Listener,
    pub clock: &'a dyn Clock,
    pub hooks: &'a [Arc<dyn TurnHook>],
    pub manner: Manner,
    /// How often the model may be asked.
    pub iterations: u32,
    pub economy: Economy<'a>,
}

/// How a conversation is kept within the window of its model.
#[derive(Clone, Copy)]
pub struct Economy<'a> {
    pub policy: &'a Policy,
    pub engine: &'a dyn Engine,
    /// Who writes summaries, where that is not the model of the conversation.
    pub scribe: Option<&'a dyn Scribe>,
    /// Who keeps what should outlive a conversation; where nobody does, it is not asked for.
    pub keeper: Option<&'a dyn Keeper>,
    /// The name of the session in which a shorter conversation goes on.
    pub next_session: &'a (dyn Fn() -> SessionId + Send + Sync),
}

/// Keeps notes beyond a conversation.
pub trait Keeper: Send + Sync {
    /// Adds these to what is remembered. Why not all of them are kept is told to the person.
    fn keep<'a>(&'a self, notes: &'a [String], stop: &'a Stop) -> BoxFuture<'a, Result<(), String>>;
}

impl Ports<'_> {
    /// What asking a model needs of them.
    pub(super) fn asking(&self) -> ask::Ports<'_> {
        ask::Ports { switchboard: self.switchboard, clock: self.clock, listener: self.listener, recorder: self.book }
    }
}

/// Runs the calls of a model.
pub trait Hands: Send + Sync {
    /// What the model may call, in a fixed order. Asked once per turn.
    fn offered(&self) -> Arc<[ToolDefinition]>;

    /// Whether a call of this name is run though it was not offered: of a tool that is found by searching, say.
    fn understands(&self, _name: &str) -> bool {
        false
    }

    /// A new turn begins.
    fn begin_turn(&self) {}

    /// Runs the calls of one reply through the gate: one result for each, in their order, whatever happens. Every call
    /// that may change something is in the book before it does, every result before this returns.
    fn run<'a>(&'a self, calls: &'a [ToolCall], book: &'a Book, stop: &'a Stop) -> BoxFuture<'a, Ran>;
}

/// What became of the calls of one reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Ran {
    pub results: Vec<Finished>,
    /// The turn cannot go on, and why.
    pub abort: Option<String>,
}

/// A turn that begins with a question.
#[derive(Debug, Clone, Copy)]
pub struct Opening<'a> {
    pub session: &'a SessionId,
    pub question: &'a str,
    /// Nothing was said in the conversation before.
    pub is_first: bool,
}

/// A sub-agent that is about to begin its errand.
#[derive(Debug, Clone, Copy)]
pub struct Sending<'a> {
    pub parent: &'a SessionId,
    pub child: &'a SessionId,
    pub role: &'static str,
    pub goal: &'a str,
}

/// Somebody who is told of every turn: memory providers, plugins, the writer of trajectories.
pub trait TurnHook: Send + Sync {
    /// Words for the model beside the question of the person. They are sent, never kept as said.
    fn begins<'a>(&'a self, _opening: Opening<'a>) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// The conversation is about to be made shorter: what is to be remembered of it is remembered now.
    fn shortens<'a>(&'a self, _history: &'a [Arc<Message>]) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The conversation sends a sub-agent.
    fn sends<'a>(&'a self, _sending: Sending<'a>) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// The turn is over, on whatever way; `history` begins with its question.
    fn ended<'a>(&'a self, _history: &'a [Arc<Message>], _outcome: &'a Outcome) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }
}
