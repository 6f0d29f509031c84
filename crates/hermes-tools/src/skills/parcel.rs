//! All files of a skill in memory: what is scanned, compared and put in place is the same bytes.
//!
//! A folder is read without following a link and within bounds; links are named and never resolved. What version control
//! and editors leave behind is no part of a skill.

use super::catalogue::SKILL;
use super::naming;
use ignore::gitignore::GitignoreBuilder;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

const MOST_FILES: usize = 1_000;
const MOST_BYTES: u64 = 16 << 20;
const DEEPEST: usize = 8;
/// Digits of a hash in the hub's list, as the Python program writes them.
const SHORT_HASH: usize = 16;
/// Left behind by other programs.
const LITTER: [&str; 8] = [".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv", ".DS_Store", "Thumbs.db"];
/// Files in which an author says what is no part of the skill.
const IGNORE_FILES: [&str; 2] = [".skillignore", ".clawhubignore"];

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Parcel {
    /// By their path below the skill.
    pub files: BTreeMap<String, Piece>,
    /// Links that were found among them.
    pub links: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Piece {
    pub bytes: Vec<u8>,
    pub executable: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum ParcelError {
    #[error("{} cannot be read: {reason}", path.display())]
    Unreadable { path: PathBuf, reason: io::Error },
    #[error("{} holds more than {MOST_FILES} files or {} MiB, which is no skill", .0.display(), MOST_BYTES >> 20)]
    TooLarge(PathBuf),
    #[error("{} is no skill: it has no {SKILL}", .0.display())]
    NoSkill(PathBuf),
    #[error("{0}")]
    BadPath(String),
}

impl Parcel {
    /// A skill of text files.
    pub fn of_texts<'t>(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let piece = |text: &str| Piece { bytes: text.as_bytes().to_vec(), executable: false };
        Self {
            files: files.into_iter().map(|(path, text)| (path.to_owned(), piece(text))).collect(),
            links: Vec::new(),
        }
    }

    pub fn read(folder: &Path) -> Result<Self, ParcelError> {
        let mut parcel = Self::default();
        let mut left = MOST_BYTES;
        parcel.collect(folder, "", 0, &mut left).map_err(|fault| match fault {
            Fault::Disk(path, reason) => ParcelError::Unreadable { path, reason },
            Fault::TooMuch => ParcelError::TooLarge(folder.to_owned()),
            Fault::BadPath(why) => ParcelError::BadPath(why),
        })?;
        match parcel.files.contains_key(SKILL) {
            true => Ok(parcel),
            false => Err(ParcelError::NoSkill(folder.to_owned())),
        }
    }

    fn collect(&mut self, folder: &Path, place: &str, depth: usize, left: &mut u64) -> Result<(), Fault> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |reason| Fault::Disk(path, reason)
        };
        for entry in fs::read_dir(folder).map_err(failed(folder))? {
            let entry = entry.map_err(failed(folder))?;
            let path = entry.path();
            let name = entry.file_name().into_string().map_err(|name| {
                Fault::BadPath(format!("a file of the skill has a name that is no text: {}", name.to_string_lossy()))
            })?;
            if LITTER.contains(&name.as_str()) {
                continue;
            }
            let below = if place.is_empty() { name } else { format!("{place}/{name}") };
            let below = naming::inner(&below).map_err(Fault::BadPath)?;
            let kind = entry.file_type().map_err(failed(&path))?;
            if self.files.len() + self.links.len() >= MOST_FILES || depth > DEEPEST {
                return Err(Fault::TooMuch);
            }
            if kind.is_symlink() {
                self.links.push(below);
            } else if kind.is_dir() {
                self.collect(&path, &below, depth + 1, left)?;
            } else if kind.is_file() {
                let piece = Piece::read(&path, *left).map_err(failed(&path))?.ok_or(Fault::TooMuch)?;
                *left = left.saturating_sub(piece.bytes.len() as u64);
                self.files.insert(below, piece);
            } else {
                return Err(Fault::BadPath(format!("'{below}' is no file but a device, a pipe or a socket")));
            }
        }
        Ok(())
    }

    /// Without what the author does not count in. A `SKILL.md` always counts.
    #[must_use]
    pub fn without_ignored(mut self) -> Self {
        let mut rules = GitignoreBuilder::new("");
        let lists = IGNORE_FILES.iter().filter_map(|name| self.files.get(*name));
        for line in
            lists.flat_map(|list| String::from_utf8_lossy(&list.bytes).lines().map(str::to_owned).collect::<Vec<_>>())
        {
            // A line that is no pattern ignores nothing.
            let _ = rules.add_line(None, &line);
        }
        if let Ok(rules) = rules.build() {
            let is_ignored = |path: &str| rules.matched_path_or_any_parents(path, false).is_ignore();
            self.files.retain(|path, _| path == SKILL || !is_ignored(path));
            self.links.retain(|path| !is_ignored(path));
        }
        self
    }

    pub fn text(&self, path: &str) -> Option<String> {
        Some(String::from_utf8_lossy(&self.files.get(path)?.bytes).into_owned())
    }

    pub fn bytes(&self) -> u64 {
        self.files.values().map(|piece| piece.bytes.len() as u64).sum()
    }

    /// Files in the order in which the Python program hashes them: folder by folder.
    fn ordered(&self) -> Vec<(&String, &Piece)> {
        let mut files: Vec<_> = self.files.iter().collect();
        files.sort_by(|(one, _), (other, _)| one.split('/').cmp(other.split('/')));
        files
    }

    /// What a list promises: SHA-256 over names, contents and what can be started, each with its length, so that no other
    /// files have the same one.
    pub fn digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, piece) in self.ordered() {
            hasher.update((path.len() as u64).to_be_bytes());
            hasher.update(path.as_bytes());
            hasher.update([u8::from(piece.executable)]);
            hasher.update((piece.bytes.len() as u64).to_be_bytes());
            hasher.update(&piece.bytes);
        }
        hex::encode(hasher.finalize())
    }

    /// The hash of the Python program, which does not tell where one file ends and the next begins: enough to see that
    /// something was changed, too little to hold somebody to.
    pub(super) fn plain_digest(&self) -> String {
        let mut hasher = Sha256::new();
        for (path, piece) in self.ordered() {
            hasher.update(path.as_bytes());
            hasher.update([0]);
            hasher.update(&piece.bytes);
        }
        hex::encode(hasher.finalize())
    }

    /// The same, as `lock.json` has it.
    pub fn content_hash(&self) -> String {
        format!("sha256:{}", self.plain_digest().get(..SHORT_HASH).unwrap_or_default())
    }
}

impl Piece {
    /// Nothing when it has more bytes than that.
    fn read(path: &Path, most: u64) -> io::Result<Option<Self>> {
        let mut file = fs::File::open(path)?;
        let about = file.metadata()?;
        let mut bytes = Vec::new();
        (&mut file).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
        let executable = about.permissions().mode() & 0o111 != 0;
        Ok((bytes.len() as u64 <= most).then_some(Self { bytes, executable }))
    }
}

enum Fault {
    Disk(PathBuf, io::Error),
    TooMuch,
    BadPath(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_becomes_its_files_and_links_are_only_named() {
        let folder = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("SKILL.md", "x");
        put("references/a.md", "a");
        put(".git/config", "secret");
        put("drafts/b.md", "b");
        put(".skillignore", "drafts/\nSKILL.md\n");
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("references/leak")).unwrap();
        let parcel = Parcel::read(folder.path()).unwrap();
        assert_eq!(parcel.links, ["references/leak"]);
        let names: Vec<&String> = parcel.files.keys().collect();
        assert_eq!(names, [".skillignore", "SKILL.md", "drafts/b.md", "references/a.md"]);
        let kept = parcel.without_ignored();
        assert_eq!(kept.files.keys().collect::<Vec<_>>(), [".skillignore", "SKILL.md", "references/a.md"]);
        assert!(matches!(Parcel::read(&folder.path().join("drafts")), Err(ParcelError::NoSkill(_))));
    }

    #[test]
    fn files_that_are_cut_otherwise_are_other_files() {
        let two = Parcel::of_texts([("SKILL.md", "# Hi"), ("b.sh", "rm x")]);
        let one = Parcel::of_texts([("SKILL.md", "# Hib.sh\0rm x")]);
        assert_eq!(two.plain_digest(), one.plain_digest(), "the old hash cannot tell them apart");
        assert_ne!(two.digest(), one.digest());
        let mut started = two.clone();
        started.files.values_mut().for_each(|piece| piece.executable = true);
        assert_ne!(two.digest(), started.digest());
    }

    /// Measured with the Python program on the same files.
    #[test]
    fn the_hash_is_the_one_of_the_python_program() {
        let parcel = Parcel::of_texts([("SKILL.md", "# Hi\n"), ("a/x.md", "1"), ("a-b/x.md", "2")]);
        assert_eq!(parcel.content_hash(), "sha256:d31932073978062b");
        let swapped = Parcel::of_texts([("SKILL.md", "# Hi\n"), ("a/x.md", "2"), ("a-b/x.md", "1")]);
        assert_ne!(parcel.content_hash(), swapped.content_hash());
    }
}
