//! The settings of the program: where they live, how they are read once into a plain value, and how they are changed.
//!
//! Layers, weakest first: the defaults in [`keys`], the home's `config.yaml`, the administrator's `config.yaml`. Reading
//! creates and changes nothing. A file that cannot be understood stops the command that needs it, with the place and the
//! reason; it is never replaced by defaults behind the person's back.

pub mod disk;
pub mod document;
pub mod dotenv;
pub mod edit;
pub mod environment;
pub mod home;
pub mod key_path;
pub mod keys;
pub mod mask;
pub mod migrate;

pub use document::DocumentError;
pub use environment::{Environment, Source};
pub use home::{Home, HomeError, ProfileName, Root};
pub use key_path::KeyPath;

use hermes_types::switch;
use keys::Kind;
use serde_json::{Map, Value};
use std::fmt;
use std::path::PathBuf;

/// Whether the home's own `config.yaml` counts (`--ignore-user-config`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserFile {
    Read,
    Ignore,
}

/// Everything that was set, read once.
#[derive(Clone, PartialEq)]
pub struct Settings {
    value: Value,
    managed: Value,
    file: PathBuf,
    managed_file: PathBuf,
}

/// A setting that cannot be used as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{key}` must be {expected}, got {got} (in {}).\nChange it with `hermes config set {key} …`.", file.display())]
pub struct WrongKind {
    pub key: String,
    pub expected: &'static str,
    pub got: String,
    pub file: PathBuf,
}

impl Settings {
    /// Reads all layers. Variables in texts are expanded from `environment`.
    pub fn load(home: &Home, environment: &Environment, user: UserFile) -> Result<Self, DocumentError> {
        Self::load_with(home, environment, user, &|name| environment.get(name).map(str::to_owned))
    }

    /// The same for showing to a person: a reference to a credential stays a reference.
    pub fn load_for_display(home: &Home, environment: &Environment) -> Result<Self, DocumentError> {
        Self::load_with(home, environment, UserFile::Read, &|name| {
            environment.get(name).filter(|_| !mask::is_credential(name)).map(str::to_owned)
        })
    }

    fn load_with(
        home: &Home,
        environment: &Environment,
        user: UserFile,
        lookup: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Self, DocumentError> {
        let file = home.config_file();
        let managed_file = environment.managed_dir().join("config.yaml");
        let layer = |map: Map<String, Value>| {
            let mut value = Value::Object(map);
            document::expand(&mut value, lookup);
            migrate::fold(&mut value);
            value
        };
        let managed = layer(document::load(&managed_file)?);
        let mut value = match user {
            UserFile::Read => layer(document::load(&file)?),
            UserFile::Ignore => Value::Object(Map::new()),
        };
        document::merge(&mut value, managed.clone());
        Ok(Self { value, managed, file, managed_file })
    }

    /// What was set, without defaults.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// What the administrator has fixed.
    pub fn managed(&self) -> &Value {
        &self.managed
    }

    /// The value in force: what was set, else the default. `None` for a key nobody knows and nobody set.
    pub fn get(&self, key: &str) -> Option<Value> {
        self.effective(&KeyPath::parse(key).ok()?)
    }

    pub fn effective(&self, path: &KeyPath) -> Option<Value> {
        let own = path.find(&self.value).filter(|value| !value.is_null());
        match (own, keys::default_at(path)) {
            (Some(own), Some(mut default)) if own.is_object() && default.is_object() => {
                document::merge(&mut default, own.clone());
                Some(default)
            }
            (Some(own), _) => Some(own.clone()),
            (None, default) => default,
        }
    }

    /// A text. An empty one is as good as none.
    pub fn str_at(&self, key: &str) -> Result<Option<String>, WrongKind> {
        let scalar = |value: Value| match value {
            Value::String(text) => Some(text),
            Value::Number(number) => Some(number.to_string()),
            Value::Bool(flag) => Some(flag.to_string()),
            _ => None,
        };
        Ok(self.typed(key, Kind::Text, scalar)?.filter(|text| !text.trim().is_empty()))
    }

    /// A switch. A key without default is off until it is set.
    pub fn bool_at(&self, key: &str) -> Result<bool, WrongKind> {
        Ok(self.typed(key, Kind::Bool, |value| switch(&value))?.unwrap_or(false))
    }

    pub fn u64_at(&self, key: &str) -> Result<Option<u64>, WrongKind> {
        self.typed(key, Kind::Whole, |value| keys::whole(&value))
    }

    pub fn f64_at(&self, key: &str) -> Result<Option<f64>, WrongKind> {
        self.typed(key, Kind::Number, |value| keys::number(&value))
    }

    /// A list of texts; one text alone is a list of one.
    pub fn list_at(&self, key: &str) -> Result<Vec<String>, WrongKind> {
        let texts = |value: Value| match value {
            Value::String(text) if text.is_empty() => Some(Vec::new()),
            Value::String(text) => Some(vec![text]),
            Value::Array(items) => items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        Ok(self.typed(key, Kind::List, texts)?.unwrap_or_default())
    }

    fn typed<T>(&self, key: &str, kind: Kind, read: impl FnOnce(Value) -> Option<T>) -> Result<Option<T>, WrongKind> {
        let Some(value) = self.get(key).filter(|value| !value.is_null()) else { return Ok(None) };
        let described = keys::describe(&value);
        match read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(WrongKind {
                key: key.to_owned(),
                expected: kind.expectation(),
                got: described,
                file: self.file_of(key),
            }),
        }
    }

    fn file_of(&self, key: &str) -> PathBuf {
        let managed = KeyPath::parse(key).is_ok_and(|path| path.find(&self.managed).is_some());
        if managed { self.managed_file.clone() } else { self.file.clone() }
    }
}

/// Half of what is set may be keys, so the mask is on.
impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = mask::settings(&KeyPath::of(Vec::<String>::new()), &self.value);
        f.debug_struct("Settings").field("value", &shown).field("file", &self.file).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    struct Desk {
        folder: tempfile::TempDir,
        home: Home,
    }

    impl Desk {
        fn new(config: &str) -> Self {
            let folder = tempfile::tempdir().expect("a folder");
            let home = Root::at(folder.path()).default_home();
            std::fs::write(home.config_file(), config).expect("written");
            Self { folder, home }
        }

        fn environment(&self, pairs: &[(&str, &str)]) -> Environment {
            let managed = ("HERMES_MANAGED_DIR".to_owned(), self.folder.path().join("managed").display().to_string());
            let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            Environment::with_process(&self.home, BTreeMap::from_iter(pairs.chain([managed])))
        }

        fn settings(&self) -> Settings {
            Settings::load(&self.home, &self.environment(&[("HOST", "box"), ("A_KEY", "sk-1")]), UserFile::Read)
                .expect("read")
        }
    }

    #[test]
    fn layers_are_merged_over_defaults() {
        let desk = Desk::new(
            "model: gpt\nagent:\n  max_turns: 5\nweb:\n  backend: http://${HOST}\nprivacy: {redact_pii: true}\n",
        );
        let managed = desk.folder.path().join("managed");
        std::fs::create_dir(&managed).expect("created");
        std::fs::write(managed.join("config.yaml"), "agent:\n  max_turns: 7\n").expect("written");
        let settings = desk.settings();
        assert_eq!(
            *settings.value(),
            json!({"model": {"default": "gpt"}, "agent": {"max_turns": 7}, "web": {"backend": "http://box"}, "privacy": {"redact_pii": true}})
        );
        assert_eq!(*settings.managed(), json!({"agent": {"max_turns": 7}}));
        assert_eq!(settings.u64_at("agent.max_turns"), Ok(Some(7)));
        assert_eq!(settings.u64_at("agent.api_max_retries"), Ok(Some(3)));
        assert_eq!(settings.str_at("model.default"), Ok(Some("gpt".into())));
        assert_eq!(settings.str_at("model.provider"), Ok(None));
        assert_eq!(settings.bool_at("privacy.redact_pii"), Ok(true));
        assert_eq!(settings.bool_at("display.compact"), Ok(false));
        assert_eq!(settings.f64_at("compression.threshold"), Ok(Some(0.5)));
        assert_eq!(settings.list_at("toolsets"), Ok(vec!["hermes-cli".into()]));
        assert_eq!(
            settings.get("web"),
            Some(
                json!({"backend": "http://box", "search_backend": "", "extract_backend": "", "extract_char_limit": 15000,
                    "summarize": false, "ddgs": {"enabled": true}})
            )
        );
        assert_eq!(settings.get("nonsense"), None);
    }

    #[test]
    fn a_wrong_kind_names_key_file_and_expectation() {
        let desk = Desk::new("agent:\n  max_turns: many\n");
        let file = desk.home.config_file();
        assert_eq!(
            desk.settings().u64_at("agent.max_turns").expect_err("wrong").to_string(),
            format!(
                "`agent.max_turns` must be a whole number, got \"many\" (in {}).\nChange it with `hermes config set agent.max_turns …`.",
                file.display()
            )
        );
    }

    #[test]
    fn the_users_file_can_be_left_out_and_credentials_stay_references_on_display() {
        let desk = Desk::new("model:\n  api_key: ${A_KEY}\n  base_url: http://${HOST}\n");
        let environment = desk.environment(&[("HOST", "box"), ("A_KEY", "sk-1")]);
        let shown = Settings::load_for_display(&desk.home, &environment).expect("read");
        assert_eq!(*shown.value(), json!({"model": {"api_key": "${A_KEY}", "base_url": "http://box"}}));
        assert_eq!(desk.settings().str_at("model.api_key"), Ok(Some("sk-1".into())));
        assert!(!format!("{:?}", desk.settings()).contains("sk-1"), "{:?}", desk.settings());
        let ignored = Settings::load(&desk.home, &environment, UserFile::Ignore).expect("read");
        assert_eq!(*ignored.value(), json!({}));
    }

    #[test]
    fn a_broken_file_is_an_error_not_a_default() {
        let desk = Desk::new("agent: [\n");
        let error = Settings::load(&desk.home, &desk.environment(&[]), UserFile::Read).expect_err("broken").to_string();
        assert!(error.contains("config.yaml, line 1, column 8"), "{error}");
        let missing = Root::at(desk.folder.path().join("none")).default_home();
        let settings =
            Settings::load(&missing, &desk.environment(&[]), UserFile::Read).expect("no file is no settings");
        assert_eq!(*settings.value(), json!({}));
        assert!(!missing.dir().exists());
    }
}
