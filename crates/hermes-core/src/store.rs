//! The memory port: where conversations are kept.
//!
//! What a method returned `Ok` for is kept, whatever happens to the process next. Every method is one transaction.
//! Nothing here tells how the store works: SQLite in the home directory is one, a server for many machines may be another.

use futures_util::future::BoxFuture;
use hermes_types::{
    Bill, Break, CallId, CallRecord, CompressionRecord, EffectRecord, EffectState, EndReason, Exchange, Export, Found,
    Insights, ListOrder, Meant, Message, MessageId, Moment, NewMessage, NewSession, Pruned, Relative, SearchQuery,
    Session, SessionFilter, SessionId, SessionSummary, Span, Spent, StoreFacts, StoredMessage, SummaryRest, TitleFault,
    TurnRecord, UsageRow,
};

/// The answer of a store, some time later.
pub type Kept<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What went wrong, in words for the person it happens to.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    #[error("there is no session {0}; `hermes sessions list` shows what there is")]
    NoSession(String),
    #[error("{prefix} is the beginning of several sessions: {}; type more of it", ids.join(", "))]
    Ambiguous { prefix: String, ids: Vec<String> },
    #[error("session {session} has no message {message}")]
    NoMessage { session: SessionId, message: MessageId },
    #[error("the title \"{title}\" is already in use by {holder}")]
    TitleTaken { title: String, holder: SessionId },
    #[error(transparent)]
    Title(#[from] TitleFault),
    #[error("there is a session {0} already")]
    Exists(SessionId),
    #[error("session {0} cannot descend from itself")]
    Circle(SessionId),
    #[error("session {session} went on while it was summarised: its newest message is {newest} now; read it again")]
    Moved { session: SessionId, newest: MessageId },
    #[error("session {session} was compressed and goes on in {next}; go on there")]
    GoesOn { session: SessionId, next: SessionId },
    #[error("process {process} is at work in session {session}; wait until it is done, or end it first")]
    Taken { session: SessionId, process: u32 },
    #[error("message {message} of session {session} was read by a model and stays as it is; take it back instead")]
    Seen { session: SessionId, message: MessageId },
    #[error("{place} is in use by other programs and did not become free in time; nothing was written, try again")]
    Busy { place: String },
    #[error("there is no room left on the disk of {place}; nothing was written. Free some and try again")]
    Full { place: String },
    #[error("{place} cannot be written: {reason}. Reading still works")]
    ReadOnly { place: String, reason: String },
    #[error(
        "{place} is damaged ({detail}). Nothing is written to it any more, and nothing was removed. \
         `hermes sessions recover` saves what can be read into a new file"
    )]
    Damaged { place: String, detail: String },
    #[error(
        "{place} was written by a newer program (schema {found}, this one knows up to {known}). It can be read, \
         not written; update hermes to go on"
    )]
    TooNew { place: String, found: u32, known: u32 },
    #[error("{place} cannot be opened: {reason}")]
    Unusable { place: String, reason: String },
    #[error("the session store was closed")]
    Closed,
    #[error("the session store failed: {0}")]
    Failed(String),
}

/// Conversations on disk, found again, shared by many processes.
pub trait SessionStore: Sessions + Transcript + Search + Ledger + Tape {}

impl<T: Sessions + Transcript + Search + Ledger + Tape> SessionStore for T {}

/// The records of sessions: their life, names and descent.
pub trait Sessions: Send + Sync {
    /// Begins a session. One that exists gets what it lacks; nothing it has is overwritten.
    fn create(&self, session: NewSession) -> Kept<'_, ()>;

    /// Gives a session another system prompt, in place of the one it began with.
    fn set_prompt(&self, id: &SessionId, prompt: &str) -> Kept<'_, ()>;

    /// Ends a session; `false` when it had ended before, and keeps its first reason.
    fn end(&self, id: &SessionId, reason: EndReason) -> Kept<'_, bool>;

    /// Takes the end back. Refused with [`StoreError::GoesOn`] when compression continued it: two would go on then.
    fn reopen(&self, id: &SessionId) -> Kept<'_, ()>;

    /// Takes a session for a turn, and tells its newest live message. Refused with [`StoreError::Taken`] as long as
    /// another program that lives is in the middle of one, and with [`StoreError::GoesOn`] when compression continued it
    /// elsewhere. Taking twice is taking once.
    fn take(&self, id: &SessionId) -> Kept<'_, Option<MessageId>>;

    /// Lets others take the session.
    fn let_go(&self, id: &SessionId) -> Kept<'_, ()>;

    fn session(&self, id: &SessionId) -> Kept<'_, Option<Session>>;

    /// The session a person means: an id, a title, or the beginning of an id.
    fn find(&self, name: &str, meant: Meant) -> Kept<'_, SessionId>;

    /// The session a person wants to go on with: a title is the newest of its lineage.
    fn resolve(&self, name: &str) -> Kept<'_, SessionId> {
        self.find(name, Meant::Newest)
    }

    /// Where a conversation goes on: the newest session that compression continued it in.
    fn tip(&self, id: &SessionId) -> Kept<'_, SessionId>;

    fn list(
        &self,
        filter: SessionFilter,
        order: ListOrder,
        limit: usize,
        offset: usize,
    ) -> Kept<'_, Vec<SessionSummary>>;

    /// Names a session; an empty title takes the name away. The title as it was stored comes back.
    fn rename(&self, id: &SessionId, title: &str) -> Kept<'_, Option<String>>;

    /// Names a session that has no name yet; `false` when it has one.
    fn rename_if_unnamed(&self, id: &SessionId, title: &str) -> Kept<'_, bool>;

    /// `Title`, or `Title #2` and so on where that is taken.
    fn next_title(&self, title: &str) -> Kept<'_, String>;

    /// The whole family of a session: its first ancestor and everything that descends from that, parents before children.
    fn lineage(&self, id: &SessionId) -> Kept<'_, Vec<Relative>>;

    /// Copies a conversation, up to and including a message, into a new session that descends from it.
    fn branch(&self, from: &SessionId, new: NewSession, upto: Option<MessageId>) -> Kept<'_, ()>;

    /// Continues a conversation that compression made shorter: a new session with these messages takes over, and the old
    /// one ends and keeps all of its own. The new one has the source and, where it is given nothing else, everything
    /// that is known of the old one; the next title; the turn, if it was taken; and what has begun and not ended.
    ///
    /// Refused with [`StoreError::Moved`] when there are live messages newer than `upto`, which the new ones do not
    /// know; with [`StoreError::Taken`] while another program is in the middle of a turn; with [`StoreError::GoesOn`]
    /// when it was continued before.
    fn go_on_in(
        &self,
        from: &SessionId,
        new: NewSession,
        upto: MessageId,
        messages: Vec<NewMessage>,
    ) -> Kept<'_, Vec<MessageId>>;

    /// Removes a conversation for good: a session, all that compression continued it in or from, and their sub-agents.
    /// Other descendants become roots. `false` when there was none.
    fn delete(&self, id: &SessionId) -> Kept<'_, bool>;

    /// Removes a session that nobody said anything in and nobody named.
    fn delete_if_empty(&self, id: &SessionId) -> Kept<'_, bool>;

    /// Removes conversations that have ended, each as a whole. With `dry_run` only tells which sessions that are.
    fn prune(&self, filter: SessionFilter, dry_run: bool) -> Kept<'_, Pruned>;

    fn facts(&self) -> Kept<'_, StoreFacts>;
}

/// The messages of sessions.
pub trait Transcript: Send + Sync {
    /// Keeps messages, all or none.
    fn append(&self, id: &SessionId, messages: Vec<NewMessage>) -> Kept<'_, Vec<MessageId>>;

    /// Every message, also those that were summarised away or taken back, and the rows other programs keep beside them.
    fn messages(&self, id: &SessionId) -> Kept<'_, Vec<StoredMessage>>;

    /// The conversation as it goes to a model: live messages in order, with what was sent in place of what was said, each
    /// with the place it is kept at.
    fn conversation(&self, id: &SessionId, span: Span) -> Kept<'_, Vec<(MessageId, Message)>>;

    /// One message, whichever session it is in and whatever became of it.
    fn message(&self, message: MessageId) -> Kept<'_, Option<StoredMessage>>;

    /// The messages around one, at most `window` on each side.
    fn around(&self, id: &SessionId, message: MessageId, window: usize) -> Kept<'_, Vec<StoredMessage>>;

    /// Replaces a live message that no model has read yet, which keeps its id, its place and, unless another is given, its
    /// time. Refused with [`StoreError::Seen`] when a model has answered since: what was sent is not rewritten.
    fn revise(&self, id: &SessionId, message: MessageId, new: NewMessage) -> Kept<'_, ()>;

    /// Summarises in place: what is live up to `upto` becomes compacted, and these messages take its place. Refused with
    /// [`StoreError::Moved`] when there are newer live messages: the summary does not know them.
    fn compact(&self, id: &SessionId, upto: MessageId, messages: Vec<NewMessage>) -> Kept<'_, Vec<MessageId>>;

    /// Takes a message of the person and everything after it back; tells how many.
    fn rewind(&self, id: &SessionId, to: MessageId) -> Kept<'_, u64>;

    /// Removes the messages and what was sent of them, and keeps the session.
    fn clear(&self, id: &SessionId) -> Kept<'_, u64>;

    /// A session with all its messages; `None` when there is none. What went over the wire is not part of it.
    fn export(&self, id: &SessionId) -> Kept<'_, Option<Export>>;
}

/// Finding things again.
pub trait Search: Send + Sync {
    fn search(&self, query: SearchQuery) -> Kept<'_, Found>;
}

/// What was spent and what was done.
pub trait Ledger: Send + Sync {
    /// Records a call of a model, and adds it to the sums of its session.
    fn record_call(&self, call: CallRecord) -> Kept<'_, ()>;

    fn record_turn(&self, turn: TurnRecord) -> Kept<'_, ()>;

    fn record_compression(&self, compression: CompressionRecord) -> Kept<'_, ()>;

    /// How often a conversation was compressed, up to and with this session: its own and those of the sessions it
    /// continues, oldest first.
    fn compressions(&self, session: &SessionId) -> Kept<'_, Vec<CompressionRecord>>;

    /// Until when no summary is asked for in a session; the default where nothing failed.
    fn summary_rest(&self, session: &SessionId) -> Kept<'_, SummaryRest>;

    /// Tells every program how long no summary is asked for; the default takes a rest back. It goes along when a
    /// conversation goes on in another session.
    fn set_summary_rest(&self, session: &SessionId, rest: SummaryRest) -> Kept<'_, ()>;

    /// Records that a tool is about to change the world. Comes before it does.
    fn begin_effect(&self, effect: EffectRecord) -> Kept<'_, ()>;

    fn end_effect(&self, session: &SessionId, call: &CallId, state: EffectState, at: Moment) -> Kept<'_, ()>;

    /// Effects that were begun and never ended: their outcome is unknown.
    fn open_effects(&self, session: &SessionId) -> Kept<'_, Vec<EffectRecord>>;

    /// The sums of calls by model and task, of one session or all.
    fn usage(&self, session: Option<&SessionId>) -> Kept<'_, Vec<UsageRow>>;

    /// What the whole conversation that a session belongs to cost, sub-agents included. The one account that every
    /// report about a conversation is drawn from.
    fn bill(&self, session: &SessionId) -> Kept<'_, Bill>;

    /// What all sessions spent since a moment. Other programs write no times down, so their calls are not in it.
    fn spent(&self, since: Moment) -> Kept<'_, Spent>;

    fn insights(&self, from: Moment, to: Moment, source: Option<&str>) -> Kept<'_, Insights>;
}

/// What went over the wire. It belongs to its session and goes with it; taking messages back or summarising them leaves it
/// as it is, and a branch begins without one.
pub trait Tape: Send + Sync {
    fn record_exchange(&self, exchange: Exchange) -> Kept<'_, ()>;

    /// The exchanges of a session in the order they were recorded, with whole bodies: of a long session only a part at a
    /// time should be asked for.
    fn exchanges(&self, session: &SessionId, limit: usize, offset: usize) -> Kept<'_, Vec<Exchange>>;

    /// The requests of the conversation that do not extend the one before, by [`prefix::extends`](crate::prefix::extends)
    /// or because another model was asked. Jobs beside the conversation are not part of it.
    fn breaks(&self, session: &SessionId) -> Kept<'_, Vec<Break>>;
}
