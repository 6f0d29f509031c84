//! `web_extract`: pages as Markdown, taken apart on this machine.
//!
//! Pages are fetched side by side and answered in the order they were asked for; one that fails costs itself. An address
//! that carries a secret refuses the whole call: what is meant to leak through one is likely to try another. What is too
//! long goes to a file in the home, with the call that reads on.

mod charset;
mod keep;
mod page;
mod pictures;
pub mod readable;
mod scan;
mod summary;
mod window;

pub(crate) use readable::document;

use crate::fetch::{Fetcher, Rules, Target};
use crate::settings::{ExtractSettings, WebSettings};
use crate::until_stopped;
use futures_util::future::join_all;
use hermes_tools::desk::Cx;
use hermes_tools::effects::Effects;
use hermes_tools::gate::Permit;
use hermes_tools::tool::{Card, Output, Repeats, ResultCap, Source, Tool, ToolError};
use keep::Shelf;
use page::{Page, Press};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const MOST_PAGES: usize = 5;
const RESULT_CAP: usize = 100_000;
const FEWEST_CHARS: usize = 2_000;

pub(crate) struct WebExtract {
    fetcher: Fetcher,
    rules: Rules,
    settings: ExtractSettings,
}

#[derive(Debug, Deserialize)]
pub(crate) struct WebExtractArgs {
    urls: Vec<Value>,
    #[serde(default)]
    char_limit: Option<i64>,
}

#[derive(Debug, Serialize)]
struct Shown {
    results: Vec<Page>,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "urls": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_PAGES, "description": "Addresses of pages, at most 5"},
            "char_limit": {"type": "integer", "minimum": FEWEST_CHARS, "description": "Most characters of each page; the usual is 15000"}
        },
        "required": ["urls"]
    })
}

impl WebExtract {
    pub(crate) fn new(settings: &WebSettings, fetcher: Fetcher) -> Self {
        Self { fetcher, rules: settings.rules.clone(), settings: settings.extract }
    }

    /// The addresses of a call, none of which would carry a secret away.
    fn urls(&self, args: &WebExtractArgs) -> Result<Vec<String>, ToolError> {
        let urls: Option<Vec<String>> = args.urls.iter().map(address).collect();
        let urls = urls.filter(|urls| !urls.is_empty());
        let Some(urls) = urls else { return Err(ToolError::told("`urls` must be a list of addresses.")) };
        if urls.len() > MOST_PAGES {
            return Err(ToolError::told(format!(
                "At most {MOST_PAGES} pages can be read in one call; these are {}.",
                urls.len()
            )));
        }
        let leak = urls.iter().find_map(|url| Target::read(url, &self.rules).err().filter(|fault| fault.is_leak()));
        leak.map_or(Ok(urls), |fault| Err(ToolError::Tell(json!({"success": false, "error": fault.to_string()}))))
    }
}

/// Why a call has nothing to show: a failure for whoever watches, however well each page was answered for.
fn nothing_read(results: &[Page]) -> Option<String> {
    let faults: Option<Vec<&str>> = results.iter().map(|page| page.error.as_deref()).collect();
    match faults?.as_slice() {
        [only] => Some((*only).to_owned()),
        _ => Some("No page could be read.".to_owned()),
    }
}

/// Models hand on whole results of a search.
fn address(given: &Value) -> Option<String> {
    let text = given.as_str().or_else(|| given.get("url").or_else(|| given.get("href"))?.as_str())?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

impl Tool for WebExtract {
    type Args = WebExtractArgs;

    fn card(&self) -> Card {
        let description = "Read web pages as Markdown. Long pages show their beginning and end and name a file with all of \
                           it. Pictures are links, or [IMAGE: what it shows]; look at them with vision_analyze.";
        Card {
            emoji: "📄",
            source: Source::Strangers,
            repeats: Repeats::Idempotent,
            result_cap: ResultCap::Chars(RESULT_CAP),
            ..Card::new("web_extract", "web", description, parameters())
        }
    }

    /// A page is read, nothing is changed: the copy in the home's cache is nobody's work. So it may run beside anything
    /// and may be done again after a crash.
    fn effects(&self, args: &WebExtractArgs, _cx: &Cx) -> Result<Effects, ToolError> {
        self.urls(args).map(|_| Effects::none())
    }

    async fn call(&self, args: WebExtractArgs, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let urls = self.urls(&args)?;
        let press = Press {
            fetcher: &self.fetcher,
            settings: self.settings,
            chars: self.settings.chars_for(args.char_limit),
            shelf: Shelf::in_home(&cx.desk.settings().around.hermes_home),
            cx,
        };
        // At most five, so all of them at once.
        let mut pages = Vec::with_capacity(urls.len());
        for url in &urls {
            pages.push(press.page(url));
        }
        let results = until_stopped(&cx.stop, join_all(pages)).await?;
        match nothing_read(&results) {
            Some(error) => Err(ToolError::Tell(json!({"error": error, "results": results}))),
            None => Output::json(&Shown { results }),
        }
    }
}
