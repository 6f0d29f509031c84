//! What must stand in a request behind a compression: the rules word for word, the newest request as a message of its
//! own, and no task that another has taken the place of behind it.

use serde_json::Value;

/// What the person says in the session.
#[derive(Debug, Clone)]
pub(super) struct Questions {
    pub(super) rules: [&'static str; 2],
    /// The rules and a task.
    pub(super) first: String,
    /// Another task in the place of that one.
    pub(super) second: &'static str,
}

/// Which question was asked last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Newest {
    First,
    Second,
}

impl Questions {
    /// What is wrong with this body.
    pub(super) fn complaints(&self, body: &Value, newest: Newest) -> Vec<String> {
        let said = said_by_person(body);
        let whole = said.join("\n");
        let lost = self.rules.iter().filter(|rule| !whole.contains(**rule)).map(|rule| format!("`{rule}` is lost"));
        let request = match newest {
            Newest::First => self.first.as_str(),
            Newest::Second => self.second,
        };
        let asked_at = said.iter().rposition(|text| text == request);
        let missing = asked_at.is_none().then(|| "the newest request is no message of its own".to_owned());
        let behind = said.iter().skip(asked_at.unwrap_or_default()).any(|text| *text == self.first);
        let resurrected = newest == Newest::Second && behind;
        let resurrected = resurrected.then(|| "a task is back that another took the place of".to_owned());
        lost.chain(missing).chain(resurrected).collect()
    }
}

/// The texts of all messages in the name of the person, results of calls left out.
fn said_by_person(body: &Value) -> Vec<String> {
    let messages = [&body["messages"], &body["input"]].into_iter().filter_map(Value::as_array).flatten();
    messages.filter(|message| message["role"] == "user").filter_map(|message| text(&message["content"])).collect()
}

fn text(content: &Value) -> Option<String> {
    match content {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            (!texts.is_empty()).then(|| texts.join("\n"))
        }
        _ => None,
    }
}
