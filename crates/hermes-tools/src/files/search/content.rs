//! Lines that match. The first pass counts the hits of every file, the second reads again the few files of the page: so
//! memory holds one page, whatever there is to find.

use super::ending::{Endable, Ending};
use super::page::{Ranking, Share, Window};
use super::secrets::Secrets;
use super::walk::{Ground, Trouble, walk};
use crate::cover::Cover;
use crate::files::keys;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use rustix::fs::OFlags;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

const LINE_CHARS: usize = 500;
/// A character has at most four bytes; one more keeps a cut character from being the last one shown.
const LINE_BYTES: usize = LINE_CHARS * 4 + 4;
/// A file with a longer line is not searched.
const LONGEST_LINE: usize = 64 << 20;

/// Bytes that one pattern may take up in memory, for its program and for the cache of each thread.
const LARGEST_PATTERN: usize = 32 << 20;

/// How a pattern is understood.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    /// It asks for a line break, and no line has one in it.
    pub(super) spans_lines: bool,
}

impl Pattern {
    pub(super) fn read(pattern: &str) -> Result<Self, String> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .multi_line(true)
            .line_terminator(Some(b'\n'))
            .size_limit(LARGEST_PATTERN)
            .dfa_size_limit(LARGEST_PATTERN);
        match builder.build(pattern) {
            Ok(matcher) => Ok(Self { matcher, spans_lines: false }),
            Err(error) if matches!(error.kind(), grep_regex::ErrorKind::NotAllowed(_)) => {
                let matcher = builder.line_terminator(None).build(pattern).map_err(|error| explain(pattern, &error))?;
                Ok(Self { matcher, spans_lines: true })
            }
            Err(error) => Err(explain(pattern, &error)),
        }
    }
}

/// The reason, its place as a number, and the way out.
fn explain(pattern: &str, error: &grep_regex::Error) -> String {
    let text = error.to_string();
    let reason = reason(&text);
    // The searcher wraps the pattern before it reads it, so its caret can point at what the model did not write.
    let plain = regex::Regex::new(pattern).err().map(|error| error.to_string());
    let place = plain.filter(|plain| self::reason(plain) == reason).and_then(|plain| caret(&plain));
    let place = place.map(|at| format!(" at character {at}")).unwrap_or_default();
    let escaped = regex::escape(pattern);
    let hint = if escaped == pattern { String::new() } else { format!(" To search for this text as it is: {escaped}") };
    format!("The regular expression cannot be used{place}: {reason}.{hint}")
}

fn reason(text: &str) -> &str {
    text.lines().rev().find_map(|line| line.strip_prefix("error: ")).unwrap_or(text.trim())
}

/// The parser shows the pattern after four spaces, and a caret below the place. Patterns of several lines look
/// different and have none.
fn caret(text: &str) -> Option<usize> {
    let line = text.lines().find(|line| line.contains('^') && line.trim().chars().all(|char| char == '^'))?;
    line.chars().position(|char| char == '^')?.checked_sub(3)
}

/// What of a file is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    EveryLine,
    /// That there is one.
    FirstLine,
}

/// One line on the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    Match { number: u64, text: String },
    Context { number: u64, text: String },
    Gap,
}

impl Line {
    fn parts(&mut self) -> Option<(u64, &mut String)> {
        match self {
            Self::Match { number, text } | Self::Context { number, text } => Some((*number, text)),
            Self::Gap => None,
        }
    }
}

/// What the first pass found.
pub(super) struct Counted {
    /// Files with hits in the order of their paths; `take` lines of each are on the page.
    pub(super) page: Vec<Share<PathBuf>>,
    pub(super) lines: u64,
    pub(super) files: u64,
    pub(super) omitted: u64,
}

/// How hits are put on pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Line,
    File,
}

pub(super) fn count(
    pattern: &Pattern,
    (depth, unit, window): (Depth, Unit, Window),
    secrets: &Secrets,
    ground: &Ground<'_>,
    trouble: &Trouble,
) -> (Counted, Vec<u64>) {
    let ranking = Mutex::new(Ranking::new(window));
    let (lines, files, omitted) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let per_file = Mutex::new(std::collections::BTreeMap::new());
    walk(ground, trouble, || {
        let mut searcher = searcher(0, false);
        let matcher = pattern.matcher.clone();
        let (ranking, per_file, lines, files, omitted) = (&ranking, &per_file, &lines, &files, &omitted);
        move |path: PathBuf, _| {
            if secrets.has(&path) {
                omitted.fetch_add(1, Ordering::Relaxed);
                return;
            }
            let mut counter = Counter { lines: 0, binary: false, depth };
            if let Err(error) = search(&mut searcher, &matcher, &path, ground.ending, &mut counter)
                && ground.ending.ended().is_none()
            {
                trouble.note(&format_args!("{}: {error}", path.display()));
            }
            if counter.lines == 0 || counter.binary {
                return;
            }
            lines.fetch_add(counter.lines, Ordering::Relaxed);
            files.fetch_add(1, Ordering::Relaxed);
            let mut ranking = ranking.lock().unwrap_or_else(PoisonError::into_inner);
            if unit == Unit::File {
                per_file.lock().unwrap_or_else(PoisonError::into_inner).insert(path.clone(), counter.lines);
                ranking.add(path, 1);
                // What fell off the page need not be remembered either.
                if let Some(last) = ranking.last_if_full() {
                    let mut per_file = per_file.lock().unwrap_or_else(PoisonError::into_inner);
                    while per_file.last_key_value().is_some_and(|(path, _)| path > last) {
                        per_file.pop_last();
                    }
                }
            } else {
                ranking.add(path, counter.lines);
            }
        }
    });
    let page = ranking.into_inner().unwrap_or_else(PoisonError::into_inner).page();
    let per_file = per_file.into_inner().unwrap_or_else(PoisonError::into_inner);
    let counts = page.iter().map(|share| per_file.get(&share.key).copied().unwrap_or(share.take)).collect();
    let counted = Counted { page, lines: lines.into_inner(), files: files.into_inner(), omitted: omitted.into_inner() };
    (counted, counts)
}

/// The lines of one file that are on the page.
pub(super) fn lines(
    pattern: &Pattern,
    share: &Share<PathBuf>,
    context: usize,
    cover: Cover,
    (ending, trouble): (&Ending, &Trouble),
) -> Vec<Line> {
    let mut reader = Reader { skip: share.skip, end: share.skip + share.take, seen: 0, lines: Vec::new(), cover };
    let mut searcher = searcher(context, true);
    if let Err(error) = search(&mut searcher, &pattern.matcher, &share.key, ending, &mut reader)
        && ending.ended().is_none()
    {
        trouble.note(&format_args!("{}: {error}", share.key.display()));
    }
    while matches!(reader.lines.last(), Some(Line::Gap)) {
        reader.lines.pop();
    }
    if cover == Cover::Secrets {
        cover_keys(&mut reader.lines, &share.key, ending);
    }
    reader.lines
}

/// A line of a private key looks like any other; only the lines before it tell.
fn cover_keys(lines: &mut [Line], path: &Path, ending: &Ending) {
    let suspicious = |(_, text): &(u64, &mut String)| keys::is_suspicious(text);
    let mut suspects: Vec<(u64, &mut String)> = lines.iter_mut().filter_map(Line::parts).filter(suspicious).collect();
    let Some(last) = suspects.iter().map(|(number, _)| *number).max() else { return };
    let opened = open(path).map(|file| file.map(|file| BufReader::new(Endable { inner: file, ending })));
    let inside = opened.and_then(|file| file.map_or_else(|| Ok(BTreeSet::new()), |file| keys::inside(file, last)));
    for (number, text) in &mut suspects {
        // A file that cannot be read a second time tells nothing, so nothing of it is shown.
        if inside.as_ref().map_or(true, |inside| inside.contains(number)) {
            **text = keys::COVER.to_owned();
        }
    }
}

fn searcher(context: usize, numbers: bool) -> Searcher {
    SearcherBuilder::new()
        .line_number(numbers)
        .before_context(context)
        .after_context(context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(LONGEST_LINE))
        .build()
}

fn search<S: Sink<Error = io::Error>>(
    searcher: &mut Searcher,
    matcher: &RegexMatcher,
    path: &Path,
    ending: &Ending,
    sink: S,
) -> io::Result<()> {
    match open(path)? {
        Some(file) => searcher.search_reader(matcher, Endable { inner: file, ending }, sink),
        None => Ok(()),
    }
}

/// A file that became a link or a pipe since it was seen is not opened or does not block; it has nothing to find.
fn open(path: &Path) -> io::Result<Option<File>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new().read(true).custom_flags(i32::try_from(flags.bits()).unwrap_or_default()).open(path);
    match file {
        Ok(file) => Ok(file.metadata()?.is_file().then_some(file)),
        // Gone since it was seen.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

struct Counter {
    lines: u64,
    binary: bool,
    depth: Depth,
}

impl Sink for Counter {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, _: &SinkMatch<'_>) -> io::Result<bool> {
        self.lines += 1;
        Ok(self.depth == Depth::EveryLine)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.binary = true;
        Ok(false)
    }
}

struct Reader {
    skip: u64,
    end: u64,
    seen: u64,
    lines: Vec<Line>,
    cover: Cover,
}

impl Reader {
    fn wants(&self, hit: u64) -> bool {
        (self.skip..self.end).contains(&hit)
    }
}

impl Sink for Reader {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        if self.wants(self.seen) {
            let number = found.line_number().unwrap_or_default();
            self.lines.push(Line::Match { number, text: shown(found.bytes(), self.cover) });
        }
        self.seen += 1;
        Ok(self.seen <= self.end)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        let wanted = match found.kind() {
            SinkContextKind::Before => self.wants(self.seen),
            SinkContextKind::After => self.seen.checked_sub(1).is_some_and(|last| self.wants(last)),
            SinkContextKind::Other => false,
        };
        if wanted {
            let number = found.line_number().unwrap_or_default();
            self.lines.push(Line::Context { number, text: shown(found.bytes(), self.cover) });
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !matches!(self.lines.last(), None | Some(Line::Gap)) {
            self.lines.push(Line::Gap);
        }
        Ok(true)
    }
}

/// A line as it is shown: without its end, secrets covered before it is cut.
fn shown(bytes: &[u8], cover: Cover) -> String {
    let bytes = bytes.get(..LINE_BYTES).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let text = text.trim_end_matches(['\n', '\r']);
    cover.file(text).chars().take(LINE_CHARS).collect()
}
