//! What the model will do, move by move, written down before the curtain rises.
//!
//! A spoken move says nothing about a wire protocol: the server renders it as the vendor of that protocol would. Faults
//! are moves like any other, so a test of the worst day reads like a test of the best one.

use crate::say::{Call, Part, Say, Seal};
use bytes::Bytes;
use hermes_types::{StopReason, Usage};
use serde_json::Value;
use std::time::Duration;

/// One [`Move`] per model request, in order.
#[derive(Debug, Clone, Default)]
pub struct Script {
    pub(crate) moves: Vec<Move>,
}

impl Script {
    pub fn new(moves: impl IntoIterator<Item = Move>) -> Self {
        Self { moves: moves.into_iter().collect() }
    }
}

impl From<Move> for Script {
    fn from(only: Move) -> Self {
        Self::new([only])
    }
}

impl From<Vec<Move>> for Script {
    fn from(moves: Vec<Move>) -> Self {
        Self { moves }
    }
}

impl<const N: usize> From<[Move; N]> for Script {
    fn from(moves: [Move; N]) -> Self {
        Self::new(moves)
    }
}

/// How the server answers one model request.
#[derive(Debug, Clone)]
pub struct Move {
    pub(crate) act: Act,
    pub(crate) delay: Duration,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) twist: Option<Twist>,
    pub(crate) framing: Framing,
}

#[derive(Debug, Clone)]
pub(crate) enum Act {
    Say(Say),
    /// A plain answer; without a body the vendor's usual error object is sent.
    Status {
        code: u16,
        body: Option<String>,
    },
    /// These bytes as the body of an event stream.
    Raw(Bytes),
    /// Not even a status line.
    Silence,
    /// The connection is reset before the first byte.
    Reset,
}

/// What goes wrong inside a stream, behind so many whole events.
#[derive(Debug, Clone)]
pub(crate) struct Twist {
    pub(crate) after: usize,
    pub(crate) kind: TwistKind,
}

#[derive(Debug, Clone)]
pub(crate) enum TwistKind {
    Stall,
    Cut,
    Reset,
    Malformed,
    Fail { code: String, message: String },
}

/// How events are laid out as bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Framing {
    pub(crate) crlf: bool,
    pub(crate) bom: bool,
    pub(crate) no_last_blank_line: bool,
    pub(crate) duplicate_deltas: bool,
    /// No HTTP chunk carries more bytes than this.
    pub(crate) shred: Option<usize>,
}

/// The ways to begin a move.
impl Move {
    /// The model says this (and more, by the methods below). Empty text says nothing.
    pub fn say(text: &str) -> Self {
        Self::new(Act::Say(Say::default())).text(text)
    }

    /// An answer with this status code and, unless [`Move::body`] gives one, the vendor's usual error object.
    pub fn status(code: u16) -> Self {
        Self::new(Act::Status { code, body: None })
    }

    /// The head of a stream, then silence: virtual time passes if a clock is attached, else until the client hangs up.
    pub fn stall() -> Self {
        Self::say("").stall_after(0)
    }

    /// As [`Move::stall`], but not even the head is sent.
    pub fn silence() -> Self {
        Self::new(Act::Silence)
    }

    /// A stream that ends properly without a single event.
    pub fn empty_stream() -> Self {
        Self::raw("")
    }

    /// These bytes, verbatim, as the body of an event stream.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::new(Act::Raw(bytes.into()))
    }

    /// 307 to another address.
    pub fn redirect(url: &str) -> Self {
        Self::status(307).header("location", url).body("")
    }

    fn new(act: Act) -> Self {
        Self { act, delay: Duration::ZERO, headers: Vec::new(), twist: None, framing: Framing::default() }
    }
}

/// What the model says.
impl Move {
    #[must_use]
    #[track_caller]
    pub fn text(self, text: &str) -> Self {
        if text.is_empty() { self } else { self.part(Part::Text { text: text.to_owned(), phase: None }) }
    }

    /// The phase (`commentary`, `final_answer`) the Responses API gives to the text before.
    #[must_use]
    #[track_caller]
    pub fn phase(mut self, word: &str) -> Self {
        match self.spoken().parts.last_mut() {
            Some(Part::Text { phase, .. }) => *phase = Some(word.to_owned()),
            _ => panic!("a phase belongs to the text before it"),
        }
        self
    }

    /// Reasoning that may be read, sealed as the protocol usually does.
    #[must_use]
    #[track_caller]
    pub fn reasoning(self, text: &str) -> Self {
        self.part(Part::Reasoning { text: text.to_owned(), seal: Seal::Usual })
    }

    /// The signature or encrypted original of the reasoning before.
    #[must_use]
    #[track_caller]
    pub fn signature(self, proof: &str) -> Self {
        self.seal(Seal::Given(proof.to_owned()))
    }

    /// Takes the seal off the reasoning before, as compatible servers that do not sign do.
    #[must_use]
    #[track_caller]
    pub fn unsigned(self) -> Self {
        self.seal(Seal::None)
    }

    /// Reasoning that only the vendor can read: redacted thinking, encrypted content.
    #[must_use]
    #[track_caller]
    pub fn hidden_reasoning(self, data: &str) -> Self {
        self.part(Part::Hidden(data.to_owned()))
    }

    /// A call, with an id that is unique in the script.
    #[must_use]
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads as `.call(\"name\", json!({…}))`")]
    pub fn call(self, name: &str, arguments: Value) -> Self {
        self.call_raw(name, &arguments.to_string())
    }

    /// A call whose arguments are this text, JSON or not.
    #[must_use]
    #[track_caller]
    pub fn call_raw(self, name: &str, arguments: &str) -> Self {
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        self.part(Part::Call(Call { id: None, name, arguments, thought_signature: None }))
    }

    /// The id of the call before.
    #[must_use]
    #[track_caller]
    pub fn id(mut self, id: &str) -> Self {
        self.last_call().id = Some(id.to_owned());
        self
    }

    /// Gemini's signature on the call before (chat protocol only).
    #[must_use]
    #[track_caller]
    pub fn thought_signature(mut self, signature: &str) -> Self {
        self.last_call().thought_signature = Some(signature.to_owned());
        self
    }

    #[must_use]
    #[track_caller]
    pub fn usage(mut self, usage: Usage) -> Self {
        self.spoken().usage = Some(usage);
        self
    }

    /// The server does not count tokens.
    #[must_use]
    #[track_caller]
    pub fn no_usage(mut self) -> Self {
        self.spoken().usage = None;
        self
    }

    #[must_use]
    #[track_caller]
    pub fn stop(mut self, reason: StopReason) -> Self {
        self.spoken().stop = Some(reason);
        self
    }

    /// Characters per delta.
    #[must_use]
    #[track_caller]
    pub fn chunk(mut self, characters: usize) -> Self {
        assert!(characters > 0, "a delta has at least one character");
        self.spoken().chunk = characters;
        self
    }

    /// The model names itself.
    #[must_use]
    #[track_caller]
    pub fn model(mut self, name: &str) -> Self {
        self.spoken().model = Some(name.to_owned());
        self
    }

    /// One JSON object instead of a stream, as servers do that ignore `stream`.
    #[must_use]
    #[track_caller]
    pub fn whole(mut self) -> Self {
        self.spoken().whole = true;
        self
    }

    /// The output cap strikes in the middle of the last call's arguments.
    #[must_use]
    #[track_caller]
    pub fn length_in_call(mut self) -> Self {
        let arguments = &mut self.last_call().arguments;
        let half = arguments.chars().count() / 2;
        *arguments = arguments.chars().take(half).collect();
        self.stop(StopReason::Length)
    }

    #[track_caller]
    fn part(mut self, part: Part) -> Self {
        self.spoken().parts.push(part);
        self
    }

    #[track_caller]
    fn seal(mut self, new: Seal) -> Self {
        match self.spoken().parts.last_mut() {
            Some(Part::Reasoning { seal, .. }) => *seal = new,
            _ => panic!("a signature belongs to the reasoning before it"),
        }
        self
    }

    #[track_caller]
    fn spoken(&mut self) -> &mut Say {
        match &mut self.act {
            Act::Say(say) => say,
            other => panic!("only a spoken move can do this, not {other:?}"),
        }
    }

    #[track_caller]
    fn last_call(&mut self) -> &mut Call {
        match self.spoken().parts.last_mut() {
            Some(Part::Call(call)) => call,
            _ => panic!("this belongs to the call before it"),
        }
    }
}

/// What goes wrong, and how it looks on the wire.
impl Move {
    /// Sets a header of the answer; the usual value of the same name is replaced.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        self
    }

    /// The body of a plain answer: text or `json!`.
    #[must_use]
    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads as `.body(json!({…}))`")]
    pub fn body(mut self, text: impl ToString) -> Self {
        match &mut self.act {
            Act::Status { body, .. } => *body = Some(text.to_string()),
            other => panic!("only a status has a body of its own, not {other:?}"),
        }
        self
    }

    /// Time passes before the answer: virtual if a clock is attached.
    #[must_use]
    pub fn delay(mut self, duration: Duration) -> Self {
        self.delay = duration;
        self
    }

    /// Silence behind so many events.
    #[must_use]
    pub fn stall_after(self, events: usize) -> Self {
        self.twist(events, TwistKind::Stall)
    }

    /// The connection is closed behind so many events, without the end of the body.
    #[must_use]
    pub fn cut_after(self, events: usize) -> Self {
        self.twist(events, TwistKind::Cut)
    }

    /// The connection is reset instead of any answer.
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.act = Act::Reset;
        self
    }

    /// The connection is reset behind so many events.
    #[must_use]
    pub fn reset_after(self, events: usize) -> Self {
        self.twist(events, TwistKind::Reset)
    }

    /// One event of broken JSON behind so many good ones; the rest follows.
    #[must_use]
    #[track_caller]
    pub fn malformed_after(mut self, events: usize) -> Self {
        self.spoken();
        self.twist(events, TwistKind::Malformed)
    }

    /// The vendor announces an error inside the stream behind so many events, then ends it.
    #[must_use]
    #[track_caller]
    pub fn fail_after(mut self, events: usize, code: &str, message: &str) -> Self {
        self.spoken();
        self.twist(events, TwistKind::Fail { code: code.to_owned(), message: message.to_owned() })
    }

    /// Every delta comes twice, byte for byte.
    #[must_use]
    pub fn duplicate_deltas(mut self) -> Self {
        self.framing.duplicate_deltas = true;
        self
    }

    /// Lines end with CR LF.
    #[must_use]
    pub fn crlf(mut self) -> Self {
        self.framing.crlf = true;
        self
    }

    /// The body begins with a byte-order mark.
    #[must_use]
    pub fn bom(mut self) -> Self {
        self.framing.bom = true;
        self
    }

    /// The blank line behind the last event is missing.
    #[must_use]
    pub fn no_last_blank_line(mut self) -> Self {
        self.framing.no_last_blank_line = true;
        self
    }

    /// The bytes arrive at most this many at a time, without regard for characters or lines.
    #[must_use]
    #[track_caller]
    pub fn shred(mut self, bytes: usize) -> Self {
        assert!(bytes > 0, "a chunk has at least one byte");
        self.framing.shred = Some(bytes);
        self
    }

    fn twist(mut self, after: usize, kind: TwistKind) -> Self {
        self.twist = Some(Twist { after, kind });
        self
    }
}
