//! The switchboard of a conversation: the person's choice, its spare credentials, and the fallbacks behind it.
//!
//! Each place of the chain is an [`Ask`] that is resolved when it is first needed. Renewing a login, rotating a key and
//! falling back all end in the same way: another immutable [`Runtime`], another [`Voice`]. Auxiliary jobs use a board of
//! their own, whose places are resolved already.

use crate::auth::pool::{self, Strategy};
use crate::auth::provider_id::CODEX;
use crate::auth::{AuthContext, AuthType, Logins, Need, Renewal, Renewed, Row, Source, renew};
use crate::process::{ProcessModel, TcpAddress, launch};
use crate::provider::AuthKind;
use crate::resolve::{self, Ask, Credential, Env, Known, ModelConfig, ResolveError, Runtime, Stored, StoredCredential};
use crate::secret::{Origin, Secret};
use crate::transport::Transport;
use crate::voice::{Endpoint, Voice};
use crate::wire::Login;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_types::{Fault, FaultKind};
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// An agent program may work on its answer for this long.
const EXTERNAL_LIMIT: Duration = Duration::from_secs(900);

/// Everything known about the person's machine, read once.
pub struct Knowledge {
    pub config: ModelConfig,
    pub env: Env,
    pub logins: Logins,
    /// Where programs are started.
    pub cwd: PathBuf,
    stored: Stored,
}

pub struct Board {
    knowledge: Arc<Knowledge>,
    auth: Arc<AuthContext>,
    transport: Arc<dyn Transport>,
    places: Vec<Mutex<Place>>,
}

struct Place {
    /// What is asked for; credentials that failed are added to what it avoids.
    ask: Ask,
    /// The runtime in use, once opened.
    runtime: Option<Runtime>,
    /// Somebody else chose the endpoint, so only the credential may change.
    is_settled: bool,
}

impl Knowledge {
    /// `seed` decides between credentials where the strategy leaves it to chance.
    pub fn new(config: ModelConfig, env: Env, logins: Logins, cwd: PathBuf, now: Timestamp, seed: u64) -> Self {
        let stored = stored(&config, &logins, now, seed);
        Self { config, env, logins, cwd, stored }
    }

    pub fn known(&self) -> Known<'_> {
        Known { config: &self.config, env: &self.env, stored: &self.stored }
    }

    pub fn resolve(&self, ask: &Ask) -> Result<Runtime, ResolveError> {
        resolve::resolve(ask, &self.known())
    }
}

impl Board {
    /// A board for a conversation: what is asked for first, the configured fallbacks behind it.
    pub fn new(primary: Ask, knowledge: Arc<Knowledge>, auth: Arc<AuthContext>, transport: Arc<dyn Transport>) -> Self {
        let chain = std::iter::once(primary).chain(resolve::chain(&knowledge.config));
        let places = chain.map(|ask| Mutex::new(Place { ask, runtime: None, is_settled: false })).collect();
        Self { knowledge, auth, transport, places }
    }

    /// A board whose places are resolved already.
    pub fn of_runtimes(
        runtimes: impl IntoIterator<Item = Runtime>,
        knowledge: Arc<Knowledge>,
        auth: Arc<AuthContext>,
        transport: Arc<dyn Transport>,
    ) -> Self {
        let place = |runtime: Runtime| {
            let ask =
                Ask { provider: Some(runtime.name.clone()), model: Some(runtime.model.clone()), ..Ask::default() };
            Mutex::new(Place { ask, runtime: Some(runtime), is_settled: true })
        };
        Self { knowledge, auth, transport, places: runtimes.into_iter().map(place).collect() }
    }

    /// The first place with a credential that is good now, for questions beside the conversation: which models are there?
    pub async fn first_endpoint(&self) -> Result<Endpoint, Fault> {
        let ask = self.places.first().map(|place| with(place, |place| place.ask.clone())).unwrap_or_default();
        let runtime = self.knowledge.resolve(&ask).map_err(|error| not_configured(&error))?;
        if runtime.provider.auth == AuthKind::ExternalProcess {
            let message = format!("{} is a program of its own and lists no models", runtime.label);
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        let runtime = self.preflight(runtime).await?;
        Ok(self.endpoint(&runtime))
    }

    async fn open_place(&self, at: usize) -> Result<Option<Arc<dyn Model>>, Fault> {
        let Some(place) = self.places.get(at) else { return Ok(None) };
        let (ask, resolved) = with(place, |place| (place.ask.clone(), place.runtime.clone()));
        let runtime = match resolved {
            Some(runtime) => runtime,
            None => self.knowledge.resolve(&ask).map_err(|error| not_configured(&error))?,
        };
        if at > 0 && self.is_primary(&runtime) {
            let message = format!("the fallback {} is the same as the first choice", runtime.model);
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        if runtime.provider.auth == AuthKind::ExternalProcess {
            return self.external(&runtime).map(Some);
        }
        let runtime = self.preflight(runtime).await?;
        self.tally(&runtime).await;
        Ok(Some(self.take(place, runtime)))
    }

    /// A model behind a program of its own. It has its own login, so there is nothing to renew or rotate.
    fn external(&self, runtime: &Runtime) -> Result<Arc<dyn Model>, Fault> {
        let card = Card { give_up_after: EXTERNAL_LIMIT, ..Endpoint::of(runtime).card };
        let cwd = self.knowledge.cwd.clone();
        Ok(Arc::new(match TcpAddress::of(&runtime.base_url) {
            Some(address) => ProcessModel::at(card, address, cwd),
            None => ProcessModel::new(card, launch::copilot(&self.knowledge.env, cwd)?),
        }))
    }

    fn is_primary(&self, runtime: &Runtime) -> bool {
        let primary = self.places.first().and_then(|place| with(place, |place| place.runtime.clone()));
        primary.is_some_and(|primary| resolve::same_target(&primary, runtime))
    }

    /// A token that ends soon is renewed before it is used. One that cannot be renewed but still lives is used as it is.
    async fn preflight(&self, runtime: Runtime) -> Result<Runtime, Fault> {
        let Some(renewal) = runtime.credential.renewal.clone() else { return Ok(runtime) };
        let now = self.now();
        let ends_within = |skew: Duration| {
            let horizon = u64::try_from(now.as_second()).unwrap_or(0) + skew.as_secs();
            runtime.credential.expires_at.is_some_and(|end| end <= horizon)
        };
        // A GitHub token is not a Copilot session: it always has to be exchanged.
        let exchanged = runtime.provider.auth == AuthKind::CopilotToken;
        if !exchanged && !ends_within(renewal.skew()) {
            return Ok(runtime);
        }
        match renew(renewal, Need::Expiring, self.auth.clone()).await {
            Ok(renewed) => Ok(with_secret(runtime, renewed)),
            Err(_) if !exchanged && !ends_within(Duration::ZERO) => Ok(runtime),
            Err(error) => Err(error.fault()),
        }
    }

    async fn refresh_place(&self, at: usize) -> Result<Option<Arc<dyn Model>>, Fault> {
        let Some(place) = self.places.get(at) else { return Ok(None) };
        let Some(runtime) = with(place, |place| place.runtime.clone()) else { return Ok(None) };
        let Some(renewal) = runtime.credential.renewal.clone() else { return Ok(None) };
        let fingerprint = runtime.credential.secret.as_ref().map(|secret| secret.fingerprint()).unwrap_or_default();
        let renewed = renew(renewal, Need::Refused { fingerprint }, self.auth.clone()).await;
        let renewed = renewed.map_err(|error| error.fault())?;
        Ok(Some(self.take(place, with_secret(runtime, renewed))))
    }

    async fn rotate_place(&self, at: usize, fault: &Fault) -> Option<Arc<dyn Model>> {
        let place = self.places.get(at)?;
        let mut runtime = with(place, |place| place.runtime.clone())?;
        self.rest(&runtime, fault).await;
        // Each round avoids one credential more, so this ends.
        loop {
            let (ask, is_settled) = with(place, |place| {
                place.ask.avoid.insert(runtime.credential.id.clone());
                (place.ask.clone(), place.is_settled)
            });
            let next = sibling(&runtime, self.knowledge.resolve(&ask).ok()?, is_settled)?;
            match self.preflight(next.clone()).await {
                Ok(next) => {
                    self.tally(&next).await;
                    return Some(self.take(place, next));
                }
                Err(_) => runtime = next, // this login cannot be renewed; the one behind it may do
            }
        }
    }

    /// Writes down that a stored credential rests. A disk that refuses costs other processes the news, not us the turn.
    async fn rest(&self, runtime: &Runtime, fault: &Fault) {
        let Some(row) = self.row_of(runtime) else { return };
        let rested = self.auth.store().rest_row(&*self.auth.clock, &runtime.name, &row, fault).await;
        if let Err(error) = rested {
            tracing::warn!(%error, "a resting credential could not be written down");
        }
    }

    /// Counts the use of a stored credential, where the strategy shares the work by such counts.
    async fn tally(&self, runtime: &Runtime) {
        let strategy = self.knowledge.config.strategies.get(&runtime.name).copied().unwrap_or_default();
        if !matches!(strategy, Strategy::RoundRobin | Strategy::LeastUsed) {
            return;
        }
        let Some(row) = self.row_of(runtime) else { return };
        let counted = self.auth.store().count_use(&*self.auth.clock, &runtime.name, &row, strategy).await;
        if let Err(error) = counted {
            tracing::warn!(%error, "the use of a credential could not be counted");
        }
    }

    /// The row of the pool that the runtime's credential came from.
    fn row_of(&self, runtime: &Runtime) -> Option<Row> {
        let rows = self.knowledge.logins.pool(&runtime.name, Vec::new());
        rows.into_iter().find(|row| row.id() == runtime.credential.id)
    }

    fn take(&self, place: &Mutex<Place>, runtime: Runtime) -> Arc<dyn Model> {
        let voice = Voice::new(self.endpoint(&runtime), self.transport.clone());
        with(place, |place| place.runtime = Some(runtime));
        Arc::new(voice)
    }

    fn endpoint(&self, runtime: &Runtime) -> Endpoint {
        let mut endpoint = Endpoint::of(runtime);
        if let (Some(account), Some(secret)) = (&runtime.credential.account, &runtime.credential.secret) {
            let account = Secret::verbatim(account);
            endpoint.headers.push(("chatgpt-account-id".into(), account.bind(secret.origins().to_vec())));
        }
        endpoint
    }

    fn now(&self) -> Timestamp {
        Timestamp::try_from(self.auth.clock.now()).unwrap_or(Timestamp::UNIX_EPOCH)
    }
}

impl Switchboard for Board {
    fn open(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        self.open_place(place).boxed()
    }

    fn refresh<'a>(&'a self, place: usize, _fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        self.refresh_place(place).boxed()
    }

    fn rotate<'a>(&'a self, place: usize, fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        self.rotate_place(place, fault).boxed()
    }
}

fn with<T>(place: &Mutex<Place>, look: impl FnOnce(&mut Place) -> T) -> T {
    look(&mut place.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The runtime with the credential of another resolution. Another provider is no sibling. A credential that is served
/// at another endpoint comes with that endpoint, unless the endpoint is settled.
fn sibling(runtime: &Runtime, next: Runtime, is_settled: bool) -> Option<Runtime> {
    if next.name != runtime.name {
        return None;
    }
    if next.base_url == runtime.base_url {
        return Some(Runtime { credential: next.credential, ..runtime.clone() });
    }
    (!is_settled).then_some(next)
}

/// The same runtime with a renewed token, bound to the same origins. The vendor may move a session among its own hosts,
/// but not away from an endpoint the person chose.
fn with_secret(mut runtime: Runtime, renewed: Renewed) -> Runtime {
    let mut origins = runtime.credential.secret.as_ref().map(|old| old.origins().to_vec()).unwrap_or_default();
    let at_home = origins.iter().any(|origin| matches!(origin, Origin::Host(_)) && origin.admits(&runtime.base_url));
    if let Some(base_url) = renewed.base_url.filter(|_| at_home) {
        if !origins.iter().any(|origin| origin.admits(&base_url)) {
            origins.push(Origin::of(&base_url));
        }
        runtime.base_url = base_url;
    }
    let Credential { secret, expires_at, .. } = &mut runtime.credential;
    *secret = Some(renewed.secret.bind(origins));
    *expires_at = renewed.expires_at.and_then(|end| u64::try_from(end.as_second()).ok());
    runtime
}

fn not_configured(error: &ResolveError) -> Fault {
    Fault { code: Some(error.code().into()), ..Fault::new(FaultKind::NotConfigured, error.to_string()) }
}

/// The stored credentials that may be used now, each provider's in the order its strategy demands.
fn stored(config: &ModelConfig, logins: &Logins, now: Timestamp, seed: u64) -> Stored {
    let mut rows = Vec::new();
    for provider in logins.providers() {
        let strategy = config.strategies.get(&provider).copied().unwrap_or_default();
        let mut left = logins.pool(&provider, Vec::new());
        while let Some(next) = pool::choose(&left, strategy, now, seed) {
            let row = left.remove(next);
            let Some(secret) = row.secret() else { continue };
            rows.push(StoredCredential {
                id: row.id().to_owned(),
                provider: provider.clone(),
                login: match row.auth_type() {
                    AuthType::ApiKey => Login::ApiKey,
                    AuthType::OAuth => Login::OAuth,
                },
                secret,
                source: row.source().to_string(),
                expires_at: row.expires_at().and_then(|end| u64::try_from(end.as_second()).ok()),
                base_url: row.base_url().and_then(|url| url.parse().ok()),
                renewal: Renewal::of_row(&provider, &row),
                account: Some(&row).filter(|_| provider == CODEX).and_then(|row| codex_account(row, logins)),
            });
        }
    }
    Stored { rows, active_provider: logins.active_provider().map(str::to_owned), detected: Vec::new() }
}

/// Several logins are several accounts: only the main one is that of the stored state.
fn codex_account(row: &Row, logins: &Logins) -> Option<String> {
    match row.source() {
        Source::DeviceCode => logins.codex()?.account_id.clone(),
        _ => row.chatgpt_account_id(),
    }
}
