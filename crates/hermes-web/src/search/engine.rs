//! What a search engine is, the table of all of them, and which one is asked.
//!
//! An engine is pure: it turns words into a request and an answer into hits. Its card says what it needs. Adding one is a
//! struct with a card and a line in [`ENGINES`], whose order is the order of choice.

use super::duckduckgo::DuckDuckGo;
use super::engines::{Brave, Exa, Firecrawl, Parallel, SearXng, Tavily};
use crate::key::Key;
use crate::settings::{SearchSettings, WithoutKey};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Write as _;
use url::Url;

/// Who an engine is.
#[derive(Debug)]
pub struct EngineCard {
    /// As the settings name it.
    pub name: &'static str,
    /// As people name it.
    pub title: &'static str,
    pub base_url: &'static str,
    pub needs: Needs,
    /// The variable with its key.
    pub key: Option<&'static str>,
    pub key_header: KeyHeader,
    /// The variable with its address.
    pub address: Option<&'static str>,
    /// As many hits as it gives at once.
    pub most: usize,
    /// What a status means with this engine and no other.
    pub refusals: &'static [(u16, &'static str)],
    /// Where a key is from, or what it takes to run one.
    pub from: &'static str,
}

/// Without what an engine cannot be asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Key,
    Address,
    Either,
    Nothing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyHeader {
    Bearer,
    Named(&'static str),
}

impl EngineCard {
    pub fn variables(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.key.into_iter().chain(self.address)
    }
}

/// A request, without its key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    pub url: Url,
    pub headers: &'static [(&'static str, &'static str)],
    /// A body makes it a POST.
    pub body: Option<Value>,
}

/// One page that was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hit {
    pub title: String,
    pub url: String,
    pub description: String,
}

pub trait Engine: Sync {
    fn card(&self) -> &'static EngineCard;

    fn question(&self, base: &Url, query: &str, limit: usize) -> Question;

    /// The hits of an answer that the server was content with, or why there are none to be read.
    fn hits(&self, body: &[u8]) -> Result<Vec<Hit>, String>;
}

/// In the order of choice.
pub const ENGINES: [&dyn Engine; 7] = [&Tavily, &Exa, &Parallel, &Firecrawl, &SearXng, &Brave, &DuckDuckGo];

/// Names that the Python program knows an engine by besides.
const ALIASES: [(&str, &str); 4] =
    [("brave", "brave-free"), ("duckduckgo", "ddgs"), ("ddg", "ddgs"), ("searx", "searxng")];

/// An engine that can be asked.
#[derive(Clone)]
pub struct Ready {
    pub engine: &'static dyn Engine,
    pub base: Url,
    pub key: Option<Key>,
}

impl std::fmt::Debug for Ready {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at {} with {:?}", self.engine.card().name, self.base, self.key)
    }
}

/// An engine by any of its names.
pub fn named(name: &str) -> Option<&'static dyn Engine> {
    let name = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, name)| name);
    ENGINES.into_iter().find(|engine| engine.card().name == name)
}

/// The engine to ask: one that was wanted by name if it can be used, else the first that can.
pub fn choose(settings: &SearchSettings) -> Result<Ready, String> {
    let wanted = settings.wanted.iter().filter_map(|name| named(name));
    let offered = ENGINES
        .into_iter()
        .filter(|engine| engine.card().needs != Needs::Nothing || settings.without_key == WithoutKey::Welcome);
    wanted.chain(offered).find_map(|engine| ready(engine, settings)).ok_or_else(|| options(settings))
}

/// The engines to ask, each after the one before it failed: the first one, and those that the owner named for that. Nobody
/// else hears what is searched for.
pub fn chain(settings: &SearchSettings) -> Result<Vec<Ready>, String> {
    let mut chain = vec![choose(settings)?];
    for engine in settings.fallbacks.iter().filter_map(|name| named(name)) {
        let is_new = chain.iter().all(|earlier| earlier.engine.card().name != engine.card().name);
        chain.extend(is_new.then(|| ready(engine, settings)).flatten());
    }
    Ok(chain)
}

fn ready(engine: &'static dyn Engine, settings: &SearchSettings) -> Option<Ready> {
    let card = engine.card();
    let variable =
        |name: Option<&str>| settings.variables.get(name?).map(|value| value.trim()).filter(|value| !value.is_empty());
    let address = settings.base_urls.get(card.name).map(|url| url.trim()).or_else(|| variable(card.address));
    let base = Url::parse(address.unwrap_or(card.base_url)).ok()?;
    let key = variable(card.key).and_then(|key| Key::new(key, &base)).map(|key| match card.key_header {
        KeyHeader::Bearer => key.after("Bearer "),
        KeyHeader::Named(_) => key,
    });
    let usable = matches!(base.scheme(), "http" | "https")
        && match card.needs {
            Needs::Key => key.is_some(),
            Needs::Address => address.is_some(),
            Needs::Either => key.is_some() || address.is_some(),
            Needs::Nothing => true,
        };
    usable.then_some(Ready { engine, base, key })
}

/// The same in a line, for lists.
pub fn missing() -> String {
    let ways: Vec<&str> = ENGINES.iter().filter_map(|engine| engine.card().key.or(engine.card().address)).collect();
    format!("no search engine is set up; set one of {}, or web.ddgs.enabled", ways.join(", "))
}

/// What a person can do when no engine can be asked.
pub fn options(settings: &SearchSettings) -> String {
    let mut text = match settings.wanted.first() {
        Some(wanted) => format!("The search engine `{wanted}` cannot be used as it is set up, and no other is. "),
        None => "No search engine is set up. ".to_owned(),
    };
    text.push_str("Set one of these (`hermes config set NAME VALUE`, or a line in .env):");
    for card in ENGINES.iter().map(|engine| engine.card()) {
        let way = match (card.key, card.address, card.needs) {
            (_, _, Needs::Nothing) => format!("web.{}.enabled=true", card.name),
            (Some(key), Some(address), Needs::Either) => format!("{key} or {address}"),
            (_, Some(address), Needs::Address) => address.to_owned(),
            (key, ..) => key.unwrap_or_default().to_owned(),
        };
        // Writing to a text does not fail.
        let _ = write!(text, "\n- {}: {way} ({})", card.title, card.from);
    }
    text
}

/// Where below its base an engine is asked.
pub(super) fn below(base: &Url, path: &str) -> Url {
    let mut url = base.clone();
    url.set_path(&format!("{}/{path}", base.path().trim_end_matches('/')));
    url
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn settings(wanted: &[&str], variables: &[(&str, &str)]) -> SearchSettings {
        SearchSettings {
            wanted: wanted.iter().map(|name| (*name).to_owned()).collect(),
            variables: variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            ..SearchSettings::default()
        }
    }

    fn chosen(settings: &SearchSettings) -> Result<&'static str, String> {
        choose(settings).map(|ready| ready.engine.card().name)
    }

    #[test]
    fn the_order_of_choice_is_that_of_the_table_unless_somebody_wants_another() {
        let everything: Vec<(&str, &str)> = ENGINES
            .iter()
            .flat_map(|engine| engine.card().variables())
            .map(|name| (name, if name.ends_with("URL") { "http://box.test" } else { "key-1234" }))
            .collect();
        let mut left = everything.clone();
        let mut order = Vec::new();
        while let Ok(name) = chosen(&settings(&[], &left)) {
            order.push(name);
            if name == "ddgs" {
                break;
            }
            let engine = ENGINES.iter().find(|engine| engine.card().name == name).expect("known");
            let own: Vec<&str> = engine.card().variables().collect();
            left.retain(|(variable, _)| !own.contains(variable));
        }
        assert_eq!(order, ["tavily", "exa", "parallel", "firecrawl", "searxng", "brave-free", "ddgs"]);
        for (wanted, name) in [("brave", "brave-free"), ("ddgs", "ddgs"), ("exa", "exa"), ("nope", "tavily")] {
            assert_eq!(chosen(&settings(&[wanted], &everything)), Ok(name), "{wanted}");
        }
        assert_eq!(chosen(&settings(&["exa", "searxng"], &[("SEARXNG_URL", "http://box.test")])), Ok("searxng"));
    }

    #[test]
    fn a_self_hosted_engine_needs_an_address_and_no_key() {
        let own = choose(&settings(&[], &[("FIRECRAWL_API_URL", "http://box.test:3002/")])).expect("usable");
        assert_eq!(
            (own.engine.card().name, own.base.as_str(), own.key.is_none()),
            ("firecrawl", "http://box.test:3002/", true)
        );
        let odd = settings(&["searxng"], &[("SEARXNG_URL", "ftp://box.test")]);
        assert_eq!(chosen(&odd), Ok("ddgs"));
    }

    #[test]
    fn without_any_engine_every_way_to_one_is_named() {
        let none = SearchSettings { without_key: WithoutKey::Unwanted, ..settings(&[], &[]) };
        let told = chosen(&none).expect_err("there is none");
        for name in
            ENGINES.iter().flat_map(|engine| engine.card().variables()).filter(|name| *name != "TAVILY_BASE_URL")
        {
            assert!(told.contains(name), "{name} is missing in {told}");
        }
        assert!(told.starts_with("No search engine is set up.") && told.contains("web.ddgs.enabled=true"), "{told}");
        let named = SearchSettings { base_urls: BTreeMap::new(), wanted: vec!["exa".into()], ..none };
        assert!(chosen(&named).expect_err("no key").contains("`exa` cannot be used"));
    }
}
