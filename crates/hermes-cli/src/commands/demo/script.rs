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
            ..say("Clear enough. Does the report say the same?")
        },
        3 => Said {
            calls: vec![("terminal", json!({"command": "rm -rf build"}))],
            ..say("Now the tidying: build/ looks left over, so I try `rm -rf build`.")
        },
        4 => Said {
            calls: vec![("delegate_task", json!({"goal": ERRAND}))],
            ..say(match gate_refused(conversation) {
                true => "Refused: that needs a person's yes. A sub-agent looks what is in there instead.",
                false => "Done. A sub-agent looks whether anything is left.",
            })
        },
        5 => Said {
            calls: vec![("memory", json!({"target": "memory", "action": "add", "content": note(conversation)}))],
            ..say("Good to know. I write that down for next time.")
        },
        6 => Said { calls: vec![("todo", plan("completed", "cancelled"))], ..Said::default() },
        _ => say(&format!("{}\n\n{STAND_IN}", summary(conversation))),
    }
}

/// The sub-agent, whose last words are its report.
fn on_errand(before: usize, conversation: &[Message]) -> Said {
    match before {
        0 => Said { calls: vec![("terminal", json!({"command": "ls build"}))], ..Said::default() },
        1 => Said { calls: vec![("read_file", json!({"path": "build/todo.txt"}))], ..Said::default() },
        _ => say(match last_read(conversation).as_deref() {
            Some(text) if text.contains("Friday") => "build/todo.txt is written by hand",
            Some(_) => "nothing in build/ is written by hand",
            None => "build/ could not be read",
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
    let printed = results_of("terminal", conversation).next();
    let printed = printed.as_ref().and_then(|result| result.get("output")?.as_str()).unwrap_or_default().trim();
    let counted = counted(conversation);
    let report = match printed == counted {
        true => format!("The report is right: {printed}."),
        false => format!("The report says `{printed}`, but I count {counted}."),
    };
    let tidying = match gate_refused(conversation) {
        true => "build/ is still there: deleting it takes your yes, and nobody was asked. Just as well:",
        false => "build/ is gone, without anybody having been asked. About what was in it:",
    };
    let is_noted = result_of("memory", conversation).is_some_and(|result| result.get("success") == Some(&json!(true)));
    let noted = if is_noted { " I made a note of that." } else { "" };
    format!("{report} {tidying} {}.{noted}", found(conversation))
}

/// What the report should say, by the orders that were read: lines that end in a number of pieces.
fn counted(conversation: &[Message]) -> String {
    let pieces = |line: &str| line.rsplit_once(',')?.1.trim().parse::<u32>().ok();
    let text = last_read(conversation).unwrap_or_default();
    let orders: Vec<u32> = text.lines().filter_map(pieces).collect();
    format!("{} orders, {} pieces", orders.len(), orders.iter().sum::<u32>())
}

/// The text of the file that was asked for last.
fn last_read(conversation: &[Message]) -> Option<String> {
    Some(result_of("read_file", conversation)?.get("content")?.as_str()?.to_owned())
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

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{CallId, ToolCall};

    /// A conversation in which the tools give these results, up to the reply without a call.
    fn played(question: &str, result: impl Fn(&str, &Value) -> Value) -> Vec<Said> {
        let mut conversation = vec![Message::user(question)];
        let mut all = Vec::new();
        loop {
            let said = reply(&conversation);
            let called = |(at, (name, arguments)): (usize, &(&str, Value))| {
                let id = CallId::new(format!("{}_{at}", conversation.len()));
                ToolCall::new(id, *name, arguments.to_string())
            };
            let calls: Vec<ToolCall> = said.calls.iter().enumerate().map(called).collect();
            let results: Vec<Message> = said
                .calls
                .iter()
                .zip(&calls)
                .map(|((name, arguments), call)| Message::tool(&call.id, *name, result(name, arguments).to_string()))
                .collect();
            let is_over = calls.is_empty();
            all.push(said);
            if is_over {
                return all;
            }
            conversation.push(Message::Assistant(hermes_types::Assistant { tool_calls: calls, ..Default::default() }));
            conversation.extend(results);
        }
    }

    /// Tools of a machine on which everything goes as it should; `rm` has this result.
    fn results(removal: &Value) -> impl Fn(&str, &Value) -> Value {
        move |name, arguments| match (name, arguments["command"].as_str().or(arguments["path"].as_str())) {
            ("terminal", Some("bash report.sh")) => json!({"output": "2 orders, 14 pieces\n", "exit_code": 0}),
            ("terminal", Some("rm -rf build")) => removal.clone(),
            ("read_file", Some("orders.csv")) => {
                json!({"content": "1|who,what,pieces\n2|Ada,bread,2\n3|Ben,rolls,12\n"})
            }
            ("memory", _) => json!({"success": true}),
            ("delegate_task", _) => json!({"results": [{"summary": "a note was found"}]}),
            _ => json!({}),
        }
    }

    #[test]
    fn the_answer_is_made_of_what_the_tools_said() {
        let refused = json!({"output": "", "exit_code": -1, "status": "blocked", "error": "BLOCKED"});
        let answer = |removal: &Value| played(QUESTION, results(removal)).pop().expect("an answer").text;
        let text = answer(&refused);
        let begin = "The report is right: 2 orders, 14 pieces. build/ is still there: deleting it takes your yes";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("Just as well: a note was found. I made a note of that.\n"), "{text}");
        assert!(text.ends_with(STAND_IN), "it says what it is, and what to type next");
        assert!(answer(&json!({"output": "", "exit_code": 0})).contains("build/ is gone, without anybody"));

        let broken = played(QUESTION, |_, _| json!({"error": "no such tool"})).pop().expect("an answer").text;
        assert!(broken.starts_with("The report says ``, but I count 0 orders, 0 pieces."), "{broken}");
        assert!(broken.contains("the sub-agent did not report.\n"), "{broken}");
    }

    #[test]
    fn who_was_sent_out_reports_what_it_read() {
        let report = |text: &str| played(ERRAND, |_, _| json!({"content": text})).pop().expect("a report").text;
        assert_eq!(report("1|Ask Ada about Friday"), "build/todo.txt is written by hand");
        assert_eq!(report("1|generated"), "nothing in build/ is written by hand");
        let failed = played(ERRAND, |_, _| json!({"error": "no such file"})).pop().expect("a report").text;
        assert_eq!(failed, "build/ could not be read");
    }
}
