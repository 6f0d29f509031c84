//! What must be true of every single request, whatever the test is about: JSON that asks for a stream, roles that
//! alternate, each tool call answered by exactly one result directly behind it, cache markers where they belong, and no
//! private key on the wire.
//!
//! Pure functions from a body to complaints. The three protocols are first told as one neutral sequence of turns; the
//! rules are written once, over that.

use crate::http::Received;
use crate::markers;
use crate::render_sse::Protocol;
use serde_json::Value;

/// Everything that is wrong with this request by itself.
pub(crate) fn complaints(protocol: Protocol, request: &Received) -> Vec<String> {
    let Some(body) = request.body.as_ref().filter(|body| body.is_object()) else {
        return vec!["the body is not a JSON object".into()];
    };
    let mut complaints = Vec::new();
    if body["stream"] != true {
        complaints.push(format!("`stream` must be true and is {}", body["stream"]));
    }
    let Some(messages) = body[message_field(protocol)].as_array().filter(|list| !list.is_empty()) else {
        complaints.push(format!("`{}` must be a list with something in it", message_field(protocol)));
        return complaints;
    };
    let story = match protocol {
        Protocol::Chat => chat(messages),
        Protocol::Responses => responses(messages),
        Protocol::Anthropic => anthropic(messages),
    };
    complaints.extend(story.complaints.iter().cloned());
    complaints.extend(alternation(&story.turns));
    complaints.extend(pairs(&story.turns));
    complaints.extend(markers::complaints(protocol, body));
    private_keys(&Value::Array(messages.clone()), message_field(protocol), &mut complaints);
    complaints
}

/// Where a protocol keeps the conversation.
pub(crate) fn message_field(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Chat | Protocol::Anthropic => "messages",
        Protocol::Responses => "input",
    }
}

/// A conversation told without its protocol.
#[derive(Debug, Default)]
struct Story {
    turns: Vec<Turn>,
    /// What is wrong with the telling itself.
    complaints: Vec<String>,
}

/// Consecutive messages of one speaker, as far as the protocol lets one speaker go on.
#[derive(Debug)]
struct Turn {
    speaker: Speaker,
    /// Where it begins: `messages[3]`.
    place: String,
    calls: Vec<String>,
    results: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Speaker {
    User,
    Assistant,
    /// Tool results, where they are messages of their own.
    Tool,
}

impl Speaker {
    fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl Story {
    fn begin(&mut self, speaker: Speaker, place: String) -> &mut Turn {
        self.turns.push(Turn { speaker, place, calls: Vec::new(), results: Vec::new() });
        self.turns.last_mut().expect("just pushed")
    }

    /// The turn of this speaker, if it goes on, or a new one.
    fn go_on(&mut self, speaker: Speaker, place: String) -> &mut Turn {
        match self.turns.last() {
            Some(turn) if turn.speaker == speaker => self.turns.last_mut().expect("just seen"),
            _ => self.begin(speaker, place),
        }
    }

    fn complain(&mut self, text: String) {
        self.complaints.push(text);
    }
}

fn chat(messages: &[Value]) -> Story {
    let mut story = Story::default();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        match word(&message["role"]) {
            "system" | "developer" if story.turns.is_empty() => {}
            "user" => drop(story.begin(Speaker::User, place)),
            "assistant" => {
                let calls = list(&message["tool_calls"]).map(|call| owned(&call["id"]));
                story.begin(Speaker::Assistant, place).calls.extend(calls);
            }
            "tool" => story.go_on(Speaker::Tool, place).results.push(owned(&message["tool_call_id"])),
            other => story.complain(format!("{place} has role `{other}`, which must not stand there")),
        }
    }
    story
}

fn anthropic(messages: &[Value]) -> Story {
    let mut story = Story::default();
    for (index, message) in messages.iter().enumerate() {
        let place = format!("messages[{index}]");
        if matches!(&message["content"], Value::String(text) if text.is_empty())
            || matches!(&message["content"], Value::Array(blocks) if blocks.is_empty())
        {
            story.complain(format!("{place} has no content"));
        }
        let ids = |kind: &str, field: &str| -> Vec<String> {
            list(&message["content"]).filter(|block| block["type"] == kind).map(|block| owned(&block[field])).collect()
        };
        match word(&message["role"]) {
            "user" => {
                let kinds: Vec<bool> = list(&message["content"]).map(|block| block["type"] == "tool_result").collect();
                if !kinds.is_sorted_by(|before, after| before >= after) {
                    story.complain(format!("{place} has tool results behind other blocks; results come first"));
                }
                story.begin(Speaker::User, place).results = ids("tool_result", "tool_use_id");
            }
            "assistant" => story.begin(Speaker::Assistant, place).calls = ids("tool_use", "id"),
            other => story.complain(format!("{place} has role `{other}`, which must not stand there")),
        }
    }
    story
}

fn responses(items: &[Value]) -> Story {
    let mut story = Story::default();
    for (index, item) in items.iter().enumerate() {
        let place = format!("input[{index}]");
        match (word(&item["type"]), word(&item["role"])) {
            ("function_call", _) => story.go_on(Speaker::Assistant, place).calls.push(owned(&item["call_id"])),
            ("function_call_output", _) => story.go_on(Speaker::Tool, place).results.push(owned(&item["call_id"])),
            ("reasoning", _) => {
                let next = items.get(index + 1);
                let followed = next.is_some_and(|next| next["role"] == "assistant" || next["type"] == "function_call");
                if !followed && !next.is_some_and(|next| next["type"] == "reasoning") {
                    story.complain(format!("{place} is reasoning without the item it led to"));
                }
                story.go_on(Speaker::Assistant, place);
            }
            ("" | "message", "assistant") => drop(story.go_on(Speaker::Assistant, place)),
            ("" | "message", "user") => drop(story.begin(Speaker::User, place)),
            (kind, role) => {
                story.complain(format!("{place} has type `{kind}` and role `{role}`, which must not stand there"));
            }
        }
    }
    story
}

fn alternation(turns: &[Turn]) -> Vec<String> {
    let mut complaints = Vec::new();
    if let Some(first) = turns.first().filter(|turn| turn.speaker != Speaker::User) {
        complaints.push(format!("{} opens the conversation as `{}`, not as `user`", first.place, first.speaker.word()));
    }
    for pair in turns.windows(2) {
        if pair[0].speaker == pair[1].speaker {
            let (word, before, after) = (pair[0].speaker.word(), &pair[0].place, &pair[1].place);
            complaints.push(format!("{before} and {after} are both `{word}`: roles must alternate"));
        }
    }
    complaints
}

/// Every call has exactly one result in the turn directly behind it, and nothing else is answered.
fn pairs(turns: &[Turn]) -> Vec<String> {
    let mut complaints = Vec::new();
    let mut waiting: Vec<&String> = Vec::new();
    let mut made_at = "";
    for turn in turns {
        let calls = std::mem::take(&mut waiting);
        for id in &calls {
            let answers = turn.results.iter().filter(|result| result == id).count();
            if answers != 1 {
                let place = &turn.place;
                complaints.push(format!("call `{id}` of {made_at} has {answers} results in {place}, not one"));
            }
        }
        for orphan in turn.results.iter().filter(|result| !calls.contains(result)) {
            complaints.push(format!("{} answers call `{orphan}`, which nobody made directly before", turn.place));
        }
        waiting.extend(&turn.calls);
        made_at = &turn.place;
    }
    complaints.extend(waiting.iter().map(|id| format!("call `{id}` of {made_at} has no result behind it")));
    complaints
}

/// Keys that start with `_` are our own notes and never travel. What a model put into its own arguments is its business.
fn private_keys(value: &Value, path: &str, complaints: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                private_keys(item, &format!("{path}[{index}]"), complaints);
            }
        }
        Value::Object(fields) => {
            let arguments = fields.get("type").is_some_and(|kind| kind == "tool_use");
            for (key, field) in fields {
                if key.starts_with('_') {
                    complaints.push(format!("{path} has the private key `{key}`"));
                }
                if !(arguments && key == "input") {
                    private_keys(field, &format!("{path}.{key}"), complaints);
                }
            }
        }
        _ => {}
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn owned(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
