//! What stands around a call: plugins and shell hooks that may block it, change its arguments or its result.

use super::Finished;
use futures_util::future::BoxFuture;
use hermes_types::{CallId, Object, SessionId};

/// What a hook sees of a call.
#[derive(Debug, Clone, Copy)]
pub struct CallView<'a> {
    pub tool: &'a str,
    pub arguments: &'a Object,
    pub session: &'a SessionId,
    pub call: &'a CallId,
}

/// What a hook wants before a call. The next hook sees what one rewrote; whoever blocks has the last word, and of those
/// that want a person asked the first is told to them.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    Continue,
    Rewrite(Object),
    Block(String),
    /// A person has to say yes.
    Approve {
        message: String,
        /// What "always" would remember.
        rule_key: Option<String>,
    },
}

/// What becomes of a call whose hook failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// A hook that guards something.
    Block,
    /// A hook that only watches.
    Continue,
}

pub trait Hook: Send + Sync {
    fn name(&self) -> &str;

    fn on_failure(&self) -> OnFailure;

    /// Exactly once for each call, before the gate.
    fn before<'a>(&'a self, _call: CallView<'a>) -> BoxFuture<'a, Result<Verdict, String>> {
        Box::pin(std::future::ready(Ok(Verdict::Continue)))
    }

    /// Exactly once for each call that was shown to `before`. The first text replaces the result the model sees.
    fn after<'a>(&'a self, _call: CallView<'a>, _finished: &'a Finished) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }
}
