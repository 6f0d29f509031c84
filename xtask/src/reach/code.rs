//! What a script costs beyond the start of Python itself, and what one call out of a script costs.

use crate::hands::{Bench, Timed, ms, row, timed};
use serde_json::json;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Calls of one script, enough to make its start small beside them.
const CALLS: usize = 2_000;
const ROUNDS: usize = 5;

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
    let opened = timed(|| drop(script(&bench, &calling("search_files(f'nothing{n}')", 1))));
    row("a script with one call", opened, "", &format!("without one {}", ms(empty.median)));
    std::fs::write(bench.desk.cwd().join("note.txt"), "one line\n").expect("a file");
    let read = timed(|| drop(bench.call(&[("read_file", json!({"path": "note.txt"}))])));
    one_call(&bench, "one call: read_file of one line", "read_file('note.txt')", read);
    let found = timed(|| drop(bench.call(&[("search_files", json!({"pattern": "nothing"}))])));
    one_call(&bench, "one call: search_files in one file", "search_files(f'nothing{n}')", found);
    println!();
}

/// Little work, so that what is measured is the way there and back.
fn one_call(bench: &Bench, name: &str, call: &str, alone: Timed) {
    let mut each: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let seconds: f64 = script(bench, &calling(call, CALLS)).trim().parse().expect("seconds");
            Duration::from_secs_f64(seconds / CALLS as f64)
        })
        .collect();
    each.sort();
    row(
        name,
        Timed { best: each[0], median: each[ROUNDS / 2] },
        "0.3 ms",
        &format!("of a model, without a script {}", ms(alone.median)),
    );
}

/// Calls so many times, and prints the seconds that took.
fn calling(call: &str, times: usize) -> String {
    format!(
        "from hermes_tools import read_file, search_files\nimport time\nbegan = time.perf_counter()\n\
         for n in range({times}): {call}\nprint(time.perf_counter() - began)"
    )
}

fn script(bench: &Bench, code: &str) -> String {
    let results = bench.call(&[("execute_code", json!({ "code": code }))]);
    let result: serde_json::Value = serde_json::from_str(&results[0].content.text()).expect("JSON");
    assert_eq!(result["status"], "success", "{result}");
    result["output"].as_str().expect("a text").to_owned()
}
