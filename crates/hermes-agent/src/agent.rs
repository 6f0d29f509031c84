//! One agent: a conversation that can be begun, resumed, spoken to and closed.

use crate::crew::{AgentCrew, session_id};
use crate::hands::DeskHands;
use crate::notebook::Notebook;
use hermes_core::ask::Manner;
use hermes_core::book::Book;
use hermes_core::clock::Clock;
use hermes_core::context::{Compressor, Engine, Policy, Scribe, Truncator, plan_in};
use hermes_core::conversation::Conversation;
use hermes_core::ports::{Listener, Switchboard};
use hermes_core::stop::Stop;
use hermes_core::store::{SessionStore, StoreError};
use hermes_core::till::Till;
use hermes_core::turn::budget::{ITERATIONS, Limits, Purse};
use hermes_core::turn::{
    Asked, Economy, Inbox, Keeper, NotShorter, Outcome, Ports, Shorten, TurnHook, run_turn, shorten,
};
use hermes_tools::desk::{Desk, Pictures, Reach, Workshop};
use hermes_tools::registry::Registry;
use hermes_tools::run::Hook;
use hermes_tools::toolset::Grant;
use hermes_types::{
    BreakCause, CompressionRecord, Concession, EndReason, Event, Kinship, Message, Moment, NewSession, Notice,
    Reasoning, RowState, SessionId, Spent, StoredMessage,
};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use std::sync::Arc;

/// What agents are made from: everything that comes from outside.
#[derive(Clone)]
pub struct Kit {
    /// Finds the models of the conversation.
    pub switchboard: Arc<dyn Switchboard>,
    /// Finds the models of sub-agents, where they have others.
    pub for_children: Option<Arc<dyn Switchboard>>,
    pub shop: Arc<Workshop>,
    pub registry: Arc<Registry>,
    /// Where it is kept; without one it is not.
    pub store: Option<Arc<dyn SessionStore>>,
    /// Where jobs beside the conversation are paid.
    pub till: Arc<Till>,
    pub clock: Arc<dyn Clock>,
    pub listener: Arc<dyn Listener>,
    pub hooks: Vec<Arc<dyn TurnHook>>,
    /// What stands around each call, its sub-agents' included.
    pub call_hooks: Vec<Arc<dyn Hook>>,
    /// Who writes the summaries of conversations that grew too long, where that is not the model that holds them.
    pub scribe: Option<Arc<dyn Scribe>>,
    pub settings: Settings,
}

/// How agents work.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// How often a turn may ask its model (`agent.max_turns`).
    pub iterations: u32,
    pub manner: Manner,
    /// `budget.*`
    pub limits: Limits,
    pub reasoning: Option<Reasoning>,
    pub max_output_tokens: Option<u32>,
    /// `compression.*`
    pub compression: Policy,
    /// `context.engine`
    pub engine: EngineName,
}

/// What makes conversations shorter that grew too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineName {
    /// Leaves out what is old, and summarises what that does not make short enough.
    #[default]
    Compressor,
    /// Drops the oldest messages.
    Truncator,
}

impl EngineName {
    pub const ALL: [Self; 2] = [Self::Compressor, Self::Truncator];

    pub fn as_str(self) -> &'static str {
        self.engine().name()
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|engine| engine.as_str() == word)
    }

    fn engine(self) -> &'static dyn Engine {
        match self {
            Self::Compressor => &Compressor,
            Self::Truncator => &Truncator,
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            iterations: ITERATIONS,
            manner: Manner { retries: 3, live: false, seed: 0 },
            limits: Limits::default(),
            reasoning: None,
            max_output_tokens: None,
            compression: Policy::default(),
            engine: EngineName::default(),
        }
    }
}

/// What a conversation begins with.
#[derive(Debug, Clone, PartialEq)]
pub struct Beginning {
    /// Its record; the system prompt in it is used as it is.
    pub session: NewSession,
    /// What it may call, tools that join later included. Not kept with it: who goes on says it anew, and whether some
    /// of its tools are found by searching is decided by the settings of then.
    pub tools: Grant,
    /// Words behind the system prompt that are never kept.
    pub ephemeral: Option<String>,
    /// Messages behind the system prompt that are never kept.
    pub prefill: Vec<Message>,
    /// Whether it is there after its answer.
    pub reach: Reach,
    /// Why it is not kept, where the person was told so already.
    pub not_kept: Option<String>,
}

impl Beginning {
    pub fn new(session: NewSession, tools: impl Into<Grant>) -> Self {
        Self {
            session,
            tools: tools.into(),
            ephemeral: None,
            prefill: Vec::new(),
            reach: Reach::Lasting,
            not_kept: None,
        }
    }
}

/// A conversation with hands.
pub struct Agent {
    kit: Arc<Kit>,
    talk: Conversation,
    book: Book,
    hands: DeskHands,
    inbox: Arc<Inbox>,
    /// What is still to be written before the first message.
    unborn: Option<NewSession>,
    /// Shared with whoever sent this agent out.
    purse: Option<Arc<Purse>>,
    /// Those it can send out itself.
    crew: Option<Arc<AgentCrew>>,
}

impl Agent {
    /// A new conversation. Nothing is written before the first question.
    pub fn begin(kit: Arc<Kit>, beginning: Beginning) -> Self {
        let Beginning { session, tools, ephemeral, prefill, reach, not_kept } = beginning;
        let desk = Desk::reached(kit.shop.clone(), session.id.clone(), reach);
        let prompt = session.system_prompt.clone().unwrap_or_default();
        let talk =
            Conversation::new(session.id.clone()).with_prompt(&prompt, ephemeral.as_deref()).with_prefill(prefill);
        let crew = AgentCrew::of_person(kit.clone(), tools.clone());
        let agent = Self::of(kit, talk, tools, desk, Some(session)).with_crew(crew);
        if let Some(reason) = not_kept {
            agent.book.give_up(reason);
        }
        agent
    }

    /// A conversation that another agent begins: at the desk and with the purse it was given.
    pub(crate) fn sent_out(
        kit: Arc<Kit>,
        beginning: Beginning,
        desk: Arc<Desk>,
        purse: Arc<Purse>,
        crew: Option<Arc<AgentCrew>>,
    ) -> Self {
        let Beginning { session, tools, .. } = beginning;
        let prompt = session.system_prompt.clone().unwrap_or_default();
        let talk = Conversation::new(session.id.clone()).with_prompt(&prompt, None);
        let agent = Self { purse: Some(purse), ..Self::of(kit, talk, tools, desk, Some(session)) };
        match crew {
            Some(crew) => agent.with_crew(crew),
            None => agent,
        }
    }

    /// A conversation that goes on. `beginning` names the session and what is not kept with it: tools, ephemeral text,
    /// and the prompt to use where none was kept.
    pub async fn resume(kit: Arc<Kit>, beginning: Beginning) -> Result<Self, StoreError> {
        let Beginning { session, tools, ephemeral, prefill, reach, .. } = beginning;
        let store = kit.store.clone().ok_or(StoreError::Closed)?;
        let kept = store.session(&session.id).await?.ok_or_else(|| StoreError::NoSession(session.id.to_string()))?;
        // Before anything is read: a turn that was dropped in this program may still have a write in the queue.
        store.reopen(&session.id).await?;
        let rows = store.messages(&session.id).await?;
        let is_live = |row: &StoredMessage| row.state == RowState::Live && row.foreign_role.is_none();
        let newest = rows.iter().rfind(|row| row.state == RowState::Live).map(|row| row.id);
        let history: Vec<Message> = rows.into_iter().filter(is_live).map(StoredMessage::into_replay).collect();
        let desk = Desk::reached(kit.shop.clone(), session.id.clone(), reach);
        restore_plan(&desk, &history);
        let prompt = kept.system_prompt.filter(|prompt| !prompt.trim().is_empty()).or(session.system_prompt);
        let mut talk = Conversation::new(session.id.clone())
            .known_as(first_of(&*store, &session.id).await?)
            .with_prompt(&prompt.unwrap_or_default(), ephemeral.as_deref())
            .with_prefill(prefill)
            .with_history(history);
        // Tools or the model may be others than those of the program that had it; if they are, this is why.
        talk.line.expect_break(BreakCause::Resume);
        let crew = AgentCrew::of_person(kit.clone(), tools.clone());
        let agent = Self::of(kit, talk, tools, desk, None).with_crew(crew);
        Ok(Self { book: agent.book.read_up_to(newest), ..agent })
    }

    fn of(kit: Arc<Kit>, mut talk: Conversation, tools: Grant, desk: Arc<Desk>, unborn: Option<NewSession>) -> Self {
        talk.reasoning = kit.settings.reasoning;
        talk.max_output_tokens = kit.settings.max_output_tokens;
        let book = Book::new(kit.store.clone(), talk.session.clone(), kit.clock.clone());
        let hands = DeskHands::new(kit.registry.clone(), tools, &kit.call_hooks, desk);
        Self { kit, talk, book, hands, inbox: Arc::default(), unborn, purse: None, crew: None }
    }

    fn with_crew(mut self, crew: Arc<AgentCrew>) -> Self {
        self.desk().give_crew(crew.clone());
        self.crew = Some(crew);
        self
    }

    pub fn session(&self) -> &SessionId {
        &self.talk.session
    }

    pub fn conversation(&self) -> &Conversation {
        &self.talk
    }

    /// Where this conversation works.
    pub fn desk(&self) -> &Arc<Desk> {
        self.hands.desk()
    }

    /// Where somebody can speak to it while it works.
    pub fn inbox(&self) -> Arc<Inbox> {
        self.inbox.clone()
    }

    /// One turn, with all there is to know about it.
    pub async fn run_conversation(&mut self, asked: impl Into<Asked>, stop: &Stop) -> Outcome {
        let purse = self.be_ready().await;
        let _paying = self.kit.till.open(self.talk.session.clone(), purse.clone());
        let fittings = Fittings::of(&self.kit, &self.hands);
        let (hands, book, inbox) = (&self.hands, &self.book, &*self.inbox);
        let ports = fittings.ports(&self.kit, hands, book, inbox, &purse);
        let outcome = run_turn(&mut self.talk, asked.into(), &ports, stop).await;
        self.remember_sight();
        outcome
    }

    /// Makes the conversation shorter between two turns, because the person wants it or because it is crowded.
    pub async fn shorten(&mut self, wish: &Shorten, stop: &Stop) -> Result<CompressionRecord, NotShorter> {
        let purse = self.be_ready().await;
        let _paying = self.kit.till.open(self.talk.session.clone(), purse.clone());
        let fittings = Fittings::of(&self.kit, &self.hands);
        let (hands, book, inbox) = (&self.hands, &self.book, &*self.inbox);
        let ports = fittings.ports(&self.kit, hands, book, inbox, &purse);
        shorten(&mut self.talk, wish, &ports, stop).await
    }

    /// The session on disk, and a purse for what comes.
    async fn be_ready(&mut self) -> Arc<Purse> {
        self.be_born().await;
        let purse = self.purse_for_turn().await;
        if let Some(crew) = &self.crew {
            crew.pay_from(purse.clone());
        }
        purse
    }

    /// What a provider refused once in this conversation, tools do not try again.
    fn remember_sight(&self) {
        let pictures = [Concession::Images, Concession::ToolResultParts];
        if pictures.into_iter().any(|concession| self.talk.line.concedes(concession)) {
            self.desk().sight.set(Pictures::Unseen);
        }
    }

    /// One turn: the answer, or everything about why there is none.
    pub async fn chat(&mut self, text: &str) -> Result<String, Box<Outcome>> {
        let outcome = self.run_conversation(text, &Stop::new()).await;
        match (outcome.completed(), &outcome.text) {
            (true, Some(answer)) => Ok(answer.clone()),
            _ => Err(Box::new(outcome)),
        }
    }

    /// Nothing happens for a while: what is on disk is not held in memory as well. The next turn reads it again.
    pub fn rest(&mut self) {
        if self.unborn.is_none() && self.book.rest() {
            self.talk.rest();
        }
    }

    /// Ends what the conversation started, and the conversation.
    pub async fn close(&self, reason: EndReason) -> Result<(), StoreError> {
        self.desk().close().await;
        match self.book.store() {
            Some(store) if self.unborn.is_none() && !self.book.is_elsewhere() => {
                store.end(self.session(), reason).await.map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// The session with its prompt, before its first message.
    async fn be_born(&mut self) {
        let (Some(session), Some(store)) = (self.unborn.take(), self.book.store().cloned()) else { return };
        if let Err(error) = store.create(session).await {
            self.book.give_up(error.to_string());
        }
    }

    async fn purse_for_turn(&self) -> Arc<Purse> {
        if let Some(shared) = &self.purse {
            return shared.clone();
        }
        let limits = self.kit.settings.limits;
        let (session, day) = if limits.look_back() { self.spent_before().await } else { Default::default() };
        Arc::new(Purse::new(limits, session, day, self.kit.clock.elapsed()))
    }

    /// What was spent in this session and on this day.
    async fn spent_before(&self) -> (Spent, Spent) {
        let Some(store) = self.book.store() else { return Default::default() };
        let (session, day) = tokio::join!(spent_in(&**store, self.session()), store.spent(self.midnight()));
        // A limit that cannot be held because the books cannot be read is told, and does not stop the work.
        let known = |spent: Result<Spent, StoreError>| {
            spent.unwrap_or_else(|error| {
                let text = format!("what was spent before is not known ({error}), so budget.* counts this turn alone");
                self.kit.listener.hear(Event::Notice { notice: Notice::Warning { text } });
                Spent::default()
            })
        };
        (known(session), known(day))
    }

    /// When the day began where the person is.
    fn midnight(&self) -> Moment {
        let now = Timestamp::try_from(self.kit.clock.now()).unwrap_or(Timestamp::UNIX_EPOCH);
        let today = now.to_zoned(TimeZone::system()).start_of_day();
        let began = today.map_or(now, |midnight| midnight.timestamp());
        Moment::from_seconds(began.as_duration().as_secs_f64())
    }
}

/// What a turn needs besides the agent itself.
struct Fittings {
    keeper: Option<Notebook>,
    next_session: Box<dyn Fn() -> SessionId + Send + Sync>,
}

impl Fittings {
    fn of(kit: &Kit, hands: &DeskHands) -> Self {
        let clock = kit.clock.clone();
        let keeper = Notebook::of(hands, kit.clock.clone());
        Self { keeper, next_session: Box::new(move || session_id(clock.now())) }
    }

    fn ports<'a>(
        &'a self,
        kit: &'a Kit,
        hands: &'a DeskHands,
        book: &'a Book,
        inbox: &'a Inbox,
        purse: &'a Purse,
    ) -> Ports<'a> {
        Ports {
            switchboard: &*kit.switchboard,
            hands,
            book,
            purse,
            inbox,
            listener: &*kit.listener,
            clock: &*kit.clock,
            hooks: &kit.hooks,
            manner: kit.settings.manner,
            iterations: kit.settings.iterations,
            economy: Economy {
                policy: &kit.settings.compression,
                engine: kit.settings.engine.engine(),
                scribe: kit.scribe.as_deref(),
                keeper: self.keeper.as_ref().map(|keeper| keeper as &dyn Keeper),
                next_session: &*self.next_session,
            },
        }
    }
}

/// What the conversation of a session has spent, wherever compression continued it, and its sub-agents with it.
async fn spent_in(store: &dyn SessionStore, session: &SessionId) -> Result<Spent, StoreError> {
    if store.session(session).await?.is_none() {
        return Ok(Spent::default());
    }
    Ok(store.bill(session).await?.spent)
}

/// The session in which a conversation began that compression continued in this one.
pub(crate) async fn first_of(store: &dyn SessionStore, session: &SessionId) -> Result<SessionId, StoreError> {
    let family = store.lineage(session).await?;
    let mut first = session;
    while let Some(one) = family.iter().find(|one| one.id == *first && one.kinship == Kinship::Continuation)
        && let Some(parent) = &one.parent
    {
        first = parent;
    }
    Ok(first.clone())
}

/// The plan of the conversation, from the last result that told it.
fn restore_plan(desk: &Desk, history: &[Message]) {
    let results = history.iter().rev().filter_map(plan_in);
    for result in results {
        if desk.todo.restore(&result) {
            return;
        }
    }
}
