//! A model one can ask: an endpoint, a credential and a transport behind the loop's [`Model`] port.
//!
//! The way of a request: encode → attach the bound secret → send → split into events → decode → deltas. Each step is a
//! function of its own elsewhere; this file is the thread through them.

use crate::provider::tariff::Tariff;
use crate::receiver;
use crate::resolve::{Runtime, Staleness};
use crate::secret::{BoundSecret, Origin, Secret};
use crate::transport::{Answer, Call, Tls, Transport};
use crate::wire::{ApiMode, Decoder, End, Pages, Target, fault, sse};
use bytes::Bytes;
use futures_util::stream::{BoxStream, once};
use futures_util::{Stream, StreamExt, TryFutureExt};
use hermes_core::ports::{Card, Model};
use hermes_types::{Content, Cost, Delta, Fault, FaultKind, Part, Reasoning, Request, Sent, Usage};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use url::Url;

/// The most of an error answer that is read.
const ERROR_BODY_CAP: usize = 64 << 10;
/// The most of an answer that is not a stream.
const WHOLE_BODY_CAP: usize = 64 << 20;

/// Everything about the receiving end that one request needs.
#[derive(Debug, Clone)]
pub struct Endpoint {
    pub mode: ApiMode,
    pub target: Target,
    pub credential: Option<BoundSecret>,
    /// Headers the person configured for this endpoint; they count as secrets.
    pub headers: Vec<(String, BoundSecret)>,
    /// What holds for this model when a request does not say.
    pub defaults: Defaults,
    pub tls: Tls,
    /// How the tolerated silence grows with the prompt; the card's own limit where this is not known.
    pub stale: Option<Staleness>,
    pub card: Card,
}

/// Settings that belong to a model, not to a conversation: another model that steps in has its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Defaults {
    pub max_output_tokens: Option<u32>,
    pub reasoning: Option<Reasoning>,
}

impl Endpoint {
    pub fn of(runtime: &Runtime) -> Self {
        let here = Origin::of(&runtime.base_url);
        let bound = |(name, value): &(String, Secret)| (name.clone(), value.clone().bind([here.clone()]));
        Self {
            mode: runtime.api_mode,
            target: runtime.target(),
            credential: runtime.credential.secret.clone(),
            headers: runtime.headers.iter().map(bound).collect(),
            defaults: Defaults { max_output_tokens: runtime.limits.max_output_tokens, reasoning: runtime.reasoning },
            tls: runtime.tls.clone(),
            stale: Some(runtime.limits.stale),
            card: Card {
                provider: runtime.name.clone(),
                model: runtime.model.clone(),
                base_url: runtime.base_url.to_string(),
                context_window: runtime.limits.context_window,
                output_cap: runtime.limits.max_output_tokens,
                stale_after: runtime.limits.stale.after(0),
                first_byte_after: runtime.limits.first_byte_timeout,
                give_up_after: runtime.limits.request_timeout,
            },
        }
    }
}

impl Defaults {
    /// The request with what it leaves open. Its messages are shared, so this costs no copy of the history.
    pub(crate) fn fill<'a>(&self, request: &'a Request) -> Cow<'a, Request> {
        let filled = Self {
            max_output_tokens: request.max_output_tokens.or(self.max_output_tokens),
            reasoning: request.reasoning.or(self.reasoning),
        };
        if filled == (Self { max_output_tokens: request.max_output_tokens, reasoning: request.reasoning }) {
            return Cow::Borrowed(request);
        }
        let Self { max_output_tokens, reasoning } = filled;
        Cow::Owned(Request { max_output_tokens, reasoning, ..request.clone() })
    }
}

pub struct Voice {
    endpoint: Endpoint,
    /// What the calls cost, where that is known here.
    tariff: Option<Tariff>,
    transport: Arc<dyn Transport>,
    /// What was written of the conversation this model is asked about.
    pages: Mutex<Pages>,
}

impl Voice {
    pub fn new(endpoint: Endpoint, transport: Arc<dyn Transport>) -> Self {
        Self { endpoint, tariff: None, transport, pages: Mutex::default() }
    }

    #[must_use]
    pub fn priced_by(self, tariff: Tariff) -> Self {
        Self { tariff: Some(tariff), ..self }
    }

    fn call(&self, request: &Request) -> Call {
        let Endpoint { mode, target, credential, headers, defaults, tls, .. } = &self.endpoint;
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let encoded = mode.encode_on(&mut pages, &defaults.fill(request), target);
        let mut call = Call::post(encoded.url, encoded.body);
        call.headers.push(("content-type".into(), "application/json".into()));
        call.headers.push(("accept".into(), "text/event-stream".into()));
        call.headers.extend(encoded.headers.into_iter().map(|(name, value)| (name.to_owned(), value)));
        call.secret_headers.clone_from(headers);
        call.tls.clone_from(tls);
        call.credential = credential.clone().map(|secret| (encoded.auth, secret));
        call
    }

    /// The call as it is written down.
    fn sent(&self, call: &Call) -> Sent {
        let Endpoint { mode, target, defaults, .. } = &self.endpoint;
        Sent {
            mode: mode.as_str().to_owned(),
            url: plain_address(&call.url),
            target: receiver::facts(target, *defaults),
            body: call.body.clone(),
        }
    }
}

impl Model for Voice {
    fn card(&self) -> &Card {
        &self.endpoint.card
    }

    fn stale_after(&self, request: &Request) -> Duration {
        self.endpoint.stale.map_or(self.card().stale_after, |stale| stale.after(estimated_tokens(request)))
    }

    fn price(&self, usage: &Usage) -> Cost {
        self.tariff.as_ref().map_or_else(|| Cost::stated(usage), |tariff| tariff.price(usage))
    }

    fn rest(&self) {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner) = Pages::default();
    }

    fn stream(&self, request: Arc<Request>) -> BoxStream<'static, Result<Delta, Fault>> {
        let call = self.call(&request);
        let (url, sent) = (call.url.clone(), self.sent(&call));
        let decoder = self.endpoint.mode.decoder(&self.endpoint.target);
        let sending = self.transport.send(call);
        let opening = async move {
            let answer = sending.await?;
            if (200..300).contains(&answer.status) { speech(answer, decoder, &url) } else { Err(refusal(answer).await) }
        };
        once(ready(Ok(Delta::Sent(Box::new(sent))))).chain(opening.try_flatten_stream()).boxed()
    }
}

/// An address without the places where people put secrets: name, password and query.
pub(crate) fn plain_address(url: &Url) -> String {
    let mut plain = url.clone();
    // Refused for addresses that cannot have a name or a password, so that there is nothing to take away.
    let _ = plain.set_username("").and_then(|()| plain.set_password(None));
    plain.set_query(None);
    plain.set_fragment(None);
    plain.into()
}

/// Four characters a token: good enough to tell a long prompt from a short one.
fn estimated_tokens(request: &Request) -> u64 {
    const CHARACTERS_PER_TOKEN: usize = 4;
    let length = |content: &Content| match content {
        Content::Text(text) => text.len(),
        Content::Parts(parts) => parts.iter().filter_map(Part::text).map(str::len).sum(),
    };
    let characters: usize = request.messages.iter().filter_map(|message| message.content()).map(length).sum();
    u64::try_from(characters / CHARACTERS_PER_TOKEN).unwrap_or(u64::MAX)
}

async fn refusal(answer: Answer) -> Fault {
    let (status, headers) = (answer.status, answer.headers.clone());
    // An error answer whose body breaks off still has its status to tell.
    let body = answer.read(ERROR_BODY_CAP).await.unwrap_or_default();
    fault::from_response(status, &headers, &body)
}

/// The deltas of a successful answer.
fn speech(
    answer: Answer,
    decoder: Box<dyn Decoder>,
    url: &Url,
) -> Result<impl Stream<Item = Result<Delta, Fault>> + Send + use<>, Fault> {
    let framing = Framing::of(answer.header("content-type"), url)?;
    let speech = Speech { body: answer.body, framing, decoder: Some(decoder), ready: VecDeque::new(), fault: None };
    Ok(futures_util::stream::unfold(speech, |mut speech| async move {
        let next = speech.next().await?;
        Some((next, speech))
    }))
}

/// How the bytes of an answer are divided into events.
enum Framing {
    Events(sse::Parser),
    /// One JSON object: some servers do not stream, whatever they are asked.
    Whole(Vec<u8>),
}

impl Framing {
    /// A web page will be a web page the next time too, so it is no slip of a stream but a wrong address.
    fn of(content_type: Option<&str>, url: &Url) -> Result<Self, Fault> {
        let kind = content_type.unwrap_or_default().to_ascii_lowercase();
        if kind.contains("text/html") {
            let message = format!("{url} is a web page and no model's endpoint; check the base URL");
            return Err(Fault::new(FaultKind::BadRequest, message));
        }
        let whole = kind.contains("json") && !kind.contains("event-stream") && !kind.contains("ndjson");
        Ok(if whole { Self::Whole(Vec::new()) } else { Self::Events(sse::Parser::default()) })
    }
}

struct Speech {
    body: BoxStream<'static, Result<Bytes, Fault>>,
    framing: Framing,
    /// Taken when the answer is complete.
    decoder: Option<Box<dyn Decoder>>,
    ready: VecDeque<Delta>,
    /// What ended the answer, behind everything that is ready.
    fault: Option<Fault>,
}

impl Speech {
    async fn next(&mut self) -> Option<Result<Delta, Fault>> {
        loop {
            if let Some(delta) = self.ready.pop_front() {
                return Some(Ok(delta));
            }
            if let Some(fault) = self.fault.take() {
                return Some(Err(fault));
            }
            // Some servers say all they have to say and then leave the connection open.
            let complete = self.decoder.as_ref()?.is_complete();
            let step = match if complete { None } else { self.body.next().await } {
                Some(Ok(chunk)) => self.take_in(&chunk),
                Some(Err(lost)) => self.close(End::Cut, Some(lost)),
                None => self.close(End::Whole, None),
            };
            if let Err(fault) = step {
                self.decoder = None;
                self.fault = Some(fault);
            }
        }
    }

    fn take_in(&mut self, chunk: &[u8]) -> Result<(), Fault> {
        let (Some(decoder), framing) = (self.decoder.as_mut(), &mut self.framing) else { return Ok(()) };
        let mut out = Vec::new();
        let taken = match framing {
            Framing::Events(parser) => parser.push(chunk, |event| heed(decoder.as_mut(), event, &mut out)),
            Framing::Whole(bytes) if bytes.len() + chunk.len() > WHOLE_BODY_CAP => {
                Err(Fault::new(FaultKind::Malformed, "the answer is larger than 64 MiB").into())
            }
            Framing::Whole(bytes) => {
                bytes.extend_from_slice(chunk);
                Ok(())
            }
        };
        // Bytes came, even if they complete nothing: the peer is alive.
        if out.is_empty() {
            out.push(Delta::Alive);
        }
        self.ready.extend(out);
        Ok(taken?)
    }

    /// The bytes are over. A connection that broke before anything was said is reported as what broke it.
    fn close(&mut self, end: End, lost: Option<Fault>) -> Result<(), Fault> {
        let Some(mut decoder) = self.decoder.take() else { return Ok(()) };
        let mut out = Vec::new();
        let taken = match std::mem::replace(&mut self.framing, Framing::Whole(Vec::new())) {
            Framing::Events(parser) => parser.finish(|event| heed(decoder.as_mut(), event, &mut out)),
            Framing::Whole(bytes) => {
                let data = String::from_utf8_lossy(&bytes);
                heed(decoder.as_mut(), sse::Event { name: "", data: &data }, &mut out)
            }
        };
        self.ready.extend(out);
        taken?;
        let reply = decoder.finish(end).map_err(|fault| match lost {
            Some(lost) if fault.kind == FaultKind::EmptyStream => lost,
            _ => fault,
        })?;
        self.ready.push_back(Delta::Done(Box::new(reply)));
        Ok(())
    }
}

/// Hands an event on. What stands behind the end mark is no part of the answer, whether or not the network delivers it
/// together with the end.
fn heed(decoder: &mut dyn Decoder, event: sse::Event<'_>, out: &mut Vec<Delta>) -> Result<(), Broken> {
    if decoder.is_complete() { Ok(()) } else { decoder.event(event, out).map_err(Broken::Fault) }
}

/// What stops the parser: its own cap, or a fault the server announced.
enum Broken {
    Sse(sse::SseFault),
    Fault(Fault),
}

impl From<sse::SseFault> for Broken {
    fn from(fault: sse::SseFault) -> Self {
        Self::Sse(fault)
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Sse(fault) => Self::new(FaultKind::Malformed, fault.to_string()),
            Broken::Fault(fault) => fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_down_without_what_could_be_a_secret() {
        let table = [
            ("https://me:hush@host.example:8443/v1/chat?key=hush#hush", "https://host.example:8443/v1/chat"),
            ("http://127.0.0.1/v1", "http://127.0.0.1/v1"),
        ];
        for (url, plain) in table {
            assert_eq!(plain_address(&url.parse().expect("a URL")), plain);
        }
    }
}
