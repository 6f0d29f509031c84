//! A client so plain that it hides nothing the server does.

use serde_json::Value;
use std::io::ErrorKind;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// How the server left the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The body came to its proper end.
    Whole,
    /// Closed before that.
    Cut,
    Reset,
}

#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// The HTTP chunks, one by one.
    pub(crate) chunks: Vec<Vec<u8>>,
    pub(crate) ending: Ending,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    /// The `data:` of each event.
    pub(crate) fn events(&self) -> Vec<String> {
        let text = self.text();
        text.lines().filter_map(|line| line.strip_prefix("data: ")).map(str::to_owned).collect()
    }
}

pub(crate) struct Client {
    socket: TcpStream,
    unread: Vec<u8>,
}

impl Client {
    /// To the host and port of a URL.
    pub(crate) async fn connect(url: &str) -> Self {
        let rest = url.strip_prefix("http://").expect("a plain URL");
        let place = rest.split('/').next().expect("a host");
        Self { socket: TcpStream::connect(place).await.expect("the server listens"), unread: Vec::new() }
    }

    pub(crate) async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) {
        let place = self.socket.peer_addr().expect("connected");
        let mut text = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            text.push_str(&format!("host: {place}\r\n"));
        }
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("\r\n{body}"));
        self.socket.write_all(text.as_bytes()).await.expect("the server reads");
    }

    pub(crate) async fn post(&mut self, path: &str, body: &Value) -> Answer {
        self.send("POST", path, &[("content-type", "application/json")], &body.to_string()).await;
        self.answer().await
    }

    /// Reads one answer to its end, whatever kind of end that is.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut answer = Answer { head: String::new(), body: Vec::new(), chunks: Vec::new(), ending: Ending::Whole };
        match self.until(b"\r\n\r\n").await {
            Ok(head) => answer.head = String::from_utf8(head).expect("a head is text"),
            Err(ending) => return Answer { ending, ..answer },
        }
        let length = answer.head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
        let result = match length {
            Some(length) => self.take(length).await.map(|body| answer.body = body),
            None => self.chunks(&mut answer).await,
        };
        answer.ending = result.err().unwrap_or(Ending::Whole);
        answer
    }

    async fn chunks(&mut self, answer: &mut Answer) -> Result<(), Ending> {
        loop {
            let size = String::from_utf8(self.until(b"\r\n").await?).expect("a size is text");
            let size = usize::from_str_radix(size.trim(), 16).expect("a size is hexadecimal");
            let mut chunk = self.take(size + 2).await?;
            chunk.truncate(size);
            if chunk.is_empty() {
                return Ok(());
            }
            answer.body.extend_from_slice(&chunk);
            answer.chunks.push(chunk);
        }
    }

    async fn until(&mut self, mark: &[u8]) -> Result<Vec<u8>, Ending> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                return Ok(self.unread.drain(..at + mark.len()).collect());
            }
            self.more().await?;
        }
    }

    async fn take(&mut self, length: usize) -> Result<Vec<u8>, Ending> {
        while self.unread.len() < length {
            self.more().await?;
        }
        Ok(self.unread.drain(..length).collect())
    }

    async fn more(&mut self) -> Result<(), Ending> {
        match self.socket.read_buf(&mut self.unread).await {
            Ok(0) => Err(Ending::Cut),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => Err(Ending::Reset),
            Err(error) => panic!("unexpected: {error}"),
        }
    }
}

/// One request on a connection of its own.
pub(crate) async fn post(url: &str, path: &str, body: &Value) -> Answer {
    Client::connect(url).await.post(path, body).await
}
