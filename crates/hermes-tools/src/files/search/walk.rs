//! The walk through a tree: what ripgrep would look at, by several threads where there is enough to do for them.

use super::ending::Ending;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::{DirEntry, WalkBuilder, WalkState};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A tree with no more entries has been searched before other threads would have started.
const FEW: usize = 64;

/// Whether names that begin with a dot are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    Skip,
    Show,
}

pub(super) struct Ground<'g> {
    pub(super) root: &'g Path,
    pub(super) cwd: &'g Path,
    pub(super) only: Override,
    pub(super) hidden: Hidden,
    pub(super) ending: &'g Ending,
}

/// What could not be read. The search goes on without it.
#[derive(Debug, Default)]
pub(super) struct Trouble {
    count: AtomicU64,
    first: Mutex<Option<String>>,
}

impl Trouble {
    pub(super) fn note(&self, what: &dyn std::fmt::Display) {
        self.count.fetch_add(1, Ordering::Relaxed);
        self.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| what.to_string());
    }

    /// One sentence about all of it.
    pub(super) fn told(&self) -> Option<String> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let count = self.count.load(Ordering::Relaxed);
        Some(if count == 1 {
            format!("One place could not be searched: {first}")
        } else {
            format!("{count} places could not be searched, the first: {first}")
        })
    }
}

/// The globs of `file_glob`, as `rg -g` reads them. Without one everything is meant.
pub(super) fn only(root: &Path, glob: Option<&str>) -> Result<Override, String> {
    let Some(glob) = glob else { return Ok(Override::empty()) };
    let mut builder = OverrideBuilder::new(root);
    builder.add(glob).and_then(|builder| builder.build()).map_err(|error| format!("file_glob: {error}"))
}

/// Shows every file to a visitor; each thread has its own.
pub(super) fn walk<'s, V>(ground: &'s Ground<'_>, trouble: &'s Trouble, mut visitor: impl FnMut() -> V)
where
    V: FnMut(PathBuf, &DirEntry) + Send + 's,
{
    let mut builder = WalkBuilder::new(ground.root);
    builder.current_dir(ground.cwd).overrides(ground.only.clone());
    if ground.hidden == Hidden::Show {
        builder.hidden(false).filter_entry(|entry| entry.depth() == 0 || entry.file_name() != ".git");
    }
    let first: Vec<Met> = builder.build().take_while(|_| ground.ending.ended().is_none()).take(FEW + 1).collect();
    if first.len() <= FEW {
        let mut visit = visitor();
        for met in first {
            if ground.show(met, trouble, &mut visit).is_break() {
                break;
            }
        }
        return;
    }
    builder.build_parallel().run(|| {
        let mut visit = visitor();
        Box::new(move |met| match ground.show(met, trouble, &mut visit) {
            ControlFlow::Continue(()) => WalkState::Continue,
            ControlFlow::Break(()) => WalkState::Quit,
        })
    });
}

/// What a walk comes by.
type Met = Result<DirEntry, ignore::Error>;

impl Ground<'_> {
    /// Shows a file to a visitor; breaks off when the search has ended.
    fn show(&self, met: Met, trouble: &Trouble, visit: &mut impl FnMut(PathBuf, &DirEntry)) -> ControlFlow<()> {
        if self.ending.ended().is_some() {
            return ControlFlow::Break(());
        }
        match met {
            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                visit(entry.path().to_owned(), &entry);
            }
            Ok(_) => {}
            Err(error) => trouble.note(&error),
        }
        ControlFlow::Continue(())
    }
}
