//! How sessions descend from each other. Every walk is bounded, so that a circle another program made ends too.

use crate::db::Db;
use crate::fault::DbResult;
use hermes_types::SessionId;

/// The longest chain that is followed.
pub(crate) const LONGEST: usize = 100;

/// A session and its ancestors, youngest first.
pub(crate) fn ancestors(db: &Db, id: &SessionId) -> DbResult<Vec<SessionId>> {
    let mut parent_of = db.connection.prepare_cached("SELECT parent_session_id FROM sessions WHERE id = ?1")?;
    let mut chain = vec![id.clone()];
    while let Some(last) = chain.last()
        && chain.len() < LONGEST
    {
        let parent: Option<Option<String>> =
            rusqlite::OptionalExtension::optional(parent_of.query_row([last.as_str()], |row| row.get(0)))?;
        match parent.flatten().map(SessionId::new) {
            Some(parent) if !chain.contains(&parent) => chain.push(parent),
            _ => break,
        }
    }
    Ok(chain)
}
