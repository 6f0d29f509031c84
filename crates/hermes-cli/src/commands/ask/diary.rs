//! The question and its answer on disk: the question before it is sent, the answer before it is shown as whole.
//!
//! A store that cannot be used costs the record, never the answer; the person is told once what is not kept and why.

use crate::app::App;
use crate::memory;
use crate::output::Screen;
use hermes_core::ask::Line;
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

pub(super) struct Diary {
    store: Option<SqliteStore>,
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
    ) -> Self {
        let new = NewSession {
            model: Some(runtime.model.clone()),
            cwd: std::env::current_dir().ok().map(|dir| dir.display().to_string()),
            ..NewSession::new(session.clone(), SOURCE)
        };
        let question = request.messages.iter().map(|message| NewMessage::from((**message).clone())).collect();
        let begun = async {
            app.home.create().map_err(|error| StoreError::Failed(error.to_string()))?;
            let store = memory::open(&app.home).await?;
            store.create(new).await?;
            store.append(session, question).await?;
            Ok(store)
        };
        let store = begun.await.map_err(|error: StoreError| screen.complain(&not_kept(&error))).ok();
        Self { store, session: session.clone(), started_at: SystemTime::now().into(), clock: Instant::now() }
    }

    /// Writes down what came of it and lets go of the store.
    pub(super) async fn end(self, result: &Result<Reply, Fault>, line: &Line, screen: &Screen) {
        let Some(store) = &self.store else { return };
        if let Err(error) = self.record(store, result, line).await {
            screen.complain(&not_kept(&error));
        }
        store.close().await;
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

fn not_kept(error: &StoreError) -> String {
    format!("this conversation is not kept: {error}")
}
