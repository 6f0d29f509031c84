//! A model for jobs beside the conversation: looking at a picture, shortening a page, answering the question of a server.
//! A port: who does which job, with what patience and who stands in, is decided by the owner's settings behind it.

use futures_util::future::BoxFuture;
use hermes_core::stop::Stop;
use hermes_types::{Fault, Reply, Request};

pub trait Aide: Send + Sync {
    /// Does a job by its name under `auxiliary.*` in the settings, such as `vision`, `web_extract` or `mcp`.
    fn ask<'a>(&'a self, task: &'a str, request: Request, stop: &'a Stop) -> BoxFuture<'a, Result<Reply, Fault>>;
}
