//! `search_files`, as a model uses it.

use crate::stage::Stage;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant, SystemTime};

const TOOL: &str = "search_files";

/// The JSON of a result, and the line after it.
fn parted(text: &str) -> (Value, Option<&str>) {
    let (body, hint) = text.split_once("\n\n").map_or((text, None), |(body, hint)| (body, Some(hint)));
    (serde_json::from_str(body).unwrap(), hint)
}

/// A stage where nobody else counts repetitions and failures.
fn unwatched() -> Stage {
    Stage::with(json!({"tool_loop_guardrails": {"warnings_enabled": false}}))
}

#[tokio::test]
async fn few_lines_come_one_by_one_and_many_as_text() {
    let stage = Stage::new();
    stage.write("src/b.rs", "fn b() {}\n");
    stage.write("src/a.rs", "// nothing\nfn a() {}\r\n");
    let found = stage.call(TOOL, json!({"pattern": r"fn \w\(\)"})).await;
    let expected = json!({"total_count": 2, "matches": [
        {"path": "src/a.rs", "line": 2, "content": "fn a() {}"},
        {"path": "src/b.rs", "line": 1, "content": "fn b() {}"},
    ]});
    assert_eq!(found, expected);
    stage.write("src/a.rs", "fn a() {}\nfn c() {}\n\nfn d() {}\nfn e() {}\n");
    let found = stage.call(TOOL, json!({"pattern": "^fn", "target": "grep", "path": "src"})).await;
    let expected = json!({
        "total_count": 5,
        "matches_format": "path, then its lines as `  number: text`",
        "matches_text": "src/a.rs\n  1: fn a() {}\n  2: fn c() {}\n  4: fn d() {}\n  5: fn e() {}\nsrc/b.rs\n  1: fn b() {}",
    });
    assert_eq!(found, expected);
}

#[tokio::test]
async fn context_shows_the_lines_around() {
    let stage = Stage::new();
    stage.write("a.txt", "1\n2\nhit\n4\n5\n6\n7\n8\nhit\n10\n");
    let found = stage.call(TOOL, json!({"pattern": "hit", "context": 1})).await;
    let expected = json!({
        "total_count": 2,
        "matches_format": "path, then its lines as `  number: text`; lines around them as `  number- text`",
        "matches_text": "a.txt\n  2- 2\n  3: hit\n  4- 4\n  --\n  8- 8\n  9: hit\n  10- 10",
    });
    assert_eq!(found, expected);
    let text = stage.call_text(TOOL, json!({"pattern": "hit", "context": 1, "limit": 1})).await;
    let (first, hint) = parted(&text);
    assert_eq!(
        (first["matches_text"].as_str(), first["truncated"].as_bool()),
        (Some("a.txt\n  2- 2\n  3: hit\n  4- 4"), Some(true))
    );
    assert_eq!(hint, Some("[1 of 2 are shown. Use offset=1 to go on, or narrow the pattern, path or file_glob.]"));
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_overlap() {
    let stage = Stage::new();
    for file in 0..40 {
        stage.write(&format!("d{}/f{file:02}.txt", file % 3), "x\ny\n".repeat(file % 5));
    }
    let mut all: Vec<(String, u64)> = Vec::new();
    let mut offset = 0;
    loop {
        let text = stage.call_text(TOOL, json!({"pattern": "x", "limit": 4, "offset": offset})).await;
        let (page, hint) = parted(&text);
        assert_eq!(page["total_count"], 80);
        for line in page["matches"].as_array().unwrap() {
            all.push((line["path"].as_str().unwrap().to_owned(), line["line"].as_u64().unwrap()));
        }
        offset += 4;
        match hint {
            Some(hint) => assert!(hint.contains(&format!("offset={offset} ")), "{hint}"),
            None => break,
        }
    }
    assert_eq!(all.len(), 80);
    assert!(all.is_sorted_by(|left, right| left < right), "{all:?}");
    let after = stage.call(TOOL, json!({"pattern": "x", "offset": 90})).await;
    assert_eq!(after, json!({"total_count": 80, "warning": "offset 90 is after the last of 80 results"}));
}

#[tokio::test]
async fn a_hundred_thousand_hits_are_counted_and_one_page_is_shown() {
    let stage = Stage::new();
    stage.write("many.txt", "needle\n".repeat(60_000));
    stage.write("more.txt", "needle\n".repeat(60_000));
    let text = stage.call_text(TOOL, json!({"pattern": "needle", "limit": 2, "offset": 59_999})).await;
    let (found, hint) = parted(&text);
    let expected = json!({"total_count": 120_000, "truncated": true, "matches": [
        {"path": "many.txt", "line": 60_000, "content": "needle"},
        {"path": "more.txt", "line": 1, "content": "needle"},
    ]});
    assert_eq!(found, expected);
    assert!(hint.is_some());
}

#[tokio::test]
async fn files_and_counts_leave_out_what_has_no_hit() {
    let stage = Stage::new();
    stage.write("a.py", "x\nx\n");
    stage.write("b.rs", "x\n");
    stage.write("c.py", "y\n");
    stage.write("d.py", "x");
    let files = stage.call(TOOL, json!({"pattern": "x", "output_mode": "files_only"})).await;
    assert_eq!(files, json!({"total_count": 3, "files": ["a.py", "b.rs", "d.py"]}));
    let counts = stage.call(TOOL, json!({"pattern": "x", "output_mode": "count", "file_glob": "*.py"})).await;
    assert_eq!(counts, json!({"total_count": 3, "counts": {"a.py": 2, "d.py": 1}}));
    let text = stage.call_text(TOOL, json!({"pattern": "x", "output_mode": "count", "limit": 1})).await;
    assert_eq!(parted(&text).0, json!({"total_count": 4, "counts": {"a.py": 2}, "truncated": true}));
    let none = stage.call(TOOL, json!({"pattern": "x", "output_mode": "count", "file_glob": "c.*"})).await;
    assert_eq!(none, json!({"total_count": 0}));
}

#[tokio::test]
async fn names_come_newest_first() {
    let stage = Stage::new();
    let now = SystemTime::now();
    for (name, age) in [("old.py", 300), ("deep/er/new.py", 10), ("middle.py", 60), ("other.rs", 1)] {
        let file = std::fs::File::options().write(true).open(stage.write(name, "")).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    let found = stage.call(TOOL, json!({"pattern": "*.py", "target": "find"})).await;
    assert_eq!(found, json!({"total_count": 3, "files": ["deep/er/new.py", "middle.py", "old.py"]}));
    let bare = stage.call(TOOL, json!({"pattern": "dle.py", "target": "files"})).await;
    assert_eq!(bare, json!({"total_count": 1, "files": ["middle.py"]}));
    let below = stage.call(TOOL, json!({"pattern": "deep/**/*.py", "target": "files"})).await;
    assert_eq!(below, json!({"total_count": 1, "files": ["deep/er/new.py"]}));
    let text = stage.call_text(TOOL, json!({"pattern": "*", "target": "files", "limit": 1, "offset": 1})).await;
    assert_eq!(parted(&text).0, json!({"total_count": 4, "files": ["deep/er/new.py"], "truncated": true}));
}

#[tokio::test]
async fn what_ripgrep_skips_is_skipped() {
    let stage = Stage::new();
    std::fs::create_dir(stage.path(".git")).unwrap();
    stage.write(".gitignore", "built/\n*.log\n");
    stage.write("seen.txt", "word\n");
    stage.write("built/out.txt", "word\n");
    stage.write("trace.log", "word\n");
    stage.write(".hidden", "word\n");
    stage.write("picture.bin", b"word\n\0\x01\x02");
    symlink(stage.path("seen.txt"), stage.path("link.txt")).unwrap();
    let files = async |arguments: Value| stage.call(TOOL, arguments).await["files"].clone();
    assert_eq!(files(json!({"pattern": "word", "output_mode": "files_only"})).await, json!(["seen.txt"]));
    let ignored = files(json!({"pattern": "word", "output_mode": "files_only", "path": "built"})).await;
    assert_eq!(ignored, json!(["built/out.txt"]));
    assert_eq!(files(json!({"pattern": ".hidden", "target": "files"})).await, json!([".hidden"]));
    let one = files(json!({"pattern": "word", "output_mode": "files_only", "path": "link.txt"})).await;
    assert_eq!(one, json!(["seen.txt"]));
}

#[tokio::test]
async fn secrets_are_left_out_whether_they_match_or_not() {
    let stage = Stage::new();
    stage.write(".env", "KEY=hunter2\n");
    stage.write("src/.env.local", "nothing\n");
    stage.write("a.txt", "hunter2\n");
    std::fs::write(stage.root().join("home/.hermes/auth.json"), "hunter2").unwrap();
    for (pattern, expected) in [("hunter2", json!(["a.txt"])), ("no such text", Value::Null)] {
        let found = stage
            .call(TOOL, json!({"pattern": pattern, "file_glob": "{.env*,*.txt}", "output_mode": "files_only"}))
            .await;
        assert_eq!((&found["files"], &found["_omitted"]), (&expected, &json!(2)), "{pattern}");
    }
    let home = stage.root().join("home/.hermes");
    let own = stage.call(TOOL, json!({"pattern": "hunter2", "path": home})).await;
    assert_eq!(own, json!({"total_count": 0, "_omitted": 1}));
    let named = stage.call(TOOL, json!({"pattern": ".env", "target": "files"})).await;
    assert_eq!(named, json!({"total_count": 0, "_omitted": 1}));
}

#[tokio::test]
async fn keys_in_lines_are_covered() {
    let stage = Stage::new();
    stage.write("a.py", "key = 'sk-abcdefghijklmnopqrstuvwxyz123456'\n");
    let found = stage.call(TOOL, json!({"pattern": "^key"})).await;
    let line = found["matches"][0]["content"].as_str().unwrap();
    assert!(line.starts_with("key = '«redacted:sk-") && !line.contains("mnop"), "{line}");
}

#[tokio::test]
async fn a_line_of_a_private_key_is_covered_although_it_looks_like_any_other() {
    let stage = Stage::new();
    let body = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
    stage.write("id", format!("plain\n-----BEGIN PRIVATE KEY-----\n{body}\n{body}\n-----END PRIVATE KEY-----\n"));
    stage.write("list.txt", "MIIEasy\n");
    let found = stage.call(TOOL, json!({"pattern": "MIIE"})).await;
    let shown: Vec<&str> =
        found["matches"].as_array().unwrap().iter().map(|hit| hit["content"].as_str().unwrap()).collect();
    assert_eq!(shown, ["«redacted:…»", "«redacted:…»", "MIIEasy"]);
    let around = stage.call_text(TOOL, json!({"pattern": "BEGIN", "context": 2})).await;
    assert!(around.contains("plain") && !around.contains("MIIEvQ"), "{around}");
}

#[tokio::test]
async fn a_pattern_that_cannot_be_read_is_explained() {
    let stage = unwatched();
    let error = stage.call(TOOL, json!({"pattern": "main(ä"})).await;
    let expected = "The regular expression cannot be used at character 5: unclosed group. \
                    To search for this text as it is: main\\(ä";
    assert_eq!(error, json!({"error": expected}));
    let huge = stage.call(TOOL, json!({"pattern": "(\\w{999}){999}"})).await["error"].as_str().unwrap().to_owned();
    assert!(huge.contains("size limit"), "{huge}");
    let glob = stage.call(TOOL, json!({"pattern": "x", "file_glob": "{a"})).await["error"].as_str().unwrap().to_owned();
    assert!(glob.starts_with("file_glob: "), "{glob}");
    let empty = stage.call(TOOL, json!({"pattern": ""})).await["error"].as_str().unwrap().to_owned();
    assert!(empty.contains("empty"), "{empty}");
}

#[tokio::test]
async fn a_pattern_over_two_lines_gets_a_warning() {
    let stage = Stage::new();
    stage.write("a.txt", "one\ntwo\n");
    let found = stage.call(TOOL, json!({"pattern": "one\\ntwo"})).await;
    let warning = "The pattern has a line break in it, and lines are searched one by one, so it cannot match. \
                   Search for one of the lines and use context to see the others";
    assert_eq!(found, json!({"total_count": 0, "warning": warning}));
    let either = stage.call(TOOL, json!({"pattern": "two|x\\ny"})).await;
    assert_eq!(either, json!({"total_count": 1, "matches": [{"path": "a.txt", "line": 2, "content": "two"}]}));
}

#[tokio::test]
async fn a_missing_path_names_its_neighbours() {
    let stage = Stage::new();
    stage.write("source/a.txt", "");
    let found = stage.call(TOOL, json!({"pattern": "x", "path": "sourc"})).await;
    assert_eq!(found, json!({"error": "Path not found: sourc", "similar_files": [stage.path("source")]}));
}

#[tokio::test]
async fn long_lines_and_odd_bytes_are_cut_on_characters() {
    let stage = Stage::new();
    stage.write("long.txt", format!("ä{}\n", "é".repeat(600)));
    stage.write("latin.txt", b"caf\xe9 hit\n");
    std::fs::write(stage.path("").join(OsStr::from_bytes(b"odd\xff name.txt")), "hit\n").unwrap();
    let long = stage.call(TOOL, json!({"pattern": "é$"})).await;
    assert_eq!(long["matches"][0]["content"], format!("ä{}", "é".repeat(499)));
    let odd = stage.call(TOOL, json!({"pattern": "hit"})).await;
    let expected = json!({"total_count": 2, "matches": [
        {"path": "latin.txt", "line": 1, "content": "caf\u{fffd} hit"},
        {"path": "odd\u{fffd} name.txt", "line": 1, "content": "hit"},
    ]});
    assert_eq!(odd, expected);
}

#[tokio::test]
async fn the_same_search_is_warned_about_and_then_refused_until_something_changes() {
    let stage = unwatched();
    let search = json!({"pattern": "ready"});
    for _ in 0..2 {
        assert_eq!(stage.call(TOOL, search.clone()).await, json!({"total_count": 0}));
    }
    assert!(stage.call(TOOL, search.clone()).await["_warning"].is_string());
    let refused = stage.call(TOOL, search.clone()).await;
    assert!(refused["error"].as_str().unwrap().starts_with("BLOCKED: "), "{refused}");
    assert_eq!((&refused["pattern"], &refused["already_searched"]), (&json!("ready"), &json!(4)));
    stage.write("now.txt", "ready\n");
    assert_eq!(stage.call(TOOL, search).await["total_count"], 1);
}

#[tokio::test]
async fn pipes_do_not_hold_a_search_up() {
    let stage = Stage::new();
    stage.write("a.txt", "x\n");
    let made = std::process::Command::new("mkfifo").arg(stage.path("pipe")).status().unwrap();
    assert!(made.success());
    let found = stage.call(TOOL, json!({"pattern": "x", "output_mode": "files_only"})).await;
    assert_eq!(found, json!({"total_count": 1, "files": ["a.txt"]}));
    let named = stage.call(TOOL, json!({"pattern": "x", "path": "pipe"})).await;
    assert_eq!(named, json!({"total_count": 0}));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_a_search_in_a_huge_file() {
    let stage = Stage::new();
    // Many names of one file: far more to read than there is time for.
    let file = std::fs::File::options().write(true).open(stage.write("huge", "")).unwrap();
    let text = "some text\n".repeat(100_000);
    for _ in 0..60 {
        std::io::Write::write_all(&mut &file, text.as_bytes()).unwrap();
    }
    for copy in 0..40 {
        std::fs::hard_link(stage.path("huge"), stage.path(&format!("huge{copy}"))).unwrap();
    }
    let stop = stage.stop.clone();
    let interrupt = tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(100)).await;
        stop.stop();
        Instant::now()
    });
    // Slow on purpose: every line is tried by itself.
    let text = stage.call_text(TOOL, json!({"pattern": "(?:[a-z ]+){3,9}\\n?\\d|zz\\n"})).await;
    let ended = Instant::now();
    let stopped = interrupt.await.unwrap();
    // Half a second is the promise; the rest is for a busy machine.
    assert!(ended.saturating_duration_since(stopped) < Duration::from_secs(1), "{text}");
    let (found, _) = parted(&text);
    assert_eq!((&found["limit_reason"], &found["truncated"]), (&json!("interrupted"), &json!(true)), "{text}");
}
