//! Conversations in which something was said: one result for each lineage, with the place, what was said around it, and
//! how the conversation began and ended.
//!
//! A conversation that is called like the query comes first. Jobs that ran by the clock come after what people said, and
//! otherwise the order is the store's. Of the present conversation only what the model no longer sees is among the results.

use super::archive::{Archive, Family, HIDDEN, failed};
use super::present::Present;
use super::show::{Line, Pen, label, lines, when};
use super::stretch::{Stretch, around, head, said, tail};
use crate::tool::{Output, ToolError};
use hermes_types::{
    Found, Hit, ListOrder, MessageId, Role, SearchOrder, SearchQuery, SessionFilter, SessionId, SessionSummary,
};
use serde::Serialize;
use std::collections::BTreeSet;

/// Hits that are looked through for different conversations.
const MOST_HITS: usize = 300;
/// Messages on each side of the match.
const WINDOW: usize = 5;
/// Messages from the beginning and from the end of the conversation.
const BOOKEND: usize = 3;
const CRON: &str = "cron";
/// What is said to have matched where no message did.
const TITLE: &str = "session_title";
/// Shorter queries are in too many titles by chance.
const SHORTEST_PART: usize = 3;
/// Titles that have the query in them, before one is chosen.
const MOST_TITLES: usize = 20;

/// What is asked.
pub(super) struct Quest<'q> {
    pub(super) query: &'q str,
    pub(super) order: SearchOrder,
    pub(super) limit: usize,
    pub(super) roles: &'q [Role],
}

#[derive(Debug, Serialize)]
struct Discovered {
    success: bool,
    mode: &'static str,
    results: Vec<Discovery>,
    count: usize,
    sessions_searched: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Discovery {
    session_id: SessionId,
    when: Option<String>,
    source: String,
    model: Option<String>,
    title: Option<String>,
    matched_role: &'static str,
    match_message_id: Option<MessageId>,
    snippet: String,
    bookend_start: Vec<Line>,
    messages: Vec<Line>,
    bookend_end: Vec<Line>,
    messages_before: usize,
    messages_after: usize,
    /// The beginning of the lineage, where this session is not it.
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_id: Option<SessionId>,
}

impl Discovery {
    fn texts(&mut self) -> impl Iterator<Item = &mut Line> {
        self.bookend_start.iter_mut().chain(&mut self.messages).chain(&mut self.bookend_end)
    }
}

/// Where a result would come from.
struct Candidate {
    session: SessionId,
    /// The message that matched; the beginning of the conversation where its title did.
    message: Option<MessageId>,
    role: &'static str,
    snippet: String,
}

pub(super) async fn discover(archive: Archive<'_>, pen: &Pen, quest: Quest<'_>) -> Result<Output, ToolError> {
    let present = Present::of(archive).await?;
    let found = archive.store.search(search(&quest)).await.map_err(|error| failed(&error))?;
    let note = note(&found);
    let titled = titled(archive, quest.query).await?;
    let candidates = titled.into_iter().chain(people_first(found.hits).into_iter().map(Candidate::of));
    let candidates = new_to_the_model(archive, &present, candidates.collect()).await?;
    let sessions_searched = candidates.iter().map(|candidate| &candidate.session).collect::<BTreeSet<_>>().len();
    let mut families: Vec<Family> = Vec::new();
    let mut results: Vec<Discovery> = Vec::new();
    for candidate in candidates {
        if results.len() == quest.limit {
            break;
        }
        if families.iter().any(|family| family.has(&candidate.session)) {
            continue;
        }
        let family = archive.family(&candidate.session).await?;
        results.extend(result(archive, pen, candidate, &family, quest.roles).await?);
        families.push(family);
    }
    pen.fit(results.iter_mut().flat_map(Discovery::texts));
    let count = results.len();
    Output::json(&Discovered { success: true, mode: "discover", results, count, sessions_searched, note })
}

/// The candidates without what the model has before it.
async fn new_to_the_model(
    archive: Archive<'_>,
    present: &Present,
    mut candidates: Vec<Candidate>,
) -> Result<Vec<Candidate>, ToolError> {
    let own = candidates.iter().filter(|candidate| present.family.has(&candidate.session));
    let own = own.filter_map(|candidate| Some((candidate.session.clone(), candidate.message?)));
    let unseen = present.out_of_sight(archive, own.collect::<Vec<_>>()).await?;
    candidates.retain(|candidate| {
        !present.family.has(&candidate.session) || candidate.message.is_some_and(|message| unseen.contains(&message))
    });
    Ok(candidates)
}

fn search(quest: &Quest<'_>) -> SearchQuery {
    SearchQuery {
        exclude_sources: HIDDEN.map(str::to_owned).to_vec(),
        roles: quest.roles.to_vec(),
        order: quest.order,
        limit: MOST_HITS,
        ..SearchQuery::new(quest.query)
    }
}

/// What the model should know about what it does not see.
fn note(found: &Found) -> Option<&'static str> {
    if found.unseen {
        return Some("Not all messages are indexed yet; the same search finds more a little later.");
    }
    if found.hits.is_empty() {
        return Some("Nothing was said with all of these words. Try fewer or other ones, OR between them, or begin*.");
    }
    found.more.then_some("The words are common: older matches were not ranked. Add words, or use sort=oldest.")
}

/// What jobs said comes after what people said; neither order changes within.
fn people_first(hits: Vec<Hit>) -> Vec<Hit> {
    let (jobs, people): (Vec<Hit>, Vec<Hit>) = hits.into_iter().partition(|hit| hit.source == CRON);
    people.into_iter().chain(jobs).collect()
}

impl Candidate {
    fn of(hit: Hit) -> Self {
        Self { session: hit.session_id, message: Some(hit.id), role: name(hit.role), snippet: hit.snippet }
    }

    fn titled(summary: SessionSummary) -> Option<Self> {
        let snippet = summary.session.title?;
        Some(Self { session: summary.session.id, message: None, role: TITLE, snippet })
    }
}

/// The conversation that is called like the query; else the latest one that has it in its title.
async fn titled(archive: Archive<'_>, query: &str) -> Result<Option<Candidate>, ToolError> {
    let wanted = query.trim_matches(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    if wanted.is_empty() {
        return Ok(None);
    }
    let filter = SessionFilter {
        title: Some(wanted.to_owned()),
        exclude_sources: HIDDEN.map(str::to_owned).to_vec(),
        ..SessionFilter::default()
    };
    let listed =
        archive.store.list(filter, ListOrder::LastActive, MOST_TITLES, 0).await.map_err(|error| failed(&error))?;
    let is_called = |summary: &SessionSummary| {
        summary.session.title.as_deref().is_some_and(|title| title.to_lowercase() == wanted.to_lowercase())
    };
    let is_long = wanted.chars().nth(SHORTEST_PART - 1).is_some();
    let called = listed.iter().position(is_called).or_else(|| (is_long && !listed.is_empty()).then_some(0));
    Ok(called.and_then(|place| listed.into_iter().nth(place)).and_then(Candidate::titled))
}

/// What is shown of a candidate; nothing when its session was deleted meanwhile.
async fn result(
    archive: Archive<'_>,
    pen: &Pen,
    candidate: Candidate,
    family: &Family,
    roles: &[Role],
) -> Result<Option<Discovery>, ToolError> {
    let Some(session) = archive.session(&candidate.session).await? else { return Ok(None) };
    let messages = said(archive.messages(&session.id).await?, roles, candidate.message);
    let anchor = candidate.message.or_else(|| messages.first().map(|first| first.id));
    let nothing = Stretch { before: &[], shown: &[], after: &[] };
    let stretch = anchor.and_then(|anchor| around(&messages, anchor, WINDOW)).unwrap_or(nothing);
    let matched = stretch.shown.iter().find(|stored| candidate.message == Some(stored.id));
    Ok(Some(Discovery {
        when: when(session.started_at),
        model: session.model.as_deref().map(label),
        title: pen.title(session.title.as_deref()),
        matched_role: candidate.role,
        match_message_id: anchor,
        snippet: pen.snippet(&candidate.snippet, matched.map(|stored| &stored.message)),
        bookend_start: lines(head(stretch.before, BOOKEND), None),
        messages: lines(stretch.shown, anchor),
        bookend_end: lines(tail(stretch.after, BOOKEND), None),
        messages_before: stretch.before.len(),
        messages_after: stretch.after.len(),
        parent_session_id: (family.root != session.id).then(|| family.root.clone()),
        source: label(&session.source),
        session_id: session.id,
    }))
}

fn name(role: Role) -> &'static str {
    match role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    }
}
