//! A call of a model, written down everywhere it belongs, in one transaction.

use super::{integer, milliseconds};
use crate::db::Db;
use crate::fault::DbResult;
use crate::row::to_json;
use hermes_core::store::StoreError;
use hermes_types::{CallRecord, CostStatus, Moment, PARTIAL, Spent, Usd};
use rusqlite::OptionalExtension;

/// What the other program calls a model that nobody named.
const NAMELESS: &str = "unknown";

pub(super) fn record(db: &Db, call: &CallRecord) -> DbResult<()> {
    let is_first = is_first_of_session(db, call)?;
    insert(db, call)?;
    // What a call on the side costs is not part of the conversation; other programs keep it apart, too.
    if call.task.is_empty() {
        add_to_session(db, call, is_first)?;
    }
    if db.shape.model_usage {
        add_to_model(db, call)?;
    }
    Ok(())
}

/// What all calls since a moment come to. A call that used nothing, such as a refused one, leaves no bill.
pub(super) fn spent(db: &Db, since: Moment) -> DbResult<Spent> {
    let tokens = "input_tokens + output_tokens + cache_read_tokens + cache_write_tokens";
    let mut statement = db.connection.prepare_cached(&format!(
        "SELECT count(*), coalesce(sum({tokens}), 0), coalesce(sum(coalesce(actual_pico, estimated_pico)), 0),
             count(CASE WHEN (coalesce(actual_pico, estimated_pico) IS NULL OR cost_source LIKE '%' || ?4)
                        AND cost_status <> ?2 AND {tokens} > 0 THEN 1 END),
             count(CASE WHEN cost_status = ?3 AND {tokens} > 0 THEN 1 END),
             count(CASE WHEN cost_status = ?2 AND {tokens} > 0 THEN 1 END)
         FROM hermes_calls WHERE at >= ?1"
    ))?;
    let words = (since.seconds(), CostStatus::Included.as_str(), CostStatus::Estimated.as_str(), PARTIAL);
    Ok(statement.query_row(words, |row| {
        Ok(Spent {
            calls: row.get(0)?,
            tokens: row.get(1)?,
            cost: Usd::from_pico(row.get(2)?),
            unpriced: row.get(3)?,
            estimated: row.get(4)?,
            included: row.get(5)?,
        })
    })?)
}

/// Whether nothing was accounted to the conversation so far. A session that does not exist is refused.
fn is_first_of_session(db: &Db, call: &CallRecord) -> DbResult<bool> {
    let calls = if db.shape.session_has("api_call_count") { "coalesce(api_call_count, 0)" } else { "0" };
    let accounted: Option<bool> = db
        .connection
        .prepare_cached(&format!(
            "SELECT {calls} > 0 OR coalesce(input_tokens, 0) > 0 OR coalesce(output_tokens, 0) > 0
                 OR EXISTS (SELECT 1 FROM hermes_calls c WHERE c.session_id = s.id AND c.task = '')
             FROM sessions s WHERE id = ?1"
        ))?
        .query_row([call.session.as_str()], |row| row.get(0))
        .optional()?;
    accounted.map(|accounted| !accounted).ok_or_else(|| StoreError::NoSession(call.session.to_string()).into())
}

fn insert(db: &Db, call: &CallRecord) -> DbResult<()> {
    let facts = (!call.facts.is_empty()).then(|| to_json(&call.facts)).transpose()?;
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_calls(session_id, at, provider, base_url, billing_mode, model, task, input_tokens,
                 output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens, estimated_pico, actual_pico,
                 cost_status, cost_source, pricing_version, took_ms, facts)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)",
        )?
        .execute(rusqlite::params![
            call.session.as_str(),
            call.at.seconds(),
            call.provider,
            call.base_url,
            call.billing_mode,
            call.model,
            call.task,
            integer(call.usage.input),
            integer(call.usage.output),
            integer(call.usage.cache_read),
            integer(call.usage.cache_write),
            integer(call.usage.reasoning),
            call.cost.estimated.map(Usd::pico),
            call.cost.actual.map(Usd::pico),
            call.cost.status.as_str(),
            call.cost.source,
            call.cost.pricing_version,
            milliseconds(call.took),
            facts,
        ])?;
    Ok(())
}

/// The columns of the session. The first call that is accounted says who is paid, also when another was asked for.
fn add_to_session(db: &Db, call: &CallRecord, is_first: bool) -> DbResult<()> {
    if is_first && !call.model.is_empty() && !call.provider.is_empty() {
        db.connection
            .prepare_cached(
                "UPDATE sessions SET model = ?2, billing_provider = ?3, billing_base_url = nullif(?4, ''),
                     billing_mode = nullif(?5, '') WHERE id = ?1",
            )?
            .execute((call.session.as_str(), &call.model, &call.provider, &call.base_url, &call.billing_mode))?;
    }
    let count =
        if db.shape.session_has("api_call_count") { ", api_call_count = coalesce(api_call_count, 0) + 1" } else { "" };
    db.connection
        .prepare_cached(&format!(
            "UPDATE sessions SET
                 input_tokens = coalesce(input_tokens, 0) + ?2, output_tokens = coalesce(output_tokens, 0) + ?3,
                 cache_read_tokens = coalesce(cache_read_tokens, 0) + ?4,
                 cache_write_tokens = coalesce(cache_write_tokens, 0) + ?5,
                 reasoning_tokens = coalesce(reasoning_tokens, 0) + ?6,
                 estimated_cost_usd = CASE WHEN ?7 IS NULL THEN estimated_cost_usd
                                           ELSE coalesce(estimated_cost_usd, 0) + ?7 END,
                 actual_cost_usd = CASE WHEN ?8 IS NULL THEN actual_cost_usd
                                        ELSE coalesce(actual_cost_usd, 0) + ?8 END,
                 cost_status = ?9, cost_source = coalesce(nullif(?10, ''), cost_source),
                 pricing_version = coalesce(?11, pricing_version), model = coalesce(model, nullif(?12, '')),
                 billing_provider = coalesce(billing_provider, nullif(?13, '')),
                 billing_base_url = coalesce(billing_base_url, nullif(?14, '')),
                 billing_mode = coalesce(billing_mode, nullif(?15, '')){count}
             WHERE id = ?1"
        ))?
        .execute(rusqlite::params![
            call.session.as_str(),
            integer(call.usage.input),
            integer(call.usage.output),
            integer(call.usage.cache_read),
            integer(call.usage.cache_write),
            integer(call.usage.reasoning),
            call.cost.estimated.map(Usd::as_f64),
            call.cost.actual.map(Usd::as_f64),
            call.cost.status.as_str(),
            call.cost.source,
            call.cost.pricing_version,
            call.model,
            call.provider,
            call.base_url,
            call.billing_mode,
        ])?;
    Ok(())
}

/// The other program's sums by model.
fn add_to_model(db: &Db, call: &CallRecord) -> DbResult<()> {
    let dollars = |cost: Option<Usd>| cost.map(Usd::as_f64).unwrap_or_default();
    let model = if call.model.is_empty() { NAMELESS } else { &call.model };
    db.connection
        .prepare_cached(
            "INSERT INTO session_model_usage(session_id, model, billing_provider, billing_base_url, billing_mode, task,
                 api_call_count, input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, reasoning_tokens,
                 estimated_cost_usd, actual_cost_usd, cost_status, cost_source, first_seen, last_seen)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, 1, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, nullif(?15, ''), ?16, ?16)
             ON CONFLICT(session_id, model, billing_provider, billing_base_url, billing_mode, task) DO UPDATE SET
                 api_call_count = api_call_count + 1, input_tokens = input_tokens + excluded.input_tokens,
                 output_tokens = output_tokens + excluded.output_tokens,
                 cache_read_tokens = cache_read_tokens + excluded.cache_read_tokens,
                 cache_write_tokens = cache_write_tokens + excluded.cache_write_tokens,
                 reasoning_tokens = reasoning_tokens + excluded.reasoning_tokens,
                 estimated_cost_usd = estimated_cost_usd + excluded.estimated_cost_usd,
                 actual_cost_usd = actual_cost_usd + excluded.actual_cost_usd,
                 cost_status = excluded.cost_status, cost_source = coalesce(excluded.cost_source, cost_source),
                 last_seen = max(coalesce(last_seen, 0), excluded.last_seen)",
        )?
        .execute(rusqlite::params![
            call.session.as_str(),
            model,
            call.provider,
            call.base_url,
            call.billing_mode,
            call.task,
            integer(call.usage.input),
            integer(call.usage.output),
            integer(call.usage.cache_read),
            integer(call.usage.cache_write),
            integer(call.usage.reasoning),
            dollars(call.cost.estimated),
            dollars(call.cost.actual),
            call.cost.status.as_str(),
            call.cost.source,
            call.at.seconds(),
        ])?;
    Ok(())
}
