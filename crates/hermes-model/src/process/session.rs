//! One short session with an agent, as a pure state machine: lines in, lines and deltas out.
//!
//! The way of a session: greet, open it, choose the model where the agent offers a choice, prompt, listen. The agent is
//! used as a model and as nothing else. Whatever it wants to do by itself (files, commands, permissions) is refused: every
//! effect goes through our own tools and our own gate.

use super::calls::{Piece, Reader};
use super::prompt;
use super::rpc::{self, AUTH_REQUIRED, Incoming, METHOD_NOT_FOUND};
use crate::wire::fault;
use hermes_types::{
    Assistant, CallId, Content, Delta, Fault, FaultKind, Message, Reply, Request, StopReason, ToolCall, Usage, clip,
};
use serde_json::{Value, json};

const PROTOCOL_VERSION: u64 = 1;
/// No answer is larger.
const LARGEST_ANSWER: usize = 64 << 20;
/// Names of models listed in a message.
const MOST_NAMES: usize = 12;

/// What came of a line.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Outcome {
    /// Whole lines for the agent.
    pub(super) send: Vec<u8>,
    /// For whoever listens; after `Delta::Done` the session is over.
    pub(super) deltas: Vec<Delta>,
}

/// Which of our requests the agent has yet to answer. Its place here is also the number of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaiting {
    Greeting,
    Session,
    Model,
    Answer,
}

#[derive(Debug)]
pub(super) struct Session {
    /// The agent, as a person knows it.
    agent: String,
    cwd: String,
    /// `None` leaves the choice to the agent.
    wanted_model: Option<String>,
    prompt: String,
    awaiting: Awaiting,
    id: String,
    model: Option<String>,
    reader: Reader,
    said: Said,
    /// Lines that were no messages.
    pub(super) garbage: usize,
}

#[derive(Debug, Default)]
struct Said {
    text: String,
    reasoning: String,
    calls: Vec<ToolCall>,
    dropped: Vec<String>,
    /// Calls earlier in the conversation; counting on from them keeps ids apart.
    earlier_calls: usize,
}

impl Session {
    /// `provider` as a model name means: the agent's own choice.
    pub(super) fn new(request: &Request, provider: &str, agent: String, cwd: String) -> Self {
        let wanted = Some(request.model.clone()).filter(|model| !model.is_empty() && model != provider);
        let earlier_calls = request.messages.iter().map(|message| match message.as_ref() {
            Message::Assistant(assistant) => assistant.tool_calls.len(),
            _ => 0,
        });
        Self {
            agent,
            cwd,
            wanted_model: wanted,
            prompt: prompt::render(request),
            awaiting: Awaiting::Greeting,
            id: String::new(),
            model: None,
            reader: Reader::new(request.tools.iter().map(|tool| tool.name.clone()).collect()),
            said: Said { earlier_calls: earlier_calls.sum(), ..Said::default() },
            garbage: 0,
        }
    }

    /// The first line to send.
    pub(super) fn greeting() -> Vec<u8> {
        let hello = json!({
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": {"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false},
            "clientInfo": {"name": "hermes", "title": "Hermes", "version": env!("CARGO_PKG_VERSION")},
        });
        rpc::request(Awaiting::Greeting as u64, "initialize", &hello)
    }

    /// Takes in one line of the agent.
    pub(super) fn hear(&mut self, line: &[u8]) -> Result<Outcome, Fault> {
        let mut out = Outcome::default();
        match rpc::read(line) {
            None => {
                self.garbage += usize::from(!line.trim_ascii().is_empty());
                return Ok(out);
            }
            Some(Incoming::Answer { id, result }) if id == self.awaiting as u64 => match result {
                Ok(result) => self.proceed(&result, &mut out)?,
                Err(error) => return Err(self.refused(&error)),
            },
            Some(Incoming::Answer { .. }) => {}
            Some(Incoming::Request { id, method, params }) => out.send = decline(&id, &method, &params),
            Some(Incoming::Notice { method, params }) if method == "session/update" => {
                self.update(&params, &mut out)?;
            }
            Some(Incoming::Notice { .. }) => {}
        }
        if out.deltas.is_empty() {
            out.deltas.push(Delta::Alive);
        }
        Ok(out)
    }

    /// The agent is gone. What it said until then is an answer that broke off.
    pub(super) fn break_off(&mut self) -> Vec<Delta> {
        let mut out = Outcome::default();
        if self.finish(None, None, &mut out).is_err() {
            out.deltas.clear();
        }
        out.deltas
    }

    /// The agent answered what we waited for: the next step.
    fn proceed(&mut self, result: &Value, out: &mut Outcome) -> Result<(), Fault> {
        match self.awaiting {
            Awaiting::Greeting => {
                let version = result.get("protocolVersion").and_then(Value::as_u64);
                if version != Some(PROTOCOL_VERSION) {
                    return Err(self.malformed(format!(
                        "speaks version {} of the Agent Client Protocol, and Hermes version {PROTOCOL_VERSION}; another release of it may fit",
                        version.map_or("?".into(), |version| version.to_string()),
                    )));
                }
                self.ask(Awaiting::Session, "session/new", &json!({"cwd": self.cwd, "mcpServers": []}), out);
            }
            Awaiting::Session => {
                let Some(id) = result.get("sessionId").and_then(Value::as_str) else {
                    return Err(self.malformed("opened a session without an id"));
                };
                self.id = id.to_owned();
                self.model = result.pointer("/models/currentModelId").and_then(Value::as_str).map(str::to_owned);
                match self.choose_model(result)? {
                    Some(model) => {
                        let params = json!({"sessionId": self.id, "modelId": model});
                        self.ask(Awaiting::Model, "session/set_model", &params, out);
                        self.model = Some(model);
                    }
                    None => self.ask_prompt(out),
                }
            }
            Awaiting::Model => self.ask_prompt(out),
            Awaiting::Answer => {
                let stop = result.get("stopReason").and_then(Value::as_str);
                self.finish(stop, result.get("usage").map(read_usage), out)?;
            }
        }
        Ok(())
    }

    fn ask(&mut self, awaiting: Awaiting, method: &str, params: &Value, out: &mut Outcome) {
        self.awaiting = awaiting;
        out.send = rpc::request(awaiting as u64, method, params);
    }

    fn ask_prompt(&mut self, out: &mut Outcome) {
        let prompt = std::mem::take(&mut self.prompt);
        let params = json!({"sessionId": self.id, "prompt": [{"type": "text", "text": prompt}]});
        self.ask(Awaiting::Answer, "session/prompt", &params, out);
    }

    /// The model to ask for. An agent without a list of models cannot be asked; one with a list is asked even when it
    /// says that the model is the current one, for some say so and use another.
    fn choose_model(&self, opened: &Value) -> Result<Option<String>, Fault> {
        let offered = opened.pointer("/models/availableModels").and_then(Value::as_array);
        let (Some(wanted), Some(offered)) = (&self.wanted_model, offered) else { return Ok(None) };
        let names: Vec<&str> = offered.iter().filter_map(|model| model.get("modelId")?.as_str()).collect();
        if names.is_empty() || names.contains(&wanted.as_str()) {
            return Ok(Some(wanted.clone()).filter(|_| !names.is_empty()));
        }
        let list: Vec<String> = names.iter().take(MOST_NAMES).map(|name| clip(name, 80)).collect();
        let message = format!("`{}` has no model `{wanted}`; choose one of {}", self.agent, list.join(", "));
        Err(Fault::new(FaultKind::ModelNotFound, message))
    }

    fn refused(&self, error: &Value) -> Fault {
        let mut fault = fault::from_error_body(None, error);
        match self.awaiting {
            _ if error.get("code").and_then(Value::as_i64) == Some(AUTH_REQUIRED) => {
                fault.kind = FaultKind::AuthPermanent;
                fault.message = format!(
                    "`{0}` is not signed in ({1}); start `{0}` in a terminal, sign in there, and ask again",
                    self.agent, fault.message
                );
                return fault;
            }
            Awaiting::Model => fault.kind = FaultKind::ModelNotFound,
            Awaiting::Greeting | Awaiting::Session | Awaiting::Answer => {}
        }
        fault.message = format!("`{}` answered with an error: {}", self.agent, fault.message);
        fault
    }

    fn malformed(&self, what: impl std::fmt::Display) -> Fault {
        Fault::new(FaultKind::Malformed, format!("`{}` {what}", self.agent))
    }

    /// Words of the agent; everything else it reports only shows that it is alive.
    fn update(&mut self, params: &Value, out: &mut Outcome) -> Result<(), Fault> {
        let ours = params.get("sessionId").and_then(Value::as_str) == Some(self.id.as_str());
        if !ours || self.awaiting != Awaiting::Answer {
            return Ok(());
        }
        let text = params.pointer("/update/content/text").and_then(Value::as_str).unwrap_or_default();
        match params.pointer("/update/sessionUpdate").and_then(Value::as_str) {
            Some("agent_message_chunk") => {
                let pieces = self.reader.push(text);
                self.said.absorb(pieces, &mut out.deltas);
            }
            Some("agent_thought_chunk") if !text.is_empty() => {
                self.said.reasoning.push_str(text);
                out.deltas.push(Delta::Reasoning(text.to_owned()));
            }
            _ => {}
        }
        if self.said.text.len() + self.said.reasoning.len() + self.reader.held() > LARGEST_ANSWER {
            return Err(self.malformed("sent an answer of more than 64 MiB"));
        }
        Ok(())
    }

    fn finish(&mut self, stop: Option<&str>, usage: Option<Usage>, out: &mut Outcome) -> Result<(), Fault> {
        let pieces = self.reader.finish();
        self.said.absorb(pieces, &mut out.deltas);
        let said = std::mem::take(&mut self.said);
        // Saying nothing counts as an answer only when the agent says that it meant it.
        if said.is_empty() && !matches!(stop, Some("end_turn" | "refusal")) {
            let why = stop.unwrap_or("no reason given");
            let message = format!("`{}` ended its turn without an answer ({})", self.agent, clip(why, 80));
            return Err(Fault::new(FaultKind::EmptyStream, message));
        }
        let cut_off = matches!(stop, None | Some("cancelled"));
        let finish = match stop {
            Some("refusal") => StopReason::ContentFilter,
            Some("max_tokens" | "max_turn_requests") => StopReason::Length,
            _ if cut_off || !said.dropped.is_empty() => StopReason::Length,
            _ if !said.calls.is_empty() => StopReason::ToolCalls,
            _ => StopReason::Stop,
        };
        let model = self.model.take();
        let id = Some(std::mem::take(&mut self.id)).filter(|id| !id.is_empty());
        let (message, dropped) = said.into_message(finish);
        out.deltas.push(Delta::Done(Box::new(Reply { message, usage, model, id, dropped, cut_off })));
        Ok(())
    }
}

impl Said {
    fn absorb(&mut self, pieces: Vec<Piece>, deltas: &mut Vec<Delta>) {
        for piece in pieces {
            match piece {
                Piece::Text(text) => {
                    self.text.push_str(&text);
                    deltas.push(Delta::Text(text));
                }
                Piece::Call { name, arguments } => {
                    let place = self.earlier_calls + self.calls.len();
                    let id = CallId::deterministic(&name, arguments.as_str(), place);
                    deltas.push(Delta::ToolCallStarted(name.clone()));
                    self.calls.push(ToolCall::new(id, name, arguments));
                }
                Piece::Broken(name) => self.dropped.push(name),
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty() && self.dropped.is_empty()
    }

    fn into_message(self, finish: StopReason) -> (Assistant, Vec<String>) {
        let message = Assistant {
            content: Some(Content::from(self.text)).filter(|content| !content.is_blank()),
            reasoning: Some(self.reasoning).filter(|reasoning| !reasoning.is_empty()),
            tool_calls: self.calls,
            finish_reason: Some(finish),
            ..Assistant::default()
        };
        (message, self.dropped)
    }
}

/// The answer to whatever the agent asks of us: no.
fn decline(id: &Value, method: &str, params: &Value) -> Vec<u8> {
    if method != "session/request_permission" {
        return rpc::refusal(id, METHOD_NOT_FOUND, "Hermes offers no such method: the agent answers in words only");
    }
    let options = params.get("options").and_then(Value::as_array);
    let of_kind = |kind: &str| {
        let mut options = options.into_iter().flatten();
        options.find(|option| option.get("kind").and_then(Value::as_str) == Some(kind))?.get("optionId")
    };
    let outcome = match of_kind("reject_once").or_else(|| of_kind("reject_always")) {
        Some(option) => json!({"outcome": "selected", "optionId": option}),
        None => json!({"outcome": "cancelled"}),
    };
    rpc::answer(id, &json!({"outcome": outcome}))
}

/// Cached and thought tokens are counted beside the others in this protocol.
fn read_usage(usage: &Value) -> Usage {
    let count = |key: &str| usage.get(key).and_then(Value::as_u64).unwrap_or_default();
    let thought = count("thoughtTokens");
    Usage {
        input: count("inputTokens"),
        output: count("outputTokens").saturating_add(thought),
        cache_read: count("cachedReadTokens"),
        cache_write: count("cachedWriteTokens"),
        reasoning: thought,
        cost: None,
    }
}
