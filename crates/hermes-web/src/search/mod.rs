//! `web_search`: words in, pages out, by whichever engine the owner has.

pub mod desk;
mod duckduckgo;
pub mod engine;
mod engines;

use crate::settings::SearchSettings;
use crate::until_stopped;
use desk::SearchDesk;
use engine::{ENGINES, Hit, choose, missing};
use hermes_core::redact;
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::tool::{Availability, Card, Check, Output, Repeats, ResultCap, Source, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

const USUAL: i64 = 5;
const MOST: i64 = 100;
const LONGEST_QUERY: usize = 2_000;
/// Engines that answer with whole paragraphs are cut here.
const LONGEST_DESCRIPTION: usize = 2_000;
const RESULT_CAP: usize = 100_000;

pub(crate) struct WebSearch {
    settings: SearchSettings,
    desk: SearchDesk,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WebSearchArgs {
    query: String,
    #[serde(default)]
    limit: Option<i64>,
}

#[derive(Debug, Serialize)]
struct Shown<'a> {
    success: bool,
    data: Data<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

#[derive(Debug, Serialize)]
struct Data<'a> {
    web: Vec<Placed<'a>>,
}

#[derive(Debug, Serialize)]
struct Placed<'a> {
    title: &'a str,
    url: &'a str,
    description: &'a str,
    position: usize,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "What to look for. Operators such as site:example.com, -word or \"a phrase\" work where the engine knows them"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "default": USUAL, "description": "Most results"}
        },
        "required": ["query"]
    })
}

impl WebSearch {
    pub(crate) fn new(settings: SearchSettings, desk: SearchDesk) -> Self {
        Self { settings, desk }
    }
}

impl Tool for WebSearch {
    type Args = WebSearchArgs;

    fn card(&self) -> Card {
        let description =
            "Search the web: titles, addresses and short descriptions of pages. Read pages with web_extract.";
        Card {
            emoji: "🔍",
            source: Source::Strangers,
            repeats: Repeats::Idempotent,
            result_cap: ResultCap::Chars(RESULT_CAP),
            requires_env: ENGINES
                .iter()
                .filter_map(|engine| engine.card().key.or(engine.card().address))
                .map(str::to_owned)
                .collect(),
            ..Card::new("web_search", "web", description, parameters())
        }
    }

    fn check(&self) -> Option<Arc<Check>> {
        let settings = self.settings.clone();
        Some(Check::new(move || match choose(&settings) {
            Ok(_) => Availability::Ready,
            Err(_) => Availability::Missing(missing()),
        }))
    }

    /// Nothing of the person's changes, and the same search twice is no harm.
    fn effects(&self, args: &WebSearchArgs, _cx: &Cx) -> Result<Effects, ToolError> {
        let query = args.query.trim();
        match () {
            () if query.is_empty() => Err(failed("There are no words to search for.")),
            () if query.chars().nth(LONGEST_QUERY).is_some() => Err(failed(format!(
                "The query is longer than {LONGEST_QUERY} characters. Search for its most telling words."
            ))),
            () if matches!(redact::file(query), Cow::Owned(_)) => Err(failed(
                "Blocked: the query holds what looks like a key or a token. Secrets are not sent to search engines.",
            )),
            () => Ok(Effects::none()),
        }
    }

    async fn call(&self, args: WebSearchArgs, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let ready = choose(&self.settings).map_err(failed)?;
        let limit = usize::try_from(args.limit.unwrap_or(USUAL).clamp(1, MOST)).unwrap_or(1);
        let hits = until_stopped(&cx.stop, self.desk.ask(&ready, args.query.trim(), limit)).await?.map_err(failed)?;
        let hits: Vec<Hit> = hits.into_iter().map(cut).collect();
        let placed = hits.iter().zip(1..);
        let web: Vec<Placed<'_>> = placed
            .map(|(Hit { title, url, description }, position)| Placed { title, url, description, position })
            .collect();
        let message = web.is_empty().then_some("Nothing was found. Try other or fewer words.");
        Output::json(&Shown { success: true, data: Data { web }, message })
    }
}

fn cut(hit: Hit) -> Hit {
    match hit.description.char_indices().nth(LONGEST_DESCRIPTION) {
        None => hit,
        Some((end, _)) => Hit { description: format!("{}…", hit.description.get(..end).unwrap_or_default()), ..hit },
    }
}

fn failed(error: impl Into<String>) -> ToolError {
    ToolError::Tell(json!({"success": false, "error": error.into()}))
}
