//! Why something was not fetched, in words for a model and a person.
//!
//! No message shows a URL as a whole: what was refused because it carries a secret must not be repeated.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FetchFault {
    #[error("{0} Give a whole address, such as https://example.com/page.")]
    NotAnAddress(String),
    #[error("Blocked: only http and https addresses can be fetched, not `{0}:`.")]
    Scheme(String),
    #[error("Blocked: the address holds a user name or a password. Fetch it without them.")]
    Userinfo,
    #[error("Blocked: port {0} belongs to a service that is no web server.")]
    Port(u16),
    #[error("Blocked: the address holds what looks like a key or a token ({0}). Secrets are not sent to web pages.")]
    Secret(&'static str),
    #[error(
        "Blocked: the address has the parameter `{0}`, which carries a credential. Fetch it without that parameter."
    )]
    Credential(String),
    #[error(
        "Blocked: URL targets a private or internal network address ({host} is {what}). The owner can allow that with \
         `hermes config set security.allow_private_urls true`."
    )]
    Private { host: String, what: &'static str },
    #[error("Blocked: {0} is where a cloud hands out the credentials of this machine. It is never fetched.")]
    Metadata(String),
    #[error("Blocked by website policy: '{host}' matched rule '{rule}' from {source_of_rule}")]
    Website { host: String, rule: String, source_of_rule: String },
    #[error("The name {0} leads to no address. Is it spelt right, and is this machine online?")]
    Unresolved(String),
    #[error("{0} redirects too often.")]
    Circles(String),
    #[error("{host} points to an address that is none: {why}")]
    BadRedirect { host: String, why: String },
    #[error("{host} cannot be reached: {why}.")]
    Unreachable { host: String, why: String },
    #[error("{host} was too slow: not done within {} s.", limit.as_secs())]
    TooSlow { host: String, limit: Duration },
    #[error("The connection to {host} broke: {why}.")]
    Broken { host: String, why: String },
    #[error("HTTPS cannot be set up: {0}.")]
    Setup(String),
}

impl FetchFault {
    /// Whether trying again can help.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Broken { .. } | Self::TooSlow { .. })
    }

    /// Whether this says that a secret would have left the machine.
    pub fn is_leak(&self) -> bool {
        matches!(self, Self::Secret(_) | Self::Credential(_))
    }
}
