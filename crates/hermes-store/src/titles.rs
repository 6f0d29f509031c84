//! Titles: unique among all sessions, and moving along when compression continues a conversation elsewhere.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage;
use crate::resolve::Beginning;
use crate::row::texts;
use crate::session;
use hermes_core::store::StoreError;
use hermes_types::{SessionId, Title};

/// Gives, changes or takes away a title; what was stored comes back.
pub(crate) fn rename(db: &Db, id: &SessionId, title: &str) -> DbResult<Option<String>> {
    session::exists(db, id)?;
    let title = Title::parse(title).map_err(StoreError::from)?;
    if let Some(title) = &title {
        make_free(db, id, title)?;
    }
    let text = title.as_ref().map(Title::as_str);
    db.connection.prepare_cached("UPDATE sessions SET title = ?2 WHERE id = ?1")?.execute((id.as_str(), text))?;
    Ok(text.map(str::to_owned))
}

/// `false` when there is a title already, or nothing of the new one is left to show.
pub(crate) fn rename_if_unnamed(db: &Db, id: &SessionId, title: &str) -> DbResult<bool> {
    session::exists(db, id)?;
    let unnamed = db
        .connection
        .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1 AND coalesce(title, '') = ''")?
        .exists([id.as_str()])?;
    Ok(unnamed && rename(db, id, title)?.is_some())
}

/// The next free title of a lineage; nothing for nothing.
pub(crate) fn next(db: &Db, title: &str) -> DbResult<String> {
    match Title::parse(title).map_err(StoreError::from)? {
        Some(title) => Ok(title.next(&of_lineage(db, &title)?)),
        None => Ok(String::new()),
    }
}

/// Gives a session the next title of the lineage that this one is of. A title of another program that would not do here
/// is no reason to refuse.
pub(crate) fn pass_on(db: &Db, title: Option<&str>, to: &SessionId) -> DbResult<()> {
    if let Some(Ok(Some(title))) = title.map(Title::parse) {
        let next = next(db, title.as_str())?;
        rename(db, to, &next)?;
    }
    Ok(())
}

/// Every title that may belong to the lineage of this one.
fn of_lineage(db: &Db, title: &Title) -> DbResult<Vec<String>> {
    // A number of many digits may have cut the stem after a blank, and the blank with it.
    let stem = title.stem();
    let range = Beginning::of(stem.trim_end());
    texts(
        db,
        "SELECT title FROM sessions WHERE title >= ?1 AND (?2 IS NULL OR title < ?2)",
        &[&range.first, &range.end],
    )
}

/// A session this one continues gives the title away; any other keeps it.
fn make_free(db: &Db, id: &SessionId, title: &Title) -> DbResult<()> {
    let holders = "SELECT id FROM sessions WHERE title = ?1 AND id <> ?2";
    let mut holders = texts(db, holders, &[&title.as_str(), &id.as_str()])?;
    let Some(holder) = holders.pop().map(SessionId::new) else { return Ok(()) };
    if !lineage::continued(db, id)?.contains(&holder) {
        return Err(StoreError::TitleTaken { title: title.to_string(), holder }.into());
    }
    db.connection.prepare_cached("UPDATE sessions SET title = NULL WHERE id = ?1")?.execute([holder.as_str()])?;
    Ok(())
}
