//! A conversation that became too long goes on in a new session. Its messages are what compression made of the old ones;
//! the old session ends and keeps every message.
//!
//! All of it is one transaction, and the new session is complete when it can be seen: whenever the program is killed, one
//! session of the two is open, has all messages, and has the turn.

use crate::db::Db;
use crate::fault::DbResult;
use crate::ledger::{effects, rest};
use crate::{branch, lineage, session, titles, transcript, turns};
use hermes_core::store::StoreError;
use hermes_types::{EndReason, MessageId, Moment, NewMessage, NewSession, SessionId};

/// What the Python program knows about a conversation and not about one session of it: whom it is held with, where the
/// work is done, and how long no summary is tried.
const OF_THE_CONVERSATION: [&str; 12] = [
    "session_key",
    "chat_id",
    "chat_type",
    "thread_id",
    "display_name",
    "origin_json",
    "git_branch",
    "git_repo_root",
    "profile_name",
    "compression_failure_cooldown_until",
    "compression_failure_error",
    "compression_fallback_streak",
];

pub(crate) fn go_on_in(
    db: &Db,
    from: &SessionId,
    new: NewSession,
    upto: MessageId,
    messages: &[NewMessage],
    now: Moment,
) -> DbResult<Vec<MessageId>> {
    if new.id == *from {
        return Err(StoreError::Circle(new.id).into());
    }
    lineage::refuse_continued(db, from)?;
    turns::refuse_taken(db, from)?;
    transcript::refuse_newer(db, from, upto)?;
    let old = session::get(db, from)?.ok_or_else(|| StoreError::NoSession(from.to_string()))?;
    if session::is_known(db, &new.id)? {
        return Err(StoreError::Exists(new.id).into());
    }
    let (source, title) = (old.source.clone(), old.title.clone());
    let new = NewSession { source, ..branch::inherit(new, old) };
    session::create(db, &new, now)?;
    inherit_columns(db, from, &new.id)?;
    let ids = transcript::append(db, &new.id, messages, now)?;
    end(db, from, now)?;
    titles::pass_on(db, title.as_deref(), &new.id)?;
    turns::hand_over(db, from, &new.id)?;
    effects::hand_over(db, from, &new.id)?;
    rest::hand_over(db, from, &new.id)?;
    Ok(ids)
}

fn inherit_columns(db: &Db, from: &SessionId, to: &SessionId) -> DbResult<()> {
    let there: Vec<&str> = OF_THE_CONVERSATION.into_iter().filter(|name| db.shape.session_has(name)).collect();
    if there.is_empty() {
        return Ok(());
    }
    let names = there.join(", ");
    db.connection
        .prepare_cached(&format!(
            "UPDATE sessions SET ({names}) = (SELECT {names} FROM sessions WHERE id = ?1) WHERE id = ?2"
        ))?
        .execute((from.as_str(), to.as_str()))?;
    Ok(())
}

/// Whatever it had ended with before: that it goes on elsewhere is what everybody has to know.
fn end(db: &Db, id: &SessionId, now: Moment) -> DbResult<()> {
    db.connection.prepare_cached("UPDATE sessions SET ended_at = ?2, end_reason = ?3 WHERE id = ?1")?.execute((
        id.as_str(),
        now.seconds(),
        EndReason::COMPRESSION.as_str(),
    ))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Access;
    use crate::health::Health;
    use crate::patience::Patience;
    use crate::writer::Writer;
    use hermes_types::Message;
    use std::path::Path;
    use std::sync::Arc;

    /// A writer that may not let the file grow beyond so many pages.
    fn writer(path: &Path, pages: i64) -> Writer {
        let db = Db::open(path, Access::Write, &Patience::default()).expect("a file");
        db.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).expect("a limit");
        Writer::start(Some(db), path, Arc::new(Health::new(path)), Patience::default()).expect("a writer")
    }

    fn look(path: &Path) -> (Vec<String>, i64) {
        let file = rusqlite::Connection::open(path).expect("the file");
        let mut select = file.prepare("SELECT id || coalesce(end_reason, '') FROM sessions").expect("sql");
        let sessions = select.query_map([], |row| row.get(0)).expect("rows").collect::<Result<_, _>>().expect("ids");
        let messages = file.query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).expect("a count");
        (sessions, messages)
    }

    #[tokio::test]
    async fn a_disk_that_is_full_in_the_middle_keeps_the_old_session_as_it_was() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let (old, now) = (SessionId::new("old"), Moment::from_seconds(1.0));
        let db = Db::open(&path, Access::Write, &Patience::default()).expect("a file");
        session::create(&db, &NewSession::new(old.clone(), "cli"), now).expect("a session");
        let said: NewMessage = Message::user("long ago").into();
        let upto = transcript::append(&db, &old, std::slice::from_ref(&said), now).expect("kept").remove(0);
        let pages: i64 = db.connection.pragma_query_value(None, "page_count", |row| row.get(0)).expect("a count");
        drop(db);
        let before = look(&path);
        let messages: Vec<NewMessage> = (0..20).map(|n| Message::user(format!("{n}").repeat(2000)).into()).collect();
        let mut refused = 0;
        for room in 0.. {
            let (from, messages) = (old.clone(), messages.clone());
            let new = NewSession::new(SessionId::new("new"), "cli");
            let gone_on = writer(&path, pages + room)
                .write(move |db| go_on_in(db, &from, new.clone(), upto, &messages, now))
                .await;
            if gone_on.is_ok() {
                break;
            }
            assert_eq!(gone_on, Err(StoreError::Full { place: path.display().to_string() }));
            assert_eq!(look(&path), before, "with room for {room} pages");
            refused += 1;
        }
        assert!(refused > 10, "{refused}");
        assert_eq!(look(&path), (vec!["oldcompression".to_owned(), "new".to_owned()], 21));
    }
}
