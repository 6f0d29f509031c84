//! The hands of Hermes: what the agent does in the world, and the one gate in front of it.
//!
//! Commands are judged before anything runs ([`gate`]); files are read and changed in native code ([`files`]).

pub mod files;
pub mod gate;
