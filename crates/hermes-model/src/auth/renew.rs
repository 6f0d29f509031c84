//! The one way to renew a login.
//!
//! A refresh token can be spent once. Inside the process renewals queue up; between processes the lock file orders them.
//! Whoever gets his turn first looks whether somebody else has already been there and then takes that token without
//! asking the server. A new pair is on disk before it is returned; a disk that fails in between costs the person a new
//! login later, never the pair: it is kept in memory for this run. When the server refuses, the disk is read once more
//! before the login is declared dead.

use super::copilot::IfRefused;
use super::error::{AuthCode, AuthError};
use super::provider_id::{ANTHROPIC, CODEX, COPILOT, NOUS};
use super::row::{AuthType, Row};
use super::source::Source;
use super::store::{Locked, StoreError};
use super::tokens::{Fresh, Pair, Place};
use super::unsaved::Unsaved;
use super::{AuthContext, anthropic, codex, copilot, moment, nous};
use crate::secret::Secret;
use jiff::Timestamp;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// How a credential can be renewed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Renewal {
    /// Claude Code's own login, refreshed in its file.
    ClaudeCode,
    /// Our own Anthropic login.
    HermesPkce,
    Codex,
    Nous,
    /// A new Copilot session from the GitHub token found here.
    Copilot(Source),
    PoolRow {
        provider: String,
        id: String,
    },
}

/// Why a renewal is asked for. It decides which token on disk counts as renewed already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// The token at hand ends soon: any token that lives longer will do.
    Expiring,
    /// The token with this [fingerprint](Secret::fingerprint) was refused: any other living token will do.
    Refused { fingerprint: String },
}

/// A credential to go on with.
#[derive(Debug, Clone)]
pub struct Renewed {
    pub secret: Secret,
    /// `None` when the token names no end.
    pub expires_at: Option<Timestamp>,
    /// Where the token is to be used, when the vendor says so.
    pub base_url: Option<Url>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Vendor {
    Anthropic,
    Codex,
    Nous,
}

impl Renewal {
    pub fn provider(&self) -> &str {
        match self {
            Self::ClaudeCode | Self::HermesPkce => ANTHROPIC,
            Self::Codex => CODEX,
            Self::Nous => NOUS,
            Self::Copilot(_) => COPILOT,
            Self::PoolRow { provider, .. } => provider,
        }
    }

    /// How this row of a pool is renewed, if it can be. Logins in files of their own are not known by their row.
    pub(super) fn of_row(provider: &str, row: &Row) -> Option<Self> {
        let own_row = || Self::PoolRow { provider: provider.to_owned(), id: row.id().to_owned() };
        match (provider, row.source(), row.auth_type()) {
            (COPILOT, source, _) if source.is_manual() => Some(own_row()),
            (COPILOT, source, _) => Some(Self::Copilot(source)),
            (_, _, AuthType::ApiKey) => None,
            (CODEX, Source::DeviceCode, _) => Some(Self::Codex),
            (NOUS, Source::DeviceCode, _) => Some(Self::Nous),
            (ANTHROPIC | CODEX | NOUS, ..) if row.text("refresh_token").is_some() => Some(own_row()),
            _ => None,
        }
    }

    /// A token that ends within this time is renewed before it is used.
    pub fn skew(&self) -> Duration {
        Vendor::of(self.provider()).map_or(copilot::SKEW, Vendor::skew)
    }
}

impl Need {
    fn met_by(&self, pair: &Pair, vendor: Vendor, now: Timestamp) -> bool {
        let other = match self {
            Self::Expiring => true,
            Self::Refused { fingerprint } => pair.secret().is_some_and(|secret| secret.fingerprint() != *fingerprint),
        };
        other && pair.lives(now, vendor.skew()) && vendor.accepts(pair.access.as_deref(), now).is_ok()
    }
}

impl Vendor {
    fn of(provider: &str) -> Option<Self> {
        match provider {
            ANTHROPIC => Some(Self::Anthropic),
            CODEX => Some(Self::Codex),
            NOUS => Some(Self::Nous),
            _ => None,
        }
    }

    fn provider(self) -> &'static str {
        match self {
            Self::Anthropic => ANTHROPIC,
            Self::Codex => CODEX,
            Self::Nous => NOUS,
        }
    }

    fn skew(self) -> Duration {
        Duration::from_secs(120)
    }

    /// Spends the refresh token.
    async fn spend(self, cx: &AuthContext, pair: &Pair, refresh: &str) -> Result<Fresh, AuthError> {
        match self {
            Self::Anthropic => anthropic::refresh(cx, refresh).await,
            Self::Codex => codex::refresh(cx, refresh).await,
            Self::Nous => nous::refresh(cx, pair, refresh).await,
        }
    }

    /// Whether a token can do what we need it for.
    fn accepts(self, access: Option<&str>, now: Timestamp) -> Result<(), AuthError> {
        match (self, access) {
            (Self::Nous, Some(access)) => nous::check(access, now),
            _ => Ok(()),
        }
    }
}

/// Renews a login, or returns what somebody else has renewed in the meantime.
///
/// The work goes on when the caller hangs up: an answer nobody writes down is a login lost. It ends by itself within
/// the limits of its requests; a program that wants to end waits for it with [`AuthContext::settled`].
pub async fn renew(renewal: Renewal, need: Need, cx: Arc<AuthContext>) -> Result<Renewed, AuthError> {
    let provider = renewal.provider().to_owned();
    let work = tokio::spawn(async move {
        let _turn = cx.turn.lock().await;
        act(&renewal, &need, &cx).await
    });
    work.await.unwrap_or_else(|_| {
        let what = "the renewal of the login broke off; try again";
        Err(AuthError::new(&provider, AuthCode::Unreachable, what))
    })
}

async fn act(renewal: &Renewal, need: &Need, cx: &AuthContext) -> Result<Renewed, AuthError> {
    match renewal {
        Renewal::ClaudeCode => match &cx.paths.claude_code {
            Some(path) => refresh(cx, Vendor::Anthropic, Place::ClaudeCode(path.clone()), need).await,
            None => {
                Err(AuthError::new(ANTHROPIC, AuthCode::NotLoggedIn, "there is no Claude Code login on this machine"))
            }
        },
        Renewal::HermesPkce => refresh(cx, Vendor::Anthropic, Place::HermesPkce(cx.paths.anthropic_file()), need).await,
        Renewal::Codex => refresh(cx, Vendor::Codex, Place::State(CODEX), need).await,
        Renewal::Nous => refresh(cx, Vendor::Nous, Place::State(NOUS), need).await,
        Renewal::Copilot(source) => match cx.github.iter().find(|(known, _)| known == source) {
            Some((_, github)) => copilot::session(cx, github, need, IfRefused::GiveUp).await,
            None => Err(AuthError::new(COPILOT, AuthCode::NotLoggedIn, "there is no GitHub token")),
        },
        Renewal::PoolRow { provider, id } if provider == COPILOT => copilot_row(cx, id, need).await,
        Renewal::PoolRow { provider, id } => match Vendor::of(provider) {
            Some(vendor) => refresh(cx, vendor, Place::Row { provider: provider.clone(), id: id.clone() }, need).await,
            None => {
                let what = "logins of this provider cannot be renewed here; use an API key";
                Err(AuthError::new(provider, AuthCode::UnsupportedToken, what))
            }
        },
    }
}

async fn copilot_row(cx: &AuthContext, id: &str, need: &Need) -> Result<Renewed, AuthError> {
    let place = Place::Row { provider: COPILOT.to_owned(), id: id.to_owned() };
    let store = place.guard(cx).await.map_err(|error| error.about(COPILOT))?;
    let document = store.load().await.map_err(|error| error.about(COPILOT))?.document;
    let github = document.rows(COPILOT).iter().find(|row| row.id() == id).and_then(Row::secret);
    match github {
        Some(github) => copilot::session(cx, &github, need, IfRefused::TryTheToken).await,
        None => Err(AuthError::new(COPILOT, AuthCode::NotLoggedIn, "the stored GitHub token is gone")),
    }
}

async fn refresh(cx: &AuthContext, vendor: Vendor, place: Place, need: &Need) -> Result<Renewed, AuthError> {
    // Two addresses may be asked; another process waits at least as long.
    const PATIENCE: Duration = Duration::from_secs(30);
    let provider = vendor.provider();
    let broken = |error: StoreError| error.about(provider);
    let store = place.guard(cx).await.map_err(broken)?;
    let locked = store.lock(&*cx.clock, PATIENCE).await.map_err(broken)?;

    let (on_disk, held) = held(cx, &place, &locked).await.map_err(broken)?;
    if need.met_by(&held, vendor, moment::now(&*cx.clock)) {
        return renewed(provider, &held);
    }
    let Some(spent) = held.refresh.as_deref() else {
        let error = AuthError::new(provider, AuthCode::NotLoggedIn, "there is no stored login that can be renewed");
        return elsewhere(cx, vendor, need, error).await;
    };
    place.prove_writable(&locked).await.map_err(broken)?;
    match vendor.spend(cx, &held, spent).await {
        Ok(fresh) => {
            let now = moment::now(&*cx.clock);
            match place.write(&locked, &on_disk, &fresh, now).await {
                Ok(()) => {
                    cx.unsaved.forget(&place);
                    tracing::debug!(provider, "login renewed");
                }
                Err(error) => {
                    let spent = on_disk.refresh.unwrap_or_default();
                    let message = broken(error).message;
                    cx.unsaved.keep(place, Unsaved { spent, fresh: fresh.clone(), at: now, message });
                }
            }
            vendor.accepts(Some(&fresh.access), now)?;
            let pair = Pair { expires_at: fresh.expires_at(now), access: Some(fresh.access), ..Pair::default() };
            renewed(provider, &pair)
        }
        Err(error) if is_verdict(error.code) => refused(cx, vendor, &place, &locked, &held, need, error).await,
        Err(error) => Err(error),
    }
}

/// The pair on disk and the pair to go on with. They differ when an earlier renewal could not be written: then what no disk
/// took is worth more, as long as the disk still has the pair it came from.
async fn held(cx: &AuthContext, place: &Place, locked: &Locked) -> Result<(Pair, Pair), StoreError> {
    let read = place.read(locked).await;
    let Some(unsaved) = cx.unsaved.of(place) else { return read.map(|pair| (pair.clone(), pair)) };
    let on_disk = match read {
        Ok(pair) if pair.refresh.as_ref() != Some(&unsaved.spent) => return Ok((pair.clone(), pair)),
        Ok(pair) => pair,
        Err(_) => Pair { refresh: Some(unsaved.spent.clone()), ..Pair::default() },
    };
    let kept = Pair { portal: on_disk.portal.clone(), client_id: on_disk.client_id.clone(), ..unsaved.pair() };
    if place.write(locked, &on_disk, &unsaved.fresh, unsaved.at).await.is_err() {
        return Ok((on_disk, kept));
    }
    cx.unsaved.forget(place);
    Ok((kept.clone(), kept))
}

/// The server decided about the refresh token.
fn is_verdict(code: AuthCode) -> bool {
    matches!(code, AuthCode::Dead(_) | AuthCode::Refused)
}

/// The server did not take the refresh token. Somebody without our lock may have spent it and stored the next one.
async fn refused(
    cx: &AuthContext,
    vendor: Vendor,
    place: &Place,
    locked: &Locked,
    held: &Pair,
    need: &Need,
    error: AuthError,
) -> Result<Renewed, AuthError> {
    let provider = vendor.provider();
    let now = moment::now(&*cx.clock);
    let again = place.read(locked).await.map_err(|error| error.about(provider))?;
    if again != *held && need.met_by(&again, vendor, now) {
        return renewed(provider, &again);
    }
    if matches!(error.code, AuthCode::Dead(_)) && again.refresh == held.refresh {
        tracing::warn!(provider, reason = %error.code, "the login is dead and was taken away");
        place.bury(locked, &error, now).await.map_err(|error| error.about(provider))?;
    }
    elsewhere(cx, vendor, need, error).await
}

/// The last resort: the Codex program's own login, read only, and never its refresh token.
async fn elsewhere(cx: &AuthContext, vendor: Vendor, need: &Need, error: AuthError) -> Result<Renewed, AuthError> {
    let (Vendor::Codex, Some(path)) = (vendor, &cx.paths.codex_cli) else { return Err(error) };
    let Ok(file) = super::tokens::read_file(path).await else { return Err(error) };
    let pair = Pair { refresh: None, ..Pair::of_state(CODEX, &file) };
    if need.met_by(&pair, vendor, moment::now(&*cx.clock)) { renewed(CODEX, &pair) } else { Err(error) }
}

fn renewed(provider: &str, pair: &Pair) -> Result<Renewed, AuthError> {
    let secret = pair.secret().ok_or_else(|| {
        AuthError::new(provider, AuthCode::Malformed, "the login server handed out a token that cannot be one")
    })?;
    Ok(Renewed { secret, expires_at: pair.expires_at, base_url: None })
}

#[cfg(test)]
mod tests {
    use super::super::rehearsal::{self, ScriptedServer, Seen, SkippingClock, Stage, start};
    use super::super::{DeadReason, jwt};
    use super::*;
    use hermes_core::clock::RealClock;
    use serde_json::{Value, json};
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicUsize, Ordering};

    const CODEX_STATE: &str = "home/auth.json";

    fn jwt_until(name: &str, seconds_from_start: i64) -> String {
        jwt::token(&json!({"sub": name, "exp": rehearsal::START + seconds_from_start, "scope": "inference:invoke"}))
    }

    fn codex(access: &str, refresh: &str) -> Value {
        json!({"version": 1, "providers": {"openai-codex": {
            "tokens": {"access_token": access, "refresh_token": refresh, "id_token": "kept"},
            "auth_mode": "chatgpt", "label": "mine"}}})
    }

    fn refused(secret: &str) -> Need {
        Need::Refused { fingerprint: Secret::usable(secret).expect("usable").fingerprint() }
    }

    /// A server that takes each refresh token once.
    fn single_use(next: String) -> impl Fn(&Seen) -> (u16, Value) + Send + Sync {
        let served = AtomicUsize::new(0);
        move |_| match served.fetch_add(1, Ordering::SeqCst) {
            0 => (200, json!({"access_token": next, "refresh_token": "r2", "expires_in": 3600})),
            _ => (401, json!({"error": {"code": "refresh_token_reused"}})),
        }
    }

    #[tokio::test]
    async fn a_token_about_to_end_is_renewed_and_on_disk_before_use() {
        let (old, new) = (jwt_until("old", 60), jwt_until("new", 9_000));
        let stage = Stage::new(single_use(new.clone()));
        stage.write(CODEX_STATE, &codex(&old, "r1"));

        let renewed = renew(Renewal::Codex, Need::Expiring, stage.cx.clone()).await.expect("renewed");
        assert_eq!(renewed.secret.fingerprint(), Secret::usable(&new).expect("usable").fingerprint());
        assert_eq!(renewed.expires_at, Some(moment::later(start(), Duration::from_secs(9_000))));
        let mut expected = codex(&new, "r2");
        expected["providers"]["openai-codex"]["last_refresh"] = json!(start().to_string());
        assert_eq!(stage.read(CODEX_STATE), expected);

        let calls = stage.calls();
        assert_eq!(calls[0].url, "https://auth.openai.com/oauth/token");
        assert_eq!(calls[0].body, "grant_type=refresh_token&refresh_token=r1&client_id=app_EMoamEEZ73f0CkXaXp7hrann");
        assert!(calls[0].headers.contains(&("user-agent".into(), super::super::USER_AGENT.into())));

        renew(Renewal::Codex, Need::Expiring, stage.cx.clone()).await.expect("still good");
        assert_eq!(stage.calls().len(), 1, "a living token is not renewed");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn two_tasks_and_two_processes_spend_a_token_once() {
        let folder = tempfile::tempdir().expect("a folder");
        rehearsal::write(folder.path(), CODEX_STATE, &codex("opaque-old", "r1"));
        let (server, seen) = ScriptedServer::slow(Duration::from_millis(120), single_use("opaque-new".into()));
        let process = || {
            let clock = Arc::new(RealClock::default());
            Arc::new(rehearsal::context(folder.path(), server.clone(), clock))
        };
        let mut renewals = tokio::task::JoinSet::new();
        for cx in [process(), process()] {
            for _ in 0..2 {
                renewals.spawn(renew(Renewal::Codex, refused("opaque-old"), cx.clone()));
            }
        }
        let expected = Secret::usable("opaque-new").expect("usable").fingerprint();
        for renewed in renewals.join_all().await {
            assert_eq!(renewed.expect("renewed").secret.fingerprint(), expected);
        }
        assert_eq!(seen.lock().expect("unpoisoned").len(), 1);
    }

    #[tokio::test]
    async fn a_caller_who_hangs_up_does_not_lose_the_login() {
        let folder = tempfile::tempdir().expect("a folder");
        rehearsal::write(folder.path(), CODEX_STATE, &codex("opaque-old", "r1"));
        let (server, seen) = ScriptedServer::slow(Duration::from_millis(50), single_use("opaque-new".into()));
        let cx = Arc::new(rehearsal::context(folder.path(), server, Arc::new(SkippingClock::default())));
        let asked = async {
            while seen.lock().expect("unpoisoned").is_empty() {
                tokio::task::yield_now().await;
            }
        };
        let renewal = Box::pin(renew(Renewal::Codex, refused("opaque-old"), cx.clone()));
        match futures_util::future::select(renewal, Box::pin(asked)).await {
            futures_util::future::Either::Right(((), unfinished)) => drop(unfinished),
            futures_util::future::Either::Left(_) => panic!("the server is slower than that"),
        }
        drop(cx.turn.lock().await);
        let stored = &rehearsal::read(folder.path(), CODEX_STATE)["providers"]["openai-codex"]["tokens"];
        assert_eq!(stored["refresh_token"], "r2");
    }

    /// Ctrl-C in the middle of a renewal: the runtime ends with the program, but not before the new pair is on disk.
    #[test]
    fn a_program_that_ends_does_not_lose_the_login() {
        let folder = tempfile::tempdir().expect("a folder");
        rehearsal::write(folder.path(), CODEX_STATE, &codex("opaque-old", "r1"));
        let (server, seen) = ScriptedServer::slow(Duration::from_millis(100), single_use("opaque-new".into()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let settled = runtime.block_on(async {
            let cx = Arc::new(rehearsal::context(folder.path(), server, Arc::new(RealClock::default())));
            let asked = async {
                while seen.lock().expect("unpoisoned").is_empty() {
                    tokio::task::yield_now().await;
                }
            };
            let renewal = Box::pin(renew(Renewal::Codex, refused("opaque-old"), cx.clone()));
            drop(futures_util::future::select(renewal, Box::pin(asked)).await);
            cx.settled().await
        });
        runtime.shutdown_background();
        assert!(settled);
        let stored = &rehearsal::read(folder.path(), CODEX_STATE)["providers"]["openai-codex"]["tokens"];
        assert_eq!(stored["refresh_token"], "r2");
    }

    /// Even the superuser cannot make a file in the folder of open files, and a deleted file can still be read there.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_place_that_cannot_be_written_costs_no_refresh_token() {
        use std::os::fd::AsRawFd;
        let stage = Stage::new(single_use("sk-ant-oat-new".into()));
        let login = json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-old", "refreshToken": "r1", "expiresAt": 1}});
        stage.write("claude.json", &login);
        let path = stage.cx.paths.claude_code.clone().expect("a path");
        let open = std::fs::File::open(&path).expect("opened");
        std::fs::remove_file(path).expect("removed");
        let claude_code = Some(format!("/proc/self/fd/{}", open.as_raw_fd()).into());
        let paths = super::super::AuthPaths { claude_code, ..stage.cx.paths.clone() };
        let (transport, clock) = (stage.cx.transport.clone(), stage.clock.clone());
        let cx = AuthContext::new(paths, stage.cx.endpoints.clone(), transport, clock, Vec::new());
        let error = renew(Renewal::ClaudeCode, Need::Expiring, Arc::new(cx)).await.expect_err("no place to write");
        assert_eq!((error.code, stage.calls().len()), (AuthCode::StoreUnusable, 0));
    }

    /// The disk fails between the answer and the write: the pair serves this run, and is written as soon as that works.
    #[tokio::test]
    async fn a_pair_that_could_not_be_written_is_kept_for_this_run() {
        let home = Arc::new(Mutex::new(None::<std::path::PathBuf>));
        let (place, served) = (Arc::clone(&home), AtomicUsize::new(0));
        let stage = Stage::new(move |call| {
            let file = place.lock().expect("unpoisoned").clone().expect("set").join("auth.json");
            match served.fetch_add(1, Ordering::SeqCst) {
                0 => {
                    std::fs::rename(&file, file.with_extension("moved")).expect("moved");
                    std::fs::create_dir(&file).expect("a folder in the way");
                    (200, json!({"access_token": "opaque-2", "refresh_token": "r2", "expires_in": 3600}))
                }
                _ => {
                    assert!(call.body.contains("refresh_token=r2"), "{}", call.body);
                    (200, json!({"access_token": "opaque-3", "refresh_token": "r3", "expires_in": 3600}))
                }
            }
        });
        *home.lock().expect("unpoisoned") = Some(stage.home());
        stage.write(CODEX_STATE, &codex("opaque-1", "r1"));
        let renewed = renew(Renewal::Codex, refused("opaque-1"), stage.cx.clone()).await.expect("for this run");
        assert!(renewed.secret.has_prefix("opaque-2"));
        let warnings = stage.cx.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("could not be saved"), "{warnings:?}");

        let again = renew(Renewal::Codex, Need::Expiring, stage.cx.clone()).await.expect("still for this run");
        assert!(again.secret.has_prefix("opaque-2"));
        let file = stage.home().join("auth.json");
        std::fs::remove_dir(&file).expect("out of the way");
        std::fs::rename(file.with_extension("moved"), &file).expect("back");
        let renewed = renew(Renewal::Codex, refused("opaque-2"), stage.cx.clone()).await.expect("renewed");
        assert!(renewed.secret.has_prefix("opaque-3"));
        assert_eq!(stage.read(CODEX_STATE)["providers"]["openai-codex"]["tokens"]["refresh_token"], "r3");
        assert_eq!(stage.cx.warnings(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_dead_login_is_taken_away_and_explained() {
        let stage = Stage::new(|_| (400, json!({"error": "invalid_grant"})));
        let state = json!({"portal_base_url": "https://portal.nousresearch.com", "access_token": jwt_until("x", 10),
            "refresh_token": "r-dead", "expires_at": "2027-01-01T00:00:00Z", "tls": {"insecure": false}});
        stage.write("home/auth.json", &json!({"active_provider": "nous", "providers": {"nous": state}}));
        let error = renew(Renewal::Nous, Need::Expiring, stage.cx.clone()).await.expect_err("dead");
        assert_eq!((error.code, error.relogin_required), (AuthCode::Dead(DeadReason::InvalidGrant), true));
        let expected = json!({"version": 1, "active_provider": "nous", "providers": {"nous": {
            "portal_base_url": "https://portal.nousresearch.com", "tls": {"insecure": false},
            "last_auth_error": {"provider": "nous", "code": "invalid_grant", "message": error.message,
                "reason": "refresh_failed", "relogin_required": true, "at": start().to_string()}}}});
        assert_eq!(stage.read("home/auth.json"), expected);
        let again = renew(Renewal::Nous, Need::Expiring, stage.cx.clone()).await.expect_err("still dead");
        assert_eq!((again.code, stage.calls().len()), (AuthCode::NotLoggedIn, 1));
    }

    #[tokio::test]
    async fn trouble_on_the_way_never_costs_the_login() {
        for (status, code, relogin) in [
            (429, AuthCode::RateLimited, false),
            (503, AuthCode::ServerError, false),
            (302, AuthCode::WrongHost, false),
            (403, AuthCode::Refused, false),
        ] {
            let stage = Stage::new(move |_| (status, json!({})));
            let before = codex("opaque-old", "r1");
            stage.write(CODEX_STATE, &before);
            let error = renew(Renewal::Codex, refused("opaque-old"), stage.cx.clone()).await.expect_err("no");
            assert_eq!((error.code, error.relogin_required), (code, relogin), "{status}");
            assert_eq!(stage.read(CODEX_STATE), before, "{status}");
        }
    }

    #[tokio::test]
    async fn a_refused_token_may_have_been_renewed_by_someone_without_our_lock() {
        let folder = Arc::new(Mutex::new(None::<std::path::PathBuf>));
        let place = Arc::clone(&folder);
        let stage = Stage::new(move |_| {
            let home = place.lock().expect("unpoisoned").clone().expect("set");
            let theirs = json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-theirs", "refreshToken": "r9",
                "expiresAt": (rehearsal::START + 5_000) * 1000}});
            rehearsal::write(&home, "claude.json", &theirs);
            (400, json!({"error": "invalid_grant"}))
        });
        *folder.lock().expect("unpoisoned") = stage.home().parent().map(Into::into);
        stage.write(
            "claude.json",
            &json!({"claudeAiOauth": {"accessToken": "sk-ant-oat-old", "refreshToken": "r1", "expiresAt": 1}}),
        );
        let renewed = renew(Renewal::ClaudeCode, Need::Expiring, stage.cx.clone()).await.expect("adopted");
        assert!(renewed.secret.has_prefix("sk-ant-oat-theirs"));
    }

    #[tokio::test]
    async fn the_codex_program_helps_out_but_keeps_its_refresh_token() {
        let theirs = jwt_until("cli", 5_000);
        let stage = Stage::new(|_| (401, json!({"error": "refresh_token_reused"})));
        stage.write(CODEX_STATE, &codex("opaque-old", "r1"));
        let file = json!({"tokens": {"access_token": theirs, "refresh_token": "cli-refresh"}});
        stage.write("codex.json", &file);
        for _ in 0..2 {
            let renewed = renew(Renewal::Codex, refused("opaque-old"), stage.cx.clone()).await.expect("borrowed");
            assert_eq!(renewed.secret.fingerprint(), Secret::usable(&theirs).expect("usable").fingerprint());
        }
        assert_eq!(stage.calls().len(), 1, "the dead token is not tried again");
        assert_eq!(stage.read("codex.json"), file);
        assert!(!stage.read(CODEX_STATE).to_string().contains("cli-refresh"));

        let expired = json!({"tokens": {"access_token": jwt_until("cli", 60)}});
        stage.write("codex.json", &expired);
        let error = renew(Renewal::Codex, refused("opaque-old"), stage.cx.clone()).await.expect_err("too old");
        assert_eq!(error.code, AuthCode::NotLoggedIn);
    }

    #[tokio::test]
    async fn copies_of_a_login_are_renewed_together() {
        let stage = Stage::new(single_use("opaque-new".into()));
        let row = |id: &str, source: &str, refresh: &str| json!({"id": id, "source": source, "auth_type": "oauth", "access_token": "opaque-old", "refresh_token": refresh});
        let mut before = codex("opaque-old", "r1");
        before["credential_pool"] =
            json!({"openai-codex": [row("aaaaaa", "device_code", "r1"), row("bbbbbb", "manual:device_code", "other")]});
        stage.write(CODEX_STATE, &before);
        let renewal = Renewal::PoolRow { provider: CODEX.into(), id: "aaaaaa".into() };
        renew(renewal, refused("opaque-old"), stage.cx.clone()).await.expect("renewed");
        let after = stage.read(CODEX_STATE);
        let pool = &after["credential_pool"]["openai-codex"];
        assert_eq!(after["providers"]["openai-codex"]["tokens"]["refresh_token"], "r2");
        assert_eq!((&pool[0]["refresh_token"], &pool[0]["access_token"]), (&json!("r2"), &json!("opaque-new")));
        assert_eq!(pool[1], row("bbbbbb", "manual:device_code", "other"));
    }

    #[tokio::test]
    async fn a_profile_renews_the_root_login_it_borrows() {
        let stage = Stage::new(single_use("opaque-new".into()));
        stage.write(CODEX_STATE, &codex("opaque-old", "r1"));
        stage.write("home/profiles/work/auth.json", &json!({"version": 1, "providers": {}}));
        let mut paths = stage.cx.paths.clone();
        paths.root = Some(paths.home.clone());
        paths.home = paths.home.join("profiles/work");
        let (transport, clock) = (stage.cx.transport.clone(), stage.clock.clone());
        let cx = AuthContext::new(paths, stage.cx.endpoints.clone(), transport, clock, Vec::new());
        renew(Renewal::Codex, refused("opaque-old"), Arc::new(cx)).await.expect("renewed");
        assert_eq!(stage.read(CODEX_STATE)["providers"]["openai-codex"]["tokens"]["refresh_token"], "r2");
        assert_eq!(stage.read("home/profiles/work/auth.json"), json!({"version": 1, "providers": {}}));
    }

    #[tokio::test]
    async fn nous_sends_its_refresh_token_in_a_header_to_a_known_portal_only() {
        let stage = Stage::new(single_use(jwt_until("new", 9_000)));
        let state = json!({"portal_base_url": "https://portal.evil.test", "access_token": jwt_until("old", 10), "refresh_token": "r1-nous"});
        stage.write("home/auth.json", &json!({"providers": {"nous": state}}));
        renew(Renewal::Nous, Need::Expiring, stage.cx.clone()).await.expect("renewed");
        let call = &stage.calls()[0];
        assert_eq!(call.url, "https://portal.nousresearch.com/api/oauth/token");
        assert_eq!(call.body, "grant_type=refresh_token&client_id=hermes-cli");
        assert!(call.headers.contains(&("x-nous-refresh-token".into(), "r1-nous".into())));
    }

    #[tokio::test]
    async fn a_nous_token_without_the_right_scope_is_kept_but_not_used() {
        let wrong = jwt::token(&json!({"exp": rehearsal::START + 9_000, "scope": "billing:manage"}));
        let stage = Stage::new(single_use(wrong));
        stage.write(
            "home/auth.json",
            &json!({"providers": {"nous": {"access_token": jwt_until("old", 10), "refresh_token": "r1-nous"}}}),
        );
        let error = renew(Renewal::Nous, Need::Expiring, stage.cx.clone()).await.expect_err("useless");
        assert_eq!(error.code, AuthCode::UnsupportedToken);
        assert_eq!(stage.read("home/auth.json")["providers"]["nous"]["refresh_token"], "r2");
    }
}
