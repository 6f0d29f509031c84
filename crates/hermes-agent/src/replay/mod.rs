//! A recorded session, held again without network, tools or a store to write to.
//!
//! Each turn runs through the loop as it is today: questions and results of tools come from the store, answers and faults
//! from the tape, pauses pass at once. What the loop would send is written by today's encoders for the receiver of then
//! and compared with the bytes of then. A turn begins with the conversation that is on disk in front of it, so that one
//! that differs does not make the next ones differ. What cannot be held again is named, never passed over.

mod player;
mod script;

use crate::agent::first_of;
use bytes::Bytes;
use hermes_core::ask::{Line, Manner};
use hermes_core::book::Book;
use hermes_core::context::{Compressor, Policy};
use hermes_core::conversation::Conversation;
use hermes_core::prefix;
use hermes_core::stop::Stop;
use hermes_core::store::{SessionStore, StoreError};
use hermes_core::turn::budget::Purse;
use hermes_core::turn::{Economy, Inbox, Ports, run_turn};
use hermes_types::{Exchange, Moment, Session, SessionId, StoredMessage, ToolDefinition};
use player::{AGES, Player, Reel, StillClock};
use script::{Recorded, Scene, TurnKey};
use std::sync::Arc;
use std::time::Duration;

/// So many exchanges are held at once, beyond those of one turn: each has a whole body.
const PAGE: usize = 64;

/// How a session is replayed.
#[derive(Debug, Clone, Default)]
pub struct How {
    /// Only the first so many requests.
    pub until: Option<u64>,
    /// These tools are offered in place of the recorded ones.
    pub tools: Option<Arc<[ToolDefinition]>>,
}

/// One request of the conversation, then and now.
#[derive(Debug, Clone, PartialEq)]
pub struct Compared {
    /// Its place among the exchanges of the session, from 1 on.
    pub number: u64,
    pub at: Moment,
    pub provider: String,
    pub model: String,
    pub body: Bytes,
    /// The bytes at its beginning that are those of the request before.
    pub shared: u64,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Same,
    /// These bytes would be sent now.
    Different(Bytes),
    /// The loop would not ask here now.
    NotAsked,
    LeftOut(Reason),
}

/// Why a request cannot be held again.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    #[error("a job beside the conversation ({0})")]
    Job(String),
    #[error("where the loop stood was not recorded")]
    NoScene,
    #[error("its messages were taken back, summarised or removed")]
    MessagesGone,
    #[error("the model was given words that are kept nowhere else")]
    UnkeptWords,
    #[error(transparent)]
    Unwritable(#[from] hermes_model::receiver::Unwritable),
}

/// Every request of a session, in the order of the tape.
///
/// An empty list means that nothing was recorded: the session was held by another program, or before there was a tape.
pub async fn replay(store: &dyn SessionStore, id: &SessionId, how: &How) -> Result<Vec<Compared>, StoreError> {
    let session = store.session(id).await?.ok_or_else(|| StoreError::NoSession(id.to_string()))?;
    let rows: Arc<[StoredMessage]> = store.messages(id).await?.into();
    let mut rehearsal = Rehearsal {
        session,
        first: first_of(store, id).await?,
        rows,
        how,
        line: None,
        time: Duration::ZERO,
        done: Vec::new(),
    };
    let mut before = Bytes::new();
    let mut turn: Vec<Recorded> = Vec::new();
    let mut offset = 0;
    let most = how.until.and_then(|until| usize::try_from(until).ok()).unwrap_or(usize::MAX);
    loop {
        let page = store.exchanges(id, PAGE.min(most - offset), offset).await?;
        if page.is_empty() {
            break;
        }
        for exchange in page {
            offset += 1;
            let recorded = recorded(offset, exchange, &mut before);
            if turn.last().is_some_and(|last| last.turn() != recorded.turn()) {
                rehearsal.act(std::mem::take(&mut turn)).await;
            }
            turn.push(recorded);
        }
    }
    rehearsal.act(turn).await;
    rehearsal.done.sort_by_key(|compared| compared.number);
    Ok(rehearsal.done)
}

fn recorded(number: usize, exchange: Exchange, before: &mut Bytes) -> Recorded {
    let body = exchange.sent.body.clone();
    let shared = prefix::shared(before, &body);
    if exchange.task.is_empty() {
        *before = body;
    }
    let wide = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
    Recorded { number: wide(number), shared: wide(shared), exchange }
}

/// The session between two turns.
struct Rehearsal<'a> {
    session: Session,
    /// Where the conversation began.
    first: SessionId,
    rows: Arc<[StoredMessage]>,
    how: &'a How,
    /// What the conversation knows about its models, and since when.
    line: Option<(TurnKey, Line)>,
    /// Time passes where the tape shows that a rest was over.
    time: Duration,
    done: Vec<Compared>,
}

impl Rehearsal<'_> {
    /// Holds a turn again. All exchanges are of one turn, or of none.
    async fn act(&mut self, exchanges: Vec<Recorded>) {
        let (mut to_play, mut left_out) = (Vec::new(), Vec::new());
        for recorded in exchanges {
            match script::obstacle(&recorded, &self.rows) {
                // What follows something that cannot be held again stands on it.
                None if left_out.iter().all(|(_, reason)| matches!(reason, Reason::Job(_))) => to_play.push(recorded),
                None => left_out.push((recorded, Reason::MessagesGone)),
                Some(reason) => left_out.push((recorded, reason)),
            }
        }
        match script::scene(&to_play, &self.rows) {
            Ok(Some(scene)) => self.play(scene, to_play).await,
            Ok(None) => {}
            Err(reason) => left_out.extend(to_play.into_iter().map(|recorded| (recorded, reason.clone()))),
        }
        let told = left_out.into_iter().map(|(recorded, reason)| recorded.judged(Verdict::LeftOut(reason)));
        self.done.extend(told);
    }

    async fn play(&mut self, scene: Scene, exchanges: Vec<Recorded>) {
        let Scene { turn, history, asked } = scene;
        let stop = Stop::new();
        let inbox = Arc::new(Inbox::default());
        let key = TurnKey::of(&turn);
        let line = self.line.take().filter(|(before, _)| before.run == key.run).map(|(_, line)| line);
        if exchanges.first().is_some_and(|first| first.exchange.scene.place == 0) {
            self.time = self.time.saturating_add(AGES);
        }
        let reel = Reel::new(exchanges, self.rows.clone(), self.how.tools.clone(), inbox.clone(), stop.clone());
        let player = Player::new(Arc::new(reel), turn.after);
        let clock = StillClock(self.time);
        let prompt = self.session.system_prompt.clone().unwrap_or_default();
        let mut talk = Conversation::new(self.session.id.clone())
            .known_as(self.first.clone())
            .with_prompt(&prompt, None)
            .with_history(history);
        talk.line = line.unwrap_or_default();
        (talk.reasoning, talk.max_output_tokens) = (turn.reasoning, turn.max_output_tokens);
        let book = Book::new(None, self.session.id.clone(), Arc::new(clock));
        let purse = Purse::default();
        let off = Policy { enabled: false, ..Policy::default() };
        let ports = Ports {
            switchboard: &player,
            hands: &player,
            book: &book,
            purse: &purse,
            inbox: &inbox,
            listener: &|_| {},
            clock: &clock,
            hooks: &[],
            manner: Manner { retries: turn.retries, live: turn.live, seed: 0 },
            iterations: turn.iterations,
            // What made it shorter then is on disk already.
            economy: Economy {
                policy: &off,
                engine: &Compressor,
                scribe: None,
                keeper: None,
                next_session: &|| self.session.id.clone(),
            },
        };
        run_turn(&mut talk, asked, &ports, &stop).await;
        self.line = Some((key, talk.line));
        self.done.extend(player.judged());
    }
}
