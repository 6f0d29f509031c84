//! Which reasoning of earlier turns goes back to the model. A signature is worth something only to the models it was made
//! for, and only while the turn around it is untouched.
//!
//! The answer is the same wherever a turn stands: a turn that changed its form when it is no longer the last would end
//! the prompt cache there. What a receiver does not need of older turns it passes over by itself.

use super::blocks::{Block, EMPTY};
use super::endpoint::Vendor;
use super::translate::{Side, Turn};
use crate::provider::names::is_family;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Everything, signed or not (Kimi and MiniMax ask for their reasoning back).
    All,
    /// Unsigned thinking only: the receiver writes thinking but cannot read signatures (DeepSeek).
    Unsigned,
    /// Signed thinking only (Claude).
    Signed,
    /// Nothing (imitations of the protocol).
    Nothing,
}

const FAMILIES: [(&str, Policy); 5] = [
    ("claude", Policy::Signed),
    ("kimi", Policy::All),
    ("moonshot", Policy::All),
    ("minimax", Policy::All),
    ("deepseek", Policy::Unsigned),
];

impl Policy {
    /// By the model, whoever serves it. Vendors that serve only their own models do so under any name, and where only
    /// Claude is served a name need not say so (Azure's deployments).
    pub(super) fn of(vendor: Vendor, model: &str) -> Self {
        match vendor {
            Vendor::Kimi | Vendor::MiniMax => Self::All,
            Vendor::DeepSeek => Self::Unsigned,
            Vendor::Anthropic | Vendor::Azure | Vendor::Bedrock | Vendor::Palantir => Self::Signed,
            Vendor::Other => {
                let known = FAMILIES.iter().find(|(family, _)| is_family(model, family));
                known.map_or(Self::Nothing, |(_, policy)| *policy)
            }
        }
    }
}

pub(super) fn apply(policy: Policy, turns: &mut [Turn<'_>]) {
    for turn in turns.iter_mut().filter(|turn| turn.side == Side::Assistant) {
        match policy {
            Policy::All => {}
            Policy::Unsigned => turn.blocks.retain(|block| !is_signed(block)),
            Policy::Signed => keep_what_is_valid(turn),
            Policy::Nothing => turn.blocks.retain(|block| !block.is_thinking()),
        }
        // A turn that ends in thinking is refused.
        if turn.blocks.last().is_none_or(Block::is_thinking) {
            turn.blocks.push(Block::text(EMPTY));
        }
    }
}

fn is_signed(block: &Block<'_>) -> bool {
    matches!(block, Block::Thinking { signature: Some(_), .. } | Block::RedactedThinking { .. })
}

/// Drops unsigned thinking. In an altered turn signatures are void: what they covered becomes text.
fn keep_what_is_valid(turn: &mut Turn<'_>) {
    let altered = turn.altered;
    let keep = |block| match block {
        Block::Thinking { signature: None, .. } => None,
        Block::Thinking { thinking, .. } if altered => {
            Some(Block::text(thinking.trim_end())).filter(|text| !text.is_blank())
        }
        Block::RedactedThinking { .. } if altered => None,
        other => Some(other),
    };
    turn.blocks = std::mem::take(&mut turn.blocks).into_iter().filter_map(keep).collect();
}
