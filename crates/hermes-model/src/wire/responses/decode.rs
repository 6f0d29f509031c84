//! The stream of an answer, event by event.
//!
//! Deltas are shown as they come; what counts in the end are the items the server finished (`output_item.done`). Events
//! nobody knows keep the stream alive and change nothing. An event that cannot be read is left out, because a broken
//! connection ends in one; if it mattered, the end of the stream shows it.

use super::event::Wire;
use super::reply::{Ending, Gathered};
use super::slots::{Address, Kind, Slot};
use super::{Backend, text_at};
use crate::wire::{Decoder, End, Target, fault, json, sse};
use hermes_types::{Delta, Fault, FaultKind, Reply};
use serde_json::Value;

/// No answer is longer than this in bytes on the wire.
const LARGEST_ANSWER: usize = 256 << 20;

/// Reads one answer of a Responses endpoint.
#[derive(Debug)]
pub struct ResponsesDecoder {
    gathered: Gathered,
    /// Text behind the first call is kept but no longer shown.
    calling: bool,
    received: usize,
}

impl ResponsesDecoder {
    pub fn new(target: &Target) -> Self {
        let backend = Backend::of(target);
        Self { gathered: Gathered::new(backend, backend.issuer(target)), calling: false, received: 0 }
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.received = self.received.saturating_add(event.data.len());
        if self.received > LARGEST_ANSWER {
            return Err(Fault::new(FaultKind::Malformed, "the answer is longer than 256 MiB"));
        }
        let before = out.len();
        if event.data.trim_start().starts_with('{') {
            match serde_json::from_str::<Wire<'_>>(event.data) {
                Ok(wire) => self.read(event, &wire, out)?,
                Err(_) => self.read_mended(event, out)?,
            }
        }
        if out.len() == before {
            out.push(Delta::Alive);
        }
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.gathered.ending.is_some()
    }

    fn finish(self: Box<Self>, end: End) -> Result<Reply, Fault> {
        self.gathered.reply(end)
    }
}

impl ResponsesDecoder {
    /// An event that is not JSON may still be JSON with half a character in it.
    fn read_mended(&mut self, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let data = json::whole_pairs(event.data);
        match serde_json::from_str::<Wire<'_>>(&data) {
            Ok(wire) => self.read(sse::Event { data: &data, ..event }, &wire, out),
            Err(_) => {
                self.gathered.garbled = true;
                Ok(())
            }
        }
    }

    fn read(&mut self, event: sse::Event<'_>, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        match wire.kind.text().unwrap_or(event.name) {
            "response.output_text.delta" => self.text(wire, wire.delta.text(), out),
            "response.output_text.done" => self.whole_text(wire, out),
            "response.refusal.delta" => self.refusal(wire, wire.delta.text(), out),
            "response.refusal.done" => self.refusal(wire, None, out),
            "response.function_call_arguments.delta" => self.arguments(wire, Kind::Call),
            "response.function_call_arguments.done" => self.whole_arguments(wire, Kind::Call),
            "response.custom_tool_call_input.delta" => self.arguments(wire, Kind::CustomCall),
            "response.custom_tool_call_input.done" => self.whole_arguments(wire, Kind::CustomCall),
            "response.reasoning_summary_part.added" => self.next_summary(wire, out),
            "response.output_item.added" => self.announced(wire, out),
            "response.output_item.done" => match wire.item.map(|raw| json::parse(raw.get())) {
                Some(Ok(item)) => self.item(wire.output_index.count(), item, out),
                _ => {
                    self.gathered.garbled = true;
                    Ok(())
                }
            },
            "response.created" | "response.in_progress" | "response.queued" => {
                self.gathered.describe(&response_of(wire));
                Ok(())
            }
            "response.completed" | "response.done" => self.end("completed", response_of(wire), out),
            "response.incomplete" => self.end("incomplete", response_of(wire), out),
            "response.failed" => self.end("failed", response_of(wire), out),
            "response.cancelled" => self.end("cancelled", response_of(wire), out),
            "error" | "response.error" => Err(announced_fault(event.data)),
            kind if kind.starts_with("response.reasoning") && kind.ends_with(".delta") => self.reasoning(wire, out),
            "" | "message" => self.whole(event, wire, out),
            _ => Ok(()),
        }
    }

    fn text(&mut self, wire: &Wire<'_>, text: Option<&str>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let Some(text) = text else { return Ok(()) };
        let slot = self.gathered.slots.of_fragment(address(wire), Kind::Message)?;
        if slot.done.is_none() {
            slot.text.push_str(text);
            show_text(slot, text, self.calling, out);
        }
        Ok(())
    }

    /// Some servers send no deltas, only the whole.
    fn whole_text(&mut self, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_fragment(address(wire), Kind::Message)?;
        let is_news = slot.text.is_empty();
        self.text(wire, wire.text.text().filter(|_| is_news), out)
    }

    fn refusal(&mut self, wire: &Wire<'_>, delta: Option<&str>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_fragment(address(wire), Kind::Message)?;
        let whole = wire.refusal.text().filter(|_| slot.refusal.is_empty());
        if let Some(text) = delta.or(whole) {
            slot.refusal.push_str(text);
            show_text(slot, text, self.calling, out);
        }
        Ok(())
    }

    fn reasoning(&mut self, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let Some(text) = wire.delta.text() else { return Ok(()) };
        let slot = self.gathered.slots.of_fragment(address(wire), Kind::Reasoning)?;
        if slot.done.is_none() {
            slot.reasoning.push_str(text);
            out.push(Delta::Reasoning(text.to_owned()));
        }
        Ok(())
    }

    fn next_summary(&mut self, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_fragment(address(wire), Kind::Reasoning)?;
        if wire.summary_index.count().is_some_and(|index| index > 0) && !slot.reasoning.is_empty() {
            slot.reasoning.push_str("\n\n");
            out.push(Delta::Reasoning("\n\n".to_owned()));
        }
        Ok(())
    }

    fn arguments(&mut self, wire: &Wire<'_>, kind: Kind) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_fragment(address(wire), kind)?;
        if !slot.arguments_done {
            slot.arguments.push_str(wire.delta.text().unwrap_or_default());
        }
        Ok(())
    }

    fn whole_arguments(&mut self, wire: &Wire<'_>, kind: Kind) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_fragment(address(wire), kind)?;
        if let Some(whole) = wire.arguments.text().or(wire.input.text()) {
            slot.arguments = whole.to_owned();
        }
        slot.arguments_done = true;
        Ok(())
    }

    fn announced(&mut self, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let Some(Ok(item)) = wire.item.map(|raw| json::parse(raw.get())) else { return Ok(()) };
        let address = Address { place: wire.output_index.count(), id: text_at(&item, "id") };
        let slot = self.gathered.slots.of_item(address, &item)?;
        if slot.done.is_none() {
            slot.announced = item;
            self.calling |= show_call(slot, out);
        }
        Ok(())
    }

    /// An item as it stands in the end. What nobody has seen of it yet is shown now.
    fn item(&mut self, place: Option<u64>, item: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let slot = self.gathered.slots.of_item(Address { place, id: text_at(&item, "id") }, &item)?;
        let is_news = slot.done.is_none();
        slot.done = Some(item);
        if !is_news {
            return Ok(());
        }
        match slot.kind {
            Kind::Message if slot.text.is_empty() && slot.refusal.is_empty() => {
                let said = slot.said();
                show_text(slot, &said, self.calling, out);
            }
            Kind::Reasoning if slot.reasoning.is_empty() => {
                let thought = slot.thought();
                if !thought.is_empty() {
                    out.push(Delta::Reasoning(thought));
                }
            }
            Kind::Call | Kind::CustomCall => self.calling |= show_call(slot, out),
            Kind::Message | Kind::Reasoning | Kind::Foreign => {}
        }
        Ok(())
    }

    /// The last event. Its list of items is often null, so it counts only when no item came before.
    fn end(&mut self, status: &str, mut response: Value, out: &mut Vec<Delta>) -> Result<(), Fault> {
        self.gathered.describe(&response);
        let status = text_at(&response, "status").unwrap_or(status);
        let reason = response.get("incomplete_details").and_then(|details| text_at(details, "reason"));
        self.gathered.ending = Some(match status {
            "failed" | "cancelled" => return Err(failure(status, response.get("error"))),
            "completed" => Ending::Completed,
            _ if reason == Some("content_filter") => Ending::Filtered,
            _ => Ending::Incomplete,
        });
        if !self.gathered.slots.is_empty() {
            return Ok(());
        }
        let items = match response.get_mut("output").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => return Ok(()),
        };
        (0..).zip(items).try_for_each(|(place, item)| self.item(Some(place), item, out))
    }

    /// An event without a type: a whole answer in one piece, or an error in place of one.
    fn whole(&mut self, event: sse::Event<'_>, wire: &Wire<'_>, out: &mut Vec<Delta>) -> Result<(), Fault> {
        let is_error = wire.error.is_some() || wire.detail.is_some();
        match json::parse(event.data) {
            Ok(response) if wire.output.is_some() => self.end("completed", response, out),
            Ok(error) if is_error => Err(fault::from_error_body(None, &error)),
            _ => Ok(()),
        }
    }
}

fn address<'a>(wire: &'a Wire<'_>) -> Address<'a> {
    Address { place: wire.output_index.count(), id: wire.item_id.text() }
}

fn response_of(wire: &Wire<'_>) -> Value {
    wire.response.and_then(|raw| json::parse(raw.get()).ok()).unwrap_or_default()
}

fn show_text(slot: &Slot, text: &str, calling: bool, out: &mut Vec<Delta>) {
    if text.is_empty() {
        return;
    }
    if slot.is_aside() {
        out.push(Delta::Reasoning(text.to_owned()));
    } else if !calling {
        out.push(Delta::Text(text.to_owned()));
    }
}

/// Shows once that a call began; says whether the slot is one.
fn show_call(slot: &mut Slot, out: &mut Vec<Delta>) -> bool {
    if slot.kind.is_call() && !std::mem::replace(&mut slot.shown, true) {
        out.push(Delta::ToolCallStarted(slot.field("name").unwrap_or_default().to_owned()));
    }
    slot.kind.is_call()
}

fn announced_fault(data: &str) -> Fault {
    fault::from_error_body(None, &json::parse(data).unwrap_or_default())
}

fn failure(status: &str, error: Option<&Value>) -> Fault {
    match error {
        Some(error) if !error.is_null() => fault::from_error_body(None, error),
        _ => {
            Fault::new(FaultKind::ServerError, format!("the provider ended the answer as {status} and gave no reason"))
        }
    }
}
