//! The question and its answer on disk: the question before it is sent, the answer before it is shown as whole.
//!
//! A store that cannot be used costs the record, never the answer; the person is told once what is not kept and why.

use crate::app::App;
use crate::memory;
use crate::output::Screen;
use hermes_core::ask::Line;
use hermes_core::stop::Stop;
use hermes_core::store::{Ledger, Sessions, StoreError, Transcript};
use hermes_model::resolve::Runtime;
use hermes_store::SqliteStore;
use hermes_types::{
    CallRecord, Cost, CostStatus, EndReason, Fault, FaultKind, Message, Moment, NewMessage, NewSession, Object, Reply,
    Request, SessionId, TurnRecord,
};
use serde_json::Value;
use std::time::{Duration, Instant, SystemTime};

/// The place a conversation of the command line is told to be held at.
const SOURCE: &str = "cli";
/// A wait that is over sooner needs no explanation.
const WORTH_A_LINE: Duration = Duration::from_secs(2);
/// Somebody who interrupted does not wait for the books.
const AFTER_INTERRUPT: Duration = Duration::from_millis(400);

pub(super) struct Diary {
    /// Or why the conversation is not kept.
    store: Result<SqliteStore, String>,
    session: SessionId,
    started_at: Moment,
    clock: Instant,
}

impl Diary {
    /// Opens the store of the home and writes down what is about to be asked.
    pub(super) async fn begin(
        app: &App,
        session: &SessionId,
        runtime: &Runtime,
        request: &Request,
        screen: &Screen,
        stop: &Stop,
    ) -> Self {
        let new = NewSession {
            model: Some(runtime.model.clone()),
            cwd: std::env::current_dir().ok().map(|dir| dir.display().to_string()),
            ..NewSession::new(session.clone(), SOURCE)
        };
        let question = request.messages.iter().map(|message| NewMessage::from((**message).clone())).collect();
        let beginning = async {
            app.home.create().map_err(|error| error.to_string())?;
            let store = memory::open(&app.home).await.map_err(|error| error.to_string())?;
            let begun = write_question(&store, new, question).await;
            begun.map(|()| store).map_err(|error| error.to_string())
        };
        let store = tokio::select! {
            biased;
            () = stop.wait() => Err("interrupted".to_owned()),
            store = explained(beginning, screen) => store,
        };
        if let (Err(reason), false) = (&store, stop.stopped()) {
            screen.complain(&not_kept(reason));
        }
        Self { store, session: session.clone(), started_at: SystemTime::now().into(), clock: Instant::now() }
    }

    /// Writes down what came of it and lets go of the store. Tells why the conversation is not kept, where it is not.
    pub(super) async fn end(self, result: &Result<Reply, Fault>, line: &Line, screen: &Screen) -> Option<String> {
        let store = match &self.store {
            Ok(store) => store.clone(),
            Err(reason) => return Some(reason.clone()),
        };
        let writing = async {
            let recorded = self.record(&store, result, line).await;
            store.close().await;
            recorded
        };
        let hurry = matches!(result, Err(fault) if fault.kind == FaultKind::Interrupted);
        let recorded = if hurry {
            tokio::time::timeout(AFTER_INTERRUPT, writing).await.unwrap_or(Ok(()))
        } else {
            explained(writing, screen).await
        };
        // The last one to let go waits for the writer; that must not be the thread everything else runs on.
        tokio::task::spawn_blocking(move || drop((self, store)));
        let reason = recorded.err()?.to_string();
        screen.complain(&not_kept(&reason));
        Some(reason)
    }

    async fn record(&self, store: &SqliteStore, result: &Result<Reply, Fault>, line: &Line) -> Result<(), StoreError> {
        let took = self.clock.elapsed();
        if let Ok(reply) = result {
            let said = NewMessage {
                token_count: reply.usage.map(|usage| usage.output),
                ..Message::Assistant(reply.message.clone()).into()
            };
            store.append(&self.session, vec![said]).await?;
            if let Some(call) = self.call(reply, line, took) {
                store.record_call(call).await?;
            }
        }
        let (exit_reason, error) = match result {
            Ok(reply) => (format!("text_response(finish_reason={})", reply.stop_reason()), None),
            Err(fault) if fault.kind == FaultKind::Interrupted => ("interrupted_during_api_call".to_owned(), None),
            Err(fault) => (format!("api_error({})", word(fault.kind)), Some(fault.message.clone())),
        };
        store
            .record_turn(TurnRecord {
                session: self.session.clone(),
                started_at: self.started_at,
                ended_at: SystemTime::now().into(),
                exit_reason,
                model_calls: line.calls(),
                tool_calls: 0,
                error,
            })
            .await?;
        store.end(&self.session, EndReason::CLI_CLOSE).await?;
        Ok(())
    }

    /// What the answer cost. A provider that counts nothing leaves nothing to record.
    fn call(&self, reply: &Reply, line: &Line, took: Duration) -> Option<CallRecord> {
        let (usage, card) = (reply.usage?, line.model()?.card());
        let cost = match usage.cost {
            Some(amount) => Cost {
                actual: Some(amount),
                status: CostStatus::Actual,
                source: "provider_cost_api".into(),
                ..Cost::default()
            },
            None => Cost { source: "none".into(), ..Cost::default() },
        };
        Some(CallRecord {
            session: self.session.clone(),
            at: SystemTime::now().into(),
            provider: card.provider.clone(),
            base_url: card.base_url.clone(),
            billing_mode: String::new(),
            model: card.model.clone(),
            task: String::new(),
            usage,
            cost,
            took,
            facts: Object::new(),
        })
    }
}

/// The name of a kind of fault, as events have it.
fn word(kind: FaultKind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(word)) => word,
        Ok(Value::Object(refused)) => refused.keys().cloned().collect(),
        _ => String::new(),
    }
}

/// The session with its question, or neither.
async fn write_question(store: &SqliteStore, new: NewSession, question: Vec<NewMessage>) -> Result<(), StoreError> {
    let session = new.id.clone();
    store.create(new).await?;
    let asked = store.append(&session, question).await;
    if asked.is_err() {
        // What made the question fail is told; that an empty session stays behind is no news beside it.
        let _ = store.delete_if_empty(&session).await;
        store.close().await;
    }
    asked.map(|_| ())
}

/// Says what is being waited for when it takes long.
async fn explained<T>(work: impl Future<Output = T>, screen: &Screen) -> T {
    let mut work = std::pin::pin!(work);
    match tokio::time::timeout(WORTH_A_LINE, &mut work).await {
        Ok(done) => done,
        Err(_) => {
            screen.explain_wait("waiting for the session store", "another program is writing to it");
            work.await
        }
    }
}

fn not_kept(reason: &str) -> String {
    format!("this conversation is not kept: {reason}")
}
