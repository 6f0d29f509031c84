//! The notes of a home and what each conversation knows of them.

use super::answer::{Counts, Failure, Saved, Staged};
use super::disk::{self, Held, Replaced};
use super::edit::{Failed, Operation, edit};
use super::entries::{Form, Parsed, join, parse};
use super::pending::{self, Pending};
use super::snapshot::{Snapshot, render};
use super::{MemorySettings, Target};
use crate::settings::Settings;
use crate::threat::{Scanner, Scope, ids};
use hermes_core::stop::Stop;
use hermes_types::SessionId;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

/// After so many failures in a turn the next one tells the model to stop.
const FAILURES_IN_A_TURN: usize = 3;
/// How often a change is made anew because somebody edits the file by hand.
const TRIES: usize = 4;

/// The two files of notes. Its methods read and write files: call them where blocking is allowed.
pub struct MemoryStore {
    settings: MemorySettings,
    notes: PathBuf,
    waiting: PathBuf,
    scanner: Arc<Scanner>,
    conversations: Mutex<HashMap<SessionId, Acquaintance>>,
}

/// What one conversation knows of the notes, and how it fares with them.
#[derive(Debug, Default)]
struct Acquaintance {
    /// Entries as it was last shown them, with its own changes.
    seen: BTreeMap<Target, Vec<String>>,
    failures: usize,
}

/// A list of changes for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) target: Target,
    pub(super) operations: Vec<Operation>,
    pub(super) origin: Origin,
}

/// One change, or a list of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    Single,
    Batch,
}

impl MemoryStore {
    pub fn new(settings: &Settings, scanner: Arc<Scanner>) -> Self {
        let home = &settings.around.hermes_home;
        Self {
            settings: settings.memory.clone(),
            notes: home.join("memories"),
            waiting: home.join("pending").join("memory"),
            scanner,
            conversations: Mutex::default(),
        }
    }

    /// A new turn of a conversation: earlier failures do not count.
    pub fn begin_turn(&self, session: &SessionId) {
        self.with(session, |known| known.failures = 0);
    }

    /// The conversation is over.
    pub fn forget(&self, session: &SessionId) {
        self.conversations.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }

    /// The notes as the prompt of this conversation shows them. Never fails: what cannot be read is told beside it.
    pub fn snapshot(&self, session: &SessionId) -> Snapshot {
        let mut snapshot = Snapshot::default();
        for target in Target::ALL.into_iter().filter(|target| self.settings.offers(*target)) {
            let path = self.file(target);
            let text = disk::read(&path).map_err(|error| error.to_string()).and_then(|bytes| {
                String::from_utf8(bytes.unwrap_or_default())
                    .map_err(|_| format!("{} is not UTF-8 text. Save it as UTF-8, or move it away", path.display()))
            });
            match text {
                Ok(text) => {
                    let entries = parse(&text).entries;
                    snapshot.put(target, render(target, &entries, self.settings.limit(target), &self.scanner));
                    self.with(session, |known| known.seen.insert(target, entries));
                }
                Err(trouble) => {
                    tracing::warn!(%trouble, "notes are left out of the prompt");
                    snapshot.troubles.push(trouble);
                }
            }
        }
        snapshot
    }

    /// Makes a change for a conversation.
    pub(super) fn change(
        &self,
        session: &SessionId,
        wish: &Wish,
        now: SystemTime,
        stop: &Stop,
    ) -> Result<Saved, Failure> {
        let mut seen = self.with(session, |known| known.seen.get(&wish.target).cloned()).unwrap_or_default();
        let changed = self.write(wish, &mut seen, now, stop);
        self.with(session, |known| {
            known.seen.insert(wish.target, seen);
            match changed {
                Err((failure, Counts::Yes)) => {
                    known.failures += 1;
                    let spent = known.failures > FAILURES_IN_A_TURN;
                    Err(if spent { Failure::terminal(known.failures) } else { failure })
                }
                Err((failure, Counts::No)) => Err(failure),
                Ok(saved) => Ok(saved),
            }
        })
    }

    /// Whether notes are taken here at all.
    pub fn takes_notes(&self) -> bool {
        self.settings.offers(Target::Memory)
    }

    /// Adds these notes, each for itself: one that does not fit, or that wants to steer the agent, does not keep the
    /// others out. What was not kept, in words for the person.
    pub fn note(&self, session: &SessionId, notes: &[String], now: SystemTime, stop: &Stop) -> Result<(), String> {
        let mut refused = Vec::new();
        for content in notes {
            let operations = vec![Operation::Add { content: content.clone() }];
            let wish = Wish { target: Target::Memory, operations, origin: Origin::Single };
            let kept = match self.settings.write_approval {
                true => self.stage(&wish, now).map(|_| ()),
                false => self.change(session, &wish, now, stop).map(|_| ()),
            };
            refused.extend(kept.err().map(|failure| format!("{content:?}: {}", failure.error())));
        }
        if refused.is_empty() { Ok(()) } else { Err(refused.join("; ")) }
    }

    /// Keeps a change for a person to decide on.
    pub(super) fn stage(&self, wish: &Wish, now: SystemTime) -> Result<Staged, Failure> {
        self.inspect(wish).map_err(|(failure, _)| failure)?;
        let fault = wish.operations.iter().enumerate().find_map(|(place, one)| Some((place + 1, one.fault()?)));
        if let Some((place, obstacle)) = fault {
            let text = disk::read(&self.file(wish.target))?.unwrap_or_default();
            let entries = parse(&String::from_utf8_lossy(&text)).entries;
            let failed = Failed { operation: Some(place), obstacle };
            return Err(Failure::of(failed, &entries, self.settings.limit(wish.target), wish.operations.len()).0);
        }
        let kept = Pending::new(wish.target, &wish.operations, now).keep(&self.waiting);
        kept.map(Staged::new).map_err(|error| {
            let folder = self.waiting.display();
            Failure::saying(format!(
                "{folder} cannot be written: {error}. Nothing was saved; check its owner and the free space"
            ))
        })
    }

    /// The changes that wait for a person, the oldest first.
    pub fn pending(&self) -> Vec<Pending> {
        pending::all(&self.waiting)
    }

    /// Makes a change that waited. It stays when it cannot be made; the reason is for people.
    pub fn approve(&self, id: &str, now: SystemTime, stop: &Stop) -> Result<(), String> {
        let unknown = || format!("no change of the notes with the id {id} waits for approval");
        let wish = pending::one(&self.waiting, id).ok_or_else(unknown)?.wish();
        let (target, operations) = wish.ok_or_else(|| format!("the change {id} cannot be read; reject it"))?;
        let origin = if operations.len() == 1 { Origin::Single } else { Origin::Batch };
        let wish = Wish { target, operations, origin };
        self.write(&wish, &mut Vec::new(), now, stop).map_err(|(failure, _)| failure.error().to_owned())?;
        self.reject(id)
    }

    /// Drops a change that waited.
    pub fn reject(&self, id: &str) -> Result<(), String> {
        pending::drop(&self.waiting, id).map_err(|error| format!("the waiting change {id}: {error}"))
    }

    pub(super) fn file(&self, target: Target) -> PathBuf {
        self.notes.join(target.file_name())
    }

    pub(super) fn waiting_room(&self) -> &Path {
        &self.waiting
    }

    /// What is wrong with a wish whatever the notes say. The missing `old_text` is told with the entries, later.
    fn inspect(&self, wish: &Wish) -> Result<(), (Failure, Counts)> {
        for content in wish.operations.iter().filter_map(Operation::content) {
            let threats = self.scanner.scan(content, Scope::Strict);
            if !threats.is_empty() {
                return Err((Failure::threat(&ids(&threats)), Counts::No));
            }
        }
        Ok(())
    }

    /// Under the lock: reads, changes, writes. `seen` becomes what the conversation knows after that.
    fn write(
        &self,
        wish: &Wish,
        seen: &mut Vec<String>,
        now: SystemTime,
        stop: &Stop,
    ) -> Result<Saved, (Failure, Counts)> {
        self.inspect(wish)?;
        let broken = |error: disk::DiskError| (Failure::from(error), Counts::No);
        let held = Held::take(&self.file(wish.target), stop).map_err(broken)?;
        for _ in 0..TRIES {
            if let Some(saved) = self.attempt(&held, wish, seen, now)? {
                return Ok(saved);
            }
        }
        let path = self.file(wish.target);
        Err((
            Failure::saying(format!(
                "{} is being edited by hand. Nothing was changed; try again later",
                path.display()
            )),
            Counts::No,
        ))
    }

    /// Nothing when somebody edited the file by hand in the same moment.
    fn attempt(
        &self,
        held: &Held,
        wish: &Wish,
        seen: &mut Vec<String>,
        now: SystemTime,
    ) -> Result<Option<Saved>, (Failure, Counts)> {
        let broken = |error: disk::DiskError| (Failure::from(error), Counts::No);
        let limit = self.settings.limit(wish.target);
        let bytes = held.read().map_err(broken)?.unwrap_or_default();
        let Some(entries) = safely_read(&bytes, wish, limit) else {
            let backup = held.back_up(&bytes, now).map_err(broken)?;
            let failure = Failure::drift(wish.target.file_name(), backup.display().to_string());
            return Err((failure, Counts::No));
        };
        let edited = edit(&entries, seen, &wish.operations, limit).map_err(|failed| {
            seen.clone_from(&entries);
            Failure::of(failed, &entries, limit, wish.operations.len())
        })?;
        let message = wish.done(edited.entries == entries);
        if edited.entries != entries {
            let replaced = held.replace(&bytes, &join(&edited.entries)).map_err(broken)?;
            if replaced == Replaced::Overtaken {
                return Ok(None);
            }
        }
        *seen = edited.seen;
        Ok(Some(Saved::new(wish.target, &edited.entries, limit, message)))
    }

    fn with<T>(&self, session: &SessionId, work: impl FnOnce(&mut Acquaintance) -> T) -> T {
        let mut conversations = self.conversations.lock().unwrap_or_else(PoisonError::into_inner);
        work(conversations.entry(session.clone()).or_default())
    }
}

/// The entries, when this change can be made to the file without losing what somebody else put there. One more entry
/// always can, as long as the file is text.
fn safely_read(bytes: &[u8], wish: &Wish, limit: usize) -> Option<Vec<String>> {
    let Parsed { entries, form } = parse(std::str::from_utf8(bytes).ok()?);
    let only_adds = matches!((wish.origin, wish.operations.as_slice()), (Origin::Single, [Operation::Add { .. }]));
    let fits = form == Form::Clean && entries.iter().all(|entry| entry.chars().count() <= limit);
    (only_adds || fits).then_some(entries)
}

impl Wish {
    fn done(&self, nothing_new: bool) -> String {
        match (self.origin, self.operations.as_slice()) {
            (Origin::Single, [Operation::Add { .. }]) if nothing_new => "This entry is there already.".to_owned(),
            (Origin::Single, [Operation::Add { .. }]) => "Entry added.".to_owned(),
            (Origin::Single, [Operation::Replace { .. }]) => "Entry replaced.".to_owned(),
            (Origin::Single, [Operation::Remove { .. }]) => "Entry removed.".to_owned(),
            (_, many) => format!("{} operations made.", many.len()),
        }
    }
}
