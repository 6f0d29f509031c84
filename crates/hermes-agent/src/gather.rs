//! What the system prompt is made of, gathered from the machine: SOUL.md, project files, memory, the place.
//!
//! [`prompt`] is the one call a conversation needs when it begins; what it returns is stored and never built again while
//! the conversation lasts. Reading is bounded, nothing is changed, and nothing here can fail: what cannot be read, was cut
//! or looks like an attack is told in notices for the person, and the prompt is built from the rest.

mod cut;
mod discover;
mod document;
mod machine;
mod scan;
mod settings;

pub use scan::ContextScan;
pub use settings::PromptSettings;

pub(crate) use discover::on_one_line;
use discover::{Candidate, Front, Take};
use document::{Document, Found};
use hermes_core::prompt::{ContextFile, Ingredients, Prompt};
use hermes_tools::cover::Cover;
use hermes_tools::desk::Workshop;
use hermes_tools::skills::{self, Audience};
use hermes_tools::threat::{Scanner, Scope};
use hermes_types::SessionId;
use jiff::civil::Date;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SOUL: &str = "SOUL.md";

/// What is read from disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sources {
    /// `SOUL.md`, who the agent is.
    pub soul: bool,
    /// The project's files for agents.
    pub project: bool,
    /// The notes and the picture of the person.
    pub memory: bool,
}

impl Sources {
    pub const ALL: Self = Self { soul: true, project: true, memory: true };
    /// A scheduled job is the same agent, but at no place and with nobody.
    pub const JOB: Self = Self { soul: true, project: false, memory: false };
    /// A sub-agent is told everything by the one who sent it.
    pub const NOTHING: Self = Self { soul: false, project: false, memory: false };
}

/// Where files are looked for, and how they are read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The home of Hermes.
    pub hermes_home: PathBuf,
    /// Where the conversation begins.
    pub cwd: PathBuf,
    /// Most characters of one file; of all files of a project together where there are several.
    pub limit: usize,
    pub scan: ContextScan,
    pub cover: Cover,
    pub sources: Sources,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Gathered {
    pub soul: Option<String>,
    pub project: Vec<ContextFile>,
    pub memory: Option<String>,
    pub user: Option<String>,
    /// For the person.
    pub notices: Vec<String>,
}

/// Who will answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answerer {
    pub model: String,
    pub provider: String,
    /// In tokens, where it is known.
    pub context_window: Option<u64>,
}

/// How a conversation begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    pub session: SessionId,
    /// Whether the model is told the id of the conversation.
    pub names_session: bool,
    pub cwd: PathBuf,
    pub platform: String,
    /// The tools that are offered, and the sets they are from.
    pub tools: BTreeSet<String>,
    pub toolsets: BTreeSet<String>,
    /// Nobody, where no model is configured yet.
    pub answerer: Option<Answerer>,
    /// The active profile; none when it is the default one.
    pub profile: Option<String>,
    /// The day, where the person is.
    pub today: Date,
    /// What the caller adds.
    pub system_message: Option<String>,
    /// What a memory service adds.
    pub external_memory: Option<String>,
    pub sources: Sources,
}

/// The prompt of a conversation that begins here and now, and what the person should know about it.
pub async fn prompt(shop: &Arc<Workshop>, settings: &PromptSettings, beginning: Beginning) -> (Prompt, Vec<String>) {
    let window = beginning.answerer.as_ref().and_then(|answerer| answerer.context_window);
    let place = Place {
        hermes_home: shop.settings.around.hermes_home.clone(),
        cwd: beginning.cwd.clone(),
        limit: settings.context_limit(window),
        scan: settings.scan,
        cover: shop.settings.cover,
        sources: beginning.sources,
    };
    let gathered = gather(&place, shop, &beginning.session).await;
    let skills = skills(shop, &beginning).await;
    let machine = settings.describes_machine.then(|| machine::of(&shop.settings, &beginning.cwd));
    let (model, provider) = beginning.answerer.map(|answerer| (answerer.model, answerer.provider)).unzip();
    let ingredients = Ingredients {
        soul: gathered.soul,
        tools: beginning.tools,
        model,
        provider,
        platform: beginning.platform,
        system_message: beginning.system_message,
        memory: gathered.memory,
        user: gathered.user,
        external_memory: beginning.external_memory,
        skills,
        project: gathered.project,
        machine,
        environment_hint: settings.environment_hint.clone(),
        profile: beginning.profile,
        date: Some(beginning.today),
        session: beginning.names_session.then(|| beginning.session.to_string()),
        guidance: settings.guidance.clone(),
    };
    (Prompt::of(&ingredients), gathered.notices)
}

/// The index of skills, where there is a tool to read them with.
async fn skills(shop: &Arc<Workshop>, beginning: &Beginning) -> Option<String> {
    let (shop, platform) = (shop.clone(), beginning.platform.clone());
    let (tools, toolsets) = (beginning.tools.clone(), beginning.toolsets.clone());
    let reading = tokio::task::spawn_blocking(move || {
        let audience = Audience { tools: &tools, toolsets: &toolsets, platform: &platform };
        skills::index(&shop.settings, &audience, &shop.scanner)
    });
    reading.await.unwrap_or_else(|error| {
        tracing::error!(%error, "reading skills for the prompt ended early");
        None
    })
}

/// Reads everything on disk that belongs into a prompt.
pub async fn gather(place: &Place, shop: &Arc<Workshop>, session: &SessionId) -> Gathered {
    let (place, shop, session) = (place.clone(), shop.clone(), session.clone());
    let reading = tokio::task::spawn_blocking(move || read_all(&place, &shop, &session));
    reading.await.unwrap_or_else(|error| {
        tracing::error!(%error, "reading for the prompt ended early");
        let notice = "the files for the prompt could not be read; the conversation begins without them".to_owned();
        Gathered { notices: vec![notice], ..Gathered::default() }
    })
}

fn read_all(place: &Place, shop: &Workshop, session: &SessionId) -> Gathered {
    let mut gathered = Gathered::default();
    let mut reader = Reader { place, scanner: &shop.scanner, notices: &mut gathered.notices };
    if place.sources.soul {
        gathered.soul = reader.soul();
    }
    if place.sources.project {
        gathered.project = reader.project();
    }
    if place.sources.memory {
        let snapshot = shop.memory.snapshot(session);
        // What was saved by hand may hold what the tool would have refused to save.
        let covered = |block: Option<String>| block.map(|text| place.cover.file(&text).into_owned());
        (gathered.memory, gathered.user) = (covered(snapshot.memory), covered(snapshot.user));
        gathered.notices.extend(snapshot.troubles);
    }
    gathered
}

/// Reads files the same way, wherever they are from: secrets covered, cut to their limit, looked through.
struct Reader<'a> {
    place: &'a Place,
    scanner: &'a Scanner,
    notices: &'a mut Vec<String>,
}

impl Reader<'_> {
    /// The owner may keep it wherever they like: links are followed.
    fn soul(&mut self) -> Option<String> {
        let found = document::read(&self.place.hermes_home.join(SOUL), None);
        self.fit(SOUL, found, Front::Kept, self.place.limit)
    }

    /// The files of the first kind of project that has any.
    fn project(&mut self) -> Vec<ContextFile> {
        let tree = discover::tree(&self.place.cwd);
        let kinds = discover::kinds(&self.place.cwd, tree.as_deref());
        kinds
            .into_iter()
            .map(|kind| self.of_kind(&kind, tree.as_deref()))
            .find(|files| !files.is_empty())
            .unwrap_or_default()
    }

    fn of_kind(&mut self, kind: &discover::Kind, tree: Option<&Path>) -> Vec<ContextFile> {
        let mut files: Vec<ContextFile> = Vec::new();
        let mut room = self.place.limit;
        for Candidate { path, name } in &kind.candidates {
            if kind.take == Take::First && !files.is_empty() {
                break;
            }
            let found = document::read(path, tree.or(Some(&self.place.cwd)));
            if room == 0 && matches!(found, Found::Document(_)) {
                self.notices.push(format!("{name} is left out of the prompt: the files before it fill the room"));
                continue;
            }
            let Some(text) = self.fit(name, found, kind.front, room) else { continue };
            room = room.saturating_sub(text.chars().count());
            files.push(ContextFile { name: name.clone(), text });
        }
        files
    }

    /// A file as the model may read it.
    fn fit(&mut self, name: &str, found: Found, front: Front, room: usize) -> Option<String> {
        let Document { text, end } = match found {
            Found::Nothing => return None,
            Found::Document(document) => document,
            Found::Refused(reason) => {
                self.notices.push(format!("{name} is left out of the prompt: {reason}"));
                return None;
            }
        };
        if !self.scanner.scan(name, Scope::Context).is_empty() {
            self.notices.push(format!("{name} is left out of the prompt: its name may want to steer the agent"));
            return None;
        }
        let text = if front == Front::Removed { document::without_front_matter(&text) } else { &text };
        let covered = self.place.cover.file(text.trim());
        if covered.is_empty() {
            return None;
        }
        let cut = cut::to(&covered, name, room, end);
        if let Some(cut) = &cut {
            self.notices.push(cut.told(name));
        }
        let shown = cut.map_or(covered.into_owned(), |cut| cut.text);
        let (safe, notice) = scan::safe(name, shown, self.scanner, self.place.scan);
        self.notices.extend(notice);
        Some(safe)
    }
}
