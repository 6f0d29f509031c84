//! The system prompt: layers from stable to volatile, put together from plain data.

pub mod steer;
