//! One move of the script on its way over the wire, with everything that goes wrong in it.

use crate::clock::FakeClock;
use crate::http::{After, Wire};
use crate::render_sse::{Cue, Protocol, SseEvent, lay_out};
use crate::say::Say;
use crate::script::{Act, Framing, Move, Twist, TwistKind};
use bytes::Bytes;
use hermes_core::clock::Clock;
use serde_json::json;
use std::io;
use std::time::{Duration, Instant};

/// Alarms must have been left alone for this long, in real time, before the next one rings: a client may be slow to set
/// them and to act on them.
const REACTION: Duration = Duration::from_millis(100);
/// A client that bears silence longer than this, in real time, has no limit at all.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// Who asked, and how, decides how a move is rendered.
pub(crate) struct Scene {
    pub(crate) protocol: Protocol,
    pub(crate) cue: Cue,
    /// Whose time passes in stalls and delays; the machine's if there is none.
    pub(crate) clock: Option<FakeClock>,
}

/// How a move ended.
pub(crate) enum Played {
    AsScripted(After),
    /// The client bore the silence of a stall to the end of our patience.
    NobodyLeft,
}

impl Move {
    /// The events of a spoken move, each as it goes over the wire to an address that ends in `path`: for tests that need
    /// the bytes and no server.
    #[track_caller]
    pub fn events(&self, path: &str) -> Vec<Bytes> {
        let protocol = Protocol::of(path).expect("a path of a model protocol");
        let cue = Cue::of(1, &json!({"model": "scripted", "stream_options": {"include_usage": true}}));
        match &self.act {
            Act::Say(say) => Scene { protocol, cue, clock: None }.render(say, self),
            other => panic!("only a spoken move has events, not {other:?}"),
        }
    }
}

impl Scene {
    pub(crate) async fn perform(&self, play: &Move, wire: &mut Wire) -> io::Result<Played> {
        self.wait(play.delay, wire).await;
        match &play.act {
            Act::Say(say) if say.whole => {
                let body = self.protocol.whole(say, &self.cue).to_string();
                whole(200, &body, play, wire).await
            }
            Act::Say(say) => self.stream(&self.render(say, play), play, wire).await,
            Act::Raw(bytes) => self.stream(std::slice::from_ref(bytes), play, wire).await,
            Act::Status { code, body } => {
                let usual = || self.protocol.error_body(*code).to_string();
                whole(*code, &body.clone().unwrap_or_else(usual), play, wire).await
            }
            Act::Silence => Ok(self.stall(wire).await),
            Act::Reset => reset(wire),
        }
    }

    /// The events of the answer as bytes, with those that do not belong there.
    fn render(&self, say: &Say, play: &Move) -> Vec<Bytes> {
        let mut events = self.protocol.stream(say, &self.cue);
        if play.framing.duplicate_deltas {
            events = events.into_iter().flat_map(SseEvent::twice_if_delta).collect();
        }
        if let Some(Twist { after, kind }) = &play.twist {
            let at = events.len().min(*after);
            match kind {
                TwistKind::Malformed => events.insert(at, SseEvent::malformed()),
                TwistKind::Fail { code, message } => {
                    events.truncate(at);
                    events.push(self.protocol.failure(&self.cue, at, code, message));
                }
                TwistKind::Stall | TwistKind::Cut | TwistKind::Reset => {}
            }
        }
        lay_out(&events, &play.framing)
    }

    /// Sends events to the end, or until the connection goes silent or away.
    async fn stream(&self, events: &[Bytes], play: &Move, wire: &mut Wire) -> io::Result<Played> {
        wire.head(200, &headers(play, "text/event-stream; charset=utf-8")).await?;
        let (sent, end) = match &play.twist {
            Some(Twist { after, kind: kind @ (TwistKind::Stall | TwistKind::Cut | TwistKind::Reset) }) => {
                (&events[..events.len().min(*after)], Some(kind))
            }
            _ => (events, None),
        };
        send(sent, &play.framing, wire).await?;
        match end {
            Some(TwistKind::Stall) => Ok(self.stall(wire).await),
            Some(TwistKind::Reset) => reset(wire),
            Some(_) => Ok(Played::AsScripted(After::Close)),
            None => {
                wire.last_chunk().await?;
                Ok(Played::AsScripted(After::KeepOpen))
            }
        }
    }

    /// Says nothing until the client gives up.
    async fn stall(&self, wire: &mut Wire) -> Played {
        let left = match &self.clock {
            Some(clock) => pass(clock, Duration::MAX, wire).await,
            None => tokio::time::timeout(PATIENCE, wire.hung_up()).await.is_ok(),
        };
        if left { Played::AsScripted(After::Close) } else { Played::NobodyLeft }
    }

    async fn wait(&self, delay: Duration, wire: &mut Wire) {
        if delay.is_zero() {
            return;
        }
        // Whether the client left meanwhile shows when the answer is written.
        let _left = match &self.clock {
            Some(clock) => pass(clock, clock.elapsed() + delay, wire).await,
            None => tokio::time::timeout(delay, wire.hung_up()).await.is_ok(),
        };
    }
}

/// Lets virtual time pass until then, or until the client hangs up (true).
///
/// Time jumps from alarm to alarm, and each one that rings gets real time to take effect: the limit that comes first is
/// the one that ends the wait, however slow the machine.
async fn pass(clock: &FakeClock, until: Duration, wire: &mut Wire) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        let changes = clock.changes();
        if tokio::time::timeout(REACTION, wire.hung_up()).await.is_ok() {
            return true;
        }
        let quiet = clock.changes() == changes;
        if quiet && !clock.ring_next(until) && until < Duration::MAX {
            clock.advance(until.saturating_sub(clock.elapsed()));
            return false;
        }
    }
    false
}

async fn send(events: &[Bytes], framing: &Framing, wire: &mut Wire) -> io::Result<()> {
    for event in events {
        for chunk in event.chunks(framing.shred.unwrap_or(usize::MAX)) {
            wire.chunk(chunk).await?;
        }
    }
    Ok(())
}

async fn whole(status: u16, body: &str, play: &Move, wire: &mut Wire) -> io::Result<Played> {
    let after = wire.whole(status, &headers(play, "application/json"), body.as_bytes()).await?;
    Ok(Played::AsScripted(after))
}

fn reset(wire: &Wire) -> io::Result<Played> {
    wire.reset_on_close()?;
    Ok(Played::AsScripted(After::Close))
}

/// The headers of the move behind the usual content type, unless the move has its own.
fn headers(play: &Move, content_type: &str) -> Vec<(String, String)> {
    let mut headers = play.headers.clone();
    if !headers.iter().any(|(name, _)| name == "content-type") {
        headers.insert(0, ("content-type".to_owned(), content_type.to_owned()));
    }
    headers
}
