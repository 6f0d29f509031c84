//! What became of messages, where another program gave them columns for it.
//!
//! In the founding schema a message that was summarised away or taken back says so in `hermes_message_extra`, which no
//! other program reads. Once the file has been raised, it must say so in the columns, or the message would come back to
//! life there.

use super::Shape;
use crate::db::Db;
use crate::fault::DbResult;
use rusqlite::Connection;

/// Whether there is something to be moved. Costs one look into an index that is empty when there is not.
pub(crate) fn are_beside(connection: &Connection, shape: &Shape) -> DbResult<bool> {
    if !shape.has_states() {
        return Ok(false);
    }
    Ok(connection.prepare_cached("SELECT 1 FROM hermes_message_extra WHERE state <> 0 LIMIT 1")?.exists([])?)
}

/// Moves them as soon as there are columns for them; inside of a transaction.
pub(crate) fn settle(db: &Db) -> DbResult<()> {
    if are_beside(&db.connection, &db.shape)? { move_into_columns(&db.connection) } else { Ok(()) }
}

/// Moves them. A message that the other program put away meanwhile stays as it says.
fn move_into_columns(connection: &Connection) -> DbResult<()> {
    connection.execute_batch(
        "UPDATE messages SET active = 0, compacted = (SELECT x.state = 1 FROM hermes_message_extra x WHERE x.message_id = id)
             WHERE active = 1 AND id IN (SELECT message_id FROM hermes_message_extra WHERE state <> 0);
         UPDATE hermes_message_extra SET state = 0 WHERE state <> 0;",
    )?;
    Ok(())
}
