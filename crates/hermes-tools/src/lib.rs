//! The hands of Hermes: what the agent does in the world, and the one gate in front of it.
//!
//! Commands are judged before anything runs ([`gate`]); files are read and changed in native code ([`files`]); arguments
//! reach a tool in the types that it declares ([`args`]).

pub mod args;
pub mod files;
pub mod gate;
