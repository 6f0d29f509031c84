//! Named sets of tools.
