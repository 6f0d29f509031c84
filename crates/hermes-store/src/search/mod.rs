//! Finding messages again: by whole words, and inside words where scripts have no spaces or nothing was found whole.
//!
//! A query is parsed once ([`Query`]). Two indexes propose messages, newest first: the word index that all programs share,
//! and our index of parts of words ([`grams`]). The text of each proposed message decides ([`matching`]), the best or the
//! newest of the matches are shown ([`rank`], [`hits`]). Where an index is missing or damaged the messages themselves are
//! read, as many as is reasonable; `unseen` tells that not all were. The word index is kept by triggers and always whole;
//! the other one follows later. A search that its backlog leaves incomplete waits a moment until it is shorter, and asks
//! again.

mod fold;
mod gather;
pub(crate) mod grams;
mod hits;
mod matching;
mod query;
mod rank;
mod snippet;
mod text;
mod upkeep;

pub use query::{NoQuery, Query};
pub(crate) use upkeep::Upkeep;

use crate::db::Db;
use crate::fault::{DbError, DbResult};
use crate::schema::Index;
use crate::store::SqliteStore;
use gather::Gatherer;
use hermes_core::store::{Kept, Search};
use hermes_types::{Found, Manner, SearchOrder, SearchQuery};
use upkeep::Need;

/// The largest page.
const LARGEST_PAGE: usize = 1000;
/// Messages the index of parts may propose: common parts that are rarely together bring many in vain.
const MOST_PROPOSED: usize = 4000;
/// Messages that are looked at one by one where an index does not reach.
const MOST_EXAMINED: usize = 10_000;
/// The same where there is no index at all.
const MOST_UNINDEXED: usize = 20_000;
/// Beginnings of words from this length on are found through their grams.
const LONG_BEGINNING: usize = 3;

impl Search for SqliteStore {
    fn search(&self, query: SearchQuery) -> Kept<'_, Found> {
        Box::pin(async move {
            let again = query.clone();
            let (mut found, mut need) = self.read(move |db| search(db, query)).await?;
            if found.unseen && need == Need::CatchUp && self.catch_up_within(upkeep::WHILE_ASKED).await {
                (found, need) = self.read(move |db| search(db, again)).await?;
            }
            self.keep_up(need);
            Ok(found)
        })
    }
}

fn search(db: &Db, mut asked: SearchQuery) -> DbResult<(Found, Need)> {
    asked.limit = asked.limit.min(LARGEST_PAGE);
    // Nothing is asked, or only what shall not be there: no message is an answer to that.
    let Ok(query) = Query::parse(&asked.text) else { return Ok((Found::default(), Need::Nothing)) };
    let mut quest = Quest { db, query: &query, asked: &asked, need: Need::Nothing };
    let mut manner = if query.is_unspaced() { Manner::Inside } else { Manner::Words };
    let mut fit = Manner::Words;
    let mut gathered = quest.whole()?;
    if gathered.found.is_empty() && query.is_worded() {
        (manner, fit) = (Manner::Inside, Manner::Inside);
        gathered = quest.inside(fit)?;
    }
    let (considered, more, unseen) = (gathered.found.len(), gathered.more, gathered.unseen);
    let has_next = considered > asked.offset.saturating_add(asked.limit);
    let ordered = rank::order(gathered.found, asked.order);
    let page: Vec<_> = ordered.into_iter().skip(asked.offset).take(asked.limit).collect();
    if quest.need == Need::Nothing && grams::backlog(db)? > upkeep::WORTHWHILE {
        quest.need = Need::CatchUp;
    }
    let hits = hits::show(db, &query, fit, &page)?;
    Ok((Found { hits, manner, considered, more, unseen, has_next }, quest.need))
}

/// One search, on its way through the indexes.
struct Quest<'a> {
    db: &'a Db,
    query: &'a Query,
    asked: &'a SearchQuery,
    need: Need,
}

impl<'a> Quest<'a> {
    fn gatherer(&self, manner: Manner) -> Gatherer<'a> {
        Gatherer::new(self.db, self.query, manner, self.asked)
    }

    /// Whole words, and whatever is in a script without words.
    fn whole(&mut self) -> DbResult<Gatherer<'a>> {
        if !self.query.is_worded() {
            return self.signs();
        }
        if self.asked.session.is_some() || self.query.is_unspaced() {
            return self.inside(Manner::Words);
        }
        match self.query.shortest_beginning() {
            None => self.words(),
            Some(LONG_BEGINNING..) if self.is_indexed()? => self.inside(Manner::Words),
            Some(LONG_BEGINNING..) => self.words(),
            Some(_) => {
                // Short beginnings are in most messages: the newest ones nearly always will do, and the word index would
                // have to join thousands of words.
                let mut newest = self.gatherer(Manner::Words);
                newest.rows(0, MOST_EXAMINED)?;
                let wanted = self.asked.offset.saturating_add(self.asked.limit);
                if newest.unseen && newest.found.len() < wanted {
                    return self.words();
                }
                // The rest was not left out because it could not be reached.
                newest.more |= std::mem::take(&mut newest.unseen);
                Ok(newest)
            }
        }
    }

    /// Signs without letters are in no index: the messages are read.
    fn signs(&self) -> DbResult<Gatherer<'a>> {
        let mut gatherer = self.gatherer(Manner::Words);
        match &self.asked.session {
            Some(session) => gatherer.session(session.as_str(), MOST_UNINDEXED)?,
            None => gatherer.rows(0, MOST_UNINDEXED)?,
        }
        Ok(gatherer)
    }

    /// Whether the index of parts of words, and a look at what came after it, reach all messages.
    fn is_indexed(&self) -> DbResult<bool> {
        let is_good = matches!(grams::state(self.db)?, grams::State::Upto(_));
        Ok(is_good && usize::try_from(grams::backlog(self.db)?).is_ok_and(|waiting| waiting < MOST_EXAMINED))
    }

    /// By the word index.
    fn words(&self) -> DbResult<Gatherer<'a>> {
        let mut gatherer = self.gatherer(Manner::Words);
        if self.db.shape.index != Index::Missing {
            match gatherer.words() {
                Err(error) if is_damage(&error) => {
                    tracing::warn!(
                        "the word index of the session store cannot be read ({error}); reading the messages"
                    );
                    gatherer = self.gatherer(Manner::Words);
                }
                other => return other.map(|()| gatherer),
            }
        }
        gatherer.rows(0, MOST_UNINDEXED)?;
        Ok(gatherer)
    }

    /// By the index of parts of words, and one by one where it does not reach.
    fn inside(&mut self, fit: Manner) -> DbResult<Gatherer<'a>> {
        let mut gatherer = self.gatherer(fit);
        if let Some(session) = &self.asked.session {
            gatherer.session(session.as_str(), MOST_UNINDEXED)?;
            return Ok(gatherer);
        }
        let mark = match grams::state(self.db)? {
            grams::State::Upto(mark) => mark,
            state => {
                if state == grams::State::Spoiled {
                    self.need = Need::Anew;
                }
                gatherer.rows(0, MOST_UNINDEXED)?;
                return Ok(gatherer);
            }
        };
        let Some(plan) = grams::plan(self.query) else {
            gatherer.rows(0, MOST_EXAMINED)?;
            return Ok(gatherer);
        };
        match indexed_and_new(&mut gatherer, &plan, mark, self.asked.order) {
            Err(error) if is_damage(&error) => {
                tracing::warn!("the index of parts of words cannot be read ({error}); it will be made anew");
                self.need = Need::Anew;
                gatherer = self.gatherer(fit);
                gatherer.rows(0, MOST_UNINDEXED)?;
            }
            other => other?,
        }
        Ok(gatherer)
    }
}

/// What is indexed and what came after, in the order of the search.
fn indexed_and_new(gatherer: &mut Gatherer<'_>, plan: &str, mark: i64, order: SearchOrder) -> DbResult<()> {
    if order == SearchOrder::Oldest {
        gatherer.parts(plan, MOST_PROPOSED)?;
        gatherer.rows(mark, MOST_EXAMINED)
    } else {
        gatherer.rows(mark, MOST_EXAMINED)?;
        gatherer.parts(plan, MOST_PROPOSED)
    }
}

/// An index that cannot be read does not stop a search; a file that cannot be read does.
fn is_damage(error: &DbError) -> bool {
    !error.is_busy() && matches!(error, DbError::Sql(_))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::Access;
    use crate::patience::Patience;

    #[test]
    fn a_file_without_our_tables_that_may_only_be_read_is_searched_too() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("state.db");
        let connection = rusqlite::Connection::open(&path).expect("a file");
        connection.execute_batch(include_str!("../../tests/store/fixtures/v6.sql")).expect("tables");
        let db = Db::open(&path, Access::Read, &Patience::default()).expect("opened");
        for (text, expected, manner) in [
            ("aardvark", &[1, 3, 4][..], Manner::Words),
            ("aard*", &[1, 3, 4], Manner::Words),
            ("数据库", &[11], Manner::Inside),
            ("ardvar", &[1, 3, 4], Manner::Inside),
        ] {
            let query = SearchQuery { order: SearchOrder::Oldest, ..SearchQuery::new(text) };
            let (found, need) = search(&db, query).expect("searched");
            let ids: Vec<i64> = found.hits.iter().map(|hit| hit.id.0).collect();
            assert_eq!((ids.as_slice(), found.manner, need), (expected, manner, Need::Nothing), "{text}");
        }
    }
}
