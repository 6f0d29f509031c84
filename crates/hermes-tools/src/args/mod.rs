//! Arguments of tool calls on their way from the model to a tool, and the schemas that describe them to it.

mod coerce;
mod schema;

pub use coerce::{Coerced, coerce};
pub use schema::sanitised;
