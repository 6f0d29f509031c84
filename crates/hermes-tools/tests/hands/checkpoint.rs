//! Snapshots of real projects, and the way back, with the real `git`.

use crate::stage::Stage;
use hermes_tools::checkpoint::{CheckpointFault, Checkpoints, Which};
use serde_json::json;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

const FIRST: Which = Which::Number(1);

fn stage() -> Stage {
    Stage::with(json!({"checkpoints": {"enabled": true}}))
}

fn checkpoints(stage: &Stage) -> &Checkpoints {
    &stage.desk.shop.checkpoints
}

/// A snapshot in a turn of its own.
async fn keep(stage: &Stage, reason: &str) {
    checkpoints(stage).begin_turn();
    checkpoints(stage).before_change(&stage.path(""), reason).await;
}

async fn reasons(stage: &Stage) -> Vec<String> {
    let listed = checkpoints(stage).list(&stage.path("")).await.unwrap();
    assert_eq!(listed.iter().map(|one| one.number).collect::<Vec<_>>(), (1..=listed.len()).collect::<Vec<_>>());
    listed.into_iter().map(|one| one.reason).collect()
}

fn git(dir: &Path, args: &[&str]) -> String {
    let done = Command::new("git")
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"])
        .args(args)
        .current_dir(dir)
        .output()
        .unwrap();
    assert!(done.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&done.stderr));
    String::from_utf8(done.stdout).unwrap()
}

/// Every file below a directory with its bytes and mode, links as what they say.
fn everything(dir: &Path) -> BTreeMap<OsString, (u32, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut waiting = vec![dir.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let known = path.symlink_metadata().unwrap();
            let content = if known.is_dir() {
                waiting.push(path.clone());
                Vec::new()
            } else if known.is_symlink() {
                std::fs::read_link(&path).unwrap().as_os_str().as_bytes().to_vec()
            } else {
                std::fs::read(&path).unwrap()
            };
            all.insert(path.strip_prefix(dir).unwrap().as_os_str().to_owned(), (known.permissions().mode(), content));
        }
    }
    all
}

#[tokio::test]
async fn a_turn_has_one_snapshot_and_none_where_nothing_changed() {
    let stage = stage();
    stage.write("a.txt", "one\n");
    keep(&stage, "first").await;
    stage.write("a.txt", "two\n");
    checkpoints(&stage).before_change(&stage.path("a.txt"), "the same turn").await;
    assert_eq!(reasons(&stage).await, ["first"]);
    keep(&stage, "second\nturn").await;
    keep(&stage, "nothing new").await;
    assert_eq!(reasons(&stage).await, ["second turn", "first"]);
    let listed = checkpoints(&stage).list(&stage.path("")).await.unwrap();
    assert_eq!(listed[0].changes, "1 file changed, 1 insertion(+), 1 deletion(-)");
}

#[tokio::test]
async fn nothing_is_kept_where_it_is_off_or_too_wide() {
    let off = Stage::new();
    off.write("a.txt", "one\n");
    keep(&off, "off").await;
    assert!(!off.root().join("home/.hermes/checkpoints").exists());
    let on = stage();
    for place in [on.root().join("home"), on.root(), PathBuf::from("/")] {
        checkpoints(&on).before_change(&place, "too wide").await;
        assert!(matches!(checkpoints(&on).list(&place).await, Err(CheckpointFault::NoProject(_))), "{place:?}");
    }
    assert!(!on.root().join("home/.hermes/checkpoints").exists());
}

#[tokio::test]
async fn going_back_brings_back_everything_and_can_be_taken_back() {
    let stage = stage();
    let odd = stage.path("").join(OsStr::from_bytes(b"odd\xff\nname with 'quotes' \\ and *"));
    stage.write("changed.txt", "old\r\n");
    stage.write("deep/er/deleted.txt", "deleted\n");
    stage.write("renamed.txt", "renamed\n");
    stage.write("script.sh", "#!/bin/sh\n");
    std::fs::write(&odd, "odd\n").unwrap();
    symlink("changed.txt", stage.path("link")).unwrap();
    std::fs::create_dir(stage.path("folder")).unwrap();
    stage.write("folder/inside.txt", "inside\n");
    std::fs::set_permissions(stage.path("changed.txt"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let before = everything(&stage.path(""));
    keep(&stage, "all is well").await;

    stage.write("changed.txt", "new\n");
    std::fs::remove_dir_all(stage.path("deep")).unwrap();
    std::fs::rename(stage.path("renamed.txt"), stage.path("another.txt")).unwrap();
    std::fs::set_permissions(stage.path("script.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_file(&odd).unwrap();
    std::fs::remove_file(stage.path("link")).unwrap();
    symlink("/etc/passwd", stage.path("link")).unwrap();
    stage.write("new/folder/file.txt", "new\n");
    // A directory became a link to the outside: nothing may be written through it.
    std::fs::remove_dir_all(stage.path("folder")).unwrap();
    std::fs::create_dir(stage.root().join("outside")).unwrap();
    symlink(stage.root().join("outside"), stage.path("folder")).unwrap();
    let after = everything(&stage.path(""));

    let restored = checkpoints(&stage).restore(&stage.path(""), &FIRST, None).await.unwrap();
    assert_eq!(restored.failed, []);
    assert_eq!(everything(&stage.path("")), before);
    assert_eq!(everything(&stage.root().join("outside")), BTreeMap::new());
    assert_eq!(restored.removed.len(), 3, "{restored:?}");
    assert!(restored.before.is_some());

    let back = checkpoints(&stage).restore(&stage.path(""), &FIRST, None).await.unwrap();
    assert_eq!(back.failed, []);
    assert_eq!(everything(&stage.path("")), after);
}

#[tokio::test]
async fn one_file_comes_back_alone() {
    let stage = stage();
    stage.write("a.txt", "a\n");
    stage.write("sub/b.txt", "b\n");
    keep(&stage, "start").await;
    stage.write("a.txt", "A\n");
    stage.write("sub/b.txt", "B\n");
    stage.write("c.txt", "c\n");
    let dir = stage.path("");
    let restored = checkpoints(&stage).restore(&dir, &FIRST, Some(Path::new("./sub/../sub/b.txt"))).await.unwrap();
    assert_eq!((restored.written, restored.removed), (vec![PathBuf::from("sub/b.txt")], vec![]));
    assert_eq!((stage.read("a.txt").as_str(), stage.read("sub/b.txt").as_str()), ("A\n", "b\n"));
    for outside in ["../x", "/etc/passwd", "sub/../../x", ""] {
        let refused = checkpoints(&stage).restore(&dir, &FIRST, Some(Path::new(outside))).await;
        assert!(matches!(refused, Err(CheckpointFault::Outside(_))), "{outside}: {refused:?}");
    }
    let missing = checkpoints(&stage).restore(&dir, &Which::Number(2), Some(Path::new("c.txt"))).await;
    assert_eq!(missing.unwrap_err().to_string(), "c.txt is not in checkpoint 2");
    assert_eq!(stage.read("c.txt"), "c\n");
}

#[tokio::test]
async fn a_checkpoint_is_named_by_number_or_hash() {
    let stage = stage();
    stage.write("a.txt", "a\n");
    keep(&stage, "start").await;
    stage.write("a.txt", "b\n");
    let hash = checkpoints(&stage).list(&stage.path("")).await.unwrap()[0].hash.clone();
    let short: Which = hash.get(..7).unwrap().parse().unwrap();
    let changes = checkpoints(&stage).diff(&stage.path(""), &short).await.unwrap();
    assert_eq!(changes.since.hash, hash);
    assert!(changes.diff.ends_with("@@ -1 +1 @@\n-a\n+b\n"), "{}", changes.diff);
    assert!(!changes.cut);
    assert_eq!("3".parse::<Which>().unwrap(), Which::Number(3));
    for wrong in ["", "abc", "HEAD", "--help", "abcg", "../x", &"a".repeat(65), "-1", "+1"] {
        assert!(matches!(wrong.parse::<Which>(), Err(CheckpointFault::NotANumber(_))), "{wrong}");
    }
    for unknown in [Which::Number(0), Which::Number(9), Which::Hash("dead".repeat(10))] {
        let error = checkpoints(&stage).diff(&stage.path(""), &unknown).await.unwrap_err();
        assert!(matches!(error, CheckpointFault::Unknown(_)), "{error}");
    }
}

#[tokio::test]
async fn the_repository_of_the_project_stays_as_it_is_and_runs_nothing() {
    let stage = stage();
    let dir = stage.path("");
    git(&dir, &["init", "-q", "."]);
    stage.write("a.txt", "one\r\n");
    git(&dir, &["add", "."]);
    git(&dir, &["commit", "-qm", "one"]);
    stage.write("a.txt", "stashed\r\n");
    git(&dir, &["stash", "-q"]);
    stage.write("staged.txt", "staged\n");
    git(&dir, &["add", "staged.txt"]);
    let trap = stage.root().join("trap");
    let spring = format!("touch {}; cat", trap.display());
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "core.fsmonitor",
        "diff.external",
    ] {
        git(&dir, &["config", key, &spring]);
    }
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction", "post-commit"] {
        let hook = dir.join(".git/hooks").join(hook);
        std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\n", trap.display())).unwrap();
        std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    let attributes = "* filter=evil diff=evil text=auto eol=lf ident working-tree-encoding=UTF-16\n";
    stage.write(".gitattributes", attributes);
    stage.write("dollar.txt", "$Id$\r\nmixed\n");
    // A repository inside: its files are kept like all others.
    std::fs::create_dir(dir.join("nested")).unwrap();
    git(&dir.join("nested"), &["init", "-q", "."]);
    stage.write("nested/own.txt", "own\n");
    let before = everything(&dir);
    keep(&stage, "hostile").await;
    assert_eq!(everything(&dir), before);

    for file in ["a.txt", "dollar.txt", "nested/own.txt", "staged.txt"] {
        stage.write(file, "destroyed\n");
    }
    checkpoints(&stage).diff(&dir, &FIRST).await.unwrap();
    let restored = checkpoints(&stage).restore(&dir, &FIRST, None).await.unwrap();
    assert_eq!((restored.written.len(), restored.failed), (4, vec![]));
    assert_eq!(everything(&dir), before);
    assert!(!trap.exists());
}

#[tokio::test]
async fn what_can_be_made_again_and_what_is_secret_is_not_kept() {
    let stage = Stage::with(json!({"checkpoints": {"enabled": true, "max_file_size_mb": 1}}));
    stage.write("kept.txt", "kept\n");
    stage.write(".gitignore", "ignored.txt\n");
    let left = [
        "ignored.txt",
        "node_modules/x/index.js",
        ".env",
        ".env.local",
        "run.log",
        "target/debug/x",
        "a.PNG",
        "huge.txt",
    ];
    for file in left {
        stage.write(file, "first\n");
    }
    stage.write("huge.txt", vec![b'x'; 2 << 20]);
    keep(&stage, "start").await;
    for file in left.iter().chain(&["kept.txt"]) {
        stage.write(file, "second\n");
    }
    let restored = checkpoints(&stage).restore(&stage.path(""), &FIRST, None).await.unwrap();
    // The huge file is small now, and new to the snapshots; it is in the one that was taken before going back.
    assert_eq!((restored.written, restored.removed), (vec!["kept.txt".into()], vec!["huge.txt".into()]));
    assert_eq!(restored.failed, []);
    for file in left.iter().filter(|file| **file != "huge.txt") {
        assert_eq!(stage.read(file), "second\n", "{file}");
    }
}

#[tokio::test]
async fn a_directory_with_other_things_in_it_is_not_removed_for_a_file() {
    let stage = stage();
    stage.write(".gitignore", "*.tmp\n");
    stage.write("thing", "a file\n");
    keep(&stage, "start").await;
    std::fs::remove_file(stage.path("thing")).unwrap();
    stage.write("thing/precious.tmp", "not in any snapshot\n");
    let restored = checkpoints(&stage).restore(&stage.path(""), &FIRST, None).await.unwrap();
    let reason = "a directory with other files is in its place".to_owned();
    assert_eq!(restored.failed, vec![(PathBuf::from("thing"), reason)]);
    assert_eq!(stage.read("thing/precious.tmp"), "not in any snapshot\n");
}

#[tokio::test]
async fn what_a_killed_process_leaves_behind_stops_nobody() {
    let stage = stage();
    stage.write("a.txt", "one\n");
    keep(&stage, "one").await;
    let store = stage.root().join("home/.hermes/checkpoints/store");
    let key = std::fs::read_dir(store.join("projects")).unwrap().next().unwrap().unwrap().file_name();
    let key = key.to_str().unwrap().trim_end_matches(".json").to_owned();
    let old = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    for litter in [format!("refs/hermes/{key}.lock"), format!("indexes/{key}.lock"), format!("indexes/{key}.abc.scrap")]
    {
        std::fs::File::create(store.join(litter)).unwrap().set_modified(old).unwrap();
    }
    std::fs::write(store.join("indexes").join(&key), b"DIRC half an index").unwrap();
    stage.write("a.txt", "two\n");
    keep(&stage, "two").await;
    assert_eq!(reasons(&stage).await, ["two", "one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_get_one_store_and_whole_snapshots() {
    let stage = Arc::new(stage());
    let settings = stage.desk.settings().clone();
    for project in 0..3 {
        stage.write(&format!("p{project}/Makefile"), format!("{project}\n"));
    }
    // Each has its own `Checkpoints`, as if it were a process of its own.
    let work = (0..9).map(|number| {
        let (settings, stage) = (settings.clone(), stage.clone());
        tokio::spawn(async move {
            let own = Checkpoints::new(&settings);
            let project = format!("p{}", number % 3);
            stage.write(&format!("{project}/f{number}.txt"), "text\n");
            own.before_change(&stage.path(&project), &format!("number {number}")).await;
        })
    });
    for one in work.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    let store = stage.root().join("home/.hermes/checkpoints/store");
    let done = Command::new("git").arg("--git-dir").arg(&store).args(["fsck", "--full", "--strict"]).output().unwrap();
    assert!(done.status.success(), "{done:?}");
    for project in 0..3 {
        let listed = checkpoints(&stage).list(&stage.path(&format!("p{project}"))).await.unwrap();
        assert!(!listed.is_empty() && listed.len() <= 3, "{listed:?}");
    }
}

#[tokio::test]
async fn old_snapshots_and_lost_projects_are_cleared_up() {
    let config = json!({"checkpoints": {"enabled": true, "max_snapshots": 3, "min_interval_hours": 0}});
    let stage = Stage::with(config);
    for round in 0..5 {
        stage.write("a.txt", format!("{round}\n"));
        keep(&stage, &format!("round {round}")).await;
    }
    stage.write("lost/Makefile", "all:\n");
    checkpoints(&stage).before_change(&stage.path("lost"), "lost").await;
    let own = stage.path("lost");
    assert_eq!(checkpoints(&stage).list(&own).await.unwrap().len(), 1);
    std::fs::remove_dir_all(&own).unwrap();
    let pruned = checkpoints(&stage).tidy_if_due().await.unwrap().unwrap();
    assert_eq!((pruned.projects, pruned.snapshots), (1, 3));
    assert_eq!(reasons(&stage).await, ["round 4", "round 3", "round 2"]);
    checkpoints(&stage).restore(&stage.path(""), &Which::Number(3), None).await.unwrap();
    assert_eq!(stage.read("a.txt"), "2\n");
}

#[tokio::test]
async fn a_store_that_is_too_large_gives_up_its_oldest_snapshots() {
    let stage = Stage::with(json!({"checkpoints": {"enabled": true, "max_total_size_mb": 1}}));
    let mut state = 1_u64;
    for round in 0..4 {
        // Noise, or packing would make nothing of it.
        let noise = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            b'a' + u8::try_from((state >> 33) % 26).unwrap()
        });
        let noise: Vec<u8> = noise.take(600_000).collect();
        stage.write("a.txt", noise);
        keep(&stage, &format!("round {round}")).await;
    }
    let pruned = checkpoints(&stage).tidy().await.unwrap();
    assert!(pruned.snapshots >= 2 && pruned.bytes > 500_000, "{pruned:?}");
    assert_eq!(reasons(&stage).await.first().map(String::as_str), Some("round 3"));
}

#[tokio::test]
async fn repositories_in_repositories_and_odd_things_do_not_spoil_a_snapshot() {
    let stage = stage();
    let root = stage.path("");
    git(&root, &["init", "-q"]);
    stage.write("top.txt", "top\n");
    stage.write("inner/a.txt", "inner\n");
    git(&stage.path("inner"), &["init", "-q"]);
    git(&stage.path("inner"), &["add", "a.txt"]);
    git(&stage.path("inner"), &["-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "m"]);
    git(&stage.path("inner"), &["worktree", "add", "-q", "../tree"]);
    rustix::fs::mkfifoat(rustix::fs::CWD, stage.path("pipe"), rustix::fs::Mode::RWXU).unwrap();
    std::os::unix::fs::symlink("/nonexistent", stage.path("dangling")).unwrap();
    let huge = stage.write("huge.txt", "x");
    std::fs::File::options().write(true).open(huge).unwrap().set_len(1 << 30).unwrap();
    keep(&stage, "before").await;
    for file in ["top.txt", "inner/a.txt", "tree/a.txt"] {
        stage.write(file, "changed\n");
    }
    std::fs::remove_file(stage.path("dangling")).unwrap();
    checkpoints(&stage).restore(&root, &Which::Number(1), None).await.unwrap();
    let read = ["top.txt", "inner/a.txt", "tree/a.txt"].map(|file| stage.read(file));
    assert_eq!(read, ["top\n", "inner\n", "inner\n"]);
    assert_eq!(std::fs::read_link(stage.path("dangling")).unwrap(), Path::new("/nonexistent"));
    assert_eq!(git(&stage.path("inner"), &["status", "--short"]), "", "the inner repository is as it was");
    assert_eq!(std::fs::metadata(stage.path("huge.txt")).unwrap().len(), 1 << 30);
}
