//! The store through its public face, on every kind of file there is.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test reports by panicking")]

mod backup;
mod go_on;
mod health;
mod insights;
mod ledger;
mod lineage;
mod oblivion;
mod opening;
mod recover;
mod removal;
mod round_trip;
mod search;
mod search_index;
mod search_laws;
mod sessions;
mod stage;
mod swap;
mod tape;
mod titles;
