//! Shell hooks: commands of the owner that hear of an event, and may have a say in it.
//!
//! `hooks.<event>` lists them ([`spec`]). Nothing runs before the person consented to this very command for this very
//! event ([`consent`]). A hook is started without a shell, hears of the event on its standard input, and answers on its
//! standard output ([`fire`]). Everything it started ends with it.

pub mod consent;
mod fire;
mod spec;

pub use fire::{Fired, fire};
pub use spec::{HookConfig, read};

use crate::around::{Ear, Told};
use crate::child::Outside;
use crate::occasion::Occasion;
use futures_util::future::BoxFuture;
use hermes_core::clock::Clock;
use hermes_tools::run::OnFailure;
use serde_json::Value;
use std::sync::Arc;

/// One hook as somebody who listens.
pub(crate) struct ShellEar {
    pub(crate) config: HookConfig,
    pub(crate) outside: Arc<Outside>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl ShellEar {
    async fn heard(&self, told: Told<'_>) -> Result<Option<Value>, String> {
        if !self.config.concerns(told.tool) {
            return Ok(None);
        }
        let fired = fire(&self.config, told.payload, &self.outside, &*self.clock).await;
        fired.verdict(told.occasion)
    }
}

impl Ear for ShellEar {
    fn name(&self) -> &str {
        &self.config.command
    }

    fn hears(&self, occasion: Occasion) -> bool {
        self.config.occasion == occasion
    }

    fn ask<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, Result<Option<Value>, String>> {
        Box::pin(self.heard(told))
    }

    fn when_guarding_fails(&self, _tool: &str) -> OnFailure {
        self.config.on_failure.into()
    }

    /// Waits for its end: hooks that tidy up behind a call are done before the next one.
    fn tell<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let occasion = told.occasion;
            if let Err(reason) = self.heard(told).await {
                tracing::warn!(hook = %self.config.command, event = occasion.name(), %reason, "a hook failed");
            }
        })
    }
}
