//! What was talked about last.

use super::archive::{Archive, HIDDEN, failed};
use super::present::Present;
use super::show::{Pen, label, when};
use crate::tool::{Output, ToolError};
use hermes_types::{ListOrder, SessionFilter, SessionId, SessionSummary};
use serde::Serialize;

#[derive(Debug, Serialize)]
struct Browsed {
    success: bool,
    mode: &'static str,
    results: Vec<Recent>,
    count: usize,
}

#[derive(Debug, Serialize)]
struct Recent {
    session_id: SessionId,
    title: Option<String>,
    source: String,
    started_at: Option<String>,
    last_active: Option<String>,
    message_count: u64,
    preview: Option<String>,
}

impl Recent {
    fn of(summary: SessionSummary, pen: &Pen) -> Self {
        let SessionSummary { session, preview, last_active, root: _ } = summary;
        Self {
            title: pen.title(session.title.as_deref()),
            source: label(&session.source),
            started_at: when(session.started_at),
            last_active: when(last_active),
            message_count: session.message_count,
            preview: pen.title(Some(&preview)),
            session_id: session.id,
        }
    }
}

pub(super) async fn browse(archive: Archive<'_>, pen: &Pen, limit: usize) -> Result<Output, ToolError> {
    let own = Present::of(archive).await?.family;
    let filter = SessionFilter { exclude_sources: HIDDEN.map(str::to_owned).to_vec(), ..SessionFilter::default() };
    // The present conversation may be listed once for each of its branches, and is left out.
    let enough = limit.saturating_add(own.size());
    let listed = archive.store.list(filter, ListOrder::LastActive, enough, 0).await.map_err(|error| failed(&error))?;
    let others = listed.into_iter().filter(|summary| !own.has(&summary.session.id));
    let results: Vec<Recent> = others.take(limit).map(|summary| Recent::of(summary, pen)).collect();
    Output::json(&Browsed { success: true, mode: "browse", count: results.len(), results })
}
