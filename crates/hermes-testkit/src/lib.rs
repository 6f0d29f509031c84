//! The rehearsal stage of Hermes: scripted servers that check every request, a clock that obeys, golden files, and a
//! throw-away home for the real binary.
//!
//! A test writes down what the model says ([`Script`]), starts a [`ModelServer`], runs the real code against it and
//! compares whole values. The server speaks every wire protocol as the vendors do, plays their faults on demand, and
//! holds each request against the promises that are true everywhere (alternation, pairs, prefix, cache markers, key and host), so that
//! one bug breaks many tests.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "runs only inside tests, where a panic is how a wrong stage reports itself"
)]

pub mod cache;
mod checks;
mod clock;
mod database;
mod git;
mod golden;
mod http;
mod keys;
mod markers;
mod oauth;
mod oauth_vendors;
mod prefix;
mod render_anthropic;
mod render_chat;
mod render_responses;
mod render_sse;
mod say;
mod scene;
mod script;
mod server;
mod site;
mod world;

pub use clock::FakeClock;
pub use database::{Line, integrity, lines_of};
pub use git::commit_all;
pub use golden::golden;
pub use http::Received;
pub use oauth::{OAuthServer, OAuthStep, Vendor};
pub use oauth_vendors::jwt;
pub use script::{Move, Script};
pub use server::{ModelServer, gateway_entry, model_entry};
pub use site::{Page, WebSite};
pub use world::{Ran, World};

/// 2026-01-02T03:04:05Z in Unix seconds: the day on which every rehearsal begins.
pub const START: u64 = 1_767_323_045;
