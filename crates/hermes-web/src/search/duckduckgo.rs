//! DuckDuckGo's page for browsers without scripts: an engine for people who have no key.

use super::engine::{Engine, EngineCard, Hit, KeyHeader, Needs, Question, below};
use crate::extract::document;
use url::Url;

pub(super) struct DuckDuckGo;

const HEADERS: &[(&str, &str)] = &[("accept", "text/html")];

impl Engine for DuckDuckGo {
    fn card(&self) -> &'static EngineCard {
        &EngineCard {
            name: "ddgs",
            title: "DuckDuckGo",
            base_url: "https://html.duckduckgo.com",
            needs: Needs::Nothing,
            key: None,
            key_header: KeyHeader::Bearer,
            address: None,
            most: 30,
            refusals: &[(
                202,
                "it takes no more searches from here for a while. Wait, or set up an engine with a key.",
            )],
            from: "no key, few searches at a time",
        }
    }

    fn question(&self, base: &Url, query: &str, _limit: usize) -> Question {
        let mut url = below(base, "html/");
        url.query_pairs_mut().append_pair("q", query);
        Question { url, headers: HEADERS, body: None }
    }

    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String> {
        let Some(page) = document(&String::from_utf8_lossy(body)) else {
            return Err("its page is built in a way that cannot be read".into());
        };
        let mut hits = Vec::new();
        for result in page.select("div.result").iter() {
            if result.has_class("result--ad") {
                continue;
            }
            let link = result.select_single("a.result__a");
            let Some(url) = link.attr("href").and_then(|href| real(&href)) else { continue };
            let description = result.select_single(".result__snippet").text();
            hits.push(Hit { title: link.text().trim().to_owned(), url, description: description.trim().to_owned() });
        }
        let nothing_found = page.select(".no-results").exists() || page.select("#links").exists();
        if !hits.is_empty() || (nothing_found && !page.select(".anomaly-modal__title").exists()) {
            return Ok(hits);
        }
        Err("it wants to see that a person asks, which happens after many searches; wait a while, or set up an engine \
             with a key"
            .into())
    }
}

/// The page behind one of its own links, which count visits.
fn real(href: &str) -> Option<String> {
    let url = Url::parse("https://duckduckgo.com").ok()?.join(href).ok()?;
    let is_counted = url.domain() == Some("duckduckgo.com") && url.path() == "/l/";
    if !is_counted {
        return Some(url.into()).filter(|url: &String| !url.starts_with("https://duckduckgo.com/y.js"));
    }
    url.query_pairs().find(|(name, _)| name == "uddg").map(|(_, there)| there.into_owned())
}
