//! From what the person asked for to one immutable runtime.
