//! An agent, wired from what the person has set: model, store, hands, prompt, limits.

use crate::app::App;
use crate::args::How;
use crate::commands::Trouble;
use crate::hands::{self, Hands};
use crate::settings::Settings;
use hermes_agent::{Agent, Beginning, Kit};
use hermes_core::ask::Manner;
use hermes_core::ports::{Listener, Switchboard};
use hermes_core::store::{SessionStore, StoreError};
use hermes_core::turn::budget::{Caps, ITERATIONS, Limits};
use hermes_model::resolve::Runtime;
use hermes_store::SqliteStore;
use hermes_tools::desk::Reach;
use hermes_tools::toolset::{self, Catalogue, Circumstances, Selection};
use hermes_types::{NewSession, SessionId, Usd};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// The place a conversation of the command line is told to be held at.
pub(crate) const CLI: &str = "cli";

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
    pub(crate) how: &'a How,
}

/// A conversation that is begun, or one that goes on.
pub(crate) enum Session {
    New { id: SessionId, source: String },
    Kept(SessionId),
}

impl Parts<'_> {
    pub(crate) async fn agent(self, session: Session) -> Result<Agent, Trouble> {
        let tools = offered(self.app, self.hands, self.how)?;
        let kit = Arc::new(self.kit()?);
        let (id, source) = match &session {
            Session::New { id, source } => (id.clone(), source.as_str()),
            Session::Kept(id) => (id.clone(), CLI),
        };
        let new = NewSession {
            model: Some(self.runtime.model.clone()),
            cwd: Some(self.app.knowledge.cwd.display().to_string()),
            system_prompt: Some(PROMPT.to_owned()),
            ..NewSession::new(id, source)
        };
        let beginning = Beginning { reach: Reach::OneShot, not_kept: self.store.err(), ..Beginning::new(new, tools) };
        let agent = match session {
            Session::New { .. } => Agent::begin(kit, beginning),
            Session::Kept(_) => Agent::resume(kit, beginning).await?,
        };
        let window = usize::try_from(self.runtime.limits.context_window).unwrap_or(usize::MAX);
        agent.desk().room.for_window(window);
        Ok(agent)
    }

    fn kit(&self) -> Result<Kit, Trouble> {
        let settings = &self.app.settings;
        let clock = self.app.clock.clone();
        let seed = u64::from(std::process::id()) ^ u64::from(clock.elapsed().subsec_nanos());
        let whole = |key: &str| Ok::<_, Trouble>(settings.u64_at(key)?.and_then(|number| u32::try_from(number).ok()));
        let retries = whole("agent.api_max_retries")?.unwrap_or(3);
        let iterations = self.how.max_turns.or(whole("agent.max_turns")?).unwrap_or(ITERATIONS);
        Ok(Kit {
            switchboard: self.switchboard.clone(),
            shop: self.hands.shop.clone(),
            registry: self.hands.registry.clone(),
            store: self.store.as_ref().ok().map(|store| Arc::new((*store).clone()) as Arc<dyn SessionStore>),
            clock,
            listener: self.listener.clone(),
            hooks: Vec::new(),
            settings: hermes_agent::Settings {
                iterations,
                manner: Manner { retries, live: self.live, seed },
                limits: limits(settings)?,
                ..hermes_agent::Settings::default()
            },
        })
    }
}

const PROMPT: &str = "You are Hermes, an agent with tools on this person's machine. Be brief, be honest.";

/// `budget.*`
fn limits(settings: &Settings) -> Result<Limits, Trouble> {
    let caps = |span: &str| -> Result<Caps, Trouble> {
        let seconds = settings.f64_at(&format!("budget.{span}_seconds"))?;
        Ok(Caps {
            tokens: settings.u64_at(&format!("budget.{span}_tokens"))?,
            usd: settings.f64_at(&format!("budget.{span}_usd"))?.and_then(Usd::from_f64),
            time: seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
        })
    };
    let day = Caps { time: None, ..caps("day")? };
    let session = Caps { time: None, ..caps("session")? };
    Ok(Limits { turn: caps("turn")?, session, day })
}

/// The tools of a conversation: those of `-t`, or those the settings choose for the command line.
fn offered(app: &App, hands: &Hands, how: &How) -> Result<BTreeSet<String>, Trouble> {
    let catalogue = Catalogue::new(&hands.registry);
    let selection = match &how.toolsets {
        Some(names) => {
            let names = names.iter().map(|name| name.trim()).filter(|name| !name.is_empty());
            Selection::of(names.map(str::to_owned).collect::<Vec<_>>())
        }
        None => chosen(app, CLI, &catalogue),
    };
    let selected = toolset::select(&hands.registry, &selection);
    match selected.unknown.first().filter(|_| how.toolsets.is_some()) {
        Some(unknown) => Err(Trouble::Usage(format!("no toolset is called `{unknown}`; `hermes tools` lists them"))),
        None => Ok(selected.names),
    }
}

/// The toolsets that the settings choose for a platform.
pub(crate) fn chosen(app: &App, platform: &str, catalogue: &Catalogue<'_>) -> Selection {
    let mut circumstances = Circumstances::default();
    if app.environment.get("HASS_TOKEN").is_some() {
        circumstances.credentials_for.insert("homeassistant".to_owned());
    }
    let selection = toolset::for_platform(&hands::effective(app), platform, &circumstances, catalogue);
    selection.with_variables(app.environment.process())
}

/// The session that is meant: a name, or the newest one held at the same place.
pub(crate) async fn meant(store: &SqliteStore, resume: Option<&str>, source: &str) -> Result<SessionId, StoreError> {
    use hermes_core::store::Sessions as _;
    use hermes_types::{ListOrder, SessionFilter};
    let found = match resume.filter(|name| !name.trim().is_empty()) {
        Some(name) => store.resolve(name.trim()).await?,
        None => {
            let filter = SessionFilter { sources: vec![source.to_owned()], ..SessionFilter::default() };
            let newest = store.list(filter, ListOrder::LastActive, 1, 0).await?;
            let newest = newest.into_iter().next();
            newest.map(|found| found.session.id).ok_or_else(|| StoreError::NoSession("to go on with yet".to_owned()))?
        }
    };
    store.tip(&found).await
}
