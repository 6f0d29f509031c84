//! Where a skill is: what a person types, and what the list of installed skills remembers, read into one form.

use super::HubError;
use crate::skills::naming;
use crate::skills::scan::Trust;
use std::path::{Path, PathBuf};

const GITHUB: &str = "https://github.com/";
/// A repository on this machine.
const HERE: &str = "file:///";

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A folder of a repository; the only skill in it where none is named.
    Repository { url: String, folder: Option<String>, branch: Option<String> },
    /// The address of a single `SKILL.md`.
    File(String),
    /// A name in one of the lists.
    Named(String),
}

/// Where the person stands who names a folder.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    pub cwd: &'p Path,
    pub home: &'p Path,
}

impl Source {
    pub fn read(typed: &str, place: Place<'_>) -> Result<Self, HubError> {
        let typed = typed.trim();
        let none = || HubError::NoSource(typed.to_owned());
        if typed.is_empty() || typed.starts_with('-') || typed.chars().any(char::is_control) {
            return Err(none());
        }
        if let Some(rest) = typed.strip_prefix("~/") {
            return Ok(Self::Folder(place.home.join(rest)));
        }
        let is_path = typed.starts_with(['/', '.']);
        if is_path {
            return Ok(Self::Folder(place.cwd.join(typed)));
        }
        if let Some(repository) = repository(typed) {
            return repository;
        }
        if typed.contains("://") {
            return Err(none());
        }
        let parts: Vec<&str> = typed.trim_end_matches('/').split('/').collect();
        match parts.as_slice() {
            [name] if is_word(name) => Ok(Self::Named((*name).to_owned())),
            _ if place.cwd.join(typed).is_dir() => Ok(Self::Folder(place.cwd.join(typed))),
            [owner, name, folder @ ..] if is_word(owner) && is_word(name) => {
                let folder = (!folder.is_empty()).then(|| folder.join("/"));
                Ok(Self::Repository {
                    url: format!("{GITHUB}{owner}/{name}.git"),
                    folder: inside(folder)?,
                    branch: None,
                })
            }
            _ => Err(none()),
        }
    }

    /// The word in `lock.json`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => "local",
            Self::Repository { .. } if self.on_github().is_some() => "github",
            Self::Repository { .. } => "git",
            Self::File(_) => "url",
            Self::Named(_) => "index",
        }
    }

    /// What can be typed to mean the same again, wherever one stands.
    pub fn identifier(&self) -> String {
        match self {
            Self::Folder(path) => path.display().to_string(),
            Self::Repository { url, folder, branch } => {
                let folder = folder.as_deref();
                match (self.on_github(), branch) {
                    (Some(repository), None) => {
                        folder.map_or(repository.clone(), |folder| format!("{repository}/{folder}"))
                    }
                    _ => {
                        let branch = branch.as_ref().map(|branch| format!("@{branch}")).unwrap_or_default();
                        let folder = folder.map(|folder| format!("#{folder}")).unwrap_or_default();
                        format!("{url}{branch}{folder}")
                    }
                }
            }
            Self::File(url) => url.clone(),
            Self::Named(name) => name.clone(),
        }
    }

    /// `owner/name`, of a repository on GitHub.
    fn on_github(&self) -> Option<String> {
        let Self::Repository { url, .. } = self else { return None };
        let rest = url.strip_prefix(GITHUB)?;
        let rest = rest.strip_suffix(".git").unwrap_or(rest);
        (rest.split('/').count() == 2).then(|| rest.to_owned())
    }

    /// Whether it is on this machine: nothing that a list from the web could say anything about.
    pub(super) fn is_here(&self) -> bool {
        match self {
            Self::Folder(_) => true,
            Self::Repository { url, .. } => url.starts_with(HERE),
            Self::File(_) | Self::Named(_) => false,
        }
    }

    pub fn trust(&self) -> Trust {
        self.on_github().map_or(Trust::Community, |repository| Trust::of_repository(&repository))
    }
}

/// An address of a repository, with what is asked for in it: `…@branch#folder`, or a page of GitHub.
fn repository(typed: &str) -> Option<Result<Source, HubError>> {
    let (address, folder) = match typed.split_once('#') {
        Some((address, folder)) => (address, Some(folder.to_owned())),
        None => (typed, None),
    };
    if let Some(page) = address.strip_prefix(GITHUB) {
        return Some(of_page(typed, page, folder));
    }
    if is_address(address) && address.ends_with(".md") {
        return Some(Ok(Source::File(typed.to_owned())));
    }
    let is_web = address.starts_with("https://") && !hides_option(address);
    let is_scp = address.split_once(':').is_some_and(|(host, path)| {
        host.split_once('@').is_some_and(|(user, host)| is_word(user) && is_word(host)) && !path.starts_with('-')
    });
    let is_ssh = address.starts_with("ssh://") && !hides_option(address);
    let is_known = is_web || is_scp || is_ssh || address.starts_with(HERE);
    if !is_known {
        return None;
    }
    // A branch stands behind the last part of the path; an `@` before that is somebody's name.
    let (url, branch) = match address.rsplit_once('@') {
        Some((url, branch)) if url.ends_with(".git") && is_branch(branch) => (url, Some(branch.to_owned())),
        _ => (address, None),
    };
    let url = url.to_owned();
    Some(inside(folder).map(|folder| Source::Repository { url, folder, branch }))
}

/// Whether a file can be fetched from there such as it was written: over https, or from this very machine, where nobody is
/// on the way. Whether an address of this machine may be spoken to at all is decided by who fetches.
pub fn is_address(text: &str) -> bool {
    let Ok(address) = url::Url::parse(text) else { return false };
    let is_loopback = match address.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(number)) => number.is_loopback(),
        Some(url::Host::Ipv6(number)) => number.is_loopback(),
        None => false,
    };
    address.scheme() == "https" || address.scheme() == "http" && is_loopback
}

/// A host that begins like an option would be one for the program that git starts.
fn hides_option(address: &str) -> bool {
    let host = address.split_once("://").map_or("", |(_, rest)| rest).split('/').next().unwrap_or_default();
    host.starts_with('-') || host.rsplit('@').next().is_some_and(|host| host.starts_with('-'))
}

/// `owner/name`, `owner/name.git`, `owner/name/tree/branch/folder`.
fn of_page(typed: &str, page: &str, folder: Option<String>) -> Result<Source, HubError> {
    let (page, branch) = match page.rsplit_once('@') {
        Some((page, branch)) if is_branch(branch) => (page, Some(branch.to_owned())),
        _ => (page, None),
    };
    let parts: Vec<&str> = page.trim_end_matches('/').split('/').collect();
    let (owner, name, branch, below) = match parts.as_slice() {
        [owner, name] => (owner, name, branch, None),
        [owner, name, "tree" | "blob", branch, below @ ..] => {
            let below = below.strip_suffix(&["SKILL.md"]).unwrap_or(below);
            (owner, name, Some((*branch).to_owned()), (!below.is_empty()).then(|| below.join("/")))
        }
        _ => return Err(HubError::NoSource(typed.to_owned())),
    };
    let name = name.strip_suffix(".git").unwrap_or(name);
    if !is_word(owner) || !is_word(name) {
        return Err(HubError::NoSource(typed.to_owned()));
    }
    let url = format!("{GITHUB}{owner}/{name}.git");
    Ok(Source::Repository { url, folder: inside(folder.or(below))?, branch })
}

fn inside(folder: Option<String>) -> Result<Option<String>, HubError> {
    let folder = folder.filter(|folder| !folder.trim().is_empty());
    folder.map(|folder| naming::inner(&folder).map_err(HubError::Refused)).transpose()
}

fn is_word(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !text.is_empty() && !text.starts_with(['-', '.']) && text.chars().all(is_letter)
}

fn is_branch(text: &str) -> bool {
    text.split('/').all(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typed: &str) -> Result<Source, String> {
        let place = Place { cwd: Path::new("/work"), home: Path::new("/home/ada") };
        Source::read(typed, place).map_err(|error| error.to_string())
    }

    fn repository(url: &str, folder: Option<&str>, branch: Option<&str>) -> Source {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Source::Repository { url: url.to_owned(), folder: owned(folder), branch: owned(branch) }
    }

    #[test]
    fn what_people_type_is_understood() {
        let github = |folder, branch| repository("https://github.com/openai/skills.git", folder, branch);
        let table = [
            ("./cook", Source::Folder("/work/./cook".into())),
            ("/srv/cook", Source::Folder("/srv/cook".into())),
            ("~/cook", Source::Folder("/home/ada/cook".into())),
            ("cook", Source::Named("cook".into())),
            ("openai/skills", github(None, None)),
            ("openai/skills/creator", github(Some("creator"), None)),
            ("https://github.com/openai/skills", github(None, None)),
            ("https://github.com/openai/skills.git#a/b", github(Some("a/b"), None)),
            ("https://github.com/openai/skills/tree/main/a/b", github(Some("a/b"), Some("main"))),
            ("https://github.com/openai/skills/blob/main/a/SKILL.md", github(Some("a"), Some("main"))),
            ("https://example.org/x.git@dev#a", repository("https://example.org/x.git", Some("a"), Some("dev"))),
            ("git@example.org:me/x.git", repository("git@example.org:me/x.git", None, None)),
            ("file:///srv/x.git", repository("file:///srv/x.git", None, None)),
            ("https://example.org/cook/SKILL.md", Source::File("https://example.org/cook/SKILL.md".into())),
            ("http://localhost:7/cook.md", Source::File("http://localhost:7/cook.md".into())),
        ];
        for (typed, expected) in table {
            assert_eq!(read(typed), Ok(expected), "{typed}");
        }
    }

    #[test]
    fn what_could_make_git_do_something_else_is_refused() {
        for typed in [
            "--upload-pack=touch /tmp/x",
            "ext::sh -c id",
            "http://example.org/x.git",
            "file:///srv/x.git#../../etc",
            "openai/skills/../../etc",
            "-x/y/z",
            "a\nb",
            "",
            "http://example.org/SKILL.md",
            "http://localhost.example.org/SKILL.md",
            "ssh://-oProxyCommand=x/y.git",
            "ssh://me@-oProxyCommand=x/y.git",
        ] {
            assert!(read(typed).is_err(), "{typed:?}: {:?}", read(typed));
        }
    }

    #[test]
    fn an_identifier_means_the_same_again() {
        for typed in [
            "/srv/cook",
            "https://example.org/a/SKILL.md",
            "openai/skills/a/b",
            "https://example.org/x.git@dev#a",
            "git@example.org:me/x.git",
        ] {
            let source = read(typed).expect("a source");
            assert_eq!((source.identifier().as_str(), read(&source.identifier())), (typed, Ok(source.clone())));
        }
        let trust = |typed: &str| read(typed).expect("a source").trust();
        assert_eq!((trust("openai/skills/a"), trust("someone/skills/a")), (Trust::Trusted, Trust::Community));
        assert_eq!(trust("https://example.org/openai/skills.git"), Trust::Community);
    }
}
