//! A home goes into a file and comes back; files that are no backup are refused; damaged sessions are recovered.

use crate::{HERMES, quiet};
use hermes_core::clock::RealClock;
use hermes_core::store::{Sessions, Transcript};
use hermes_store::SqliteStore;
use hermes_testkit::{Ran, World};
use hermes_types::{Message, NewSession, SessionId, Span};
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};
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
            } else if kind.is_file() && !entry.file_name().to_string_lossy().contains("state.db") {
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
    let cases: [(&[Entry<'_>], &str); 12] = [
        (&[config, ("../outside", "x", 0o600)], "leads out of the home"),
        (&[config, ("/tmp/hermes-outside", "x", 0o600)], "leads out of the home"),
        (&[config, ("a/./b", "x", 0o600)], "leads out of the home"),
        (&[config, ("skills", "/etc", 0o120_777)], "the link `skills`, which leads out of the home"),
        (&[config, ("skills/b", "../..", 0o120_777)], "the link `skills/b`, which leads out of the home"),
        (&[config, ("skills/b", "c/../../../x", 0o120_777)], "the link `skills/b`, which leads out of the home"),
        (&[config, ("new", "memories", 0o120_777), ("new/x", "evil", 0o600)], "`new` cannot be unpacked"),
        (&[config, ("new", "x", 0o600), ("new/x", "x", 0o600)], "`new/x` cannot be unpacked"),
        (&[config, ("skills", "x", 0o600)], "is a folder, and in the backup a file has that name"),
        (&[config, ("config.yaml/x", "x", 0o600)], "is a file, and in the backup a folder has that name"),
        (&[("notes.txt", "x", 0o600)], "no backup of a home"),
        (&[config, ("bomb", &bomb, 0o600)], "far more than it holds"),
    ];
    for (entries, reason) in cases {
        let zip = pack(&world, entries);
        let ran = world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(1);
        assert!(ran.stderr.contains(reason) && ran.stderr.contains("Nothing was changed"), "{reason}: {}", ran.stderr);
        assert!(!ran.stderr.contains(".import-"), "a temporary path is told: {}", ran.stderr);
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
    let told = format!("memories is left out: it is a link out of the home, to {}.", outside.display());
    assert!(ran.stderr.contains(&told), "{}", ran.stderr);
    let zip = pack(&world, &[("config.yaml", "a: 1\n", 0o600), ("memories/private", "evil", 0o600)]);
    let ran = world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains("is a link"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(outside.join("private")).expect("there"), "x");
}

/// Runs a command in the throw-away home, but on a terminal.
async fn on_terminal(world: &World, words: &str) -> Ran {
    world.run("script", &["-qec", &format!("{HERMES} {words}"), "/dev/null"]).await
}

/// Packs the home, takes it away, and brings it back.
async fn there_and_back(world: &World, code: i32) -> (Ran, Ran) {
    let packed = world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(code);
    fs::remove_dir_all(world.hermes_home()).expect("gone");
    (packed, world.run(HERMES, &["import", "b.zip"]).await.expect_code(0))
}

fn furnish(world: &World, names: &[&str]) {
    for name in names {
        let path = world.hermes_home().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, format!("the text of {name}")).expect("written");
    }
}

#[tokio::test]
async fn whatever_a_file_is_called_it_comes_back_and_a_terminal_does_not_obey_it() {
    let world = furnished().await;
    let hostile = "l\u{1b}[31mred\n\u{202e}";
    furnish(&world, &["a:b.txt", "back\\slash", "end\\", "สวัสดี", "it's \"quoted\"", hostile]);
    symlink("/etc", world.hermes_home().join(format!("link {hostile}"))).expect("linked");
    let before = files(&world.hermes_home());
    let (packed, _) = there_and_back(&world, 1).await;
    assert_eq!(files(&world.hermes_home()), before);
    let told = "link l\\u{1b}[31mred\\n\\u{202e} is left out: it is a link out of the home, to /etc.\n";
    assert!(packed.stderr.starts_with(told), "{:?}", packed.stderr);
    let refused = world.run(HERMES, &["import", "b.zip"]).await.expect_code(1);
    assert!(!refused.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", refused.stderr);
}

#[tokio::test]
async fn only_what_can_be_made_again_is_left_out_and_it_is_named() {
    let world = furnished().await;
    let kept = ["skills/a/Cargo.lock", "skills/a/cache/data.txt", "skills/a/.git/HEAD", "logs/x.log", "notes-journal"];
    let left_out = ["backups/x", "cache/x", "skills/a/node_modules/x", "state.db.damaged-1", "state.db.recovered-1"];
    let of_programs =
        ["config.lock", "auth.lock", "gateway.pid", ".state.db.turn", ".state.db.next", "profiles/w/a.pid"];
    for names in [&kept[..], &left_out, &of_programs] {
        furnish(&world, names);
    }
    let (packed, _) = there_and_back(&world, 0).await;
    let line = "Left out 3 folders and 2 files, which are copies or can be made again: backups/, cache/, \
                skills/a/node_modules/, state.db.damaged-1, state.db.recovered-1.\n";
    assert!(packed.stderr.starts_with(line), "{}", packed.stderr);
    let names: Vec<PathBuf> = files(&world.hermes_home()).into_keys().collect();
    let mut expected: Vec<PathBuf> =
        kept.iter().chain(&[".env", "config.yaml", "skills/a/run.sh"]).map(PathBuf::from).collect();
    expected.sort();
    assert_eq!(names, expected);
}

#[tokio::test]
async fn damaged_sessions_come_back_as_they_are() {
    let world = quiet(World::new().config("a: 1\n"));
    let state = world.hermes_home().join("state.db");
    fs::write(&state, "no database, but all that is left").expect("written");
    let packed = world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(1);
    assert!(packed.stderr.starts_with("state.db was copied as it is, because"), "{}", packed.stderr);
    assert!(packed.stderr.contains("Packed 2 files"), "{}", packed.stderr);
    fs::remove_file(&state).expect("removed");
    say(&world, "sound", &["replaced, but not lost".into()]).await;
    let back = world.run(HERMES, &["import", "b.zip", "-y"]).await.expect_code(0);
    let told = format!("{}: the backup holds it damaged (it is not a database", state.display());
    assert!(back.stderr.starts_with(&told) && back.stderr.contains("`hermes sessions recover`"), "{}", back.stderr);
    assert!(!back.stderr.contains(".import-"), "a temporary path is told: {}", back.stderr);
    assert_eq!(fs::read_to_string(&state).expect("there"), "no database, but all that is left");
    let saved = back.stderr.lines().find_map(|line| line.strip_prefix("What was replaced is in ")).expect("saved");
    let saved = Path::new(saved.trim_end_matches('.')).join("state.db");
    let saved = SqliteStore::open(&saved, Arc::new(RealClock::default())).await.expect("the old sessions");
    assert!(saved.session(&SessionId::new("sound")).await.expect("read").is_some());
}

#[tokio::test]
async fn a_log_comes_with_its_database_or_not_at_all() {
    let world = furnished().await;
    let log = world.hermes_home().join("other.db-wal");
    let zip = pack(&world, &[("config.yaml", "a: 1\n", 0o600), ("other.db-wal", "a log", 0o600)]);
    world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(0);
    assert!(!log.exists());
    let with_log = [("other.db-wal", "a log", 0o600), ("config.yaml", "a: 1\n", 0o600), ("other.db", "x", 0o600)];
    let zip = pack(&world, &with_log);
    world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(0);
    assert_eq!(fs::read_to_string(&log).expect("there"), "a log");
    // Without its database it would be taken for a log of the next one.
    fs::remove_file(world.hermes_home().join("other.db")).expect("removed");
    let ran = world.run(HERMES, &["import", &zip, "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains("other.db-wal is the log of a database that is gone"), "{}", ran.stderr);
    let ran = world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(1);
    assert!(ran.stderr.starts_with("other.db-wal is left out: it has no database.\n"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_folder_called_like_the_sessions_is_noted() {
    let world = quiet(World::new().config("a: 1\n"));
    furnish(&world, &["state.db/inside.txt"]);
    let (packed, _) = there_and_back(&world, 0).await;
    let told = "state.db is a folder, where a database is expected; its files are packed.\n";
    assert!(packed.stderr.starts_with(told), "{}", packed.stderr);
    assert!(world.hermes_home().join("state.db/inside.txt").is_file());
}

#[tokio::test]
async fn a_home_that_is_none_is_not_packed() {
    let world = quiet(World::new());
    furnish(&world, &["skills/a/SKILL.md"]);
    let ran = world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(1);
    assert!(ran.stderr.contains("is no home yet") && ran.stderr.contains("No backup was made."), "{}", ran.stderr);
    world.run(HERMES, &["backup", "--quick"]).await.expect_code(1);
    assert_eq!(fs::read_dir(world.work_dir()).expect("a folder").count(), 0);
    assert!(!world.hermes_home().join("state-snapshots").exists());
}

#[tokio::test]
async fn on_a_full_disk_only_our_sentence_is_told() {
    let world = furnished().await;
    world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(0);
    let zip = world.work_dir().join("b.zip");
    let small = fs::metadata(&zip).expect("there").len();
    fs::remove_file(&zip).expect("removed");
    // Text that cannot be packed any smaller.
    let noise: Vec<u8> = (0..40_000u64).flat_map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes()).collect();
    fs::write(world.hermes_home().join("the large one"), noise).expect("written");
    world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(0);
    let whole = fs::metadata(&zip).expect("there").len();
    fs::remove_file(&zip).expect("removed");
    // A write above the limit fails as on a full disk: while a database is copied, in a file, and at the very end.
    for limit in [small, whole / 2, whole - 1] {
        let line = format!("trap '' XFSZ; ulimit -f {}; exec {HERMES} backup -o b.zip", limit / 512);
        let ran = world.run("sh", &["-c", &line]).await.expect_code(1);
        let told =
            ran.stderr.starts_with("b.zip cannot be written: ") && ran.stderr.ends_with(". No backup was made.\n");
        assert!(told && ran.stderr.lines().count() == 1, "{}", ran.stderr);
        assert_eq!(fs::read_dir(world.work_dir()).expect("a folder").count(), 0, "nothing is left");
    }
}

#[tokio::test]
async fn a_backup_goes_to_another_program_but_not_to_a_terminal() {
    let world = furnished().await;
    world.run("sh", &["-c", &format!("{HERMES} backup -o - > b.zip")]).await.expect_code(0);
    let before = files(&world.hermes_home());
    fs::remove_dir_all(world.hermes_home()).expect("gone");
    world.run(HERMES, &["import", "b.zip"]).await.expect_code(0);
    assert_eq!((files(&world.hermes_home()), said(&world, "first").await), (before, 2));
    let ran = on_terminal(&world, "backup -o -").await.expect_code(2);
    assert!(ran.stdout.starts_with("A backup is no text"), "{}", ran.stdout);
    let ran = world.run(HERMES, &["import", "-"]).await.expect_code(2);
    assert!(ran.stderr.contains("save it to a file"), "{}", ran.stderr);
    assert!(!world.work_dir().join("-").exists());
}

#[tokio::test]
async fn links_inside_of_the_home_and_times_come_back() {
    let world = furnished().await;
    let home = world.hermes_home();
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_583_298_367);
    fs::File::open(home.join("config.yaml")).expect("there").set_modified(time).expect("set");
    symlink("skills/a", home.join("current")).expect("linked");
    symlink(home.join("config.yaml"), home.join("skills/settings")).expect("linked");
    symlink("/nowhere/at/all", home.join("dangling")).expect("linked");
    let (packed, _) = there_and_back(&world, 0).await;
    let told = "dangling is left out: it is a link to /nowhere/at/all, where nothing is.\n";
    assert!(packed.stderr.starts_with(told), "{}", packed.stderr);
    assert_eq!(fs::metadata(home.join("config.yaml")).expect("there").modified().expect("a time"), time);
    let way = |name: &str| fs::read_link(home.join(name)).expect("a link").display().to_string();
    assert_eq!((way("current"), way("skills/settings")), ("skills/a".into(), "../config.yaml".into()));
    assert!(home.join("current/run.sh").is_file() && home.join("skills/settings").is_file());
    // The same links are not in the way; others are.
    world.run(HERMES, &["import", "b.zip", "-y"]).await.expect_code(0);
    fs::remove_file(home.join("current")).expect("removed");
    symlink("memories", home.join("current")).expect("linked");
    let ran = world.run(HERMES, &["import", "b.zip", "-y"]).await.expect_code(1);
    assert!(ran.stderr.contains("in the way of a link of the same name"), "{}", ran.stderr);
}

#[tokio::test]
async fn a_person_is_told_what_is_replaced_and_answers_with_a_letter() {
    let mut world = furnished().await.env("TERM", "xterm");
    furnish(&world, &["a.txt"]);
    let home = world.hermes_home();
    world.run(HERMES, &["backup", "-o", "b.zip"]).await.expect_code(0);
    fs::write(home.join("config.yaml"), "changed").expect("written");
    let question = format!("This replaces 5 files in {}: state.db, config.yaml, .env and 2 more.", home.display());
    for (answer, code, text) in [("\n", 1, "changed"), ("y\n", 0, "model: {default: m}\n")] {
        world = world.stdin(answer);
        let ran = on_terminal(&world, "import b.zip").await.expect_code(code);
        // A terminal has lines; where they end depends on the length of the path.
        let told = ran.stdout.replace("\r\n", " ");
        assert!(told.contains(&question), "{}", ran.stdout);
        assert_eq!(fs::read_to_string(home.join("config.yaml")).expect("there"), text);
    }
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
