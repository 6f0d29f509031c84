//! How much of a body is on disk already.
//!
//! Every row tells by a digest what its first `shared` bytes are, and holds the bytes behind them. A new body that begins
//! with the same bytes, as an ordinary request does, is known by that one digest, and compared with the one tail behind
//! it. Otherwise the rows below are asked in the same manner: their shared parts end ever earlier, so one pass over the
//! new body finds the last that fits. The cost is one digest of the body, whatever the length of the session, and nothing
//! has to be remembered between two requests. The one body that was written last is remembered all the same: where the
//! next one extends it, as in a program with one conversation, a digest of the new bytes will do.

use crate::db::Db;
use crate::fault::DbResult;
use bytes::Bytes;
use hermes_core::prefix;
use hermes_types::{Exchange, Moment};
use rusqlite::{OptionalExtension, Row};
use sha2::{Digest, Sha256};

type Fingerprint = [u8; 32];

/// Where a body is joined to what is there.
pub(super) struct Splice {
    /// The row whose body has the same first `shared` bytes.
    pub(super) base: Option<i64>,
    pub(super) shared: usize,
    /// Has seen the shared bytes.
    hasher: Sha256,
}

/// The body that was written last, and the digest of what it shares with its base.
pub(crate) struct Newest {
    id: i64,
    /// Another program may delete a session and begin another whose rows take over its numbers.
    at: f64,
    body: Bytes,
    shared: usize,
    hasher: Sha256,
}

impl Newest {
    pub(super) fn joined(id: i64, at: Moment, body: Bytes, splice: Splice) -> Self {
        Self { id, at: at.seconds(), body, shared: splice.shared, hasher: splice.hasher }
    }

    fn is(&self, link: &Link) -> bool {
        self.id == link.id && self.at.total_cmp(&link.at).is_eq()
    }

    fn splice(&self, body: &[u8]) -> Splice {
        let shared = prefix::shared(&self.body, body);
        let (from, mut hasher) =
            if shared < self.shared { (0, Sha256::new()) } else { (self.shared, self.hasher.clone()) };
        hasher.update(body.get(from..shared).unwrap_or_default());
        Splice { base: (shared > 0).then_some(self.id), shared, hasher }
    }
}

/// A row that a body may share its beginning with. Its own bytes reach from `shared` to where those of the row above
/// begin, or to the end.
struct Link {
    id: i64,
    at: f64,
    base: Option<i64>,
    shared: usize,
    digest: Vec<u8>,
}

impl Splice {
    pub(super) fn of(db: &Db, exchange: &Exchange) -> DbResult<Self> {
        let body = &exchange.sent.body;
        let Some(newest) = newest(db, exchange)? else { return Ok(Self::none()) };
        if let Some(known) = db.newest_body.borrow().as_ref().filter(|known| known.is(&newest)) {
            return Ok(known.splice(body));
        }
        let base = newest.id;
        let Some((link, mut hasher)) = last_that_fits(db, newest, body)? else { return Ok(Self::none()) };
        let behind = body.get(link.shared..).unwrap_or_default();
        let tail: Vec<u8> = db
            .connection
            .prepare_cached("SELECT tail FROM hermes_exchanges WHERE id = ?1")?
            .query_row([link.id], |row| row.get(0))?;
        let more = prefix::shared(&tail, behind);
        hasher.update(behind.get(..more).unwrap_or_default());
        let shared = link.shared + more;
        Ok(Self { base: (shared > 0).then_some(base), shared, hasher })
    }

    fn none() -> Self {
        Self { base: None, shared: 0, hasher: Sha256::new() }
    }

    /// Of the shared bytes.
    pub(super) fn digest(&self) -> Fingerprint {
        self.hasher.clone().finalize().into()
    }
}

/// The last row of the same session on the same way. What is asked of another model, or beside the conversation, has other
/// bytes and must not come in between.
fn newest(db: &Db, exchange: &Exchange) -> DbResult<Option<Link>> {
    let Exchange { session, task, provider, model, sent, .. } = exchange;
    let found = db
        .connection
        .prepare_cached(
            "SELECT id, base, shared, digest, at FROM hermes_exchanges
             WHERE session_id = ?1 AND task = ?2 AND provider = ?3 AND model = ?4 AND mode = ?5 ORDER BY id DESC LIMIT 1",
        )?
        .query_row((session.as_str(), task, provider, model, &sent.mode), read)
        .optional()?;
    Ok(found)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Link> {
    Ok(Link { id: row.get(0)?, base: row.get(1)?, shared: row.get(2)?, digest: row.get(3)?, at: row.get(4)? })
}

/// The uppermost row whose shared part is the beginning of `body`, and the digest of that part. `None` when a row is
/// missing, so that nothing would be certain.
fn last_that_fits(db: &Db, newest: Link, body: &[u8]) -> DbResult<Option<(Link, Sha256)>> {
    if let Some(hasher) = fits(&newest, Sha256::new(), 0, body) {
        return Ok(Some((newest, hasher)));
    }
    let mut below = Vec::new();
    let mut above = newest;
    let mut link = above.base;
    while above.shared > 0 {
        let mut select =
            db.connection.prepare_cached("SELECT id, base, shared, digest, at FROM hermes_exchanges WHERE id = ?1")?;
        let found = match link {
            Some(id) => select.query_row([id], read).optional()?,
            None => None,
        };
        let Some(found) = found else { return Ok(None) };
        link = found.base;
        // A row that shares more with its own base than the row above shares with it has nothing of its own to add.
        if found.shared < above.shared {
            below.push(std::mem::replace(&mut above, found));
        }
    }
    // `above` shares nothing with anybody, so it always fits; then upwards until one does not.
    let (mut best, mut hasher) = (above, Sha256::new());
    for link in below.into_iter().rev() {
        match fits(&link, hasher.clone(), best.shared, body) {
            Some(further) => (best, hasher) = (link, further),
            None => break,
        }
    }
    Ok(Some((best, hasher)))
}

/// Goes on with the digest of `body` from `from` to the end of the link's shared part, and compares.
fn fits(link: &Link, mut hasher: Sha256, from: usize, body: &[u8]) -> Option<Sha256> {
    hasher.update(body.get(from..link.shared)?);
    (hasher.clone().finalize().as_slice() == link.digest).then_some(hasher)
}
