//! Answers over HTTP, read no further than anybody can use.
//!
//! The protocol library bounds lines and events, and reads a body of JSON to its end, however far away that is. So what is
//! posted is posted here, by the library's own rules for answers; everything else is left to it. A body and an event have
//! the same limit, counted after decompression.

use bytes::Bytes;
use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt as _};
use hermes_types::clip;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::{Client, Response, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorData, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, StreamableHttpClient, StreamableHttpError,
    StreamableHttpPostResponse,
};
use sse_stream::{Error as SseError, Sse, SseStream};
use std::collections::HashMap;
use std::io;
use std::sync::Arc;

/// Bytes of one answer or event, as many as the library takes of a line.
pub(super) const LARGEST: usize = 16 << 20;
pub(super) const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
const SESSION: &str = "mcp-session-id";
/// Characters of a refusal that is no message.
const LONGEST_REFUSAL: usize = 1_000;

/// A client whose answers have an end.
#[derive(Debug, Clone)]
pub(super) struct Bounded(pub(super) Client);

type Failure = StreamableHttpError<reqwest::Error>;
type Posted = Result<StreamableHttpPostResponse, Failure>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

impl StreamableHttpClient for Bounded {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Posted {
        let has_session = session.is_some();
        let body = serde_json::to_vec(&message).map_err(io::Error::other)?;
        let mut request = self.0.post(uri.as_ref()).header(ACCEPT, format!("{EVENTS}, {JSON}"));
        request = token.into_iter().fold(request, |request, token| request.bearer_auth(token));
        request = headers.into_iter().fold(request, |request, (name, value)| request.header(name, value));
        request = session.iter().fold(request, |request, session| request.header(SESSION, session.as_ref()));
        let answer = request.header(CONTENT_TYPE, JSON).body(body).send().await.map_err(Failure::Client)?;
        read(answer, &message, has_session).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        self.0.delete_session(uri, session, token, headers).await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        self.0.get_stream_with_max_sse_event_size(uri, session, last_event, token, headers, LARGEST).await
    }
}

/// What the server answered to a message.
async fn read(answer: Response, message: &ClientJsonRpcMessage, has_session: bool) -> Posted {
    let status = answer.status();
    if let Some(challenge) = challenge(&answer) {
        return Err(challenge);
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if status == StatusCode::NOT_FOUND && has_session {
        return Err(Failure::SessionExpired);
    }
    let header = |name: HeaderName| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let kind = header(CONTENT_TYPE);
    let is = |wanted: &str| kind.as_deref().is_some_and(|kind| kind.starts_with(wanted));
    let (is_json, is_events) = (is(JSON), is(EVENTS));
    let session = header(HeaderName::from_static(SESSION));
    let in_trouble = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let trouble = in_trouble.then(|| HttpStatusError::new(status.as_u16(), header(RETRY_AFTER)));
    // Only a question waits for an answer; to anything else an empty or odd one is as good as none.
    let awaits = matches!(message, ClientJsonRpcMessage::Request(_));
    match trouble {
        Some(trouble) if !is_json || status == StatusCode::TOO_MANY_REQUESTS => return Err(trouble.into()),
        None if status.is_success() && is_events => {
            return Ok(StreamableHttpPostResponse::Sse(events(answer.bytes_stream()), session));
        }
        None if status.is_success() && !awaits && answer.content_length() == Some(0) => {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        None if status.is_success() && !is_json => return Err(Failure::UnexpectedContentType(kind)),
        _ => {}
    }
    let body = whole(answer).await?;
    if !status.is_success() {
        let refusal = Refusal { status, is_json, body: &body, trouble };
        return refusal.read(message, has_session, session);
    }
    match serde_json::from_slice(&body) {
        Ok(message) => Ok(StreamableHttpPostResponse::Json(message, session)),
        Err(_) if !awaits => Ok(StreamableHttpPostResponse::Accepted),
        Err(error) => Err(Failure::UnexpectedServerResponse(format!("its answer is no message: {error}").into())),
    }
}

/// What a server that wants a login says, where it says which.
fn challenge(answer: &Response) -> Option<Failure> {
    let words = answer.headers().get(WWW_AUTHENTICATE)?;
    let words = String::from_utf8_lossy(words.as_bytes()).into_owned();
    match answer.status() {
        StatusCode::UNAUTHORIZED => Some(Failure::AuthRequired(AuthRequiredError::new(words))),
        StatusCode::FORBIDDEN => {
            let scope = words.split_once("scope=\"").and_then(|(_, rest)| rest.split('"').next()).map(str::to_owned);
            Some(Failure::InsufficientScope(InsufficientScopeError::new(words, scope)))
        }
        _ => None,
    }
}

/// An answer that is none.
struct Refusal<'b> {
    status: StatusCode,
    is_json: bool,
    body: &'b [u8],
    trouble: Option<HttpStatusError>,
}

impl Refusal<'_> {
    fn read(self, message: &ClientJsonRpcMessage, has_session: bool, session: Option<String>) -> Posted {
        let Self { status, is_json, body, trouble } = self;
        let error = match serde_json::from_slice::<ServerJsonRpcMessage>(body) {
            Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        };
        let wants_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
        let words = || clip(&format!("HTTP {status}: {}", String::from_utf8_lossy(body)), LONGEST_REFUSAL);
        // An older server does not know the first question of newer ones, and is asked the old way once it has said so.
        if let ClientJsonRpcMessage::Request(request) = message
            && matches!(request.request, ClientRequest::DiscoverRequest(_))
            && !has_session
            && status.is_client_error()
            && !wants_login
        {
            let error = error.map_or_else(|| ErrorData::invalid_request(words(), None), |error| error.error);
            let message = ServerJsonRpcMessage::error(error, Some(request.id.clone()));
            return Ok(StreamableHttpPostResponse::Json(message, None));
        }
        match (error, trouble) {
            (Some(error), _) if is_json && !wants_login => {
                Ok(StreamableHttpPostResponse::Json(ServerJsonRpcMessage::Error(error), session))
            }
            (_, Some(trouble)) => Err(trouble.into()),
            (_, None) => Err(Failure::UnexpectedServerResponse(words().into())),
        }
    }
}

/// A body with an end.
async fn whole(answer: Response) -> Result<Vec<u8>, Failure> {
    let mut body = Vec::new();
    let mut chunks = answer.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk.map_err(Failure::Client)?);
        if body.len() > LARGEST {
            return Err(Failure::Io(too_large()));
        }
    }
    Ok(body)
}

/// The events of a stream, which ends with the first that is too large.
pub(super) fn events<E>(chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static) -> Events
where
    E: std::error::Error + Send + Sync + 'static,
{
    let bounded = chunks.scan(Some(Open::default()), |state, chunk| {
        let Some(open) = state else { return std::future::ready(None) };
        let chunk = chunk.map_err(io::Error::other).and_then(|chunk| {
            open.read(&chunk);
            if open.length > LARGEST { Err(too_large()) } else { Ok(chunk) }
        });
        if chunk.is_err() {
            *state = None;
        }
        std::future::ready(Some(chunk))
    });
    SseStream::from_bytes_stream(bounded).boxed()
}

fn too_large() -> io::Error {
    io::Error::other(format!("it sends more than {} MB at once", LARGEST >> 20))
}

/// How long the event has become that a stream is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Open {
    length: usize,
    /// Nothing stands in the line so far.
    line_is_empty: bool,
    last: u8,
}

impl Default for Open {
    fn default() -> Self {
        Self { length: 0, line_is_empty: true, last: 0 }
    }
}

impl Open {
    /// An empty line ends an event; lines end as people of all systems end them.
    fn read(&mut self, chunk: &[u8]) {
        for byte in chunk {
            let ends_line = matches!(byte, b'\r' | b'\n') && !(*byte == b'\n' && self.last == b'\r');
            self.length = if ends_line && self.line_is_empty { 0 } else { self.length + 1 };
            self.line_is_empty = match byte {
                b'\n' if self.last == b'\r' => self.line_is_empty,
                _ => ends_line,
            };
            self.last = *byte;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(text: &str) -> usize {
        let mut open = Open::default();
        text.as_bytes().chunks(3).for_each(|chunk| open.read(chunk));
        open.length
    }

    #[test]
    fn an_event_ends_with_an_empty_line_and_nothing_else() {
        assert_eq!(open("data: 1\n\n"), 0);
        assert_eq!(open("data: 1\r\n\r\n"), 1, "what is left of the end of a line");
        assert_eq!(open("data: 1\r\r"), 0);
        assert_eq!(open("data: 1\n\ndata"), 4);
        assert_eq!(open("data: 1\ndata: 2\n"), 16, "two lines are one event");
        assert_eq!(open("data: 1\r\ndata: 2\r\n"), 18);
    }

    #[tokio::test]
    async fn a_stream_ends_with_an_event_that_never_does() {
        let first = std::iter::once(Ok::<_, io::Error>(Bytes::from_static(b"data: hello\n\n")));
        let endless = std::iter::repeat_with(|| Ok(Bytes::from(vec![b'x'; 1 << 20])));
        let mut events = events(futures_util::stream::iter(first.chain(endless)));
        assert_eq!(events.next().await.expect("one").expect("an event").data.as_deref(), Some("hello"));
        assert!(events.next().await.expect("the end").is_err());
        assert!(events.next().await.is_none_or(|after| after.is_err()), "and nothing behind it");
    }
}
