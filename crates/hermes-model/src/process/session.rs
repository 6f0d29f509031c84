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
    /// Bytes of words and thoughts so far.
    heard: usize,
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
            heard: 0,
            garbage: 0,
        }
    }

    /// The conversation as the agent will be given it.
    pub(super) fn prompt(&self) -> &str {
        &self.prompt
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
        match Incoming::read(line) {
            Incoming::Noise => {
                self.garbage += usize::from(!line.trim_ascii().is_empty());
                return Ok(out);
            }
            Incoming::Answer { id, outcome } if id == self.awaiting as u64 => match outcome {
                Ok(result) => self.proceed(&result, &mut out)?,
                Err(error) => return Err(self.refused(&error)),
            },
            Incoming::Answer { .. } => {}
            Incoming::Request { id, method, params } => out.send = decline(&id, &method, &params),
            Incoming::Notice { method, params } if method == "session/update" => {
                self.update(&params, &mut out)?;
            }
            Incoming::Notice { .. } => {}
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
        self.heard = self.heard.saturating_add(text.len());
        if self.heard > LARGEST_ANSWER {
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
        cache_write_1h: 0,
        reasoning: thought,
        cost: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::ToolDefinition;
    use std::sync::Arc;

    const UPDATE: &str = "session/update";

    fn session(model: &str) -> Session {
        let mut request = Request::new(model, [Message::user("Hi")]);
        request.tools =
            Arc::from([ToolDefinition { name: "f".into(), description: String::new(), parameters: json!({}) }]);
        Session::new(&request, "copilot-acp", "agent".into(), "/w".into())
    }

    /// A session that has sent its prompt, to an agent that opened it with `opened`.
    fn prompted(model: &str, opened: &Value) -> Session {
        let mut session = session(model);
        session.hear(&result(0, &json!({"protocolVersion": 1}))).expect("greeted");
        session.hear(&result(1, opened)).expect("opened");
        session
    }

    fn result(id: u64, result: &Value) -> Vec<u8> {
        rpc::answer(&json!(id), result)
    }

    fn notice(params: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "method": UPDATE, "params": params}).to_string().into_bytes()
    }

    fn chunk(kind: &str, text: &str) -> Vec<u8> {
        notice(&json!({"sessionId": "s", "update": {"sessionUpdate": kind, "content": {"type": "text", "text": text}}}))
    }

    fn sent(outcome: &Outcome) -> Value {
        serde_json::from_slice(&outcome.send).unwrap_or_default()
    }

    fn reply(deltas: &[Delta]) -> &Reply {
        match deltas.last() {
            Some(Delta::Done(reply)) => reply,
            other => panic!("not done: {other:?}"),
        }
    }

    #[test]
    fn a_session_greets_opens_chooses_and_prompts() {
        let hello: Value = serde_json::from_slice(&Session::greeting()).expect("a message");
        assert_eq!((&hello["method"], &hello["params"]["protocolVersion"]), (&json!("initialize"), &json!(1)));
        assert_eq!(hello["params"]["clientCapabilities"]["fs"], json!({"readTextFile": false, "writeTextFile": false}));

        let mut session = session("gpt-x");
        let opening = session.hear(&result(0, &json!({"protocolVersion": 1, "authMethods": []}))).expect("greeted");
        assert_eq!(
            sent(&opening),
            json!({"jsonrpc": "2.0", "id": 1, "method": "session/new", "params": {"cwd": "/w", "mcpServers": []}})
        );
        let models =
            json!({"currentModelId": "other", "availableModels": [{"modelId": "other"}, {"modelId": "gpt-x"}]});
        let choosing = session.hear(&result(1, &json!({"sessionId": "s", "models": models}))).expect("opened");
        assert_eq!(
            sent(&choosing),
            json!({"jsonrpc": "2.0", "id": 2, "method": "session/set_model", "params": {"sessionId": "s", "modelId": "gpt-x"}})
        );
        let prompting = session.hear(&result(2, &Value::Null)).expect("chosen");
        let sent = sent(&prompting);
        assert_eq!((&sent["id"], &sent["method"]), (&json!(3), &json!("session/prompt")));
        let text = sent["params"]["prompt"][0]["text"].as_str().unwrap_or_default();
        assert!(text.ends_with("=== user ===\nHi\n\n"), "{text}");
        let end = session.hear(&result(3, &json!({"stopReason": "end_turn"}))).expect("done");
        assert_eq!(reply(&end.deltas).model.as_deref(), Some("gpt-x"));
    }

    #[test]
    fn a_model_the_agent_does_not_have_is_said_and_a_missing_list_is_not_a_fault() {
        let models = json!({"currentModelId": "a", "availableModels": [{"modelId": "a"}, {"modelId": "b"}]});
        let opened = json!({"sessionId": "s", "models": models});
        let mut picky = session("gpt-x");
        picky.hear(&result(0, &json!({"protocolVersion": 1}))).expect("greeted");
        let fault = picky.hear(&result(1, &opened)).expect_err("no such model");
        assert_eq!(fault, Fault::new(FaultKind::ModelNotFound, "`agent` has no model `gpt-x`; choose one of a, b"));

        for (model, opened) in [("copilot-acp", opened), ("gpt-x", json!({"sessionId": "s"}))] {
            assert_eq!(prompted(model, &opened).awaiting, Awaiting::Answer, "{model}");
        }
    }

    #[test]
    fn every_reason_to_stop_has_its_meaning() {
        let call = "<tool_call>{\"name\":\"f\"}</tool_call>";
        let cut = "<tool_call>{\"name\":\"f\",";
        let table = [
            ("x", Some("end_turn"), StopReason::Stop, false),
            (call, Some("end_turn"), StopReason::ToolCalls, false),
            (cut, Some("end_turn"), StopReason::Length, false),
            ("x", Some("max_tokens"), StopReason::Length, false),
            ("x", Some("max_turn_requests"), StopReason::Length, false),
            ("x", Some("refusal"), StopReason::ContentFilter, false),
            ("", Some("refusal"), StopReason::ContentFilter, false),
            ("", Some("end_turn"), StopReason::Stop, false),
            ("x", Some("cancelled"), StopReason::Length, true),
            ("x", None, StopReason::Length, true),
        ];
        for (text, stop, finish, cut_off) in table {
            let mut session = prompted("m", &json!({"sessionId": "s"}));
            session.hear(&chunk("agent_message_chunk", text)).expect("heard");
            let end = session.hear(&result(3, &json!({"stopReason": stop}))).expect("done");
            let reply = reply(&end.deltas);
            assert_eq!((reply.stop_reason(), reply.cut_off), (finish, cut_off), "{text} {stop:?}");
        }
        let mut silent = prompted("m", &json!({"sessionId": "s"}));
        let fault = silent.hear(&result(3, &json!({"stopReason": "cancelled"}))).expect_err("no answer");
        assert_eq!(fault, Fault::new(FaultKind::EmptyStream, "`agent` ended its turn without an answer (cancelled)"));
    }

    #[test]
    fn whatever_the_agent_wants_to_do_is_declined() {
        let refused =
            json!({"code": -32601, "message": "Hermes offers no such method: the agent answers in words only"});
        let option = |id: &str, kind: &str| json!({"optionId": id, "kind": kind});
        let table = [
            ("fs/read_text_file", json!({"path": "/etc/passwd"}), json!({"error": refused})),
            ("terminal/create", json!({"command": "sh"}), json!({"error": refused})),
            (
                "session/request_permission",
                json!({"options": [option("a", "allow_once"), option("n", "reject_always"), option("r", "reject_once")]}),
                json!({"result": {"outcome": {"outcome": "selected", "optionId": "r"}}}),
            ),
            (
                "session/request_permission",
                json!({"options": [option("a", "allow_always")]}),
                json!({"result": {"outcome": {"outcome": "cancelled"}}}),
            ),
        ];
        for (method, params, mut expected) in table {
            let asked = rpc::request(9, method, &params);
            let outcome = prompted("m", &json!({"sessionId": "s"})).hear(&asked).expect("heard");
            expected["jsonrpc"] = json!("2.0");
            expected["id"] = json!(9);
            assert_eq!((sent(&outcome), outcome.deltas), (expected, vec![Delta::Alive]), "{method}");
        }
    }

    #[test]
    fn errors_of_the_agent_are_typed() {
        let error = |id: u64, code: i64, message: &str| rpc::refusal(&json!(id), code, message);
        let mut signed_out = session("m");
        signed_out.hear(&result(0, &json!({"protocolVersion": 1}))).expect("greeted");
        let fault = signed_out.hear(&error(1, -32000, "Authentication required")).expect_err("signed out");
        assert_eq!(fault.kind, FaultKind::AuthPermanent);
        assert_eq!(
            fault.message,
            "`agent` is not signed in (Authentication required); start `agent` in a terminal, sign in there, and ask again"
        );
        let mut limited = prompted("m", &json!({"sessionId": "s"}));
        let fault = limited.hear(&error(3, -32603, "Rate limit exceeded")).expect_err("limited");
        assert_eq!(
            (fault.kind, fault.message.as_str()),
            (FaultKind::RateLimit, "`agent` answered with an error: Rate limit exceeded")
        );
        let fault = session("m").hear(&result(0, &json!({"protocolVersion": 2}))).expect_err("too new");
        assert_eq!(fault.kind, FaultKind::Malformed);
    }

    #[test]
    fn only_words_of_our_own_session_are_heard() {
        let mut session = prompted("m", &json!({"sessionId": "s"}));
        let foreign = json!({"sessionId": "t", "update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x"}}});
        let own_tool =
            json!({"sessionId": "s", "update": {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "rm"}});
        for line in [notice(&foreign), notice(&own_tool), chunk("user_message_chunk", "y"), result(7, &json!({}))] {
            assert_eq!(session.hear(&line).expect("heard").deltas, [Delta::Alive]);
        }
        assert_eq!(session.hear(b"Loading...").expect("heard"), Outcome::default());
        assert_eq!(session.garbage, 1);
    }

    #[test]
    fn the_same_call_later_in_a_conversation_has_another_id() {
        let block = "<tool_call>{\"name\":\"f\"}</tool_call>";
        let earlier = ToolCall::new(CallId::deterministic("f", "{}", 0), "f", "{}");
        let history = Message::Assistant(Assistant { tool_calls: vec![earlier], ..Assistant::default() });
        let mut request = Request::new("m", [Message::user("Hi"), history]);
        request.tools =
            Arc::from([ToolDefinition { name: "f".into(), description: String::new(), parameters: json!({}) }]);
        let mut session = Session::new(&request, "p", "agent".into(), "/w".into());
        session.hear(&result(0, &json!({"protocolVersion": 1}))).expect("greeted");
        session.hear(&result(1, &json!({"sessionId": "s"}))).expect("opened");
        session.hear(&chunk("agent_message_chunk", block)).expect("heard");
        let end = session.break_off();
        assert_eq!(reply(&end).tool_calls(), [ToolCall::new(CallId::deterministic("f", "{}", 1), "f", "{}")]);
    }
}
