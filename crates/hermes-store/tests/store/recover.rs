//! Files are damaged in every way, and what is whole comes back byte for byte.

use crate::stage::{Kind, Stage, open};
use hermes_core::store::Transcript;
use hermes_store::{Lost, Recovered, recover};
use hermes_types::{Message, NewMessage, SessionId, StoredMessage};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const PAGE: usize = 4096;
const SESSIONS: usize = 20;
const MESSAGES: usize = 2_000;
/// The indexes of the other program take their time to be made anew.
const FEWER: usize = 400;

/// A file with many messages, some of them longer than a page, and what it holds.
struct Sample {
    bytes: Vec<u8>,
    messages: BTreeMap<i64, StoredMessage>,
    /// Of each message the pages it needs, and the pages above them in the tree.
    pages_of: BTreeMap<i64, Vec<usize>>,
    inner: Vec<usize>,
}

impl Sample {
    async fn of(kind: Kind) -> Self {
        let mut stage = Stage::of(kind).await;
        let count = if kind == Kind::Python { FEWER } else { MESSAGES };
        let mut random = StdRng::seed_from_u64(7);
        for session in 0..SESSIONS {
            let id = stage.session(&format!("20260102_0304{session:02}_abcdef")).await;
            let messages = (0..count / SESSIONS).map(|number| {
                let length = if number % 20 == 7 { 9_000 } else { random.random_range(0..300) };
                let text: String = (0..length).map(|_| char::from(random.random_range(b' '..b'~'))).collect();
                let message = match number % 3 {
                    0 => Message::user(text),
                    _ => {
                        serde_json::from_value(serde_json::json!({"role": "assistant", "content": text, "odd": number}))
                            .expect("a message")
                    }
                };
                NewMessage::from(message)
            });
            stage.store.append(&id, messages.collect()).await.expect("kept");
        }
        stage.reopen().await;
        let messages = everything(&stage.path).await;
        stage.store.close().await;
        let bytes = fs::read(&stage.path).expect("the file");
        let (pages_of, inner) = locate(&bytes, &stage.look());
        assert_eq!(pages_of.len(), messages.len());
        Self { bytes, messages, pages_of, inner }
    }

    /// Damages the file, recovers it, and compares all messages of which every page is whole.
    async fn survives(&self, what: &str, damage: impl FnOnce(&mut Vec<u8>)) -> Recovered {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, into) = (folder.path().join("state.db"), folder.path().join("new.db"));
        let mut bytes = self.bytes.clone();
        damage(&mut bytes);
        fs::write(&path, &bytes).expect("the damaged file");
        let recovered = recover(&path, &into).unwrap_or_else(|error| panic!("{what}: {error}"));
        assert_eq!(fs::read(&path).expect("there"), bytes, "{what}: the damaged file is left as it was");
        let found = everything(&into).await;
        let is_whole = |page: &usize| {
            let range = page * PAGE..(page + 1) * PAGE;
            bytes.get(range.clone()).is_some_and(|now| now == &self.bytes[range])
        };
        let mut whole = 0;
        for (id, pages) in &self.pages_of {
            if pages.iter().all(is_whole) {
                let (mut found, mut kept) = (found.get(id).cloned(), self.messages.get(id).cloned());
                // What lies beside a message is on pages of its own.
                for message in [&mut found, &mut kept] {
                    if let Some(StoredMessage { message: Message::Assistant(said), .. }) = message {
                        said.extra.clear();
                    }
                }
                assert!(found == kept, "{what}: message {id} is {}", if found.is_some() { "another" } else { "gone" });
                whole += 1;
            }
        }
        assert!(recovered.messages >= whole, "{what}: {recovered:?}");
        assert_eq!(recovered.messages, found.len() as u64, "{what}");
        sound(&into, what);
        recovered
    }
}

fn sound(path: &Path, what: &str) {
    let file = Connection::open(path).expect("the new file");
    let untrue = "SELECT count(*) FROM sessions s WHERE message_count <> (SELECT count(*) FROM messages m
        LEFT JOIN hermes_message_extra x ON x.message_id = m.id WHERE m.session_id = s.id AND coalesce(x.state, 0) = 0)";
    let has_states = file.prepare("SELECT active FROM messages").is_ok();
    let untrue: i64 = file.query_row(untrue, [], |row| row.get(0)).expect("a count");
    assert!(has_states || untrue == 0, "{what}: {untrue} sessions miscount");
    for check in ["integrity_check", "foreign_key_check"] {
        let mut statement = file.prepare(&format!("PRAGMA {check}")).expect("a check");
        let lines: Vec<String> =
            statement.query_map([], |row| row.get(0)).expect("lines").map(|line| line.expect("a line")).collect();
        assert!(lines.is_empty() || lines == ["ok"], "{what}: {lines:?}");
    }
}

async fn everything(path: &Path) -> BTreeMap<i64, StoredMessage> {
    let ids: Vec<String> = {
        let file = Connection::open(path).expect("the file");
        let mut statement = file.prepare("SELECT id FROM sessions").expect("a statement");
        statement.query_map([], |row| row.get(0)).expect("rows").map(|id| id.expect("an id")).collect()
    };
    let store = open(path).await;
    let mut messages = BTreeMap::new();
    for id in ids {
        let found = store.messages(&SessionId::new(id)).await.expect("messages");
        messages.extend(found.into_iter().map(|stored| (stored.id.0, stored)));
    }
    store.close().await;
    messages
}

/// The pages each message needs: its leaf and the pages it goes on in. Read independently of the code under test.
fn locate(bytes: &[u8], file: &Connection) -> (BTreeMap<i64, Vec<usize>>, Vec<usize>) {
    let mut inner = Vec::new();
    let root: usize = file
        .query_row("SELECT rootpage FROM sqlite_master WHERE name = 'messages'", [], |row| row.get(0))
        .expect("root");
    let mut found = BTreeMap::new();
    let mut pages = vec![root - 1];
    while let Some(page) = pages.pop() {
        let at = page * PAGE;
        let big = |place: usize, length: usize| {
            bytes[place..place + length].iter().fold(0, |sum, b| sum << 8 | usize::from(*b))
        };
        let cells = big(at + 3, 2);
        if bytes[at] == 5 {
            inner.push(page);
            pages.push(big(at + 8, 4) - 1);
            pages.extend((0..cells).map(|cell| big(at + big(at + 12 + 2 * cell, 2), 4) - 1));
            continue;
        }
        for cell in 0..cells {
            let start = at + big(at + 8 + 2 * cell, 2);
            let varint = |mut place: usize| {
                let mut value = 0usize;
                loop {
                    value = value << 7 | usize::from(bytes[place] & 0x7f);
                    place += 1;
                    if bytes[place - 1] < 0x80 {
                        return (value, place);
                    }
                }
            };
            let (size, next) = varint(start);
            let (id, payload) = varint(next);
            let mut needs = vec![page];
            if size > PAGE - 35 {
                let least = (PAGE - 12) * 32 / 255 - 23;
                let local = least + (size - least) % (PAGE - 4);
                let local = if local <= PAGE - 35 { local } else { least };
                let mut more = big(payload + local, 4);
                while more != 0 {
                    needs.push(more - 1);
                    more = big((more - 1) * PAGE, 4);
                }
            }
            found.insert(id as i64, needs);
        }
    }
    (found, inner)
}

#[tokio::test]
async fn a_sound_file_comes_back_whole() {
    for kind in [Kind::New, Kind::Old(6), Kind::Python] {
        let sample = Sample::of(kind).await;
        let recovered = sample.survives("nothing", |_| {}).await;
        assert_eq!(recovered.messages, sample.messages.len() as u64, "{kind:?}");
        assert_eq!((recovered.from_pages, recovered.sessions_made_up), (0, 0), "{kind:?}");
        assert_eq!((recovered.lost, recovered.may_hold_deleted), (Lost::Exactly(0), false), "{kind:?}");
    }
}

#[tokio::test]
async fn whatever_is_destroyed_the_rest_comes_back() {
    for kind in [Kind::New, Kind::Python] {
        let sample = Sample::of(kind).await;
        let all = sample.messages.len() as u64;
        let leaf = sample.pages_of[&200][0];
        let lost = sample.survives("a leaf of zeros", |bytes| bytes[leaf * PAGE..][..PAGE].fill(0)).await;
        let gone = sample.pages_of.values().filter(|pages| pages.contains(&leaf)).count() as u64;
        assert_eq!((lost.messages, lost.lost), (all - gone, Lost::Exactly(gone)), "{kind:?}");

        for (number, page) in sample.inner.iter().enumerate() {
            let what = format!("{kind:?}: inner page {number} of noise");
            let recovered = sample.survives(&what, |bytes| noise(&mut bytes[page * PAGE..][..PAGE], 3)).await;
            assert_eq!(recovered.messages, all, "{what}");
        }
        for part in [2, 5] {
            let what = format!("{kind:?}: cut to 1/{part}");
            sample.survives(&what, |bytes| bytes.truncate(bytes.len() / part)).await;
        }
        let what = format!("{kind:?}: no header");
        let headless = sample.survives(&what, |bytes| noise(&mut bytes[..100], 4)).await;
        assert_eq!((headless.messages, headless.from_pages, headless.may_hold_deleted), (all, 0, false), "{what}");
        let what = format!("{kind:?}: no first page");
        let headless = sample.survives(&what, |bytes| noise(&mut bytes[..PAGE], 5)).await;
        assert_eq!((headless.messages, headless.may_hold_deleted), (all, true), "{what}");
    }
}

fn noise(bytes: &mut [u8], seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    bytes.iter_mut().for_each(|byte| *byte = random.random());
}

#[tokio::test]
async fn flipped_bytes_anywhere_cost_only_what_they_hit() {
    let sample = Sample::of(Kind::New).await;
    for seed in 0..6 {
        let mut random = StdRng::seed_from_u64(seed);
        let flips = 1 << (seed % 6);
        let what = format!("{flips} flips of seed {seed}");
        sample
            .survives(&what, |bytes| {
                for _ in 0..flips {
                    let place = random.random_range(0..bytes.len());
                    bytes[place] ^= random.random_range(1..=255u8);
                }
            })
            .await;
    }
}

#[tokio::test]
async fn what_only_the_log_knows_comes_back_too_and_what_was_deleted_does_not() {
    let stage = Stage::of(Kind::New).await;
    let id = stage.session("kept").await;
    let gone = stage.session("gone").await;
    let say = |text: String| NewMessage::from(Message::user(text));
    stage
        .store
        .append(&gone, (0..300).map(|n| say(format!("secret {n} {}", "s".repeat(300)))).collect())
        .await
        .expect("kept");
    stage
        .store
        .append(&id, (0..300).map(|n| say(format!("open {n} {}", "o".repeat(300)))).collect())
        .await
        .expect("kept");
    stage.store.clear(&gone).await.expect("deleted");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("state.db");
    for beside in ["db", "db-wal"] {
        fs::copy(stage.path.with_extension(beside), path.with_extension(beside)).expect("as a crash leaves it");
    }
    assert!(fs::metadata(path.with_extension("db-wal")).expect("a log").len() > 100_000);
    let into = folder.path().join("new.db");
    let recovered = recover(&path, &into).expect("recovered");
    assert_eq!((recovered.sessions, recovered.messages, recovered.lost), (2, 300, Lost::Exactly(0)));
    let store = open(&into).await;
    store.append(&id, vec![say("and on".into())]).await.expect("a recovered file can be written");
    store.close().await;

    stage.store.close().await;
    let mut bytes = fs::read(&stage.path).expect("the file");
    let leaf = *locate(&bytes, &stage.look()).0.values().next().expect("a message").first().expect("a page");
    bytes[leaf * PAGE..][..PAGE].fill(0);
    fs::remove_file(path.with_extension("db-wal")).expect("removed");
    fs::write(&path, bytes).expect("damaged");
    let into = folder.path().join("newer.db");
    let recovered = recover(&path, &into).expect("recovered");
    assert!(recovered.messages < 300 && recovered.messages > 250, "{recovered:?}");
    assert!(everything(&into).await.values().all(|stored| stored.session_id == id), "deleted messages came back");
}
