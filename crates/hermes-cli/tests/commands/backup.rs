//! A home goes into a file and comes back; files that are no backup are refused; damaged sessions are recovered.

use crate::{HERMES, quiet};
use hermes_core::clock::RealClock;
use hermes_core::store::{Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_testkit::World;
use hermes_types::{Message, NewSession, SessionId, Span};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const PAGE: u64 = 4096;

async fn store(world: &World) -> SqliteStore {
    SqliteStore::open(&world.hermes_home().join("state.db"), Arc::new(RealClock::default())).await.expect("a store")
}

async fn say(world: &World, session: &str, texts: &[String]) {
    let store = store(world).await;
    let id = SessionId::new(session);
    store.create(NewSession::new(id.clone(), "cli")).await.expect("a session");
    let messages = texts.iter().map(|text| Message::user(text.as_str()).into()).collect();
    store.append(&id, messages).await.expect("kept");
    store.close().await;
}

async fn said(world: &World, session: &str) -> usize {
    let store = store(world).await;
    let messages = store.conversation(&SessionId::new(session), Span::Own).await.expect("read").len();
    store.close().await;
    messages
}

/// All files of a home but databases and snapshots, with their rights.
fn files(home: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
            if kind.is_dir() && entry.file_name() != "state-snapshots" {
                folders.push(path);
            } else if kind.is_file() && !entry.file_name().to_string_lossy().starts_with("state.db") {
                let mode = fs::metadata(&path).expect("there").permissions().mode() & 0o777;
                found.insert(
                    path.strip_prefix(home).expect("inside").to_owned(),
                    (fs::read(&path).expect("read"), mode),
                );
            }
        }
    }
    found
}

fn close(path: &Path) {
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("closed");
}

async fn furnished() -> World {
    let world =
        quiet(World::new().config("model: {default: m}\n").dotenv("K=secret\n").file("skills/a/run.sh", "#!/bin/sh\n"));
    for name in ["config.yaml", ".env"] {
        close(&world.hermes_home().join(name));
    }
    let script = world.hermes_home().join("skills/a/run.sh");
    fs::set_permissions(script, fs::Permissions::from_mode(0o755)).expect("executable");
    say(&world, "first", &["hello".into(), "world".into()]).await;
    world
}

fn only_zip(folder: &Path) -> PathBuf {
    let zips: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "zip"))
        .collect();
    assert_eq!(zips.len(), 1, "{zips:?}");
    zips[0].clone()
}

#[tokio::test]
async fn a_home_goes_into_a_file_and_comes_back() {
    let world = furnished().await;
    let home = world.hermes_home();
    for (name, text) in [("node_modules/x.js", "x"), ("gateway.pid", "1"), ("a.pyc", "x"), ("cache/y", "y")] {
        fs::create_dir_all(home.join(name).parent().expect("a folder")).expect("made");
        fs::write(home.join(name), text).expect("written");
    }
    let before = files(&home);
    let ran = world.run(HERMES, &["backup"]).await.expect_code(0);
    let zip = only_zip(world.home());
    assert_eq!(ran.stdout.trim_end(), zip.display().to_string());
    assert!(ran.stderr.contains("keys and logins"), "{}", ran.stderr);
    let name = zip.file_name().expect("a name").to_str().expect("text");
    assert!(
        name.starts_with("hermes-backup-20") && name.len() == "hermes-backup-2026-01-02-030405.zip".len(),
        "{name}"
    );
    assert_eq!(fs::metadata(&zip).expect("there").permissions().mode() & 0o777, 0o600);
    let packed: Vec<String> = zip::ZipArchive::new(fs::File::open(&zip).expect("a file"))
        .expect("a zip")
        .file_names()
        .map(|name| name.expect("text").into_owned())
        .collect();
    assert_eq!(packed, [".env", "config.yaml", "skills/a/run.sh", "state.db"]);

    fs::write(home.join("config.yaml"), "model: {default: other}\n").expect("changed");
    fs::remove_file(home.join("skills/a/run.sh")).expect("removed");
    say(&world, "second", &["later".into()]).await;
    let zip = zip.to_str().expect("text");
    let refused = world.run(HERMES, &["import", zip]).await.expect_code(1);
    assert!(refused.stderr.contains(&format!("hermes import {zip} -y")), "{}", refused.stderr);
    assert_eq!(said(&world, "second").await, 1, "nothing was changed");

    let ran = world.run(HERMES, &["import", zip, "-y"]).await.expect_code(0);
    assert_eq!(files(&home), before);
    assert_eq!((said(&world, "first").await, said(&world, "second").await), (2, 0));
    assert_eq!(fs::metadata(home.join("state.db")).expect("there").permissions().mode() & 0o777, 0o600);
    let saved = fs::read_dir(home.join("state-snapshots")).expect("saved").flatten().next().expect("one").path();
    assert!(ran.stderr.contains(&saved.display().to_string()), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(saved.join("config.yaml")).expect("there"), "model: {default: other}\n");
    let old =
        SqliteStore::open(&saved.join("state.db"), Arc::new(RealClock::default())).await.expect("the old sessions");
    assert!(old.session(&SessionId::new("second")).await.expect("read").is_some());
    let left: Vec<_> = fs::read_dir(&home).expect("the home").flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with(".import-")), "{left:?}");
}

#[tokio::test]
async fn a_file_in_a_folder_of_its_own_becomes_a_new_home() {
    let world = quiet(World::new());
    let zip = pack(&world, &[(".hermes/config.yaml", "a: 1\n", 0o644), (".hermes/SOUL.md", "me", 0o644)]);
    world.run(HERMES, &["import", &zip]).await.expect_code(0);
    let found = files(&world.hermes_home());
    let expected = [("SOUL.md", ("me", 0o644)), ("config.yaml", ("a: 1\n", 0o600))];
    let expected = expected.map(|(name, (text, mode))| (PathBuf::from(name), (text.as_bytes().to_vec(), mode)));
    assert_eq!(found, BTreeMap::from(expected));
}

/// A name, a text and a mode.
type Entry<'a> = (&'a str, &'a str, u32);

/// A zip file with these entries; a mode with the bits of a link makes one.
fn pack(world: &World, entries: &[Entry<'_>]) -> String {
    let path = world.home().join("made.zip");
    let mut zip = ZipWriter::new(fs::File::create(&path).expect("a file"));
    for (name, text, mode) in entries {
        let options = SimpleFileOptions::default().unix_permissions(mode & 0o777);
        if mode & 0o170_000 == 0o120_000 {
            zip.add_symlink(*name, *text, options).expect("a link");
        } else {
            zip.start_file(*name, options).expect("an entry");
            zip.write_all(text.as_bytes()).expect("written");
        }
    }
    zip.finish().expect("a zip");
    path.display().to_string()
}

#[tokio::test]
async fn files_that_are_no_backup_are_refused_and_change_nothing() {
    let world = furnished().await;
    let before = files(&world.hermes_home());
    let config = ("config.yaml", "evil: 1\n", 0o600);
    let bomb = "0".repeat(300 << 20);
    let cases: [(&[Entry<'_>], &str); 7] = [
        (&[config, ("../outside", "x", 0o600)], "leads out of the home"),
        (&[config, ("/tmp/hermes-outside", "x", 0o600)], "leads out of the home"),
        (&[config, ("a\\..\\..\\b", "x", 0o600)], "leads out of the home"),
        (&[config, ("skills", "/etc", 0o120_777)], "the link `skills`"),
        (&[("notes.txt", "x", 0o600)], "no backup of a home"),
        (&[config, ("bomb", &bomb, 0o600)], "far more than it holds"),
        (&[config, ("state.db", "not a database", 0o600)], "not a database"),
    ];
    for (entries, reason) in cases {
        let zip = pack(&world, entries);
        let ran = world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(1);
        assert!(ran.stderr.contains(reason), "{reason}: {}", ran.stderr);
        assert_eq!(files(&world.hermes_home()), before, "{reason}");
    }
    fs::write(world.home().join("text.zip"), "hello").expect("written");
    let text = world.home().join("text.zip").display().to_string();
    let ran = world.run(HERMES, &["import", &text, "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains("it is no zip file"), "{}", ran.stderr);
    assert!(!world.home().join("outside").exists() && !Path::new("/tmp/hermes-outside").exists());
    assert_eq!(said(&world, "first").await, 2);
}

#[tokio::test]
async fn links_are_neither_packed_nor_written_through() {
    let world = furnished().await;
    let outside = world.home().join("outside");
    fs::create_dir(&outside).expect("made");
    fs::write(outside.join("private"), "x").expect("written");
    symlink(&outside, world.hermes_home().join("memories")).expect("linked");
    let ran = world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(1);
    assert!(ran.stderr.contains("leads out of the home"), "{}", ran.stderr);
    let zip = pack(&world, &[("config.yaml", "a: 1\n", 0o600), ("memories/private", "evil", 0o600)]);
    let ran = world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains("is a link"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(outside.join("private")).expect("there"), "x");
}

#[tokio::test]
async fn quick_copies_are_kept_twenty_deep() {
    let world = furnished().await;
    world.run(HERMES, &["backup", "--quick", "--label", "no/way"]).await.expect_code(2);
    let snapshots = world.hermes_home().join("state-snapshots");
    for number in 0..20 {
        fs::create_dir_all(snapshots.join(format!("20200101-0000{number:02}"))).expect("an old one");
    }
    fs::create_dir_all(snapshots.join("mine")).expect("something else");
    let ran = world.run(HERMES, &["backup", "--quick", "--label", "before"]).await.expect_code(0);
    let folder = PathBuf::from(ran.stdout.trim_end());
    assert!(folder.display().to_string().ends_with("-before"), "{}", folder.display());
    let mut names: Vec<String> = fs::read_dir(&snapshots)
        .expect("snapshots")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into())
        .collect();
    names.sort();
    assert_eq!((names.len(), names[0].as_str(), names.contains(&"mine".to_owned())), (21, "20200101-000001", true));
    let mut saved: Vec<String> =
        fs::read_dir(&folder).expect("a snapshot").flatten().map(|e| e.file_name().to_string_lossy().into()).collect();
    saved.sort();
    assert_eq!(saved, [".env", "config.yaml", "state.db"]);
}

#[tokio::test]
async fn damaged_sessions_are_recovered_and_the_damaged_file_is_kept() {
    let world = furnished().await;
    let path = world.hermes_home().join("state.db");
    let ran = world.run(HERMES, &["sessions", "recover"]).await.expect_code(0);
    assert!(ran.stderr.starts_with("Nothing is wrong with"), "{}", ran.stderr);
    say(&world, "long", &(0..400).map(|n| format!("message {n} {}", "x".repeat(200))).collect::<Vec<_>>()).await;
    let bytes = fs::read(&path).expect("the file");
    let is_full_of_messages = |page: &usize| {
        let page = &bytes[page * PAGE as usize..][..PAGE as usize];
        page[0] == 13 && page.windows(8).filter(|text| text == b"message ").count() > 5
    };
    let page = (1..bytes.len() / PAGE as usize).find(is_full_of_messages).expect("a page") as u64;
    let file = fs::OpenOptions::new().write(true).open(&path).expect("the file");
    file.write_all_at(&[0; PAGE as usize], page * PAGE).expect("destroyed");
    drop(file);

    let refused = world.run(HERMES, &["sessions", "recover"]).await.expect_code(1);
    assert!(refused.stderr.contains("`hermes sessions recover -y`"), "{}", refused.stderr);
    assert_eq!(fs::read(&path).expect("the file").len(), bytes.len(), "nothing was changed");
    let ran = world.run(HERMES, &["sessions", "recover", "-y"]).await.expect_code(0);
    assert!(ran.stderr.contains("is damaged") && ran.stderr.contains("messages are lost"), "{}", ran.stderr);
    assert_eq!(ran.stdout.trim_end(), path.display().to_string());
    let names: Vec<String> = fs::read_dir(world.hermes_home())
        .expect("home")
        .flatten()
        .map(|e| e.file_name().to_string_lossy().into())
        .collect();
    let kept = names.iter().find(|name| name.starts_with("state.db.damaged-")).expect("the damaged file is kept");
    assert_eq!(fs::metadata(world.hermes_home().join(kept)).expect("there").len(), bytes.len() as u64);
    assert!(!names.contains(&"state.db.damaged".to_owned()), "{names:?}");
    let left = said(&world, "long").await;
    assert!((350..400).contains(&left), "{left}");
    say(&world, "after", &["it goes on".into()]).await;
    world.run(HERMES, &["sessions", "recover"]).await.expect_code(0);
    // As fast as they go: two may fall into one second.
    let kept = || fs::read_dir(world.hermes_home()).expect("home").flatten();
    let count = || kept().filter(|e| e.file_name().to_string_lossy().starts_with("state.db.damaged-")).count();
    let before = count();
    for _ in 0..3 {
        world.run(HERMES, &["sessions", "recover", "--force", "-y"]).await.expect_code(0);
    }
    assert_eq!((count(), said(&world, "long").await), (before + 3, left));
}

#[tokio::test]
async fn a_store_that_is_in_use_is_neither_recovered_nor_replaced() {
    let world = furnished().await;
    let zip = pack(&world, &[("config.yaml", "a: 1\n", 0o600)]);
    world.run(HERMES, &["backup", "-o", "real.zip"]).await.expect_code(0);
    let other = store(&world).await;
    other.create(NewSession::new(SessionId::new("now"), "cli")).await.expect("written");
    let busy = format!("in use by process {}", std::process::id());
    let ran = world.run(HERMES, &["sessions", "recover", "--force", "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains(&busy), "{}", ran.stderr);
    let ran = world.run(HERMES, &["import", "real.zip", "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains(&busy), "{}", ran.stderr);
    world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(0);
    assert!(other.session(&SessionId::new("now")).await.expect("read").is_some());
}
