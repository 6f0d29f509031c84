//! Just enough of an HTTP/1.1 server to misbehave on purpose.
//!
//! A library would refuse to send half a chunk, to fall silent or to reset a connection; those are the reasons this one
//! exists. It runs on a thread and a runtime of its own, so a test may block, pause its own runtime's time or be
//! single-threaded without silencing the stage.

use bytes::Bytes;
use serde_json::Value;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinSet;

const LARGEST_REQUEST: usize = 64 << 20;
const MOST_HEADERS: usize = 100;

/// A request as it came in.
#[derive(Debug, Clone)]
pub struct Received {
    /// Place in the order of arrival, from 1.
    pub number: usize,
    pub method: String,
    /// Without the query.
    pub path: String,
    pub query: String,
    /// The `Host` header, with its port.
    pub host: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
    /// The body as JSON, if it is JSON.
    pub body: Option<Value>,
    /// The body as it came.
    pub raw: Bytes,
}

impl Received {
    /// The first header of this name (lower case).
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The body as JSON; a test that asks for it knows it must be there.
    #[track_caller]
    pub fn json(&self) -> &Value {
        self.body.as_ref().unwrap_or_else(|| panic!("{} has no JSON body", self.label()))
    }

    /// The fields of a form body.
    pub fn form(&self) -> Vec<(String, String)> {
        url::form_urlencoded::parse(&self.raw).into_owned().collect()
    }

    /// The host without its port.
    pub fn host_name(&self) -> &str {
        self.host.rsplit_once(':').map_or(self.host.as_str(), |(name, _)| name)
    }

    /// How violations and panics name this request.
    pub fn label(&self) -> String {
        format!("request #{} {} {}{}", self.number, self.method, self.host, self.path)
    }
}

/// What happens to the connection behind an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum After {
    KeepOpen,
    Close,
}

/// Answers requests. An error means that the client went away, which is its right.
pub(crate) trait Handler: Send + Sync + 'static {
    fn answer(&self, request: Received, wire: &mut Wire) -> impl Future<Output = io::Result<After>> + Send;
}

/// A running listener; dropping it closes every connection.
#[derive(Debug)]
pub(crate) struct Service {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Service {
    /// Listens on a free port of `host`, an IP address.
    pub(crate) async fn start(host: &str, handler: Arc<impl Handler>) -> Self {
        let place = (host.to_owned(), 0);
        let (ready, bound) = oneshot::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        let thread = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let listener = TcpListener::bind(place).await.expect("a free loopback port");
                ready.send(listener.local_addr().expect("a bound address")).expect("the test waits for the address");
                tokio::select! {
                    () = accept(listener, handler) => {}
                    _ = stopped => {}
                }
            });
        });
        let address = bound.await.expect("the listener starts");
        Self { address, stop: Some(stop), thread: Some(thread) }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Closes every connection and waits until nothing runs any more.
    pub(crate) fn stop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            if !thread::panicking() {
                ended.expect("the stage itself does not panic");
            }
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn accept(listener: TcpListener, handler: Arc<impl Handler>) {
    let arrivals = Arc::new(AtomicUsize::new(0));
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (socket, _) = accepted.expect("a listening socket accepts");
                // Without this the kernel would glue events together that the script sends one by one.
                socket.set_nodelay(true).expect("a TCP option");
                let (handler, arrivals) = (handler.clone(), arrivals.clone());
                connections.spawn(async move { converse(socket, &*handler, &arrivals).await });
            }
            Some(ended) = connections.join_next() => {
                if let Err(panic) = ended && panic.is_panic() {
                    std::panic::resume_unwind(panic.into_panic());
                }
            }
        }
    }
}

/// One connection, request after request. Errors are the client's hanging up.
async fn converse(socket: TcpStream, handler: &impl Handler, arrivals: &AtomicUsize) {
    let mut wire = Wire { socket, unread: Vec::new() };
    while let Ok(Some(request)) = wire.receive(arrivals).await {
        let close = request.header("connection").is_some_and(|value| value.eq_ignore_ascii_case("close"));
        let after = handler.answer(request, &mut wire).await;
        if close || !matches!(after, Ok(After::KeepOpen)) {
            break;
        }
    }
}

/// The server's end of one connection.
#[derive(Debug)]
pub(crate) struct Wire {
    socket: TcpStream,
    /// Bytes that came and belong to the next request.
    unread: Vec<u8>,
}

impl Wire {
    /// The head of an answer whose body follows in chunks.
    pub(crate) async fn head(&mut self, status: u16, headers: &[(String, String)]) -> io::Result<()> {
        let head = head(status, headers, "transfer-encoding: chunked");
        self.socket.write_all(head.as_bytes()).await
    }

    pub(crate) async fn chunk(&mut self, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(()); // an empty chunk would end the body
        }
        let mut framed = format!("{:x}\r\n", bytes.len()).into_bytes();
        framed.extend_from_slice(bytes);
        framed.extend_from_slice(b"\r\n");
        self.socket.write_all(&framed).await
    }

    pub(crate) async fn last_chunk(&mut self) -> io::Result<()> {
        self.socket.write_all(b"0\r\n\r\n").await
    }

    /// A whole answer at once.
    pub(crate) async fn whole(&mut self, status: u16, headers: &[(String, String)], body: &[u8]) -> io::Result<After> {
        let mut bytes = head(status, headers, &format!("content-length: {}", body.len())).into_bytes();
        bytes.extend_from_slice(body);
        self.socket.write_all(&bytes).await?;
        Ok(After::KeepOpen)
    }

    pub(crate) async fn json(&mut self, status: u16, body: &Value) -> io::Result<After> {
        let headers = [("content-type".to_owned(), "application/json".to_owned())];
        self.whole(status, &headers, body.to_string().as_bytes()).await
    }

    /// Returns once the client closed its end. Safe to abandon: bytes of a next request are kept.
    pub(crate) async fn hung_up(&mut self) {
        while matches!(self.socket.read_buf(&mut self.unread).await, Ok(count) if count > 0) {}
    }

    /// Closing will be an RST instead of a farewell.
    pub(crate) fn reset_on_close(&self) -> io::Result<()> {
        self.socket.set_zero_linger()
    }

    /// The next request, or `None` when the client is done.
    async fn receive(&mut self, arrivals: &AtomicUsize) -> io::Result<Option<Received>> {
        let mut request = loop {
            if let Some((length, request)) = parse_head(&self.unread)? {
                self.unread.drain(..length);
                break request;
            }
            if self.more().await? == 0 {
                return Ok(None);
            }
        };
        request.raw = self.body(&request).await?;
        request.body = serde_json::from_slice(&request.raw).ok();
        request.number = arrivals.fetch_add(1, Ordering::SeqCst) + 1;
        Ok(Some(request))
    }

    async fn body(&mut self, request: &Received) -> io::Result<Bytes> {
        if request.header("transfer-encoding").is_some_and(|value| value.eq_ignore_ascii_case("chunked")) {
            return self.chunked_body().await;
        }
        let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(|_| bad("content-length"))?;
        self.take(length).await
    }

    async fn chunked_body(&mut self) -> io::Result<Bytes> {
        let mut body = Vec::new();
        loop {
            let (skip, size) = loop {
                match httparse::parse_chunk_size(&self.unread).map_err(|_| bad("chunk size"))? {
                    httparse::Status::Complete((skip, size)) => break (skip, size as usize),
                    httparse::Status::Partial if self.more().await? == 0 => return Err(bad("chunk")),
                    httparse::Status::Partial => {}
                }
            };
            self.unread.drain(..skip);
            let chunk = self.take(size + 2).await?; // with the line break behind it
            if size == 0 {
                return Ok(body.into());
            }
            body.extend_from_slice(&chunk[..size]);
        }
    }

    async fn take(&mut self, length: usize) -> io::Result<Bytes> {
        while self.unread.len() < length {
            if self.more().await? == 0 {
                return Err(bad("body"));
            }
        }
        Ok(self.unread.drain(..length).collect())
    }

    async fn more(&mut self) -> io::Result<usize> {
        if self.unread.len() > LARGEST_REQUEST {
            return Err(bad("size"));
        }
        self.socket.read_buf(&mut self.unread).await
    }
}

fn head(status: u16, headers: &[(String, String)], framing: &str) -> String {
    let mut head = format!("HTTP/1.1 {status} {}\r\n{framing}\r\n", reason(status));
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        307 => "Temporary Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        429 => "Too Many Requests",
        500 => "Internal Server Error",
        503 => "Service Unavailable",
        _ => "As Scripted",
    }
}

/// The head of a request and its length, once all of it is there.
fn parse_head(bytes: &[u8]) -> io::Result<Option<(usize, Received)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut head = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(length) = head.parse(bytes).map_err(|_| bad("head"))? else {
        return Ok(None);
    };
    let target = head.path.unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
        .collect();
    let mut request = Received {
        number: 0,
        method: head.method.unwrap_or_default().to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        host: String::new(),
        headers,
        body: None,
        raw: Bytes::new(),
    };
    request.host = request.header("host").unwrap_or_default().to_owned();
    Ok(Some((length, request)))
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("the request has a bad {what}"))
}
