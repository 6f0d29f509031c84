//! The store through its public face, on every kind of file there is.
#![allow(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing, reason = "a test reports by panicking")]

mod lineage;
mod removal;
mod backup;
mod health;
mod recover;
mod round_trip;
mod sessions;
mod search;
mod search_index;
mod stage;
mod titles;
