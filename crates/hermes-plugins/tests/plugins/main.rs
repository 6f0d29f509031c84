//! Stories about plugins and shell hooks.
