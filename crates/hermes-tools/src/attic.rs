//! Folders of the home that keep copies of what came from elsewhere (pages, files of servers): the newest up to a size.
//! Whoever reads such a copy reads words of strangers.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The folders of such copies below the home of Hermes.
const FOLDERS: [&str; 2] = ["cache/web", "cache/mcp"];

/// Whether a file, by its real path, is such a copy.
pub(crate) fn keeps(path: &Path, hermes_home: &Path) -> bool {
    // Most paths are told apart without a look at the disk.
    let is_likely = path.components().any(|part| part.as_os_str() == "cache");
    is_likely && {
        let home = fs::canonicalize(hermes_home).unwrap_or_else(|_| hermes_home.to_owned());
        FOLDERS.iter().any(|folder| path.starts_with(home.join(folder)))
    }
}

/// Takes the oldest files of a folder away until the rest fits; the newest one stays, however large it is. Somebody else
/// may do the same at this moment.
pub fn tidy(folder: &Path, newest: &Path, most_bytes: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let about = |entry: fs::DirEntry| {
        let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
        Some((about.modified().unwrap_or(SystemTime::UNIX_EPOCH), about.len(), entry.path()))
    };
    let mut copies: Vec<(SystemTime, u64, PathBuf)> = entries.flatten().filter_map(about).collect();
    let mut total: u64 = copies.iter().map(|(_, size, _)| size).sum();
    copies.sort();
    for (_, size, path) in copies.iter().filter(|(_, _, path)| path != newest) {
        if total <= most_bytes {
            return;
        }
        // A copy that cannot be taken away is only older than it should be.
        let _ = fs::remove_file(path);
        total -= size;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn the_oldest_go_first_and_the_newest_stays() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (age, name) in ["old", "middle", "new"].into_iter().enumerate() {
            fs::write(at(name), [0; 100]).expect("written");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(age as u64);
            fs::File::options().write(true).open(at(name)).and_then(|file| file.set_modified(time)).expect("aged");
        }
        fs::create_dir(at("inside")).expect("made");
        tidy(folder.path(), &at("new"), 250);
        assert!(!at("old").exists() && at("middle").exists() && at("new").exists() && at("inside").exists());
        tidy(folder.path(), &at("new"), 10);
        assert!(!at("middle").exists() && at("new").exists());
        tidy(&at("missing"), &at("new"), 10);
    }
}
