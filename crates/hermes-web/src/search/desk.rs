//! Asking an engine: one request to the address the owner set, with its key, and never another one.
//!
//! The address of an engine is the owner's own choice, so it may be on this machine; it is not judged. A redirect is not
//! followed: it would take the query, or the key, somewhere nobody chose.

use super::engine::{Hit, KeyHeader, Ready};
use crate::fetch::{Rules, client};
use futures_util::StreamExt as _;
use reqwest::header::{HeaderName, HeaderValue};
use serde_json::Value;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);
const LARGEST_ANSWER: usize = 4 << 20;
const LONGEST_REASON: usize = 300;

/// Where engines are asked.
#[derive(Clone)]
pub struct SearchDesk {
    rules: Arc<Rules>,
    client: Arc<OnceLock<reqwest::Client>>,
}

impl SearchDesk {
    pub fn new(rules: Rules) -> Self {
        Self { rules: Arc::new(rules), client: Arc::default() }
    }

    /// What an engine finds, or why it found nothing, in words that name the engine and what to do.
    pub async fn ask(&self, ready: &Ready, query: &str, limit: usize) -> Result<Vec<Hit>, String> {
        let card = ready.engine.card();
        let asked = tokio::time::timeout(PATIENCE, self.exchange(ready, query, limit.min(card.most))).await;
        let (status, retry_after, body) = match asked {
            Ok(exchanged) => exchanged.map_err(|why| format!("{} cannot be asked: {why}.", card.title))?,
            Err(_late) => return Err(format!("{} did not answer within {} s.", card.title, PATIENCE.as_secs())),
        };
        if status != 200 {
            return Err(refusal(ready, status, retry_after.as_deref(), &body));
        }
        let hits = ready.engine.hits(&body).map_err(|why| format!("{} gave no results: {why}.", card.title))?;
        Ok(hits.into_iter().take(limit).collect())
    }

    async fn exchange(
        &self,
        ready: &Ready,
        query: &str,
        limit: usize,
    ) -> Result<(u16, Option<String>, Vec<u8>), String> {
        let question = ready.engine.question(&ready.base, query, limit);
        let method = if question.body.is_some() { reqwest::Method::POST } else { reqwest::Method::GET };
        let mut request = reqwest::Request::new(method, question.url);
        for (name, value) in question.headers {
            request.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        if let Some(value) = ready.key.as_ref().and_then(|key| key.header_for(request.url())) {
            let name = match ready.engine.card().key_header {
                KeyHeader::Bearer => "authorization",
                KeyHeader::Named(name) => name,
            };
            request.headers_mut().insert(HeaderName::from_static(name), value);
        }
        if let Some(body) = question.body {
            request.headers_mut().insert("content-type", HeaderValue::from_static("application/json"));
            *request.body_mut() = Some(body.to_string().into());
        }
        let client =
            client::kept(&self.client, || client::by_variables(&self.rules)).map_err(|fault| fault.to_string())?;
        let response = client.execute(request).await.map_err(|error| client::deepest(&error))?;
        let status = response.status().as_u16();
        let retry_after =
            response.headers().get("retry-after").and_then(|value| value.to_str().ok()).map(str::to_owned);
        let mut body = Vec::new();
        let mut stream = response.bytes_stream();
        while let Some(chunk) = stream.next().await {
            body.extend_from_slice(&chunk.map_err(|error| client::deepest(&error))?);
            if body.len() > LARGEST_ANSWER {
                return Err("its answer is too large".into());
            }
        }
        Ok((status, retry_after, body))
    }
}

/// What an engine that did not want to answer means, and what helps.
fn refusal(ready: &Ready, status: u16, retry_after: Option<&str>, body: &[u8]) -> String {
    let card = ready.engine.card();
    let title = card.title;
    let key = card.key.unwrap_or("its key");
    let said = said(body);
    let said = ready.key.as_ref().map_or_else(|| said.clone(), |key| key.covered(&said));
    let said = if said.is_empty() { String::new() } else { format!(" It says: {said}") };
    if let Some((_, meaning)) = card.refusals.iter().find(|(known, _)| *known == status) {
        return format!("{title} did not search (HTTP {status}): {meaning}{said}");
    }
    match status {
        401 | 403 if ready.key.is_some() => {
            format!(
                "{title} does not accept the key (HTTP {status}). Check {key}: `hermes config set {key} VALUE` sets another \
                 ({}), `web.search_backend` another engine.{said}",
                card.from
            )
        }
        402 | 432 | 433 => {
            format!("The plan at {title} is used up (HTTP {status}). Wait, pay, or set up another engine.{said}")
        }
        429 => {
            let seconds = retry_after.filter(|when| when.parse::<u32>().is_ok());
            let when = seconds.map(|when| format!(" It asks to wait {when} s.")).unwrap_or_default();
            format!(
                "{title} takes no more searches for now (HTTP 429).{when} Search less, or set up another engine.{said}"
            )
        }
        300..=399 => {
            format!("{title} moves requests to another address (HTTP {status}); correct web.{}.base_url.", card.name)
        }
        500..=599 => {
            format!("{title} has trouble itself (HTTP {status}). Try again later, or set up another engine.{said}")
        }
        _ => format!("{title} refused the search (HTTP {status}).{said}"),
    }
}

/// The reason in an answer, wherever it stands, in one line.
fn said(body: &[u8]) -> String {
    let answer: Value = serde_json::from_slice(body).unwrap_or_default();
    let places = ["/error/message", "/error/detail", "/detail/error", "/detail", "/error", "/message"];
    let found = places.iter().find_map(|place| answer.pointer(place)?.as_str());
    let line = found.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST_REASON).collect()
}
