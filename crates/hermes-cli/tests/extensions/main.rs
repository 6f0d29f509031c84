//! Plugins, shell hooks and `hermes doctor` with the real program.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    reason = "the helpers of a test report what is wrong the way a test does"
)]

mod doctor;
mod everything;
mod hooks;
mod interrupts;
mod plugins;
#[path = "../stage/mod.rs"]
#[allow(dead_code, reason = "each test program needs its own part of the stage")]
mod stage;

use hermes_testkit::{ModelServer, World};
use stage::*;
use std::path::{Path, PathBuf};

/// A plugin of the examples, as it is.
fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/plugins").join(name)
}

/// Puts a plugin in Python into a home.
fn plugin(world: &World, name: &str, manifest: &str, program: &str) {
    let folder = world.hermes_home().join("plugins").join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("plugin.yaml"), manifest).expect("a manifest");
    std::fs::write(folder.join("plugin.py"), program).expect("a program");
}
