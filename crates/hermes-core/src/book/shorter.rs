//! A conversation that was made shorter, in the books.

use super::{Book, Open};
use crate::context::Rows;
use crate::store::StoreError;
use hermes_types::{CompressionRecord, Message, NewMessage, NewSession, SessionId, Span, SummaryRest};
use std::sync::{Arc, PoisonError};

impl Book {
    /// Where the results of the conversation are kept, in its order.
    pub(crate) async fn rows(&self) -> Rows {
        let Some(store) = self.store() else { return Rows::default() };
        // Without them a shorter conversation cannot say where the rest is; it is no less short.
        let kept = store.conversation(&self.session(), Span::Own).await.unwrap_or_default();
        Rows::of(kept.into_iter().filter_map(|(row, message)| match message {
            Message::Tool(result) => Some((result.tool_call_id, row)),
            _ => None,
        }))
    }

    /// A shorter conversation takes over: in the session `next`, or in place. Everything before stays in the store.
    pub(crate) async fn go_on_with(&self, history: &[Arc<Message>], next: Option<SessionId>) -> Result<(), StoreError> {
        self.keep_exchanges().await;
        let newest = *self.newest.lock().unwrap_or_else(PoisonError::into_inner);
        let (Some(store), Some(upto)) = (self.store(), newest) else { return Ok(()) };
        let from = self.session();
        let messages: Vec<NewMessage> = history.iter().map(|message| (**message).clone().into()).collect();
        let rows = match &next {
            Some(next) => {
                let new = NewSession { parent: Some(from.clone()), ..NewSession::new(next.clone(), String::new()) };
                store.go_on_in(&from, new, upto, messages).await?
            }
            None => store.compact(&from, upto, messages).await?,
        };
        if let Some(next) = next {
            *self.session.lock().unwrap_or_else(PoisonError::into_inner) = next;
        }
        *self.open() = Open::default();
        self.holds(rows.last().copied());
        Ok(())
    }

    /// How long no summary is to be asked for. What cannot be read costs one more try.
    pub(crate) async fn summary_rest(&self) -> SummaryRest {
        match self.store() {
            Some(store) => store.summary_rest(&self.session()).await.unwrap_or_default(),
            None => SummaryRest::default(),
        }
    }

    pub(crate) async fn rest_from_summaries(&self, rest: SummaryRest) -> Result<(), StoreError> {
        match self.store() {
            Some(store) => store.set_summary_rest(&self.session(), rest).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn compressed(&self, record: CompressionRecord) -> Result<(), StoreError> {
        match self.store() {
            Some(store) => store.record_compression(record).await,
            None => Ok(()),
        }
    }
}
