//! A web site on this machine: every request is answered by what stands in it, and remembered. As an HTTP proxy it plays
//! any public name at all, because a proxy is asked for whole addresses.

use crate::http::{After, Handler, Received, Service, Wire};
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

/// What a site says to a request.
#[derive(Debug, Clone)]
pub struct Page {
    status: u16,
    header: (&'static str, String),
    body: Vec<u8>,
}

impl Page {
    /// A page of this media type.
    pub fn of(media: &str, body: impl Into<Vec<u8>>) -> Self {
        Self { status: 200, header: ("content-type", media.to_owned()), body: body.into() }
    }

    pub fn moved(to: impl Into<String>) -> Self {
        Self { status: 302, header: ("location", to.into()), body: Vec::new() }
    }

    pub fn missing() -> Self {
        Self { status: 404, ..Self::of("text/plain", "there is no such page") }
    }
}

/// A web site that runs as long as the value lives.
///
/// ```no_run
/// # async fn example() {
/// use hermes_testkit::{Page, WebSite};
/// let site = WebSite::start(|asked| match asked.path.as_str() {
///     "/old" => Page::moved("/new"),
///     _ => Page::of("text/html", "<p>Hello."),
/// })
/// .await;
/// let url = format!("http://{}/old", site.address());
/// # }
/// ```
#[derive(Debug)]
pub struct WebSite {
    service: Service,
    desk: Arc<Desk>,
}

struct Desk {
    answer: Box<dyn Fn(&Received) -> Page + Send + Sync>,
    seen: Mutex<Vec<Received>>,
}

impl fmt::Debug for Desk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Desk")
    }
}

impl WebSite {
    /// Listens on a free port of 127.0.0.1.
    pub async fn start(answer: impl Fn(&Received) -> Page + Send + Sync + 'static) -> Self {
        let desk = Arc::new(Desk { answer: Box::new(answer), seen: Mutex::default() });
        Self { service: Service::start("127.0.0.1", desk.clone()).await, desk }
    }

    pub fn address(&self) -> SocketAddr {
        self.service.address()
    }

    /// Everything that was asked for, in the order it came: paths with their queries, whole addresses for a proxy.
    pub fn visits(&self) -> Vec<String> {
        let seen = self.desk.seen.lock().expect("visits");
        seen.iter()
            .map(|one| if one.query.is_empty() { one.path.clone() } else { format!("{}?{}", one.path, one.query) })
            .collect()
    }
}

impl Handler for Desk {
    async fn answer(&self, request: Received, wire: &mut Wire) -> io::Result<After> {
        let Page { status, header: (name, value), body } = (self.answer)(&request);
        self.seen.lock().expect("visits").push(request);
        wire.whole(status, &[(name.to_owned(), value)], &body).await
    }
}
