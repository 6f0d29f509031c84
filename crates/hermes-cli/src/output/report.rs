//! A finished turn as JSON: the usage file and the one object of `--output-format json`.

use hermes_core::turn::Outcome;
use hermes_types::{EVENT_VERSION, Event, OutcomeKind};
use serde_json::{Value, json};

/// The keys scripts of the Python program read.
pub(super) fn usage(outcome: &Outcome) -> Value {
    let usage = outcome.usage_of_all.unwrap_or_default();
    let (status, source) = if usage.cost.is_some() { ("actual", "provider_cost_api") } else { ("unknown", "none") };
    let mut report = json!({
        "estimated_cost_usd": usage.cost,
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
