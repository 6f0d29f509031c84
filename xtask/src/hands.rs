//! What tools cost, through the registry, the gate and the dispatcher, as a model would call them. Beside each number
//! stands what the same thing costs without us: a bare shell, a bare read, ripgrep.

use hermes_core::clock::{Clock, RealClock};
use hermes_core::stop::Stop;
use hermes_tools::builtin;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::Nobody;
use hermes_tools::files::matching::{Edit, Occurrences, Scope, replace};
use hermes_tools::gate::{LastingConsent, Place, judge};
use hermes_tools::run::{Finished, Hands, Untold};
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::{CallId, Event, SessionId, ToolCall};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

const RUNS: usize = 40;
const TOGETHER: usize = 8;
const ORDINARY: &str = include_str!("../../crates/hermes-tools/tests/gate/ordinary.txt");
/// A tree that is large and always there: the sources of our own dependencies.
const SEARCHED: &str = "registry/src";

pub(crate) fn run() {
    let bench = Bench::new();
    println!("the hands, best and median of {RUNS} calls through registry, gate and dispatcher");
    println!("{:<40} {:>10} {:>10} {:>10}   baseline", "measure", "best", "median", "goal");
    bench.files();
    bench.commands();
    bench.search();
    gate();
    missed_edit();
    println!();
}

pub(crate) struct Bench {
    folder: tempfile::TempDir,
    runtime: tokio::runtime::Runtime,
    hands: Hands,
    desk: Arc<Desk>,
}

struct Forgetful;

impl LastingConsent for Forgetful {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}

impl Bench {
    fn new() -> Self {
        Self::with(&Value::Null)
    }

    /// With these settings.
    pub(crate) fn with(config: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let at = |name: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(&path).expect("a folder");
            path
        };
        let variables: BTreeMap<String, String> = std::env::vars().collect();
        let around = Surroundings {
            home: at("home"),
            hermes_home: at("home/.hermes"),
            hermes_root: at("home/.hermes"),
            cwd: at("project"),
            temp: at("tmp"),
            variables,
            private_variables: BTreeSet::new(),
        };
        let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
        let ports = Ports {
            face: Arc::new(Nobody),
            adviser: None,
            aide: None,
            lasting: Arc::new(Forgetful),
            clock: clock.clone(),
            listener: Arc::new(|_: Event| {}),
        };
        let guard = runtime.enter();
        let desk = Desk::new(Workshop::new(Settings::read(config, around).0, ports), SessionId::new("bench"));
        let registry = Arc::new(builtin::registry(clock, desk.settings(), None));
        let names: std::collections::BTreeSet<String> =
            registry.describe().iter().map(|tool| tool.card.name.to_string()).collect();
        drop(guard);
        Self { folder, runtime, hands: Hands::new(registry, names), desk }
    }

    pub(crate) fn call(&self, calls: &[(&str, Value)]) -> Vec<Finished> {
        let calls: Vec<ToolCall> = calls
            .iter()
            .enumerate()
            .map(|(place, (tool, arguments))| {
                ToolCall::new(CallId::new(format!("call_{place}")), *tool, arguments.to_string().as_str())
            })
            .collect();
        let stop = Stop::new();
        self.runtime.block_on(self.hands.run(&calls, &self.desk, &Untold, &stop)).expect("results")
    }

    fn project(&self, name: &str) -> PathBuf {
        self.folder.path().join("project").join(name)
    }

    fn files(&self) {
        let text: String = (0..200).map(|line| format!("line {line} of a small file\n")).collect();
        // The same file twice in a row would only be said to be unchanged.
        let names: Vec<String> = (0..RUNS).map(|number| format!("small{number}.txt")).collect();
        names.iter().for_each(|name| std::fs::write(self.project(name), &text).expect("a file"));
        let mut next = names.iter();
        let read = timed(|| {
            let name = next.next().expect("a file for each run");
            let results = self.call(&[("read_file", json!({"path": name}))]);
            assert!(results[0].content.text().contains("line 199"), "{:?}", results[0]);
        });
        let bare = timed(|| drop(black_box(std::fs::read(self.project("small0.txt")))));
        row("read_file, 200 lines", read, "1 ms", &format!("bare read {}", ms(bare.best)));
        let mut number = 0;
        let write = timed(|| {
            number += 1;
            self.call(&[("write_file", json!({"path": format!("new{number}.txt"), "content": text}))]);
        });
        row("write_file, 200 lines", write, "5 ms", "");
        let patch = timed(|| {
            let edit =
                json!({"mode": "replace", "path": "new1.txt", "old_string": "line 7 of", "new_string": "line 7 of"});
            black_box(self.call(&[("patch", edit)]));
        });
        row("patch that changes nothing", patch, "5 ms", "");
    }

    fn commands(&self) {
        let run = |command: &str, count: usize| {
            let calls: Vec<(&str, Value)> = (0..count).map(|_| ("terminal", json!({"command": command}))).collect();
            let results = self.call(&calls);
            for result in results {
                let text = result.content.text();
                assert!(text.contains(r#""exit_code":0"#), "{text}");
            }
        };
        run("true", 1);
        let shell = timed(|| bash("true"));
        let one = timed(|| run("true", 1));
        let own = format!("bash -c true {}, ours {}", ms(shell.median), ms(one.median.saturating_sub(shell.median)));
        row("terminal true", one, "+4 ms", &own);
        let shells = |command: &str| {
            let shells: Vec<_> = (0..TOGETHER).map(|_| spawn(command)).collect();
            shells.into_iter().for_each(|mut shell| drop(shell.wait()));
        };
        let together = timed(|| shells("true"));
        let eight = timed(|| run("true", TOGETHER));
        row("8 x terminal true", eight, "20 ms", &format!("8 x bash -c true {}", ms(together.median)));
        let sleeping = timed_few(|| run("sleep 0.25", TOGETHER));
        let bare = timed_few(|| shells("sleep 0.25"));
        row("8 x terminal sleep 0.25", sleeping, "270 ms", &format!("8 x bash -c sleep 0.25 {}", ms(bare.median)));
    }

    fn search(&self) {
        let cargo = std::env::var("CARGO_HOME").map(PathBuf::from).ok();
        let cargo = cargo.or_else(|| std::env::var("HOME").ok().map(|home| Path::new(&home).join(".cargo")));
        let Some(tree) = cargo.map(|cargo| cargo.join(SEARCHED)).filter(|tree| tree.is_dir()) else {
            println!("search_files: no {SEARCHED} here, not measured");
            return;
        };
        for (what, pattern) in [("a rare word", "quicksilver"), ("a regex", r"fn \w+_lock\(")] {
            let arguments = json!({"pattern": pattern, "path": tree, "limit": 50});
            // A repeated search would be refused: each has a glob of its own that fits every file.
            let mut number = 0;
            let ours = timed_few(|| {
                number += 1;
                let mut arguments = arguments.clone();
                arguments["offset"] = json!(number);
                black_box(self.call(&[("search_files", arguments)]));
            });
            let rg = Command::new("rg").arg("--version").stdout(Stdio::null()).status().is_ok();
            let baseline = if rg {
                let theirs = timed_few(|| {
                    let status = Command::new("rg")
                        .args(["-n", "--no-heading", pattern])
                        .arg(&tree)
                        .stdout(Stdio::null())
                        .status();
                    drop(black_box(status));
                });
                format!(
                    "rg {}, ratio {:.2}",
                    ms(theirs.median),
                    ours.median.as_secs_f64() / theirs.median.as_secs_f64()
                )
            } else {
                "rg is not installed".to_owned()
            };
            row(&format!("search_files, {what}"), ours, "1.2 x rg", &baseline);
        }
    }
}

fn gate() {
    let place = Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/home/ada/p".into() };
    let commands: Vec<&str> = ORDINARY.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect();
    let mut spent: Vec<Duration> = commands
        .iter()
        .map(|command| {
            let start = Instant::now();
            black_box(judge(command, &place));
            start.elapsed()
        })
        .collect();
    spent.sort_unstable();
    let slowest = spent.last().copied().unwrap_or_default();
    let timed = Timed { best: spent[0], median: spent[spent.len() / 2] };
    row("gate, one ordinary command", timed, "200 µs", &format!("slowest of {} {}", spent.len(), ms(slowest)));
}

/// The text to replace is not there: how long the search for the nearest places takes.
fn missed_edit() {
    let file: String =
        (0..8_000).map(|line| format!("    let value_{line} = compute({line}, {});\n", line % 7)).collect();
    let old: String = (0..15).map(|line| format!("    let other_{line} = derive({line});\n")).collect();
    let missed = timed(|| {
        let edit = Edit { old: &old, new: "x", occurrences: Occurrences::Only, scope: Scope::Text };
        assert!(black_box(replace(&file, &edit)).is_err(), "nothing is there");
    });
    row("patch that misses in 8,000 lines", missed, "50 ms", "");
}

fn bash(command: &str) {
    drop(spawn(command).wait());
}

fn spawn(command: &str) -> std::process::Child {
    let mut bash = Command::new("bash");
    bash.args(["-c", command]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    bash.spawn().expect("a shell")
}

#[derive(Clone, Copy)]
pub(crate) struct Timed {
    pub(crate) best: Duration,
    pub(crate) median: Duration,
}

pub(crate) fn timed(work: impl FnMut()) -> Timed {
    timed_times(RUNS, work)
}

fn timed_few(work: impl FnMut()) -> Timed {
    timed_times(5, work)
}

fn timed_times(runs: usize, mut work: impl FnMut()) -> Timed {
    let mut spent: Vec<Duration> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            work();
            start.elapsed()
        })
        .collect();
    spent.sort_unstable();
    Timed { best: spent[0], median: spent[runs / 2] }
}

pub(crate) fn row(what: &str, timed: Timed, goal: &str, baseline: &str) {
    println!("{what:<40} {:>10} {:>10} {goal:>10}   {baseline}", ms(timed.best), ms(timed.median));
}

pub(crate) fn ms(time: Duration) -> String {
    format!("{:.3} ms", time.as_secs_f64() * 1e3)
}
