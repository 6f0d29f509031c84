//! Puts the pieces of an answer together, block by block, and turns them into a reply.
//!
//! A block has an index, and servers get it wrong in known ways: they announce a block twice, send a fragment again
//! after the block is over, or forget to announce it at all. None of that may change a call: arguments are the fragments
//! of one block in their order, and a call whose arguments may be missing something is named, not made.

use super::super::NAMELESS;
use super::blocks::kind;
use hermes_types::{Arguments, Assistant, CallId, Content, Delta, Object, Reply, StopReason, ToolCall, Usage};
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub(super) struct Answer {
    slots: Vec<Slot>,
    id: Option<String>,
    model: Option<String>,
    usage: Option<Usage>,
    stop: Option<String>,
    /// Text behind the first call is kept but no longer shown.
    calling: bool,
}

#[derive(Debug)]
struct Slot {
    index: u64,
    open: bool,
    piece: Piece,
}

#[derive(Debug)]
enum Piece {
    Text {
        text: String,
        citations: Vec<Value>,
    },
    Thinking {
        thinking: String,
        signature: String,
    },
    Redacted(Object),
    Call {
        id: String,
        name: String,
        given: Value,
        written: String,
    },
    /// A block of the server's own tools, as it came.
    Foreign {
        block: Object,
        written: String,
    },
    /// A block that was there already; what belongs to it is thrown away.
    Repeated,
}

/// One fragment of a block.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fragment<'a> {
    Text(&'a str),
    Thinking(&'a str),
    Json(&'a str),
    Signature(&'a str),
    Citation(&'a Value),
}

impl Answer {
    pub(super) fn blocks(&self) -> usize {
        self.slots.len()
    }

    /// Takes over what a message, or the delta of one, says about the whole.
    pub(super) fn describe(&mut self, message: &Object) {
        let text_at = |key: &str| message.get(key).and_then(Value::as_str).filter(|text| !text.is_empty());
        let keep = |slot: &mut Option<String>, text: Option<&str>| {
            if let Some(text) = text {
                *slot = Some(text.to_owned());
            }
        };
        keep(&mut self.id, text_at("id"));
        keep(&mut self.model, text_at("model"));
        keep(&mut self.stop, text_at("stop_reason"));
        if let Some(Value::Object(counts)) = message.get("usage") {
            self.count(counts);
        }
    }

    /// Counts only grow: a server that reports 0 at one end of the stream reports the truth at the other.
    fn count(&mut self, counts: &Object) {
        let usage = self.usage.get_or_insert_default();
        let most = |known: &mut u64, key: &str| {
            *known = counts.get(key).and_then(Value::as_u64).unwrap_or(0).max(*known);
        };
        most(&mut usage.input, "input_tokens");
        most(&mut usage.output, "output_tokens");
        most(&mut usage.cache_read, "cache_read_input_tokens");
        most(&mut usage.cache_write, "cache_creation_input_tokens");
        let hour = counts.get("cache_creation").and_then(|kept| kept.get("ephemeral_1h_input_tokens"));
        usage.cache_write_1h = hour.and_then(Value::as_u64).unwrap_or(0).max(usage.cache_write_1h);
    }

    /// A block begins, with whatever of its content comes along.
    pub(super) fn open(&mut self, index: u64, block: &Object, out: &mut Vec<Delta>) {
        let mut piece = Piece::of(block);
        if let Some(earlier) = self.slots.iter_mut().rfind(|slot| slot.index == index) {
            match (earlier.open, earlier.piece.is_announced_again(&piece)) {
                (true, true) => return,
                (false, true) if piece.is_unmistakable() => piece = Piece::Repeated,
                _ => earlier.open = false,
            }
        }
        match &piece {
            Piece::Text { text, .. } => self.show_text(text, out),
            Piece::Thinking { thinking, .. } => show_thinking(thinking, out),
            Piece::Call { name, .. } => {
                self.calling = true;
                out.push(Delta::ToolCallStarted(name.clone()));
            }
            Piece::Redacted(_) | Piece::Foreign { .. } | Piece::Repeated => {}
        }
        self.slots.push(Slot { index, open: true, piece });
    }

    pub(super) fn close(&mut self, index: u64) {
        self.slots.iter_mut().filter(|slot| slot.index == index).for_each(|slot| slot.open = false);
    }

    /// A fragment goes to the latest block of its index that takes its kind; what comes after the end is dropped.
    pub(super) fn append(&mut self, index: u64, fragment: Fragment<'_>, out: &mut Vec<Delta>) {
        let known = self.slots.iter_mut().rfind(|slot| slot.index == index && slot.piece.takes(fragment));
        match known {
            Some(slot) if !slot.open => return,
            Some(slot) => {
                if !slot.piece.append(fragment) {
                    return;
                }
            }
            None => {
                let Some(piece) = Piece::unannounced(fragment) else { return };
                self.slots.push(Slot { index, open: true, piece });
            }
        }
        match fragment {
            Fragment::Text(text) => self.show_text(text, out),
            Fragment::Thinking(thinking) => show_thinking(thinking, out),
            Fragment::Json(_) | Fragment::Signature(_) | Fragment::Citation(_) => {}
        }
    }

    fn show_text(&self, text: &str, out: &mut Vec<Delta>) {
        if !self.calling && !text.is_empty() {
            out.push(Delta::Text(text.to_owned()));
        }
    }

    /// `None` when the stream held no answer. An empty answer counts only when the model says that it meant it.
    pub(super) fn into_reply(self) -> Option<Reply> {
        let stop = self.stop.as_deref();
        let meant = matches!(stop, Some("end_turn" | "refusal"));
        if !meant && self.slots.iter().all(|slot| slot.piece.is_empty()) {
            return None;
        }
        let cut_off = stop.is_none();
        let ran_out = matches!(stop, Some("max_tokens" | "model_context_window_exceeded"));
        let last = self.slots.len().saturating_sub(1);
        let mut said = Said::default();
        for (at, slot) in self.slots.into_iter().enumerate() {
            let unfinished = may_be_cut(stop, slot.open, at == last);
            said.add(slot.piece, unfinished);
        }
        let finish = match stop {
            Some("refusal") => StopReason::ContentFilter,
            _ if cut_off || ran_out || !said.dropped.is_empty() => StopReason::Length,
            _ if !said.calls.is_empty() => StopReason::ToolCalls,
            _ => StopReason::Stop,
        };
        let dropped = std::mem::take(&mut said.dropped);
        let message = said.into_message(finish);
        Some(Reply { message, usage: self.usage, model: self.model, id: self.id, dropped, cut_off })
    }
}

/// Whether the end of the answer may have fallen into this block. Servers close a block that they cut, so the last one is
/// in doubt unless the model stopped to have its calls made, or ended its turn at will; one never closed is in doubt too.
fn may_be_cut(stop: Option<&str>, open: bool, is_last: bool) -> bool {
    match stop {
        Some("tool_use") => false,
        Some("end_turn") | None => open,
        Some(_) => open || is_last,
    }
}

fn show_thinking(thinking: &str, out: &mut Vec<Delta>) {
    if !thinking.is_empty() {
        out.push(Delta::Reasoning(thinking.to_owned()));
    }
}

impl Piece {
    fn of(block: &Object) -> Self {
        let text_at = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind(block) {
            "text" => {
                let citations = block.get("citations").and_then(Value::as_array).cloned().unwrap_or_default();
                Self::Text { text: text_at("text"), citations }
            }
            "thinking" => Self::Thinking { thinking: text_at("thinking"), signature: text_at("signature") },
            "redacted_thinking" => Self::Redacted(block.clone()),
            "tool_use" => {
                let given = block.get("input").cloned().unwrap_or_default();
                Self::Call { id: text_at("id"), name: text_at("name"), given, written: String::new() }
            }
            _ => Self::Foreign { block: block.clone(), written: String::new() },
        }
    }

    /// Text and thinking explain themselves. Arguments that nobody announced are those of a call whose name was lost; it
    /// cannot be made, but it must not vanish either.
    fn unannounced(fragment: Fragment<'_>) -> Option<Self> {
        match fragment {
            Fragment::Json(written) => Some(Self::Call {
                id: String::new(),
                name: String::new(),
                given: Value::Null,
                written: written.to_owned(),
            }),
            Fragment::Text(text) => Some(Self::Text { text: text.to_owned(), citations: Vec::new() }),
            Fragment::Thinking(text) => Some(Self::Thinking { thinking: text.to_owned(), signature: String::new() }),
            Fragment::Signature(_) | Fragment::Citation(_) => None,
        }
    }

    fn takes(&self, fragment: Fragment<'_>) -> bool {
        match self {
            Self::Text { .. } => matches!(fragment, Fragment::Text(_) | Fragment::Citation(_)),
            Self::Thinking { .. } => matches!(fragment, Fragment::Thinking(_) | Fragment::Signature(_)),
            Self::Call { .. } | Self::Foreign { .. } | Self::Repeated => matches!(fragment, Fragment::Json(_)),
            Self::Redacted(_) => false,
        }
    }

    /// False when the fragment is not taken in.
    fn append(&mut self, fragment: Fragment<'_>) -> bool {
        match (self, fragment) {
            (Self::Text { text, .. }, Fragment::Text(more)) => text.push_str(more),
            (Self::Text { citations, .. }, Fragment::Citation(citation)) => citations.push(citation.clone()),
            (Self::Thinking { thinking, .. }, Fragment::Thinking(more)) => thinking.push_str(more),
            (Self::Thinking { signature, .. }, Fragment::Signature(more)) => signature.push_str(more),
            (Self::Call { written, .. } | Self::Foreign { written, .. }, Fragment::Json(more)) => {
                written.push_str(more)
            }
            _ => return false,
        }
        true
    }

    /// Two of them that look alike are one. (Two texts at one index are a server that never counts up.)
    fn is_unmistakable(&self) -> bool {
        match self {
            Self::Call { id, .. } => !id.is_empty(),
            Self::Redacted(_) => true,
            Self::Text { .. } | Self::Thinking { .. } | Self::Foreign { .. } | Self::Repeated => false,
        }
    }

    /// The same block, announced a second time at the same index.
    fn is_announced_again(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Call { id, name, .. }, Self::Call { id: other_id, name: other_name, .. }) => {
                id == other_id && name == other_name
            }
            (Self::Text { .. }, Self::Text { .. }) | (Self::Thinking { .. }, Self::Thinking { .. }) => true,
            (Self::Redacted(block), Self::Redacted(other)) => block == other,
            _ => false,
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::Text { text, .. } => text.is_empty(),
            Self::Thinking { thinking, signature } => thinking.is_empty() && signature.is_empty(),
            Self::Redacted(_) | Self::Call { .. } | Self::Foreign { .. } => false,
            Self::Repeated => true,
        }
    }
}

/// What was said, sorted into the fields of a message.
#[derive(Default)]
struct Said {
    texts: Vec<String>,
    thoughts: Vec<String>,
    details: Vec<Value>,
    calls: Vec<ToolCall>,
    ordered: Vec<Value>,
    dropped: Vec<String>,
    signed: bool,
}

impl Said {
    fn add(&mut self, piece: Piece, unfinished: bool) {
        if piece.is_empty() {
            return;
        }
        match piece {
            Piece::Text { text, citations } => {
                let mut block = json!({"type": "text", "text": text});
                if let (false, Value::Object(block)) = (citations.is_empty(), &mut block) {
                    block.insert("citations".into(), Value::Array(citations));
                }
                self.ordered.push(block);
                self.texts.push(text);
            }
            Piece::Thinking { thinking, signature } => {
                let mut block = json!({"type": "thinking", "thinking": thinking});
                if let (false, Value::Object(block)) = (signature.is_empty(), &mut block) {
                    block.insert("signature".into(), signature.into());
                    self.signed = true;
                }
                self.detail(block);
                self.thoughts.extend(Some(thinking).filter(|thinking| !thinking.is_empty()));
            }
            Piece::Redacted(block) => {
                self.signed = true;
                self.detail(Value::Object(block));
            }
            Piece::Call { id, name, given, written } => self.call(&id, name, given, written, unfinished),
            Piece::Foreign { mut block, written } => {
                if let Ok(input) = serde_json::from_str::<Value>(&written) {
                    block.insert("input".into(), input);
                }
                self.ordered.push(Value::Object(block));
            }
            Piece::Repeated => {}
        }
    }

    fn detail(&mut self, block: Value) {
        self.details.push(block.clone());
        self.ordered.push(block);
    }

    /// Written arguments prove themselves whole by being readable. Arguments nobody wrote are whole only in a block
    /// that was finished: a call cut off before its first argument looks just like a call without any.
    fn call(&mut self, id: &str, name: String, given: Value, written: String, unfinished: bool) {
        let unproven = unfinished && written.is_empty();
        let arguments = match given {
            _ if !written.is_empty() => Arguments::from(written),
            Value::String(text) => Arguments::from(text),
            Value::Null => Arguments::from("{}"),
            given => Arguments::from(given.to_string()),
        };
        let Some(input) = arguments.parse().ok().filter(|_| !unproven && !name.is_empty()) else {
            self.dropped.push(if name.is_empty() { NAMELESS.to_owned() } else { name });
            return;
        };
        let known = id.is_empty() || self.calls.iter().any(|call| call.id.as_str() == id);
        let id =
            if known { CallId::deterministic(&name, arguments.as_str(), self.calls.len()) } else { CallId::new(id) };
        self.ordered.push(json!({"type": "tool_use", "id": id.as_str(), "name": name, "input": input}));
        self.calls.push(ToolCall::new(id, name, arguments));
    }

    fn into_message(self, finish: StopReason) -> Assistant {
        let interleaved = self.signed && !self.calls.is_empty();
        let joined = |list: Vec<String>, by: &str| (!list.is_empty()).then(|| list.join(by));
        Assistant {
            content: joined(self.texts, "\n").map(Content::Text),
            reasoning: joined(self.thoughts, "\n\n"),
            reasoning_details: Some(self.details).filter(|details| !details.is_empty()),
            anthropic_content_blocks: Some(self.ordered).filter(|_| interleaved),
            tool_calls: self.calls,
            finish_reason: Some(finish),
            ..Assistant::default()
        }
    }
}
