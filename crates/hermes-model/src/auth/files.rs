//! Files that hold secrets: read with a cap, replaced in one step, never half written.
//!
//! A reader sees the old file or the new one. A new file is private from its first byte, and on disk before it takes the
//! old one's name.

use hermes_types::Object;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

const CAP: u64 = 4 * 1024 * 1024;

/// The bytes of a file; `None` when there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<Vec<u8>>> {
    match fs::metadata(path) {
        Ok(about) if about.is_file() => {}
        Ok(_) => return Err(io::Error::new(io::ErrorKind::InvalidData, "not a regular file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(CAP + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > CAP {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "larger than 4 MiB"));
    }
    Ok(Some(bytes))
}

/// The JSON object in a file; `None` when there is no file.
pub(super) fn read_object(path: &Path) -> io::Result<Option<Object>> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    match serde_json::from_slice(&bytes) {
        Ok(object) => Ok(Some(object)),
        // The parser's own words may quote the text around the mistake, and with it a secret.
        Err(_) => Err(io::Error::new(io::ErrorKind::InvalidData, "not a JSON object")),
    }
}

pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Staged::new(path, bytes)?.commit()
}

pub(super) fn replace_object(path: &Path, object: &Object) -> io::Result<()> {
    replace(path, &serde_json::to_vec_pretty(object)?)
}

/// Proves that `path` can be replaced by something a little larger, and leaves everything as it was.
pub(super) fn prove_writable(path: &Path) -> io::Result<()> {
    const ROOM: u64 = 16 * 1024;
    let size = fs::metadata(path).map_or(0, |about| about.len()).min(CAP) + ROOM;
    Staged::new(path, &vec![b' '; usize::try_from(size).unwrap_or_default()]).map(drop)
}

/// The JSON object in a file of our own. One that cannot be parsed is copied aside, so that a new one may take its name.
pub(super) fn read_own_object(path: &Path) -> io::Result<Option<Object>> {
    let Some(bytes) = read(path)? else { return Ok(None) };
    if let Ok(object) = serde_json::from_slice(&bytes) {
        return Ok(Some(object));
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".corrupt");
    let copy = path.with_file_name(name);
    replace(&copy, &bytes)?;
    tracing::warn!(file = %path.display(), copy = %copy.display(), "not a JSON object; copied aside");
    Ok(None)
}

/// A complete new file next to the old one, waiting to take its name.
struct Staged {
    file: NamedTempFile,
    target: PathBuf,
}

impl Staged {
    fn new(path: &Path, bytes: &[u8]) -> io::Result<Self> {
        // People link these files into other folders; the link stays and its target is replaced.
        let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let mut file = NamedTempFile::with_prefix_in(".auth-", folder(&target))?;
        file.write_all(bytes)?;
        file.as_file().sync_all()?;
        Ok(Self { file, target })
    }

    fn commit(self) -> io::Result<()> {
        self.file.persist(&self.target).map_err(|error| error.error)?;
        File::open(folder(&self.target))?.sync_all()
    }
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Makes sure the folder of secrets is there and closed to others.
pub(super) fn private_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
    }
    Ok(())
}

/// Runs file work off the async threads.
pub(super) async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("auth.json");
        replace(&path, b"old").expect("written");

        let killed_before_rename = Staged::new(&path, b"new").expect("staged");
        std::mem::forget(killed_before_rename);
        assert_eq!(read(&path).expect("read"), Some(b"old".to_vec()));

        replace(&path, b"new").expect("written");
        assert_eq!(read(&path).expect("read"), Some(b"new".to_vec()));
    }

    #[cfg(unix)]
    #[test]
    fn secrets_are_private_and_links_survive() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let home = folder.path().join("home");
        fs::create_dir(&home).expect("made");
        fs::set_permissions(&home, fs::Permissions::from_mode(0o755)).expect("opened");
        private_folder(&home).expect("closed");

        let (real, link) = (folder.path().join("real.json"), home.join("auth.json"));
        fs::write(&real, "old").expect("written");
        std::os::unix::fs::symlink(&real, &link).expect("linked");
        replace(&link, b"new").expect("replaced");

        let mode = |path: &Path| fs::symlink_metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!((mode(&home), mode(&real)), (0o700, 0o600));
        assert!(fs::symlink_metadata(&link).expect("there").is_symlink());
        assert_eq!(fs::read(&real).expect("read"), b"new");
    }

    #[test]
    fn what_is_not_a_small_regular_file_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        assert!(read(folder.path()).is_err());
        assert_eq!(read(&folder.path().join("nothing")).expect("read"), None);
        let big = folder.path().join("big");
        File::create(&big).and_then(|file| file.set_len(CAP + 1)).expect("made");
        assert!(read(&big).is_err());
    }
}
