//! The fuzz targets, one module for each reader of foreign bytes.
#![allow(clippy::expect_used, reason = "a panic is how a target reports what it found")]

mod arguments;
mod auth;
mod decoders;
mod fault;
mod gate;
mod recover;
mod search;
mod settings;
mod sse;
