//! `search_files`: lines by a regular expression, or files by their name.
//!
//! The tree is walked by several threads with ripgrep's rules about what is skipped, and nothing outside of the program
//! runs. The order of results does not depend on which thread was first, and of all hits only one page is kept
//! ([`page`]). A search ends early when it is interrupted or its time is over ([`ending`]); what was found until then is
//! the result. Files that may not be read are left out before they are opened ([`secrets`]): whether a secret matches
//! must not be told either.

mod content;
mod ending;
mod names;
mod page;
mod repeats;
mod request;
mod result;
mod secrets;
mod tool;
mod walk;

pub use repeats::Searches;
pub use tool::SearchFiles;
