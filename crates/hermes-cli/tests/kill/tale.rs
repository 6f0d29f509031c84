//! The session that is killed: thirty replies that read, write, remember and run commands, and a model that goes on from
//! wherever the conversation is.
//!
//! No step needs the outcome of another one, so that an outcome nobody knows changes the result of its own call and
//! nothing else. The model never repeats a call: what happens twice is the program's doing.

use crate::home_at;
use hermes_testkit::{ModelServer, Move, Received, World};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

pub(crate) const QUESTION: &str = "Do all of it, step by step.";
pub(crate) const ANSWER: &str = "All of it is done.";
/// Where commands leave a line each.
pub(crate) const LOG: &str = "log";

/// A call of the script: the tool and its arguments.
type Call = (&'static str, Value);

/// What a call leaves behind, for those that leave something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trace {
    /// A line of the log.
    Line(String),
    /// A file of the project with this text in it.
    File { name: String, text: String },
}

fn append(line: &str) -> Call {
    ("terminal", json!({"command": format!("echo {line} >> {LOG}")}))
}

fn write(name: &str) -> Call {
    ("write_file", json!({"path": name, "content": format!("{name} is written\n")}))
}

fn patch(name: &str) -> Call {
    ("patch", json!({"path": name, "old_string": "raw", "new_string": "patched"}))
}

fn read(name: &str) -> Call {
    ("read_file", json!({"path": format!("notes/{name}.txt")}))
}

fn look(name: &str) -> Call {
    ("terminal", json!({"command": format!("cat notes/{name}.txt")}))
}

fn find(word: &str) -> Call {
    ("search_files", json!({"pattern": word, "path": "notes"}))
}

fn plan(status: &str) -> Call {
    ("todo", json!({"todos": [{"id": "1", "content": "do all of it", "status": status}]}))
}

fn remember(target: &str) -> Call {
    ("memory", json!({"action": "add", "target": target, "content": format!("The {target} likes steps.")}))
}

/// The calls of each reply; behind the last one comes the answer.
pub(crate) fn replies() -> Vec<Vec<Call>> {
    vec![
        vec![plan("pending")],
        vec![append("01")],
        vec![write("w02.txt")],
        vec![read("a"), read("b")],
        vec![append("04")],
        vec![patch("p05.txt")],
        vec![append("06-one"), append("06-two")],
        vec![remember("memory")],
        vec![find("alder")],
        vec![write("w09.txt"), read("c"), append("09")],
        vec![append("10"), append("10")],
        vec![plan("in_progress")],
        vec![look("d")],
        vec![patch("p13.txt"), write("w13.txt")],
        vec![read("e"), read("f"), read("g"), write("w14.txt")],
        vec![append("15")],
        vec![append("16"), look("h")],
        vec![remember("user")],
        vec![patch("p18.txt"), append("18")],
        vec![look("a"), look("b"), find("birch")],
        vec![write("w20.txt")],
        vec![append("21-one"), read("h"), append("21-two")],
        vec![patch("p22.txt")],
        vec![append("23")],
        vec![write("w24.txt"), write("w24-too.txt")],
        vec![plan("completed"), append("25")],
        vec![look("c"), append("26")],
        vec![append("27"), append("27"), write("w27.txt")],
        vec![find("cedar"), patch("p28.txt")],
    ]
}

/// The id of a call, wherever it is told.
pub(crate) fn id(reply: usize, call: usize) -> String {
    format!("call_{reply:02}_{call}")
}

/// What each call leaves behind, by its id. A call that stands twice in one reply is one.
pub(crate) fn traces() -> Vec<(String, Trace)> {
    let mut traces: Vec<(String, Trace)> = Vec::new();
    for (place, calls) in replies().iter().enumerate() {
        for (call, (tool, arguments)) in calls.iter().enumerate() {
            let Some(trace) = trace(tool, arguments) else { continue };
            if traces.iter().all(|(_, known)| *known != trace) {
                traces.push((id(place, call), trace));
            }
        }
    }
    traces
}

fn trace(tool: &str, arguments: &Value) -> Option<Trace> {
    let text = |key: &str| arguments[key].as_str().unwrap_or_default().to_owned();
    match tool {
        "terminal" => {
            let command = text("command");
            Some(Trace::Line(command.strip_prefix("echo ")?.split(' ').next()?.to_owned()))
        }
        "write_file" => Some(Trace::File { name: text("path"), text: text("content") }),
        "patch" => Some(Trace::File { name: text("path"), text: patched(&text("path")) }),
        _ => None,
    }
}

fn raw(name: &str) -> String {
    format!("{name} is raw\n")
}

fn patched(name: &str) -> String {
    format!("{name} is patched\n")
}

/// A home at this server, and a project with everything the steps expect.
pub(crate) fn stage(server: &ModelServer) -> World {
    let world = home_at(server);
    let project = world.work_dir();
    fs::create_dir(project.join("notes")).expect("a folder");
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        let text = format!("{name}: alder, birch and cedar\n");
        fs::write(project.join(format!("notes/{name}.txt")), text).expect("a file");
    }
    for (_, trace) in traces() {
        if let Trace::File { name, .. } = trace
            && name.starts_with('p')
        {
            fs::write(project.join(&name), raw(&name)).expect("a file");
        }
    }
    world
}

/// Which of the traces are there, and how often: lines of the log, files with their text.
pub(crate) fn found(project: &Path) -> Vec<(String, usize)> {
    let log = fs::read_to_string(project.join(LOG)).unwrap_or_default();
    let times = |trace: &Trace| match trace {
        Trace::Line(line) => log.lines().filter(|found| found == line).count(),
        Trace::File { name, text } => {
            usize::from(fs::read_to_string(project.join(name)).is_ok_and(|found| found == *text))
        }
    };
    traces().into_iter().map(|(call, trace)| (call, times(&trace))).collect()
}

/// The reply to a request, told by how many replies it holds already.
pub(crate) fn next(request: &Received) -> Move {
    let told = replied(request);
    let replies = replies();
    let Some(calls) = replies.get(told) else { return Move::say(ANSWER) };
    let mut reply = Move::say(&format!("Step {told}."));
    for (place, (tool, arguments)) in calls.iter().enumerate() {
        reply = reply.call(tool, arguments.clone()).id(&id(told, place));
    }
    reply
}

/// How many replies a request holds.
pub(crate) fn replied(request: &Received) -> usize {
    let messages = request.json()["messages"].as_array().expect("messages");
    messages.iter().filter(|message| message["role"] == "assistant").count()
}
