//! The web as a model meets it: the real tools and the real client against local servers that misbehave on purpose.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "in a test a panic is the report"
)]

mod addresses;
mod fetching;
mod pages;
mod pictures;
mod searches;
mod site;
mod stage;
