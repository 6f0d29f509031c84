//! A plugin as somebody who listens.

use crate::around::{Ear, Told};
use crate::connection::Failure;
use crate::occasion::{Occasion, Power};
use crate::plugin::Plugin;
use crate::protocol::Registration;
use futures_util::future::BoxFuture;
use hermes_tools::run::OnFailure;
use hermes_types::CallId;
use serde_json::Value;
use std::sync::Arc;

pub(crate) struct PluginEar(pub(crate) Arc<Plugin>);

impl PluginEar {
    /// What it registers. A plugin that never ran may be a guard, so a guard's question waits for it; others do not.
    async fn registered(&self, occasion: Occasion) -> Result<Option<Arc<Registration>>, String> {
        match (self.0.registered(), occasion.power()) {
            (Some(registered), _) => Ok(Some(registered)),
            (None, Power::Guards) => {
                self.0.running().await?;
                Ok(self.0.registered())
            }
            (None, Power::Rewrites | Power::Informs | Power::Watches) => Ok(None),
        }
    }
}

impl Ear for PluginEar {
    fn name(&self) -> &str {
        &self.0.key
    }

    fn hears(&self, occasion: Occasion) -> bool {
        match self.0.registered() {
            Some(registered) => registered.hooks.iter().any(|hook| hook.name == occasion.name()),
            None => occasion.power() == Power::Guards,
        }
    }

    fn made(&self, call: &CallId) -> bool {
        self.0.made(call)
    }

    fn ask<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, Result<Option<Value>, String>> {
        Box::pin(async move {
            let Some(registered) = self.registered(told.occasion).await? else { return Ok(None) };
            let Some(hook) = registered.hook(told.occasion, told.tool) else { return Ok(None) };
            let connection = self.0.running().await?;
            let method = format!("hooks/{}", told.occasion.name());
            let answer = connection.ask(&method, &Value::Object(told.payload), hook.limit()).await;
            let answer = answer.map_err(|failure: Failure| failure.to_string())?;
            Ok(Some(answer).filter(|answer| !answer.is_null()))
        })
    }

    fn when_guarding_fails(&self, tool: &str) -> OnFailure {
        let Some(registered) = self.0.registered() else {
            // It has never run. Only who announces a guard in its manifest is missed as one.
            return match self.0.announces(Occasion::PreToolCall) {
                true => OnFailure::Block,
                false => OnFailure::Continue,
            };
        };
        let hook = registered.hook(Occasion::PreToolCall, Some(tool));
        hook.map_or(OnFailure::Block, |hook| hook.on_failure.into())
    }

    fn tell<'a>(&'a self, told: Told<'a>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            let Some(registered) = self.0.registered() else { return };
            if registered.hook(told.occasion, told.tool).is_none() {
                return;
            }
            self.0.tell(format!("hooks/{}", told.occasion.name()), Value::Object(told.payload));
        })
    }
}
