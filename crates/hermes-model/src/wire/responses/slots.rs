//! The items of an answer while they arrive.
//!
//! An item has a place (`output_index`) and an id, and servers get both wrong: some repeat an item, some change its id
//! from event to event, some give every item place 0, some never say that an item is done. A finished item is the
//! server's own account and wins over everything that was pieced together from fragments.

use super::text_at;
use hermes_types::{Fault, FaultKind};
use serde_json::Value;

/// More items than this no answer has.
const MOST_ITEMS: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Slots(Vec<Slot>);

#[derive(Debug, Default)]
pub(super) struct Slot {
    place: Option<u64>,
    id: Option<String>,
    /// What the fragments belong to, until the item itself says so.
    pub(super) kind: Kind,
    /// The item as announced: name and ids of a call, phase of a message.
    pub(super) announced: Value,
    /// The item as finished.
    pub(super) done: Option<Value>,
    pub(super) text: String,
    pub(super) refusal: String,
    pub(super) reasoning: String,
    pub(super) arguments: String,
    /// The server said that the arguments are whole.
    pub(super) arguments_done: bool,
    /// A person saw that this call began.
    pub(super) shown: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Message,
    Reasoning,
    /// `function_call`
    Call,
    /// `custom_tool_call`: free text instead of arguments.
    CustomCall,
    /// The server's own tools and whatever comes next year.
    Foreign,
}

impl Kind {
    pub(super) fn of(item: &Value) -> Self {
        match item.get("type").and_then(Value::as_str) {
            Some("message") | None => Self::Message,
            Some("reasoning") => Self::Reasoning,
            Some("function_call") => Self::Call,
            Some("custom_tool_call") => Self::CustomCall,
            Some(_) => Self::Foreign,
        }
    }

    pub(super) fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::CustomCall)
    }
}

/// Where an event says it belongs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address<'a> {
    pub(super) place: Option<u64>,
    pub(super) id: Option<&'a str>,
}

/// The stream named more items than memory should hold.
#[derive(Debug)]
pub(super) struct TooMany;

impl From<TooMany> for Fault {
    fn from(_: TooMany) -> Self {
        Self::new(FaultKind::Malformed, format!("the answer has more than {MOST_ITEMS} items"))
    }
}

impl Slots {
    pub(super) fn into_vec(self) -> Vec<Slot> {
        self.0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The slot of an item that is announced or finished; opened if it is new.
    pub(super) fn of_item(&mut self, address: Address<'_>, item: &Value) -> Result<&mut Slot, TooMany> {
        let kind = Kind::of(item);
        let found =
            self.0.iter().rposition(|slot| slot.kind == kind && slot.is_at(address) && !slot.is_other_than(item));
        self.take_or_open(found, address, kind)
    }

    /// The slot a fragment belongs to; opened if nobody announced it.
    pub(super) fn of_fragment(&mut self, address: Address<'_>, kind: Kind) -> Result<&mut Slot, TooMany> {
        let found = self.0.iter().rposition(|slot| slot.kind == kind && slot.is_at(address));
        self.take_or_open(found, address, kind)
    }

    fn take_or_open(&mut self, found: Option<usize>, address: Address<'_>, kind: Kind) -> Result<&mut Slot, TooMany> {
        let at = match found {
            Some(at) => at,
            None if self.0.len() >= MOST_ITEMS => return Err(TooMany),
            None => {
                let id = address.id.map(str::to_owned);
                self.0.push(Slot { place: address.place, id, kind, ..Slot::default() });
                self.0.len() - 1
            }
        };
        self.0.get_mut(at).ok_or(TooMany)
    }
}

impl Slot {
    /// The place decides, then the id; an event that names neither goes to the latest slot of its kind.
    fn is_at(&self, address: Address<'_>) -> bool {
        match (self.place, address.place) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => match (&self.id, address.id) {
                (Some(ours), Some(theirs)) => ours == theirs,
                _ => true,
            },
        }
    }

    /// Another item at the same place. The call id tells calls apart; before an item is done its own id may change.
    fn is_other_than(&self, item: &Value) -> bool {
        let differs = |key: &str| match (self.field(key), text_at(item, key)) {
            (Some(ours), Some(theirs)) => Some(ours != theirs),
            _ => None,
        };
        match (differs("call_id"), &self.done) {
            (Some(differs), _) => differs,
            (None, Some(done)) => differs("id").unwrap_or(done != item),
            (None, None) => false,
        }
    }

    /// The item's own account of a field: finished, else announced.
    pub(super) fn field(&self, key: &str) -> Option<&str> {
        let done = self.done.as_ref().and_then(|item| text_at(item, key));
        done.or_else(|| text_at(&self.announced, key))
    }

    /// Words the model says on the way to an answer, not as the answer.
    pub(super) fn is_aside(&self) -> bool {
        matches!(self.field("phase"), Some("commentary" | "analysis"))
    }
}
