//! Files by their name, the newest first.

use super::page::{Ranking, Window};
use super::secrets::Secrets;
use super::walk::{Ground, Hidden, Trouble, walk};
use globset::{GlobBuilder, GlobMatcher};
use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// A glob for the name, or for the path below the root when it has a slash.
pub(super) struct NamePattern {
    matcher: GlobMatcher,
    on: On,
    pub(super) hidden: Hidden,
}

enum On {
    Name,
    Path,
}

impl NamePattern {
    /// A bare name also finds longer names that end with it. One that begins with a dot finds hidden files.
    pub(super) fn read(pattern: &str) -> Result<Self, String> {
        let pattern = pattern.trim();
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        let on = if pattern.contains('/') { On::Path } else { On::Name };
        let bare = !pattern.contains(['*', '?', '[', '{', '/', '\\']);
        let hidden = pattern.split('/').any(|part| part.starts_with('.'));
        let glob = if bare { format!("*{pattern}") } else { pattern.to_owned() };
        let glob = GlobBuilder::new(&glob).literal_separator(true).build();
        let matcher = glob.map_err(|error| format!("The glob cannot be used: {error}"))?.compile_matcher();
        Ok(Self { matcher, on, hidden: if hidden { Hidden::Show } else { Hidden::Skip } })
    }

    fn fits(&self, path: &Path, root: &Path) -> bool {
        match self.on {
            On::Name => path.file_name().is_some_and(|name| self.matcher.is_match(Path::new(name))),
            On::Path => path.strip_prefix(root).is_ok_and(|below| self.matcher.is_match(below)),
        }
    }
}

pub(super) struct Named {
    pub(super) files: Vec<PathBuf>,
    pub(super) total: u64,
    pub(super) omitted: u64,
}

pub(super) fn find(
    pattern: &NamePattern,
    window: Window,
    secrets: &Secrets,
    ground: &Ground<'_>,
    trouble: &Trouble,
) -> Named {
    let ranking = Mutex::new(Ranking::new(window));
    let omitted = AtomicU64::new(0);
    walk(ground, trouble, || {
        let (ranking, omitted) = (&ranking, &omitted);
        move |path: PathBuf, entry: &ignore::DirEntry| {
            if !pattern.fits(&path, ground.root) {
                return;
            }
            if secrets.has(&path) {
                omitted.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let changed = entry.metadata().ok().and_then(|known| known.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
            ranking.lock().unwrap_or_else(PoisonError::into_inner).add((Reverse(changed), path), 1);
        }
    });
    let ranking = ranking.into_inner().unwrap_or_else(PoisonError::into_inner);
    let total = ranking.total();
    let files = ranking.page().into_iter().map(|share| share.key.1).collect();
    Named { files, total, omitted: omitted.into_inner() }
}
