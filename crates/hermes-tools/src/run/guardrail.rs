//! Notices a model that goes round in circles: the same call that fails again, one tool that only fails, the same question
//! with the same answer. A turn starts with a clean slate. Warnings go to the model; calls are refused only where the owner
//! turned that on.

use crate::tool::Repeats;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// `tool_loop_guardrails.*`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "Written")]
pub struct GuardrailSettings {
    pub warnings_enabled: bool,
    pub hard_stop_enabled: bool,
    pub warn_after: Thresholds,
    pub hard_stop_after: Thresholds,
}

/// How often something may happen in a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// The same call, failed.
    pub exact_failure: u32,
    /// The same tool, failed without a success between.
    pub same_tool_failure: u32,
    /// The same question, answered the same.
    pub idempotent_no_progress: u32,
}

const WARN_AFTER: Thresholds = Thresholds { exact_failure: 2, same_tool_failure: 3, idempotent_no_progress: 2 };
const HARD_STOP_AFTER: Thresholds = Thresholds { exact_failure: 5, same_tool_failure: 8, idempotent_no_progress: 5 };

/// The section as people write it: any part of it may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Written {
    warnings_enabled: Option<bool>,
    hard_stop_enabled: Option<bool>,
    warn_after: WrittenThresholds,
    hard_stop_after: WrittenThresholds,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WrittenThresholds {
    exact_failure: Option<u32>,
    same_tool_failure: Option<u32>,
    idempotent_no_progress: Option<u32>,
}

impl WrittenThresholds {
    /// Nothing is too often before it happened once.
    fn or(self, usual: Thresholds) -> Thresholds {
        let pick = |written: Option<u32>, usual: u32| written.unwrap_or(usual).max(1);
        Thresholds {
            exact_failure: pick(self.exact_failure, usual.exact_failure),
            same_tool_failure: pick(self.same_tool_failure, usual.same_tool_failure),
            idempotent_no_progress: pick(self.idempotent_no_progress, usual.idempotent_no_progress),
        }
    }
}

impl From<Written> for GuardrailSettings {
    fn from(written: Written) -> Self {
        Self {
            warnings_enabled: written.warnings_enabled.unwrap_or(true),
            hard_stop_enabled: written.hard_stop_enabled.unwrap_or(false),
            warn_after: written.warn_after.or(WARN_AFTER),
            hard_stop_after: written.hard_stop_after.or(HARD_STOP_AFTER),
        }
    }
}

impl Default for GuardrailSettings {
    fn default() -> Self {
        Written::default().into()
    }
}

/// One call as the guardrail sees it: the tool and its arguments in canonical form.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Seen<'a> {
    pub(crate) tool: &'a str,
    pub(crate) arguments: &'a str,
    pub(crate) repeats: Repeats,
}

/// A way to go round in circles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Circle {
    ExactFailure,
    SameToolFailure,
    NoProgress,
}

impl Circle {
    fn code(self) -> &'static str {
        match self {
            Self::ExactFailure => "exact_failure",
            Self::SameToolFailure => "same_tool_failure",
            Self::NoProgress => "idempotent_no_progress",
        }
    }

    fn advice(self) -> &'static str {
        match self {
            Self::ExactFailure => "this same call failed before; change its arguments or try another way",
            Self::SameToolFailure => "this tool keeps failing; read its last error, or use another one",
            Self::NoProgress => "this call gave the same result before; use what you have",
        }
    }

    fn limit(self, thresholds: &Thresholds) -> u32 {
        match self {
            Self::ExactFailure => thresholds.exact_failure,
            Self::SameToolFailure => thresholds.same_tool_failure,
            Self::NoProgress => thresholds.idempotent_no_progress,
        }
    }
}

/// What a turn has tried so far.
#[derive(Debug, Default)]
pub struct Guardrail {
    turn: Mutex<Turn>,
}

type Signature = [u8; 32];

#[derive(Debug, Default)]
struct Turn {
    failures: HashMap<Signature, u32>,
    tool_failures: HashMap<String, u32>,
    /// The last answer to a question, and how often it came in a row.
    answers: HashMap<Signature, (Signature, u32)>,
}

impl Guardrail {
    /// A new turn: what was tried before does not count.
    pub fn begin_turn(&self) {
        *self.turn() = Turn::default();
    }

    /// Why this call is not made, when it has been made too often.
    pub(crate) fn before(&self, seen: Seen<'_>, settings: &GuardrailSettings) -> Option<String> {
        if !settings.hard_stop_enabled {
            return None;
        }
        let (circle, count) = self.turn().reached(seen, &settings.hard_stop_after)?;
        let (code, advice) = (circle.code(), circle.advice());
        Some(format!("Not run (tool loop: {code}; count={count}): {advice}."))
    }

    /// What is added to the result.
    pub(crate) fn after(
        &self,
        seen: Seen<'_>,
        failed: bool,
        result: &str,
        settings: &GuardrailSettings,
    ) -> Option<String> {
        let mut turn = self.turn();
        turn.note(seen, failed || says_failure(result), result);
        let (circle, count) = turn.reached(seen, &settings.warn_after).filter(|_| settings.warnings_enabled)?;
        Some(format!("[Tool loop warning: {}; count={count}; {}]", circle.code(), circle.advice()))
    }

    fn turn(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    fn note(&mut self, seen: Seen<'_>, failed: bool, result: &str) {
        let signature = signature(seen.tool, seen.arguments);
        if failed {
            *self.failures.entry(signature).or_default() += 1;
            *self.tool_failures.entry(seen.tool.to_owned()).or_default() += 1;
            self.answers.remove(&signature);
            return;
        }
        self.failures.remove(&signature);
        self.tool_failures.remove(seen.tool);
        if seen.repeats == Repeats::Idempotent {
            let answer = self::signature("", result);
            let (last, times) = self.answers.entry(signature).or_insert((answer, 0));
            *times = if *last == answer { *times + 1 } else { 1 };
            *last = answer;
        }
    }

    /// The first circle whose limit is reached, the most certain one first.
    fn reached(&self, seen: Seen<'_>, thresholds: &Thresholds) -> Option<(Circle, u32)> {
        let signature = signature(seen.tool, seen.arguments);
        let counts = [
            (Circle::ExactFailure, self.failures.get(&signature).copied()),
            (Circle::SameToolFailure, self.tool_failures.get(seen.tool).copied()),
            (Circle::NoProgress, self.answers.get(&signature).map(|(_, times)| *times)),
        ];
        let mut counts = counts.into_iter().filter_map(|(circle, count)| Some((circle, count?)));
        counts.find(|(circle, count)| *count >= circle.limit(thresholds))
    }
}

fn signature(tool: &str, arguments: &str) -> Signature {
    let mut hash = Sha256::new();
    hash.update(tool.len().to_be_bytes());
    hash.update(tool);
    hash.update(arguments);
    hash.finalize().into()
}

/// A result that was delivered well and tells of a failure: a command that ended badly, an answer that is an error.
fn says_failure(result: &str) -> bool {
    let Ok(Value::Object(answer)) = serde_json::from_str(result) else { return false };
    let succeeded = answer.get("success").and_then(Value::as_bool);
    let exit = answer.get("exit_code").and_then(Value::as_i64);
    let error = answer.get("error").is_some_and(|error| !error.is_null() && error != "");
    match (succeeded, exit) {
        (Some(succeeded), _) => !succeeded,
        (None, Some(code)) => code != 0,
        (None, None) => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const READ: Seen<'static> = Seen { tool: "read_file", arguments: r#"{"path":"a"}"#, repeats: Repeats::Idempotent };
    const RUN: Seen<'static> = Seen { tool: "terminal", arguments: r#"{"command":"x"}"#, repeats: Repeats::MayDiffer };

    fn other(arguments: &'static str) -> Seen<'static> {
        Seen { arguments, ..RUN }
    }

    #[test]
    fn a_turn_that_goes_round_in_circles_is_told_so() {
        let guardrail = Guardrail::default();
        let settings = GuardrailSettings::default();
        let failed = r#"{"output":"no","exit_code":1,"error":null}"#;
        let told = |seen, failed, result: &str| guardrail.after(seen, failed, result, &settings);
        assert_eq!(told(RUN, false, failed), None);
        let warning = "[Tool loop warning: exact_failure; count=2; this same call failed before; change its arguments or \
                       try another way]";
        assert_eq!(told(RUN, false, failed).as_deref(), Some(warning));
        let warning = "[Tool loop warning: same_tool_failure; count=3; this tool keeps failing; read its last error, or \
                       use another one]";
        assert_eq!(told(other("{}"), true, "").as_deref(), Some(warning));
        assert_eq!(told(other("[]"), false, r#"{"output":"ok","exit_code":0,"error":null}"#), None);
        assert_eq!(
            told(other("{}"), false, r#"{"error":"no"}"#).map(|told| told.contains("exact_failure")),
            Some(true)
        );
        guardrail.begin_turn();
        assert_eq!(told(RUN, false, failed), None, "a turn starts with a clean slate");
    }

    #[test]
    fn the_same_answer_again_is_no_progress_and_another_one_is() {
        let guardrail = Guardrail::default();
        let settings = GuardrailSettings::default();
        assert_eq!(guardrail.after(READ, false, "one", &settings), None);
        let warning = "[Tool loop warning: idempotent_no_progress; count=2; this call gave the same result before; use what you have]";
        assert_eq!(guardrail.after(READ, false, "one", &settings).as_deref(), Some(warning));
        assert_eq!(guardrail.after(READ, false, "two", &settings), None);
        assert_eq!(guardrail.after(RUN, false, "same", &settings), None);
        assert_eq!(guardrail.after(RUN, false, "same", &settings), None, "a command may be meant to run twice");
    }

    #[test]
    fn calls_are_refused_only_where_the_owner_wants_it() {
        let config =
            json!({"hard_stop_enabled": true, "warnings_enabled": false, "hard_stop_after": {"exact_failure": 2}});
        let strict: GuardrailSettings = serde_json::from_value(config).unwrap();
        let lenient = GuardrailSettings::default();
        assert_eq!(strict.hard_stop_after, Thresholds { exact_failure: 2, ..HARD_STOP_AFTER });
        let guardrail = Guardrail::default();
        for _ in 0..2 {
            assert_eq!(guardrail.before(RUN, &strict), None);
            assert_eq!(guardrail.after(RUN, true, "", &strict), None);
        }
        let refusal = "Not run (tool loop: exact_failure; count=2): this same call failed before; change its arguments or \
                       try another way.";
        assert_eq!(guardrail.before(RUN, &strict).as_deref(), Some(refusal));
        assert_eq!(guardrail.before(RUN, &lenient), None);
        assert_eq!(guardrail.before(other("{}"), &strict), None);
    }

    #[test]
    fn a_written_change_is_no_failure_whatever_else_it_says() {
        for (result, failure) in [
            (r#"{"success":true,"error":"lint"}"#, false),
            (r#"{"success":false}"#, true),
            (r#"{"error":""}"#, false),
            ("Error: plain text", false),
            (r#"["error"]"#, false),
        ] {
            assert_eq!(says_failure(result), failure, "{result}");
        }
    }
}
