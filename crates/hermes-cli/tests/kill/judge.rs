//! What must hold behind every kill, and at the end.
//!
//! The file is looked at as a copy: opening it would do the work that the next program has to do.

use crate::tale;
use hermes_core::clock::RealClock;
use hermes_core::conversation::Conversation;
use hermes_core::store::{Ledger as _, Sessions as _, Transcript as _};
use hermes_store::SqliteStore;
use hermes_testkit::{ModelServer, World, integrity};
use hermes_types::{ListOrder, Message, RowState, SessionFilter, SessionId, StoredMessage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A session as it lies on the disk.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    /// The newest session in which somebody said something.
    pub(crate) session: Option<SessionId>,
    pub(crate) messages: Vec<Message>,
    /// Calls that began to change something and have not told what became of it.
    pub(crate) begun: Vec<String>,
    /// What SQLite finds wrong.
    pub(crate) damage: Vec<String>,
}

impl Kept {
    pub(crate) async fn of(world: &World) -> Self {
        let copy = tempfile::tempdir().expect("a folder");
        for name in ["state.db", "state.db-wal"] {
            let original = world.hermes_home().join(name);
            if original.exists() {
                std::fs::copy(original, copy.path().join(name)).expect("a copy");
            }
        }
        let path = copy.path().join("state.db");
        let damage = integrity(&path);
        let store = SqliteStore::open(&path, Arc::new(RealClock::default())).await.expect("a store");
        let mut sessions =
            store.list(SessionFilter::default(), ListOrder::LastActive, 10, 0).await.expect("sessions").into_iter();
        let Some(session) = sessions.next().map(|found| found.session.id) else {
            return Self { damage, ..Self::default() };
        };
        let rows = store.messages(&session).await.expect("messages");
        let live = rows.into_iter().filter(|row| row.state == RowState::Live);
        let messages: Vec<Message> = live.map(StoredMessage::into_replay).collect();
        let open = store.open_effects(&session).await.expect("effects");
        let begun = open.iter().map(|effect| effect.call.as_str().to_owned()).collect();
        store.close().await;
        Self { session: Some(session).filter(|_| !messages.is_empty()), messages, begun, damage }
    }

    /// The conversation as the next program would send it, a line for each message.
    pub(crate) fn told(&self) -> Vec<Line> {
        let session = self.session.clone().unwrap_or_else(|| SessionId::new("nobody"));
        let talk = Conversation::new(session).with_history(self.messages.clone());
        talk.history().iter().map(|message| Line::of(&serde_json::to_value(&**message).expect("JSON"))).collect()
    }

    /// The results that are kept, by their calls.
    fn results(&self) -> BTreeMap<&str, usize> {
        let mut results = BTreeMap::new();
        for message in &self.messages {
            if let Message::Tool(result) = message {
                *results.entry(result.tool_call_id.as_str()).or_default() += 1;
            }
        }
        results
    }

    /// The calls that the next program finds without a result and that never began to change anything: it runs them.
    pub(crate) fn left_to_run(&self) -> usize {
        let results = self.results();
        let Some(Message::Assistant(last)) =
            self.messages.iter().rfind(|message| matches!(message, Message::Assistant(_)))
        else {
            return 0;
        };
        let is_left = |id: &str| !results.contains_key(id) && !self.begun.iter().any(|begun| begun == id);
        last.tool_calls.iter().filter(|call| is_left(call.id.as_str())).count()
    }
}

/// A message in the words that two runs share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    role: String,
    text: String,
    /// Id, tool and arguments of each call.
    calls: Vec<(String, String, Value)>,
    answers: String,
}

impl Line {
    pub(crate) fn of(message: &Value) -> Self {
        let word = |key: &str| message[key].as_str().unwrap_or_default().to_owned();
        let call = |call: &Value| {
            let [id, name, arguments] = [&call["id"], &call["function"]["name"], &call["function"]["arguments"]]
                .map(|field| field.as_str().unwrap_or_default());
            (id.to_owned(), name.to_owned(), serde_json::from_str(arguments).unwrap_or_default())
        };
        let calls = message["tool_calls"].as_array().into_iter().flatten().map(call).collect();
        Self { role: word("role"), text: word("content"), calls, answers: word("tool_call_id") }
    }

    /// Whether it tells the model that nobody knows what became of a call.
    pub(crate) fn is_unknown(&self) -> bool {
        let told: Value = serde_json::from_str(&self.text).unwrap_or_default();
        self.is_result() && told["status"] == "unknown"
    }

    pub(crate) fn is_result(&self) -> bool {
        self.role == "tool"
    }

    pub(crate) fn is_answer(&self, text: &str) -> bool {
        self.role == "assistant" && self.text == text
    }

    /// Without what differs from home to home.
    fn anywhere(&self, world: &World) -> Self {
        let home = world.home().canonicalize().expect("a home").display().to_string();
        Self { text: self.text.replace(&home, "HOME"), ..self.clone() }
    }
}

/// What is wrong with the world right behind a kill.
pub(crate) fn faults_behind_kill(world: &World, server: &ModelServer, kept: &Kept) -> Vec<String> {
    let mut faults: Vec<String> = kept.damage.iter().map(|line| format!("damaged: {line}")).collect();
    let told = kept.told();
    if let Some(last) = server.model_requests().last() {
        let shown = last.json()["messages"].as_array().expect("messages");
        let shown = shown.iter().map(Line::of).filter(|line| line.role != "system");
        faults.extend(shown.filter(|line| !told.contains(line)).map(|line| format!("lost: {line:?} was shown")));
    }
    let results = kept.results();
    for (call, times) in tale::found(&world.work_dir()) {
        let known = results.contains_key(call.as_str()) || kept.begun.contains(&call);
        if times > 0 && !known {
            faults.push(format!("unrecorded: {call} has had its effect"));
        }
    }
    faults
}

/// What is wrong with a session that was killed and has come to its end, held against one that nobody killed.
pub(crate) fn faults_at_end(world: &World, kept: &Kept, whole: &[Line]) -> Vec<String> {
    let mut faults: Vec<String> = kept.damage.iter().map(|line| format!("damaged: {line}")).collect();
    let told: Vec<Line> = kept.told().iter().map(|line| line.anywhere(world)).collect();
    if told.len() != whole.len() {
        faults.push(format!("lost: {} messages instead of {}", told.len(), whole.len()));
    }
    let differs = |(is, was): &(&Line, &Line)| is != was && !(is.is_unknown() && is.answers == was.answers);
    faults.extend(told.iter().zip(whole).filter(differs).map(|(is, was)| format!("changed: {is:?} was {was:?}")));
    let twice = kept.results().into_iter().filter(|(_, times)| *times > 1);
    faults.extend(twice.map(|(call, times)| format!("doubled: {times} results of {call}")));
    let unknown: Vec<&str> = told.iter().filter(|line| line.is_unknown()).map(|line| line.answers.as_str()).collect();
    for (call, times) in tale::found(&world.work_dir()) {
        match times {
            0 if !unknown.contains(&call.as_str()) => faults.push(format!("lost: {call} was told to be done")),
            0 | 1 => {}
            more => faults.push(format!("doubled: {call} had its effect {more} times")),
        }
    }
    if !kept.begun.is_empty() {
        faults.push(format!("open: nobody closed the books of {:?}", kept.begun));
    }
    faults
}

/// The conversation of a run that nobody killed.
pub(crate) async fn whole(world: &World) -> Vec<Line> {
    Kept::of(world).await.told().iter().map(|line| line.anywhere(world)).collect()
}
