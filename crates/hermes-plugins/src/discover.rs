//! Which plugins there are: folders with a `plugin.yaml` in the home of Hermes and, where the owner lets them in, in the
//! project. Nothing is started here and nothing is refused: what is wrong with a plugin is part of what was found.

use crate::manifest::{self, Manifest, ManifestFault, Start};
use crate::settings::PluginSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// More plugins than this nobody has; a folder that looks like it is something else.
const MOST: usize = 256;

/// Where a plugin lies. The later one takes the place of an earlier one with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    User,
    Project,
}

impl Source {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// Whether the owner wants it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    Enabled,
    /// It is named in `plugins.disabled`, which wins.
    Disabled,
    /// Nobody said so yet.
    NotEnabled,
}

/// One plugin as it lies on disk.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// What the settings call it: its name, or `category/folder`.
    pub key: String,
    pub source: Source,
    pub folder: PathBuf,
    pub read: Result<Readable, ManifestFault>,
    pub wish: Wish,
    /// The plugin of the person whose place this one takes.
    pub hides: Option<PathBuf>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Readable {
    pub manifest: Manifest,
    /// The manifest as it is written.
    pub text: String,
    pub start: Start,
}

/// The folders that are looked through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    pub user: PathBuf,
    /// Nothing, unless the owner lets projects bring plugins.
    pub project: Option<PathBuf>,
}

impl Places {
    pub fn new(hermes_home: &Path, cwd: &Path, with_project: bool) -> Self {
        let project = with_project.then(|| cwd.join(".hermes/plugins"));
        Self { user: hermes_home.join("plugins"), project }
    }
}

/// Every plugin by its key.
pub fn discover(places: &Places, settings: &PluginSettings) -> Vec<Found> {
    let mut found: BTreeMap<String, Found> = BTreeMap::new();
    let project = places.project.as_deref().map(|place| (place, Source::Project));
    for (place, source) in [(places.user.as_path(), Source::User)].into_iter().chain(project) {
        let mut here: Vec<Found> = folders(place)
            .iter()
            .map(|(category, folder)| look(category.as_deref(), folder, source, settings))
            .collect();
        // Of two that say the same name the one whose folder has it comes last, and stays.
        here.sort_by_key(|one| one.folder.file_name().is_some_and(|folder| folder == one.key.as_str()));
        for mut one in here {
            if let Some(hidden) = found.get(&one.key) {
                one.hides = Some(hidden.folder.clone());
            }
            found.insert(one.key.clone(), one);
        }
    }
    disown(&mut found, settings);
    found.into_values().collect()
}

/// A plugin of a category may be enabled by the name it gives itself, unless another one is known by it: who enabled that one
/// meant no stranger.
fn disown(found: &mut BTreeMap<String, Found>, settings: &PluginSettings) {
    let keys: BTreeSet<String> = found.keys().cloned().collect();
    for one in found.values_mut().filter(|one| one.wish == Wish::Enabled && !settings.enabled.contains(&one.key)) {
        if one.read.as_ref().is_ok_and(|read| keys.contains(&read.manifest.name)) {
            one.wish = Wish::NotEnabled;
        }
    }
}

/// Folders with a manifest, and those one level below a folder without one.
fn folders(place: &Path) -> Vec<(Option<String>, PathBuf)> {
    let mut all = Vec::new();
    for folder in inside(place) {
        if folder.join(manifest::FILE).exists() {
            all.push((None, folder));
            continue;
        }
        let category = folder.file_name().map(|name| name.to_string_lossy().into_owned());
        let below = inside(&folder).into_iter().filter(|below| below.join(manifest::FILE).exists());
        all.extend(below.map(|below| (category.clone(), below)));
    }
    all.truncate(MOST);
    all
}

/// The folders in a folder, by name. One that is not there has none.
fn inside(place: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
    let is_hidden = |path: &PathBuf| path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
    let mut folders: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| path.is_dir() && !is_hidden(path)).collect();
    folders.sort();
    folders
}

fn look(category: Option<&str>, folder: &Path, source: Source, settings: &PluginSettings) -> Found {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let read = Manifest::load(folder).map(|(manifest, text)| {
        let start = manifest.start(folder);
        Readable { manifest, text, start }
    });
    let own = read.as_ref().map_or_else(|_| name.clone(), |read| read.manifest.name.clone());
    let key = category.map_or_else(|| own.clone(), |category| format!("{category}/{name}"));
    let is_in = |list: &BTreeSet<String>| list.contains(&key) || list.contains(&own);
    let wish = match () {
        () if is_in(&settings.disabled) => Wish::Disabled,
        () if is_in(&settings.enabled) => Wish::Enabled,
        () => Wish::NotEnabled,
    };
    Found { key, source, folder: folder.to_owned(), read, wish, hides: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_enabled_under_the_name_of_another() {
        let home = tempfile::tempdir().unwrap();
        let write = |folder: &str, name: &str| {
            let folder = home.path().join("plugins").join(folder);
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("plugin.yaml"), format!("name: {name}\n")).unwrap();
        };
        let settings = PluginSettings { enabled: BTreeSet::from(["clock".to_owned()]), ..PluginSettings::default() };
        let told = || {
            let found = discover(&Places::new(home.path(), home.path(), false), &settings);
            found
                .into_iter()
                .map(|one| (one.key, one.folder.file_name().unwrap().to_owned(), one.wish))
                .collect::<Vec<_>>()
        };
        let is = |key: &str, folder: &str, wish| (key.to_owned(), folder.into(), wish);
        write("collection/tick", "clock");
        assert_eq!(told(), [is("collection/tick", "tick", Wish::Enabled)], "nobody else has the name");
        write("clock", "clock");
        write("zebra", "clock");
        let expected = [is("clock", "clock", Wish::Enabled), is("collection/tick", "tick", Wish::NotEnabled)];
        assert_eq!(told(), expected);
    }

    #[test]
    fn folders_are_found_and_only_the_named_ones_are_wanted() {
        let dir = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("home/plugins/b/plugin.yaml", "name: bee\n");
        write("home/plugins/broken/plugin.yaml", "name: [\n");
        write("home/plugins/image_gen/fast/plugin.yaml", "name: fast\n");
        write("home/plugins/.git/plugin.yaml", "name: hidden\n");
        write("work/.hermes/plugins/bee/plugin.yaml", "name: bee\n");
        let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let settings = PluginSettings {
            enabled: named(&["bee", "image_gen/fast", "broken"]),
            disabled: named(&["broken"]),
            ..PluginSettings::default()
        };
        let (home, work) = (dir.path().join("home"), dir.path().join("work"));
        let told = |with_project| {
            let found = discover(&Places::new(&home, &work, with_project), &settings);
            found.into_iter().map(|one| (one.key, one.source, one.wish, one.hides.is_some())).collect::<Vec<_>>()
        };
        let user = |key: &str, wish| (key.to_owned(), Source::User, wish, false);
        let rest = [user("broken", Wish::Disabled), user("image_gen/fast", Wish::Enabled)];
        assert_eq!(told(false), [vec![user("bee", Wish::Enabled)], rest.to_vec()].concat());
        let project = ("bee".to_owned(), Source::Project, Wish::Enabled, true);
        assert_eq!(told(true), [vec![project], rest.to_vec()].concat(), "the project's takes its place, and is told");
    }
}
