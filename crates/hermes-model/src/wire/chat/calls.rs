//! Tool calls out of fragments.
//!
//! Servers disagree about everything here: some number their calls, some send 0 or nothing for all of them; some repeat
//! the name in every fragment, some the id; some send no id. What comes out is a list of calls with whole arguments, in
//! the order in which the model began them, and the names of those that could not be completed.

use crate::wire::NAMELESS;
use hermes_types::{Arguments, CallId, ToolCall};
use serde_json::Value;
use std::collections::HashSet;

/// No answer asks for more.
const MOST_CALLS: usize = 512;

/// A fragment of a call, as it came. What the server left out is empty.
#[derive(Debug, Default)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: &'a str,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) extra_content: Option<Value>,
}

/// What became of the fragments.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Calls {
    /// Calls whose arguments are whole.
    pub(super) whole: Vec<ToolCall>,
    /// Names of the calls whose arguments were cut off or unreadable.
    pub(super) dropped: Vec<String>,
}

#[derive(Debug, Default)]
pub(super) struct CallAssembler {
    slots: Vec<Slot>,
    text: usize,
    overflowed: bool,
}

#[derive(Debug, Default)]
struct Slot {
    index: u64,
    id: String,
    name: String,
    arguments: String,
    balance: Balance,
    extra_content: Option<Value>,
}

impl CallAssembler {
    pub(super) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Bytes held.
    pub(super) fn size(&self) -> usize {
        self.text
    }

    /// Takes in a fragment. Returns the call's name when this fragment is the one that reveals it.
    pub(super) fn push(&mut self, piece: CallPiece<'_>) -> Option<&str> {
        let index = piece.index.unwrap_or_default();
        let known = self.known(index, &piece);
        if known.is_none() {
            if self.slots.len() >= MOST_CALLS {
                self.overflowed = true;
                return None;
            }
            self.slots.push(Slot { index, ..Slot::default() });
        }
        self.text += piece.arguments.len();
        let slot = match known {
            Some(at) => self.slots.get_mut(at),
            None => self.slots.last_mut(),
        }?;
        slot.take(piece)
    }

    /// The slot a fragment belongs to: the one with its id, else the latest of its index unless it begins another call.
    fn known(&self, index: u64, piece: &CallPiece<'_>) -> Option<usize> {
        let mut latest_first = self.slots.iter().enumerate().rev().filter(|(_, slot)| slot.index == index);
        let same_id = latest_first.clone().find(|(_, slot)| !piece.id.is_empty() && slot.id == piece.id);
        let latest = latest_first.next().filter(|(_, slot)| !slot.is_other(piece));
        same_id.or(latest).map(|(at, _)| at)
    }

    /// The calls. `truncated` says that the answer ended before its time: a call that has no arguments yet may have been
    /// about to get some.
    pub(super) fn finish(self, truncated: bool) -> Calls {
        // Arguments that no name belongs to may be those of a call that has none.
        let astray = self.slots.iter().any(|slot| slot.name.is_empty());
        let mut calls = Calls::default();
        let mut used = HashSet::new();
        for (at, slot) in self.slots.into_iter().enumerate() {
            let unwritten = truncated && slot.arguments.trim().is_empty();
            let arguments = Arguments::from(slot.arguments);
            let doubtful = arguments.parse().map_or(true, |read| unwritten || (astray && read.is_empty()));
            if slot.name.is_empty() || doubtful {
                calls.dropped.push(if slot.name.is_empty() { NAMELESS.into() } else { slot.name });
                continue;
            }
            let given = Some(slot.id).filter(|id| !id.is_empty() && !used.contains(id)).map(CallId::new);
            let id = given.unwrap_or_else(|| CallId::deterministic(&slot.name, arguments.as_str(), at));
            used.insert(id.as_str().to_owned());
            let mut call = ToolCall::new(id, slot.name, arguments);
            call.extra_content = slot.extra_content;
            calls.whole.push(call);
        }
        if self.overflowed {
            calls.dropped.push(format!("(calls beyond the first {MOST_CALLS})"));
        }
        calls
    }

    /// Gives up every call: fragments were lost, so none can be trusted.
    pub(super) fn abandon(self) -> Calls {
        let name = |slot: Slot| if slot.name.is_empty() { NAMELESS.to_owned() } else { slot.name };
        Calls { whole: Vec::new(), dropped: self.slots.into_iter().map(name).collect() }
    }
}

impl Slot {
    /// True when the fragment with our index begins another call: it has a name, and another id than ours; or another name
    /// where there are no ids to go by; or our arguments are complete and the name comes with an id or with new arguments.
    /// Without a name it begins nothing: some servers send the name under one id and the arguments under another.
    fn is_other(&self, piece: &CallPiece<'_>) -> bool {
        if piece.name.is_empty() {
            return false;
        }
        if !piece.id.is_empty() && !self.id.is_empty() {
            return self.id != piece.id;
        }
        if self.id.is_empty() && !self.name.is_empty() && self.name != piece.name {
            return true;
        }
        let has_more = !piece.id.is_empty() || !piece.arguments.trim().is_empty() || piece.name != self.name;
        self.balance.is_closed() && has_more
    }

    fn take(&mut self, piece: CallPiece<'_>) -> Option<&str> {
        if self.id.is_empty() {
            self.id.push_str(piece.id);
        }
        self.arguments.push_str(piece.arguments);
        self.balance.read(piece.arguments);
        if piece.extra_content.is_some() {
            self.extra_content = piece.extra_content;
        }
        let reveals = self.name.is_empty() && !piece.name.is_empty();
        if !piece.name.is_empty() && piece.name != self.name {
            self.name = piece.name.to_owned();
        }
        reveals.then_some(self.name.as_str())
    }
}

/// Follows the brackets of arguments as they arrive, so that the end of an object is known without reading it again.
#[derive(Debug, Default)]
struct Balance {
    depth: u32,
    opened: bool,
    in_string: bool,
    escaped: bool,
}

impl Balance {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            match byte {
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => {
                    self.opened = true;
                    self.depth = self.depth.saturating_add(1);
                }
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
    }

    fn is_closed(&self) -> bool {
        self.opened && self.depth == 0 && !self.in_string
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece<'a>(index: Option<u64>, id: &'a str, name: &'a str, arguments: &'a str) -> CallPiece<'a> {
        CallPiece { index, id, name, arguments, extra_content: None }
    }

    fn assembled(pieces: Vec<CallPiece<'_>>, truncated: bool) -> (Vec<(String, String, String)>, Vec<String>) {
        let mut assembler = CallAssembler::default();
        for piece in pieces {
            assembler.push(piece);
        }
        let calls = assembler.finish(truncated);
        let whole = calls
            .whole
            .into_iter()
            .map(|call| (call.id.to_string(), call.function.name.clone(), call.function.arguments.as_str().to_owned()));
        (whole.collect(), calls.dropped)
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.into(), name.into(), arguments.into())
    }

    #[test]
    fn an_id_does_not_stick_to_the_complete_call_before_it() {
        let pieces = vec![piece(None, "", "f", "{}"), piece(None, "b", "f", ""), piece(None, "", "", "{\"x\":1}")];
        let first = CallId::deterministic("f", "{}", 0).to_string();
        let calls = vec![call(&first, "f", "{}"), call("b", "f", "{\"x\":1}")];
        assert_eq!(assembled(pieces, false), (calls, vec![]));
    }

    #[test]
    fn a_new_id_on_the_same_index_is_a_new_call() {
        let pieces = vec![piece(Some(0), "a", "f", "{"), piece(Some(0), "", "", "}"), piece(Some(0), "b", "g", "{}")];
        assert_eq!(assembled(pieces, false), (vec![call("a", "f", "{}"), call("b", "g", "{}")], vec![]));
    }

    #[test]
    fn arguments_under_another_id_belong_to_the_call_that_waits_for_them() {
        let pieces = vec![piece(Some(0), "a", "write", ""), piece(Some(0), "b", "", "{\"path\":\"/x\"}")];
        assert_eq!(assembled(pieces, false), (vec![call("a", "write", "{\"path\":\"/x\"}")], vec![]));
        let pieces = vec![
            piece(Some(0), "a", "f", "{}"),
            piece(Some(0), "b", "g", "{\"x\":"),
            piece(Some(0), "a", "", " "),
            piece(Some(0), "b", "", "1}"),
        ];
        assert_eq!(assembled(pieces, false), (vec![call("a", "f", "{} "), call("b", "g", "{\"x\":1}")], vec![]));
    }

    #[test]
    fn an_id_that_comes_before_its_name_costs_no_call() {
        let pieces = vec![
            piece(Some(0), "a", "f", "{}"),
            piece(Some(0), "b", "", ""),
            piece(Some(0), "", "g", ""),
            piece(Some(0), "", "", "{\"x\":1}"),
        ];
        let second = CallId::deterministic("g", "{\"x\":1}", 1);
        assert_eq!(
            assembled(pieces, false),
            (vec![call("a", "f", "{}"), call(second.as_str(), "g", "{\"x\":1}")], vec![])
        );
    }

    #[test]
    fn where_arguments_went_astray_no_call_runs_without_any() {
        let pieces = vec![
            piece(Some(0), "a", "write", ""),
            piece(Some(1), "b", "delete", "{}"),
            piece(Some(2), "c", "read", "{\"p\":1}"),
            piece(Some(3), "d", "", "{\"path\":\"/x\"}"),
        ];
        let dropped = ["write", "delete", NAMELESS].map(str::to_owned).to_vec();
        assert_eq!(assembled(pieces, false), (vec![call("c", "read", "{\"p\":1}")], dropped));
    }

    #[test]
    fn repeated_names_and_ids_stay_one_call() {
        let pieces = vec![
            piece(Some(0), "a", "read", "{\"p\""),
            piece(Some(0), "a", "read", ":\"{}\""),
            piece(Some(0), "a", "read", "}"),
        ];
        assert_eq!(assembled(pieces, false), (vec![call("a", "read", "{\"p\":\"{}\"}")], vec![]));
    }

    #[test]
    fn fragments_of_parallel_calls_may_interleave() {
        let pieces = vec![
            piece(Some(0), "a", "f", "{\"x\":"),
            piece(Some(1), "b", "g", "{\"y\":"),
            piece(Some(0), "", "", "1}"),
            piece(Some(1), "", "", "2}"),
        ];
        assert_eq!(assembled(pieces, false), (vec![call("a", "f", "{\"x\":1}"), call("b", "g", "{\"y\":2}")], vec![]));
    }

    #[test]
    fn calls_without_ids_or_numbers_are_told_apart_by_their_ends() {
        let pieces = vec![piece(None, "", "f", "{\"a\":1}"), piece(None, "", "f", "{\"a\":2}")];
        let first = CallId::deterministic("f", "{\"a\":1}", 0);
        let second = CallId::deterministic("f", "{\"a\":2}", 1);
        assert_eq!(
            assembled(pieces, false),
            (vec![call(first.as_str(), "f", "{\"a\":1}"), call(second.as_str(), "f", "{\"a\":2}")], vec![])
        );
    }

    #[test]
    fn another_name_is_another_call_where_there_are_no_ids() {
        let pieces = vec![piece(None, "", "f", ""), piece(None, "", "g", "{\"a\":2}")];
        let first = CallId::deterministic("f", "", 0);
        let second = CallId::deterministic("g", "{\"a\":2}", 1);
        let calls = vec![call(first.as_str(), "f", ""), call(second.as_str(), "g", "{\"a\":2}")];
        assert_eq!(assembled(pieces, false), (calls, vec![]));
    }

    #[test]
    fn one_id_for_two_calls_is_given_once() {
        let pieces = vec![piece(Some(0), "x", "f", "{}"), piece(Some(1), "x", "g", "{}")];
        let other = CallId::deterministic("g", "{}", 1);
        assert_eq!(assembled(pieces, false), (vec![call("x", "f", "{}"), call(other.as_str(), "g", "{}")], vec![]));
    }

    #[test]
    fn what_is_not_whole_is_named_and_not_run() {
        let cut = vec![piece(Some(0), "a", "f", "{}"), piece(Some(1), "b", "write", "{\"path\": \"/tm")];
        assert_eq!(assembled(cut, true), (vec![call("a", "f", "{}")], vec!["write".to_owned()]));
        let begun = vec![piece(Some(0), "a", "write", ""), piece(Some(1), "b", "read", "{\"p\"")];
        assert_eq!(assembled(begun, true), (vec![], vec!["write".to_owned(), "read".to_owned()]));
        let unwritten = || vec![piece(Some(0), "a", "delete_all", "")];
        assert_eq!(assembled(unwritten(), true), (vec![], vec!["delete_all".to_owned()]));
        assert_eq!(assembled(unwritten(), false), (vec![call("a", "delete_all", "")], vec![]));
        assert_eq!(assembled(vec![piece(Some(0), "a", "", "{}")], false), (vec![], vec![NAMELESS.to_owned()]));
    }

    #[test]
    fn a_flood_of_calls_is_bounded() {
        let mut assembler = CallAssembler::default();
        for index in 0..2_000 {
            assembler.push(piece(Some(index), "", "f", "{}"));
        }
        let calls = assembler.finish(false);
        assert_eq!((calls.whole.len(), calls.dropped), (MOST_CALLS, vec!["(calls beyond the first 512)".to_owned()]));
    }
}
