//! However a process was brought into the world, it leaves it with its family. The process table is read before and after.

use crate::stage::Stage;
use hermes_tools::terminal::family::{Family, Identity};
use serde_json::json;
use std::collections::BTreeMap;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A command whose sleepers can be told from all others on the machine.
struct Story {
    name: &'static str,
    script: &'static str,
    /// Sleepers that must be there before the end.
    sleepers: usize,
}

const STORIES: &[Story] = &[
    Story { name: "a plain child", script: "exec sleep $T", sleepers: 1 },
    Story { name: "grandchildren", script: "bash -c 'sleep $T & sleep $T & wait'; true", sleepers: 2 },
    Story { name: "a session of its own", script: "setsid sleep $T & exit", sleepers: 1 },
    Story { name: "a double fork", script: "(setsid bash -c '(exec sleep $T) & exit' &); exit", sleepers: 1 },
    Story { name: "an emptied environment", script: "env -i /bin/sh -c \"exec sleep $T\" & exit", sleepers: 1 },
    Story { name: "nohup and disown", script: "nohup sleep $T >/dev/null 2>&1 & disown; exit", sleepers: 1 },
    Story {
        name: "no ear for SIGTERM",
        script: "trap '' TERM; setsid bash -c 'while :; do sleep $T; done' & while :; do sleep $T; done",
        sleepers: 2,
    },
    Story {
        name: "a session below a session, without marks",
        script: "env -i /usr/bin/setsid /bin/sh -c \"setsid sleep $T & wait\" & wait",
        sleepers: 1,
    },
    Story {
        name: "a stopped process",
        script: "sleep $T & until grep -qa ^sleep /proc/$!/cmdline; do :; done; kill -STOP $!; wait",
        sleepers: 1,
    },
    Story {
        name: "forks while it is killed",
        script: "trap '' TERM; while :; do setsid bash -c 'trap \"\" TERM; sleep $T' & sleep 0.005; done",
        sleepers: 3,
    },
];

/// Command lines with this token in them.
pub(crate) fn table(token: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").expect("a process table").flatten();
    let lines = entries.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.starts_with("sleep ") && line.contains(token)).collect()
}

fn begin(script: &str) -> (Child, Family, String) {
    let token = format!("3600.{:09}", rand_digits());
    let mut variables: BTreeMap<String, String> = std::env::vars().collect();
    let mark = Family::mark(&mut variables);
    variables.insert("T".to_owned(), token.clone());
    let mut command = Command::new("bash");
    command.args(["-c", script]).env_clear().envs(variables).process_group(0);
    let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("bash");
    let family = Family::of(child.id(), mark);
    (child, family, token)
}

fn rand_digits() -> u32 {
    let mark = Family::new_mark();
    u32::from_str_radix(&mark.chars().take(7).collect::<String>(), 16).expect("hexadecimal")
}

pub(crate) async fn wait_for(what: &str, done: impl Fn() -> bool) {
    let patience = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < patience, "{what} did not come");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_of_a_family_outlives_its_end() {
    for story in STORIES {
        let (mut child, family, token) = begin(story.script);
        wait_for(story.name, || table(&token).len() >= story.sleepers).await;
        if story.script.ends_with("exit") {
            // The leader is gone and noticed, only those it left behind are there.
            child.wait().expect("the leader ends by itself");
        }
        assert_eq!(family.end(Duration::from_millis(150)).await, Vec::new(), "{}", story.name);
        assert_eq!(table(&token), Vec::<String>::new(), "{}", story.name);
        assert_eq!(family.members(), Vec::new(), "{}", story.name);
        child.wait().expect("the leader has ended");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_blocking_kill_leaves_nobody_either() {
    let (mut child, family, token) = begin("trap '' TERM; setsid sleep $T & sleep $T");
    wait_for("both sleepers", || table(&token).len() == 2).await;
    assert_eq!(family.kill(), Vec::new());
    assert_eq!(table(&token), Vec::<String>::new());
    child.wait().expect("the leader has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_hears_the_request_ends_in_order() {
    let dir = tempfile::tempdir().expect("a directory");
    let note = dir.path().join("note");
    let script = format!("trap 'echo tidy > {}; exit 0' TERM; sleep $T & wait", note.display());
    let (mut child, family, token) = begin(&script);
    wait_for("the sleeper", || table(&token).len() == 1).await;
    let began = Instant::now();
    assert_eq!(family.end(Duration::from_secs(30)).await, Vec::new());
    assert!(began.elapsed() < Duration::from_secs(20), "the grace is not sat out when everybody is gone");
    assert_eq!(std::fs::read_to_string(note).expect("the trap ran"), "tidy\n");
    child.wait().expect("the leader has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn families_do_not_end_each_other() {
    let (mut first, one, first_token) = begin("setsid sleep $T & sleep $T");
    let (mut second, two, second_token) = begin("setsid sleep $T & sleep $T");
    wait_for("all four", || table(&first_token).len() + table(&second_token).len() == 4).await;
    assert_eq!(one.end(Duration::from_secs(5)).await, Vec::new());
    assert_eq!((table(&first_token).len(), table(&second_token).len()), (0, 2));
    assert_eq!(two.end(Duration::from_secs(5)).await, Vec::new());
    assert_eq!(table(&second_token).len(), 0);
    first.wait().expect("ended");
    second.wait().expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_number_that_now_belongs_to_somebody_else_is_left_alone() {
    let (mut stranger, theirs, token) = begin("sleep $T");
    wait_for("the stranger", || table(&token).len() == 1).await;
    let real = theirs.leader().expect("a leader");
    let earlier = Identity { pid: real.pid, born: real.born - 1 };
    assert!(Family::found(earlier, "a mark of long ago").is_none(), "the same number, another birth");
    assert!(Family::found(real, "any").is_some());
    assert_eq!(theirs.end(Duration::from_secs(5)).await, Vec::new());
    stranger.wait().expect("ended");
    assert!(Family::found(real, "any").is_none(), "gone");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_terminal_an_earlier_run_was_started_from_is_not_its_family() {
    use std::io::BufRead;
    let (left, person) = (format!("3600.{:09}", rand_digits()), format!("3600.{:09}", rand_digits()));
    // The session of a person, in which a process was left behind and in which they work on.
    let script = format!("set -m; HERMES_FAMILY=themark sleep {left} & echo $!; sleep {person} & wait");
    let mut command = Command::new("setsid");
    command.args(["-w", "bash", "-c", &script]).process_group(0).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut terminal = command.spawn().expect("a session");
    let family = Family::of(terminal.id(), "another mark");
    let mut line = String::new();
    std::io::BufReader::new(terminal.stdout.take().expect("a pipe")).read_line(&mut line).expect("a number");
    wait_for("both", || table(&left).len() + table(&person).len() == 2).await;
    let leader = Identity::of(line.trim().parse().expect("a number")).expect("it lives");
    let found = Family::found(leader, "themark").expect("it lives");
    assert_eq!(found.end(Duration::from_secs(5)).await, Vec::new());
    let lives = (table(&left).len(), table(&person).len());
    assert_eq!(family.kill(), Vec::new());
    terminal.wait().expect("ended");
    assert_eq!(lives, (0, 1));
}

#[test]
fn a_family_within_a_family_carries_both_marks() {
    let mut variables = BTreeMap::new();
    let outer = Family::mark(&mut variables);
    let inner = Family::mark(&mut variables);
    assert_eq!(variables[Family::VARIABLE], format!("{outer}:{inner}"));
}

/// How a call, a conversation or the program comes to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Timeout,
    Interrupt,
    GivenUp,
    Close,
    Dropped,
    BackgroundClose,
    ProgramEnds,
}

/// A child, one in a session of its own, and one whose parent is gone; nobody of them holds the output.
const BROOD: &str = "echo $PPID > leader
exec >/dev/null 2>&1
sleep $T & setsid sleep $T & (setsid bash -c '(exec sleep $T) & exit' &)
";

#[tokio::test(flavor = "multi_thread")]
async fn however_it_ends_nobody_is_left() {
    use Ending::{BackgroundClose, Close, Dropped, GivenUp, Interrupt, ProgramEnds, Timeout};
    for ending in [Timeout, Interrupt, GivenUp, Close, Dropped, BackgroundClose, ProgramEnds] {
        let stage = Stage::with(json!({"approvals": {"mode": "off"}, "terminal": {"daemon_term_grace_seconds": 0.2}}));
        let token = format!("3600.{:09}", rand_digits());
        let stays = !matches!(ending, Close | Dropped);
        let last = if stays { "wait; sleep $T" } else { "" };
        stage.write("brood.sh", format!("export T={token}\n{BROOD}{last}\n"));
        let background = matches!(ending, BackgroundClose | ProgramEnds);
        let timeout = if ending == Timeout { 3 } else { 120 };
        let call = stage
            .call("terminal", json!({"command": "bash brood.sh; true", "background": background, "timeout": timeout}));
        let all_there = wait_for("three sleepers", || table(&token).len() >= 3);
        match ending {
            Timeout => assert_eq!(call.await["exit_code"], 124),
            Interrupt => {
                let stop = async {
                    all_there.await;
                    stage.stop.stop();
                };
                assert_eq!(tokio::join!(call, stop).0["exit_code"], 130);
            }
            GivenUp => tokio::select! {
                ended = call => panic!("it cannot end: {ended}"),
                () = all_there => {}
            },
            Close | Dropped | BackgroundClose | ProgramEnds => {
                assert_eq!(call.await["exit_code"], 0);
                all_there.await;
            }
        }
        let leader = stage.read("leader");
        match ending {
            Close | BackgroundClose => stage.desk.close().await,
            ProgramEnds => stage.desk.shop.processes.close().await,
            Dropped => drop(stage),
            // The task of the call is dropped by whoever runs tasks.
            GivenUp => wait_for("the end of a call that was given up", || table(&token).is_empty()).await,
            Timeout | Interrupt => {}
        }
        assert_eq!(table(&token), Vec::<String>::new(), "{ending:?}");
        let remains = std::path::Path::new("/proc").join(leader.trim());
        wait_for(&format!("{ending:?}: the end of the shell, also as a zombie,"), || !remains.exists()).await;
    }
}
