//! Search engines that answer in JSON.

use super::engine::{Engine, EngineCard, Hit, KeyHeader, Needs, Question, below};
use dom_query::Document;
use hermes_types::clip;
use serde::Deserialize;
use serde_json::{Value, json};
use url::Url;

/// Characters of a text with marks in it.
const LONGEST_MARKED: usize = 4_000;

/// Field names differ from engine to engine, and any of them may be missing or null.
#[derive(Debug, Deserialize)]
struct Found {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default, alias = "content", alias = "snippet")]
    description: Option<String>,
    #[serde(default, alias = "excerpts")]
    highlights: Option<Vec<String>>,
}

impl Found {
    fn hit(self) -> Option<Hit> {
        let url = self.url.filter(|url| !url.is_empty())?;
        let parts = self.highlights.map(|parts| parts.join(" "));
        let description = self.description.or(parts).unwrap_or_default();
        Some(Hit { title: self.title.unwrap_or_default(), url, description })
    }
}

/// The hits in the first of these lists that an answer has.
fn listed(body: &[u8], places: &[&str]) -> Result<Option<Vec<Hit>>, String> {
    let answer: Value = serde_json::from_slice(body).map_err(|error| format!("the answer is no JSON ({error})"))?;
    let list = places.iter().find_map(|place| answer.pointer(place)?.as_array());
    // One entry that cannot be read costs itself.
    Ok(list.map(|list| list.iter().filter_map(|entry| Found::deserialize(entry).ok()?.hit()).collect()))
}

fn hits_at(body: &[u8], places: &[&str]) -> Result<Vec<Hit>, String> {
    listed(body, places)?.ok_or_else(|| "the answer has no list of results".to_owned())
}

fn with_query(mut url: Url, pairs: &[(&str, &str)]) -> Url {
    url.query_pairs_mut().extend_pairs(pairs);
    url
}

const JSON: &[(&str, &str)] = &[("accept", "application/json")];

pub(super) struct Tavily;

impl Engine for Tavily {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "tavily",
            title: "Tavily",
            base_url: "https://api.tavily.com",
            needs: Needs::Key,
            key: Some("TAVILY_API_KEY"),
            key_header: KeyHeader::Bearer,
            address: Some("TAVILY_BASE_URL"),
            most: 20,
            refusals: &[],
            from: "a key from https://app.tavily.com",
        }
    }

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question {
        let body = json!({"query": query, "max_results": limit, "include_raw_content": false, "include_images": false});
        Question { url: below(base, "search"), headers: JSON, body: Some(body) }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        hits_at(body, &["/results"])
    }
}

pub(super) struct Exa;

impl Engine for Exa {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "exa",
            title: "Exa",
            base_url: "https://api.exa.ai",
            needs: Needs::Key,
            key: Some("EXA_API_KEY"),
            key_header: KeyHeader::Named("x-api-key"),
            address: None,
            most: 100,
            refusals: &[],
            from: "a key from https://exa.ai",
        }
    }

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question {
        let body = json!({"query": query, "numResults": limit, "contents": {"highlights": true}});
        Question { url: below(base, "search"), headers: JSON, body: Some(body) }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        hits_at(body, &["/results"])
    }
}

pub(super) struct Parallel;

impl Engine for Parallel {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "parallel",
            title: "Parallel",
            base_url: "https://api.parallel.ai",
            needs: Needs::Key,
            key: Some("PARALLEL_API_KEY"),
            key_header: KeyHeader::Named("x-api-key"),
            address: None,
            most: 20,
            refusals: &[],
            from: "a key from https://parallel.ai",
        }
    }

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question {
        let body = json!({"objective": query, "search_queries": [query], "mode": "agentic", "max_results": limit});
        let headers = &[("accept", "application/json"), ("parallel-beta", "search-extract-2025-10-10")];
        Question { url: below(base, "v1beta/search"), headers, body: Some(body) }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        hits_at(body, &["/results"])
    }
}

pub(super) struct Firecrawl;

impl Engine for Firecrawl {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "firecrawl",
            title: "Firecrawl",
            base_url: "https://api.firecrawl.dev",
            needs: Needs::Either,
            key: Some("FIRECRAWL_API_KEY"),
            key_header: KeyHeader::Bearer,
            address: Some("FIRECRAWL_API_URL"),
            most: 100,
            refusals: &[],
            from: "a key from https://firecrawl.dev, or the address of your own server",
        }
    }

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question {
        Question { url: below(base, "v2/search"), headers: JSON, body: Some(json!({"query": query, "limit": limit})) }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        // Older servers have no kinds of results.
        hits_at(body, &["/data/web", "/data"])
    }
}

pub(super) struct SearXng;

impl Engine for SearXng {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "searxng",
            title: "SearXNG",
            base_url: "http://localhost:8080",
            needs: Needs::Address,
            key: None,
            key_header: KeyHeader::Bearer,
            address: Some("SEARXNG_URL"),
            most: 100,
            refusals: &[(403, "it does not answer in JSON; allow `json` under search.formats in its settings.")],
            from: "the address of a server that answers with format=json",
        }
    }

    fn question(&self, base: &Url, query: &str, _limit: usize) -> Question {
        let url = with_query(below(base, "search"), &[("q", query), ("format", "json"), ("pageno", "1")]);
        Question { url, headers: JSON, body: None }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        hits_at(body, &["/results"])
    }
}

pub(super) struct Brave;

impl Engine for Brave {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "brave-free",
            title: "Brave Search",
            base_url: "https://api.search.brave.com",
            needs: Needs::Key,
            key: Some("BRAVE_SEARCH_API_KEY"),
            key_header: KeyHeader::Named("x-subscription-token"),
            address: None,
            most: 20,
            refusals: &[],
            from: "a free key from https://brave.com/search/api",
        }
    }

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question {
        let count = limit.to_string();
        let url = with_query(below(base, "res/v1/web/search"), &[("q", query), ("count", &count)]);
        Question { url, headers: JSON, body: None }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        // A search without results has no list at all.
        let found = listed(body, &["/web/results"])?.unwrap_or_default();
        Ok(found.into_iter().map(without_marks).collect())
    }
}

/// Words that were searched for are marked up. What is longer than anybody shows is not read: it may be a trap.
fn without_marks(hit: Hit) -> Hit {
    let plain = |text: &str| Document::fragment(clip(text, LONGEST_MARKED)).text().trim().to_owned();
    Hit { title: plain(&hit.title), description: plain(&hit.description), ..hit }
}
