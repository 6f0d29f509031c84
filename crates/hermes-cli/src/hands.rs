//! The hands, wired: what was set, who can be asked, and what children may see, turned into a workshop.

use crate::app::App;
use crate::approval::{self, Allowlist, Counsel};
use crate::commands::{Console, paper};
use crate::extensions;
use crate::output::Screen;
use crate::settings::Home;
use crate::web;
use futures_util::future::BoxFuture;
use hermes_core::ports::Listener;
use hermes_core::stop::Stop;
use hermes_core::store::SessionStore;
use hermes_core::till::Till;
use hermes_mcp::Servers;
use hermes_mcp::settings::Found;
use hermes_model::auxiliary::Auxiliary;
use hermes_model::provider::table::PROVIDERS;
use hermes_model::resolve::{Ask, Runtime};
use hermes_plugins::Extensions;
use hermes_tools::aide::Aide;
use hermes_tools::builtin;
use hermes_tools::desk::{Desk, Ports, Workshop};
use hermes_tools::face::{Adviser, ApprovalQuestion, Clarification, Face, Nobody, Reply};
use hermes_tools::gate::{Answer, Channel, Yolo};
use hermes_tools::loader::Switch;
use hermes_tools::registry::Registry;
use hermes_tools::run;
use hermes_tools::settings::{Settings, Surroundings};
use hermes_tools::toolset::{Catalogue, Grant};
use hermes_types::{Fault, Reply as Answered, Request, SessionId};
use hermes_web::SideModel;
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Variables that the owner lets commands see.
const PASSED_ON: &str = "terminal.env_passthrough";
/// The parts of `config.yaml` that steer tools and the prompt.
const SECTIONS: &[&str] = &[
    "agent",
    "approvals",
    "checkpoints",
    "code_execution",
    "command_allowlist",
    "context_file_max_chars",
    "delegation",
    "file_read_max_chars",
    "hooks",
    "hooks_auto_accept",
    "mcp_discovery_timeout",
    "mcp_servers",
    "memory",
    "platform_hints",
    "platform_toolsets",
    "plugins",
    "privacy",
    "security",
    "skills",
    "terminal",
    "tool_loop_guardrails",
    "tool_output",
    "tools",
    "toolsets",
];

/// Those of them about what others wrote. In safe mode nobody hears of it.
const FOREIGN: &[&str] = &["hooks", "mcp_servers", "plugins"];

/// For as long a conversation has the machine to itself before its MCP servers are started: the first request is on its
/// way by then, and they start while the model thinks. Who is quicker than they are waits (`mcp_discovery_timeout`).
const HEAD_START: Duration = Duration::from_millis(200);

/// Everything that is needed to let a model, or a person, call tools.
pub struct Hands {
    pub registry: Arc<Registry>,
    pub shop: Arc<Workshop>,
    /// What plugins and shell hooks add.
    pub extensions: Arc<Extensions>,
    /// Where what a model is consulted about is paid.
    pub till: Arc<Till>,
    /// MCP servers, where a conversation has been begun that may use them.
    servers: Option<Servers>,
    /// What is odd about the settings of tools; told to the person, never fatal.
    pub warnings: Vec<String>,
}

/// Where hands work, and with whom.
struct Fittings {
    around: Surroundings,
    face: Arc<dyn Face>,
    listener: Arc<dyn Listener>,
    /// Conversations that can be searched.
    past: Option<Arc<dyn SessionStore>>,
}

impl Hands {
    /// For a conversation that works in `cwd` and is shown on a screen: questions have that for themselves.
    pub fn at(
        app: &App,
        cwd: PathBuf,
        screen: &Arc<Screen>,
        past: Option<Arc<dyn SessionStore>>,
        yolo: Yolo,
        stop: &Stop,
    ) -> Self {
        let face = Arc::new(OnScreen { screen: screen.clone(), person: approval::face() });
        let around = Surroundings { cwd, ..surroundings(app) };
        Self::with(app, Fittings { around, face, listener: screen.clone(), past }, yolo, stop).connected(app)
    }

    /// With the MCP servers of the settings, which connect in the background: nobody waits for them here.
    #[must_use]
    pub(crate) fn connected(self, app: &App) -> Self {
        let found = servers(app);
        self.to(found, HEAD_START)
    }

    /// With the MCP servers that a tool of this name would come from.
    #[must_use]
    pub(crate) fn connected_for(self, app: &App, tool: &str) -> Self {
        let mut found = servers(app);
        found.servers.retain(|server| server.owns(tool));
        self.to(found, Duration::ZERO)
    }

    fn to(mut self, found: Found, head_start: Duration) -> Self {
        self.warnings.extend(found.problems.iter().map(ToString::to_string));
        if !found.servers.is_empty() {
            self.servers = Some(Servers::start_in(head_start, found, self.registry.clone(), &self.shop));
        }
        self
    }

    /// Waits until the MCP servers have told their tools, but not longer than this.
    pub(crate) async fn introduced(&self, limit: Duration) {
        if let Some(servers) = &self.servers {
            servers.settled(limit).await;
        }
    }

    /// For a conversation that nobody is asked about: what needs consent is refused.
    pub(crate) fn unattended(
        app: &App,
        listener: Arc<dyn Listener>,
        past: Option<Arc<dyn SessionStore>>,
        stop: &Stop,
    ) -> Self {
        let fittings = Fittings { around: surroundings(app), face: Arc::new(Nobody), listener, past };
        Self::with(app, fittings, Yolo::Off, stop)
    }

    /// `stop` also ends a question to the model that may be consulted about commands.
    pub fn new(app: &App, listener: Arc<dyn Listener>, yolo: Yolo, stop: &Stop) -> Self {
        let fittings = Fittings { around: surroundings(app), face: approval::face(), listener, past: None };
        Self::with(app, fittings, yolo, stop)
    }

    fn with(app: &App, fittings: Fittings, yolo: Yolo, stop: &Stop) -> Self {
        let Fittings { around, face, listener, past } = fittings;
        let (mut settings, mut warnings) = Settings::read(&effective(app), around);
        // The flag only adds: `HERMES_YOLO_MODE` has been read already.
        if yolo == Yolo::On {
            settings.approvals.yolo = Yolo::On;
        }
        let till = Arc::new(Till::new(past.clone(), app.clock.clone()));
        let auxiliary = auxiliary(app, &till);
        let side_model = if auxiliary.is_some() { SideModel::There } else { SideModel::Missing };
        let extensions = Arc::new(extensions::load(app, &settings, listener.clone(), &mut warnings));
        let ports = Ports {
            face: extensions.overhearing(face),
            adviser: auxiliary.as_ref().map(|(auxiliary, main)| {
                Arc::new(Counsel::new(auxiliary.clone(), main.clone(), stop.clone())) as Arc<dyn Adviser>
            }),
            aide: auxiliary.map(|(auxiliary, main)| Arc::new(Helper { auxiliary, main }) as Arc<dyn Aide>),
            lasting: Arc::new(Allowlist::new(app.home.clone())),
            clock: app.clock.clone(),
            listener,
        };
        let registry = Arc::new(builtin::registry(app.clock.clone(), &settings, past));
        web::register(app, &registry, side_model, &mut warnings);
        warnings.extend(extensions.register(&registry));
        Self { registry, shop: Workshop::new(settings, ports), extensions, till, servers: None, warnings }
    }

    /// All toolsets, those of servers and plugins that will join included.
    pub(crate) fn catalogue(&self) -> Catalogue<'_> {
        let announced = self.shop.settings.loader.expected.iter().cloned();
        Catalogue::new(&self.registry).expecting(announced.chain(self.extensions.toolsets()))
    }

    /// The tools as a conversation with this grant has them.
    pub(crate) fn for_conversation(&self, grant: Grant) -> run::Hands {
        run::Hands::of_conversation(self.registry.clone(), grant, &self.shop.settings.loader)
    }

    /// These tools with everybody around them who guards or watches calls.
    pub(crate) fn guarded(&self, tools: run::Hands) -> run::Hands {
        self.extensions.call_hooks().into_iter().fold(tools, run::Hands::with_hook)
    }

    /// The tools that such a conversation knows of when it begins, as far as they can be used here.
    pub(crate) fn known(&self, grant: Grant) -> BTreeSet<String> {
        let known = self.for_conversation(grant).known();
        self.registry.definitions(&known).into_iter().map(|tool| tool.name).collect()
    }

    /// Starts the plugins that must be running. Tools of new ones join where the loader hides them: elsewhere the list of
    /// tools would change under the conversation.
    pub(crate) fn wake(&self) {
        let joining = (self.shop.settings.loader.enabled != Switch::Never).then_some(&self.registry);
        self.extensions.wake(joining);
    }

    pub fn desk(&self, session: SessionId) -> Arc<Desk> {
        Desk::new(self.shop.clone(), session)
    }

    /// Ends everything that was started and is still running.
    pub async fn close(&self) {
        let servers = async {
            if let Some(servers) = &self.servers {
                servers.close().await;
            }
        };
        // None of them needs another, and a person waits for all.
        tokio::join!(servers, self.shop.processes.close(), self.extensions.close());
    }

    /// Clears up old checkpoints where that is due. It can take a while, so a person may stop it; nothing is lost then.
    pub async fn tidy(&self, stop: &Stop) {
        if !self.shop.settings.checkpoints.enabled {
            return;
        }
        let tidied = tokio::select! {
            biased;
            () = stop.wait() => return,
            tidied = self.shop.checkpoints.tidy_if_due() => tidied,
        };
        if let Err(fault) = tidied {
            tracing::warn!(%fault, "old checkpoints were not cleared up");
        }
    }

    /// Tells a person what is odd about their settings.
    pub(crate) fn tell_warnings(&self, console: &mut Console<'_>) -> std::io::Result<()> {
        self.warnings.iter().try_for_each(|warning| writeln!(console.err, "… {}", paper::shown(warning)))
    }
}

/// A person in front of a screen on which other things happen too.
struct OnScreen {
    screen: Arc<Screen>,
    person: Arc<dyn Face>,
}

impl Face for OnScreen {
    fn channel(&self) -> Channel {
        self.person.channel()
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            let _quiet = self.screen.hush();
            self.person.approve(question).await
        })
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            let _quiet = self.screen.hush();
            self.person.clarify(question).await
        })
    }

    fn password(&self, reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let _quiet = self.screen.hush();
            self.person.password(reason).await
        })
    }

    fn tell(&self, notice: String) {
        let _quiet = self.screen.hush();
        self.person.tell(notice);
    }
}

/// What was set, with the defaults behind it.
pub(crate) fn effective(app: &App) -> Value {
    let is_safe = extensions::is_safe(app);
    let sections = SECTIONS.iter().filter(|name| !is_safe || !FOREIGN.contains(name));
    let found = sections.filter_map(|name| Some(((*name).to_owned(), app.settings.get(name)?)));
    Value::Object(found.collect::<Map<String, Value>>())
}

/// The MCP servers that were set.
pub(crate) fn servers(app: &App) -> Found {
    hermes_mcp::settings::read(app.settings.value(), &|name| app.environment.get(name).map(str::to_owned))
}

/// Where a model is configured, one may be consulted; without any, a person decides alone.
fn auxiliary(app: &App, till: &Arc<Till>) -> Option<(Arc<Auxiliary>, Runtime)> {
    let main = app.knowledge.resolve(&Ask::default()).ok()?;
    let parts = (app.knowledge.clone(), app.auth.clone(), app.transport.clone(), app.clock.clone());
    let auxiliary = Arc::new(Auxiliary::new(parts.0, parts.1, parts.2, parts.3).paid_at(till.clone()));
    Some((auxiliary, main))
}

/// Does the side jobs of tools with the models that are set for them.
struct Helper {
    auxiliary: Arc<Auxiliary>,
    main: Runtime,
}

impl Aide for Helper {
    fn ask<'a>(&'a self, task: &'a str, request: Request, stop: &'a Stop) -> BoxFuture<'a, Result<Answered, Fault>> {
        Box::pin(self.auxiliary.ask(task, request, &self.main, stop))
    }
}

pub(crate) fn surroundings(app: &App) -> Surroundings {
    let mut variables = app.environment.process().clone();
    let home = variables.get("HOME").map_or_else(|| PathBuf::from("/"), PathBuf::from);
    let temp = ["TMPDIR", "TMP", "TEMP"].iter().find_map(|name| variables.get(*name).map(PathBuf::from));
    let handed_on = handed_on(app);
    let value = |name: &String| Some((name.clone(), app.environment.get(name)?.to_owned()));
    variables.extend(handed_on.iter().filter_map(value));
    Surroundings {
        home,
        hermes_home: app.home.dir().to_owned(),
        hermes_root: root(&app.home),
        cwd: app.knowledge.cwd.clone(),
        temp: temp.filter(|path| path.is_absolute()).unwrap_or_else(|| "/tmp".into()),
        variables,
        private_variables: private_variables(app, &handed_on),
    }
}

fn root(home: &Home) -> PathBuf {
    if home.profile().is_some() { home.root().dir().to_owned() } else { home.dir().to_owned() }
}

/// The keys and endpoints of providers and of search engines, and what the home's `.env` holds that was not handed on.
fn private_variables(app: &App, handed_on: &BTreeSet<String>) -> BTreeSet<String> {
    let written = app.environment.written().filter(|name| !handed_on.contains(*name)).map(str::to_owned);
    own_variables().chain(written).collect()
}

/// Keys and addresses that Hermes itself works with. No command gets them, whatever somebody wishes.
pub(crate) fn own_variables() -> impl Iterator<Item = String> {
    let of_providers = PROVIDERS.iter().flat_map(|row| row.key_env.iter().chain(row.base_env)).copied();
    of_providers.chain(hermes_web::settings::secret_variables()).map(str::to_owned)
}

/// What the owner put into the home's `.env` for commands: it is named in `terminal.env_passthrough`, and no key of Hermes.
fn handed_on(app: &App) -> BTreeSet<String> {
    let own: BTreeSet<String> = own_variables().collect();
    let named = app.settings.get(PASSED_ON).unwrap_or_default();
    let named: BTreeSet<&str> = named.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let written = app.environment.written().filter(|name| named.contains(name) && !own.contains(*name));
    written.map(str::to_owned).collect()
}
