//! What long sessions cost: the real program against a server that bills every request as its provider would.
//!
//! One script in every protocol: a question with two rules and a task, a file of 4 KB read in every iteration, and halfway
//! a second question that puts another task in the place of the first. Beside what was billed stands the least it could
//! have been. Requests that do not begin with the one before are held against the compressions that the program told,
//! and what must survive those is looked for in the bodies.

mod probes;
mod stage;

use hermes_core::context::Phase;
use hermes_testkit::cache::{Bill, Rules};
use probes::Questions;
use serde_json::{Value, json};
use stage::{Served, Stage};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};

const RULES: [&str; 2] = ["Never write to the file ledger.txt.", "Always name a file by its whole path."];
const TASK: &str = "Count the words in all the files and tell me the sum.";
const OTHER_TASK: &str = "Leave the counting. Tell me which of the files name a colour.";
const FILE: usize = 4_096;

/// The same session as a table of others has it: thousands of tokens billed, times the minimum.
const OTHERS: [(&str, u32, f64); 4] =
    [("the Python program", 615, 1.09), ("codex", 529, 1.22), ("opencode", 534, 1.06), ("goose", 826, 1.14)];

/// A protocol, and how its providers cache.
struct Mode {
    name: &'static str,
    model: &'static str,
    rules: Rules,
}

const MODES: [Mode; 3] = [
    Mode { name: "chat_completions", model: "scripted", rules: Rules::Automatic },
    Mode { name: "codex_responses", model: "scripted", rules: Rules::Automatic },
    Mode { name: "anthropic_messages", model: "claude-scripted", rules: Rules::Explicit },
];

struct Session {
    what: &'static str,
    iterations: usize,
    window: u64,
    goal: Goal,
}

enum Goal {
    /// So many times the minimum.
    Ratio(f64),
    /// So many thousand tokens.
    Thousands(f64),
}

const SESSIONS: [Session; 3] = [
    Session { what: "400, all in the window", iterations: 400, window: 2_000_000, goal: Goal::Ratio(1.03) },
    Session { what: "400, window 64,000", iterations: 400, window: 64_000, goal: Goal::Ratio(1.06) },
    Session { what: "100, window 65,000", iterations: 100, window: 65_000, goal: Goal::Thousands(400.0) },
];

pub(crate) fn run(binary: &Path) {
    println!("long sessions: what is billed, in thousands of tokens of plain input, and the least it could be");
    println!(
        "{:<24} {:<19} {:>8} {:>9} {:>9} {:>6}  {:<10} {:<28} {:>11}   probes",
        "iterations", "protocol", "requests", "billed k", "minimum k", "ratio", "goal", "compressions", "unexplained"
    );
    for session in &SESSIONS {
        for mode in &MODES {
            println!("{}", Held::of(binary, session, mode).row(session, mode));
        }
    }
    let others = OTHERS.map(|(name, billed, ratio)| format!("{name} {billed} k / {ratio:.2}"));
    println!("the last session elsewhere: {}", others.join(", "));
}

/// A session that was held to its end.
struct Held {
    bill: Bill,
    phases: BTreeMap<String, usize>,
    /// Passes that left the conversation as it was.
    declined: usize,
    unexplained: Vec<usize>,
    complaints: Vec<String>,
}

impl Held {
    fn of(binary: &Path, session: &Session, mode: &Mode) -> Self {
        let home = tempfile::tempdir().expect("a home");
        for n in 0..session.iterations {
            std::fs::write(home.path().join(format!("file{n}.txt")), file(n)).expect("a file to read");
        }
        let questions = Questions { rules: RULES, first: format!("{} {TASK}", RULES.join(" ")), second: OTHER_TASK };
        let stage = Stage::start(mode.rules, session.iterations, questions.clone());
        settings(home.path(), mode, session.window, &stage.address);
        let mut told = Told::default();
        told.hear(&asked(binary, home.path(), &questions.first, &[]));
        told.hear(&asked(binary, home.path(), questions.second, &["--continue"]));
        Self::new(stage.served(), told)
    }

    fn new(served: Served, told: Told) -> Self {
        let unexplained = served.breaks.iter().filter(|step| !told.compressed_at.contains(step)).copied().collect();
        let Served { bill, complaints, .. } = served;
        Self { bill, phases: told.phases, declined: told.declined, unexplained, complaints }
    }

    fn row(&self, session: &Session, mode: &Mode) -> String {
        let bill = &self.bill;
        let (goal, is_met) = match session.goal {
            Goal::Ratio(most) => (format!("{most:.2}"), bill.ratio() <= most),
            Goal::Thousands(most) => (format!("{most:.0} k"), bill.units / 1e3 < most),
        };
        let goal = format!("{goal} {}", if is_met { "met" } else { "MISSED" });
        let mut phases: Vec<String> = self.phases.iter().map(|(phase, count)| format!("{count} {phase}")).collect();
        phases.extend((self.declined > 0).then(|| format!("{} declined", self.declined)));
        let unexplained = match self.unexplained.first() {
            Some(first) => format!("{} (at {first})", self.unexplained.len()),
            None => "0".to_owned(),
        };
        let probes = match self.complaints.first() {
            Some(first) => format!("{} FAILED: {first}", self.complaints.len()),
            None => "hold".to_owned(),
        };
        format!(
            "{:<24} {:<19} {:>8} {:>9.0} {:>9.0} {:>6.3}  {goal:<10} {:<28} {unexplained:>11}   {probes}",
            session.what,
            mode.name,
            bill.requests,
            bill.units / 1e3,
            bill.minimum / 1e3,
            bill.ratio(),
            phases.join(", "),
        )
    }
}

/// What the program said about its compressions.
#[derive(Default)]
struct Told {
    /// Questions to the model so far.
    steps: usize,
    compressed_at: Vec<usize>,
    phases: BTreeMap<String, usize>,
    declined: usize,
}

impl Told {
    fn hear(&mut self, lines: &str) {
        for event in lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event")) {
            match event["type"].as_str().unwrap_or_default() {
                "step" => self.steps += 1,
                "compressed" => {
                    self.compressed_at.push(self.steps);
                    let phase = event["phase"].as_str().unwrap_or_else(|| Phase::Prune.as_str());
                    *self.phases.entry(phase.to_owned()).or_default() += 1;
                }
                "notice" if event["notice"]["what"] == "not_compressed" => self.declined += 1,
                "failed" => panic!("the program failed: {event}"),
                _ => {}
            }
        }
    }
}

/// Lines that stand in no other file.
fn file(n: usize) -> String {
    let lines = (0..).map(|line| format!("{n:04} {line:03} some words in a line, none of them of any colour\n"));
    let mut text: String = lines
        .scan(0, |length, line| {
            *length += line.len();
            (*length < FILE + line.len()).then_some(line)
        })
        .collect();
    text.truncate(FILE);
    text
}

fn settings(home: &Path, mode: &Mode, window: u64, address: &str) {
    let settings = json!({
        "model": {"provider": "custom:stage", "default": mode.model, "context_length": window},
        "providers": {"stage": {"base_url": format!("http://{address}/v1"), "api_key": "k", "api_mode": mode.name}},
    });
    std::fs::create_dir_all(home.join(".hermes")).expect("a home");
    // JSON is YAML.
    std::fs::write(home.join(".hermes/config.yaml"), settings.to_string()).expect("settings");
}

/// Runs the program to the end of a turn. What it told, as lines of JSON.
fn asked(binary: &Path, home: &Path, question: &str, more: &[&str]) -> String {
    let mut command = Command::new(binary);
    command.args(["-z", question, "--max-turns", "1000", "--output-format", "stream-json"]).args(more);
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default()).current_dir(home);
    command.env("HOME", home).env("HERMES_HOME", home.join(".hermes"));
    let ran = command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().expect("the program runs");
    String::from_utf8(ran.stdout).expect("JSON")
}
