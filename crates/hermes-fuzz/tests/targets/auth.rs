//! `auth.json`: any content is read or set aside, a new key changes nothing else, and no view shows a secret.

use hermes_core::clock::RealClock;
use hermes_fuzz::{explore, mutants};
use hermes_model::auth::edit::{NewKey, list, status};
use hermes_model::auth::{AuthPaths, AuthStore, Document, Endpoints, Logins, Parts};
use proptest::prelude::*;
use secrecy::SecretString;
use serde_json::{Value, json};
use std::time::SystemTime;

const CORPUS: [&[u8]; 2] = [include_bytes!("../../corpus/auth.json"), b"{\"credential_pool\":{},\"providers\":{}}"];
const DICTIONARY: [&str; 18] = [
    "null",
    "{}",
    "[]",
    "\"\"",
    "-1",
    "1e300",
    "99999999999999999999",
    "9223372036854775807",
    "true",
    "\"9999-99-99T99:99:99Z\"",
    "\"-009999-01-01T00:00:00Z\"",
    "\"dead\"",
    "\"exhausted\"",
    "\"priority\":",
    "{",
    "}",
    ",",
    "\"",
];
const SECRETS: [&str; 4] =
    ["nous-access-0123456789", "nous-refresh-0123456789", "sk-nous-0123456789", "gsk_0123456789abcdef"];

#[test]
fn any_document_can_be_looked_at() {
    explore(mutants(), |mutant| {
        let bytes = mutant.of(&CORPUS, &DICTIONARY);
        let Some(document) = Document::parse(&bytes) else { return Ok(()) };
        let now = SystemTime::now().try_into().unwrap_or_default();
        let logins = Logins::of(Parts { own: document.clone(), ..Parts::default() }, &Endpoints::default());
        let mut shown = format!("{document:?} {logins:?}");
        for provider in logins.providers() {
            let rows = logins.pool(&provider, Vec::new());
            let standing = status(&logins, &provider, &rows, now);
            prop_assert_eq!(list(&rows, now).len(), rows.len());
            shown.push_str(&format!("{rows:?} {:?}", standing.rows));
        }
        // A wounded file may have a secret where a name belongs; names are for showing.
        let misplaced =
            |secret: &str| serde_json::from_slice::<Value>(&bytes).is_ok_and(|value| is_name(&value, secret));
        for secret in SECRETS {
            prop_assert!(!shown.contains(secret) || misplaced(secret), "{shown}");
        }
        Ok(())
    });
}

/// True when the text is part of a key, or of a value under a key that does not hold secrets.
fn is_name(value: &Value, text: &str) -> bool {
    match value {
        Value::Object(map) => map.iter().any(|(key, value)| {
            let is_secret = key.ends_with("_token") || key == "agent_key";
            key.contains(text)
                || (!is_secret && value.as_str().is_some_and(|value| value.contains(text)))
                || is_name(value, text)
        }),
        Value::Array(items) => items.iter().any(|item| is_name(item, text)),
        _ => false,
    }
}

/// The document without what a new key may change.
fn rest(mut document: Value) -> Value {
    for path in ["/credential_pool/groq", "/suppressed_sources/groq", "/active_provider", "/updated_at", "/version"] {
        if let Some((parent, key)) = path.rsplit_once('/')
            && let Some(Value::Object(map)) = document.pointer_mut(parent)
        {
            map.remove(key);
        }
    }
    if document.get("credential_pool") == Some(&json!({})) {
        document.as_object_mut().map(|map| map.remove("credential_pool"));
    }
    document
}

#[test]
fn a_new_key_leaves_everything_else_alone() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let home = tempfile::tempdir().expect("a home");
    let store = AuthStore::new(&AuthPaths::root(home.path()));
    explore(mutants(), |mutant| {
        let bytes = mutant.of(&CORPUS, &DICTIONARY);
        std::fs::write(store.path(), &bytes).expect("written");
        let key = SecretString::from("gsk_new0123456789");
        let new = NewKey { provider: "groq".into(), label: Some("new".into()), key, base_url: None };
        let added = runtime.block_on(store.add_key(&RealClock::default(), new));
        prop_assert!(added.is_ok(), "{added:?}");
        let after: Value = serde_json::from_slice(&std::fs::read(store.path()).expect("read")).expect("JSON");
        let keys = after.pointer("/credential_pool/groq").and_then(Value::as_array).into_iter().flatten();
        prop_assert!(
            keys.into_iter().any(|row| row.get("access_token") == Some(&json!("gsk_new0123456789"))),
            "{after}"
        );
        match serde_json::from_slice::<Value>(&bytes) {
            Ok(before @ Value::Object(_)) => {
                let is_section = |key: &str| before.get(key).is_none_or(Value::is_object);
                if is_section("credential_pool") && is_section("suppressed_sources") {
                    prop_assert_eq!(rest(after), rest(before));
                }
            }
            _ => {
                let copy = std::fs::read(home.path().join("auth.json.corrupt")).expect("set aside");
                prop_assert_eq!(copy, bytes);
            }
        }
        Ok(())
    });
}
