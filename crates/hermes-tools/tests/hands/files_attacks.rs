//! What a hostile project, or a careless one, does to the file tools: nothing hangs, nothing leaves its place, nothing is
//! lost.

use crate::stage::Stage;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Duration;

/// A call that may not take long, whatever it finds.
async fn soon(stage: &Stage, tool: &str, arguments: Value) -> Value {
    let called = tokio::time::timeout(Duration::from_secs(20), stage.call(tool, arguments.clone())).await;
    called.unwrap_or_else(|_| panic!("{tool} hangs: {arguments}"))
}

fn pipe(path: &Path) {
    rustix::fs::mkfifoat(rustix::fs::CWD, path, rustix::fs::Mode::RWXU).unwrap();
}

#[tokio::test]
async fn pipes_sockets_and_directories_are_no_files_for_any_tool() {
    let stage = Stage::new();
    stage.write("folder/x", "x\n");
    pipe(&stage.path("pipe"));
    let _socket = std::os::unix::net::UnixListener::bind(stage.path("socket")).unwrap();
    symlink("pipe", stage.path("link")).unwrap();
    for name in ["pipe", "socket", "folder", "link"] {
        let edit = json!({"path": name, "old_string": "a", "new_string": "b"});
        let patch = format!("*** Begin Patch\n*** Delete File: {name}\n*** End Patch");
        let calls = [
            ("read_file", json!({"path": name})),
            ("write_file", json!({"path": name, "content": "x"})),
            ("patch", edit),
            ("patch", json!({"mode": "patch", "patch": patch})),
        ];
        for (tool, arguments) in calls {
            let told = soon(&stage, tool, arguments.clone()).await;
            assert!(told["error"].is_string(), "{tool} {arguments}: {told}");
        }
        let found = soon(&stage, "search_files", json!({"pattern": "nowhere", "path": name})).await;
        assert_eq!(found["total_count"], 0, "{name}: {found}");
    }
    assert!(stage.path("folder/x").exists() && stage.path("pipe").exists() && stage.path("socket").exists());
}

#[tokio::test]
async fn chains_of_links_lead_to_the_end_and_circles_nowhere() {
    let stage = Stage::new();
    stage.write("real/end.txt", "end\n");
    symlink("real/end.txt", stage.path("l0")).unwrap();
    for step in 1..=10 {
        symlink(format!("l{}", step - 1), stage.path(&format!("l{step}"))).unwrap();
    }
    symlink("two", stage.path("one")).unwrap();
    symlink("one", stage.path("two")).unwrap();
    symlink(".", stage.path("here")).unwrap();
    assert_eq!(soon(&stage, "read_file", json!({"path": "l10"})).await["content"], "1|end");
    let deep = format!("{}l10", "here/".repeat(20));
    assert_eq!(soon(&stage, "write_file", json!({"path": deep, "content": "new\n"})).await["bytes_written"], 4);
    assert_eq!(stage.read("real/end.txt"), "new\n");
    let calls = [
        ("read_file", json!({"path": "one"})),
        ("read_file", json!({"path": "one/x"})),
        ("write_file", json!({"path": "one", "content": "x"})),
        ("write_file", json!({"path": "two/x", "content": "x"})),
        ("patch", json!({"path": "one", "old_string": "a", "new_string": "b"})),
    ];
    for (tool, arguments) in calls {
        let told = soon(&stage, tool, arguments.clone()).await;
        assert!(told["error"].is_string(), "{tool} {arguments}: {told}");
    }
    let found = soon(&stage, "search_files", json!({"pattern": "new"})).await;
    assert_eq!(found["total_count"], 1, "a link is not a second file: {found}");
    assert!(stage.path("one").is_symlink() && stage.path("two").is_symlink());
}

#[tokio::test]
async fn another_name_for_a_protected_place_opens_nothing() {
    let stage = Stage::new();
    let home = stage.root().join("home");
    std::fs::write(home.join(".hermes/.env"), "TOKEN=hunter2hunter2\n").unwrap();
    symlink(&home, stage.path("h")).unwrap();
    let shown = home.display();
    let names = [
        "h/.hermes/.env".to_owned(),
        "h/.HERMES/../.hermes/.env".to_owned(),
        "~/.hermes/.env".to_owned(),
        "~//.hermes//.env".to_owned(),
        "../home/.hermes/./.env".to_owned(),
        format!("/proc/self/root{shown}/.hermes/.env"),
        format!("/proc/thread-self/root{shown}/.hermes/.env"),
        format!("/proc/self/cwd/../../../../../../..{shown}/.hermes/.env"),
        format!("/proc/{}/root{shown}/.hermes/.env", std::process::id()),
        "/proc/self/environ".to_owned(),
        "/proc/self/task/../environ".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        "/proc/self/root/proc/self/environ".to_owned(),
        "/dev/fd/0".to_owned(),
        "/dev/stdin".to_owned(),
        "/proc/self/fd/0".to_owned(),
        "/dev/zero".to_owned(),
        "/dev/../dev/tty".to_owned(),
    ];
    for name in names {
        let told = stage.call("read_file", json!({"path": name})).await;
        assert!(told["error"].as_str().is_some_and(|error| !error.contains("hunter2")), "{name}: {told}");
        let found = stage.call_text("search_files", json!({"pattern": "hunter2", "path": name})).await;
        assert!(!found.contains("TOKEN"), "{name}: {found}");
        let told = stage.call("write_file", json!({"path": name, "content": "x"})).await;
        assert!(told["error"].is_string(), "{name}: {told}");
    }
    assert_eq!(std::fs::read_to_string(home.join(".hermes/.env")).unwrap(), "TOKEN=hunter2hunter2\n");
}

#[tokio::test]
async fn names_that_no_disk_takes_are_errors() {
    let stage = Stage::new();
    stage.write("file", "x\n");
    let names = [
        "n".repeat(300),
        format!("{}x", "d/".repeat(3_000)),
        "a\0b".to_owned(),
        " ".to_owned(),
        "file/below".to_owned(),
    ];
    for name in names {
        let calls = [
            ("read_file", json!({"path": name})),
            ("write_file", json!({"path": name, "content": "x"})),
            ("patch", json!({"path": name, "old_string": "a", "new_string": "b"})),
        ];
        for (tool, arguments) in calls {
            let told = soon(&stage, tool, arguments).await;
            assert!(told["error"].is_string(), "{tool} {:.20}: {told}", name);
        }
    }
    let mut left: Vec<_> =
        std::fs::read_dir(stage.path(".")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["file"], "nothing half made is left behind");
    let longest = "n".repeat(255);
    assert_eq!(soon(&stage, "write_file", json!({"path": longest, "content": "x"})).await["bytes_written"], 1);
    assert_eq!(soon(&stage, "write_file", json!({"path": longest, "content": "xy"})).await["bytes_written"], 2);
}

#[tokio::test]
async fn edits_keep_every_byte_they_do_not_mean() {
    let stage = Stage::new();
    let rows: [(&[u8], Value, &[u8]); 9] = [
        (
            b"\xef\xbb\xbfa\r\nb\r\nc",
            json!({"old_string": "b\n", "new_string": "x\ny\n"}),
            b"\xef\xbb\xbfa\r\nx\r\ny\r\nc",
        ),
        (b"a\nb\r\nc\nd\n", json!({"old_string": "c", "new_string": "C"}), b"a\nb\r\nC\nd\n"),
        (b"a\nlast", json!({"old_string": "last", "new_string": "end"}), b"a\nend"),
        (b"a\nlast", json!({"old_string": "last\n", "new_string": "end\n"}), b"a\nend"),
        (b"aaaa b", json!({"old_string": "aa", "new_string": "a", "replace_all": true}), b"aa b"),
        (b"aaa b", json!({"old_string": "aa", "new_string": "b", "replace_all": true}), b"ba b"),
        (b"x\nx\nx\n", json!({"old_string": "x\nx\n", "new_string": "y\n", "replace_all": true}), b"y\nx\n"),
        (b"\xff\xfea\0\n\0", json!({"old_string": "a", "new_string": "\u{e4}"}), b"\xff\xfe\xe4\0\n\0"),
        (b"a\rb\rc", json!({"old_string": "b", "new_string": "B"}), b"a\rB\rc"),
    ];
    for (before, edit, after) in rows {
        stage.write("f", before);
        let mut arguments = edit.clone();
        arguments["path"] = json!("f");
        let told = stage.call("patch", arguments).await;
        assert_eq!(told["success"], true, "{edit}: {told}");
        assert_eq!(std::fs::read(stage.path("f")).unwrap(), after, "{edit}");
    }
    stage.write("f", "x\nx\n");
    let told = stage.call("patch", json!({"path": "f", "old_string": "x\n", "new_string": "y\n"})).await;
    assert!(told["error"].as_str().unwrap().contains("found 2 times"), "{told}");
    stage.write("w", "one\r\ntwo\r\nthree\r\n");
    let patch = "*** Begin Patch\r\n*** Update File: w\r\n one\r\n-two\r\n+2\r\n three\r\n*** Add File: n\r\n+new\r\n*** End Patch\r\n";
    let told = stage.call("patch", json!({"mode": "patch", "patch": patch})).await;
    assert_eq!(told["success"], true, "{told}");
    assert_eq!((stage.read("w").as_str(), stage.read("n").as_str()), ("one\r\n2\r\nthree\r\n", "new\n"));
}

#[tokio::test]
async fn a_miss_in_a_large_file_is_told_in_time() {
    let stage = Stage::new();
    let text: String = (0..40_000).map(|line| format!("    let value_{line} = compute({line});\n")).collect();
    stage.write("large.rs", &text);
    let old = "fn nothing_like_this() {\n    let other = 1;\n    call(other);\n}\n";
    let began = std::time::Instant::now();
    let told = soon(&stage, "patch", json!({"path": "large.rs", "old_string": old, "new_string": "x"})).await;
    assert_eq!(told["success"], false, "{:?}", began.elapsed());
}

#[tokio::test]
async fn an_expression_that_looks_endless_is_quick() {
    let stage = Stage::new();
    stage.write("a.txt", format!("{}!\n", "a".repeat(200_000)));
    let found = soon(&stage, "search_files", json!({"pattern": "^(a+)+$|(a|aa)+b|(.*)*c"})).await;
    assert_eq!(found["total_count"], 0, "{found}");
    let refused = soon(&stage, "search_files", json!({"pattern": "((a{1000}){1000}){1000}"})).await;
    assert!(refused["error"].is_string(), "{refused}");
}
