//! Which reasoning of earlier turns goes back to the model. A signature is worth something only to the vendor that made
//! it, and only while the turn around it is untouched; everything else is refused with an error or ignored at a price.

use super::blocks::Block;
use super::translate::{Side, Turn};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Everything, signed or not (Kimi demands its reasoning back).
    All,
    /// Unsigned thinking only: the receiver writes thinking but cannot read signatures (DeepSeek).
    Unsigned,
    /// Nothing (imitations of the protocol).
    Nothing,
    /// Signed thinking of the last assistant turn (Anthropic itself). Unsigned thinking of that turn becomes text.
    LastTurn,
}

pub(super) fn apply(policy: Policy, turns: &mut [Turn<'_>]) {
    let last = turns.iter().rposition(|turn| turn.side == Side::Assistant);
    for (at, turn) in turns.iter_mut().enumerate().filter(|(_, turn)| turn.side == Side::Assistant) {
        match policy {
            Policy::All => {}
            Policy::Unsigned => turn.blocks.retain(|block| !is_signed(block)),
            Policy::LastTurn if Some(at) == last => keep_what_is_valid(turn),
            Policy::LastTurn | Policy::Nothing => turn.blocks.retain(|block| !block.is_thinking()),
        }
        if turn.blocks.is_empty() {
            turn.blocks.push(Block::text(if Some(at) == last { "(empty)" } else { "(thinking elided)" }));
        }
    }
}

fn is_signed(block: &Block<'_>) -> bool {
    matches!(block, Block::Thinking { signature: Some(_), .. } | Block::RedactedThinking { .. })
}

fn keep_what_is_valid(turn: &mut Turn<'_>) {
    let altered = turn.altered;
    let keep = |block| match block {
        block if is_signed(&block) && !altered => Some(block),
        Block::Thinking { thinking, .. } => Some(Block::text(thinking.trim_end())).filter(|text| !text.is_blank()),
        Block::RedactedThinking { .. } => None,
        other => Some(other),
    };
    turn.blocks = std::mem::take(&mut turn.blocks).into_iter().filter_map(keep).collect();
}
