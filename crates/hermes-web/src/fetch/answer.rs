//! What a server sends, read no further than somebody wants it.
//!
//! Bytes are counted as they come out of the decompression, so a small bomb is cut like a large page. The time limit of
//! the request goes on while its body is read, and a server that says nothing for a while counts as gone.

use super::FetchFault;
use super::client::deepest;
use super::kind::{Kind, SNIFFED, kind};
use super::target::host_of;
use bytes::{Bytes, BytesMut};
use std::time::Duration;
use tokio::time::{Instant, timeout};
use url::Url;

/// A server that is silent for so long does not go on.
const SILENCE: Duration = Duration::from_secs(15);

/// The head of an answer, and the body behind it.
#[derive(Debug)]
pub struct Answer {
    response: reqwest::Response,
    url: Url,
    length: Option<u64>,
    ahead: BytesMut,
    until: Instant,
    limit: Duration,
}

/// A body, or as much of it as was wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Body {
    pub bytes: Bytes,
    pub extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    Whole,
    /// There is more that was not read.
    Cut,
}

impl Answer {
    pub(super) fn new(response: reqwest::Response, url: Url, until: Instant, limit: Duration) -> Self {
        let length = response.content_length();
        Self { response, url, length, ahead: BytesMut::new(), until, limit }
    }

    /// Where the last redirect led.
    pub fn url(&self) -> &Url {
        &self.url
    }

    pub fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    pub fn is_success(&self) -> bool {
        self.response.status().is_success()
    }

    /// A header by its name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }

    /// The media type in lower case, without parameters.
    pub fn media(&self) -> Option<String> {
        let named = self.header("content-type")?;
        Some(named.split(';').next().unwrap_or_default().trim().to_lowercase()).filter(|media| !media.is_empty())
    }

    /// The charset the server names.
    pub fn charset(&self) -> Option<&str> {
        let parameters = self.header("content-type")?.split(';').skip(1);
        let mut named = parameters.filter_map(|parameter| parameter.split_once('='));
        let (_, value) = named.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
        Some(value.trim().trim_matches(['"', '\'']))
    }

    /// How long the server says the body is.
    pub fn length(&self) -> Option<u64> {
        self.length
    }

    /// What the body is, told by its first bytes.
    pub async fn kind(&mut self) -> Result<Kind, FetchFault> {
        while self.ahead.len() < SNIFFED {
            let Some(more) = self.next().await? else { break };
            self.ahead.extend_from_slice(&more);
        }
        let head = self.ahead.get(..SNIFFED).unwrap_or(&self.ahead);
        Ok(kind(self.media().as_deref(), head))
    }

    /// The body up to so many bytes. What is beyond them is never taken from the network.
    pub async fn read(mut self, most: usize) -> Result<Body, FetchFault> {
        let mut bytes = std::mem::take(&mut self.ahead);
        while bytes.len() <= most {
            let Some(more) = self.next().await? else {
                return Ok(Body { bytes: bytes.freeze(), extent: Extent::Whole });
            };
            bytes.extend_from_slice(&more);
        }
        bytes.truncate(most);
        Ok(Body { bytes: bytes.freeze(), extent: Extent::Cut })
    }

    async fn next(&mut self) -> Result<Option<Bytes>, FetchFault> {
        let host = || host_of(&self.url);
        let left = self.until.saturating_duration_since(Instant::now());
        let patience = left.min(SILENCE);
        match timeout(patience, self.response.chunk()).await {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(FetchFault::Broken { host: host(), why: deepest(&error) }),
            Err(_late) if patience < left => {
                Err(FetchFault::Broken { host: host(), why: format!("nothing came for {} s", SILENCE.as_secs()) })
            }
            Err(_late) => Err(FetchFault::TooSlow { host: host(), limit: self.limit }),
        }
    }
}
