//! The switchboard of a conversation: the person's choice, its spare credentials, and the fallbacks behind it.
//!
//! Each place of the chain is an [`Ask`] that is resolved when it is first needed. Renewing a login, rotating a key and
//! falling back all end in the same way: another immutable [`Runtime`], another [`Voice`]. Auxiliary jobs use a board of
//! their own, whose places are resolved already.

use crate::auth::pool::{self, Strategy};
use crate::auth::provider_id::CODEX;
use crate::auth::{AuthContext, Logins, Need, Renewed, Row, Source, Standing, renew};
use crate::catalog;
use crate::notes::Notes;
use crate::process::{ProcessModel, TcpAddress, launch};
use crate::provider::AuthKind;
use crate::provider::almanac::Almanac;
use crate::provider::tariff::Tariff;
use crate::resolve::{self, Ask, Credential, Env, Known, ModelConfig, ResolveError, Runtime, Stored, StoredCredential};
use crate::secret::{Origin, Secret};
use crate::transport::Transport;
use crate::voice::{Endpoint, Voice};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use hermes_core::ports::{Card, Model, Switchboard};
use hermes_types::{Fault, FaultKind};
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;

/// An agent program may work on its answer for this long.
const EXTERNAL_LIMIT: Duration = Duration::from_secs(900);

/// Everything known about the person's machine, read once.
pub struct Knowledge {
    pub config: ModelConfig,
    pub env: Env,
    pub logins: Logins,
    /// Where programs are started.
    pub cwd: PathBuf,
    /// What endpoints said about their models; one that is kept in a home grows while questions are asked.
    pub almanac: Arc<Almanac>,
    stored: Stored,
}

pub struct Board {
    knowledge: Arc<Knowledge>,
    auth: Arc<AuthContext>,
    transport: Arc<dyn Transport>,
    places: Vec<Mutex<Place>>,
    notes: Arc<Notes>,
    /// A list of models that is being asked for.
    looking: Mutex<JoinSet<()>>,
}

struct Place {
    ask: Ask,
    /// The runtime in use, once opened.
    runtime: Option<Runtime>,
    /// Somebody else chose the endpoint, so only the credential may change.
    is_settled: bool,
    /// Credentials that others took over from, and until when each is left alone.
    resting: BTreeMap<String, Timestamp>,
    /// Credentials that rested once and have not answered since.
    rested: BTreeSet<String>,
    /// Credentials that answered, and so have nothing held against them.
    well: BTreeSet<String>,
}

/// A runtime whose credential did not work, and why.
struct Failed {
    runtime: Runtime,
    fault: Fault,
}

impl Knowledge {
    /// `seed` decides between credentials where the strategy leaves it to chance.
    pub fn new(config: ModelConfig, env: Env, logins: Logins, cwd: PathBuf, now: Timestamp, seed: u64) -> Self {
        let stored = stored(&config, &logins, now, seed);
        Self { config, env, logins, cwd, almanac: Arc::default(), stored }
    }

    #[must_use]
    pub fn with_almanac(self, almanac: Almanac) -> Self {
        Self { almanac: Arc::new(almanac), ..self }
    }

    pub fn known(&self) -> Known<'_> {
        Known { config: &self.config, env: &self.env, stored: &self.stored, almanac: &self.almanac }
    }

    pub fn resolve(&self, ask: &Ask) -> Result<Runtime, ResolveError> {
        resolve::resolve(ask, &self.known())
    }
}

impl Board {
    /// A board for a conversation: what is asked for first, the configured fallbacks behind it.
    pub fn new(primary: Ask, knowledge: Arc<Knowledge>, auth: Arc<AuthContext>, transport: Arc<dyn Transport>) -> Self {
        let chain = std::iter::once(primary).chain(resolve::chain(&knowledge.config));
        let places = chain.map(|ask| Mutex::new(Place::new(ask, None))).collect();
        let notes = Arc::new(Notes::new(auth.clone()));
        Self { knowledge, auth, transport, places, notes, looking: Mutex::default() }
    }

    /// A board whose places are resolved already. Its notes are somebody else's to wait for.
    pub(crate) fn of_runtimes(
        runtimes: impl IntoIterator<Item = Runtime>,
        knowledge: Arc<Knowledge>,
        auth: Arc<AuthContext>,
        transport: Arc<dyn Transport>,
        notes: Arc<Notes>,
    ) -> Self {
        let place = |runtime: Runtime| {
            let ask =
                Ask { provider: Some(runtime.name.clone()), model: Some(runtime.model.clone()), ..Ask::default() };
            Mutex::new(Place::new(ask, Some(runtime)))
        };
        let places = runtimes.into_iter().map(place).collect();
        Self { knowledge, auth, transport, places, notes, looking: Mutex::default() }
    }

    /// Waits for what is being written down about credentials; to be called when the conversation ends.
    pub async fn settled(&self) {
        self.notes.settled().await;
    }

    /// The first place with a credential that is good now, for questions beside the conversation: which models are there?
    pub async fn first_endpoint(&self) -> Result<Endpoint, Fault> {
        let nobody = || Fault::new(FaultKind::NotConfigured, "there is nobody to ask");
        let place = self.places.first().ok_or_else(nobody)?;
        let runtime = self.knowledge.resolve(&self.ask(place)).map_err(|error| not_configured(&error))?;
        if runtime.provider.auth == AuthKind::ExternalProcess {
            let message = format!("{} is a program of its own and lists no models", runtime.label);
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        let runtime = self.working(place, Some(runtime), Vec::new()).await?;
        Ok(self.endpoint(&runtime))
    }

    async fn open_place(&self, at: usize) -> Result<Option<Arc<dyn Model>>, Fault> {
        let Some(place) = self.places.get(at) else { return Ok(None) };
        let runtime = match with(place, |place| place.runtime.clone()) {
            Some(runtime) => runtime,
            None => self.knowledge.resolve(&self.ask(place)).map_err(|error| not_configured(&error))?,
        };
        if at > 0 && self.is_primary(&runtime) {
            let message = format!("the fallback {} is the same as the first choice", runtime.model);
            return Err(Fault::new(FaultKind::NotConfigured, message));
        }
        if runtime.provider.auth == AuthKind::ExternalProcess {
            return self.external(&runtime).map(Some);
        }
        let runtime = self.working(place, Some(runtime), Vec::new()).await?;
        Ok(Some(self.take(place, runtime)))
    }

    async fn keep_place(&self, at: usize) -> Result<Option<Arc<dyn Model>>, Fault> {
        let Some(place) = self.places.get(at) else { return Ok(None) };
        let in_use = with(place, |place| place.runtime.clone());
        let Some(due) = in_use.filter(|runtime| self.is_due(runtime)) else { return Ok(None) };
        let runtime = self.working(place, Some(due), Vec::new()).await?;
        Ok(Some(self.take(place, runtime)))
    }

    /// The first credential that is good now: that of `next`, else the others of its pool. Only once another has taken
    /// over do those that failed rest; a credential without a successor is better than none. When nothing works, the
    /// first reason is the one worth reporting.
    async fn working(
        &self,
        place: &Mutex<Place>,
        mut next: Option<Runtime>,
        mut failed: Vec<Failed>,
    ) -> Result<Runtime, Fault> {
        // Each round avoids one credential more, so this ends.
        while let Some(runtime) = next.take().or_else(|| self.successor(place, &failed)) {
            match self.preflight(runtime.clone()).await {
                Ok(ready) => {
                    failed.iter().for_each(|failed| self.rest(place, failed));
                    return Ok(ready);
                }
                Err(fault) => failed.push(Failed { runtime, fault }),
            }
        }
        let first = failed.into_iter().next().map(|failed| failed.fault);
        Err(first.unwrap_or_else(|| Fault::new(FaultKind::NotConfigured, "no credential is left")))
    }

    /// The same runtime with a credential that neither rests nor just failed.
    fn successor(&self, place: &Mutex<Place>, failed: &[Failed]) -> Option<Runtime> {
        let mut ask = self.ask(place);
        ask.avoid.extend(failed.iter().map(|failed| failed.runtime.credential.id.clone()));
        let is_settled = with(place, |place| place.is_settled);
        sibling(&failed.last()?.runtime, self.knowledge.resolve(&ask).ok()?, is_settled)
    }

    /// What is asked for at a place, less the credentials that rest and with those whose rest is over by now.
    fn ask(&self, place: &Mutex<Place>) -> Ask {
        let now = self.now();
        let over = |row: &&StoredCredential| row.rests_until.is_some_and(|until| until <= now);
        let rested = self.knowledge.stored.rows.iter().filter(over).map(|row| row.id.clone()).collect();
        with(place, |place| {
            place.resting.retain(|_, until| *until > now);
            Ask { avoid: place.resting.keys().cloned().collect(), rested, ..place.ask.clone() }
        })
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
        let Some(renewal) = runtime.credential.renewal.clone().filter(|_| self.is_due(&runtime)) else {
            return Ok(runtime);
        };
        match renew(renewal, Need::Expiring, self.auth.clone()).await {
            Ok(renewed) => Ok(with_secret(runtime, renewed)),
            Err(_) if !needs_exchange(&runtime) && !self.ends_within(&runtime, Duration::ZERO) => Ok(runtime),
            Err(error) => Err(error.fault()),
        }
    }

    /// Whether the credential has to be renewed before it is used.
    fn is_due(&self, runtime: &Runtime) -> bool {
        let renewal = runtime.credential.renewal.as_ref();
        renewal.is_some_and(|renewal| needs_exchange(runtime) || self.ends_within(runtime, renewal.skew()))
    }

    fn ends_within(&self, runtime: &Runtime, span: Duration) -> bool {
        let horizon = u64::try_from(self.now().as_second()).unwrap_or(0) + span.as_secs();
        runtime.credential.expires_at.is_some_and(|end| end <= horizon)
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
        let runtime = with(place, |place| place.runtime.clone())?;
        let failed = vec![Failed { runtime, fault: fault.clone() }];
        let next = self.working(place, None, failed).await.ok()?;
        Some(self.take(place, next))
    }

    /// A credential rests: here at once, for other processes as soon as it is written down.
    fn rest(&self, place: &Mutex<Place>, failed: &Failed) {
        let Failed { runtime, fault } = failed;
        let (id, now) = (runtime.credential.id.clone(), self.now());
        let until = now.checked_add(pool::rest(fault)).unwrap_or(Timestamp::MAX);
        with(place, |place| {
            place.rested.insert(id.clone());
            place.resting.insert(id, until);
        });
        let Some(row) = self.row_of(runtime) else { return };
        let (auth, provider, fault) = (self.auth.clone(), runtime.name.clone(), fault.clone());
        self.notes.take(async move { auth.store().rest_row(&*auth.clock, &provider, &row, &fault, now).await });
    }

    /// Counts the answer where the strategy shares the work by such counts, and takes back what was held against the
    /// credential.
    fn praise(&self, at: usize) {
        let Some(place) = self.places.get(at) else { return };
        let Some(runtime) = with(place, |place| place.runtime.clone()) else { return };
        let Some(row) = self.row_of(&runtime) else { return };
        // Something is held against a row that rested since, or had rested when we began.
        let blamed = with(place, |place| {
            let rested = place.rested.remove(row.id());
            let first = place.well.insert(row.id().to_owned());
            rested || (first && row.has_verdict())
        });
        let (auth, provider) = (self.auth.clone(), runtime.name.clone());
        let strategy = self.knowledge.config.strategies.get(&runtime.name).copied().unwrap_or_default();
        if matches!(strategy, Strategy::RoundRobin | Strategy::LeastUsed) {
            self.notes.take(async move { auth.store().count_use(&*auth.clock, &provider, &row, strategy).await });
        } else if blamed {
            self.notes.take(async move { auth.store().clear_row(&*auth.clock, &provider, row.id()).await });
        }
    }

    /// Writes down what a model really takes, beside the conversation.
    fn remember(&self, at: usize, window: u64) {
        let Some(runtime) = self.places.get(at).and_then(|place| with(place, |place| place.runtime.clone())) else {
            return;
        };
        let almanac = self.knowledge.almanac.clone();
        self.notes.take(async move {
            let kept = tokio::task::spawn_blocking(move || almanac.learn(&runtime.base_url, &runtime.model, window));
            // It fails only when the program ends; the next refusal says it again.
            let _ = kept.await;
            Ok(())
        });
    }

    /// Asks an endpoint for its list by the way, when the last one is old. No question waits for it; what has not come
    /// when the conversation ends is dropped.
    fn look_up(&self, endpoint: &Endpoint) {
        let Knowledge { almanac, config, .. } = &*self.knowledge;
        let clock = self.auth.clock.clone();
        let is_wanted = almanac.is_kept() && config.asks_catalogues;
        if !is_wanted || almanac.is_fresh(&endpoint.target.base_url, clock.now()) {
            return;
        }
        let mut looking = self.looking.lock().unwrap_or_else(PoisonError::into_inner);
        if looking.is_empty() {
            let (endpoint, almanac, transport) = (endpoint.clone(), almanac.clone(), self.transport.clone());
            looking.spawn(async move {
                if let Err(fault) = catalog::refresh(&endpoint, &almanac, &*transport, &*clock).await {
                    tracing::debug!(%fault, "no list of models");
                }
            });
        }
    }

    /// The row of the pool that the runtime's credential came from.
    fn row_of(&self, runtime: &Runtime) -> Option<Row> {
        let rows = self.knowledge.logins.pool(&runtime.name, Vec::new());
        rows.into_iter().find(|row| row.id() == runtime.credential.id)
    }

    fn take(&self, place: &Mutex<Place>, runtime: Runtime) -> Arc<dyn Model> {
        let tariff = Tariff::of(&runtime, &self.knowledge.config.prices, self.knowledge.almanac.clone());
        let endpoint = self.endpoint(&runtime);
        if !with(place, |place| place.is_settled) {
            self.look_up(&endpoint);
        }
        let voice = Voice::new(endpoint, self.transport.clone()).priced_by(tariff);
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

    fn keep(&self, place: usize) -> BoxFuture<'_, Result<Option<Arc<dyn Model>>, Fault>> {
        self.keep_place(place).boxed()
    }

    fn answered(&self, place: usize) {
        self.praise(place);
    }

    fn learnt(&self, place: usize, window: u64) {
        self.remember(place, window);
    }

    fn refresh<'a>(&'a self, place: usize, _fault: &'a Fault) -> BoxFuture<'a, Result<Option<Arc<dyn Model>>, Fault>> {
        self.refresh_place(place).boxed()
    }

    fn rotate<'a>(&'a self, place: usize, fault: &'a Fault) -> BoxFuture<'a, Option<Arc<dyn Model>>> {
        self.rotate_place(place, fault).boxed()
    }
}

impl Place {
    /// A place somebody resolved already keeps its endpoint.
    fn new(ask: Ask, runtime: Option<Runtime>) -> Self {
        let is_settled = runtime.is_some();
        Self { ask, runtime, is_settled, resting: BTreeMap::new(), rested: BTreeSet::new(), well: BTreeSet::new() }
    }
}

/// A GitHub token is not a Copilot session. A session says when it ends, a token does not.
fn needs_exchange(runtime: &Runtime) -> bool {
    runtime.provider.auth == AuthKind::CopilotToken && runtime.credential.expires_at.is_none()
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

/// The stored credentials: first those that may be used now, each provider's in the order its strategy demands, then those
/// that rest. A dead one is as good as none.
fn stored(config: &ModelConfig, logins: &Logins, now: Timestamp, seed: u64) -> Stored {
    let mut rows = Vec::new();
    for provider in logins.providers() {
        let strategy = config.strategies.get(&provider).copied().unwrap_or_default();
        let mut left = logins.pool(&provider, Vec::new());
        while let Some(next) = pool::choose(&left, strategy, now, seed) {
            rows.extend(stored_row(&provider, &left.remove(next), None, logins));
        }
        rows.extend(left.iter().filter_map(|row| match row.standing(now) {
            Standing::Resting { until } => stored_row(&provider, row, Some(until), logins),
            Standing::Ready | Standing::Dead { .. } => None,
        }));
    }
    Stored { rows, active_provider: logins.active_provider().map(str::to_owned) }
}

fn stored_row(provider: &str, row: &Row, rests_until: Option<Timestamp>, logins: &Logins) -> Option<StoredCredential> {
    Some(StoredCredential {
        id: row.id().to_owned(),
        provider: provider.to_owned(),
        login: row.auth_type().into(),
        secret: row.secret()?,
        source: row.source().to_string(),
        expires_at: row.expires_at().and_then(|end| u64::try_from(end.as_second()).ok()),
        base_url: row.base_url().and_then(|url| url.parse().ok()),
        renewal: logins.renewal(provider, row),
        account: Some(row).filter(|_| provider == CODEX).and_then(|row| codex_account(row, logins)),
        rests_until,
    })
}

/// Several logins are several accounts: only the main one is that of the stored state.
fn codex_account(row: &Row, logins: &Logins) -> Option<String> {
    match row.source() {
        Source::DeviceCode => logins.codex()?.account_id.clone(),
        _ => row.chatgpt_account_id(),
    }
}
