//! A finished turn as JSON: the usage file and the one object of `--output-format json`.

use hermes_core::turn::Outcome;
use hermes_types::{CostStatus, EVENT_VERSION, Event, OutcomeKind, Usd};
use serde_json::{Value, json};

/// What a turn cost, with all its sub-agents and side jobs.
struct Cost {
    /// `None` while a part of it is not known: a part must never look like the whole.
    usd: Option<Usd>,
    status: CostStatus,
    source: String,
}

impl Cost {
    fn of(outcome: &Outcome) -> Self {
        let status = outcome.spent.status();
        let sources = &outcome.price_sources;
        Self {
            usd: (status != CostStatus::Unknown).then_some(outcome.spent.cost),
            status,
            source: if sources.is_empty() { "none".to_owned() } else { sources.join("+") },
        }
    }
}

/// The keys scripts of the Python program read.
pub(super) fn usage(outcome: &Outcome) -> Value {
    let usage = outcome.usage_of_all.unwrap_or_default();
    let Cost { usd, status, source } = Cost::of(outcome);
    let mut report = json!({
        "estimated_cost_usd": usd,
        "cost_status": status,
        "cost_source": source,
        "input_tokens": usage.input,
        "output_tokens": usage.output,
        "cache_read_tokens": usage.cache_read,
        "cache_write_tokens": usage.cache_write,
        "reasoning_tokens": usage.reasoning,
        "total_tokens": usage.total(),
        "api_calls": outcome.api_calls,
        "model": outcome.model,
        "provider": outcome.provider,
        "session_id": outcome.session,
        "completed": outcome.completed(),
        "failed": matches!(outcome.kind(), OutcomeKind::Failed | OutcomeKind::Interrupted),
        "service_tier": null,
        "iterations": outcome.iterations,
        "tool_calls": outcome.tool_calls,
        "turn_exit_reason": outcome.end.exit_reason(),
    });
    let Some(fields) = report.as_object_mut() else { return report };
    if let Event::Failed { kind, message, .. } = outcome.event() {
        fields.insert("failure".into(), json!({"kind": kind, "message": message}));
    }
    not_kept(outcome, fields);
    report
}

/// The answer, or why there is none, with everything a script may want to know about it.
pub(super) fn result(outcome: &Outcome) -> Value {
    let mut report = json!({
        "type": "result",
        "version": EVENT_VERSION,
        "outcome": outcome.kind(),
        "session_id": outcome.session,
        "provider": outcome.provider,
        "model": outcome.model,
        "api_calls": outcome.api_calls,
        "iterations": outcome.iterations,
        "tool_calls": outcome.tool_calls,
        "exit_reason": outcome.end.exit_reason(),
    });
    let Some(fields) = report.as_object_mut() else { return report };
    match outcome.event() {
        Event::Answer { text, stop_reason, .. } => {
            fields.insert("text".into(), text.into());
            fields.insert("reasoning".into(), json!(outcome.reasoning));
            fields.insert("stop_reason".into(), json!(stop_reason));
            fields.insert("usage".into(), json!(outcome.usage_of_all.unwrap_or_default()));
            let Cost { usd, status, source } = Cost::of(outcome);
            fields.insert("cost".into(), json!({"usd": usd, "status": status, "source": source}));
        }
        Event::Failed { kind, message, .. } => {
            fields.insert("error".into(), json!({"kind": kind, "message": message}));
        }
        _ => {}
    }
    not_kept(outcome, fields);
    report
}

fn not_kept(outcome: &Outcome, fields: &mut hermes_types::Object) {
    if let Some(reason) = &outcome.not_kept {
        fields.insert("not_kept".into(), reason.as_str().into());
    }
}
