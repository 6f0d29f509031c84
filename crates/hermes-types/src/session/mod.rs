//! A conversation as it is kept: the record of it, its messages, what it cost, and how it is found again.
//!
//! Nothing here knows how or where it is stored.

mod insight;
mod ledger;
mod lineage;
mod record;
mod search;
mod tape;
mod title;
mod transcript;

pub use insight::{Bucket, Insights, ModelUse, Notable, Share, SourceUse};
pub use ledger::{
    Bill, BillRow, CallRecord, CompressionRecord, Cost, CostStatus, EffectRecord, EffectState, PARTIAL, Payer, Spent,
    SummaryRest, TurnRecord, UsageRow,
};
pub use lineage::{Kinship, Meant, Relative};
pub use record::{
    Billing, EndReason, Export, ListOrder, NewSession, Pruned, Session, SessionFilter, SessionSummary, StoreFacts,
    preview,
};
pub use search::{Found, Hit, Manner, Neighbour, SearchOrder, SearchQuery};
pub use tape::{Answered, Break, BreakCause, CameBy, Exchange, Run, Scene, Sent, TurnScene, TurnStart};
pub use title::{Title, TitleFault};
pub use transcript::{MessageId, NewMessage, RowState, Span, StoredMessage};
