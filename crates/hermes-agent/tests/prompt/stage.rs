//! A home and a project for a prompt to be gathered from; both thrown away at the end.

use hermes_agent::gather::{self, Answerer, Beginning, Gathered, Place, PromptSettings, Sources};
use hermes_core::clock::RealClock;
use hermes_core::prompt::Prompt;
use hermes_tools::desk::{Ports, Workshop};
use hermes_tools::face::Nobody;
use hermes_tools::gate::LastingConsent;
use hermes_tools::settings::{Settings, Surroundings};
use hermes_types::SessionId;
use jiff::civil::date;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tempfile::TempDir;

pub(crate) struct Stage {
    _dir: TempDir,
    root: PathBuf,
    config: Value,
    pub(crate) variables: BTreeMap<String, String>,
}

/// What the model would read of the project, by file, and what the person is told.
pub(crate) type Told = (Vec<(String, String)>, Vec<String>);

struct Nothing;

impl LastingConsent for Nothing {
    fn keep(&self, _keys: &[String]) -> Result<(), String> {
        Ok(())
    }
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with(Value::Null)
    }

    /// With these settings.
    pub(crate) fn with(config: Value) -> Self {
        let dir = TempDir::new().expect("a directory");
        let root = dir.path().canonicalize().expect("its real path");
        for folder in ["home/.hermes", "project"] {
            std::fs::create_dir_all(root.join(folder)).expect("a folder");
        }
        Self { _dir: dir, root, config, variables: BTreeMap::new() }
    }

    pub(crate) fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// A file anywhere below the stage: `project/AGENTS.md`, `home/.hermes/SOUL.md`.
    pub(crate) fn write(&self, below: &str, content: impl AsRef<[u8]>) {
        let path = self.path(below);
        std::fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).expect("folders");
        std::fs::write(path, content).expect("a file");
    }

    pub(crate) fn link(&self, to: impl AsRef<Path>, below: &str) {
        symlink(to, self.path(below)).expect("a link");
    }

    fn shop(&self) -> Arc<Workshop> {
        let around = Surroundings {
            home: self.path("home"),
            hermes_home: self.path("home/.hermes"),
            hermes_root: self.path("home/.hermes"),
            cwd: self.path("project"),
            temp: self.path("tmp"),
            variables: self.variables.clone(),
            private_variables: BTreeSet::new(),
        };
        let (settings, odd) = Settings::read(&self.config, around);
        assert_eq!(odd, Vec::<String>::new(), "the settings of a stage can be read");
        let ports = Ports {
            face: Arc::new(Nobody),
            adviser: None,
            aide: None,
            lasting: Arc::new(Nothing),
            clock: Arc::new(RealClock::default()),
            listener: Arc::new(|_| {}),
        };
        Workshop::new(settings, ports)
    }

    fn settings(&self) -> PromptSettings {
        let (settings, odd) = PromptSettings::read(&self.config, |name| self.variables.get(name).cloned());
        assert_eq!(odd, Vec::<String>::new(), "the settings of a stage can be read");
        settings
    }

    /// Everything on disk, with the conversation starting in `cwd`.
    pub(crate) async fn gather(&self, cwd: &str, sources: Sources) -> Gathered {
        let (shop, settings) = (self.shop(), self.settings());
        let place = Place {
            hermes_home: self.path("home/.hermes"),
            cwd: self.path(cwd),
            limit: settings.context_limit(None),
            scan: settings.scan,
            cover: shop.settings.cover,
            sources,
        };
        gather::gather(&place, &shop, &SessionId::new("s")).await
    }

    /// The files of the project in `cwd`.
    pub(crate) async fn project(&self, cwd: &str) -> Told {
        let gathered = self.gather(cwd, Sources::ALL).await;
        (gathered.project.into_iter().map(|file| (file.name, file.text)).collect(), gathered.notices)
    }

    /// How a usual conversation begins here.
    pub(crate) fn beginning(&self, session: &str) -> Beginning {
        let answerer = Answerer { model: "gpt-5".into(), provider: "openai".into(), context_window: Some(400_000) };
        Beginning {
            session: SessionId::new(session),
            names_session: false,
            cwd: self.path("project"),
            platform: "cli".into(),
            tools: ["memory", "session_search", "skill_manage", "skill_view", "terminal"].map(str::to_owned).into(),
            answerer: Some(answerer),
            profile: None,
            today: date(2026, 1, 2),
            system_message: None,
            external_memory: None,
            toolsets: BTreeSet::new(),
            sources: Sources::ALL,
        }
    }

    /// The whole prompt, and what the person is told.
    pub(crate) async fn prompt(&self, beginning: Beginning) -> (Prompt, Vec<String>) {
        gather::prompt(&self.shop(), &self.settings(), beginning).await
    }

    /// A text without what differs from one machine to the next.
    pub(crate) fn anywhere(&self, text: &str) -> String {
        text.replace(&self.root.display().to_string(), "/stage")
    }
}

/// One file, and nothing to tell.
pub(crate) fn only(name: &str, text: &str) -> Told {
    (vec![(name.to_owned(), text.to_owned())], Vec::new())
}
