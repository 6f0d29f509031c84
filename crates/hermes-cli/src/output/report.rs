//! A finished turn as JSON: the usage file and the one object of `--output-format json`.

use super::{Outcome, Turn};
use hermes_types::{EVENT_VERSION, SessionId, Usage};
use serde_json::{Value, json};

/// What is known beside the turn itself.
#[derive(Debug, Clone, Copy)]
pub(super) struct Facts<'a> {
    pub(super) session: &'a SessionId,
    /// Who answered, or would have; `None` when nobody was chosen yet.
    pub(super) provider: Option<&'a str>,
    pub(super) model: Option<&'a str>,
}

/// The keys scripts of the Python program read.
pub(super) fn usage(turn: &Turn, facts: Facts<'_>) -> Value {
    let outcome = Outcome::of(&turn.result);
    let usage = turn.result.as_ref().ok().and_then(|reply| reply.usage).unwrap_or_default();
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
        "api_calls": turn.calls,
        "model": facts.model,
        "provider": facts.provider,
        "session_id": facts.session,
        "completed": outcome == Outcome::Answered,
        "failed": matches!(outcome, Outcome::Failed | Outcome::Interrupted),
        "service_tier": null,
    });
    let Some(fields) = report.as_object_mut() else { return report };
    if let Err(fault) = &turn.result {
        fields.insert("failure".into(), json!({"kind": fault.kind, "message": fault.message}));
    }
    if let Some(reason) = &turn.not_kept {
        fields.insert("not_kept".into(), reason.as_str().into());
    }
    report
}

/// The answer, or why there is none, with everything a script may want to know about it.
pub(super) fn result(turn: &Turn, facts: Facts<'_>) -> Value {
    let mut report = json!({
        "type": "result",
        "version": EVENT_VERSION,
        "outcome": Outcome::of(&turn.result).as_str(),
        "session_id": facts.session,
        "provider": facts.provider,
        "model": facts.model,
        "api_calls": turn.calls,
    });
    let Some(fields) = report.as_object_mut() else { return report };
    match &turn.result {
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
    if let Some(reason) = &turn.not_kept {
        fields.insert("not_kept".into(), reason.as_str().into());
    }
    report
}
