//! The nouns of Hermes: what a conversation, a request, an answer and a failure *are*.
//!
//! Everything here is plain data. Nothing opens a file, a socket or a clock, and nothing knows a vendor. Messages keep
//! every field they do not know, so that what one provider said can be sent back to it byte for byte years later.

mod arguments;
mod content;
mod event;
mod fault;
mod ids;
mod message;
mod moment;
mod money;
mod reply;
mod request;
pub mod rpc;
mod session;
mod stop;
mod text;
mod tool;
mod usage;
mod word;

pub use arguments::{ArgumentFault, Arguments};
pub use content::{Content, Part, PartView};
pub use event::{AgainReason, EVENT_VERSION, Event, Notice, OutcomeKind, ToolStatus};
pub use fault::{Fault, FaultKind};
pub use ids::{CallId, SessionId};
pub use message::{Assistant, Function, Message, Plain, Role, ToolCall, ToolResult};
pub use moment::Moment;
pub use money::{NotMoney, Usd};
pub use reply::{Delta, Reply};
pub use request::{Concession, Effort, Reasoning, Request, ToolChoice, ToolDefinition};
pub use session::{
    Answered, Bill, BillRow, Billing, Break, BreakCause, Bucket, CallRecord, CameBy, CompressionRecord, Cost,
    CostStatus, EffectRecord, EffectState, EndReason, Exchange, Export, Found, Hit, Insights, Kinship, ListOrder,
    Manner, Meant, MessageId, ModelUse, Neighbour, NewMessage, NewSession, Notable, PARTIAL, Payer, Pruned, Relative,
    RowState, Run, Scene, SearchOrder, SearchQuery, Sent, Session, SessionFilter, SessionSummary, Share, SourceUse,
    Span, Spent, StoreFacts, StoredMessage, SummaryRest, Title, TitleFault, TurnRecord, TurnScene, TurnStart, UsageRow,
    preview,
};
pub use stop::StopReason;
pub use text::clip;
pub use tool::{Disposition, Finished, Touch};
pub use usage::Usage;
pub use word::{anything_but_no, switch, yes_or_no};

/// A JSON object whose key order is kept.
pub type Object = serde_json::Map<String, serde_json::Value>;
