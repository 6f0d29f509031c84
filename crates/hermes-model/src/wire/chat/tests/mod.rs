//! The protocol as stories: what is sent to whom, and what is made of what comes back.

mod decoding;
mod encoding;
