//! Several processes with one home, killed at any instant (P16: #26045, #85858, #86747).

use super::{add, notes};
use crate::stage::Stage;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const FOLDER: &str = "HERMES_TEST_MEMORY_FOLDER";
const NAME: &str = "HERMES_TEST_MEMORY_NAME";
const ACKNOWLEDGED: &str = "acknowledged ";
const WRITERS: usize = 4;
const LIVES: usize = 3;

/// One of the processes: writes entries and says which were acknowledged, until it is killed.
#[tokio::test]
#[ignore = "a process of the story below"]
async fn a_writer() {
    let (folder, name) = (std::env::var_os(FOLDER).expect("a folder"), std::env::var(NAME).expect("a name"));
    let stage = Stage::with(json!({"memory": {"memory_char_limit": 10_000_000}}));
    symlink(folder, stage.root().join("home/.hermes/memories")).expect("the shared folder");
    for number in 0.. {
        let entry = format!("{name} entry {number}");
        let answer = stage.call("memory", add(&entry)).await;
        assert_eq!(answer["success"], true, "{answer}");
        let mut stdout = std::io::stdout().lock();
        writeln!(stdout, "{ACKNOWLEDGED}{entry}").expect("the parent listens");
        stdout.flush().expect("the parent listens");
    }
}

/// One life of a writer: killed a moment after it acknowledged a few entries. What it acknowledged.
fn live_and_die(folder: &Path, name: &str, entries: usize, moment: Duration) -> Vec<String> {
    let mut writer = Command::new(std::env::current_exe().expect("this test"))
        .args(["memory::many::a_writer", "--exact", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(NAME, name)
        // Whoever is killed cannot clean up behind itself.
        .env("TMPDIR", folder)
        .stdout(Stdio::piped())
        .spawn()
        .expect("a writer");
    let lines = BufReader::new(writer.stdout.take().expect("its words")).lines();
    let mut acknowledged = Vec::new();
    for line in lines.map_while(Result::ok) {
        let Some((_, entry)) = line.split_once(ACKNOWLEDGED) else { continue };
        acknowledged.push(entry.to_owned());
        if acknowledged.len() == entries {
            // Some part of a write later; the rest of its words is still read.
            let until = Instant::now() + moment;
            while Instant::now() < until {
                std::hint::spin_loop();
            }
            writer.kill().expect("killed");
        }
    }
    writer.wait().expect("gone");
    assert!(acknowledged.len() >= entries, "{name} wrote");
    acknowledged
}

fn entries(file: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.split("\n§\n").filter(|entry| !entry.is_empty()).map(str::to_owned).collect()
}

/// `w1l2 entry 3`, whole.
fn is_whole(entry: &str) -> bool {
    entry.split_once(" entry ").is_some_and(|(name, number)| name.len() == 4 && number.parse::<u32>().is_ok())
}

#[tokio::test]
async fn no_acknowledged_entry_is_lost_and_the_file_is_always_whole() {
    let stage = Stage::with(json!({"memory": {"memory_char_limit": 10_000_000}}));
    let folder = notes(&stage, "");
    std::fs::create_dir_all(&folder).expect("the folder");
    let file = notes(&stage, "MEMORY.md");
    let over = AtomicBool::new(false);
    let acknowledged: Vec<String> = std::thread::scope(|scope| {
        let folder = folder.as_path();
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                scope.spawn(move || {
                    let life = |life: usize| {
                        let moment = Duration::from_micros(rand::random_range(0..3_000));
                        live_and_die(folder, &format!("w{writer}l{life}"), rand::random_range(1..12), moment)
                    };
                    (0..LIVES).flat_map(life).collect::<Vec<_>>()
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let torn: Vec<String> = entries(&file).into_iter().filter(|entry| !is_whole(entry)).collect();
                assert_eq!(torn, Vec::<String>::new());
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let lives: Vec<_> = writers.into_iter().map(|writer| writer.join()).collect();
        // Before anything is judged: the reader must end also when a writer failed.
        over.store(true, Ordering::Relaxed);
        let acknowledged = lives.into_iter().flat_map(|lives| lives.expect("a writer's lives")).collect();
        reader.join().expect("the file was whole at every look");
        acknowledged
    });
    let kept: BTreeSet<String> = entries(&file).into_iter().collect();
    let lost: Vec<&String> = acknowledged.iter().filter(|entry| !kept.contains(*entry)).collect();
    assert_eq!(lost, Vec::<&String>::new(), "of {} acknowledged", acknowledged.len());
    // A killed process may have written one entry it could not acknowledge any more, never more than that.
    assert!(
        kept.len() <= acknowledged.len() + WRITERS * LIVES,
        "{} kept, {} acknowledged",
        kept.len(),
        acknowledged.len()
    );

    stage.call("memory", add("w9l9 entry 9")).await;
    let drafts = std::fs::read_dir(&folder).expect("the folder").flatten();
    let drafts: Vec<_> =
        drafts.map(|entry| entry.file_name()).filter(|name| name.to_string_lossy().contains("draft")).collect();
    assert_eq!(drafts, Vec::<std::ffi::OsString>::new());
}
