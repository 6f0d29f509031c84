//! One file per command.

pub mod ask;
pub mod demo;
