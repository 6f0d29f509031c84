//! What a script costs beyond the start of Python itself, and what one call out of a script costs.

use crate::hands::{Bench, Timed, ms, row, timed};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls of one script, enough to make its start small beside them.
const CALLS: usize = 2_000;

pub(crate) fn run() {
    let bench = Bench::with(&json!({"code_execution": {"max_tool_calls": CALLS}}));
    println!("scripts, best and median, through registry, gate and dispatcher");
    println!("{:<40} {:>10} {:>10} {:>10}   baseline", "measure", "best", "median", "goal");
    let python = timed(|| {
        let ended = Command::new("python3").args(["-c", "pass"]).stdin(Stdio::null()).status().expect("python3");
        assert!(ended.success());
    });
    let empty = timed(|| drop(script(&bench, "pass")));
    let beyond =
        Timed { best: empty.best.saturating_sub(python.best), median: empty.median.saturating_sub(python.median) };
    row("a script, beyond Python's start", beyond, "40 ms", &format!("python3 -c pass {}", ms(python.median)));
    let opened = timed(|| drop(script(&bench, &calling(1))));
    row("a script with one call", opened, "", &format!("without one {}", ms(empty.median)));
    let seconds: f64 = script(&bench, &calling(CALLS)).trim().parse().expect("seconds");
    let each = Duration::from_secs_f64(seconds / CALLS as f64);
    row("one call of a script", Timed { best: each, median: each }, "0.3 ms", "");
    println!();
}

/// A search that finds nothing in an empty folder: what is measured is the way, not the work. Prints the seconds it took.
fn calling(times: usize) -> String {
    format!(
        "from hermes_tools import search_files\nimport time\nbegan = time.perf_counter()\n\
         for n in range({times}): search_files(f'nothing{{n}}')\nprint(time.perf_counter() - began)"
    )
}

fn script(bench: &Bench, code: &str) -> String {
    let results = bench.call(&[("execute_code", json!({ "code": code }))]);
    let result: serde_json::Value = serde_json::from_str(&results[0].content.text()).expect("JSON");
    assert_eq!(result["status"], "success", "{result}");
    result["output"].as_str().expect("a text").to_owned()
}
