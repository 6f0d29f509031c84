//! The one gate in front of every effect.
