//! What was spent and what was done.

use crate::store::SqliteStore;
use hermes_core::store::{Kept, Ledger, StoreError};
use hermes_types::{
    CallId, CallRecord, CompressionRecord, EffectRecord, EffectState, Insights, Moment, SessionId, TurnRecord, UsageRow,
};

impl Ledger for SqliteStore {
    fn record_call(&self, _call: CallRecord) -> Kept<'_, ()> {
        absent()
    }

    fn record_turn(&self, _turn: TurnRecord) -> Kept<'_, ()> {
        absent()
    }

    fn record_compression(&self, _compression: CompressionRecord) -> Kept<'_, ()> {
        absent()
    }

    fn begin_effect(&self, _effect: EffectRecord) -> Kept<'_, ()> {
        absent()
    }

    fn end_effect(&self, _session: &SessionId, _call: &CallId, _state: EffectState, _at: Moment) -> Kept<'_, ()> {
        absent()
    }

    fn open_effects(&self, _session: &SessionId) -> Kept<'_, Vec<EffectRecord>> {
        absent()
    }

    fn usage(&self, _session: Option<&SessionId>) -> Kept<'_, Vec<UsageRow>> {
        absent()
    }

    fn insights(&self, _from: Moment, _to: Moment, _source: Option<&str>) -> Kept<'_, Insights> {
        absent()
    }
}

fn absent<T: Send + 'static>() -> Kept<'static, T> {
    Box::pin(std::future::ready(Err(StoreError::Failed("not there yet".into()))))
}
