//! What came of the demo in numbers, as the store has them.

use hermes_core::store::{Ledger as _, Sessions as _, StoreError};
use hermes_store::SqliteStore;
use hermes_types::{Kinship, SessionId, Usage};

#[derive(Debug, PartialEq)]
pub(super) struct Tally {
    /// Where the store is, or was.
    place: String,
    messages: u64,
    requests: u64,
    tool_calls: u64,
    subagents: usize,
    usage: Usage,
}

impl Tally {
    /// Of a conversation and those who were sent out in it.
    pub(super) async fn of(store: &SqliteStore, session: &SessionId) -> Result<Self, StoreError> {
        let family = store.lineage(session).await?;
        let mut tally = Self {
            place: store.path().display().to_string(),
            messages: 0,
            requests: 0,
            tool_calls: 0,
            subagents: family.iter().filter(|one| one.kinship == Kinship::Delegate).count(),
            usage: Usage::default(),
        };
        for relative in family {
            let Some(kept) = store.session(&relative.id).await? else { continue };
            tally.messages += kept.message_count;
            tally.tool_calls += kept.tool_call_count;
            for row in store.usage(Some(&relative.id)).await? {
                tally.requests += row.calls;
                tally.usage += row.usage;
            }
        }
        Ok(tally)
    }

    /// The last lines, for when the stage is gone.
    pub(super) fn lines(&self) -> [String; 2] {
        let Self { place, messages, requests, tool_calls, subagents, usage } = self;
        let subagents = if *subagents == 1 { "1 sub-agent".to_owned() } else { format!("{subagents} sub-agents") };
        [
            format!(
                "read back from the store: {requests} replies, {tool_calls} tool calls, {subagents}, {messages} messages, \
                 {} tokens in, {} out",
                usage.prompt(),
                usage.output
            ),
            format!("it was kept in {place} and is gone now; your own home was not touched"),
        ]
    }
}
