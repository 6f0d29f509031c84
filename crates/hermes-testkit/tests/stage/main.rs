//! The stage rehearses itself: with a client that hides nothing, every move, check and login is looked at from outside.
#![allow(clippy::expect_used, clippy::indexing_slicing, reason = "a test that is surprised may panic")]
#![allow(clippy::needless_pass_by_value, reason = "a `json!` handed over reads better without a reference")]

mod checks;
mod client;
mod model_server;
mod oauth;
