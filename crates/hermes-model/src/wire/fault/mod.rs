//! Failures of providers, typed while their bytes are still at hand.
//!
//! What a failure *is* gets decided here once, for every protocol: the vendor's own code first, then the request field it
//! names, then words (one table, and only for statuses that say too little), then the HTTP status. After this point
//! recovery matches on [`FaultKind`] and nobody reads error text again.
//!
//! The message is the provider's own sentence, without markup, without secrets and never longer than 500 characters.

mod clean;
mod limit;
mod report;
mod rules;
mod wait;

#[cfg(test)]
mod tests;

pub(crate) use clean::sentence;

use hermes_types::{Fault, FaultKind, clip};
use report::Report;
use serde_json::Value;
use std::time::SystemTime;

const LONGEST_MESSAGE: usize = 500;
const LONGEST_CODE: usize = 80;

/// The failure an HTTP answer with an error status stands for. Times of day in it are read against the server's own
/// `Date` header, so no clock is needed here.
pub fn from_response(status: u16, headers: &[(String, String)], body: &[u8]) -> Fault {
    let report = Report::of_bytes(body);
    fault(Some(status), &report, headers)
}

/// The failure an error object announces, wherever in a stream it was found.
pub fn from_error_body(status: Option<u16>, body: &Value) -> Fault {
    fault(status, &Report::of_json(body), &[])
}

fn fault(status: Option<u16>, report: &Report, headers: &[(String, String)]) -> Fault {
    // A stream that began with 200 says in its error object what the status would have been.
    let status = status.filter(|status| !(200..300).contains(status)).or(report.status);
    let asked = wait::in_headers(headers).or(report.wait);
    // The buckets every answer describes say nothing about this refusal.
    let resets = wait::stated(headers).or(report.wait).is_some();
    let kind = kind(status, report, resets);
    Fault {
        kind,
        status,
        code: report.best_code().map(|code| clip(&sentence(code), LONGEST_CODE)),
        message: message(status, kind, report),
        retry_after: asked.filter(|_| may_wait(kind)).and_then(|wait| wait.from(server_time(headers))),
        window: limit::stated(&report.text).filter(|_| kind == FaultKind::ContextOverflow),
    }
}

/// The pipeline. `resets` tells that the provider named a time after which it will answer again.
fn kind(status: Option<u16>, report: &Report, resets: bool) -> FaultKind {
    let text = report.text.as_str();
    if let Some(kind) = rules::by_code(&report.codes).or_else(|| rules::by_param(status, &report.params)) {
        return kind;
    }
    match rules::by_phrase(status, text) {
        // What comes back by itself is a limit, not a debt.
        Some(FaultKind::Billing) if resets => FaultKind::RateLimit,
        Some(kind) => kind,
        None => status
            .and_then(rules::by_status)
            .or_else(|| rules::by_common_code(&report.codes))
            .unwrap_or(FaultKind::Unknown),
    }
}

fn may_wait(kind: FaultKind) -> bool {
    matches!(
        kind,
        FaultKind::RateLimit
            | FaultKind::UpstreamRateLimit
            | FaultKind::Overloaded
            | FaultKind::ServerError
            | FaultKind::Timeout
            | FaultKind::Billing
            | FaultKind::Unknown
    )
}

fn message(status: Option<u16>, kind: FaultKind, report: &Report) -> String {
    let words = sentence(&report.message);
    let words = if words.is_empty() { kind.describe() } else { words.as_str() };
    let message = match status {
        // Pages of proxies begin with the status themselves.
        Some(status) => format!("HTTP {status}: {}", words.trim_start_matches(&format!("{status} "))),
        None => words.to_owned(),
    };
    clip(&message, LONGEST_MESSAGE)
}

/// When the server thinks it is.
fn server_time(headers: &[(String, String)]) -> Option<SystemTime> {
    let date = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("date"))?;
    wait::http_date(&date.1)
}
