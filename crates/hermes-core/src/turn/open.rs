//! How a turn begins: with a question, or where an earlier one was cut off.

use super::outcome::End;
use super::ports::Opening;
use super::sanitise;
use super::state::{Turn, lost};
use super::steps::told_apart;
use super::words;
use crate::repair::open_calls;
use crate::stop::Stop;
use crate::store::StoreError;
use hermes_types::{
    CallId, Content, Disposition, Finished, Message, NewMessage, Notice, Plain, Run, ToolCall, ToolStatus, TurnScene,
    TurnStart,
};
use std::sync::Arc;

/// What a turn is asked to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// Answer this.
    Question(Box<Question>),
    /// Go on with the turn that was cut off.
    GoOn,
}

/// What the person says.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub content: Content,
    /// What is kept in its place, where the content holds more than the person said.
    pub keep: Option<Content>,
}

impl From<Content> for Question {
    fn from(content: Content) -> Self {
        Self { content, keep: None }
    }
}

impl From<&str> for Asked {
    fn from(text: &str) -> Self {
        Self::Question(Box::new(Content::from(text).into()))
    }
}

/// What becomes of a call that was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It changed something, or not: nobody knows.
    Unknown,
    /// It had not begun, or only reads: it runs now.
    Run,
    /// It had not begun, and the person asks for something else.
    Dropped,
    /// The same call stands before it in the same reply.
    Repeated,
}

impl Turn<'_> {
    pub(super) async fn open(&mut self, asked: Asked, stop: &Stop) -> Result<(), End> {
        self.prepare().await?;
        let start = match asked {
            Asked::Question(_) => TurnStart::Question,
            Asked::GoOn => TurnStart::GoOn,
        };
        self.ports.book.turn_begins(self.scene(start));
        match asked {
            Asked::GoOn => {
                if !self.talk.is_unfinished() {
                    return Err(End::NothingOpen);
                }
                self.begins_at = question_at(self.talk.history()).unwrap_or(self.begins_at);
                self.take_up(parts_so_far(self.talk.history()));
                self.settle(Fate::Run, stop).await
            }
            Asked::Question(question) => {
                if let Err(End::NotKept(reason)) = self.leave_behind(stop).await {
                    self.do_without_record(reason).await;
                    self.leave_behind(stop).await?;
                }
                self.begins_at = self.talk.history().len();
                self.put(*question, stop).await;
                Ok(())
            }
        }
    }

    /// Tools, model and books, as they are now.
    pub(super) async fn prepare(&mut self) -> Result<(), End> {
        self.talk.offer(self.ports.hands.offered());
        self.ports.hands.begin_turn();
        self.talk.line.begin_turn(self.clock());
        self.talk.line.can_shorten(self.ports.economy.policy.enabled);
        self.talk.line.try_until(self.ports.purse.deadline());
        self.enter().await
    }

    /// An earlier turn that was cut off gets its end.
    async fn leave_behind(&mut self, stop: &Stop) -> Result<(), End> {
        self.settle(Fate::Dropped, stop).await?;
        match self.talk.last() {
            Some(Message::Tool(_) | Message::User(_)) => self.say(Message::assistant(words::UNFINISHED)).await,
            _ => Ok(()),
        }
    }

    /// Nothing was acted on yet, so a store that does not take what is said costs the record and not the answer. The
    /// person hears of it before anything begins.
    async fn do_without_record(&mut self, reason: String) {
        self.notice(Notice::Warning { text: format!("this conversation is not kept: {reason}") });
        self.ports.book.do_without(reason).await;
    }

    /// What the turn begins with, as far as the conversation on disk does not tell it.
    pub(super) fn scene(&self, asked: TurnStart) -> TurnScene {
        TurnScene {
            run: Run::default(),
            nth: 0,
            began: self.began,
            after: None,
            asked,
            iterations: self.ports.iterations,
            retries: self.ports.manner.retries,
            live: self.ports.manner.live,
            reasoning: self.talk.reasoning,
            max_output_tokens: self.talk.max_output_tokens,
            unkept_words: self.talk.says_more_than_is_kept(),
        }
    }

    /// A session is in the middle of one turn at a time, and each begins where the one before ended, whoever had it.
    async fn enter(&mut self) -> Result<(), End> {
        let entered = self.ports.book.enter().await;
        self.talk.session = self.ports.book.session();
        match entered {
            Ok(Some(whole)) => self.talk.reload(whole),
            Ok(None) => {}
            Err(taken @ StoreError::Taken { .. }) => return Err(End::Taken(taken.to_string())),
            Err(error) => return Err(lost(error)),
        }
        self.begins_at = self.talk.history().len();
        Ok(())
    }

    /// The question, cleaned, with what hooks have to add, on disk and then in the history.
    async fn put(&mut self, question: Question, stop: &Stop) {
        let Question { content, keep } = question;
        let content = sanitise::content(content);
        let mut sent = content.clone();
        if let (Content::Text(asked), Content::Text(text)) = (&content, &mut sent) {
            let is_first = self.talk.history().is_empty();
            let opening = Opening { session: &self.talk.session, question: asked, is_first };
            for hook in self.ports.hooks {
                let context = tokio::select! {
                    biased;
                    () = stop.wait() => break,
                    context = hook.begins(opening) => context,
                };
                if let Some(context) = context {
                    text.push_str(&sanitise::fenced(&context));
                }
            }
        }
        let kept = keep.map_or(content, sanitise::content);
        let differs = sent != kept;
        let said = Message::User(Plain::new(kept));
        let new = NewMessage { sent: differs.then(|| sent.clone()), ..said.into() };
        if let Err(error) = self.ports.book.said(new).await {
            self.do_without_record(error.to_string()).await;
        }
        self.talk.push(Message::User(Plain::new(sent)));
    }

    /// Gives every call that was left open its result.
    async fn settle(&mut self, otherwise: Fate, stop: &Stop) -> Result<(), End> {
        if self.talk.history().is_empty() {
            return Ok(());
        }
        let left = open_calls(self.talk.history());
        let begun = self.ports.book.left_begun(&left).await.map_err(lost)?;
        let repeated = repeated_calls(self.talk.history());
        let fate = |call: &ToolCall| match () {
            () if begun.contains_key(&call.id) => Fate::Unknown,
            () if repeated.contains(&call.id) => Fate::Repeated,
            () => otherwise,
        };
        let mut results = Vec::new();
        let mut to_run = Vec::new();
        for mut call in left {
            // Its result is told of the tool that ran.
            if let Some(tool) = begun.get(&call.id) {
                call.function.name.clone_from(tool);
            }
            let (text, status, disposition) = match fate(&call) {
                Fate::Run => {
                    to_run.push(call);
                    continue;
                }
                Fate::Unknown => (words::outcome_unknown(&call), ToolStatus::Failed, Disposition::Unknown),
                Fate::Dropped => (words::never_begun(&call), ToolStatus::Cancelled, Disposition::None),
                Fate::Repeated => (words::said_twice(), ToolStatus::Blocked, Disposition::None),
            };
            let finished = Finished { disposition, ..Finished::refused(&call, status, text) };
            self.ports.book.ended(&finished).await.map_err(lost)?;
            if disposition == Disposition::Unknown {
                self.ports.book.given_up(&call.id).await.map_err(lost)?;
            }
            results.push(finished.into_message());
        }
        self.talk.settle(results);
        match to_run.is_empty() {
            true => Ok(()),
            false => self.run(&to_run, stop).await,
        }
    }
}

/// The calls of the last reply that stand in it before already. They never run, whoever goes on with the reply.
fn repeated_calls(history: &[Arc<Message>]) -> Vec<CallId> {
    let said = history.iter().rev().find_map(|message| match &**message {
        Message::Assistant(said) => Some(said),
        _ => None,
    });
    let calls = said.map(|said| said.tool_calls.as_slice()).unwrap_or_default();
    told_apart(calls).1.into_iter().map(|call| call.id.clone()).collect()
}

/// The parts of an answer whose rest the model was asked for last.
fn parts_so_far(history: &[Arc<Message>]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut backwards = history.iter().rev();
    while backwards.next().is_some_and(|message| words::is_go_on(message)) {
        match backwards.next().map(|message| &**message) {
            Some(Message::Assistant(said)) if said.tool_calls.is_empty() => {
                parts.push(said.content.as_ref().map(Content::text).unwrap_or_default());
            }
            _ => break,
        }
    }
    parts.reverse();
    parts
}

/// Where the question of the last turn stands.
pub(super) fn question_at(history: &[Arc<Message>]) -> Option<usize> {
    let is_question = |message: &Message| matches!(message, Message::User(_)) && !words::is_synthetic(message);
    history.iter().rposition(|message| is_question(message))
}
