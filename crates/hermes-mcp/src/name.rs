//! What tools of servers are called here, and their schemas with the old spelling of shared parts mended.
//!
//! A name is legal everywhere (letters, digits, underscores, at most 64 of them), belongs to one tool of one server, and is
//! a function of what the server offers, whatever the order: a tool that keeps its own name has it before others that only
//! look like it, and those, like names that are too long, end in a digest of what they are really called.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// The toolset of a server, and what its tools begin with.
const TOOLSET: &str = "mcp-";
const TOOL: &str = "mcp__";
/// Providers refuse a whole request for one longer name.
const LONGEST: usize = 64;
/// What the name of a server may take of that.
const LONGEST_SERVER: usize = 40;
/// Digits of a digest.
const DIGITS: usize = 8;
/// Where a schema keeps what several of its parts share, in old drafts and in new ones.
const OLD: &str = "definitions";
const NEW: &str = "$defs";

pub(crate) fn toolset(server: &str) -> String {
    format!("{TOOLSET}{server}")
}

/// What all tools of a server begin with, and no tool of ours.
pub(crate) fn prefix(server: &str) -> String {
    format!("{TOOL}{}__", within(plain(server), server, LONGEST_SERVER))
}

/// `mcp__<server>__<tool>`, with nothing in it that a provider would refuse in a name.
pub(crate) fn tool(server: &str, tool: &str) -> String {
    let prefix = prefix(server);
    let room = LONGEST - prefix.len();
    format!("{prefix}{}", within(plain(tool), tool, room))
}

/// What each of these tools of a server is called here.
pub(crate) fn tools<'n>(server: &str, names: impl IntoIterator<Item = &'n str>) -> BTreeMap<&'n str, String> {
    let names: BTreeSet<&str> = names.into_iter().collect();
    let prefix = prefix(server);
    let room = LONGEST - prefix.len();
    let (own, alike): (Vec<&str>, Vec<&str>) =
        names.into_iter().partition(|name| tool(server, name).strip_prefix(&prefix) == Some(name));
    let mut taken = BTreeSet::new();
    let mut called = BTreeMap::new();
    for name in own.into_iter().chain(alike) {
        let others =
            (0u32..).map(|round| format!("{prefix}{}", marked(&plain(name), &format!("{name}\0{round}"), room)));
        let free = std::iter::once(tool(server, name)).chain(others).find(|one| !taken.contains(one));
        // There always is a free one: rounds do not end.
        let Some(free) = free else { continue };
        taken.insert(free.clone());
        called.insert(name, free);
    }
    called
}

/// A name of a file or a tool: letters, digits and underscores.
pub(crate) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect()
}

/// The name if it fits, else its beginning and a digest of what it really is.
fn within(name: String, really: &str, room: usize) -> String {
    if name.len() <= room { name } else { marked(&name, really, room) }
}

fn marked(name: &str, really: &str, room: usize) -> String {
    let digest: String = Sha256::digest(really).iter().take(DIGITS / 2).map(|byte| format!("{byte:02x}")).collect();
    let kept: String = name.chars().take(room.saturating_sub(DIGITS + 1)).collect();
    format!("{kept}_{digest}")
}

/// The schema with `definitions` under the name that everybody knows today. The registry repairs the rest of what
/// providers refuse when it shows a tool to a model.
pub(crate) fn schema(mut schema: Map<String, Value>) -> Value {
    // Only shared parts of the whole are found by that name; an argument may be called so too.
    if schema.contains_key(NEW) || !schema.get(OLD).is_some_and(Value::is_object) {
        return Value::Object(schema);
    }
    if let Some(shared) = schema.remove(OLD) {
        schema.insert(NEW.to_owned(), shared);
    }
    schema.values_mut().for_each(point_to_new);
    Value::Object(schema)
}

fn point_to_new(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(place)) = map.get_mut("$ref")
                && let Some(shared) = place.strip_prefix("#/definitions/")
            {
                *place = format!("#/$defs/{shared}");
            }
            map.values_mut().for_each(point_to_new);
        }
        Value::Array(items) => items.iter_mut().for_each(point_to_new),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_json;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn names_hold_only_what_every_provider_takes() {
        assert_eq!(tool("my-server", "read.file"), "mcp__my_server__read_file");
        assert_eq!(tool("größe", "a/b c"), "mcp__gr__e__a_b_c");
        assert_eq!(toolset("my-server"), "mcp-my-server");
    }

    #[test]
    fn a_tool_that_only_looks_like_another_has_a_name_of_its_own() {
        let called = tools("box", ["read.file", "read_file", "read file"]);
        assert_eq!(called["read_file"], "mcp__box__read_file");
        let others = [&called["read.file"], &called["read file"]];
        assert!(others.iter().all(|name| name.starts_with("mcp__box__read_file_")), "{called:?}");
        assert_eq!(tools("box", ["read.file"])["read.file"], "mcp__box__read_file", "alone it needs none");
        // Somebody calls a tool what another one would be called.
        let stolen = called["read.file"].strip_prefix("mcp__box__").expect("ours");
        let names = tools("box", ["read.file", "read_file", stolen]);
        assert_eq!(names[stolen], format!("mcp__box__{stolen}"));
        assert_eq!(names.values().collect::<BTreeSet<_>>().len(), 3, "{names:?}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn names_are_legal_unique_stable_and_short(
            server in "[a-z_.é-]{1,80}",
            offered in proptest::collection::vec("([ab._ -]{0,4}|[a-zA-Z0-9_./ü🦀-]{0,120})", 0..12),
            seed in 0usize..12,
        ) {
            let offered: Vec<&str> = offered.iter().map(String::as_str).collect();
            let called = tools(&server, offered.iter().copied());
            let distinct: BTreeSet<&&str> = offered.iter().collect();
            prop_assert_eq!(called.len(), distinct.len(), "every tool has a name");
            prop_assert_eq!(called.values().collect::<BTreeSet<_>>().len(), distinct.len(), "of its own");
            for name in called.values() {
                prop_assert!(name.len() <= LONGEST, "{} is too long", name);
                prop_assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{} is not legal", name);
                prop_assert!(name.starts_with(&prefix(&server)));
            }
            let mut turned = offered.clone();
            turned.rotate_left(seed.min(offered.len()));
            turned.reverse();
            prop_assert_eq!(called, tools(&server, turned), "the order does not count");
        }

        #[test]
        fn a_schema_stays_an_object_whatever_is_in_it(value in any_json()) {
            let given = value.as_object().cloned().unwrap_or_default();
            let cleaned = schema(given.clone());
            prop_assert!(cleaned.is_object());
            prop_assert_eq!(cleaned.as_object().map(Map::len), Some(given.len()), "no key is lost");
            prop_assert_eq!(schema(cleaned.as_object().cloned().unwrap_or_default()), cleaned, "once is enough");
        }
    }

    #[test]
    fn shared_parts_of_schemas_are_found_under_their_new_name() {
        let old = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/definitions/A"}, "b": {"type": "array", "items": {"$ref": "#/definitions/A"}}},
            "definitions": {"A": {"type": "string"}}
        });
        let new = json!({
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/A"}, "b": {"type": "array", "items": {"$ref": "#/$defs/A"}}},
            "$defs": {"A": {"type": "string"}}
        });
        let Value::Object(old) = old else { panic!("no object") };
        assert_eq!(schema(old), new);
        let argument = json!({"type": "object", "properties": {"definitions": {"type": "object"}}});
        let Value::Object(given) = argument.clone() else { panic!("no object") };
        assert_eq!(schema(given), argument, "an argument keeps its name");
    }
}
