//! An agent, wired from what the person has set: model, store, hands, prompt, limits.

use crate::app::App;
use crate::args::How;
use crate::commands::Trouble;
use crate::economy;
use crate::hands::{self, Hands};
use crate::settings::Settings;
use hermes_agent::gather::{self, Answerer, PromptSettings, Sources};
use hermes_agent::{Agent, Beginning, Kit};
use hermes_core::ask::Manner;
use hermes_core::ports::{Listener, Switchboard};
use hermes_core::prompt::Prompt;
use hermes_core::store::{SessionStore, Sessions as _, StoreError};
use hermes_core::turn::budget::{Caps, ITERATIONS, Limits};
use hermes_model::resolve::{Ask, Runtime, sees_results};
use hermes_model::secret::Secret;
use hermes_model::wire::ApiMode;
use hermes_store::SqliteStore;
use hermes_tools::desk::{Pictures, Reach};
use hermes_tools::toolset::{self, Catalogue, Circumstances, Grant, Selection};
use hermes_types::{Event, NewSession, Notice, SessionId, Usd, clip};
use jiff::civil::Date;
use jiff::tz::TimeZone;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The place a conversation of the command line is told to be held at.
pub(crate) const CLI: &str = "cli";
/// Characters of a name that no session has.
const LONGEST_NAME: usize = 80;

/// What an agent of the command line is made of besides the settings.
pub(crate) struct Parts<'a> {
    pub(crate) app: &'a App,
    pub(crate) runtime: &'a Runtime,
    pub(crate) switchboard: Arc<dyn Switchboard>,
    pub(crate) hands: &'a Hands,
    /// The store, or why there is none.
    pub(crate) store: Result<&'a SqliteStore, String>,
    pub(crate) listener: Arc<dyn Listener>,
    /// A person sees the words as they come.
    pub(crate) live: bool,
    /// What it may call.
    pub(crate) tools: Grant,
    /// In place of `agent.max_turns`.
    pub(crate) max_turns: Option<u32>,
}

/// A conversation that is begun, or one that goes on.
pub(crate) enum Session {
    New { id: SessionId, source: String },
    Kept(SessionId),
}

impl Parts<'_> {
    pub(crate) async fn agent(self, session: Session) -> Result<Agent, Trouble> {
        let kit = Arc::new(self.kit()?);
        let (id, source) = match &session {
            Session::New { id, source } => (id.clone(), source.as_str()),
            Session::Kept(id) => (id.clone(), CLI),
        };
        let prompt = self.prompt(&session).await?;
        let new = NewSession {
            model: Some(self.runtime.model.clone()),
            cwd: Some(self.app.knowledge.cwd.display().to_string()),
            system_prompt: prompt,
            ..NewSession::new(id, source)
        };
        let beginning =
            Beginning { reach: Reach::OneShot, not_kept: self.store.err(), ..Beginning::new(new, self.tools) };
        let agent = match session {
            Session::New { .. } => Agent::begin(kit, beginning),
            Session::Kept(_) => Agent::resume(kit, beginning).await?,
        };
        let window = usize::try_from(self.runtime.limits.context_window).unwrap_or(usize::MAX);
        agent.desk().room.for_window(window);
        let stated = self.app.knowledge.config.model.supports_vision;
        if sees_results(self.runtime, stated) {
            agent.desk().sight.set(Pictures::Seen);
        }
        Ok(agent)
    }

    /// The prompt, built once in the life of a conversation: one that goes on has it already.
    async fn prompt(&self, session: &Session) -> Result<Option<String>, Trouble> {
        let id = match (session, &self.store) {
            (Session::New { id, .. }, _) => id,
            (Session::Kept(id), Ok(store)) => {
                let kept = store.session(id).await?.and_then(|kept| kept.system_prompt);
                if kept.is_some_and(|prompt| !prompt.trim().is_empty()) {
                    return Ok(None);
                }
                id
            }
            (Session::Kept(id), Err(_)) => id,
        };
        let offered = self.hands.known(self.tools.clone());
        let answerer = Answerer {
            model: self.runtime.model.clone(),
            provider: self.runtime.name.clone(),
            context_window: Some(self.runtime.limits.context_window),
        };
        let scene = Scene { session: id.clone(), platform: CLI, offered, answerer: Some(answerer) };
        let (prompt, notices) = prompt(self.app, self.hands, scene).await;
        for text in notices {
            self.listener.hear(Event::Notice { notice: Notice::Warning { text } });
        }
        Ok(Some(prompt.text()))
    }

    fn kit(&self) -> Result<Kit, Trouble> {
        let settings = &self.app.settings;
        let clock = self.app.clock.clone();
        let seed = u64::from(std::process::id()) ^ u64::from(clock.elapsed().subsec_nanos());
        let whole = |key: &str| {
            let number = settings.u64_at(key)?;
            Ok::<_, Trouble>(number.map(|number| u32::try_from(number).unwrap_or(u32::MAX)))
        };
        let retries = whole("agent.api_max_retries")?.unwrap_or(3);
        let iterations = self.max_turns.or(whole("agent.max_turns")?).unwrap_or(ITERATIONS);
        Ok(Kit {
            switchboard: self.switchboard.clone(),
            for_children: for_children(self.app)?,
            shop: self.hands.shop.clone(),
            registry: self.hands.registry.clone(),
            store: self.store.as_ref().ok().map(|store| Arc::new((*store).clone()) as Arc<dyn SessionStore>),
            till: self.hands.till.clone(),
            clock,
            listener: self.listener.clone(),
            hooks: self.hands.extensions.turn_hooks(&self.runtime.model),
            call_hooks: self.hands.extensions.call_hooks(),
            scribe: economy::scribe(self.app, self.hands, self.runtime)?,
            settings: hermes_agent::Settings {
                compression: economy::policy(settings)?,
                engine: economy::engine(settings)?,
                iterations,
                manner: Manner { retries, live: self.live, seed },
                limits: limits(settings)?,
                ..hermes_agent::Settings::default()
            },
        })
    }
}

/// For whom and where a prompt is built.
pub(crate) struct Scene<'a> {
    pub(crate) session: SessionId,
    pub(crate) platform: &'a str,
    pub(crate) offered: BTreeSet<String>,
    pub(crate) answerer: Option<Answerer>,
}

/// The system prompt of a conversation that begins here and now, and what the person should know about it.
pub(crate) async fn prompt(app: &App, hands: &Hands, scene: Scene<'_>) -> (Prompt, Vec<String>) {
    let Scene { session, platform, offered, answerer } = scene;
    let variable = |name: &str| app.environment.get(name).map(str::to_owned);
    let (settings, mut notices) = PromptSettings::read(&hands::effective(app), variable);
    let (today, no_zone) = today(app);
    let beginning = gather::Beginning {
        cwd: hands.desk(session.clone()).cwd(),
        session,
        names_session: false,
        platform: platform.to_owned(),
        toolsets: toolsets(hands, &offered),
        tools: offered,
        answerer,
        profile: app.home.profile().map(|profile| profile.as_str().to_owned()),
        today,
        system_message: app.settings.get("agent.system_prompt").and_then(|text| text.as_str().map(str::to_owned)),
        external_memory: None,
        sources: Sources::ALL,
    };
    let (prompt, told) = gather::prompt(&hands.shop, &settings, beginning).await;
    notices.extend(no_zone.into_iter().chain(told));
    (prompt, notices)
}

/// The sets that these tools are from.
fn toolsets(hands: &Hands, offered: &BTreeSet<String>) -> BTreeSet<String> {
    let tools = hands.registry.describe();
    let tools = tools.iter().filter(|tool| offered.contains(tool.card.name.as_ref()));
    tools.map(|tool| tool.card.toolset.to_string()).collect()
}

/// The day where the person is, and a word about a time zone that nobody knows.
fn today(app: &App) -> (Date, Option<String>) {
    let name = app.settings.get("timezone").and_then(|zone| zone.as_str().map(|zone| zone.trim().to_owned()));
    let wanted = name.filter(|name| !name.is_empty()).map(|name| TimeZone::get(&name).map_err(|error| (name, error)));
    let (zone, doubt) = match wanted {
        None => (TimeZone::system(), None),
        Some(Ok(zone)) => (zone, None),
        Some(Err((name, error))) => {
            (TimeZone::system(), Some(format!("timezone: {name} is not known ({error}); the machine's is used")))
        }
    };
    (app.now().to_zoned(zone).date(), doubt)
}

/// Whom sub-agents ask, where `delegation.*` names somebody else than their parent asks.
fn for_children(app: &App) -> Result<Option<Arc<dyn Switchboard>>, Trouble> {
    let set = |name: &str| -> Result<Option<String>, Trouble> {
        let value = app.settings.str_at(&format!("delegation.{name}"))?;
        Ok(value.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    };
    let ask = Ask {
        provider: set("provider")?,
        model: set("model")?,
        base_url: set("base_url")?,
        api_key: set("api_key")?.and_then(|key| Secret::usable(&key)),
        api_mode: set("api_mode")?.and_then(|mode| ApiMode::parse(&mode)),
        ..Ask::default()
    };
    let is_somebody = ask.provider.is_some() || ask.model.is_some() || ask.base_url.is_some();
    Ok(is_somebody.then(|| Arc::new(app.board(ask)) as Arc<dyn Switchboard>))
}

/// `budget.*`
fn limits(settings: &Settings) -> Result<Limits, Trouble> {
    let caps = |span: &str| -> Result<Caps, Trouble> {
        let key = format!("budget.{span}_seconds");
        // A limit that makes no sense is told: without a word it would be none.
        let wrong = |seconds: f64| {
            Trouble::Refused(format!(
                "`{key}` must be a number of seconds, got {seconds}.\nChange it with `hermes config set {key} …`."
            ))
        };
        let time = |seconds: f64| Duration::try_from_secs_f64(seconds).map_err(|_| wrong(seconds));
        Ok(Caps {
            tokens: settings.u64_at(&format!("budget.{span}_tokens"))?,
            usd: settings.f64_at(&format!("budget.{span}_usd"))?.and_then(Usd::from_f64),
            time: settings.f64_at(&key)?.map(time).transpose()?,
        })
    };
    let day = Caps { time: None, ..caps("day")? };
    let session = Caps { time: None, ..caps("session")? };
    Ok(Limits { turn: caps("turn")?, session, day })
}

/// What a conversation may call: the toolsets of `-t`, or those the settings choose for the command line.
pub(crate) fn granted(app: &App, hands: &Hands, how: &How) -> Result<Grant, Trouble> {
    let catalogue = hands.catalogue();
    let selection = match &how.toolsets {
        Some(names) => {
            let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
            let names: Vec<String> = names.map(str::to_owned).collect();
            if names.is_empty() {
                return Err(Trouble::Usage("`-t` names no toolset; `hermes tools` lists them".into()));
            }
            Selection::of(names)
        }
        None => chosen(app, CLI, &catalogue),
    };
    let selected = catalogue.select(&selection);
    match selected.unknown.first().filter(|_| how.toolsets.is_some()) {
        Some(unknown) => Err(Trouble::Usage(format!("no toolset is called `{unknown}`; `hermes tools` lists them"))),
        None => Ok(selected.grant),
    }
}

/// The toolsets that the settings choose for a platform.
pub(crate) fn chosen(app: &App, platform: &str, catalogue: &Catalogue<'_>) -> Selection {
    let mut circumstances = Circumstances::default();
    if app.environment.get("HASS_TOKEN").is_some() {
        circumstances.credentials_for.insert("homeassistant".to_owned());
    }
    (circumstances.mcp, circumstances.plugins) = catalogue.joining();
    let selection = toolset::for_platform(&hands::effective(app), platform, &circumstances, catalogue);
    selection.with_variables(app.environment.process())
}

/// A name nobody has may be anything, and long.
fn briefly(error: StoreError) -> StoreError {
    match error {
        StoreError::NoSession(name) => StoreError::NoSession(clip(&name, LONGEST_NAME)),
        other => other,
    }
}

/// The session that is meant: a name, or the newest one held at the same place.
pub(crate) async fn meant(store: &SqliteStore, resume: Option<&str>, source: &str) -> Result<SessionId, StoreError> {
    use hermes_types::{ListOrder, SessionFilter};
    let found = match resume {
        Some(name) => store.resolve(name.trim()).await.map_err(briefly)?,
        None => {
            let filter = SessionFilter { sources: vec![source.to_owned()], ..SessionFilter::default() };
            let newest = store.list(filter, ListOrder::LastActive, 1, 0).await?;
            let newest = newest.into_iter().next();
            newest.map(|found| found.session.id).ok_or_else(|| StoreError::NoSession("to go on with yet".to_owned()))?
        }
    };
    store.tip(&found).await
}
