//! What a plugin registered when it ran last, on disk, so that a conversation knows its tools before it runs. Without this
//! every conversation would have to wait for every plugin, or its list of tools would change in the middle.
//!
//! A record counts only for the folder and the manifest it was made with. One that cannot be read or written costs a start
//! and nothing else. Beside it lies how the plugin fell over last: the conversation it happened in goes on, so its person
//! may never have heard of it.

use crate::discover::{Found, Readable};
use crate::protocol::Registration;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Larger ones were not written here.
const LARGEST: u64 = 16 * 1024 * 1024;

#[derive(Serialize, Deserialize)]
struct Kept {
    folder: PathBuf,
    manifest: String,
    registered: Value,
}

/// The records of a home.
#[derive(Debug, Clone)]
pub struct Records {
    folder: PathBuf,
}

impl Records {
    pub fn new(hermes_home: &Path) -> Self {
        Self { folder: hermes_home.join("cache/plugins") }
    }

    fn file(&self, key: &str) -> PathBuf {
        self.folder.join(format!("{}.json", key.replace('/', "__")))
    }

    pub fn recall(&self, found: &Found) -> Option<Registration> {
        let readable = found.read.as_ref().ok()?;
        let file = self.file(&found.key);
        if std::fs::metadata(&file).ok()?.len() > LARGEST {
            return None;
        }
        let kept: Kept = serde_json::from_slice(&std::fs::read(&file).ok()?).ok()?;
        let is_of_it = kept.folder == found.folder && kept.manifest == readable.text;
        // What lies on a disk is believed no more than what the plugin says itself.
        is_of_it.then(|| Registration::read(kept.registered).ok()).flatten()
    }

    pub fn keep(&self, key: &str, folder: &Path, readable: &Readable, registered: &Registration) -> io::Result<()> {
        let (folder, manifest) = (folder.to_owned(), readable.text.clone());
        let kept = Kept { folder, manifest, registered: serde_json::to_value(registered)? };
        std::fs::create_dir_all(&self.folder)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(&kept)?)?;
        file.persist(self.file(key)).map_err(|error| error.error)?;
        Ok(())
    }

    pub fn forget(&self, key: &str) -> io::Result<()> {
        self.forgive(key)?;
        removed(&self.file(key))
    }

    fn fall(&self, key: &str) -> PathBuf {
        self.folder.join("falls").join(key.replace('/', "__"))
    }

    /// It ended without being asked to, for this reason.
    pub fn fell(&self, key: &str, reason: &str) -> io::Result<()> {
        let file = self.fall(key);
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(file, hermes_core::redact::text(reason).as_bytes())
    }

    /// When it fell over last, and why.
    pub fn last_fall(&self, key: &str) -> Option<(SystemTime, String)> {
        let file = self.fall(key);
        let at = std::fs::metadata(&file).ok()?.modified().ok()?;
        Some((at, std::fs::read_to_string(&file).ok()?))
    }

    /// Forgets how it fell over.
    pub fn forgive(&self, key: &str) -> io::Result<()> {
        removed(&self.fall(key))
    }
}

fn removed(file: &Path) -> io::Result<()> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}
