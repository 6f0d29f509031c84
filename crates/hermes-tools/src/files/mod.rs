//! Files: reading, writing, patching and searching, as plain functions over paths that were checked.
//!
//! What can be decided without a disk is decided here without one: where an edit belongs ([`matching`]), what a patch
//! would make of a set of files ([`v4a`]), which lines a reader sees ([`page`]) and how a change is shown ([`diff`]).

pub mod diff;
pub mod matching;
pub mod page;
pub mod v4a;
