//! Results that are too long for a conversation go to a file; the model sees their beginning, their end and the way to
//! the rest.
//!
//! The directory belongs to this user alone, and a file that is there already is never overwritten: an earlier result may
//! still be spoken of. Where nothing can be written the model gets the two ends and is told that the middle is lost.
//! Pictures are never spilled. What strangers wrote has a folder of its own, so that it is still theirs when it is read on.

use super::Finished;
use super::frame;
use super::settings::Sizes;
use crate::settings::Settings;
use crate::tool::{ResultCap, Source};
use hermes_types::{CallId, Content};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

const FOLDER: &str = "hermes-results";
const OF_STRANGERS: &str = "strangers";
/// Characters of the beginning and of the end that are shown.
const HEAD: usize = 1_000;
const TAIL: usize = 500;
/// A result that is no longer than its block would be stays as it is.
const WORTH_IT: usize = 2_500;
const LONGEST_NAME: usize = 120;
/// Results with the same call id, before one is given up.
const NAMESAKES: usize = 1_000;
const OPEN: &str = "<persisted-output>";
const CLOSE: &str = "</persisted-output>";

/// Where long results go.
#[derive(Debug)]
pub struct Spill {
    temp: PathBuf,
}

impl Spill {
    pub fn new(settings: &Settings) -> Self {
        Self { temp: settings.around.temp.clone() }
    }

    /// The content, or a block that points to it.
    pub(super) async fn capped(
        &self,
        call: &CallId,
        (cap, source): (ResultCap, Source),
        content: Content,
        sizes: Sizes,
    ) -> Content {
        let most = match cap {
            ResultCap::Own => return content,
            ResultCap::Chars(chars) => chars.min(sizes.result),
            ResultCap::Usual => sizes.result,
        };
        match content {
            Content::Text(text) if text.chars().nth(most).is_some() => {
                Content::Text(self.block(call, text, source).await)
            }
            other => other,
        }
    }

    /// Brings the results of one reply below their common limit, the largest first. Gives the places of those that are
    /// shorter now.
    pub(super) async fn fit_turn(&self, results: &mut [Finished], sizes: Sizes) -> BTreeSet<usize> {
        let mut shortened = BTreeSet::new();
        let mut lengths: Vec<(usize, usize)> = results.iter().map(length).enumerate().collect();
        let mut total: usize = lengths.iter().map(|(_, length)| length).sum();
        lengths.sort_by_key(|(place, length)| (std::cmp::Reverse(*length), *place));
        for (place, length) in lengths.into_iter().filter(|(_, length)| *length > WORTH_IT) {
            if total <= sizes.turn {
                break;
            }
            let Some(Finished { call, content: Content::Text(text), .. }) = results.get_mut(place) else { continue };
            let source = if frame::opened(text).is_some() { Source::Strangers } else { Source::Machine };
            *text = self.block(call, std::mem::take(text), source).await;
            total = total - length + text.chars().count();
            shortened.insert(place);
        }
        shortened
    }

    /// Writes a text away under a name and gives the file, for tools that shorten a part of their result themselves.
    pub(crate) async fn keep(&self, name: &str, text: String) -> io::Result<PathBuf> {
        let (temp, name) = (self.temp.clone(), file_name(name));
        let saved = move || folder(&temp, Source::Machine).and_then(|folder| save(&folder, &name, &text));
        let written = tokio::task::spawn_blocking(saved);
        written.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)))
    }

    /// Writes the text away and gives what stands for it.
    async fn block(&self, call: &CallId, text: String, source: Source) -> String {
        let (temp, name) = (self.temp.clone(), file_name(call.as_str()));
        let written = tokio::task::spawn_blocking(move || {
            let text = readable(text);
            let saved = folder(&temp, source).and_then(|folder| save(&folder, &name, &text));
            preview(&text, saved.as_deref())
        });
        // The task fails only by a panic, and then there is nothing left to show.
        written.await.unwrap_or_else(|_| format!("{OPEN}\nThe result could not be kept.\n{CLOSE}"))
    }

    /// Whether a file, by its real path, holds a result that strangers wrote.
    pub(crate) fn is_of_strangers(&self, path: &Path) -> bool {
        let Some(folder) = path.parent().filter(|folder| folder.ends_with(OF_STRANGERS)) else { return false };
        let temp = fs::canonicalize(&self.temp).unwrap_or_else(|_| self.temp.clone());
        names(rustix::process::geteuid().as_raw()).iter().any(|name| folder.parent() == Some(&temp.join(name)))
    }
}

fn length(finished: &Finished) -> usize {
    match &finished.content {
        Content::Text(text) => text.chars().count(),
        Content::Parts(_) => 0,
    }
}

/// A JSON object as lines: its texts are written out, so that the file can be read by lines and searched.
fn readable(text: String) -> String {
    let Ok(Value::Object(fields)) = serde_json::from_str(&text) else { return text };
    let mut out = String::with_capacity(text.len());
    for (name, value) in &fields {
        // Writing to a text does not fail.
        let _ = match value {
            Value::String(lines) if lines.contains('\n') => writeln!(out, "{name}:\n{}", lines.trim_end_matches('\n')),
            Value::Array(_) | Value::Object(_) => writeln!(out, "{name}: {value:#}"),
            other => writeln!(out, "{name}: {other}"),
        };
    }
    out
}

/// What the model reads in the place of the text.
fn preview(text: &str, saved: Result<&Path, &io::Error>) -> String {
    let chars = text.chars().count();
    let (head, tail) = ends(text);
    let left_out = chars - head.chars().count() - tail.chars().count();
    let kept = match saved {
        Ok(path) => format!(
            "It is in {}; read on with read_file (offset, limit) or look for something with search_files.",
            path.display()
        ),
        Err(error) => format!("It could not be saved ({error}); ask for less at once."),
    };
    format!(
        "{OPEN}\nThe result is long: {chars} characters, {}. {kept}\nIts beginning:\n{head}\n\n[{left_out} characters are \
         left out here]\n\nIts end:\n{tail}\n{CLOSE}",
        size(text.len())
    )
}

fn size(bytes: usize) -> String {
    let kilobytes = bytes as f64 / 1024.0;
    if kilobytes < 1024.0 { format!("{kilobytes:.1} KB") } else { format!("{:.1} MB", kilobytes / 1024.0) }
}

/// The two ends, cut at a line end where that keeps more than half of them.
fn ends(text: &str) -> (&str, &str) {
    let head_end = text.char_indices().nth(HEAD).map_or(text.len(), |(at, _)| at);
    let tail_start = text.char_indices().rev().nth(TAIL - 1).map_or(0, |(at, _)| at).max(head_end);
    let (head, tail) = (text.get(..head_end).unwrap_or_default(), text.get(tail_start..).unwrap_or_default());
    let head = head.rfind('\n').filter(|at| *at > head.len() / 2).and_then(|at| head.get(..at)).unwrap_or(head);
    let tail = tail.find('\n').filter(|at| *at < tail.len() / 2).and_then(|at| tail.get(at + 1..)).unwrap_or(tail);
    (head, tail)
}

/// The id with nothing in it that means something to a file system; a hash keeps two changed ones apart.
fn file_name(id: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let hidden = if id.starts_with('.') { "_" } else { "" };
    let safe: String = id.chars().map(|c| if is_safe(c) { c } else { '_' }).take(LONGEST_NAME).collect();
    if safe == id && hidden.is_empty() && !id.is_empty() {
        return safe;
    }
    let hash = hex::encode(Sha256::digest(id));
    format!("{hidden}{safe}_{}", hash.get(..12).unwrap_or_default())
}

/// The directory for results, made and checked: a real one, ours, closed to others. In a shared one for temporary files
/// somebody else may have taken the name; then ours carries our number.
fn folder(temp: &Path, source: Source) -> io::Result<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let [usual, own] = names(user).map(|name| temp.join(name));
    let folder = own_folder(&usual, user).map(|()| usual).or_else(|_| own_folder(&own, user).map(|()| own))?;
    match source {
        Source::Machine => Ok(folder),
        Source::Strangers => {
            let theirs = folder.join(OF_STRANGERS);
            own_folder(&theirs, user).map(|()| theirs)
        }
    }
}

/// The names the directory can have, the usual one first.
fn names(user: u32) -> [String; 2] {
    [FOLDER.to_owned(), format!("{FOLDER}-{user}")]
}

fn own_folder(path: &Path, user: u32) -> io::Result<()> {
    fs::create_dir_all(path.parent().unwrap_or(Path::new("/")))?;
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => return other,
    }
    let found = fs::symlink_metadata(path)?;
    if !found.is_dir() || found.uid() != user {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, format!("{} is somebody else's", path.display())));
    }
    if found.mode() & 0o077 != 0 {
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Writes a new file. The same text under the same name is one file.
fn save(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    for number in 1..=NAMESAKES {
        let suffix = if number == 1 { String::new() } else { format!("-{number}") };
        let path = folder.join(format!("{name}{suffix}.txt"));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path) {
            Ok(file) => return fill(file, text).map(|()| path.clone()).inspect_err(|_| drop(fs::remove_file(&path))),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                if holds(&path, text) {
                    return Ok(path);
                }
            }
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, format!("{name} has too many namesakes")))
}

fn fill(mut file: File, text: &str) -> io::Result<()> {
    file.write_all(text.as_bytes())?;
    file.flush()
}

fn holds(path: &Path, text: &str) -> bool {
    let is_same_size = |found: &fs::Metadata| found.is_file() && found.len() == text.len() as u64;
    if !fs::symlink_metadata(path).is_ok_and(|found| is_same_size(&found)) {
        return false;
    }
    let mut there = Vec::with_capacity(text.len());
    let read = File::open(path).and_then(|file| file.take(text.len() as u64 + 1).read_to_end(&mut there));
    read.is_ok() && there == text.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Disposition, Status};
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    fn spill(temp: &Path) -> Spill {
        Spill { temp: temp.to_owned() }
    }

    fn finished(id: &str, content: impl Into<Content>) -> Finished {
        Finished {
            call: CallId::new(id),
            name: "x".to_owned(),
            content: content.into(),
            status: Status::Done,
            disposition: Disposition::Complete,
            took: Duration::ZERO,
        }
    }

    #[tokio::test]
    async fn a_long_result_is_a_file_with_two_ends_in_the_conversation() {
        let temp = tempfile::tempdir().unwrap();
        let lines: Vec<String> = (1..=3_000).map(|n| format!("line {n:04}")).collect();
        let result = serde_json::json!({"output": lines.join("\n"), "exit_code": 0, "error": null}).to_string();
        let (spill, call) = (spill(temp.path()), CallId::new("call_1"));
        let shown = spill
            .capped(&call, (ResultCap::Chars(9_000), Source::Machine), result.into(), Sizes::default())
            .await
            .text();
        let path = temp.path().join("hermes-results/call_1.txt");
        let file = fs::read_to_string(&path).unwrap();
        assert_eq!(file, format!("output:\n{}\nexit_code: 0\nerror: null\n", lines.join("\n")));
        let head = format!("output:\n{}", lines[..99].join("\n"));
        let tail = format!("{}\nexit_code: 0\nerror: null\n", lines[2_953..].join("\n"));
        let left_out = file.len() - head.len() - tail.len();
        assert_eq!(
            shown,
            format!(
                "<persisted-output>\nThe result is long: {} characters, 29.3 KB. It is in {}; read on with read_file \
                 (offset, limit) or look for something with search_files.\nIts beginning:\n{head}\n\n[{left_out} characters \
                 are left out here]\n\nIts end:\n{tail}\n</persisted-output>",
                file.len(),
                path.display()
            )
        );
        let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    }

    #[tokio::test]
    async fn what_fits_stays_and_a_tool_with_its_own_cap_is_left_alone() {
        let temp = tempfile::tempdir().unwrap();
        let spill = spill(temp.path());
        let sizes = Sizes { result: 10_000, turn: 20_000 };
        for (cap, length) in [(ResultCap::Usual, 10_000), (ResultCap::Chars(50_000), 10_000), (ResultCap::Own, 90_000)]
        {
            let content = Content::Text("é".repeat(length));
            assert_eq!(spill.capped(&CallId::new("a"), (cap, Source::Machine), content.clone(), sizes).await, content);
        }
        assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
        let shown = spill
            .capped(&CallId::new("a"), (ResultCap::Chars(50_000), Source::Machine), "x".repeat(10_001).into(), sizes)
            .await;
        assert!(shown.text().starts_with(OPEN));
    }

    #[tokio::test]
    async fn the_largest_results_of_a_reply_give_way_first() {
        let temp = tempfile::tempdir().unwrap();
        let sizes = Sizes { result: 100_000, turn: 16_000 };
        let mut results: Vec<Finished> = [("a", 9_000), ("b", 12_000), ("c", 2_000), ("d", 9_000)]
            .map(|(id, length)| finished(id, id.repeat(length)))
            .into();
        results.push(finished("e", Content::Parts(vec![hermes_types::Part::of_text("e".repeat(50_000))])));
        let shortened = spill(temp.path()).fit_turn(&mut results, sizes).await;
        assert_eq!(shortened, BTreeSet::from([0, 1]));
        let spilled: Vec<bool> = results.iter().map(|result| result.content.text().starts_with(OPEN)).collect();
        assert_eq!(spilled, [true, true, false, false, false]);
    }

    #[tokio::test]
    async fn nothing_is_written_through_a_link_or_over_an_earlier_result() {
        let temp = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(elsewhere.path(), temp.path().join(FOLDER)).unwrap();
        let user = rustix::process::geteuid().as_raw();
        let own = folder(temp.path(), Source::Machine).unwrap();
        assert_eq!(own, temp.path().join(format!("{FOLDER}-{user}")));
        let victim = elsewhere.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, own.join("call.txt")).unwrap();
        assert_eq!(save(&own, "call", "one").unwrap(), own.join("call-2.txt"));
        assert_eq!(save(&own, "call", "two").unwrap(), own.join("call-3.txt"));
        assert_eq!(save(&own, "call", "one").unwrap(), own.join("call-2.txt"), "the same result is one file");
        assert_eq!(fs::read_to_string(victim).unwrap(), "precious");
    }

    #[tokio::test]
    async fn where_nothing_can_be_written_the_ends_are_shown_and_the_loss_is_told() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("file");
        fs::write(&file, "").unwrap();
        let shown = spill(&file).block(&CallId::new("a"), "x".repeat(5_000), Source::Machine).await;
        assert!(shown.contains("could not be saved (") && shown.contains("ask for less"), "{shown}");
        assert!(shown.contains(&"x".repeat(1_000)), "{shown}");
    }

    #[test]
    fn names_of_files_come_from_ids() {
        assert_eq!(file_name("call_1.A-b"), "call_1.A-b");
        assert_eq!(file_name("../../etc/passwd"), format!("_.._.._etc_passwd_{}", hash("../../etc/passwd")));
        assert_eq!(file_name("a b"), format!("a_b_{}", hash("a b")));
        assert_eq!(file_name(""), format!("_{}", hash("")));
        assert!(file_name(&"a".repeat(500)).len() < 140);
    }

    fn hash(text: &str) -> String {
        hex::encode(Sha256::digest(text)).chars().take(12).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn the_two_ends_are_of_the_text_and_do_not_overlap(text in "(\\PC|\n){0,3000}") {
            let (head, tail) = ends(&text);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
            prop_assert!(head.len() + tail.len() <= text.len());
        }
    }
}
