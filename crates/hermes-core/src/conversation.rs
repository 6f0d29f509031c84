//! A conversation in memory: what goes to the model, in the order it goes there.
//!
//! It grows at its end and nowhere else, so each request starts with the bytes of the one before. Messages are shared:
//! a request costs a list of pointers, never a copy of the history. What a stranger wrote (a resumed session, a history
//! handed in) is mended once, when it comes in; from then on the loop keeps it whole.

use crate::ask::Line;
use crate::context::Meter;
use crate::repair::{mended, mended_tail, open_calls};
use hermes_types::{BreakCause, Content, Message, Plain, Reasoning, Request, SessionId, ToolChoice, ToolDefinition};
use std::sync::Arc;

pub struct Conversation {
    /// Where it is kept.
    pub session: SessionId,
    /// Its name on the wire, which stays when it goes on in another session: providers cache and route by it.
    thread: SessionId,
    system: Option<Arc<Message>>,
    /// Words for the model that are shown to it after the system prompt and never kept.
    prefill: Vec<Arc<Message>>,
    /// The words behind the system prompt are for the model alone, and kept nowhere.
    is_ephemeral: bool,
    tools: Arc<[ToolDefinition]>,
    history: Vec<Arc<Message>>,
    /// As many messages of the history were sent to a model: they must not change any more.
    sent: usize,
    /// How much of the window it takes up.
    meter: Meter,
    /// Passes in a row that made it hardly shorter.
    pub(crate) idle_passes: u32,
    /// Whom it talks to.
    pub line: Line,
    pub reasoning: Option<Reasoning>,
    pub max_output_tokens: Option<u32>,
}

impl Conversation {
    pub fn new(session: SessionId) -> Self {
        Self {
            thread: session.clone(),
            session,
            system: None,
            prefill: Vec::new(),
            is_ephemeral: false,
            tools: Arc::default(),
            history: Vec::new(),
            sent: 0,
            meter: Meter::default(),
            idle_passes: 0,
            line: Line::default(),
            reasoning: None,
            max_output_tokens: None,
        }
    }

    /// A conversation that began as another session is known by its first name.
    #[must_use]
    pub fn known_as(mut self, thread: SessionId) -> Self {
        self.thread = thread;
        self
    }

    /// The system prompt, frozen, with what is said at call time only behind it.
    #[must_use]
    pub fn with_prompt(mut self, prompt: &str, ephemeral: Option<&str>) -> Self {
        let whole = [Some(prompt), ephemeral].into_iter().flatten().map(str::trim).filter(|text| !text.is_empty());
        let whole = whole.collect::<Vec<_>>().join("\n\n");
        self.is_ephemeral = ephemeral.is_some_and(|words| !words.trim().is_empty());
        self.system = (!whole.is_empty()).then(|| Arc::new(Message::system(whole)));
        self.weigh_prompt();
        self
    }

    #[must_use]
    pub fn with_prefill(mut self, prefill: impl IntoIterator<Item = Message>) -> Self {
        self.prefill = prefill.into_iter().map(Arc::new).collect();
        self.weigh_prompt();
        self
    }

    /// A history from elsewhere, mended where it would not be understood.
    #[must_use]
    pub fn with_history(mut self, history: impl IntoIterator<Item = Message>) -> Self {
        self.reload(history);
        self
    }

    /// The whole conversation anew, because others had a part in it.
    pub(crate) fn reload(&mut self, history: impl IntoIterator<Item = Message>) {
        let whole: Vec<Arc<Message>> = mended(history).into_iter().map(Arc::new).collect();
        if !self.history.get(..self.sent).is_some_and(|seen| whole.starts_with(seen)) {
            self.line.expect_break(BreakCause::UserEdit);
        }
        self.replace(whole);
    }

    /// Another history in place of this one. It counts as read: nothing in it may be added to.
    fn replace(&mut self, history: Vec<Arc<Message>>) {
        self.history.clear();
        self.meter.truncate(0);
        self.extend(history);
        self.sent = self.history.len();
    }

    /// Goes on with a shorter history, as the session it is kept in now. What nobody has read is still to be read.
    pub(crate) fn shorten(&mut self, session: SessionId, history: Vec<Arc<Message>>) {
        let unread = self.history.len() - self.sent.min(self.history.len());
        self.session = session;
        self.replace(history);
        self.sent = self.history.len().saturating_sub(unread);
        self.line.expect_break(BreakCause::Compression);
    }

    fn extend(&mut self, messages: impl IntoIterator<Item = Arc<Message>>) {
        for message in messages {
            self.meter.push(&message);
            self.history.push(message);
        }
    }

    fn weigh_prompt(&mut self) {
        self.meter.set_fixed(self.system.iter().chain(&self.prefill), &self.tools);
    }

    /// How much of the window the next request takes up.
    pub fn meter(&self) -> &Meter {
        &self.meter
    }

    /// The provider counted so many tokens for the request that was sent last.
    pub(crate) fn counted(&mut self, tokens: u64) {
        self.meter.counted(tokens, self.sent);
    }

    /// As many messages a model has read.
    pub(crate) fn read(&self) -> usize {
        self.sent
    }

    /// Lets go of what was said; whoever goes on brings it back.
    pub fn rest(&mut self) {
        self.history = Vec::new();
        self.sent = 0;
        self.meter.truncate(0);
    }

    /// Whether the model is given words that are kept nowhere.
    pub(crate) fn says_more_than_is_kept(&self) -> bool {
        self.is_ephemeral || !self.prefill.is_empty()
    }

    /// Whether a model has seen the newest message.
    pub(crate) fn is_sent(&self) -> bool {
        self.sent >= self.history.len()
    }

    /// What the model may call from now on. Set between turns, never within one.
    pub fn offer(&mut self, tools: Arc<[ToolDefinition]>) {
        if self.tools == tools {
            return;
        }
        if self.line.calls() > 0 {
            self.line.expect_break(BreakCause::Tools);
        }
        self.tools = tools;
        self.weigh_prompt();
    }

    pub fn offers(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    pub fn tools(&self) -> &Arc<[ToolDefinition]> {
        &self.tools
    }

    pub fn history(&self) -> &[Arc<Message>] {
        &self.history
    }

    pub fn last(&self) -> Option<&Message> {
        self.history.last().map(|message| &**message)
    }

    /// Whether its last turn got no answer, so that there is something to go on with.
    pub fn is_unfinished(&self) -> bool {
        let is_answered = matches!(self.last(), Some(Message::Assistant(_)) | None);
        !is_answered || !open_calls(&self.history).is_empty()
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.extend([Arc::new(message)]);
    }

    /// The results of calls that were left open, put among those that are there, in the order of the calls.
    pub(crate) fn settle(&mut self, results: Vec<Message>) {
        let replied = self.history.iter().rposition(|message| matches!(**message, Message::Assistant(_)));
        let Some(replied) = replied else { return };
        let known = self.history.split_off(replied).into_iter().map(Arc::unwrap_or_clone);
        let whole = mended_tail(known.chain(results).collect());
        self.meter.truncate(replied);
        self.extend(whole.into_iter().map(Arc::new));
    }

    /// Adds to the newest message, if no model has seen it yet; gives it back as it is now.
    pub(crate) fn amend_last(&mut self, amend: impl FnOnce(&mut Content)) -> Option<&Message> {
        if self.is_sent() {
            return None;
        }
        let last = Arc::make_mut(self.history.last_mut()?);
        match last {
            Message::System(Plain { content, .. }) | Message::User(Plain { content, .. }) => amend(content),
            Message::Assistant(said) => amend(said.content.get_or_insert_default()),
            Message::Tool(result) => amend(&mut result.content),
        }
        self.meter.amend_last(last);
        Some(last)
    }

    /// A question beside the conversation, which begins with its first `messages`: the same bytes, so that it costs
    /// little where they are cached.
    pub(crate) fn aside(&self, messages: usize, question: Message) -> Request {
        let said = self.history.iter().take(messages);
        let messages = self.system.iter().chain(&self.prefill).chain(said).cloned().chain([Arc::new(question)]);
        Request {
            messages: messages.collect(),
            tools: self.tools.clone(),
            reasoning: self.reasoning,
            max_output_tokens: self.max_output_tokens,
            session: Some(self.thread.clone()),
            ..Request::default()
        }
    }

    /// The next question to the model: everything so far.
    pub(crate) fn request(&mut self, tool_choice: ToolChoice, max_output_tokens: Option<u32>) -> Request {
        self.sent = self.history.len();
        let messages = self.system.iter().chain(&self.prefill).chain(&self.history);
        Request {
            messages: messages.cloned().collect(),
            tools: self.tools.clone(),
            tool_choice,
            reasoning: self.reasoning,
            max_output_tokens: max_output_tokens.or(self.max_output_tokens),
            session: Some(self.thread.clone()),
            ..Request::default()
        }
    }
}
