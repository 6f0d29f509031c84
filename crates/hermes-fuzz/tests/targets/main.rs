//! The fuzz targets, one module for each reader of foreign bytes.
#![allow(clippy::expect_used, reason = "a panic is how a target reports what it found")]

mod arguments;
mod auth;
mod decoders;
mod edits;
mod fault;
mod gate;
mod patches;
mod recover;
mod search;
mod settings;
mod sse;
mod web;
