//! A vendor's own host, played by a server on this machine: only there signed thoughts go back.

use futures_util::future::BoxFuture;
use hermes_model::http::{HttpOptions, HttpTransport};
use hermes_model::secret::{BoundSecret, Origin, Secret};
use hermes_model::transport::{Answer, Call, Transport};
use hermes_testkit::ModelServer;
use hermes_types::Fault;

/// Carries calls for a public host to a server on this machine, as a hosts file would.
pub(crate) struct Rerouted {
    from: &'static str,
    port: u16,
    http: HttpTransport,
}

impl Rerouted {
    pub(crate) fn new(from: &'static str, server: &ModelServer) -> Self {
        let port = server.root_url().rsplit(':').next().unwrap().parse().unwrap();
        Self { from, port, http: HttpTransport::new(HttpOptions::default()) }
    }
}

impl Transport for Rerouted {
    fn send(&self, mut call: Call) -> BoxFuture<'static, Result<Answer, Fault>> {
        if call.url.host_str() == Some(self.from) {
            let mut there = call.url.clone();
            there.set_scheme("http").unwrap();
            there.set_host(Some("127.0.0.1")).unwrap();
            there.set_port(Some(self.port)).unwrap();
            let moved = |secret: &BoundSecret| {
                let shown = secret.for_url(&call.url).unwrap();
                Secret::verbatim(shown).bind([Origin::of(&there)])
            };
            call.credential = call.credential.as_ref().map(|(header, secret)| (*header, moved(secret)));
            call.secret_headers =
                call.secret_headers.iter().map(|(name, secret)| (name.clone(), moved(secret))).collect();
            call.url = there;
        }
        self.http.send(call)
    }
}
