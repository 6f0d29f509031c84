//! Side jobs: which model summarises, titles, looks at images.
//!
//! [`route`] lists every place that could do a job, best first, each resolved or with the reason it was passed over.
//! The caller walks the list; nothing is tried here. A job configured for a provider goes there, then to the job's own
//! chain, then to the conversation's model. A job nobody configured starts with the conversation's model.

use super::fallback::{chain, same_target};
use super::{Ask, Known, ResolveError, Runtime, TaskConfig, resolve};
use crate::provider::names::is_family;
use crate::provider::{AuthKind, Provider, Quirk, table::PROVIDERS};
use crate::wire::ApiMode;
use hermes_types::Reasoning;
use std::time::Duration;

/// A kind of side job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    name: &'static str,
    /// How long one call may take when the person did not say.
    timeout: Duration,
}

const fn task(name: &'static str, seconds: u64) -> Task {
    Task { name, timeout: Duration::from_secs(seconds) }
}

const TASKS: [Task; 20] = [
    task("vision", 120),
    task("web_extract", 360),
    task("compression", 120),
    task("session_search", 30),
    task("skills_hub", 30),
    task("mcp", 30),
    task("flush_memories", 30),
    task("approval", 30),
    task("title_generation", 30),
    task("memory_query_rewrite", 8),
    task("tts_audio_tags", 30),
    task("triage_specifier", 120),
    task("kanban_decomposer", 180),
    task("profile_describer", 60),
    task("goal_judge", 60),
    task("curator", 600),
    task("monitor", 60),
    task("background_review", 120),
    task("moa_reference", 900),
    task("moa_aggregator", 900),
];

/// For jobs that plugins bring along.
const USUAL_TIMEOUT: Duration = Duration::from_secs(30);
/// A configured timeout below this would cut off every summary of a long conversation.
const COMPRESSION_TIMEOUT: Duration = Duration::from_secs(300);
/// A summariser must be able to read what it summarises.
const COMPRESSION_WINDOW: u64 = 64_000;

/// What a provider sees with, where that is not its usual model.
const EYES: [(&str, &str); 4] = [
    ("nous", "google/gemini-3-flash-preview"),
    ("zai", "glm-5v-turbo"),
    ("xiaomi", "mimo-v2.5"),
    ("deepinfra", "google/gemma-3-27b-it"),
];
/// Where images are looked at when the conversation's model cannot.
const SEERS: [&str; 3] = ["openrouter", "nous", "deepinfra"];
/// Providers and families known to be blind. An unknown model gets its chance.
const BLIND_PROVIDERS: [&str; 2] = ["kimi-coding", "copilot-acp"];
const BLIND_FAMILIES: [&str; 11] = [
    "deepseek-chat",
    "deepseek-reasoner",
    "deepseek-r1",
    "deepseek-v3",
    "deepseek-v4",
    "glm-4-7",
    "glm-5-1",
    "glm-5-2",
    "gpt-oss",
    "minimax-m2",
    "qwen3-coder",
];

/// One place that could do the job.
#[derive(Debug, Clone)]
pub struct AuxCandidate {
    pub runtime: Result<Runtime, Skip>,
    pub timeout: Duration,
    pub reasoning: Option<Reasoning>,
}

/// Why a place is on the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Via {
    /// `auxiliary.<task>` names it.
    Task,
    /// The conversation's own model.
    Main,
    /// `auxiliary.<task>.fallback_chain`
    TaskChain,
    /// `fallback_providers`
    MainChain,
    /// Found among what the person has.
    Discovery,
}

/// Why a place cannot do the job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Skip {
    #[error(transparent)]
    Unresolved(#[from] ResolveError),
    #[error("{model} cannot see images")]
    Blind { model: String },
    #[error("{model} reads {window} tokens, too few to summarise a conversation")]
    SmallWindow { model: String, window: u64 },
}

/// Every place that could do `task` for a conversation that runs on `main`, best first.
pub fn route(task: &str, main: &Runtime, known: &Known<'_>) -> Vec<AuxCandidate> {
    route_to(None, task, main, known)
}

/// The same for one question that names its model: that is more specific than what is set for all questions of the job, and
/// it is asked where those are.
pub fn route_to(model: Option<&str>, task: &str, main: &Runtime, known: &Known<'_>) -> Vec<AuxCandidate> {
    let mut settings = known.config.auxiliary.get(task).cloned().unwrap_or_default();
    settings.ask.model = model.map(str::to_owned).or(settings.ask.model);
    let job = Job { task, settings: &settings, main, known };
    let mut places = Places { job: &job, list: Vec::new() };
    let configured = job.configured();
    let is_configured = configured.is_some();
    if let Some(target) = configured {
        places.add(Via::Task, target, None);
    }
    // Eyes are rare: a vision job whose own provider does not work is routed as if nobody had configured it.
    let is_automatic = !is_configured || (task == "vision" && places.none_works());
    if is_automatic {
        places.add(Via::Main, Target::Main, None);
    }
    for place in &settings.fallbacks {
        places.add(Via::TaskChain, Target::Ask(place.ask.clone()), place.timeout);
    }
    if !is_automatic {
        places.add(Via::Main, Target::Main, None);
        return places.list;
    }
    if task != "vision" {
        for ask in chain(known.config) {
            places.add(Via::MainChain, Target::Ask(ask), None);
        }
    }
    for id in job.discoverable() {
        places.add(Via::Discovery, Target::Found(id), None);
    }
    places.list
}

/// The timeout of a job: what the person set, else the table.
fn timeout(task: &str, configured: Option<Duration>) -> Duration {
    let usual = TASKS.iter().find(|known| known.name == task).map_or(USUAL_TIMEOUT, |known| known.timeout);
    match configured {
        Some(set) if task == "compression" => set.max(COMPRESSION_TIMEOUT),
        Some(set) => set,
        None => usual,
    }
}

struct Job<'a> {
    task: &'a str,
    settings: &'a TaskConfig,
    main: &'a Runtime,
    known: &'a Known<'a>,
}

/// Somewhere the job could go, before it is resolved.
enum Target {
    Main,
    Ask(Ask),
    /// A provider nobody named, by id.
    Found(&'static str),
}

struct Places<'a> {
    job: &'a Job<'a>,
    list: Vec<AuxCandidate>,
}

impl Places<'_> {
    /// Resolves a place and puts it on the list, unless an earlier one would ask the same model.
    fn add(&mut self, via: Via, target: Target, timeout_here: Option<Duration>) {
        let job = self.job;
        let runtime = job.resolve(target).and_then(|runtime| job.fit(via, runtime));
        let is_known = |runtime: &Runtime| {
            self.list
                .iter()
                .filter_map(|place| place.runtime.as_ref().ok())
                .any(|earlier| same_target(earlier, runtime))
        };
        if runtime.as_ref().is_ok_and(is_known) {
            return;
        }
        self.list.push(AuxCandidate {
            runtime,
            timeout: timeout_here.unwrap_or_else(|| timeout(job.task, job.settings.timeout)),
            reasoning: job.reasoning(),
        });
    }

    fn none_works(&self) -> bool {
        self.list.iter().all(|place| place.runtime.is_err())
    }
}

impl Job<'_> {
    /// Where the settings send the job, if they say. An endpoint alone is a custom one.
    fn configured(&self) -> Option<Target> {
        let ask = &self.settings.ask;
        match ask.provider.as_deref() {
            Some("main") => Some(Target::Main),
            Some(_) => Some(Target::Ask(ask.clone())),
            None if ask.base_url.is_some() => Some(Target::Ask(Ask { provider: Some("custom".into()), ..ask.clone() })),
            None => None,
        }
    }

    fn resolve(&self, target: Target) -> Result<Runtime, Skip> {
        match target {
            Target::Main => Ok(self.on_main()),
            Target::Ask(ask) => self.ask(ask),
            Target::Found(id) => {
                let model = self.small_model(id).map(str::to_owned);
                Ok(resolve(&Ask { provider: Some(id.to_owned()), model, ..Ask::default() }, self.known)?)
            }
        }
    }

    /// What a provider does side jobs with.
    fn small_model(&self, provider: &str) -> Option<&'static str> {
        let row = Provider::find(provider)?;
        eyes(row.id).filter(|_| self.needs_eyes()).or(row.aux_model)
    }

    /// The conversation's runtime, with the job's model where one is set.
    fn on_main(&self) -> Runtime {
        let eyes = eyes(self.main.provider.id).filter(|_| self.needs_eyes());
        match self.settings.ask.model.as_deref().filter(|_| self.model_is_for_main()).or(eyes) {
            Some(model) => self.main.with_model(model, self.known),
            None => self.main.clone(),
        }
    }

    /// A model beside a named provider or endpoint belongs there, not to the conversation's provider.
    fn model_is_for_main(&self) -> bool {
        let ask = &self.settings.ask;
        ask.base_url.is_none() && ask.provider.as_deref().is_none_or(|provider| provider == "main")
    }

    /// A place somebody wrote down. Without a model it does the job with the provider's small one, else with the
    /// conversation's; without a key it may use the conversation's, on the same host only.
    fn ask(&self, mut ask: Ask) -> Result<Runtime, Skip> {
        if ask.provider.as_deref() == Some("main") {
            ask.provider = Some(self.main.name.clone());
        }
        if ask.model.is_none() {
            ask.model = ask.provider.as_deref().and_then(|name| self.small_model(name)).map(str::to_owned);
        }
        let outcome = match resolve(&ask, self.known) {
            Err(ResolveError::NoModel { .. }) => {
                resolve(&Ask { model: Some(self.main.model.clone()), ..ask }, self.known)
            }
            outcome => outcome,
        };
        let mut runtime = outcome?;
        let main_key = &self.main.credential;
        if runtime.credential.secret.is_none()
            && runtime.base_url.host() == self.main.base_url.host()
            && main_key.secret.as_ref().is_some_and(|secret| secret.admits(&runtime.base_url))
        {
            runtime.credential = main_key.clone();
        }
        Ok(runtime)
    }

    /// Whether the place is up to the job; if so, with the job's own body fields.
    fn fit(&self, via: Via, mut runtime: Runtime) -> Result<Runtime, Skip> {
        if self.needs_eyes() && !self.chosen_by_hand(via) && !self.can_see(&runtime) {
            return Err(Skip::Blind { model: runtime.model });
        }
        let window = runtime.limits.context_window;
        if self.task == "compression" && window < COMPRESSION_WINDOW {
            return Err(Skip::SmallWindow { model: runtime.model, window });
        }
        runtime.extra_body.extend(self.settings.extra_body.clone());
        Ok(runtime)
    }

    fn needs_eyes(&self) -> bool {
        self.task == "vision"
    }

    fn can_see(&self, runtime: &Runtime) -> bool {
        if same_target(runtime, self.main)
            && let Some(stated) = self.known.config.model.supports_vision
        {
            return stated;
        }
        has_eyes(runtime)
    }

    /// The person named the model for this very job and will know what it can do.
    fn chosen_by_hand(&self, via: Via) -> bool {
        let is_named = self.settings.ask.model.is_some();
        match via {
            Via::Task => is_named,
            Via::Main => is_named && self.model_is_for_main(),
            Via::TaskChain => true,
            Via::MainChain | Via::Discovery => false,
        }
    }

    /// The effort the person set for the job; a `reasoning` they wrote into the body says it already.
    fn reasoning(&self) -> Option<Reasoning> {
        let is_written = self.settings.extra_body.contains_key("reasoning");
        self.settings.reasoning.filter(|_| !is_written && !self.task.starts_with("moa_"))
    }

    /// Providers worth trying unasked: the usual ones, an endpoint in the environment, and the first vendor that has
    /// both a key in the environment and a small model. Anthropic, Codex and Copilot are never used unasked.
    fn discoverable(&self) -> Vec<&'static str> {
        if self.needs_eyes() {
            return SEERS.to_vec();
        }
        let env = self.known.env;
        let has_endpoint = ["CUSTOM_BASE_URL", "OPENAI_BASE_URL"].iter().any(|name| env.setting(name).is_some());
        let has_key = |row: &&Provider| {
            let is_usual = matches!(row.id, "openrouter" | "nous");
            let with_key =
                row.auth == AuthKind::ApiKey && row.key_env.iter().any(|name| env.credential(name).is_some());
            with_key && row.aux_model.is_some() && !is_usual
        };
        let mut found = vec!["openrouter", "nous"];
        found.extend(has_endpoint.then_some("custom"));
        found.extend(PROVIDERS.iter().find(has_key).map(|row| row.id));
        found
    }
}

fn has_eyes(runtime: &Runtime) -> bool {
    let is_blind = BLIND_PROVIDERS.contains(&runtime.provider.id)
        || BLIND_FAMILIES.iter().any(|family| is_family(&runtime.model, family));
    eyes(runtime.provider.id) == Some(runtime.model.as_str()) || !is_blind
}

/// Whether pictures that a tool gives back are seen by the model of a conversation, as far as that is known before they
/// are sent; `stated` is what the owner says about its eyes (`model.supports_vision`). Chat servers mostly take words
/// alone from tools, whatever their models see.
pub fn sees_results(runtime: &Runtime, stated: Option<bool>) -> bool {
    let takes_pictures = match runtime.api_mode {
        ApiMode::AnthropicMessages | ApiMode::CodexResponses => !runtime.provider.has(Quirk::TextToolResults),
        ApiMode::ChatCompletions => false,
    };
    takes_pictures && stated.unwrap_or_else(|| has_eyes(runtime))
}

fn eyes(provider: &str) -> Option<&'static str> {
    EYES.iter().find(|(id, _)| *id == provider).map(|(_, model)| *model)
}
