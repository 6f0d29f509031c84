//! The sockets of Hermes: tools of MCP servers, in the same registry and behind the same gate as every other tool.
//!
//! Servers connect in the background ([`Servers`]), each looked after by a task that does what `life` says. One that dies,
//! hangs or changes its mind costs the call it concerns, and nothing else; whether that call did something is told as it is.
//! The library that speaks the protocol is known in `link` and `auth` alone.

mod answer;
#[cfg(test)]
mod arbitrary;
mod auth;
mod breaker;
mod elicit;
mod fault;
mod life;
mod link;
mod name;
mod pace;
mod sampling;
mod server;
mod servers;
pub mod settings;
mod supervise;
mod tool;
mod vet;

pub use auth::{Login, LoginError, forget};
pub use servers::{Report, Servers, State};
pub use vet::objection;
