//! The face of Hermes: settings, commands and wiring of the binary `hermes`.

pub mod commands;
pub mod settings;
