//! Skills as people and models use them: the real program, real folders, a real repository.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod called;
mod installed;
#[path = "../stage/mod.rs"]
#[allow(dead_code, reason = "each test program needs its own part of the stage")]
mod stage;
mod web;

use hermes_testkit::{ModelServer, Move, Ran, World};
use serde_json::{Value, json};
use stage::*;
use std::fs;
use std::path::{Path, PathBuf};

/// A file of the home.
fn kept(world: &World, below: &str) -> String {
    let path = world.hermes_home().join(below);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
    fs::write(path, text).expect("a file");
}

fn skill(name: &str, text: &str) -> String {
    format!("---\nname: {name}\ndescription: How to make {name}.\n---\n{text}\n")
}

async fn skills(world: &World, words: &[&str]) -> Ran {
    hermes(world, &[&["skills"], words].concat()).await
}

async fn json_of(world: &World, words: &[&str]) -> Value {
    let ran = skills(world, &[words, &["--json"]].concat()).await;
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
}
