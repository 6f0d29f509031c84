//! A web site on this machine that says what a test wants, floods, drips or falls silent, and remembers who asked for what.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// One request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) method: String,
    /// With its query; a proxy gets whole addresses.
    pub(crate) path: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

/// What the site does about a request.
pub(crate) enum Say {
    Page {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// So many bytes of text, as fast as they are taken.
    Flood(usize),
    /// A byte now and then, for ever.
    Drip,
    /// Closes in the middle of a promised body.
    Break,
}

pub(crate) fn page(media: &str, body: impl Into<Vec<u8>>) -> Say {
    Say::Page { status: 200, headers: vec![("content-type", media.to_owned())], body: body.into() }
}

pub(crate) fn status(status: u16, body: &str) -> Say {
    Say::Page { status, headers: vec![("content-type", "application/json".into())], body: body.into() }
}

pub(crate) fn moved(to: impl Into<String>) -> Say {
    Say::Page { status: 302, headers: vec![("location", to.into())], body: Vec::new() }
}

pub(crate) struct Site {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    sent: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Site {
    pub(crate) async fn start(answer: impl Fn(&Asked) -> Say + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (asked, sent, answer) =
            (Arc::<Mutex<Vec<Asked>>>::default(), Arc::<AtomicUsize>::default(), Arc::new(answer));
        let (seen, counted) = (asked.clone(), sent.clone());
        let task = tokio::spawn(async move {
            while let Ok((wire, _)) = listener.accept().await {
                let (seen, counted, answer) = (seen.clone(), counted.clone(), answer.clone());
                tokio::spawn(async move {
                    let mut wire = wire;
                    let Some(request) = request(&mut wire).await else { return };
                    seen.lock().expect("requests").push(request.clone());
                    // A client that had enough goes away, which is its right.
                    let _ = say(&mut wire, answer(&request), &counted).await;
                });
            }
        });
        Self { address, asked, sent, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().expect("requests").clone()
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.asked().into_iter().map(|asked| asked.path).collect()
    }

    /// Bytes of bodies that were taken from us.
    pub(crate) fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn request(wire: &mut TcpStream) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break at;
        }
        let mut chunk = [0; 4096];
        let read = wire.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        bytes.extend_from_slice(&chunk[..read]);
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let mut first = lines.next()?.split(' ');
    let (method, path) = (first.next()?.to_owned(), first.next()?.to_owned());
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length").and_then(|(_, value)| value.parse().ok());
    let mut body = bytes[head_end + 4..].to_vec();
    while body.len() < length.unwrap_or(0) {
        let mut chunk = [0; 4096];
        let read = wire.read(&mut chunk).await.ok().filter(|read| *read > 0)?;
        body.extend_from_slice(&chunk[..read]);
    }
    Some(Asked { method, path, headers, body: String::from_utf8_lossy(&body).into_owned() })
}

async fn say(wire: &mut TcpStream, say: Say, sent: &AtomicUsize) -> std::io::Result<()> {
    match say {
        Say::Page { status, headers, body } => {
            let mut head = format!("HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n", body.len());
            headers.iter().for_each(|(name, value)| head.push_str(&format!("{name}: {value}\r\n")));
            wire.write_all(format!("{head}\r\n").as_bytes()).await?;
            wire.write_all(&body).await?;
        }
        Say::Flood(bytes) => {
            let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: {bytes}\r\n\r\n");
            wire.write_all(head.as_bytes()).await?;
            let chunk = b"<p>The same words again and again.</p>\n".repeat(2_048);
            while sent.load(Ordering::Relaxed) < bytes {
                wire.write_all(&chunk).await?;
                sent.fetch_add(chunk.len(), Ordering::Relaxed);
            }
        }
        Say::Drip => {
            wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 100000\r\n\r\n").await?;
            loop {
                wire.write_all(b"x").await?;
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Say::Break => {
            wire.write_all(b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 1000\r\n\r\nhalf").await?;
        }
    }
    wire.flush().await?;
    wire.shutdown().await
}
