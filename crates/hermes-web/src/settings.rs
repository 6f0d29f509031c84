//! What the owner decided about the web, read once into plain values.
//!
//! Sections of `config.yaml` (`web`, `security`, `browser` for a key of old, `auxiliary.vision`) and the variables that
//! services are known by. What cannot be read is named and gets its default; nothing here stops the program.

use crate::fetch::{Blocklist, PROXY_VARIABLES, PrivateNets, Proxies, Rules};
use crate::search::engine::{self, ENGINES};
use hermes_types::yes_or_no;
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

const ALLOW_PRIVATE: &str = "HERMES_ALLOW_PRIVATE_URLS";
/// Limits of `web.extract_char_limit` and of the same wish in a call.
const FEWEST_CHARS: usize = 2_000;
const MOST_CHARS: usize = 500_000;
const USUAL_CHARS: usize = 15_000;
const DOWNLOAD: u64 = 30;

/// Everything the tools of the web go by.
#[derive(Debug, Clone)]
pub struct WebSettings {
    pub rules: Rules,
    pub search: SearchSettings,
    pub extract: ExtractSettings,
    /// How long the download of a picture may take.
    pub picture_patience: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct SearchSettings {
    /// Engines that were asked for by name, in the order in which they count.
    pub wanted: Vec<String>,
    /// Engines that may be asked after the first one failed (`web.search_fallback`).
    pub fallbacks: Vec<String>,
    /// Keys and addresses of engines by the names of their variables.
    pub variables: BTreeMap<String, String>,
    /// `web.<engine>.base_url`
    pub base_urls: BTreeMap<String, String>,
    /// `web.ddgs.enabled`
    pub without_key: WithoutKey,
}

/// Whether the engine that needs no key may be asked without being named.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum WithoutKey {
    #[default]
    Welcome,
    Unwanted,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExtractSettings {
    pub chars: usize,
    pub long_pages: LongPages,
}

/// What a page that is too long becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LongPages {
    /// Its two ends.
    #[default]
    Ends,
    /// What a model for side jobs makes of it (`web.summarize`).
    Summary,
}

impl ExtractSettings {
    /// The characters of a page for a call that may have a wish of its own.
    pub fn chars_for(&self, wish: Option<i64>) -> usize {
        let wish = wish.map(|wish| usize::try_from(wish).unwrap_or(0));
        wish.map_or(self.chars, |wish| wish.clamp(FEWEST_CHARS, MOST_CHARS))
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WebSection {
    backend: Option<String>,
    search_backend: Option<String>,
    extract_char_limit: Option<i64>,
    summarize: Option<bool>,
    #[serde(flatten)]
    engines: BTreeMap<String, Value>,
}

/// Every variable that is looked at, for whoever hands them over and hides the secret ones from children.
pub fn variables() -> impl Iterator<Item = &'static str> {
    secret_variables().chain(PROXY_VARIABLES).chain([ALLOW_PRIVATE])
}

/// Those that hold keys and addresses of services.
pub fn secret_variables() -> impl Iterator<Item = &'static str> {
    ENGINES.iter().flat_map(|engine| engine.card().variables())
}

impl WebSettings {
    /// Reads a whole `config.yaml`. `variable` gives the environment; `home` is the home of Hermes.
    pub fn read(
        config: &Value,
        variable: impl Fn(&str) -> Option<String>,
        home: &Path,
        ca_bundle: Option<PathBuf>,
        odd: &mut Vec<String>,
    ) -> Self {
        let web: WebSection = section(config, "web", odd);
        let blocklist = blocklist(config, home, odd);
        let of_old = config.pointer("/browser/allow_private_urls").and_then(Value::as_bool);
        let said = variable(ALLOW_PRIVATE).map(|word| yes_or_no(&word) == Some(true));
        let set = [switch(config, "security.allow_private_urls", Otherwise::Off, odd), of_old].contains(&Some(true));
        let private = said.unwrap_or(set);
        let download = config.pointer("/auxiliary/vision/download_timeout").and_then(Value::as_u64).unwrap_or(DOWNLOAD);
        Self {
            rules: Rules {
                private: if private { PrivateNets::Allowed } else { PrivateNets::Refused },
                blocklist,
                proxies: Proxies::read(&variable),
                ca_bundle,
            },
            extract: ExtractSettings {
                chars: characters(web.extract_char_limit, odd),
                long_pages: if web.summarize == Some(true) { LongPages::Summary } else { LongPages::Ends },
            },
            search: search_settings(&web, &texts(config, "web.search_fallback", odd), variable, odd),
            picture_patience: Duration::from_secs(download.clamp(1, 600)),
        }
    }
}

/// What a switch means that is neither true nor false.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Otherwise {
    On,
    Off,
}

/// What stands at this place of the settings, unless it is nothing.
fn at<'c>(config: &'c Value, path: &str) -> Option<&'c Value> {
    path.split('.').try_fold(config, |value, key| value.get(key)).filter(|value| !value.is_null())
}

fn switch(config: &Value, path: &str, otherwise: Otherwise, odd: &mut Vec<String>) -> Option<bool> {
    let value = at(config, path)?;
    Some(value.as_bool().unwrap_or_else(|| {
        let is_on = otherwise == Otherwise::On;
        odd.push(format!("{path}: {value} is neither true nor false; {is_on} is used"));
        is_on
    }))
}

/// One text, or a list of them.
fn texts(config: &Value, path: &str, odd: &mut Vec<String>) -> Vec<String> {
    let values: Vec<&Value> = match at(config, path) {
        None => Vec::new(),
        Some(Value::Array(values)) => values.iter().collect(),
        Some(value) => vec![value],
    };
    let (texts, others): (Vec<&Value>, Vec<&Value>) = values.into_iter().partition(|value| value.is_string());
    odd.extend(others.iter().map(|other| format!("{path}: {other} is no text; it is left out")));
    texts.into_iter().filter_map(|text| text.as_str().map(str::to_owned)).collect()
}

/// Web sites nobody may visit. Each setting is read on its own, and a switch nobody understands is on: a slip must not let
/// pass what somebody took the trouble to forbid.
fn blocklist(config: &Value, home: &Path, odd: &mut Vec<String>) -> Blocklist {
    let domains = texts(config, "security.website_blocklist.domains", odd);
    let files = texts(config, "security.website_blocklist.shared_files", odd);
    let files: Vec<PathBuf> = files.into_iter().map(PathBuf::from).collect();
    match switch(config, "security.website_blocklist.enabled", Otherwise::On, odd) {
        Some(true) => Blocklist::read(&domains, &files, home, odd),
        Some(false) | None => Blocklist::default(),
    }
}

fn search_settings(
    web: &WebSection,
    fallbacks: &[String],
    variable: impl Fn(&str) -> Option<String>,
    odd: &mut Vec<String>,
) -> SearchSettings {
    let wanted = named([&web.search_backend, &web.backend].into_iter().flatten());
    let fallbacks = named(fallbacks);
    let unknown = fallbacks.iter().filter(|name| engine::named(name).is_none());
    odd.extend(unknown.map(|name| format!("web.search_fallback: there is no search engine `{name}`")));
    let of_engine = |name: &str, key: &str| web.engines.get(name).and_then(|section| section.get(key)).cloned();
    let base_url = |name: &str| of_engine(name, "base_url").and_then(|url| Some(url.as_str()?.to_owned()));
    let unwanted = of_engine("ddgs", "enabled").and_then(|enabled| enabled.as_bool()) == Some(false);
    SearchSettings {
        wanted,
        fallbacks,
        variables: secret_variables().filter_map(|name| Some((name.to_owned(), variable(name)?))).collect(),
        base_urls: ENGINES
            .iter()
            .filter_map(|engine| Some((engine.card().name.to_owned(), base_url(engine.card().name)?)))
            .filter(|(_, url)| !url.trim().is_empty())
            .collect(),
        without_key: if unwanted { WithoutKey::Unwanted } else { WithoutKey::Welcome },
    }
}

fn named<'n>(names: impl IntoIterator<Item = &'n String>) -> Vec<String> {
    names.into_iter().map(|name| name.trim().to_lowercase()).filter(|name| !name.is_empty()).collect()
}

fn characters(limit: Option<i64>, odd: &mut Vec<String>) -> usize {
    match limit.map(usize::try_from) {
        None => USUAL_CHARS,
        Some(Ok(limit)) if (FEWEST_CHARS..=MOST_CHARS).contains(&limit) => limit,
        Some(other) => {
            odd.push(format!("web.extract_char_limit: between {FEWEST_CHARS} and {MOST_CHARS}; the nearest is used"));
            other.unwrap_or(0).clamp(FEWEST_CHARS, MOST_CHARS)
        }
    }
}

fn section<T: serde::de::DeserializeOwned + Default>(config: &Value, name: &str, odd: &mut Vec<String>) -> T {
    match config.get(name) {
        None | Some(Value::Null) => T::default(),
        Some(value) => T::deserialize(value).unwrap_or_else(|error| {
            odd.push(format!("{name}: {error}; its defaults are used"));
            T::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(config: &Value, variables: &[(&str, &str)]) -> (WebSettings, Vec<String>) {
        let mut odd = Vec::new();
        let variable =
            |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
        let settings = WebSettings::read(config, variable, Path::new("/nonexistent"), None, &mut odd);
        (settings, odd)
    }

    #[test]
    fn private_addresses_are_refused_unless_somebody_said_otherwise() {
        let private = |config: Value, variables: &[(&str, &str)]| read(&config, variables).0.rules.private;
        assert_eq!(private(Value::Null, &[]), PrivateNets::Refused);
        assert_eq!(private(json!({"security": {"allow_private_urls": true}}), &[]), PrivateNets::Allowed);
        assert_eq!(private(json!({"browser": {"allow_private_urls": true}}), &[]), PrivateNets::Allowed);
        assert_eq!(private(Value::Null, &[(ALLOW_PRIVATE, "yes")]), PrivateNets::Allowed);
        let both = json!({"security": {"allow_private_urls": true}});
        assert_eq!(private(both, &[(ALLOW_PRIVATE, "0")]), PrivateNets::Refused, "the variable is the last word");
    }

    #[test]
    fn what_cannot_be_read_is_told_and_has_its_default() {
        let (settings, odd) = read(&json!({"web": {"extract_char_limit": 5}}), &[]);
        assert_eq!((settings.extract.chars, odd.len()), (FEWEST_CHARS, 1), "{odd:?}");
        let (settings, odd) =
            read(&json!({"web": {"extract_char_limit": "many"}, "security": {"allow_private_urls": "?"}}), &[]);
        assert_eq!((settings.extract.chars, settings.rules.private), (USUAL_CHARS, PrivateNets::Refused));
        assert_eq!(odd.len(), 2, "{odd:?}");
    }

    #[test]
    fn a_slip_does_not_let_pass_what_was_forbidden() {
        let config = json!({"security": {"allow_private_urls": "maybe", "website_blocklist": {
            "enabled": "sure", "domains": ["ads.example", 7], "shared_files": 3,
        }}});
        let (settings, odd) = read(&config, &[]);
        let told = [
            "security.website_blocklist.domains: 7 is no text; it is left out",
            "security.website_blocklist.shared_files: 3 is no text; it is left out",
            "security.website_blocklist.enabled: \"sure\" is neither true nor false; true is used",
            "security.allow_private_urls: \"maybe\" is neither true nor false; false is used",
        ];
        assert_eq!(odd, told);
        assert_eq!(settings.rules.private, PrivateNets::Refused);
        assert!(settings.rules.blocklist.hit("ads.example").is_some());
        let lone = json!({"security": {"website_blocklist": {"enabled": true, "domains": "ads.example"}}});
        assert!(read(&lone, &[]).0.rules.blocklist.hit("x.ads.example").is_some());
    }

    #[test]
    fn engines_are_wanted_by_name_and_known_by_their_variables() {
        let config =
            json!({"web": {"backend": "Exa", "search_backend": "searxng", "searxng": {"base_url": "http://box"}}});
        let (settings, _) = read(&config, &[("EXA_API_KEY", "k"), ("UNRELATED", "x")]);
        assert_eq!(settings.search.wanted, ["searxng", "exa"]);
        assert_eq!(settings.search.variables, BTreeMap::from([("EXA_API_KEY".to_owned(), "k".to_owned())]));
        assert_eq!(settings.search.base_urls, BTreeMap::from([("searxng".to_owned(), "http://box".to_owned())]));
        let (settings, odd) = read(&json!({"web": {"search_fallback": ["Brave", "nobody"]}}), &[]);
        assert_eq!(settings.search.fallbacks, ["brave", "nobody"]);
        assert_eq!(odd, ["web.search_fallback: there is no search engine `nobody`"]);
        assert_eq!(read(&json!({"web": {"search_fallback": "ddgs"}}), &[]).0.search.fallbacks, ["ddgs"]);
        assert_eq!(settings.extract.chars_for(Some(1)), FEWEST_CHARS);
        assert_eq!(settings.extract.chars_for(None), USUAL_CHARS);
    }
}
