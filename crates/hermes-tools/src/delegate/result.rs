//! What the model reads of reports: one entry for each task, in their order, none longer than it may be.

use super::{Report, Tokens, Traced};
use crate::run::Spill;
use hermes_types::{CallId, clip};
use serde::Serialize;
use std::time::Duration;

/// However many report at once, each may say this much.
const SHORTEST: usize = 2_000;
/// The last calls of a sub-agent are told, not thousands.
const MOST_TRACED: usize = 100;
const LONGEST_ERROR: usize = 2_000;

#[derive(Debug, Serialize)]
pub(super) struct Reports {
    results: Vec<Entry>,
    total_duration_seconds: f64,
}

#[derive(Debug, Serialize)]
struct Entry {
    task_index: usize,
    status: &'static str,
    summary: String,
    api_calls: u64,
    duration_seconds: f64,
    model: Option<String>,
    exit_reason: &'static str,
    tokens: Tokens,
    tool_trace: Vec<Traced>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// How many characters each of so many reports may have, where one result may have `room`.
pub(super) fn share(most: usize, room: usize, reports: usize) -> usize {
    most.min(room / reports.max(1)).max(SHORTEST)
}

/// The reports of one call; what does not fit is in a file.
pub(super) async fn told(reports: Vec<Report>, took: Duration, most: usize, call: &CallId, spill: &Spill) -> Reports {
    let mut results = Vec::with_capacity(reports.len());
    for (task_index, report) in reports.into_iter().enumerate() {
        let summary = fitted(report.summary, most, task_index, call, spill).await;
        let left_out = report.trace.len().saturating_sub(MOST_TRACED);
        results.push(Entry {
            task_index,
            status: report.fate.status(),
            summary,
            api_calls: report.api_calls,
            duration_seconds: seconds(report.took),
            model: report.model,
            exit_reason: report.fate.exit_reason(),
            tokens: report.tokens,
            tool_trace: report.trace.into_iter().skip(left_out).collect(),
            error: report.error.map(|error| clip(&error, LONGEST_ERROR)),
        });
    }
    Reports { results, total_duration_seconds: seconds(took) }
}

/// The text, or its two ends and the way to the rest.
async fn fitted(text: String, most: usize, task: usize, call: &CallId, spill: &Spill) -> String {
    if text.chars().nth(most).is_none() {
        return text;
    }
    let (head, tail) = ends(&text, most);
    let left_out = text.chars().count().saturating_sub(most);
    let rest = match spill.keep(&format!("{call}_task_{task}"), text).await {
        Ok(path) => format!("the whole report is in {}; read on with read_file", path.display()),
        Err(error) => format!("the whole report could not be saved ({error})"),
    };
    format!("{head}\n\n[{left_out} characters are left out here: {rest}]\n\n{tail}")
}

/// Two thirds of what may stay from the beginning, the rest from the end, where reports have their conclusions.
fn ends(text: &str, most: usize) -> (String, String) {
    let of_end = most / 3;
    let tail_from = text.chars().count().saturating_sub(of_end);
    (text.chars().take(most - of_end).collect(), text.chars().skip(tail_from).collect())
}

/// To the hundredth: nobody acts on less.
fn seconds(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delegate::{Fate, TracedStatus};
    use crate::settings::{Settings, Surroundings};
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn report(summary: &str) -> Report {
        Report { summary: summary.to_owned(), error: None, ..Report::without_work(Fate::Completed, "") }
    }

    async fn read(reports: Vec<Report>, most: usize, temp: &std::path::Path) -> Value {
        let spill = Spill::new(&Settings::plain(Surroundings::all_at(&temp.display().to_string())));
        let told = told(reports, Duration::from_millis(1_234), most, &CallId::new("call_7"), &spill).await;
        serde_json::to_value(&told).unwrap()
    }

    #[tokio::test]
    async fn an_entry_tells_all_there_is_to_know() {
        let temp = tempfile::tempdir().unwrap();
        let traced =
            Traced { tool: "terminal".to_owned(), args_bytes: 20, result_bytes: 40, status: TracedStatus::Error };
        let late = Report {
            fate: Fate::TimedOut,
            summary: "half of it".to_owned(),
            api_calls: 2,
            took: Duration::from_millis(60_009),
            model: Some("m".to_owned()),
            tokens: Tokens { input: 7, output: 3 },
            trace: vec![traced],
            error: Some("it took too long".to_owned()),
        };
        let told = read(vec![late, report("all of it")], 2_000, temp.path()).await;
        assert_eq!(
            told,
            json!({
                "results": [
                    {
                        "task_index": 0, "status": "timeout", "summary": "half of it", "api_calls": 2,
                        "duration_seconds": 60.01, "model": "m", "exit_reason": "timeout",
                        "tokens": {"input": 7, "output": 3},
                        "tool_trace": [{"tool": "terminal", "args_bytes": 20, "result_bytes": 40, "status": "error"}],
                        "error": "it took too long",
                    },
                    {
                        "task_index": 1, "status": "completed", "summary": "all of it", "api_calls": 0,
                        "duration_seconds": 0.0, "model": null, "exit_reason": "completed",
                        "tokens": {"input": 0, "output": 0}, "tool_trace": [],
                    },
                ],
                "total_duration_seconds": 1.23,
            })
        );
        assert_eq!(std::fs::read_dir(temp.path()).unwrap().count(), 0, "nothing was long");
    }

    #[tokio::test]
    async fn a_long_report_has_its_ends_in_the_result_and_all_of_it_in_a_file() {
        let temp = tempfile::tempdir().unwrap();
        let whole = format!("BEGIN{}END", "é".repeat(9_000));
        let told = read(vec![report("short"), report(&whole)], 2_000, temp.path()).await;
        let summary = told["results"][1]["summary"].as_str().unwrap();
        let path = temp.path().join("hermes-results").join("call_7_task_1.txt");
        assert!(summary.starts_with("BEGIN") && summary.ends_with("END"), "{summary}");
        assert!(
            summary.contains(&format!("[7008 characters are left out here: the whole report is in {}", path.display()))
        );
        assert_eq!(std::fs::read_to_string(path).unwrap(), whole);
    }

    #[test]
    fn reports_share_the_room_of_one_result() {
        assert_eq!(share(24_000, 100_000, 3), 24_000);
        assert_eq!(share(24_000, 19_200, 3), 6_400);
        assert_eq!(share(24_000, 8_000, 8), SHORTEST);
        assert_eq!(share(10, 8_000, 1), SHORTEST);
    }

    proptest! {
        #[test]
        fn the_two_ends_are_as_long_as_allowed_and_never_overlap(text in ".{20,300}", most in 1usize..20) {
            let (head, tail) = ends(&text, most);
            prop_assert_eq!(head.chars().count() + tail.chars().count(), most);
            prop_assert!(text.starts_with(&head) && text.ends_with(&tail));
        }
    }
}
