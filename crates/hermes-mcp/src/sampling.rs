//! Questions of a server to a model. It is asked with the model for side jobs (`auxiliary.mcp`), within the ration that the
//! owner gives the server: so many in a minute, so many tokens each, so many answers in a row that call its tools. A
//! question belongs to the call that the server works on: that conversation pays for it and can stop it, and where nobody
//! calls, nobody pays, so nothing is asked.

use crate::server::Server;
use crate::settings::SamplingSettings;
use hermes_core::redact;
use hermes_core::stop::Stop;
use hermes_types::{
    Assistant, CallId, Content, Message, Object, Part, Reply, Request, StopReason, ToolCall, ToolChoice,
    ToolDefinition, clip,
};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::PoisonError;
use std::time::Duration;

/// The job of `auxiliary.*` that answers.
const TASK: &str = "mcp";
const WINDOW: Duration = Duration::from_secs(60);
/// Characters and pictures of one question: reading costs too.
const MOST_CHARACTERS: usize = 200_000;
const MOST_PICTURES: usize = 8;

/// What a server has used up.
#[derive(Debug, Default)]
pub(crate) struct Ration {
    asked: VecDeque<Duration>,
    /// Answers in a row that called tools.
    rounds: u32,
}

impl Ration {
    /// Takes one question out of the ration, or says why there is none left.
    fn take(&mut self, settings: &SamplingSettings, now: Duration) -> Result<(), String> {
        while self.asked.front().is_some_and(|then| now.saturating_sub(*then) >= WINDOW) {
            self.asked.pop_front();
        }
        if self.asked.len() >= settings.max_per_minute {
            return Err(format!("only {} questions in a minute are answered", settings.max_per_minute));
        }
        self.asked.push_back(now);
        Ok(())
    }

    /// Counts an answer; too many that call tools are no answers any more.
    fn answered(&mut self, settings: &SamplingSettings, calls_tools: bool) -> Result<(), String> {
        self.rounds = if calls_tools { self.rounds + 1 } else { 0 };
        if self.rounds > settings.max_tool_rounds {
            self.rounds = 0;
            return Err(format!("more than {} answers in a row called tools", settings.max_tool_rounds));
        }
        Ok(())
    }
}

/// The answer to `sampling/createMessage`, or why there is none.
pub(crate) async fn answer(server: &Server, asked: &Value) -> Result<Value, String> {
    let settings = &server.settings.sampling;
    let name = &server.settings.name;
    let Some(aide) = server.shop.aide.as_ref().filter(|_| settings.enabled) else {
        return Err("questions to a model are not answered here".to_owned());
    };
    let Some(caller) = server.caller() else {
        return Err("questions to a model are answered only while a call waits for them".to_owned());
    };
    let request = Request { session: Some(caller.desk.session.clone()), ..request(asked, settings)? };
    let ration = || server.ration.lock().unwrap_or_else(PoisonError::into_inner);
    ration().take(settings, server.clock().elapsed())?;
    let stop = Stop::new();
    let replied = tokio::select! {
        biased;
        replied = aide.ask(TASK, request, &stop) => replied,
        () = caller.stop.wait() => {
            stop.stop();
            return Err("the person stopped it".to_owned());
        }
        () = server.clock().alarm(settings.timeout) => {
            stop.stop();
            return Err(format!("the model did not answer within {} s", settings.timeout.as_secs_f64()));
        }
    };
    let reply = replied.map_err(|fault| clip(&redact::text(&fault.to_string()), 300))?;
    ration().answered(settings, !reply.tool_calls().is_empty())?;
    let tokens = reply.usage.as_ref().map(|usage| usage.output);
    tracing::info!(server = %name, model = reply.model.as_deref().unwrap_or_default(), ?tokens, "a question of an MCP server was answered");
    told(&reply)
}

/// The question as one of ours.
fn request(asked: &Value, settings: &SamplingSettings) -> Result<Request, String> {
    let model = model(asked, settings)?;
    let system = asked.get("systemPrompt").and_then(Value::as_str).map(Message::system);
    let mut messages: Vec<Message> = system.into_iter().collect();
    for message in asked.get("messages").and_then(Value::as_array).into_iter().flatten() {
        messages.extend(spoken(message)?);
    }
    fits(asked)?;
    if !messages.iter().any(|message| matches!(message, Message::User(_))) {
        return Err("there is no message to answer".to_owned());
    }
    let wanted = asked.get("maxTokens").and_then(Value::as_u64).and_then(|tokens| u32::try_from(tokens).ok());
    let tools: Vec<ToolDefinition> =
        asked.get("tools").and_then(Value::as_array).into_iter().flatten().filter_map(tool).collect();
    let choice = match asked.pointer("/toolChoice/mode").and_then(Value::as_str) {
        Some("required") => ToolChoice::Required,
        Some("none") => ToolChoice::Forbidden,
        _ => ToolChoice::Auto,
    };
    Ok(Request {
        max_output_tokens: Some(wanted.unwrap_or(settings.max_tokens).min(settings.max_tokens)),
        temperature: asked.get("temperature").and_then(Value::as_f64),
        tools: tools.into(),
        tool_choice: choice,
        ..Request::new(model, messages)
    })
}

/// Whether a question is no longer than anybody should pay for.
fn fits(asked: &Value) -> Result<(), String> {
    let size = size(asked);
    match () {
        () if size.characters > MOST_CHARACTERS => {
            Err(format!("the question is longer than {MOST_CHARACTERS} characters"))
        }
        () if size.pictures > MOST_PICTURES => Err(format!("the question has more than {MOST_PICTURES} pictures")),
        () => Ok(()),
    }
}

#[derive(Default)]
struct Size {
    characters: usize,
    pictures: usize,
}

/// All that a model would read, wherever it stands: words, arguments, schemas. A picture counts as one.
fn size(value: &Value) -> Size {
    let sum = |sizes: &mut dyn Iterator<Item = Size>| {
        sizes.fold(Size::default(), |sum, one| Size {
            characters: sum.characters + one.characters,
            pictures: sum.pictures + one.pictures,
        })
    };
    match value {
        Value::String(text) => Size { characters: text.len(), pictures: 0 },
        Value::Array(items) => sum(&mut items.iter().map(size)),
        Value::Object(map) if map.get("type").and_then(Value::as_str) == Some("image") => {
            Size { characters: 0, pictures: 1 }
        }
        Value::Object(map) => sum(&mut map.iter().map(|(key, value)| {
            let inside = size(value);
            Size { characters: inside.characters + key.len(), ..inside }
        })),
        _ => Size { characters: 1, pictures: 0 },
    }
}

/// The owner's word, then the server's wish among the models that the owner lists, then whoever does side jobs. A wish
/// alone decides nothing: models differ in price a hundredfold.
fn model(asked: &Value, settings: &SamplingSettings) -> Result<String, String> {
    let hints = asked.pointer("/modelPreferences/hints").and_then(Value::as_array).into_iter().flatten();
    let mut hints = hints.filter_map(|hint| hint.get("name")?.as_str());
    let allowed = |name: &str| settings.allowed_models.iter().any(|known| known == name);
    match &settings.model {
        Some(model) => Ok(model.clone()),
        None if settings.allowed_models.is_empty() => Ok(String::new()),
        None => match hints.clone().find(|hint| allowed(hint)) {
            Some(hint) => Ok(hint.to_owned()),
            None => match hints.next() {
                Some(refused) => Err(format!("the model {} is not one that it may ask", clip(refused, 80))),
                None => Ok(String::new()),
            },
        },
    }
}

fn tool(listed: &Value) -> Option<ToolDefinition> {
    Some(ToolDefinition {
        name: listed.get("name")?.as_str()?.to_owned(),
        description: listed.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        parameters: listed.get("inputSchema").cloned().unwrap_or_else(|| json!({"type": "object", "properties": {}})),
    })
}

/// One message of the server: words and pictures, the calls of an answer, or results of calls, each as a message.
fn spoken(message: &Value) -> Result<Vec<Message>, String> {
    let blocks: Vec<&Value> = match message.get("content") {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        Some(block) => vec![block],
        None => Vec::new(),
    };
    let (mut parts, mut calls, mut results) = (Vec::new(), Vec::new(), Vec::new());
    for block in blocks {
        let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
        match text("type") {
            "text" => parts.push(Part::of_text(text("text"))),
            "image" => parts.push(Part::of_image(format!("data:{};base64,{}", text("mimeType"), text("data")))),
            "tool_use" => {
                let input = block.get("input").cloned().unwrap_or_else(|| json!({})).to_string();
                calls.push(ToolCall::new(CallId::new(text("id")), text("name"), input.as_str()));
            }
            "tool_result" => {
                let content = block.get("content").and_then(Value::as_array).into_iter().flatten();
                let said: Vec<&str> = content.filter_map(|part| part.get("text")?.as_str()).collect();
                results.push(Message::tool(&CallId::new(text("toolUseId")), "", said.join("\n")));
            }
            other => return Err(format!("`{}` cannot be shown to a model here", clip(other, 40))),
        }
    }
    let content = match parts.as_slice() {
        [] => None,
        [only] if only.text().is_some() => only.text().map(|text| Content::Text(text.to_owned())),
        _ => Some(Content::Parts(parts)),
    };
    let mut messages = results;
    match message.get("role").and_then(Value::as_str) {
        Some("assistant") => {
            messages.push(Message::Assistant(Assistant { content, tool_calls: calls, ..Assistant::default() }));
        }
        _ => messages.extend(content.map(Message::user)),
    }
    Ok(messages)
}

/// The reply in the words of the protocol.
fn told(reply: &Reply) -> Result<Value, String> {
    let text = reply.text();
    let calls = reply.tool_calls().iter().map(|call| {
        let input = call.function.arguments.parse().unwrap_or_else(|_| Object::new());
        json!({"type": "tool_use", "id": call.id.as_str(), "name": call.function.name, "input": input})
    });
    let words = (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}));
    let mut blocks: Vec<Value> = words.into_iter().chain(calls).collect();
    let content = match blocks.len() {
        0 => return Err("the model gave an empty answer".to_owned()),
        1 => blocks.remove(0),
        _ => Value::Array(blocks),
    };
    let reason = match reply.stop_reason() {
        StopReason::ToolCalls => "toolUse",
        StopReason::Length => "maxTokens",
        _ => "endTurn",
    };
    let model = reply.model.clone().unwrap_or_else(|| "unknown".to_owned());
    Ok(json!({"role": "assistant", "content": content, "model": model, "stopReason": reason}))
}

#[cfg(test)]
mod tests;
