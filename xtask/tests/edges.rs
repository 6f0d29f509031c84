//! Dependencies point one way: `types <- core <- {model, store, tools <- {web, mcp, plugins}} <- agent <- {batch, serve}
//! <- cli`. HTTP lives in the crates that speak to servers and SQL in the store; what only tests need never gets into the
//! program. Cargo itself is asked, so the rule cannot drift away from the manifests.
#![allow(clippy::expect_used, reason = "a panic is how this test reports a workspace it cannot read")]

use serde_json::{Value, json};
use std::process::Command;

const ORDER: &str = "types <- core <- {model, store, tools <- {web, mcp, plugins}} <- agent <- {batch, serve} <- cli";

/// Each crate and what it may build on.
const LAYERS: [(&str, &[&str]); 12] = [
    ("hermes-types", &[]),
    ("hermes-core", &["hermes-types"]),
    ("hermes-model", &["hermes-types", "hermes-core"]),
    ("hermes-tools", &["hermes-types", "hermes-core"]),
    ("hermes-store", &["hermes-types", "hermes-core"]),
    ("hermes-web", &["hermes-types", "hermes-core", "hermes-tools"]),
    ("hermes-mcp", &["hermes-types", "hermes-core", "hermes-tools"]),
    ("hermes-plugins", &["hermes-types", "hermes-core", "hermes-tools"]),
    ("hermes-agent", &["hermes-types", "hermes-core", "hermes-model", "hermes-tools", "hermes-store"]),
    ("hermes-batch", &["hermes-types", "hermes-core", "hermes-model", "hermes-tools", "hermes-store", "hermes-agent"]),
    ("hermes-serve", &["hermes-types", "hermes-core", "hermes-model", "hermes-tools", "hermes-store", "hermes-agent"]),
    (
        "hermes-cli",
        &[
            "hermes-types",
            "hermes-core",
            "hermes-model",
            "hermes-tools",
            "hermes-store",
            "hermes-web",
            "hermes-mcp",
            "hermes-plugins",
            "hermes-agent",
            "hermes-batch",
            "hermes-serve",
        ],
    ),
];

/// Crates that are no part of the program. They may build on anything; only the stage may be built on, and only by tests.
const WORKSHOP: [&str; 3] = [STAGE, "hermes-fuzz", "xtask"];
const STAGE: &str = "hermes-testkit";

/// Foreign crates that only these may use.
const HOMES: [(&str, &[&str]); 5] = [
    ("reqwest", &["hermes-model", "hermes-web", "hermes-mcp"]),
    ("hyper", &["hermes-model"]),
    ("hyper-util", &["hermes-model"]),
    ("rustls", &["hermes-model", "hermes-web", "hermes-mcp"]),
    ("rusqlite", &["hermes-store"]),
];

/// Every edge that must not be, in words.
fn wrong_edges(metadata: &Value) -> Vec<String> {
    let packages: Vec<&Value> = list(metadata, "packages").collect();
    let ours: Vec<&str> = packages.iter().map(|package| text(package, "name")).collect();
    let mut wrong = Vec::new();
    for package in &packages {
        let name = text(package, "name");
        let layer = LAYERS.iter().find(|(layer, _)| *layer == name).map(|(_, below)| *below);
        if layer.is_none() && !WORKSHOP.contains(&name) {
            wrong.push(format!("{name} is in no layer; give it a row in xtask/tests/edges.rs"));
        }
        for dependency in list(package, "dependencies") {
            let on = text(dependency, "name");
            let for_tests = dependency["kind"] == "dev";
            let homes = HOMES.iter().find(|(foreign, _)| *foreign == on).map(|(_, homes)| *homes);
            let allowed = match layer {
                None => on != "xtask" && on != "hermes-fuzz",
                Some(_) if !ours.contains(&on) => homes.is_none_or(|homes| homes.contains(&name)),
                Some(_) if on == STAGE => for_tests,
                Some(below) => below.contains(&on),
            };
            if !allowed {
                wrong.push(explained(name, on, homes, for_tests));
            }
        }
    }
    wrong
}

fn explained(name: &str, on: &str, homes: Option<&[&str]>, for_tests: bool) -> String {
    let place = if for_tests { "even in tests" } else { "at all" };
    match homes {
        Some(homes) => {
            let homes = homes.join(", ");
            format!("{name} must not use {on} {place}: it lives in {homes} alone; ask for it through a port")
        }
        None if WORKSHOP.contains(&on) => {
            format!("{name} must not use {on} outside of tests: it is no part of the program")
        }
        None => format!("{name} must not use {on} {place}: dependencies point one way, {ORDER}"),
    }
}

fn list<'v>(value: &'v Value, key: &str) -> impl Iterator<Item = &'v Value> {
    value[key].as_array().into_iter().flatten()
}

fn text<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

#[test]
fn dependencies_point_one_way() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata = serde_json::from_slice(&output.stdout).expect("JSON");
    let wrong = wrong_edges(&metadata);
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn wrong_edges_are_explained() {
    let package = |name: &str, edges: &[(&str, Value)]| {
        let edges: Vec<Value> = edges.iter().map(|(on, kind)| json!({"name": on, "kind": kind})).collect();
        json!({"name": name, "dependencies": edges})
    };
    let metadata = json!({"packages": [
        package("hermes-types", &[("serde", Value::Null), ("hermes-core", json!("dev"))]),
        package("hermes-core", &[("hermes-types", Value::Null), ("hermes-testkit", json!("dev"))]),
        package("hermes-tools", &[("hermes-model", Value::Null), ("reqwest", Value::Null)]),
        package("hermes-model", &[("reqwest", Value::Null), ("rusqlite", json!("dev")), ("hermes-testkit", Value::Null)]),
        package("hermes-testkit", &[("hermes-core", Value::Null)]),
        package("hermes-magic", &[]),
    ]});
    let expected = [
        "hermes-types must not use hermes-core even in tests: dependencies point one way, \
         types <- core <- {model, store, tools <- {web, mcp, plugins}} <- agent <- {batch, serve} <- cli",
        "hermes-tools must not use hermes-model at all: dependencies point one way, \
         types <- core <- {model, store, tools <- {web, mcp, plugins}} <- agent <- {batch, serve} <- cli",
        "hermes-tools must not use reqwest at all: it lives in hermes-model, hermes-web, hermes-mcp alone; ask for it through a port",
        "hermes-model must not use rusqlite even in tests: it lives in hermes-store alone; ask for it through a port",
        "hermes-model must not use hermes-testkit outside of tests: it is no part of the program",
        "hermes-magic is in no layer; give it a row in xtask/tests/edges.rs",
    ];
    assert_eq!(wrong_edges(&metadata), expected);
}
