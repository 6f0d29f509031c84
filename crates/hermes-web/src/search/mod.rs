//! `web_search`: words in, pages out, by whichever engine the owner has.

pub mod desk;
mod duckduckgo;
pub mod engine;
mod engines;

use crate::settings::SearchSettings;
use crate::until_stopped;
use desk::SearchDesk;
use engine::{ENGINES, Hit, chain, choose, missing};
use hermes_core::redact;
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::tool::{Availability, Card, Check, Output, Repeats, ResultCap, Source, Tool, ToolError};
use hermes_types::clip;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::sync::Arc;

const USUAL: i64 = 5;
const MOST: i64 = 100;
const LONGEST_QUERY: usize = 2_000;
/// Engines that answer with whole paragraphs are cut here.
const LONGEST_DESCRIPTION: usize = 2_000;
const LONGEST_TITLE: usize = 300;
/// A longer address cannot be asked for.
const LONGEST_ADDRESS: usize = 8_192;
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
    message: Option<String>,
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

    /// What the first engine that answers finds, with what the ones before it said; or what all of them said.
    async fn search(&self, query: &str, limit: usize) -> Result<(Vec<Hit>, Vec<String>), String> {
        let mut failures = Vec::new();
        for ready in chain(&self.settings)? {
            match self.desk.ask(&ready, query, limit).await {
                Ok(hits) if failures.is_empty() => return Ok((hits, failures)),
                Ok(hits) => {
                    failures.push(format!("{} was asked instead.", ready.engine.card().title));
                    return Ok((hits, failures));
                }
                Err(failure) => failures.push(failure),
            }
        }
        Err(failures.join(" "))
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
        let limit = usize::try_from(args.limit.unwrap_or(USUAL).clamp(1, MOST)).unwrap_or(1);
        let (hits, failures) = until_stopped(&cx.stop, self.search(args.query.trim(), limit)).await?.map_err(failed)?;
        let hits: Vec<Hit> =
            hits.into_iter().filter(|hit| hit.url.len() <= LONGEST_ADDRESS).map(|hit| cut(&hit)).collect();
        let placed = hits.iter().zip(1..);
        let web: Vec<Placed<'_>> = placed
            .map(|(Hit { title, url, description }, position)| Placed { title, url, description, position })
            .collect();
        let nothing = web.is_empty().then(|| "Nothing was found. Try other or fewer words.".to_owned());
        let message: Vec<String> = failures.into_iter().chain(nothing).collect();
        let message = (!message.is_empty()).then(|| message.join(" "));
        Output::json(&Shown { success: true, data: Data { web }, message })
    }
}

/// A hit that is no page of its own.
fn cut(hit: &Hit) -> Hit {
    Hit {
        title: clip(&hit.title, LONGEST_TITLE),
        url: hit.url.clone(),
        description: clip(&hit.description, LONGEST_DESCRIPTION),
    }
}

fn failed(error: impl Into<String>) -> ToolError {
    ToolError::Tell(json!({"success": false, "error": error.into()}))
}
