//! The hands of Hermes: what the agent does in the world, and the one gate in front of it.
//!
//! A [`tool::Tool`] declares what a call would touch; [`run`] reads the calls of a model, keeps conflicting ones apart,
//! and asks the [`gate`] before each; commands run in [`terminal`] and [`process`], files are read and changed in native
//! code ([`files`]). Every call gets exactly one result, whatever happens.

pub mod aide;
pub mod args;
mod arrivals;
pub mod attic;
pub mod builtin;
pub mod checkpoint;
pub mod clarify;
pub mod code;
pub mod cover;
pub mod delegate;
pub mod desk;
pub mod effects;
pub mod face;
pub mod files;
pub mod foreign;
pub mod gate;
pub mod loader;
pub mod memory;
pub mod process;
mod recall;
pub mod registry;
pub mod repository;
pub mod run;
pub mod settings;
pub mod skills;
pub mod terminal;
pub mod threat;
pub mod todo;
pub mod tool;
pub mod toolset;
pub mod yaml;
