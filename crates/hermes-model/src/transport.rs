//! One HTTP exchange as a port: a call goes out, a status and a stream of bytes come back.
//!
//! The real transport is [`HttpTransport`](crate::http::HttpTransport); tests and the demo put a script in its place.
//! A call carries its secret bound to origins, and only the transport, with the final URL in hand, can open it.

use crate::secret::BoundSecret;
use crate::wire::AuthHeader;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use hermes_types::Fault;
use std::path::PathBuf;
use url::Url;

/// A request about to be sent.
#[derive(Clone)]
pub struct Call {
    pub method: Method,
    pub url: Url,
    pub headers: Vec<(String, String)>,
    /// Headers the person configured; they count as secrets.
    pub secret_headers: Vec<(String, BoundSecret)>,
    pub credential: Option<(AuthHeader, BoundSecret)>,
    pub redirects: Redirects,
    pub tls: Tls,
    pub body: Bytes,
}

/// Whom to trust at an endpoint, where the person said so.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Tls {
    /// Trust only the certificates in this PEM file.
    pub ca_file: Option<PathBuf>,
    /// Trust anybody. The person was warned when the setting was read.
    pub unverified: bool,
}

/// What becomes of an answer that points elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Redirects {
    /// Followed on the same host and to hosts the credential is bound to; refused elsewhere.
    AtHome,
    /// Handed to the caller: the body of the call is for one address only.
    HandedOver,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

/// The head of the answer, and its body as it arrives.
pub struct Answer {
    pub status: u16,
    /// Lower-case names.
    pub headers: Vec<(String, String)>,
    pub body: BoxStream<'static, Result<Bytes, Fault>>,
}

pub trait Transport: Send + Sync {
    /// Sends the call and waits for the head of the answer. Dropping the future or the body closes the connection.
    fn send(&self, call: Call) -> BoxFuture<'static, Result<Answer, Fault>>;
}

impl Call {
    pub fn get(url: Url) -> Self {
        Self::new(Method::Get, url, Bytes::new())
    }

    pub fn post(url: Url, body: impl Into<Bytes>) -> Self {
        Self::new(Method::Post, url, body.into())
    }

    fn new(method: Method, url: Url, body: Bytes) -> Self {
        Self {
            method,
            url,
            headers: Vec::new(),
            secret_headers: Vec::new(),
            credential: None,
            redirects: Redirects::AtHome,
            tls: Tls::default(),
            body,
        }
    }
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The whole body, up to `cap` bytes; the rest is not read.
    pub async fn read(self, cap: usize) -> Result<Vec<u8>, Fault> {
        use futures_util::StreamExt;
        let mut body = self.body;
        let mut whole = Vec::new();
        while let Some(chunk) = body.next().await {
            whole.extend_from_slice(&chunk?);
            if whole.len() >= cap {
                whole.truncate(cap);
                break;
            }
        }
        Ok(whole)
    }
}

/// Without the body: on the way to a token endpoint it holds secrets.
impl std::fmt::Debug for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let size = format_args!("{} bytes", self.body.len());
        f.debug_struct("Call")
            .field("method", &self.method)
            .field("url", &self.url.as_str())
            .field("body", &size)
            .finish()
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("status", &self.status).field("headers", &self.headers).finish_non_exhaustive()
    }
}
