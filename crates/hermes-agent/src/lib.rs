//! The agent: one conversation wired from the loop of [`hermes_core`], the hands of [`hermes_tools`] and any store.
//!
//! It reads no environment and prints nothing; whoever wires it (the command line, a gateway, a batch, a program of
//! yours) brings settings, models and a listener.

mod agent;
mod crew;
pub mod gather;
mod hands;
mod notebook;
pub mod replay;

pub use agent::{Agent, Beginning, EngineName, Kit, Settings};
pub use crew::session_id;
