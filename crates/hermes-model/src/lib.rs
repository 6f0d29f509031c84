//! The voice of Hermes: everything between a [`Request`](hermes_types::Request) and a model's answer.
//!
//! HTTP lives here and nowhere else. The provider table and the resolver are data and pure functions; the wire protocols
//! are pure; only [`http`], [`process`], [`auth`] and [`provider::almanac`] touch the world.

pub mod auth;
pub mod auxiliary;
pub mod board;
pub mod catalog;
pub mod http;
mod notes;
pub mod process;
pub mod provider;
pub mod receiver;
pub mod resolve;
pub mod secret;
pub mod transport;
pub mod voice;
pub mod wire;
