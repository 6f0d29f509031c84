//! What endpoints themselves say about their models, and what was learnt from their refusals: windows and prices.
//!
//! Kept in the home and shared with other processes and with the Python program, whose files are read and written in its
//! own form. Everything here is a copy of what can be asked again: a file that cannot be read counts as none, one that
//! cannot be written costs the news. A question to a model never waits for any of it. Settings of the person are looked at
//! before, the tables of the program behind.

mod files;

use super::Provider;
use super::prices::Prices;
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::{LazyLock, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use url::Url;

/// A list is asked for again after this long, also one that could not be had.
pub const FRESH: Duration = Duration::from_secs(3600);
/// What can be a window at all; everything else is a misunderstanding.
const PLAUSIBLE: std::ops::RangeInclusive<u64> = 1_024..=10_000_000;
/// Servers whose window changes with how a model was loaded, or that know it better themselves.
const NOT_REMEMBERED: [&str; 2] = ["lmstudio", "nous"];

/// What is known about a model at one endpoint.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelFacts {
    pub window: Option<u64>,
    pub prices: Option<Prices>,
}

#[derive(Debug, Default)]
pub struct Almanac {
    /// Where it is kept; without a home it is not, and nothing is asked for it.
    home: Option<PathBuf>,
    known: RwLock<Known>,
}

#[derive(Debug, Default)]
struct Known {
    /// By endpoint.
    pages: HashMap<String, Page>,
    /// Windows that refusals named, by `model@endpoint`.
    windows: BTreeMap<String, u64>,
}

/// The list of one endpoint.
#[derive(Debug, Clone, PartialEq)]
struct Page {
    at: SystemTime,
    models: BTreeMap<String, ModelFacts>,
}

static BLANK: LazyLock<Almanac> = LazyLock::new(Almanac::default);

impl Almanac {
    /// What is kept in a home.
    pub fn open(home: PathBuf) -> Self {
        let known = Known { pages: files::pages(&home), windows: files::windows(&home) };
        Self { home: Some(home), known: RwLock::new(known) }
    }

    /// One in which nothing stands.
    pub fn blank() -> &'static Self {
        &BLANK
    }

    /// Whether there is somewhere to keep what is learnt.
    pub fn is_kept(&self) -> bool {
        self.home.is_some()
    }

    /// The tokens a model can read and write in one go, by a refusal or by the endpoint's own list.
    pub fn window(&self, provider: &Provider, base_url: &Url, model: &str) -> Option<u64> {
        let remembered = || self.read().windows.get(&place(model, base_url)).copied();
        let remembered = if NOT_REMEMBERED.contains(&provider.id) { None } else { remembered() };
        remembered.or_else(|| self.facts(base_url, model)?.window).filter(|window| PLAUSIBLE.contains(window))
    }

    /// What the endpoint says it charges.
    pub fn prices(&self, base_url: &Url, model: &str) -> Option<Prices> {
        self.facts(base_url, model)?.prices
    }

    fn facts(&self, base_url: &Url, model: &str) -> Option<ModelFacts> {
        self.read().pages.get(&address(base_url))?.models.get(model).copied()
    }

    /// Whether the endpoint need not be asked again yet.
    pub fn is_fresh(&self, base_url: &Url, now: SystemTime) -> bool {
        let known = self.read();
        let page = known.pages.get(&address(base_url));
        page.is_some_and(|page| now.duration_since(page.at).is_ok_and(|age| age < FRESH))
    }

    /// Keeps the list of an endpoint. An empty one is remembered too, so that it is not asked for again at once; what was
    /// known before stays.
    pub fn keep(&self, base_url: &Url, models: impl IntoIterator<Item = (String, ModelFacts)>, now: SystemTime) {
        let address = address(base_url);
        let page = {
            let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
            let page = known.pages.entry(address.clone()).or_insert_with(|| Page { at: now, models: BTreeMap::new() });
            page.at = now;
            page.models.extend(models);
            page.clone()
        };
        if let Some(home) = &self.home {
            files::write_page(home, &address, &page);
        }
    }

    /// A refusal named this window, and an answer came since.
    pub fn learn(&self, base_url: &Url, model: &str, window: u64) {
        if !PLAUSIBLE.contains(&window) {
            return;
        }
        let place = place(model, base_url);
        self.known.write().unwrap_or_else(PoisonError::into_inner).windows.insert(place.clone(), window);
        if let Some(home) = &self.home {
            files::write_window(home, &place, window);
        }
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An endpoint as files name it: without what could be a secret, and without the last slash.
fn address(base_url: &Url) -> String {
    crate::voice::plain_address(base_url).trim_end_matches('/').to_owned()
}

fn place(model: &str, base_url: &Url) -> String {
    format!("{model}@{}", address(base_url))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::Usd;

    fn url(text: &str) -> Url {
        text.parse().expect("a URL")
    }

    fn facts(window: u64, input: Option<&str>) -> ModelFacts {
        let price = |text: &str| text.parse::<Usd>().expect("an amount");
        let prices =
            input.map(|input| Prices { input: Some(price(input)), output: Some(price("2")), ..Prices::default() });
        ModelFacts { window: Some(window), prices }
    }

    fn custom() -> &'static Provider {
        Provider::find("custom").expect("a row")
    }

    #[test]
    fn what_is_kept_is_there_in_the_next_process_and_grows_old() {
        let home = tempfile::tempdir().expect("a folder");
        let (here, router) = (url("http://127.0.0.1:8000/v1/"), url("https://openrouter.ai/api/v1"));
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let first = Almanac::open(home.path().to_owned());
        assert!(!first.is_fresh(&here, now));
        first.keep(&here, [("m".to_owned(), facts(32_768, None))], now);
        first.keep(&router, [("a/b".to_owned(), facts(200_000, Some("0.25")))], SystemTime::now());

        let next = Almanac::open(home.path().to_owned());
        assert_eq!(next.window(custom(), &url("http://127.0.0.1:8000/v1"), "m"), Some(32_768));
        assert_eq!(next.prices(&router, "a/b"), facts(0, Some("0.25")).prices);
        assert_eq!(next.window(custom(), &router, "a/c"), None);
        assert!(next.is_fresh(&here, now + FRESH - Duration::from_secs(1)) && !next.is_fresh(&here, now + FRESH));
        assert!(next.is_fresh(&router, SystemTime::now()), "the age of the file is the age of the list");
    }

    #[test]
    fn a_refusal_is_believed_before_a_list_and_survives_the_process() {
        let home = tempfile::tempdir().expect("a folder");
        let here = url("http://user:hush@127.0.0.1:8000/v1");
        let kept = "context_lengths:\n  old-model@https://api.example.com/v1: 65536\n  'quoted: name@http://x': 4096\n";
        std::fs::write(home.path().join("context_length_cache.yaml"), kept).expect("written");
        let almanac = Almanac::open(home.path().to_owned());
        almanac.keep(&here, [("m".to_owned(), facts(32_768, None))], SystemTime::now());
        almanac.learn(&here, "m", 8_192);
        almanac.learn(&here, "n", 7);
        let next = Almanac::open(home.path().to_owned());
        assert_eq!(next.window(custom(), &here, "m"), Some(8_192));
        assert_eq!(next.window(custom(), &here, "n"), None, "seven tokens are no window");
        assert_eq!(next.window(custom(), &url("https://api.example.com/v1"), "old-model"), Some(65_536));
        assert_eq!(next.window(custom(), &url("http://x"), "quoted: name"), Some(4_096));
        let nous = Provider::find("nous").expect("a row");
        assert_eq!(next.window(nous, &here, "m"), Some(32_768), "this one says itself what it takes");
        let text = std::fs::read_to_string(home.path().join("context_length_cache.yaml")).expect("a file");
        assert!(text.contains("m@http://127.0.0.1:8000/v1") && !text.contains("hush"), "{text}");
    }

    #[test]
    fn broken_files_are_no_files() {
        let home = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(home.path().join("cache")).expect("a folder");
        for name in ["context_length_cache.yaml", "cache/openrouter_model_metadata.json", "cache/endpoint_models.json"]
        {
            std::fs::write(home.path().join(name), b"[1, {\xff").expect("written");
        }
        let almanac = Almanac::open(home.path().to_owned());
        let here = url("http://127.0.0.1:8000/v1");
        assert_eq!(almanac.window(custom(), &here, "m"), None);
        almanac.learn(&here, "m", 8_192);
        assert_eq!(Almanac::open(home.path().to_owned()).window(custom(), &here, "m"), Some(8_192));
    }
}
