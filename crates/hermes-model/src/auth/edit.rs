//! What `hermes auth` does to the store: add, list, remove, reset, log out, and the bookkeeping after each request.

use super::document::Document;
use super::error::{AuthCode, AuthError};
use super::pool::{self, Strategy};
use super::provider_id::{ANTHROPIC, COPILOT};
use super::row::{AuthType, Row, Standing};
use super::source::Source;
use super::store::{AuthStore, StoreError};
use super::{AuthPaths, Logins, copilot, files, moment};
use crate::secret::Secret;
use hermes_core::clock::Clock;
use hermes_types::Fault;
use jiff::Timestamp;
use rand::RngExt;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::io;
use std::path::Path;
use std::time::Duration;

/// A key to be stored.
#[derive(Debug)]
pub struct NewKey {
    pub provider: String,
    /// Chosen for the person when absent.
    pub label: Option<String>,
    pub key: SecretString,
    pub base_url: Option<String>,
}

/// One line of `hermes auth list`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Counted from 1.
    pub index: usize,
    pub id: String,
    pub label: String,
    pub auth_type: AuthType,
    pub source: Source,
    pub standing: Standing,
    /// Until the rest is over.
    pub rest: Option<Duration>,
    /// Until the token ends.
    pub life: Option<Duration>,
}

/// What `hermes auth status` says about a provider.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub rows: Vec<Listed>,
    pub active: bool,
    /// Why the last login ended, as it was recorded.
    pub last_error: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    pub label: String,
    /// The secret lives elsewhere and was only taken out of use.
    pub suppressed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reset {
    pub woken: usize,
    /// Rows only a new login can mend.
    pub still_dead: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LoggedOut {
    /// There was something to forget.
    pub cleared: bool,
    /// The root home still has a login that this profile will use.
    pub root_remains: bool,
}

impl AuthStore {
    /// Stores a key as a new row. Sources the person had taken out come back, and a first login becomes the active one.
    pub async fn add_key(&self, clock: &dyn Clock, new: NewKey) -> Result<Listed, AuthError> {
        let provider = new.provider.as_str();
        let bad = |what: String| AuthError::new(provider, AuthCode::BadInput, what);
        let typed = new.key.expose_secret();
        let secret = Secret::usable(typed).ok_or_else(|| {
            let flaw = Secret::flaw(typed).unwrap_or("cannot be used");
            bad(format!("this {flaw}. Nothing was stored"))
        })?;
        if provider == COPILOT {
            copilot::check_github_token(&secret)?;
        }
        let now = moment::now(clock);
        let add = |document: &mut Document| {
            let mut rows = pool::pruned(document.rows(provider), now);
            let same = |row: &&Row| row.secret().is_some_and(|known| known.fingerprint() == secret.fingerprint());
            if let Some(known) = rows.iter().find(same) {
                return Err(bad(format!("this key is already stored as \"{}\"", known.label())));
            }
            let label = new.label.unwrap_or_else(|| format!("key {}", rows.len() + 1));
            let next = rows.iter().map(Row::priority).max().map_or(0, |last| last.saturating_add(1));
            let mut row = Row::new(fresh_id(&rows), &label, AuthType::ApiKey, &Source::Manual, next);
            row.set("access_token", new.key.expose_secret().trim());
            if let Some(url) = new.base_url {
                row.set("base_url", url);
            }
            rows.push(row.clone());
            document.set_rows(provider, &rows);
            document.lift_suppression(provider);
            document.activate_first(provider);
            Ok(listed(rows.len(), &row, now))
        };
        self.edit(clock, add).await.map_err(|error| error.about(provider))?
    }

    /// Removes one credential of a pool, named by number, id or label. A borrowed one is taken out of use instead. One
    /// that a profile inherits stays: the default profile would lose it without having been asked.
    pub async fn remove(
        &self,
        clock: &dyn Clock,
        paths: &AuthPaths,
        logins: &Logins,
        rows: &[Row],
        provider: &str,
        target: &str,
    ) -> Result<Removed, AuthError> {
        let row = pick(provider, rows, target)?;
        if logins.is_inherited(provider, row) {
            let what = format!(
                "\"{}\" belongs to the default profile and stays; remove it there: \
                 `hermes -p default auth remove {provider} {}`",
                row.label(),
                row.id()
            );
            return Err(AuthError::new(provider, AuthCode::BadInput, what));
        }
        let source = row.source();
        let suppressed = !source.is_stored(provider);
        let remove = |document: &mut Document| {
            let rest = pool::merged(document.rows(provider), &[], &[row.id()]);
            document.set_rows(provider, &rest);
            if suppressed {
                document.suppress(provider, &source.to_string());
            }
            if source == Source::DeviceCode {
                document.forget_state(provider);
            }
        };
        self.edit(clock, remove).await.map_err(|error| error.about(provider))?;
        if source == Source::HermesPkce {
            delete(&paths.own_anthropic_file()).await.map_err(|error| error.about(provider))?;
        }
        Ok(Removed { label: row.label().to_owned(), suppressed })
    }

    /// Wakes every resting row.
    pub async fn reset(&self, clock: &dyn Clock, provider: &str) -> Result<Reset, AuthError> {
        let now = moment::now(clock);
        let wake = |document: &mut Document| {
            let mut rows = document.rows(provider);
            let mut done = Reset { woken: 0, still_dead: 0 };
            for row in &mut rows {
                match row.standing(now) {
                    Standing::Ready => {}
                    Standing::Dead { .. } => done.still_dead += 1,
                    Standing::Resting { .. } => {
                        row.clear_verdict();
                        done.woken += 1;
                    }
                }
            }
            document.set_rows(provider, &rows);
            done
        };
        let store = self.owner_of(provider).await.map_err(|error| error.about(provider))?;
        store.edit(clock, wake).await.map_err(|error| error.about(provider))
    }

    /// Forgets every login of a provider in this home.
    pub async fn log_out(&self, clock: &dyn Clock, paths: &AuthPaths, provider: &str) -> Result<LoggedOut, AuthError> {
        let broken = |error: StoreError| error.about(provider);
        let mut cleared = self.edit(clock, |document| document.forget(provider)).await.map_err(broken)?;
        if provider == ANTHROPIC {
            cleared |= delete(&paths.own_anthropic_file()).await.map_err(broken)?;
        }
        let root_remains = match self.root() {
            Some(root) => has(&root.load().await.map_err(broken)?.document, provider),
            None => false,
        };
        Ok(LoggedOut { cleared, root_remains })
    }

    /// Notes what a fault at that moment means for the row it happened to.
    pub async fn rest_row(
        &self,
        clock: &dyn Clock,
        provider: &str,
        row: &Row,
        fault: &Fault,
        now: Timestamp,
    ) -> Result<(), AuthError> {
        let rest = |document: &mut Document| {
            let rows = pool::merged(document.rows(provider), std::slice::from_ref(row), &[]);
            let one = |known: Row| if known.id() == row.id() { pool::rested(known, fault, now) } else { known };
            let rows = pool::pruned(rows.into_iter().map(one).collect(), now);
            document.set_rows(provider, &rows);
        };
        let store = self.owner_of(provider).await.map_err(|error| error.about(provider))?;
        store.edit(clock, rest).await.map_err(|error| error.about(provider))
    }

    /// Counts an answer that was got with the row, which is thereby well again.
    pub async fn count_use(
        &self,
        clock: &dyn Clock,
        provider: &str,
        row: &Row,
        strategy: Strategy,
    ) -> Result<(), AuthError> {
        let count = |document: &mut Document| {
            let rows = pool::merged(document.rows(provider), std::slice::from_ref(row), &[]);
            document.set_rows(provider, &pool::used(rows, row.id(), strategy));
        };
        let store = self.owner_of(provider).await.map_err(|error| error.about(provider))?;
        store.edit(clock, count).await.map_err(|error| error.about(provider))
    }

    /// Takes back what was held against a row: it has just worked.
    pub async fn clear_row(&self, clock: &dyn Clock, provider: &str, id: &str) -> Result<(), AuthError> {
        let clear = |document: &mut Document| {
            let mut rows = document.rows(provider);
            rows.iter_mut().filter(|row| row.id() == id).for_each(Row::clear_verdict);
            document.set_rows(provider, &rows);
        };
        let store = self.owner_of(provider).await.map_err(|error| error.about(provider))?;
        store.edit(clock, clear).await.map_err(|error| error.about(provider))
    }

    async fn owner_of(&self, provider: &str) -> Result<Self, StoreError> {
        self.holding(|document| has(document, provider)).await
    }
}

fn has(document: &Document, provider: &str) -> bool {
    document.state(provider).is_some() || !document.rows(provider).is_empty()
}

/// The lines of `hermes auth list`.
pub fn list(rows: &[Row], now: Timestamp) -> Vec<Listed> {
    rows.iter().enumerate().map(|(place, row)| listed(place + 1, row, now)).collect()
}

fn listed(index: usize, row: &Row, now: Timestamp) -> Listed {
    let standing = row.standing(now);
    let rest = match standing {
        Standing::Resting { until } => Some(moment::until(now, until)),
        Standing::Ready | Standing::Dead { .. } => None,
    };
    Listed {
        index,
        id: row.id().to_owned(),
        label: row.label().to_owned(),
        auth_type: row.auth_type(),
        source: row.source(),
        standing,
        rest,
        life: row.expires_at().map(|end| moment::until(now, end)),
    }
}

/// What there is to say about a provider's logins.
pub fn status(logins: &Logins, provider: &str, rows: &[Row], now: Timestamp) -> Status {
    let error = logins.state(provider).and_then(|state| state.get("last_auth_error"));
    Status {
        rows: list(rows, now),
        active: logins.active_provider() == Some(provider),
        last_error: error.and_then(|error| error.get("message")).and_then(Value::as_str).map(str::to_owned),
    }
}

/// The row a person means by its number, id or label. Two rows of one label are never guessed between.
pub fn pick<'a>(provider: &str, rows: &'a [Row], target: &str) -> Result<&'a Row, AuthError> {
    let target = target.trim();
    let see = format!("see hermes auth list {provider}");
    let bad = |what: String| Err(AuthError::new(provider, AuthCode::BadInput, what));
    if let Some(row) = rows.iter().find(|row| row.id() == target) {
        return Ok(row);
    }
    let named: Vec<&Row> = rows.iter().filter(|row| row.label() == target).collect();
    match named.as_slice() {
        [row] => return Ok(row),
        [] => {}
        several => {
            return bad(format!(
                "{} credentials are called \"{target}\"; use the number or the id, {see}",
                several.len()
            ));
        }
    }
    let Ok(number) = target.parse::<usize>() else { return bad(format!("there is no credential \"{target}\"; {see}")) };
    match number.checked_sub(1).and_then(|place| rows.get(place)) {
        Some(row) => Ok(row),
        None => bad(format!("there is no credential {target}; there are {}, {see}", rows.len())),
    }
}

/// Six hex digits no row has yet.
pub(super) fn fresh_id(rows: &[Row]) -> String {
    loop {
        let id = format!("{:06x}", rand::rng().random::<u32>() & 0x00ff_ffff);
        if !rows.iter().any(|row| row.id() == id) {
            return id;
        }
    }
}

/// True when there was a file.
async fn delete(path: &Path) -> Result<bool, StoreError> {
    let (name, path) = (path.to_owned(), path.to_owned());
    let gone = files::off_thread(move || match std::fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    });
    gone.await.map_err(|error| StoreError::unusable(&name, &error))
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{SkippingClock, start};
    use super::super::{AuthPaths, Endpoints};
    use super::*;
    use hermes_types::FaultKind;
    use serde_json::json;
    use tempfile::TempDir;

    fn home() -> (TempDir, AuthPaths, AuthStore, SkippingClock) {
        let folder = tempfile::tempdir().expect("a home");
        let paths = AuthPaths::root(folder.path());
        let store = AuthStore::new(&paths);
        (folder, paths, store, SkippingClock::default())
    }

    fn key(provider: &str, label: Option<&str>, key: &str) -> NewKey {
        NewKey { provider: provider.into(), label: label.map(Into::into), key: key.into(), base_url: None }
    }

    async fn rows(paths: &AuthPaths, provider: &str) -> Vec<Row> {
        Logins::load(paths, &Endpoints::default(), None).await.pool(provider, Vec::new())
    }

    #[tokio::test]
    async fn keys_are_added_listed_tired_woken_and_removed() {
        let (_folder, paths, store, clock) = home();
        store.add_key(&clock, key("groq", None, "gsk-one")).await.expect("added");
        store.add_key(&clock, key("groq", Some("spare"), "gsk-two")).await.expect("added");
        let twice = store.add_key(&clock, key("groq", None, "gsk-one")).await.expect_err("twice");
        assert_eq!(twice.message, "groq: this key is already stored as \"key 1\".");

        let pool = rows(&paths, "groq").await;
        let fault = Fault { retry_after: Some(Duration::from_secs(90)), ..Fault::new(FaultKind::RateLimit, "slow") };
        store.rest_row(&clock, "groq", &pool[0], &fault, start()).await.expect("noted");
        let lines = list(&rows(&paths, "groq").await, start());
        let brief: Vec<_> = lines.iter().map(|line| (line.index, line.label.as_str(), line.rest)).collect();
        assert_eq!(brief, [(1, "key 1", Some(Duration::from_secs(90))), (2, "spare", None)]);

        assert_eq!(store.reset(&clock, "groq").await, Ok(Reset { woken: 1, still_dead: 0 }));
        let pool = rows(&paths, "groq").await;
        let logins = Logins::load(&paths, &Endpoints::default(), None).await;
        let removed = store.remove(&clock, &paths, &logins, &pool, "groq", "spare").await.expect("removed");
        assert_eq!(removed, Removed { label: "spare".into(), suppressed: false });
        let left = rows(&paths, "groq").await;
        assert_eq!(left.iter().map(Row::label).collect::<Vec<_>>(), ["key 1"]);

        let logins = Logins::load(&paths, &Endpoints::default(), None).await;
        let status = status(&logins, "groq", &left, start());
        assert_eq!((status.active, status.last_error), (true, None));
        let done = LoggedOut { cleared: true, root_remains: false };
        assert_eq!(store.log_out(&clock, &paths, "groq").await, Ok(done));
        assert_eq!(rows(&paths, "groq").await, vec![]);
    }

    #[tokio::test]
    async fn a_borrowed_credential_is_taken_out_of_use_not_deleted() {
        let (folder, mut paths, store, clock) = home();
        let file = folder.path().join("claude.json");
        let content = json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-x", "refreshToken": "r"}}).to_string();
        std::fs::write(&file, &content).expect("written");
        paths.claude_code = Some(file.clone());

        let pool = rows(&paths, ANTHROPIC).await;
        let logins = Logins::load(&paths, &Endpoints::default(), None).await;
        let removed = store.remove(&clock, &paths, &logins, &pool, ANTHROPIC, "1").await.expect("removed");
        assert_eq!(removed, Removed { label: "claude_code".into(), suppressed: true });
        assert_eq!(rows(&paths, ANTHROPIC).await, vec![]);
        assert_eq!(std::fs::read_to_string(&file).expect("kept"), content);

        store.add_key(&clock, key(ANTHROPIC, None, "sk-ant-api-1")).await.expect("added");
        let sources: Vec<String> = rows(&paths, ANTHROPIC).await.iter().map(|row| row.source().to_string()).collect();
        assert_eq!(sources, ["manual", "claude_code"]);
    }

    #[tokio::test]
    async fn a_profile_leaves_the_logins_of_the_root_alone() {
        let (folder, _paths, root, clock) = home();
        let profile = folder.path().join("profiles/work");
        std::fs::create_dir_all(&profile).expect("made");
        let file = folder.path().join(".anthropic_oauth.json");
        std::fs::write(&file, json!({"accessToken": "sk-ant-oat-x", "refreshToken": "r"}).to_string())
            .expect("written");
        root.add_key(&clock, key("groq", Some("mine"), "gsk-one")).await.expect("added");

        let paths = AuthPaths { root: Some(folder.path().to_owned()), ..AuthPaths::root(profile) };
        let logins = Logins::load(&paths, &Endpoints::default(), None).await;
        for provider in ["groq", ANTHROPIC] {
            let pool = logins.pool(provider, Vec::new());
            let refused = AuthStore::new(&paths).remove(&clock, &paths, &logins, &pool, provider, "1").await;
            assert!(refused.expect_err("inherited").message.contains("belongs to the default profile"), "{provider}");
        }
        assert_eq!(root.load().await.expect("readable").document.rows("groq").len(), 1);
        assert!(file.exists());
    }

    #[tokio::test]
    async fn uses_are_counted_on_the_newest_rows() {
        let (_folder, paths, store, clock) = home();
        store.add_key(&clock, key("groq", None, "gsk-one")).await.expect("added");
        let seen_early = rows(&paths, "groq").await;
        store.add_key(&clock, key("groq", None, "gsk-two")).await.expect("added by another process");
        for _ in 0..2 {
            store.count_use(&clock, "groq", &seen_early[0], Strategy::RoundRobin).await.expect("counted");
        }
        let now: Vec<_> = rows(&paths, "groq").await.iter().map(|row| (row.request_count(), row.priority())).collect();
        assert_eq!(now, [(2, 3), (0, 1)]);
    }

    #[test]
    fn a_credential_is_named_by_number_id_or_label_and_never_guessed() {
        let row = |id: &str, label: &str| Row::new(id.into(), label, AuthType::ApiKey, &Source::Manual, 0);
        let rows = [row("aaa111", "work"), row("bbb222", "home"), row("ccc333", "home")];
        for (target, expected) in [
            ("1", Ok("aaa111")),
            ("ccc333", Ok("ccc333")),
            ("work", Ok("aaa111")),
            (
                "home",
                Err("groq: 2 credentials are called \"home\"; use the number or the id, see hermes auth list groq."),
            ),
            ("0", Err("groq: there is no credential 0; there are 3, see hermes auth list groq.")),
            ("4", Err("groq: there is no credential 4; there are 3, see hermes auth list groq.")),
            ("x", Err("groq: there is no credential \"x\"; see hermes auth list groq.")),
        ] {
            let picked = pick("groq", &rows, target).map(Row::id).map_err(|error| error.message);
            assert_eq!(picked, expected.map_err(str::to_owned), "{target}");
        }
    }

    #[tokio::test]
    async fn a_classic_github_token_is_refused_at_the_door() {
        let (_folder, _paths, store, clock) = home();
        let refused = store.add_key(&clock, key(COPILOT, None, "ghp_classic")).await.expect_err("refused");
        assert_eq!(refused.code, AuthCode::UnsupportedToken);
        let empty = store.add_key(&clock, key("groq", None, "***")).await.expect_err("refused");
        assert_eq!(empty.code, AuthCode::BadInput);
    }
}
