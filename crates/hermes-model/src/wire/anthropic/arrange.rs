//! From turns to a conversation the protocol accepts: every call answered in the very next message, user and assistant
//! in turn, the user first. Each pass is one function; their order matters and stands in [`conversation`]. No pass looks
//! further ahead than to the results of a turn's calls, so what follows later never changes what stands before.

use super::blocks::{Block, mark};
use super::thinking::{self, Policy};
use super::translate::{self, Accepts, Side, Turn};
use crate::wire::cache::Breakpoints;
use hermes_types::Message;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

pub(super) fn conversation<'a>(
    messages: &'a [Arc<Message>],
    accepts: Accepts,
    policy: Policy,
    breakpoints: &Breakpoints,
) -> Vec<Turn<'a>> {
    let turns = translate::turns(messages, accepts, breakpoints);
    let mut turns = pair_calls(turns);
    thinking::apply(policy, &mut turns);
    let mut turns = merge_roles(turns);
    open_with_user(&mut turns);
    turns
}

/// Keeps the calls that the next message answers and the results that answer them. A turn that loses a call is altered.
fn pair_calls(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut taken = Taken::new();
    let mut paired = Vec::with_capacity(turns.len());
    let mut turns = turns.into_iter().peekable();
    while let Some(mut turn) = turns.next() {
        match turn.side {
            Side::User => paired.push(turn),
            Side::Tools => {
                let marker = turn.blocks.iter().find_map(Block::marker);
                turn.blocks = vec![Block::text("(tool result removed)")];
                mark(&mut turn.blocks, marker);
                paired.push(turn);
            }
            Side::Assistant => {
                let mut results = turns.next_if(|next| next.side == Side::Tools);
                pair(&mut turn, results.as_mut(), &mut taken);
                paired.push(turn);
                paired.extend(results);
            }
        }
    }
    paired
}

/// Pairs one turn with its results, which come back in the order of the calls. Ids must be unique in a whole
/// conversation, but histories of other providers repeat them: the second use of an id gets a number.
fn pair<'a>(turn: &mut Turn<'a>, results: Option<&mut Turn<'a>>, taken: &mut Taken<'a>) {
    let mut unclaimed = Vec::new();
    let mut results = results.map(|results| {
        unclaimed = std::mem::take(&mut results.blocks);
        &mut results.blocks
    });
    let marker = turn.blocks.iter().find_map(Block::marker);
    let before = turn.blocks.len();
    turn.blocks.retain_mut(|block| {
        let Block::ToolUse { id, .. } = block else { return true };
        let answers = |result: &Block<'_>| matches!(result, Block::ToolResult { tool_use_id, .. } if tool_use_id == id);
        let (Some(at), Some(results)) = (unclaimed.iter().position(answers), results.as_mut()) else { return false };
        let mut result = unclaimed.remove(at);
        *id = unique(id, taken);
        if let Block::ToolResult { tool_use_id, .. } = &mut result {
            tool_use_id.clone_from(id);
        }
        results.push(result);
        true
    });
    turn.altered |= turn.blocks.len() < before;
    if turn.blocks.iter().all(Block::is_thinking) {
        turn.blocks.push(Block::text("(tool call removed)"));
    }
    mark(&mut turn.blocks, marker);
    if let Some(results) = results {
        if results.is_empty() {
            results.push(Block::text("(tool result removed)"));
        }
        mark(results, unclaimed.iter().find_map(Block::marker));
    }
}

/// The ids in use, and the number each was last extended with.
type Taken<'a> = HashMap<Cow<'a, str>, usize>;

fn unique<'a>(id: &Cow<'a, str>, taken: &mut Taken<'a>) -> Cow<'a, str> {
    let mut number = taken.get(id).copied().unwrap_or(1);
    let mut free = id.clone();
    while taken.contains_key(&free) {
        number += 1;
        free = Cow::Owned(format!("{id}_{number}"));
    }
    taken.insert(free.clone(), 1);
    taken.insert(id.clone(), number);
    free
}

/// One message per change of speaker. Only the first of several assistant turns may think.
fn merge_roles(turns: Vec<Turn<'_>>) -> Vec<Turn<'_>> {
    let mut merged: Vec<Turn<'_>> = Vec::with_capacity(turns.len());
    for mut turn in turns {
        let assistant = turn.side == Side::Assistant;
        match merged.last_mut() {
            Some(last) if (last.side == Side::Assistant) == assistant => {
                turn.blocks.retain(|block| !block.is_thinking());
                last.blocks.append(&mut turn.blocks);
            }
            _ => merged.push(turn),
        }
    }
    merged
}

fn open_with_user(turns: &mut Vec<Turn<'_>>) {
    if turns.first().is_none_or(|turn| turn.side == Side::Assistant) {
        let blocks = vec![Block::text("(empty message)")];
        turns.insert(0, Turn { side: Side::User, blocks, altered: false });
    }
}
