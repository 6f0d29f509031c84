//! How conversations were made shorter.

use super::{integer, milliseconds};
use crate::db::Db;
use crate::fault::DbResult;
use crate::{lineage, session};
use hermes_types::{CompressionRecord, Moment, SessionId};
use rusqlite::Row;
use rusqlite::types::FromSql;
use std::time::Duration;

pub(super) fn record(db: &Db, compression: &CompressionRecord) -> DbResult<()> {
    session::exists(db, &compression.session)?;
    db.connection
        .prepare_cached(
            "INSERT INTO hermes_compressions(session_id, child_session_id, at, messages_before, messages_after,
                 tokens_before, tokens_after, took_ms, model, phase, cause, stopped)
             VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
        )?
        .execute((
            compression.session.as_str(),
            compression.child.as_ref().map(SessionId::as_str),
            compression.at.seconds(),
            integer(compression.messages_before),
            integer(compression.messages_after),
            integer(compression.tokens_before),
            integer(compression.tokens_after),
            milliseconds(compression.took),
            &compression.model,
            &compression.phase,
            &compression.trigger,
            &compression.stopped,
        ))?;
    Ok(())
}

pub(super) fn of_conversation(db: &Db, id: &SessionId) -> DbResult<Vec<CompressionRecord>> {
    session::exists(db, id)?;
    // By the names of columns: a file that cannot be written may lack the later ones.
    let mut select =
        db.connection.prepare_cached("SELECT * FROM hermes_compressions WHERE session_id = ?1 ORDER BY id")?;
    let mut records = Vec::new();
    for session in lineage::continued(db, id)?.into_iter().rev() {
        let mut rows = select.query([session.as_str()])?;
        while let Some(row) = rows.next()? {
            records.push(read(row, &session));
        }
    }
    Ok(records)
}

/// What is missing or was spoilt is told as nothing.
fn read(row: &Row<'_>, session: &SessionId) -> CompressionRecord {
    fn cell<T: FromSql>(row: &Row<'_>, name: &str) -> Option<T> {
        row.get::<_, Option<T>>(name).ok().flatten()
    }
    let text = |name: &str| cell::<String>(row, name);
    let number = |name: &str| cell::<i64>(row, name).and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
    CompressionRecord {
        session: session.clone(),
        child: text("child_session_id").map(SessionId::new),
        at: Moment::from_seconds(cell(row, "at").unwrap_or_default()),
        messages_before: number("messages_before"),
        messages_after: number("messages_after"),
        tokens_before: number("tokens_before"),
        tokens_after: number("tokens_after"),
        took: Duration::from_millis(number("took_ms")),
        model: text("model"),
        phase: text("phase").unwrap_or_default(),
        trigger: text("cause").unwrap_or_default(),
        stopped: text("stopped"),
    }
}
