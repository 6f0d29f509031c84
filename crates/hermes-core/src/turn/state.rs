//! The state of one turn: one struct, born with it and gone with it.

use super::End;
use super::budget::Iterations;
use super::ports::Ports;
use super::reading::{Facts, Reading, Strikes, read};
use super::words;
use crate::conversation::Conversation;
use crate::ports::Card;
use crate::receipt::Receipt;
use hermes_types::{Event, Message, Moment, Notice, Reply, Usage};
use std::time::Duration;

/// Tools that keep house: text beside their calls can be the answer already.
const HOUSEKEEPING: [&str; 4] = ["memory", "todo", "skill_manage", "session_search"];
/// Results of tools count as fresh so many messages long.
const FRESH: usize = 5;

pub(super) struct Turn<'a> {
    pub(super) talk: &'a mut Conversation,
    pub(super) ports: &'a Ports<'a>,
    pub(super) iterations: Iterations,
    pub(super) strikes: Strikes,
    /// The parts of an answer that came in several replies.
    pub(super) parts: Vec<String>,
    /// Text beside the last calls, when those only kept house.
    pub(super) said_before: Option<String>,
    /// The last text beside calls: what there is to read when no answer comes.
    pub(super) beside_calls: Option<String>,
    /// What the person gets to read, as far as it is known.
    pub(super) text: Option<String>,
    pub(super) reasoning: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) last_prompt: Option<u64>,
    pub(super) answered_by: Option<String>,
    pub(super) tool_calls: u64,
    pub(super) began: Moment,
    /// What the last reply cost, where its provider counted.
    pub(super) receipt: Option<Receipt>,
    /// Calls of models before this turn.
    pub(super) calls_before: u64,
    /// Where in the history the turn begins.
    pub(super) begins_at: usize,
    pub(super) price_told: bool,
    /// How often the provider found the conversation too long, and it was made shorter.
    pub(super) overflows: u32,
    /// What the conversation took up when it could not be made shorter.
    pub(super) declined_at: Option<u64>,
    /// Why an answer that is there could not be written down.
    pub(super) not_kept: Option<String>,
}

impl<'a> Turn<'a> {
    pub(super) fn new(talk: &'a mut Conversation, ports: &'a Ports<'a>) -> Self {
        let (calls_before, begins_at) = (talk.line.calls(), talk.history().len());
        Self {
            talk,
            ports,
            iterations: Iterations::of(ports.iterations),
            strikes: Strikes::default(),
            parts: Vec::new(),
            said_before: None,
            beside_calls: None,
            text: None,
            reasoning: None,
            usage: None,
            last_prompt: None,
            answered_by: None,
            tool_calls: 0,
            began: ports.book.now(),
            receipt: None,
            calls_before,
            begins_at,
            price_told: false,
            overflows: 0,
            declined_at: None,
            not_kept: None,
        }
    }

    pub(super) fn tell(&self, event: Event) {
        self.ports.listener.hear(event);
    }

    pub(super) fn notice(&self, notice: Notice) {
        self.tell(Event::Notice { notice });
    }

    /// What the reply means; takes note of it.
    pub(super) fn read(&mut self, reply: &Reply) -> Reading {
        let tools = self.talk.tools().clone();
        let called = reply.tool_calls().iter().map(|call| call.function.name.as_str());
        let understood = called.filter(|name| self.ports.hands.understands(name));
        let since_question = self.talk.history().iter().rev().take(FRESH).take_while(|message| match ***message {
            Message::User(_) => words::is_synthetic(message),
            _ => true,
        });
        let facts = Facts {
            offered: tools.iter().map(|tool| tool.name.as_str()).chain(understood).collect(),
            after_tools: since_question.into_iter().any(|message| matches!(**message, Message::Tool(_))),
            said_before: self.said_before.is_some(),
            answer_begun: !self.parts.is_empty(),
        };
        let reading = read(reply, &self.strikes, &facts);
        self.strikes.took(&reading, facts.knows_none_of(reply));
        reading
    }

    /// Takes note of what came back beside the words of a reply.
    pub(super) fn count(&mut self, reply: &Reply, took: Duration) {
        let model = self.talk.line.model();
        self.receipt = model.zip(reply.usage).map(|(model, usage)| Receipt::of(&**model, usage, took));
        self.count_receipt(self.receipt.clone().as_ref());
        if let Some(usage) = reply.usage {
            self.talk.counted(usage.prompt());
        }
        self.answered_by.clone_from(&reply.model);
        if let Some(thoughts) = reply.message.reasoning.as_ref().filter(|text| !text.trim().is_empty()) {
            self.reasoning = Some(thoughts.clone());
        }
    }

    /// Adds to the sums of the turn, and to what the whole tree of agents spent.
    pub(super) fn count_receipt(&mut self, receipt: Option<&Receipt>) {
        if let Some(Receipt { usage, .. }) = receipt {
            *self.usage.get_or_insert_default() += *usage;
            self.last_prompt = Some(usage.prompt());
        }
        if !self.ports.purse.pay(receipt) && !self.price_told {
            self.price_told = true;
            let model = self.talk.line.model().map(|model| model.card().model.clone()).unwrap_or_default();
            self.notice(Notice::PriceUnknown { model });
        }
    }

    /// Whether the calls of a reply only keep house; then the text beside them may be the answer.
    pub(super) fn remember_text(&mut self, reply: &Reply) {
        let keeps_house = reply.tool_calls().iter().all(|call| HOUSEKEEPING.contains(&call.function.name.as_str()));
        let text = Some(reply.text()).filter(|text| !text.trim().is_empty());
        if text.is_some() {
            self.beside_calls.clone_from(&text);
        }
        self.said_before = text.filter(|_| keeps_house);
    }

    /// Who is asked now.
    pub(super) fn card(&self) -> Option<Card> {
        self.talk.line.model().map(|model| model.card().clone())
    }

    pub(super) fn clock(&self) -> Duration {
        self.ports.clock.elapsed()
    }
}

/// What could not be written down ends the turn.
pub(super) fn lost(error: impl std::fmt::Display) -> End {
    End::NotKept(error.to_string())
}
