//! Arguments of tool calls on their way from the model to a tool.

mod coerce;

pub use coerce::{Coerced, coerce};
