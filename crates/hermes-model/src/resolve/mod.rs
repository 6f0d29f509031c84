//! From what the person asked for to one immutable [`Runtime`].
//!
//! Everything that talks to a model comes through here: chat, gateway, cron, batch, auxiliary calls, fallbacks. The
//! resolver is a pure function of the request and what is [`Known`]: no files, no clock, no environment of its own.
//! One order holds for every setting: explicit, then config, then environment, then automatic. A credential leaves
//! only bound to the origins that may see it, so a wrong endpoint can cost an answer but never a key.
//!
//! Rotating a credential or falling back is resolving again with another [`Ask`].

mod auxiliary;
mod choice;
mod config;
mod credential;
mod endpoint;
mod entry;
mod env;
mod error;
mod fallback;
mod runtime;
mod section;
mod timeouts;

#[cfg(test)]
mod tests;

pub use auxiliary::{AuxCandidate, Skip, route, route_to, sees_results};
pub use choice::{split_model, whois};
pub use config::{Alias, ModelConfig, Selected, TaskConfig, TaskFallback};
pub use credential::{Credential, Source};
pub use endpoint::is_local;
pub use entry::{Entry, EntryModel};
pub use env::Env;
pub use error::ResolveError;
pub use fallback::{chain, same_target};
pub use runtime::{Limits, Runtime};
pub use section::Warning;
pub use timeouts::Staleness;

use crate::auth::Renewal;
use crate::provider::almanac::Almanac;
use crate::secret::Secret;
use crate::wire::{ApiMode, Login};
use choice::Choice;
use jiff::Timestamp;
use std::collections::BTreeSet;
use url::Url;

/// What somebody asks for. Everything is optional; an empty ask means "what the person configured".
#[derive(Debug, Clone, Default)]
pub struct Ask {
    pub provider: Option<String>,
    /// May name its provider too: `deepseek:deepseek-chat`, `custom:my-proxy:qwen3:32b`.
    pub model: Option<String>,
    pub base_url: Option<String>,
    pub api_key: Option<Secret>,
    /// The variable that holds the key for this target.
    pub key_env: Option<String>,
    pub api_mode: Option<ApiMode>,
    /// Credentials that are resting, by id.
    pub avoid: BTreeSet<String>,
    /// Credentials whose rest ended since the store was read, by id.
    pub rested: BTreeSet<String>,
}

/// Everything the resolver may know about the person's machine.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    pub config: &'a ModelConfig,
    pub env: &'a Env,
    pub stored: &'a Stored,
    /// What endpoints said about their models.
    pub almanac: &'a Almanac,
}

/// The credential store, as far as the resolver needs it.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// In the order they should be tried. Sources the person suppressed are not in here.
    pub rows: Vec<StoredCredential>,
    /// The provider the person logged in to last.
    pub active_provider: Option<String>,
}

#[derive(Debug, Clone)]
pub struct StoredCredential {
    pub id: String,
    /// A provider's id, or `custom:<name>`.
    pub provider: String,
    pub login: Login,
    pub secret: Secret,
    /// Where it came from: `manual`, `device_code`, `claude_code`, …
    pub source: String,
    /// Seconds since the epoch.
    pub expires_at: Option<u64>,
    /// Where this credential is served, when the vendor said so at login.
    pub base_url: Option<Url>,
    /// What the auth store needs to renew it; `None` when it cannot be renewed.
    pub renewal: Option<Renewal>,
    /// The account the login acts for, where the vendor wants it named (Codex).
    pub account: Option<String>,
    /// It failed before the store was read, and is not to be used until then.
    pub rests_until: Option<Timestamp>,
}

/// The runtime for `ask`, or why there is none.
pub fn resolve(ask: &Ask, known: &Known<'_>) -> Result<Runtime, ResolveError> {
    let mut choice = Choice::make(ask, known)?;
    let site = endpoint::site(&mut choice, known)?;
    let listed = credential::list(&choice, site.as_ref(), known)?;
    let credential = credential::pick(&choice, listed, known)?;
    let model = runtime::model(&choice, &credential.base_url)?;
    let api_mode = runtime::api_mode(&choice, &credential.base_url, &model, known);
    Ok(runtime::assemble(choice, site.as_ref(), credential, &model, api_mode, known))
}

/// The credentials that could serve `ask`, best first. Each is bound; none of them has been tried.
pub fn candidates(ask: &Ask, known: &Known<'_>) -> Result<Vec<Credential>, ResolveError> {
    let mut choice = Choice::make(ask, known)?;
    let site = endpoint::site(&mut choice, known)?;
    credential::list(&choice, site.as_ref(), known)
}
