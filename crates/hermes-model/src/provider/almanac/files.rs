//! The files of an almanac. Each is read whole or not at all and replaced whole or not at all; what another process wrote
//! since is read again before, so that neither loses the other's news for longer than an hour.
//!
//! | file | holds | form |
//! |---|---|---|
//! | `context_length_cache.yaml` | windows that refusals named | the Python program's: `context_lengths: {model@endpoint: tokens}` |
//! | `cache/openrouter_model_metadata.json` | OpenRouter's list | the Python program's: `{model: {context_length, pricing}}`, as old as the file |
//! | `cache/endpoint_models.json` | the lists of other endpoints | `{endpoint: {at, models: {…}}}` with the same entries |

use super::{ModelFacts, Page};
use crate::catalog;
use crate::provider::prices::Prices;
use hermes_types::{Object, Usd};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

const OPENROUTER: &str = "https://openrouter.ai/api/v1";
const LARGEST_FILE: u64 = 16 << 20;
/// Endpoints whose lists are kept; those asked longest ago go first.
const MOST_PAGES: usize = 40;
const TOKENS_PER_PRICE: i64 = 1_000_000;

fn windows_file(home: &Path) -> PathBuf {
    home.join("context_length_cache.yaml")
}

fn openrouter_file(home: &Path) -> PathBuf {
    home.join("cache/openrouter_model_metadata.json")
}

fn endpoints_file(home: &Path) -> PathBuf {
    home.join("cache/endpoint_models.json")
}

pub(super) fn windows(home: &Path) -> BTreeMap<String, u64> {
    let document = text(&windows_file(home)).and_then(|text| serde_saphyr::from_str::<Value>(&text).ok());
    let windows = document.as_ref().and_then(|document| document.get("context_lengths")?.as_object());
    windows.into_iter().flatten().filter_map(|(place, tokens)| Some((place.clone(), tokens.as_u64()?))).collect()
}

pub(super) fn write_window(home: &Path, place: &str, window: u64) {
    let mut all = windows(home);
    all.insert(place.to_owned(), window);
    let mut document = String::from("context_lengths:\n");
    for (place, tokens) in all {
        // A string of JSON is one of YAML, too.
        document.push_str(&format!("  {}: {tokens}\n", Value::String(place)));
    }
    write(&windows_file(home), document.as_bytes());
}

pub(super) fn pages(home: &Path) -> HashMap<String, Page> {
    let mut pages = HashMap::new();
    for (address, page) in object(&endpoints_file(home)) {
        let at = page.get("at").and_then(Value::as_u64).map(|at| SystemTime::UNIX_EPOCH + Duration::from_secs(at));
        if let (Some(at), Some(models)) = (at, page.get("models").and_then(Value::as_object)) {
            pages.insert(address, Page { at, models: entries(models) });
        }
    }
    let path = openrouter_file(home);
    if let Ok(at) = std::fs::metadata(&path).and_then(|about| about.modified()) {
        pages.insert(OPENROUTER.to_owned(), Page { at, models: entries(&object(&path)) });
    }
    pages
}

pub(super) fn write_page(home: &Path, address: &str, page: &Page) {
    if address == OPENROUTER {
        let mut all = object(&openrouter_file(home));
        all.extend(page.models.iter().map(|(id, facts)| (id.clone(), entry(id, facts))));
        return write(&openrouter_file(home), Value::Object(all).to_string().as_bytes());
    }
    let since = page.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    let models: Object = page.models.iter().map(|(id, facts)| (id.clone(), entry(id, facts))).collect();
    let mut all = object(&endpoints_file(home));
    all.insert(address.to_owned(), json!({"at": since, "models": models}));
    while all.len() > MOST_PAGES {
        let oldest =
            all.iter().min_by_key(|(_, page)| page.get("at").and_then(Value::as_u64)).map(|(key, _)| key.clone());
        oldest.and_then(|oldest| all.remove(&oldest));
    }
    write(&endpoints_file(home), Value::Object(all).to_string().as_bytes());
}

fn entries(models: &Object) -> BTreeMap<String, ModelFacts> {
    let facts = |entry: &Value| ModelFacts { window: catalog::window(entry), prices: catalog::prices_per_token(entry) };
    models.iter().filter(|(_, entry)| entry.is_object()).map(|(id, entry)| (id.clone(), facts(entry))).collect()
}

/// A model as OpenRouter and the Python program write it: prices of one token, as decimals.
fn entry(id: &str, facts: &ModelFacts) -> Value {
    let mut entry = Object::new();
    entry.insert("name".into(), id.into());
    if let Some(window) = facts.window {
        entry.insert("context_length".into(), window.into());
    }
    if let Some(prices) = &facts.prices {
        entry.insert("pricing".into(), Value::Object(pricing(prices)));
    }
    Value::Object(entry)
}

fn pricing(prices: &Prices) -> Object {
    let of_one = |price: Usd| Usd::from_pico(price.pico() / TOKENS_PER_PRICE);
    let named = [
        ("prompt", prices.input.map(of_one)),
        ("completion", prices.output.map(of_one)),
        ("input_cache_read", prices.cache_read.map(of_one)),
        ("input_cache_write", prices.cache_write.map(of_one)),
        ("request", prices.request),
    ];
    named.into_iter().filter_map(|(name, price)| Some((name.to_owned(), price?.to_decimal().into()))).collect()
}

/// The JSON object in a file; none where it cannot be read.
fn object(path: &Path) -> Object {
    match text(path).and_then(|text| serde_json::from_str(&text).ok()) {
        Some(Value::Object(object)) => object,
        _ => Object::new(),
    }
}

fn text(path: &Path) -> Option<String> {
    let about = std::fs::metadata(path).ok()?;
    if about.len() > LARGEST_FILE { None } else { std::fs::read_to_string(path).ok() }
}

fn write(path: &Path, bytes: &[u8]) {
    if let Err(error) = replace(path, bytes) {
        tracing::warn!(path = %path.display(), %error, "what is known about models could not be kept");
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().ok_or(io::ErrorKind::InvalidInput)?;
    std::fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path)?;
    Ok(())
}
