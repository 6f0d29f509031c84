//! What a person types, turned into a session.
//!
//! In this order: an id as it is, a title, the beginning of an id. Who goes on means the newest of a title's numbered
//! lineage; who does something to a session means the one that is called exactly so ([`Meant`]). A title comes before a beginning because somebody chose it; a whole id comes before a title because programs pass
//! ids around and no title may stand in their way. Beginnings are compared by range, so that no character of an id is a
//! wildcard.

use crate::db::Db;
use crate::fault::DbResult;
use crate::row::{text_at, texts};
use crate::session;
use hermes_core::store::StoreError;
use hermes_types::{Meant, SessionId, Title};

/// As many ids are named when a beginning is not enough.
const NAMED: usize = 5;

pub(crate) fn find(db: &Db, name: &str, meant: Meant) -> DbResult<SessionId> {
    let id = SessionId::new(name);
    if session::is_known(db, &id)? {
        return Ok(id);
    }
    if let Some(id) = by_title(db, name, meant)? {
        return Ok(id);
    }
    by_prefix(db, name.trim())
}

/// The session that is called so, and the newest `name #N`: which of them comes first is what is meant.
fn by_title(db: &Db, name: &str, meant: Meant) -> DbResult<Option<SessionId>> {
    let Ok(Some(title)) = Title::parse(name) else { return Ok(None) };
    let exact = || -> DbResult<Option<SessionId>> {
        let mut exact = texts(db, "SELECT id FROM sessions WHERE title = ?1", &[&title.as_str()])?;
        Ok(exact.pop().map(SessionId::new))
    };
    match meant {
        Meant::Exactly => exact()?.map_or_else(|| newest_of_lineage(db, &title), |id| Ok(Some(id))),
        Meant::Newest => newest_of_lineage(db, &title)?.map_or_else(exact, |id| Ok(Some(id))),
    }
}

/// The newest `title #N`.
fn newest_of_lineage(db: &Db, title: &Title) -> DbResult<Option<SessionId>> {
    let stem = title.stem();
    let range = Beginning::of(stem.trim_end());
    let mut statement = db.connection.prepare_cached(
        "SELECT id, title FROM sessions WHERE title >= ?1 AND (?2 IS NULL OR title < ?2) ORDER BY started_at DESC, id DESC",
    )?;
    let mut rows = statement.query((range.first, &range.end))?;
    while let Some(row) = rows.next()? {
        if text_at(row, 1)?.is_some_and(|held| title.is_continued_by(&held)) {
            return Ok(text_at(row, 0)?.map(SessionId::new));
        }
    }
    Ok(None)
}

fn by_prefix(db: &Db, prefix: &str) -> DbResult<SessionId> {
    if prefix.is_empty() {
        return Err(StoreError::NoSession(String::from("without a name")).into());
    }
    let range = Beginning::of(prefix);
    let mut ids = texts(
        db,
        "SELECT id FROM sessions WHERE id >= ?1 AND (?2 IS NULL OR id < ?2) ORDER BY id LIMIT ?3",
        &[&range.first, &range.end, &NAMED],
    )?;
    match ids.pop() {
        None => Err(StoreError::NoSession(prefix.to_owned()).into()),
        Some(only) if ids.is_empty() => Ok(SessionId::new(only)),
        Some(last) => {
            ids.push(last);
            Err(StoreError::Ambiguous { prefix: prefix.to_owned(), ids }.into())
        }
    }
}

/// Every text that begins with `first` is at or after it and before `end`, as SQLite and Rust both compare bytes.
pub(crate) struct Beginning<'a> {
    pub(crate) first: &'a str,
    /// `None` when nothing comes after.
    pub(crate) end: Option<String>,
}

impl<'a> Beginning<'a> {
    pub(crate) fn of(first: &'a str) -> Self {
        let mut end = first.to_owned();
        while let Some(last) = end.pop() {
            // Surrogates are no characters and are stepped over.
            if let Some(next) = (u32::from(last) + 1..=u32::from(char::MAX)).find_map(char::from_u32) {
                end.push(next);
                return Self { first, end: Some(end) };
            }
        }
        Self { first, end: None }
    }
}

#[cfg(test)]
mod tests {
    use super::Beginning;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_text_is_in_the_range_exactly_when_it_begins_so(
            first in "[ab%_\u{d7ff}\u{10ffff}]{1,3}", rest in "[ab%_\u{10ffff}]{0,3}", other in "[ab%_\u{d7ff}\u{10ffff}]{0,4}",
        ) {
            let Beginning { first, end } = Beginning::of(&first);
            let within = |text: &str| text >= first && end.as_deref().is_none_or(|end| text < end);
            let longer = format!("{first}{rest}");
            prop_assert!(within(&longer));
            prop_assert_eq!(within(&other), other.starts_with(first));
        }
    }
}
