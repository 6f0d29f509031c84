//! What the stand-in of `hermes demo` says: a pure function of the conversation so far.
//!
//! It is asked as a model is, with the whole conversation each time, and knows nothing else. Where its words depend on how
//! things went (what the report printed, whether the gate refused, what the sub-agent found) they are taken from the results
//! of the tools, so a tool that misbehaves is seen in the demo.

use hermes_types::{Message, ToolResult};
use serde_json::{Value, json};

pub(super) const QUESTION: &str = "Is the report of the week still right? And tidy up a little, please.";
/// What the sub-agent is sent for.
const ERRAND: &str = "Look through build/: is anything in it written by hand?";

const STAND_IN: &str = "\
In truth I am a stand-in: a script chose my words, no model was asked and nothing left this machine. The rest was real: \
the loop, the tools, the gate, the sub-agent, the memory, the store, and the recovery from a made-up error.\n\n\
To talk to a real model, one of these is enough:\n\n\
- a key: hermes config set OPENROUTER_API_KEY <key>\n\
- a local server: start Ollama, LM Studio, llama.cpp or vLLM; it is found\n\
- any endpoint: hermes config set model.base_url http://host:8000/v1\n\n\
Then ask: hermes -z \"why is the sky blue?\"\n";

/// One reply of the model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Said {
    pub(super) thought: &'static str,
    pub(super) text: String,
    /// Tools and their arguments.
    pub(super) calls: Vec<(&'static str, Value)>,
}

/// The next reply in a conversation.
pub(super) fn reply(conversation: &[Message]) -> Said {
    let begun_by = conversation.iter().find_map(|message| match message {
        Message::User(question) => Some(question.content.text()),
        _ => None,
    });
    let before = conversation.iter().filter(|message| matches!(message, Message::Assistant(_))).count();
    match begun_by {
        Some(question) if question.starts_with(ERRAND) => on_errand(before, conversation),
        _ => with_person(before, conversation),
    }
}

/// The agent the person speaks to.
fn with_person(before: usize, conversation: &[Message]) -> Said {
    match before {
        0 => Said {
            thought: "Two wishes. Look first, change later.",
            calls: vec![("todo", plan("in_progress", "pending"))],
            ..say("I make a plan, and look before I touch anything.")
        },
        1 => Said {
            calls: vec![("read_file", json!({"path": "README.md"})), ("read_file", json!({"path": "orders.csv"}))],
            ..Said::default()
        },
        2 => Said {
            calls: vec![("terminal", json!({"command": "bash report.sh"}))],
            ..say("Five orders. Does the report say the same?")
        },
        3 => Said {
            calls: vec![("terminal", json!({"command": "rm -rf build"}))],
            ..say("It does. Now the tidying: build/ looks left over, so I try `rm -rf build`.")
        },
        4 => Said {
            thought: "No way around that. Somebody with fresh eyes may look instead.",
            calls: vec![("delegate_task", json!({"goal": ERRAND}))],
            ..say(match gate_refused(conversation) {
                true => "Refused: that needs a person's yes. A sub-agent looks what is in there instead.",
                false => "Done. A sub-agent looks whether anything is left.",
            })
        },
        5 => Said {
            calls: vec![
                ("memory", json!({"target": "memory", "action": "add", "content": note(conversation)})),
                ("todo", plan("completed", "cancelled")),
            ],
            ..say("Good to know. I write that down for next time.")
        },
        _ => say(&format!("{}\n\n{STAND_IN}", summary(conversation))),
    }
}

/// The sub-agent, whose last words are its report.
fn on_errand(before: usize, conversation: &[Message]) -> Said {
    match before {
        0 => Said { calls: vec![("terminal", json!({"command": "ls build"}))], ..Said::default() },
        1 => Said { calls: vec![("read_file", json!({"path": "build/todo.txt"}))], ..Said::default() },
        _ => say(match result_of("read_file", conversation).is_some_and(|read| read.to_string().contains("Friday")) {
            true => "build/todo.txt is written by hand",
            false => "nothing in build/ is written by hand",
        }),
    }
}

fn say(text: &str) -> Said {
    Said { text: text.to_owned(), ..Said::default() }
}

/// Both wishes, and how far they are.
fn plan(report: &str, tidying: &str) -> Value {
    json!({"todos": [
        {"id": "report", "content": "Check the report against the orders", "status": report},
        {"id": "tidy", "content": "Remove what is left over", "status": tidying},
    ]})
}

fn note(conversation: &[Message]) -> String {
    format!("Bakery project: {}; ask before deleting anything there.", found(conversation))
}

/// How it went, by the results.
fn summary(conversation: &[Message]) -> String {
    let report = results_of("terminal", conversation).next();
    let report =
        report.as_ref().and_then(|result| result.get("output")?.as_str()).unwrap_or_default().trim().to_owned();
    let tidying = match gate_refused(conversation) {
        true => "build/ is still there: deleting it takes your yes, and nobody was asked. Just as well:",
        false => "build/ is gone, without anybody having been asked. About what was in it:",
    };
    format!("The report is right: {report}. {tidying} {}. I made a note of that.", found(conversation))
}

/// What the sub-agent reported.
fn found(conversation: &[Message]) -> String {
    let result = result_of("delegate_task", conversation);
    let report = result.as_ref().and_then(|result| result.pointer("/results/0/summary")?.as_str());
    report.unwrap_or("the sub-agent did not report").to_owned()
}

/// Whether the last command was kept from running.
fn gate_refused(conversation: &[Message]) -> bool {
    result_of("terminal", conversation).is_some_and(|result| result.get("status") == Some(&json!("blocked")))
}

/// The newest result of a tool.
fn result_of(tool: &str, conversation: &[Message]) -> Option<Value> {
    results_of(tool, conversation).last()
}

/// The results of a tool, oldest first. Which tool a result is from stands with its call.
fn results_of<'a>(tool: &'a str, conversation: &'a [Message]) -> impl Iterator<Item = Value> + 'a {
    let calls = conversation.iter().filter_map(|message| match message {
        Message::Assistant(said) => Some(&said.tool_calls),
        _ => None,
    });
    let wanted = calls.flatten().filter(move |call| call.function.name == tool).map(|call| call.id.clone());
    let result = move |id| {
        conversation.iter().find_map(|message| match message {
            Message::Tool(ToolResult { tool_call_id, content, .. }) if *tool_call_id == id => {
                let text = content.text();
                Some(serde_json::from_str(&text).unwrap_or(Value::String(text.to_string())))
            }
            _ => None,
        })
    };
    wanted.filter_map(result)
}
