//! Lists of skills that can be installed by name: a JSON file, here or on the web.
//!
//! ```json
//! {"version": 1, "skills": [{"name": "cook", "description": "…", "source": "owner/repository/folder", "sha256": "…"}]}
//! ```
//!
//! `source` is whatever `hermes skills install` takes; a folder is looked for beside the list. With `sha256` (what
//! `hermes skills inspect` prints) exactly those files are installed, or nothing.

use super::HubError;
use super::source::is_address;
use crate::settings::Settings;
use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};
use std::io::Read as _;
use std::path::{Path, PathBuf};

const LARGEST: u64 = 8 << 20;

/// Gets a file from the web. A port: whoever implements it decides which addresses may be spoken to.
pub trait Fetch: Send + Sync {
    /// At most so many bytes; the error is for people.
    fn get<'a>(&'a self, url: &'a str, most: u64) -> BoxFuture<'a, Result<Vec<u8>, String>>;
}

/// One line of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub name: String,
    #[serde(default)]
    pub description: String,
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    #[serde(default)]
    pub tags: Vec<String>,
}

impl Listed {
    /// Whether every word is in what it says about itself.
    pub fn fits(&self, words: &str) -> bool {
        let text = format!("{} {} {} {}", self.name, self.description, self.source, self.tags.join(" ")).to_lowercase();
        words.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Index {
    /// The file or the address.
    #[serde(skip)]
    pub place: String,
    #[serde(default)]
    pub skills: Vec<Listed>,
}

impl Index {
    pub async fn load(place: &str, settings: &Settings, web: &dyn Fetch) -> Result<Self, HubError> {
        let failed = |why: String| HubError::Index(place.to_owned(), why);
        let bytes = if is_address(place) {
            web.get(place, LARGEST).await.map_err(failed)?
        } else if place.contains("://") {
            return Err(failed("only https:// and files are read".into()));
        } else {
            let read = std::fs::File::open(file(place, settings)).and_then(|file| {
                let mut bytes = Vec::new();
                file.take(LARGEST).read_to_end(&mut bytes).map(|_| bytes)
            });
            read.map_err(|error| failed(error.to_string()))?
        };
        let mut index: Self = serde_json::from_slice(&bytes).map_err(|error| misread(place, &error))?;
        index.place = if is_address(place) { place.to_owned() } else { file(place, settings).display().to_string() };
        Ok(index)
    }

    /// All lists of the settings; one that cannot be read is told and does not hide the others.
    pub async fn all(settings: &Settings, web: &dyn Fetch) -> (Vec<Self>, Vec<HubError>) {
        let (mut lists, mut failed) = (Vec::new(), Vec::new());
        for place in &settings.skills.hub_indexes {
            match Self::load(place, settings, web).await {
                Ok(index) => lists.push(index),
                Err(error) => failed.push(error),
            }
        }
        (lists, failed)
    }

    /// The first that has this name.
    pub(super) async fn find(name: &str, settings: &Settings, web: &dyn Fetch) -> Result<(Listed, Self), HubError> {
        let (lists, failed) = Self::all(settings, web).await;
        for index in lists {
            if let Some(listed) = index.skills.iter().find(|listed| listed.name == name) {
                return Ok((listed.clone(), index.clone()));
            }
        }
        Err(failed.into_iter().next().unwrap_or_else(|| HubError::NoSource(name.to_owned())))
    }

    pub(super) fn is_from_web(&self) -> bool {
        is_address(&self.place)
    }

    /// Where its folders are looked for.
    pub(super) fn folder(&self) -> PathBuf {
        Path::new(&self.place).parent().map(Path::to_owned).unwrap_or_default()
    }
}

/// What is wrong with a list, with its line and column.
fn misread(place: &str, error: &serde_json::Error) -> HubError {
    let text = error.to_string();
    let at = format!(" at line {} column {}", error.line(), error.column());
    let why = text.strip_suffix(&at).unwrap_or(&text).to_owned();
    HubError::Index(format!("{place}:{}:{}", error.line(), error.column()), why)
}

fn file(place: &str, settings: &Settings) -> PathBuf {
    match place.strip_prefix("~/") {
        Some(rest) => settings.around.home.join(rest),
        None => settings.around.cwd.join(place),
    }
}
