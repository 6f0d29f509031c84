//! Everything read and wired together once per run: home, environment, settings, logins, transport.
//!
//! The only place where environment variables and files of settings turn into the plain values the libraries take.

use crate::commands::Trouble;
use crate::settings::{Environment, Home, Settings, UserFile};
use hermes_core::clock::{Clock, RealClock};
use hermes_model::auth::{AuthContext, AuthPaths, Endpoints, Logins, SETTLE_LIMIT, Source, copilot};
use hermes_model::board::{Board, Knowledge};
use hermes_model::http::{HttpOptions, HttpTransport};
use hermes_model::provider::almanac::Almanac;
use hermes_model::provider::table::PROVIDERS;
use hermes_model::provider::{AuthKind, Provider, mode};
use hermes_model::resolve::{Ask, Env, ModelConfig};
use hermes_model::secret::Secret;
use hermes_model::transport::Transport;
use hermes_model::voice::Endpoint;
use hermes_model::wire::ApiMode;
use hermes_types::Fault;
use jiff::Timestamp;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use url::Url;

/// Files of certificates to trust instead of the system's.
pub(crate) const CA_VARIABLES: [&str; 3] = ["HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"];
const GITHUB_VARIABLES: [&str; 3] = ["COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN"];
/// What is over sooner needs no explanation.
const WORTH_A_LINE: Duration = Duration::from_secs(1);
const GH_TIMEOUT: Duration = Duration::from_secs(5);

pub struct App {
    pub home: Home,
    pub environment: Environment,
    pub settings: Settings,
    pub knowledge: Arc<Knowledge>,
    pub auth: Arc<AuthContext>,
    pub transport: Arc<dyn Transport>,
    pub clock: Arc<dyn Clock>,
    /// What is odd about the settings; told to the person, never fatal.
    pub warnings: Vec<String>,
}

impl App {
    /// `wanted` is the provider named on the command line, if any.
    pub async fn load(profile: Option<&str>, wanted: Option<&str>) -> Result<Self, Trouble> {
        let home = Home::of_process(profile)?;
        let environment = Environment::capture(&home);
        let ca_bundle = CA_VARIABLES.iter().find_map(|name| environment.get(name)).map(PathBuf::from);
        let transport = Arc::new(HttpTransport::new(HttpOptions { ca_bundle }));
        let cwd = std::env::current_dir().unwrap_or_else(|_| "/".into());
        Self::at(home, environment, cwd, transport, wanted).await
    }

    /// The same for a home, variables and a directory that need not be those of the process. Everything that is sent goes
    /// through `transport`.
    pub async fn at(
        home: Home,
        environment: Environment,
        cwd: PathBuf,
        transport: Arc<dyn Transport>,
        wanted: Option<&str>,
    ) -> Result<Self, Trouble> {
        let settings = Settings::load(&home, &environment, UserFile::Read)?;
        let (config, oddities) = ModelConfig::parse(settings.value());
        let mut warnings: Vec<String> = environment.warnings().to_vec();
        warnings.extend(oddities.into_iter().map(|oddity| format!("{}: {}", oddity.key, oddity.message)));

        let clock: Arc<dyn Clock> = Arc::new(RealClock::default());
        let paths = auth_paths(&home, &environment);
        let endpoints = endpoints(&environment)?;
        let mut github = github_variables(&environment);
        let gh = github_program(&github, wanted.or(config.model.provider.as_deref())).await;
        let logins = Logins::load(&paths, &endpoints, gh.clone()).await;
        github.extend(gh.map(|token| (Source::GhCli, token)));
        warnings.extend(logins.warnings().iter().map(ToString::to_string));

        let auth = AuthContext::new(paths, endpoints, transport.clone(), clock.clone(), github);
        let now = time_of_day(&*clock);
        let seed = u64::try_from(now.as_nanosecond() & i128::from(u64::MAX)).unwrap_or_default();
        let knowledge = Knowledge::new(config, environment.for_resolver(), logins, cwd, now, seed)
            .with_almanac(Almanac::open(home.dir().to_owned()));
        Ok(Self {
            home,
            environment,
            settings,
            knowledge: Arc::new(knowledge),
            auth: Arc::new(auth),
            transport,
            clock,
            warnings,
        })
    }

    /// The switchboard of a conversation that starts with `ask`.
    pub fn board(&self, ask: Ask) -> Board {
        Board::new(ask, self.knowledge.clone(), self.auth.clone(), self.transport.clone())
    }

    /// Where `ask` leads, with a credential that is good now.
    pub async fn first_endpoint(&self, ask: Ask) -> Result<Endpoint, Fault> {
        let board = self.board(ask);
        let endpoint = board.first_endpoint().await;
        board.settled().await;
        endpoint
    }

    /// Waits for what must not be cut off when the program ends: a login that is just being renewed, and what is being
    /// written down about the credentials of a board. `tell` hears of it when it takes long, and of logins that could not
    /// be saved.
    pub async fn settle(&self, board: Option<&Board>, mut tell: impl FnMut(&str)) {
        let mut settling = std::pin::pin!(async {
            if let Some(board) = board {
                board.settled().await;
            }
            self.auth.settled().await
        });
        let settled = match tokio::time::timeout(WORTH_A_LINE, &mut settling).await {
            Ok(settled) => settled,
            Err(_) => {
                tell(&format!("finishing what is being saved about logins, at most {} s more", SETTLE_LIMIT.as_secs()));
                settling.await
            }
        };
        if !settled {
            tell("the renewal of the login did not end; if the login is refused next time, log in again");
        }
        self.auth.warnings().iter().for_each(|warning| tell(warning));
    }

    pub fn env(&self) -> &Env {
        &self.knowledge.env
    }

    /// Where a local server would listen: the addresses of the table, moved by their environment variables.
    pub fn local_servers(&self) -> Vec<(&'static Provider, Url)> {
        let local = |row: &&Provider| row.is_self_hosted() && !row.base_url.is_empty();
        let address = |row: &Provider| {
            let moved = row.base_env.iter().find_map(|name| self.env().setting(name));
            let url = mode::read_base_url(row, moved.unwrap_or(row.base_url)).ok()?;
            Some(mode::settle(row, ApiMode::ChatCompletions, url))
        };
        PROVIDERS.iter().filter(local).filter_map(|row| Some((row, address(row)?))).collect()
    }

    /// The time of day by this run's clock.
    pub fn now(&self) -> Timestamp {
        time_of_day(&*self.clock)
    }
}

fn time_of_day(clock: &dyn Clock) -> Timestamp {
    Timestamp::try_from(clock.now()).unwrap_or(Timestamp::UNIX_EPOCH)
}

fn auth_paths(home: &Home, environment: &Environment) -> AuthPaths {
    let user_home = environment.get("HOME").map(PathBuf::from);
    let below = |folder: &str| user_home.as_ref().map(|home| home.join(folder));
    let codex_home = environment.get("CODEX_HOME").map(PathBuf::from).or_else(|| below(".codex"));
    AuthPaths {
        home: home.dir().to_owned(),
        root: home.profile().map(|_| home.root().dir().to_owned()),
        claude_code: below(".claude/.credentials.json"),
        codex_cli: codex_home.map(|folder| folder.join("auth.json")),
    }
}

fn endpoints(environment: &Environment) -> Result<Endpoints, Trouble> {
    let mut endpoints = Endpoints::default();
    let portal =
        ["HERMES_PORTAL_BASE_URL", "NOUS_PORTAL_BASE_URL"].into_iter().find(|name| environment.get(name).is_some());
    if let Some(name) = portal {
        let text = environment.get(name).unwrap_or_default();
        endpoints.nous_portal =
            text.parse().map_err(|error| Trouble::Refused(format!("{name} is not a URL ({error}): {text}")))?;
    }
    Ok(endpoints)
}

/// The GitHub tokens of the environment, which Copilot sessions can be bought with.
fn github_variables(environment: &Environment) -> Vec<(Source, Secret)> {
    let token = |name: &&str| Some((Source::Env((*name).to_owned()), Secret::usable(environment.get(name)?)?));
    GITHUB_VARIABLES.iter().filter_map(token).collect()
}

/// The token of GitHub's own program, when Copilot is wanted and no variable has one that it takes.
async fn github_program(variables: &[(Source, Secret)], provider: Option<&str>) -> Option<Secret> {
    let found = variables.iter().any(|(_, token)| copilot::check_github_token(token).is_ok());
    let wanted = provider.and_then(Provider::find).is_some_and(|row| row.auth == AuthKind::CopilotToken);
    if found || !wanted {
        return None;
    }
    let mut gh = tokio::process::Command::new("gh");
    gh.args(["auth", "token"]).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(GH_TIMEOUT, gh.output()).await.ok()?.ok()?;
    Secret::usable(&String::from_utf8_lossy(&output.stdout))
}
