//! `plugin.yaml`: who a plugin is, what it needs, and how it is started.
//!
//! Read once, with a small budget. What cannot be read is refused with the file, the line, the column and the field;
//! fields that nobody knows are kept by name, so that a person can be told about a misspelt one. [`Start`] is how a plugin
//! is started: what its manifest says, or one of the files that usually lie beside it.

use hermes_tools::yaml::Misread;
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub(crate) const FILE: &str = "plugin.yaml";
/// A manifest is a page of text.
const LARGEST: u64 = 64 * 1024;
const MOST_NODES: usize = 2_000;
const DEEPEST: usize = 16;
const KNOWN: [&str; 10] = [
    "name",
    "version",
    "description",
    "author",
    "kind",
    "requires_env",
    "provides_tools",
    "provides_hooks",
    "hooks",
    "command",
];
const LONGEST_NAME: usize = 64;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Manifest {
    pub name: String,
    pub version: String,
    pub description: String,
    pub author: String,
    pub kind: Kind,
    /// Variables it gets from the environment of Hermes, where they are no keys of Hermes itself.
    pub requires_env: Vec<String>,
    pub provides_tools: Vec<String>,
    pub provides_hooks: Vec<String>,
    pub command: Option<Vec<String>>,
    /// Fields nobody knows.
    pub unknown: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    #[default]
    Standalone,
    Backend,
    Exclusive,
    Platform,
    ModelProvider,
}

/// How a plugin is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// A program and its words, in the folder of the plugin.
    Command(Vec<String>),
    /// It is a module that only the Python program can load.
    NeedsPython,
    /// There is nothing to start.
    Nothing,
}

/// Why a manifest cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ManifestFault {
    pub file: PathBuf,
    /// Line and column, from 1.
    pub place: Option<(u64, u64)>,
    pub field: Option<String>,
    pub reason: String,
}

impl fmt::Display for ManifestFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": field `{field}`")?;
        }
        write!(f, ": {}", self.reason)
    }
}

#[derive(Deserialize)]
struct Written {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    version: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    author: Option<String>,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    requires_env: Vec<Need>,
    #[serde(default)]
    provides_tools: Vec<String>,
    #[serde(default)]
    provides_hooks: Vec<String>,
    #[serde(default)]
    hooks: Vec<String>,
    #[serde(default)]
    command: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Need {
    Name(String),
    Described { name: String },
}

impl Manifest {
    /// The manifest in a folder, and its text.
    pub fn load(folder: &Path) -> Result<(Self, String), ManifestFault> {
        Self::load_as(folder, &folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default())
    }

    /// The same for a folder that does not have its name yet; `usual` is the name where the manifest says none.
    pub fn load_as(folder: &Path, usual: &str) -> Result<(Self, String), ManifestFault> {
        let file = folder.join(FILE);
        let refuse = |reason: String| ManifestFault { file: file.clone(), place: None, field: None, reason };
        let mut bytes = Vec::new();
        // A pipe would be waited for, and a device has no end.
        if !std::fs::metadata(&file).map_err(|error| refuse(error.to_string()))?.is_file() {
            return Err(refuse("it is no file".to_owned()));
        }
        let opened = std::fs::File::open(&file).and_then(|open| open.take(LARGEST + 1).read_to_end(&mut bytes));
        opened.map_err(|error| refuse(error.to_string()))?;
        if bytes.len() as u64 > LARGEST {
            return Err(refuse(format!("it is larger than {} KiB", LARGEST / 1024)));
        }
        let text = String::from_utf8(bytes).map_err(|_| refuse("the text is not UTF-8".to_owned()))?;
        let manifest = Self::parse(&file, &text, usual)?;
        Ok((manifest, text))
    }

    /// `usual` is its name where it does not say one.
    pub fn parse(file: &Path, text: &str, usual: &str) -> Result<Self, ManifestFault> {
        let refuse = |place, field, reason| ManifestFault { file: file.to_owned(), place, field, reason };
        let at_fault = |error: serde_saphyr::Error| {
            let Misread { place, reason } = Misread::from(&error);
            let field = place.and_then(|(line, _)| field_at(text, line));
            refuse(place, field, reason)
        };
        let whole: Value = read(text).map_err(at_fault)?;
        let fields = match whole {
            Value::Object(fields) => fields,
            Value::Null => serde_json::Map::new(),
            _ => return Err(refuse(Some((1, 1)), None, "it holds no lines of `field: value`".to_owned())),
        };
        let written: Written = if fields.is_empty() { read("{}") } else { read(text) }.map_err(at_fault)?;
        let name = written.name.unwrap_or_else(|| usual.to_owned());
        if !is_name(&name) {
            let reason = format!("{name:?} is no name; letters, digits, `-`, `_` and `.` make one");
            return Err(refuse(place_of(text, "name"), Some("name".to_owned()), reason));
        }
        if written.command.as_ref().is_some_and(|words| words.first().is_none_or(|word| word.trim().is_empty())) {
            let reason = "it names no program; write it like `command: [python3, plugin.py]`".to_owned();
            return Err(refuse(place_of(text, "command"), Some("command".to_owned()), reason));
        }
        let needs = written.requires_env.into_iter().map(|need| match need {
            Need::Name(name) | Need::Described { name } => name,
        });
        let hooks = written.provides_hooks.into_iter().chain(written.hooks).collect();
        Ok(Self {
            name,
            version: written.version.unwrap_or_default(),
            description: written.description.unwrap_or_default(),
            author: written.author.unwrap_or_default(),
            kind: written.kind,
            requires_env: needs.collect(),
            provides_tools: written.provides_tools,
            provides_hooks: hooks,
            command: written.command,
            unknown: fields.keys().filter(|field| !KNOWN.contains(&field.as_str())).cloned().collect(),
        })
    }

    /// How it is started from its folder.
    pub fn start(&self, folder: &Path) -> Start {
        if let Some(words) = &self.command {
            return Start::Command(from_folder(words, folder));
        }
        let beside = |name: &str| folder.join(name).is_file();
        let path = |name: &str| folder.join(name).display().to_string();
        match () {
            () if is_executable(&folder.join("plugin")) => Start::Command(vec![path("plugin")]),
            () if beside("plugin.py") => Start::Command(vec!["python3".to_owned(), path("plugin.py")]),
            () if beside("plugin.sh") => Start::Command(vec!["sh".to_owned(), path("plugin.sh")]),
            () if beside("__init__.py") => Start::NeedsPython,
            () => Start::Nothing,
        }
    }
}

/// The program of a command as a path, where it is a file of the plugin and no name to look for.
fn from_folder(words: &[String], folder: &Path) -> Vec<String> {
    let mut words = words.to_vec();
    if let Some(program) = words.first_mut()
        && program.contains('/')
    {
        *program = folder.join(&*program).display().to_string();
    }
    words
}

fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

/// One word that can be a key of the settings, a file and a toolset.
pub fn is_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= LONGEST_NAME && !name.starts_with('.') && name.chars().all(is_letter)
}

fn read<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, serde_saphyr::Error> {
    let options = serde_saphyr::options! {
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_aliases: 0,
            max_anchors: 0,
        },
    };
    serde_saphyr::from_str_with_options(text, options)
}

/// The field a line belongs to: the last one that begins at or above it.
fn field_at(text: &str, line: u64) -> Option<String> {
    let above = text.lines().take(usize::try_from(line).ok()?);
    above.filter_map(field_of).last().map(str::to_owned)
}

fn place_of(text: &str, field: &str) -> Option<(u64, u64)> {
    let line = text.lines().position(|line| field_of(line) == Some(field))?;
    Some((line as u64 + 1, 1))
}

fn field_of(line: &str) -> Option<&str> {
    let (field, _) = line.split_once(':')?;
    let is_field = !field.is_empty() && field.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    is_field.then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Manifest, String> {
        Manifest::parse(Path::new("/p/plugin.yaml"), text, "usual").map_err(|fault| fault.to_string())
    }

    #[test]
    fn a_manifest_of_the_python_program_is_read_as_it_is() {
        let text = "name: weather\nversion: 1.2\nauthor: Ada\ndescription: says the weather\nkind: standalone\n\
                    requires_env:\n  - WEATHER_KEY\n  - name: WEATHER_PLACE\n    description: where\n\
                    provides_tools: [weather]\nhooks: [post_tool_call]\nhomepage: x\n";
        let expected = Manifest {
            name: "weather".into(),
            version: "1.2".into(),
            description: "says the weather".into(),
            author: "Ada".into(),
            requires_env: vec!["WEATHER_KEY".into(), "WEATHER_PLACE".into()],
            provides_tools: vec!["weather".into()],
            provides_hooks: vec!["post_tool_call".into()],
            unknown: vec!["homepage".into()],
            ..Manifest::default()
        };
        assert_eq!(parse(text), Ok(expected));
        assert_eq!(parse("").map(|manifest| manifest.name), Ok("usual".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_field() {
        for (text, begins) in [
            ("name: x\nprovides_tools: 7\n", "/p/plugin.yaml:2:"),
            ("name: x\nkind: planet\n", "/p/plugin.yaml:2:"),
            ("name: [\n", "/p/plugin.yaml:"),
            ("name: a b\n", "/p/plugin.yaml:1:1: field `name`: \"a b\" is no name"),
            ("version: 1\ncommand: []\n", "/p/plugin.yaml:2:1: field `command`: it names no program"),
            ("- one\n", "/p/plugin.yaml:1:1: it holds no lines"),
            ("name: x\nrequires_env:\n  - A\n  - {prompt: y}\n", "/p/plugin.yaml:"),
            ("name: x\nname: y\n", "/p/plugin.yaml:2:"),
        ] {
            let told = parse(text).expect_err(text);
            assert!(told.starts_with(begins), "{text:?}: {told}");
        }
        assert!(parse("name: x\nprovides_tools: 7\n").is_err_and(|told| told.contains("field `provides_tools`")));
        assert!(parse("name: x\nkind: planet\n").is_err_and(|told| told.contains("planet")));
    }

    #[test]
    fn it_is_started_by_its_command_or_by_what_lies_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name).display().to_string();
        let plain = Manifest::default();
        assert_eq!(plain.start(folder.path()), Start::Nothing);
        std::fs::write(at("__init__.py"), "").unwrap();
        assert_eq!(plain.start(folder.path()), Start::NeedsPython);
        std::fs::write(at("plugin.sh"), "").unwrap();
        assert_eq!(plain.start(folder.path()), Start::Command(vec!["sh".into(), at("plugin.sh")]));
        std::fs::write(at("plugin.py"), "").unwrap();
        assert_eq!(plain.start(folder.path()), Start::Command(vec!["python3".into(), at("plugin.py")]));
        std::fs::write(at("plugin"), "").unwrap();
        std::fs::set_permissions(at("plugin"), std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(plain.start(folder.path()), Start::Command(vec![at("plugin")]));
        let named = Manifest { command: Some(vec!["bin/go".into(), "x".into()]), ..plain.clone() };
        assert_eq!(named.start(folder.path()), Start::Command(vec![at("bin/go"), "x".into()]));
        let known = Manifest { command: Some(vec!["node".into(), "x.js".into()]), ..plain };
        assert_eq!(known.start(folder.path()), Start::Command(vec!["node".into(), "x.js".into()]));
    }
}
