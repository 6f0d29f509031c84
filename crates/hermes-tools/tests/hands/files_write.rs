//! Writing files, as a model does it.

use crate::stage::{Plan, Stage};
use hermes_tools::desk::Desk;
use hermes_types::SessionId;
use serde_json::json;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

#[tokio::test]
async fn a_new_file_is_written_with_its_directories() {
    let stage = Stage::new();
    let path = stage.path("a/b/c.txt").display().to_string();
    assert_eq!(
        stage.call("write_file", json!({"path": "a/b/c.txt", "content": "hi\n"})).await,
        json!({
            "bytes_written": 3, "dirs_created": true, "lint": {"status": "skipped", "message": "No linter for .txt files"},
            "resolved_path": path, "files_modified": [path]
        })
    );
    assert_eq!(stage.read("a/b/c.txt"), "hi\n");
    let again = stage.call("write_file", json!({"path": "a/b/d.txt", "content": ""})).await;
    assert_eq!((&again["dirs_created"], &again["bytes_written"]), (&json!(false), &json!(0)));
    assert_eq!(names(&stage, "a/b"), ["c.txt", "d.txt"]);
}

fn names(stage: &Stage, below: &str) -> Vec<String> {
    let entries = std::fs::read_dir(stage.path(below)).unwrap();
    let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[tokio::test]
async fn what_the_file_was_it_stays() {
    let stage = Stage::new();
    let path = stage.write("a.sh", "\u{feff}echo 1\r\necho 2\r\n");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o750)).unwrap();
    stage.call("write_file", json!({"path": "a.sh", "content": "echo 3\necho 4\n"})).await;
    assert_eq!(stage.read("a.sh"), "\u{feff}echo 3\r\necho 4\r\n");
    assert_eq!(std::fs::metadata(&path).unwrap().mode() & 0o777, 0o750);
    let wide: Vec<u8> = "\u{feff}a\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    stage.write("wide.txt", wide);
    stage.call("write_file", json!({"path": "wide.txt", "content": "b\n"})).await;
    assert_eq!(std::fs::read(stage.path("wide.txt")).unwrap(), [0xfe, 0xff, 0, b'b', 0, b'\n']);
}

#[tokio::test]
async fn links_stay_links_and_other_names_are_mentioned() {
    let stage = Stage::new();
    stage.write("real.txt", "old");
    symlink("real.txt", stage.path("link.txt")).unwrap();
    symlink("made-later.txt", stage.path("dangling.txt")).unwrap();
    std::fs::hard_link(stage.path("real.txt"), stage.path("second.txt")).unwrap();
    let told = stage.call("write_file", json!({"path": "link.txt", "content": "new"})).await;
    assert_eq!(told["resolved_path"], stage.path("real.txt").display().to_string());
    assert!(told["warning"].as_str().unwrap().contains("had 2 names"), "{told}");
    assert_eq!((stage.read("real.txt"), stage.read("second.txt")), ("new".to_owned(), "old".to_owned()));
    stage.call("write_file", json!({"path": "dangling.txt", "content": "there"})).await;
    assert_eq!(stage.read("made-later.txt"), "there");
    assert!(stage.path("link.txt").is_symlink() && stage.path("dangling.txt").is_symlink());
}

#[tokio::test]
async fn refusals_come_in_order_and_change_nothing() {
    let stage = Stage::new();
    symlink(stage.root().join("home/.hermes"), stage.path("h")).unwrap();
    std::fs::create_dir(stage.path("folder")).unwrap();
    let shown = "1|a\n2|b\n";
    let rows = [
        (json!({"content": "x"}), "write_file: `path` is missing"),
        (json!({"path": "a.txt"}), "write_file: `content` is missing"),
        (json!({"path": "/etc/hermes-test", "content": shown}), "Refusing to write to /etc/hermes-test"),
        (json!({"path": "h/config.yaml", "content": shown}), "Refusing to write to"),
        (json!({"path": "h/profiles/p/skills/x", "content": shown}), "Refusing to write to"),
        (json!({"path": "~/.ssh/id", "content": shown}), "Refusing to write: the content has the line numbers"),
        (json!({"path": "~/.ssh/id", "content": "x"}), "Refusing to write to"),
        (json!({"path": "h/state.db", "content": "x"}), "Refusing to write to"),
        (json!({"path": "folder", "content": "x"}), &format!("{} is a directory", stage.path("folder").display())),
    ];
    for (arguments, start) in rows {
        let told = stage.call("write_file", arguments.clone()).await;
        assert!(told["error"].as_str().unwrap().starts_with(start), "{arguments}: {told}");
    }
    assert_eq!(names(&stage, "."), ["folder", "h"]);
    assert_eq!(names(&stage, "../home/.hermes"), Vec::<String>::new());
}

#[tokio::test]
async fn data_that_does_not_parse_is_not_written() {
    let stage = Stage::new();
    stage.write("a.json", "{\"a\": 1}");
    let told = stage.call_text("write_file", json!({"path": "a.json", "content": "{\"a\": }"})).await;
    let path = stage.path("a.json").display().to_string();
    assert_eq!(
        told,
        format!(
            "{{\"bytes_written\":0,\"dirs_created\":false,\"error\":\"Refusing to write a.json: the content is not valid JSON: \
             expected value at line 1 column 7. The file is as it was.\",\"resolved_path\":\"{path}\"}}"
        )
    );
    assert_eq!(stage.read("a.json"), "{\"a\": 1}");
    for (name, content) in [("b.yaml", "a: [1\nb: 2\n"), ("c.toml", "a = \n")] {
        let told = stage.call("write_file", json!({"path": name, "content": content})).await;
        assert!(told["error"].as_str().unwrap().contains("is not valid"), "{told}");
        assert!(!stage.path(name).exists());
    }
    stage.write("odd.json", "// a reader of its own\n{}");
    let told = stage.call("write_file", json!({"path": "odd.json", "content": "// still\n{}"})).await;
    assert_eq!((told["lint"]["status"].as_str(), stage.read("odd.json").as_str()), (Some("error"), "// still\n{}"));
}

#[tokio::test]
async fn code_is_checked_and_only_new_mistakes_are_told() {
    let stage = Stage::new();
    let told = stage.call("write_file", json!({"path": "a.sh", "content": "if true; then\n"})).await;
    assert_eq!(told["lint"]["status"], "error", "{told}");
    assert!(told["lint"]["output"].as_str().unwrap().contains("syntax error"), "{told}");
    let told = stage.call("write_file", json!({"path": "a.sh", "content": "echo\n\nif true; then\n"})).await;
    assert_eq!(told["lint"], json!({"status": "ok"}), "the mistake only moved");
    let told = stage.call("write_file", json!({"path": "b.sh", "content": "touch should-not-exist\n"})).await;
    assert_eq!(told["lint"], json!({"status": "ok"}));
    assert_eq!(names(&stage, "."), ["a.sh", "b.sh"], "a check runs nothing");
}

#[tokio::test]
async fn a_linter_that_is_missing_is_skipped() {
    let stage =
        Stage::build(Plan { variables: [("PATH".to_owned(), "/nowhere".to_owned())].into(), ..Plan::default() });
    let told = stage.call("write_file", json!({"path": "a.py", "content": "x ="})).await;
    assert_eq!((told["lint"]["status"].as_str(), told["bytes_written"].as_u64()), (Some("skipped"), Some(3)), "{told}");
}

#[tokio::test]
async fn what_others_wrote_meanwhile_is_pointed_out() {
    let stage = Stage::new();
    stage.write("a.txt", "one\n");
    let write = |content: &'static str| stage.call("write_file", json!({"path": "a.txt", "content": content}));
    stage.call("read_file", json!({"path": "a.txt"})).await;
    assert_eq!(write("two\n").await.get("_warning"), None);
    assert_eq!(write("three\n").await.get("_warning"), None, "its own writes are known");
    stage.write("a.txt", "by an editor\n");
    let told = write("four\n").await;
    assert!(told["_warning"].as_str().unwrap().contains("was changed on disk"), "{told}");
    stage.call("read_file", json!({"path": "a.txt"})).await;
    let bytes = std::fs::read(stage.path("a.txt")).unwrap();
    stage.write("a.txt", bytes);
    assert_eq!(write("five\n").await.get("_warning"), None, "a touch is no change");

    let sibling = Desk::new(stage.desk.shop.clone(), SessionId::new("20260101_000000_other0"));
    let told = on(&stage, &sibling, "write_file", json!({"path": "a.txt", "content": "six\n"})).await;
    assert!(told["_warning"].as_str().unwrap().contains("another agent"), "{told}");
    let told = write("seven\n").await;
    assert!(told["_warning"].as_str().unwrap().contains("20260101_000000_other0"), "{told}");
    let told = stage.call("write_file", json!({"path": "../tmp/x", "content": ""})).await;
    assert!(told["_warning"].as_str().unwrap().contains("out of the working directory"), "{told}");
}

/// A call of another conversation of the same process.
pub(crate) async fn on(
    stage: &Stage,
    desk: &std::sync::Arc<Desk>,
    tool: &str,
    arguments: serde_json::Value,
) -> serde_json::Value {
    let call = hermes_types::ToolCall::new(hermes_types::CallId::new("call_x"), tool, arguments.to_string().as_str());
    let mut results = stage.hands().run(&[call], desk, &hermes_tools::run::Untold, &stage.stop).await.unwrap();
    serde_json::from_str(&results.remove(0).content.text()).unwrap()
}

#[tokio::test]
async fn a_covered_secret_does_not_overwrite_the_secret() {
    let stage = Stage::new();
    stage.write("conf.ini", "key = sk-123\nsize = 1\n");
    let told =
        stage.call("write_file", json!({"path": "conf.ini", "content": "key = «redacted:sk-…»\nsize = 2\n"})).await;
    assert!(told["error"].as_str().unwrap().contains("secret"), "{told}");
    let edit = json!({"mode": "replace", "path": "conf.ini", "old_string": "key = sk-123", "new_string": "key = «redacted:sk-…»"});
    assert!(stage.call("patch", edit).await["error"].as_str().unwrap().contains("secret"));
    assert_eq!(stage.read("conf.ini"), "key = sk-123\nsize = 1\n");
}

#[tokio::test]
async fn a_safe_root_holds_for_every_tool() {
    let base = Plan::default();
    let stage = Stage::build(Plan {
        variables: base
            .variables
            .into_iter()
            .chain([("HERMES_WRITE_SAFE_ROOT".to_owned(), "out".to_owned())])
            .collect(),
        ..Plan::default()
    });
    stage.write("a.txt", "a");
    let told = stage.call("write_file", json!({"path": "a.txt", "content": "b"})).await;
    assert!(told["error"].as_str().unwrap().contains("HERMES_WRITE_SAFE_ROOT"), "{told}");
    let patch = "*** Begin Patch\n*** Add File: out/b\n+b\n*** Delete File: a.txt\n*** End Patch";
    let told = stage.call("patch", json!({"mode": "patch", "patch": patch})).await;
    assert!(told["error"].as_str().unwrap().contains("HERMES_WRITE_SAFE_ROOT"), "{told}");
    assert_eq!(names(&stage, "."), ["a.txt"]);
    assert_eq!(stage.call("write_file", json!({"path": "out/a", "content": "b"})).await["bytes_written"], 1);
}

#[tokio::test]
async fn a_path_with_a_slash_at_its_end_is_no_file() {
    let stage = Stage::new();
    let told = stage.call("write_file", json!({"path": "new/", "content": "x"})).await;
    assert_eq!(told["error"], "new/ names a directory. Leave out the slash at its end, or name a file in it.");
    assert!(!stage.path("new").exists());
}

/// One user more may read and write; the group may not, although the mode looks like it.
const ACCESS_LIST: [u8; 44] = [
    2, 0, 0, 0, 1, 0, 6, 0, 255, 255, 255, 255, 2, 0, 6, 0, 57, 48, 0, 0, 4, 0, 0, 0, 255, 255, 255, 255, 16, 0, 6, 0,
    255, 255, 255, 255, 32, 0, 0, 0, 255, 255, 255, 255,
];

#[tokio::test]
async fn access_lists_and_attributes_stay_with_a_file() {
    let stage = Stage::new();
    let path = stage.write("a.txt", "old\n");
    let values: [(&str, &[u8]); 2] = [("user.origin", b"here"), ("system.posix_acl_access", &ACCESS_LIST)];
    let set = |(name, value): &(&str, &[u8])| {
        rustix::fs::setxattr(&path, *name, value, rustix::fs::XattrFlags::empty()).is_ok()
    };
    // A disk without one of them has nothing to lose.
    let known: Vec<(&str, &[u8])> = values.into_iter().filter(set).collect();
    let mode = std::fs::metadata(&path).unwrap().mode();
    let told = stage.call("write_file", json!({"path": "a.txt", "content": "new\n"})).await;
    assert_eq!((&told["warning"], stage.read("a.txt").as_str()), (&json!(null), "new\n"));
    for (name, value) in known {
        let mut kept = [0; 64];
        let length = rustix::fs::getxattr(&path, name, &mut kept).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(&kept[..length], value, "{name}");
    }
    assert_eq!(std::fs::metadata(&path).unwrap().mode(), mode);
}
