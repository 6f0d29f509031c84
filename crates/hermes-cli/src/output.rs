//! What a person or a program sees of a turn: the one place that writes to stdout and stderr.
//!
//! Stdout carries the answer and nothing else. Text goes out live to a terminal and whole to a pipe, so that a retry
//! never leaves half an answer in somebody's file. Notices go to stderr, for people.

use crate::args::OutputFormat;
use hermes_core::ports::Listener;
use hermes_types::{Event, Fault, FaultKind, Notice, Reply, SessionId, StopReason, Usage};
use serde_json::{Value, json};
use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;

pub const EXIT_FAILED: u8 = 1;
pub const EXIT_USAGE: u8 = 2;
pub const EXIT_INTERRUPTED: u8 = 130;

/// How to show a turn.
#[derive(Debug, Clone)]
pub struct Show {
    pub format: OutputFormat,
    /// Notices about retries, waits and fallbacks on stderr.
    pub notices: bool,
    /// The prefix of errors: the command as it was typed.
    pub command: &'static str,
    pub session: SessionId,
    pub usage_file: Option<PathBuf>,
}

pub struct Screen {
    show: Show,
    live: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    provider: String,
    model: String,
    /// The cursor is not at the start of a line.
    mid_line: bool,
    /// A status line is on the terminal and must be wiped before anything else is written.
    status: bool,
    attempts: u64,
    /// Stdout cannot be written to any more, and why.
    broken: Option<std::io::ErrorKind>,
}

impl Screen {
    pub fn new(show: Show) -> Self {
        let live = show.format == OutputFormat::Text && std::io::stdout().is_terminal();
        Self { show, live, state: Mutex::default() }
    }

    /// True when a person watches the words arrive.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// Prints a line of the program's own on stdout.
    pub fn line(&self, text: &str) {
        let mut state = self.lock();
        out(&mut state, &format!("{text}\n"));
    }

    /// Prints how the turn ended, and says it in the exit code.
    pub fn finish(&self, result: &Result<Reply, Fault>) -> ExitCode {
        let outcome = Outcome::of(result);
        self.clear_status();
        match self.show.format {
            OutputFormat::Text => self.finish_text(result, outcome),
            OutputFormat::Json => self.line(&self.report(result, outcome, "result").to_string()),
            OutputFormat::StreamJson => {
                let event = match result {
                    Ok(reply) => Event::answer(reply),
                    Err(fault) => Event::Failed { kind: fault.kind, message: fault.message.clone() },
                };
                self.line(&serde_json::to_string(&event).unwrap_or_default());
            }
        }
        if let Err(error) = self.write_usage(result, outcome) {
            self.complain(&error);
            return ExitCode::from(EXIT_FAILED);
        }
        let broken = self.lock().broken;
        match broken {
            None => outcome.exit_code(),
            // Whoever read us has seen enough, as in `hermes … | head -1`; there is nobody to complain to.
            Some(std::io::ErrorKind::BrokenPipe) => ExitCode::from(EXIT_FAILED),
            Some(reason) => {
                self.complain(&format!("the answer could not be written: {reason}"));
                ExitCode::from(EXIT_FAILED)
            }
        }
    }

    fn finish_text(&self, result: &Result<Reply, Fault>, outcome: Outcome) {
        match result {
            Ok(reply) => {
                let mut state = self.lock();
                if self.live {
                    if state.mid_line {
                        out(&mut state, "\n");
                    }
                } else {
                    let text = reply.text();
                    let newline = if text.ends_with('\n') || text.is_empty() { "" } else { "\n" };
                    out(&mut state, &format!("{text}{newline}"));
                }
                drop(state);
                if let Some(remark) = outcome.remark() {
                    self.complain(remark);
                }
            }
            Err(fault) => {
                let mut state = self.lock();
                if state.mid_line {
                    out(&mut state, "\n");
                }
                drop(state);
                self.complain(&explain(fault));
            }
        }
    }

    /// An error for a person, on stderr.
    pub fn complain(&self, message: &str) {
        self.clear_status();
        err(&format!("{}: {message}\n", self.show.command));
    }

    /// Something a person should know, if they want to hear such things.
    pub fn remark(&self, text: &str) {
        if self.show.notices {
            self.clear_status();
            err(&format!("… {text}\n"));
        }
    }

    fn write_usage(&self, result: &Result<Reply, Fault>, outcome: Outcome) -> Result<(), String> {
        let Some(path) = &self.show.usage_file else { return Ok(()) };
        let mut text = self.usage_report(result, outcome).to_string();
        text.push('\n');
        std::fs::write(path, text).map_err(|error| format!("cannot write the usage file {}: {error}", path.display()))
    }

    /// The keys scripts of the Python program read.
    fn usage_report(&self, result: &Result<Reply, Fault>, outcome: Outcome) -> Value {
        let state = self.lock();
        let usage = result.as_ref().ok().and_then(|reply| reply.usage).unwrap_or_default();
        let cost_status = if usage.cost.is_some() { "actual" } else { "unknown" };
        let mut report = json!({
            "estimated_cost_usd": usage.cost, "cost_status": cost_status,
            "cost_source": if usage.cost.is_some() { "provider_cost_api" } else { "none" },
            "input_tokens": usage.input, "output_tokens": usage.output, "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write, "reasoning_tokens": usage.reasoning, "total_tokens": usage.total(),
            "api_calls": state.attempts + 1, "model": state.model, "provider": state.provider,
            "session_id": self.show.session, "completed": outcome == Outcome::Answered,
            "failed": matches!(outcome, Outcome::Failed | Outcome::Interrupted), "service_tier": null,
        });
        if let (Err(fault), Some(report)) = (result, report.as_object_mut()) {
            report.insert("failure".into(), json!({"kind": fault.kind, "message": fault.message}));
        }
        report
    }

    fn report(&self, result: &Result<Reply, Fault>, outcome: Outcome, kind: &str) -> Value {
        let state = self.lock();
        let mut report = json!({
            "type": kind, "outcome": outcome.as_str(), "session_id": self.show.session,
            "provider": state.provider, "model": state.model,
        });
        let Some(fields) = report.as_object_mut() else { return report };
        match result {
            Ok(reply) => {
                fields.insert("text".into(), reply.text().into());
                fields.insert("reasoning".into(), json!(reply.message.reasoning));
                fields.insert("stop_reason".into(), json!(reply.stop_reason()));
                fields.insert("usage".into(), json!(reply.usage.unwrap_or(Usage::default())));
            }
            Err(fault) => {
                fields.insert("error".into(), json!({"kind": fault.kind, "message": fault.message}));
            }
        }
        report
    }

    fn hear_text(&self, event: &Event) {
        match event {
            Event::Text { text } if self.live => {
                self.clear_status();
                let mut state = self.lock();
                state.mid_line = !text.ends_with('\n');
                out(&mut state, text);
            }
            Event::Notice { notice } if self.show.notices => self.tell(notice),
            _ => {}
        }
    }

    fn tell(&self, notice: &Notice) {
        let text = describe(notice);
        let transient = matches!(notice, Notice::Waiting { .. });
        self.clear_status();
        let mut state = self.lock();
        if state.mid_line {
            err("\n");
            state.mid_line = false;
        }
        if transient && std::io::stderr().is_terminal() {
            err(&format!("\r{text}"));
            state.status = true;
        } else {
            err(&format!("{text}\n"));
        }
    }

    fn clear_status(&self) {
        if std::mem::take(&mut self.lock().status) {
            err("\r\x1b[2K");
        }
    }

    /// A panic elsewhere must not silence the answer.
    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Listener for Screen {
    fn hear(&self, event: Event) {
        match &event {
            Event::Started { provider, model, .. } => {
                let mut state = self.lock();
                state.provider.clone_from(provider);
                state.model.clone_from(model);
            }
            Event::Notice { notice: Notice::FellBack { provider, model, .. } } => {
                let mut state = self.lock();
                state.provider.clone_from(provider);
                state.model.clone_from(model);
                state.attempts += 1;
            }
            Event::Notice { notice: Notice::Waiting { .. } } => {}
            Event::Notice { .. } => self.lock().attempts += 1,
            _ => {}
        }
        match self.show.format {
            OutputFormat::Text => self.hear_text(&event),
            OutputFormat::StreamJson => self.line(&serde_json::to_string(&event).unwrap_or_default()),
            OutputFormat::Json => {
                if let (Event::Notice { notice }, true) = (&event, self.show.notices) {
                    self.tell(notice);
                }
            }
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Answered,
    /// There is text, but not all of it.
    Partial,
    /// The provider withheld the answer.
    Filtered,
    Failed,
    Interrupted,
}

impl Outcome {
    fn of(result: &Result<Reply, Fault>) -> Self {
        match result {
            Err(fault) if fault.kind == FaultKind::Interrupted => Self::Interrupted,
            Err(_) => Self::Failed,
            Ok(reply) => match reply.stop_reason() {
                _ if reply.cut_off => Self::Partial,
                StopReason::ContentFilter => Self::Filtered,
                StopReason::Length | StopReason::Incomplete => Self::Partial,
                _ => Self::Answered,
            },
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::Partial => "partial",
            Self::Filtered => "filtered",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }

    fn remark(self) -> Option<&'static str> {
        match self {
            Self::Partial => Some("the answer is not complete: it ended at the output limit or the connection broke"),
            Self::Filtered => Some("the provider withheld the answer (content filter)"),
            Self::Answered | Self::Failed | Self::Interrupted => None,
        }
    }

    fn exit_code(self) -> ExitCode {
        match self {
            Self::Answered => ExitCode::SUCCESS,
            Self::Interrupted => ExitCode::from(EXIT_INTERRUPTED),
            Self::Partial | Self::Filtered | Self::Failed => ExitCode::from(EXIT_FAILED),
        }
    }
}

/// What happened and what to do next, for the faults a person can mend.
fn explain(fault: &Fault) -> String {
    let next_step = match fault.kind {
        FaultKind::Auth | FaultKind::AuthPermanent => "check the key or login: hermes status, hermes auth add PROVIDER",
        FaultKind::Billing => "top up the account, or choose another model: hermes model",
        FaultKind::ModelNotFound => "see what there is: hermes model --list",
        FaultKind::NoRoute => {
            "check the network, a proxy (HTTPS_PROXY), or the address: hermes config get model.base_url"
        }
        FaultKind::RateLimit | FaultKind::Overloaded => {
            "wait a little, or add a fallback: hermes fallback add PROVIDER MODEL"
        }
        _ => return fault.message.clone(),
    };
    format!("{}\n  next: {next_step}", fault.message)
}

fn describe(notice: &Notice) -> String {
    match notice {
        Notice::Waiting { seconds } => format!("… waiting for the model ({seconds} s)"),
        Notice::Retrying { delay_ms, kind, message, .. } => {
            format!("… {kind}: {message}; trying again in {:.1} s", *delay_ms as f64 / 1000.0)
        }
        Notice::Rotated { kind } => format!("… {kind}: going on with another key"),
        Notice::Refreshed => "… login renewed".into(),
        Notice::FellBack { provider, model, kind, .. } => format!("… {kind}: going on with {model} at {provider}"),
        Notice::Conceded { .. } => "… the provider refused part of the request: sent again without it".into(),
        _ => String::new(),
    }
}

/// Writes to stdout. A reader that went away ends the writing, not the program.
fn out(state: &mut State, text: &str) {
    if state.broken.is_some() {
        return;
    }
    let mut stdout = std::io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    state.broken = written.err().map(|error| error.kind());
}

/// An error before there is a screen.
pub fn complain(message: &str) -> ExitCode {
    err(&format!("hermes: {message}\n"));
    ExitCode::from(EXIT_FAILED)
}

/// The command line does not say what to do.
pub fn misused(message: &str) -> ExitCode {
    err(&format!("hermes: {message}\n"));
    ExitCode::from(EXIT_USAGE)
}

/// Writes to stderr. When even that fails there is nobody left to tell.
fn err(text: &str) {
    let written = std::io::stderr().lock().write_all(text.as_bytes());
    drop(written);
}
