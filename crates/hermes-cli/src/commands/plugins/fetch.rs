//! Bringing plugins: from a folder or from git. Nothing of a plugin runs here, hooks of its repository included.

use crate::app::App;
use crate::commands::profile::copy::copy_tree;
use crate::commands::{Console, Exit, Trouble};
use hermes_plugins::{Found, Manifest, Source};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

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
        is_plugin(folder, identifier)?;
        // A folder around the home would be copied into itself.
        if app.home.dir().starts_with(folder) {
            return Err(Trouble::Usage(format!("{identifier} holds the home of Hermes itself")));
        }
    }
    app.home.create()?;
    std::fs::create_dir_all(&plugins).map_err(|error| refused(&plugins, &error))?;
    // Beside the others, so that it takes its place in one step; hidden, so that nobody finds half of it.
    let staging = tempfile::Builder::new().prefix(".installing-").tempdir_in(&plugins);
    let staging = staging.map_err(|error| refused(&plugins, &error))?;
    let fetched = staging.path().join(origin.name());
    match &origin {
        Origin::Folder(folder) => copy_tree(folder, &fetched)?,
        Origin::Git(url) => {
            writeln!(console.err, "… fetching {url}")?;
            let clone = ["clone", "--quiet", "--depth", "1", "--no-recurse-submodules", "--", url];
            git(&clone, Some(&fetched), None).await?;
        }
    }
    let manifest = is_plugin(&fetched, identifier)?;
    let place = plugins.join(&manifest.name);
    match (place.exists(), force) {
        (true, false) => {
            return Err(Trouble::Refused(format!("`{}` is there already; `--force` replaces it.", manifest.name)));
        }
        (true, true) => std::fs::remove_dir_all(&place).map_err(|error| refused(&place, &error))?,
        (false, _) => {}
    }
    std::fs::rename(&fetched, &place).map_err(|error| refused(&place, &error))?;
    writeln!(console.out, "`{}` {} is in {}.", manifest.name, manifest.version, place.display())?;
    Ok(manifest.name)
}

fn refused(place: &Path, error: &dyn std::fmt::Display) -> Trouble {
    Trouble::Refused(format!("{}: {error}", place.display()))
}

fn is_plugin(folder: &Path, identifier: &str) -> Result<Manifest, Trouble> {
    let read = Manifest::load(folder).map(|(manifest, _)| manifest);
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

/// Brings the newest commit of where it came from.
pub(super) async fn update(found: &Found, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    if found.source == Source::Project || !found.folder.join(".git").exists() {
        let told = format!("`{}` did not come from git; install it again with `--force`.", found.key);
        return Err(Trouble::Refused(told));
    }
    git(&["pull", "--quiet", "--ff-only", "--no-recurse-submodules"], None, Some(&found.folder)).await?;
    writeln!(console.out, "`{}` is the newest version. `hermes plugins enable {0}` looks at it anew.", found.key)?;
    Ok(Exit::Done)
}

/// Git with nothing of the repository running, and nobody asked for a password.
async fn git(arguments: &[&str], into: Option<&Path>, within: Option<&Path>) -> Result<(), Trouble> {
    let mut command = Command::new("git");
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.ext.allow=never"]);
    command.args(arguments).args(into).env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
    if let Some(within) = within {
        command.current_dir(within);
    }
    let output = command.output().await.map_err(|error| {
        Trouble::Refused(format!(
            "git cannot be started: {error}. Plugins from repositories need the git program in PATH."
        ))
    })?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let told = String::from_utf8_lossy(&output.stderr);
            Err(Trouble::Refused(format!("git failed: {}", told.trim())))
        }
    }
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
