//! `execute_code`: a Python script in a process of its own that calls tools as functions.
//!
//! The script is judged as a whole before it starts, runs in the sandbox of commands with fewer variables than they see,
//! and ends with everybody it started. It speaks to us over a socket, one JSON line for a call and one for its result;
//! each call goes the whole way of a call of the model: hooks, gate, checkpoint. That the script was allowed allows no
//! call of it. Only what it prints reaches the model.
//!
//! On record is the script, not its calls. An effect is written down so that a turn that was cut off knows which call of
//! the model it must not run again, and that is `execute_code`: once begun and without a result its outcome is unknown,
//! whichever of its calls were made. A call of the script stands in no message, so there is nothing it could be the
//! result of. People see every call as it happens: the desk's listener hears of it.

mod child;
mod door;
mod host;
mod output;
mod settings;
mod stub;
mod tool;
mod variables;

pub use settings::{CodeSettings, Mode};
pub(crate) use tool::ExecuteCode;
