//! The records of sessions: beginning, end, and the row as a value.
//!
//! The port is implemented here; what is more than a statement or two lives beside it: names in `resolve` and `titles`,
//! descent in `lineage`, lists in `listing`, copies in `branch` and `go_on`, removal in `removal`, numbers in `facts`, turns in `turns`.

use crate::db::Db;
use crate::fault::DbResult;
use crate::row::{from_json, text_at, texts, to_json};
use crate::store::SqliteStore;
use crate::{branch, facts, go_on, lineage, listing, removal, resolve, titles, turns};
use hermes_core::store::{Kept, Sessions, StoreError};
use hermes_types::{
    Billing, EndReason, ListOrder, Meant, MessageId, Moment, NewMessage, NewSession, Object, Pruned, Relative, Session,
    SessionFilter, SessionId, SessionSummary, StoreFacts, Usage, Usd,
};
use rusqlite::Row;
use rusqlite::types::ValueRef;
use serde_json::Value;

/// Where `model_config` holds the working directory.
const CWD: &str = "cwd";

impl Sessions for SqliteStore {
    fn create(&self, session: NewSession) -> Kept<'_, ()> {
        let now = self.now();
        self.write(move |db| create(db, &session, now))
    }

    fn set_prompt(&self, id: &SessionId, prompt: &str) -> Kept<'_, ()> {
        let (id, prompt) = (id.clone(), prompt.to_owned());
        self.write(move |db| {
            let set = db
                .connection
                .prepare_cached("UPDATE sessions SET system_prompt = ?2 WHERE id = ?1")?
                .execute((id.as_str(), &prompt))?;
            if set == 0 { Err(StoreError::NoSession(id.to_string()).into()) } else { Ok(()) }
        })
    }

    fn end(&self, id: &SessionId, reason: EndReason) -> Kept<'_, bool> {
        let (id, now) = (id.clone(), self.now());
        self.write(move |db| {
            let ended = db
                .connection
                .prepare_cached(
                    "UPDATE sessions SET ended_at = ?2, end_reason = ?3 WHERE id = ?1 AND ended_at IS NULL",
                )?
                .execute((id.as_str(), now.seconds(), reason.as_str()))?;
            if ended == 0 { exists(db, &id).map(|()| false) } else { Ok(true) }
        })
    }

    fn reopen(&self, id: &SessionId) -> Kept<'_, ()> {
        let id = id.clone();
        self.write(move |db| {
            lineage::refuse_continued(db, &id)?;
            db.connection
                .prepare_cached("UPDATE sessions SET ended_at = NULL, end_reason = NULL WHERE id = ?1")?
                .execute([id.as_str()])?;
            Ok(())
        })
    }

    fn take(&self, id: &SessionId) -> Kept<'_, Option<MessageId>> {
        let id = id.clone();
        self.write(move |db| turns::take(db, &id))
    }

    fn let_go(&self, id: &SessionId) -> Kept<'_, ()> {
        let id = id.clone();
        self.write(move |db| turns::let_go(db, &id))
    }

    fn session(&self, id: &SessionId) -> Kept<'_, Option<Session>> {
        let id = id.clone();
        self.read(move |db| get(db, &id))
    }

    fn find(&self, name: &str, meant: Meant) -> Kept<'_, SessionId> {
        let name = name.to_owned();
        self.read(move |db| resolve::find(db, &name, meant))
    }

    fn tip(&self, id: &SessionId) -> Kept<'_, SessionId> {
        let id = id.clone();
        self.read(move |db| {
            exists(db, &id)?;
            lineage::tip(db, &id)
        })
    }

    fn list(
        &self,
        filter: SessionFilter,
        order: ListOrder,
        limit: usize,
        offset: usize,
    ) -> Kept<'_, Vec<SessionSummary>> {
        self.read(move |db| listing::list(db, &filter, order, limit, offset))
    }

    fn rename(&self, id: &SessionId, title: &str) -> Kept<'_, Option<String>> {
        let (id, title) = (id.clone(), title.to_owned());
        self.write(move |db| titles::rename(db, &id, &title))
    }

    fn rename_if_unnamed(&self, id: &SessionId, title: &str) -> Kept<'_, bool> {
        let (id, title) = (id.clone(), title.to_owned());
        self.write(move |db| titles::rename_if_unnamed(db, &id, &title))
    }

    fn next_title(&self, title: &str) -> Kept<'_, String> {
        let title = title.to_owned();
        self.read(move |db| titles::next(db, &title))
    }

    fn lineage(&self, id: &SessionId) -> Kept<'_, Vec<Relative>> {
        let id = id.clone();
        self.read(move |db| lineage::family(db, &id))
    }

    fn branch(&self, from: &SessionId, new: NewSession, upto: Option<MessageId>) -> Kept<'_, ()> {
        let (from, now) = (from.clone(), self.now());
        self.write(move |db| branch::branch(db, &from, new.clone(), upto, now))
    }

    fn go_on_in(
        &self,
        from: &SessionId,
        new: NewSession,
        upto: MessageId,
        messages: Vec<NewMessage>,
    ) -> Kept<'_, Vec<MessageId>> {
        let (from, now) = (from.clone(), self.now());
        self.write(move |db| go_on::go_on_in(db, &from, new.clone(), upto, &messages, now))
    }

    fn delete(&self, id: &SessionId) -> Kept<'_, bool> {
        let id = id.clone();
        self.write(move |db| removal::delete(db, &id))
    }

    fn delete_if_empty(&self, id: &SessionId) -> Kept<'_, bool> {
        let id = id.clone();
        self.write(move |db| removal::delete_if_empty(db, &id))
    }

    fn prune(&self, filter: SessionFilter, dry_run: bool) -> Kept<'_, Pruned> {
        let now = self.now();
        if dry_run {
            self.read(move |db| removal::prunable(db, &filter, now))
        } else {
            self.write(move |db| removal::prune(db, &filter, now))
        }
    }

    fn facts(&self) -> Kept<'_, StoreFacts> {
        let path = self.path().to_owned();
        self.read(move |db| facts::facts(db, &path))
    }
}

pub(crate) fn create(db: &Db, new: &NewSession, now: Moment) -> DbResult<()> {
    if let Some(parent) = &new.parent {
        check_parent(db, &new.id, parent)?;
    }
    if !db.shape.session_has("cwd") {
        return create_as(db, &config_with_cwd(db, new)?, now);
    }
    create_as(db, new, now)?;
    if new.cwd.is_some() {
        db.connection
            .prepare_cached("UPDATE sessions SET cwd = coalesce(cwd, ?2) WHERE id = ?1")?
            .execute((new.id.as_str(), &new.cwd))?;
    }
    Ok(())
}

/// A session whose configuration holds its working directory, for files without a column. One that holds nothing else
/// yet is taken out of the row, so that it gets the rest too.
fn config_with_cwd(db: &Db, new: &NewSession) -> DbResult<NewSession> {
    let mut texts = texts(db, "SELECT model_config FROM sessions WHERE id = ?1", &[&new.id.as_str()])?;
    let held: Option<Object> = texts.pop().and_then(|text| from_json(&text));
    let is_alone = held.as_ref().is_some_and(|held| held.len() == 1 && held.contains_key(CWD));
    let cwd = held.filter(|_| is_alone).and_then(|mut held| held.shift_remove(CWD));
    let Some(cwd) = cwd.or_else(|| new.cwd.clone().map(Value::String)) else { return Ok(new.clone()) };
    if is_alone {
        db.connection
            .prepare_cached("UPDATE sessions SET model_config = NULL WHERE id = ?1")?
            .execute([new.id.as_str()])?;
    }
    let mut config = new.model_config.clone().unwrap_or_default();
    config.entry(CWD).or_insert(cwd);
    Ok(NewSession { model_config: Some(config), ..new.clone() })
}

fn create_as(db: &Db, new: &NewSession, now: Moment) -> DbResult<()> {
    let config = new.model_config.as_ref().map(to_json).transpose()?;
    db.connection
        .prepare_cached(
            "INSERT INTO sessions(id, source, user_id, model, model_config, system_prompt, parent_session_id, started_at)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
             ON CONFLICT(id) DO UPDATE SET
                 user_id = coalesce(user_id, excluded.user_id), model = coalesce(model, excluded.model),
                 model_config = coalesce(model_config, excluded.model_config),
                 system_prompt = coalesce(system_prompt, excluded.system_prompt),
                 parent_session_id = coalesce(parent_session_id, excluded.parent_session_id)",
        )?
        .execute((
            new.id.as_str(),
            &new.source,
            &new.user_id,
            &new.model,
            config,
            &new.system_prompt,
            new.parent.as_ref().map(SessionId::as_str),
            new.started_at.unwrap_or(now).seconds(),
        ))?;
    Ok(())
}

/// A parent must exist and must not descend from the session itself. One that has a parent keeps it, so that what is
/// offered does not matter then.
fn check_parent(db: &Db, id: &SessionId, parent: &SessionId) -> DbResult<()> {
    let parents = texts(db, "SELECT parent_session_id FROM sessions WHERE id = ?1", &[&id.as_str()])?;
    if !parents.is_empty() {
        return Ok(());
    }
    if lineage::descends(db, parent, id)? {
        return Err(StoreError::Circle(id.clone()).into());
    }
    exists(db, parent)
}

pub(crate) fn get(db: &Db, id: &SessionId) -> DbResult<Option<Session>> {
    let mut statement = db.connection.prepare_cached("SELECT * FROM sessions WHERE id = ?1")?;
    let mut rows = statement.query([id.as_str()])?;
    rows.next()?.map(read).transpose()
}

pub(crate) fn is_known(db: &Db, id: &SessionId) -> DbResult<bool> {
    Ok(db.connection.prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")?.exists([id.as_str()])?)
}

/// Refuses when there is no such session.
pub(crate) fn exists(db: &Db, id: &SessionId) -> DbResult<()> {
    if is_known(db, id)? { Ok(()) } else { Err(StoreError::NoSession(id.to_string()).into()) }
}

/// A row of `sessions` with whatever columns there are.
pub(crate) fn read(row: &Row<'_>) -> DbResult<Session> {
    let mut columns = Object::new();
    for (place, name) in row.as_ref().column_names().enumerate() {
        let value = match row.get_ref(place)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(_) | ValueRef::Blob(_) => text_at(row, place)?.into(),
        };
        columns.insert(name.to_owned(), value);
    }
    Ok(assemble(columns))
}

fn assemble(mut columns: Object) -> Session {
    let mut take = |name: &str| columns.shift_remove(name).unwrap_or_default();
    let string = |value: Value| match value {
        Value::String(text) => Some(text),
        _ => None,
    };
    let count = |value: Value| value.as_u64().unwrap_or_default();
    let money = |value: Value| value.as_f64().and_then(Usd::from_f64);
    Session {
        id: SessionId::new(string(take("id")).unwrap_or_default()),
        source: string(take("source")).unwrap_or_default(),
        user_id: string(take("user_id")),
        model: string(take("model")),
        model_config: string(take("model_config")).and_then(|text| from_json(&text)),
        system_prompt: string(take("system_prompt")),
        parent: string(take("parent_session_id")).map(SessionId::new),
        started_at: Moment::from_seconds(take("started_at").as_f64().unwrap_or_default()),
        ended_at: take("ended_at").as_f64().map(Moment::from_seconds),
        end_reason: string(take("end_reason")).map(EndReason::new),
        message_count: count(take("message_count")),
        tool_call_count: count(take("tool_call_count")),
        usage: Usage {
            input: count(take("input_tokens")),
            output: count(take("output_tokens")),
            cache_read: count(take("cache_read_tokens")),
            cache_write: count(take("cache_write_tokens")),
            cache_write_1h: 0,
            reasoning: count(take("reasoning_tokens")),
            cost: None,
        },
        billing: Billing {
            provider: string(take("billing_provider")),
            base_url: string(take("billing_base_url")),
            mode: string(take("billing_mode")),
            estimated: money(take("estimated_cost_usd")),
            actual: money(take("actual_cost_usd")),
            status: string(take("cost_status")),
            source: string(take("cost_source")),
            pricing_version: string(take("pricing_version")),
        },
        title: string(take("title")),
        extra: columns,
    }
}
