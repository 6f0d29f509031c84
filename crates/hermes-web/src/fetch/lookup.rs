//! Names become addresses once. What the one look-up gave is judged, all of it, and handed to the connection; nobody looks
//! a name up a second time, so a name server that changes its mind in between gains nothing.

use super::target::admitted;
use super::{FetchFault, Rules};
use futures_util::future::BoxFuture;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Who knows where names lead. A port, so that a test can be a name server that lies.
pub trait Lookup: Send + Sync {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>>;
}

/// The machine's own resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemLookup;

impl Lookup for SystemLookup {
    fn addresses<'a>(&'a self, name: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name, 0)).await?;
            Ok(found.map(|address| address.ip()).collect())
        })
    }
}

/// The look-up of a client that only connects to what was judged.
pub(super) struct Guard {
    pub(super) lookup: Arc<dyn Lookup>,
    pub(super) rules: Arc<Rules>,
}

impl Guard {
    /// Every address of a name, if all of them are admitted: one that is not tells that the name cannot be trusted.
    pub(super) async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, FetchFault> {
        let host = name.trim_end_matches('.');
        let found = self.lookup.addresses(name).await.unwrap_or_default();
        if found.is_empty() {
            return Err(FetchFault::Unresolved(host.to_owned()));
        }
        found.iter().try_for_each(|ip| admitted(*ip, host, &self.rules))?;
        Ok(found)
    }
}

/// `reqwest` asks here for every name it connects to.
pub(super) struct Guarded {
    pub(super) guard: Arc<Guard>,
    /// The owner's proxies, which may be where they like.
    pub(super) trusted: Vec<String>,
}

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let guard = self.guard.clone();
        let is_trusted = self.trusted.iter().any(|host| host.eq_ignore_ascii_case(name.as_str()));
        Box::pin(async move {
            let found = match is_trusted {
                true => guard.lookup.addresses(name.as_str()).await?,
                false => guard.addresses(name.as_str()).await?,
            };
            // The port comes from the address that is asked for.
            let found: Addrs = Box::new(found.into_iter().map(|ip| SocketAddr::new(ip, 0)));
            Ok(found)
        })
    }
}
