//! Bringing plugins: from a folder or from git. Nothing of a plugin runs here, hooks and settings of its repository
//! included: a plugin that came from git is updated by fetching it anew, never by a git that obeys its `.git/config`.

use crate::app::App;
use crate::commands::profile::copy::copy_tree;
use crate::commands::waiting::stop_on_signal;
use crate::commands::{Console, Exit, Trouble, paper};
use crate::hands;
use hermes_plugins::{Found, Manifest, Source};
use hermes_tools::repository::{self, CloneError};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a plugin is called while it is on its way.
const FETCHED: &str = "fetched";
/// The end of the name of what an update replaced.
const BEFORE: &str = ".before";

/// Where a plugin comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Origin {
    Folder(PathBuf),
    Git(String),
}

/// Puts a plugin into the home. Its key.
pub(super) async fn install(
    app: &App,
    identifier: &str,
    force: bool,
    console: &mut Console<'_>,
) -> Result<String, Trouble> {
    let origin = origin(identifier)?;
    let plugins = app.home.dir().join("plugins");
    if let Origin::Folder(folder) = &origin {
        is_plugin(folder, identifier, &origin.name())?;
        // A folder around the home would be copied into itself.
        if app.home.dir().starts_with(folder) {
            return Err(Trouble::Usage(format!("{identifier} holds the home of Hermes itself")));
        }
    }
    app.home.create()?;
    std::fs::create_dir_all(&plugins).map_err(|error| refused(&plugins, &error))?;
    let (staging, manifest) = staged(app, &origin, identifier, console).await?;
    let place = plugins.join(&manifest.name);
    if place.exists() && !force {
        return Err(Trouble::Refused(format!("`{}` is there already; `--force` replaces it.", manifest.name)));
    }
    put(&staging, &place)?;
    let version = paper::one_line(&manifest.version);
    writeln!(console.out, "`{}` {version} is in {}.", manifest.name, place.display())?;
    Ok(manifest.name)
}

/// Brings a plugin beside the others, so that it takes its place in one step; hidden, so that nobody finds half of it.
async fn staged(
    app: &App,
    origin: &Origin,
    identifier: &str,
    console: &mut Console<'_>,
) -> Result<(TempDir, Manifest), Trouble> {
    let plugins = app.home.dir().join("plugins");
    let staging = tempfile::Builder::new().prefix(".installing-").tempdir_in(&plugins);
    let staging = staging.map_err(|error| refused(&plugins, &error))?;
    let fetched = staging.path().join(FETCHED);
    match origin {
        Origin::Folder(folder) => copy_tree(folder, &fetched)?,
        Origin::Git(url) => {
            writeln!(console.err, "… fetching {}", paper::one_line(url))?;
            repository::clone(url, None, &fetched, &hands::surroundings(app), &stop_on_signal()).await.map_err(
                |error| match error {
                    CloneError::Interrupted => Trouble::Interrupted,
                    error => Trouble::Refused(format!("{error}.")),
                },
            )?;
        }
    }
    let manifest = is_plugin(&fetched, identifier, &origin.name())?;
    Ok((staging, manifest))
}

fn refused(place: &Path, error: &dyn std::fmt::Display) -> Trouble {
    Trouble::Refused(format!("{}: {error}", place.display()))
}

/// `usual` is its name where it does not say one.
fn is_plugin(folder: &Path, identifier: &str, usual: &str) -> Result<Manifest, Trouble> {
    let read = Manifest::load_as(folder, usual).map(|(manifest, _)| manifest);
    read.map_err(|fault| {
        Trouble::Refused(format!("{identifier} is no plugin: {fault}\nA plugin is a folder with a plugin.yaml in it."))
    })
}

impl Origin {
    /// What its folder is called, which is its name where the manifest says none.
    fn name(&self) -> String {
        let last = match self {
            Self::Folder(folder) => folder.file_name().map(|name| name.to_string_lossy().into_owned()),
            Self::Git(url) => url.trim_end_matches('/').rsplit(['/', ':']).next().map(str::to_owned),
        };
        let name = last.map(|last| last.trim_end_matches(".git").to_owned());
        name.filter(|name| hermes_plugins::is_name(name)).unwrap_or_else(|| "plugin".to_owned())
    }
}

/// What an identifier means: a folder that is there, a URL, or `owner/repo`.
fn origin(identifier: &str) -> Result<Origin, Trouble> {
    let folder = Path::new(identifier);
    if folder.is_dir() {
        let folder = folder.canonicalize().map_err(|error| Trouble::Usage(format!("{identifier}: {error}")))?;
        return Ok(Origin::Folder(folder));
    }
    let is_word = |word: &str| !word.starts_with('-') && hermes_plugins::is_name(word);
    match identifier.split_once('/') {
        _ if ["https://", "ssh://", "file://"].iter().any(|scheme| identifier.starts_with(scheme)) => {
            Ok(Origin::Git(identifier.to_owned()))
        }
        _ if identifier.starts_with("git@") => Ok(Origin::Git(identifier.to_owned())),
        Some((owner, repo)) if is_word(owner) && is_word(repo) => {
            Ok(Origin::Git(format!("https://github.com/{owner}/{repo}.git")))
        }
        _ if identifier.contains("://") => {
            Err(Trouble::Usage(format!("{identifier} can be changed on its way here; use https:// or ssh://")))
        }
        _ => Err(Trouble::Usage(format!("{identifier} is no folder, no git URL and no owner/repo"))),
    }
}

/// Puts what its repository has now in its place. What was there stays beside it, hidden: a person may have changed it.
pub(super) async fn update(app: &App, found: &Found, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    // What is linked into the home lives elsewhere, and is its owner's to update.
    let is_ours = found.source == Source::User && !found.folder.is_symlink();
    let from_git = is_ours.then(|| remote(&found.folder)).flatten();
    let Some(origin) = from_git.and_then(|url| origin(&url).ok()).filter(|origin| matches!(origin, Origin::Git(_)))
    else {
        let told = format!("`{}` did not come from git; install it again with `--force`.", found.key);
        return Err(Trouble::Refused(told));
    };
    let (staging, manifest) = staged(app, &origin, &found.key, console).await?;
    if found.read.as_ref().is_ok_and(|read| read.manifest.name != manifest.name) {
        let told = format!("`{}` calls itself `{}` there now; nothing was changed.", found.key, manifest.name);
        return Err(Trouble::Refused(told));
    }
    let before = put(&staging, &found.folder)?;
    writeln!(
        console.out,
        "`{0}` is the newest version; the one before is in {1}. `hermes plugins enable {0}` looks at it anew.",
        found.key,
        before.display()
    )?;
    Ok(Exit::Done)
}

/// Puts what was fetched in its place. What was there before stays beside it, where this returns.
fn put(staging: &TempDir, place: &Path) -> Result<PathBuf, Trouble> {
    let name = place.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let before = place.with_file_name(format!(".{name}{BEFORE}"));
    if place.exists() {
        if before.exists() {
            std::fs::remove_dir_all(&before).map_err(|error| refused(&before, &error))?;
        }
        std::fs::rename(place, &before).map_err(|error| refused(place, &error))?;
    }
    if let Err(error) = std::fs::rename(staging.path().join(FETCHED), place) {
        // When even that fails, the first reason is the one that helps; what was there lies beside its place.
        let _ = std::fs::rename(&before, place);
        return Err(refused(place, &error));
    }
    Ok(before)
}

/// The address a repository was brought from, read as text: no git is asked that would obey the rest of the file.
fn remote(folder: &Path) -> Option<String> {
    let text = std::fs::read_to_string(folder.join(".git/config")).ok()?;
    let mut lines = text.lines().map(str::trim).skip_while(|line| *line != r#"[remote "origin"]"#).skip(1);
    let url = lines.by_ref().take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (key, value) = line.split_once('=')?;
        (key.trim() == "url").then(|| value.trim().to_owned())
    })?;
    (!url.is_empty()).then_some(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_is_a_folder_a_url_or_a_repository() {
        let git = |url: &str| Origin::Git(url.to_owned());
        assert_eq!(origin("ada/engine").unwrap(), git("https://github.com/ada/engine.git"));
        assert_eq!(origin("https://example.org/x.git").unwrap(), git("https://example.org/x.git"));
        assert_eq!(origin("git@example.org:ada/x.git").unwrap(), git("git@example.org:ada/x.git"));
        assert!(matches!(origin("/"), Ok(Origin::Folder(_))));
        for wrong in
            ["http://example.org/x", "git://example.org/x", "ext::sh -c x", "--upload-pack=x/y", "nothing", "a/b/c"]
        {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
