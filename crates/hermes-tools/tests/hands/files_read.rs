//! Reading files, as a model does it.

use crate::stage::Stage;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::time::{Duration, SystemTime};

/// A file that was not touched for a while, as most are.
fn resting(stage: &Stage, below: &str, content: impl AsRef<[u8]>) {
    let path = stage.write(below, content);
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(60)).unwrap();
}

#[tokio::test]
async fn a_file_comes_as_numbered_lines_page_by_page() {
    let stage = Stage::new();
    stage.write("a.txt", "\u{feff}one\r\ntwo\nthree\n");
    assert_eq!(
        stage.call_text("read_file", json!({"path": "a.txt", "limit": 2})).await,
        r#"{"content":"1|one\n2|two","total_lines":3,"file_size":18,"truncated":true,"next_offset":3,"hint":"Lines 1 to 2 of 3 are shown. Use offset=3 to continue.","is_binary":false,"is_image":false}"#
    );
    assert_eq!(
        stage.call("read_file", json!({"path": stage.path("a.txt"), "offset": 3})).await,
        json!({"content": "3|three", "total_lines": 3, "file_size": 18, "truncated": false, "is_binary": false, "is_image": false})
    );
}

#[tokio::test]
async fn the_settings_bound_lines_and_pages() {
    let stage = Stage::with(json!({
        "tool_output": {"max_lines": 3, "max_line_length": 5}, "file_read_max_chars": 40
    }));
    stage.write("a.txt", "0123456789\nb\nc\nd\n");
    let read = stage.call("read_file", json!({"path": "a.txt", "limit": 900})).await;
    assert_eq!(read["content"], "1|01234... [truncated]\n2|b\n3|c");
    let stage = Stage::with(json!({"file_read_max_chars": 20}));
    stage.write("long.txt", "xxxx\n".repeat(40));
    let read = stage.call("read_file", json!({"path": "long.txt"})).await;
    assert_eq!(
        (&read["content"], &read["truncated_by"], &read["next_offset"]),
        (&json!("1|xxxx\n2|xxxx\n3|xxxx"), &json!("bytes"), &json!(4))
    );
}

#[tokio::test]
async fn a_missing_file_has_neighbours_and_nothing_else() {
    let stage = Stage::new();
    stage.write("src/main.rs", "");
    stage.write("src/mein.py", "");
    assert_eq!(
        stage.call("read_file", json!({"path": "src/main.rx"})).await,
        json!({"error": "File not found: src/main.rx", "similar_files": ["src/main.rs"]})
    );
    let folder = stage.call("read_file", json!({"path": "src"})).await;
    assert_eq!(folder, json!({"error": "src is a directory. Use search_files with target=\"files\" to list it."}));
}

#[tokio::test]
async fn the_same_page_is_sent_once_while_nothing_changes() {
    let stage = Stage::new();
    resting(&stage, "a.txt", "one\n");
    let ask = || stage.call("read_file", json!({"path": "a.txt"}));
    assert_eq!(ask().await["content"], "1|one");
    let again = ask().await;
    assert_eq!(
        (&again["status"], &again["dedup"], &again["content_returned"]),
        (&json!("unchanged"), &json!(true), &json!(false))
    );
    let third = ask().await;
    assert!(third["error"].as_str().unwrap().starts_with("BLOCKED: these lines of a.txt"), "{third}");
    assert_eq!(third["already_read"], 2);
    stage.desk.history.other_tool_ran();
    assert_eq!(ask().await["status"], "unchanged");
    resting(&stage, "a.txt", "two\n");
    assert_eq!(ask().await["content"], "1|two", "the same size and the same time do not hide a change");
    stage.desk.history.forget_reads();
    assert_eq!(ask().await["content"], "1|two");
}

#[tokio::test]
async fn a_file_that_changes_all_the_time_is_not_read_for_ever() {
    let stage = Stage::new();
    let mut told = Vec::new();
    for number in 0..4 {
        stage.write("log", format!("{number}\n"));
        told.push(stage.call("read_file", json!({"path": "log"})).await);
    }
    let warned: Vec<bool> = told.iter().map(|read| read.get("_warning").is_some()).collect();
    assert_eq!(warned, [false, false, true, false]);
    assert!(told[3]["error"].as_str().unwrap().starts_with("BLOCKED"), "{}", told[3]);
}

#[tokio::test]
async fn what_is_no_text_is_named() {
    let stage = Stage::new();
    stage.write("a.png", b"\x89PNG\r\n\x1a\n....");
    stage.write("photo", b"\xff\xd8\xff\xe0...");
    stage.write("a.zip", b"PK\x03\x04");
    stage.write("data", [0_u8, 1, 2, 3, 255].repeat(20));
    for image in ["a.png", "photo"] {
        let read = stage.call("read_file", json!({"path": image})).await;
        assert_eq!((&read["is_image"], &read["is_binary"], &read["content"]), (&json!(true), &json!(true), &json!("")));
        assert!(read["hint"].as_str().unwrap().contains("vision_analyze"));
    }
    let zip = stage.call("read_file", json!({"path": "a.zip"})).await;
    assert!(zip["error"].as_str().unwrap().starts_with("a.zip is an archive (4 bytes)"), "{zip}");
    let data = stage.call("read_file", json!({"path": "data"})).await;
    assert!(data["error"].as_str().unwrap().starts_with("data is not text (100 bytes)"), "{data}");
}

#[tokio::test]
async fn other_encodings_are_read() {
    let stage = Stage::new();
    let wide: Vec<u8> = "\u{feff}grüße\r\nzwei".encode_utf16().flat_map(u16::to_le_bytes).collect();
    stage.write("wide.txt", wide);
    assert_eq!(stage.call("read_file", json!({"path": "wide.txt"})).await["content"], "1|grüße\n2|zwei");
    stage.write("latin.txt", b"caf\xe9 au lait\n");
    assert_eq!(stage.call("read_file", json!({"path": "latin.txt"})).await["content"], "1|caf\u{fffd} au lait");
}

#[tokio::test]
async fn a_notebook_is_shown_as_its_cells() {
    let stage = Stage::new();
    let notebook = json!({"cells": [
        {"cell_type": "markdown", "source": ["# Title\n", "words"]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [
            {"data": {"text/plain": ["2"]}}, {"data": {"image/png": "aGk="}}, {"text": "out\n"}
        ]}
    ]});
    stage.write("n.ipynb", notebook.to_string());
    let read = stage.call("read_file", json!({"path": "n.ipynb"})).await;
    assert_eq!(read["extracted_document"], true);
    assert_eq!(
        read["content"],
        "1|# --- cell 1 (markdown) ---\n2|# Title\n3|words\n4|# --- cell 2 (code) ---\n5|1 + 1\n6|# output:\n7|2\n\
         8|# output:\n9|[image/png]\n10|# output:\n11|out"
    );
    stage.write("broken.ipynb", "{\"cells\": ");
    assert_eq!(stage.call("read_file", json!({"path": "broken.ipynb"})).await["content"], "1|{\"cells\": ");
}

#[tokio::test]
async fn secrets_and_endless_things_stay_closed_by_every_name() {
    let stage = Stage::new();
    stage.write(".env", "KEY=1");
    stage.write("../home/.hermes/auth.json", "{}");
    symlink(stage.root().join("home/.hermes"), stage.path("docs")).unwrap();
    symlink("/proc/self", stage.path("me")).unwrap();
    let pipe = stage.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let paths = [
        ".env",
        "./x/../.env",
        "docs/auth.json",
        "~/.hermes/auth.json",
        "/dev/zero",
        "/dev/stdin",
        "me/environ",
        "me/fd/0",
        "pipe",
    ];
    for path in paths {
        let read = stage.call("read_file", json!({"path": path})).await;
        assert!(read["error"].is_string() && read.get("content").is_none(), "{path}: {read}");
    }
}

#[tokio::test]
async fn a_page_of_a_huge_file_costs_a_page() {
    let stage = Stage::new();
    let path = stage.write("huge.log", "first line\n".repeat(200_000));
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.set_len(3 << 30).unwrap();
    let begun = std::time::Instant::now();
    let read = stage.call("read_file", json!({"path": "huge.log", "offset": 150_000, "limit": 2})).await;
    assert_eq!(read["content"], "150000|first line\n150001|first line");
    assert_eq!((read.get("total_lines"), &read["file_size"]), (None, &json!(3_u64 << 30)));
    let hint =
        "Lines 150000 to 150001 are shown; the file is too large to count its lines. Use offset=150002 to continue.";
    assert_eq!(read["hint"], hint);
    assert!(begun.elapsed() < Duration::from_secs(30), "it took {:?}", begun.elapsed());
    stage.write("large.log", "one line\n".repeat(200_000));
    let read = stage.call("read_file", json!({"path": "large.log"})).await;
    assert_eq!((&read["total_lines"], &read["next_offset"]), (&json!(200_000), &json!(501)));
    assert!(read["_hint"].as_str().is_some_and(|hint| hint.contains("search_files")));
}

#[tokio::test]
async fn reading_is_quick() {
    let stage = Stage::new();
    stage.write("a.txt", "one\n".repeat(200));
    let begun = std::time::Instant::now();
    for offset in 1..=100 {
        let read: Value = stage.call("read_file", json!({"path": "a.txt", "offset": offset})).await;
        assert!(read["content"].is_string());
    }
    // A debug build on a busy machine; the Python program took 13 s.
    assert!(begun.elapsed() < Duration::from_secs(3), "100 reads took {:?}", begun.elapsed());
}

fn archive(parts: &[(&str, &str)]) -> Vec<u8> {
    use std::io::Write as _;
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content.as_bytes()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[tokio::test]
async fn office_documents_are_read_as_their_words() {
    let stage = Stage::new();
    let body = "<w:document><w:body><w:p><w:r><w:t>One &amp;</w:t><w:tab/><w:t xml:space=\"preserve\"> two</w:t></w:r></w:p>\
                <w:p><w:r><w:t>Three</w:t></w:r></w:p></w:body></w:document>";
    stage.write("a.docx", archive(&[("word/document.xml", body)]));
    let read = stage.call("read_file", json!({"path": "a.docx"})).await;
    assert_eq!((&read["content"], &read["extracted_document"]), (&json!("1|One &\t two\n2|Three"), &json!(true)));
    let sheet = "<worksheet><sheetData><row><c r=\"A1\" t=\"s\"><v>1</v></c><c r=\"C1\"><v>2.5</v></c></row>\
                 <row><c r=\"A2\" t=\"inlineStr\"><is><t>in place</t></is></c></row></sheetData></worksheet>";
    let parts = [
        ("xl/workbook.xml", "<workbook><sheets><sheet name=\"Sums\" sheetId=\"1\"/></sheets></workbook>"),
        ("xl/sharedStrings.xml", "<sst><si><t>zero</t></si><si><r><t>o</t></r><r><t>ne</t></r></si></sst>"),
        ("xl/worksheets/sheet1.xml", sheet),
    ];
    stage.write("a.xlsx", archive(&parts));
    let read = stage.call("read_file", json!({"path": "a.xlsx"})).await;
    assert_eq!(read["content"], "1|# --- sheet 1: Sums ---\n2|one\t\t2.5\n3|in place");
    stage.write("broken.docx", [b"PK\x03\x04".as_slice(), &[0; 90]].concat());
    assert!(stage.call("read_file", json!({"path": "broken.docx"})).await["error"].is_string());
}

#[tokio::test]
async fn a_page_that_begins_inside_a_private_key_does_not_show_it() {
    let stage = Stage::new();
    let key =
        format!("-----BEGIN PRIVATE KEY-----\n{}-----END PRIVATE KEY-----\nend\n", "MIIEvQIBADANBgkq\n".repeat(6));
    stage.write("small.pem", &key);
    stage.write("large.txt", format!("{}{key}", "filler line\n".repeat(100_000)));
    for (path, offset) in [("small.pem", 1), ("small.pem", 4), ("large.txt", 100_001), ("large.txt", 100_004)] {
        let read = stage.call("read_file", json!({"path": path, "offset": offset})).await;
        let content = read["content"].as_str().unwrap();
        assert!(content.ends_with("|end") && content.contains("«redacted:") && !content.contains("MIIE"), "{content}");
    }
}

#[tokio::test]
async fn a_workbook_that_unpacks_without_end_is_cut() {
    let stage = Stage::new();
    let long = format!("<sst><si><t>{}</t></si></sst>", "x".repeat(1 << 20));
    let repeated = "<row><c t=\"s\"><v>0</v></c></row>".repeat(5_000);
    let wide = "<row><c r=\"ZZZ1\"/></row>".repeat(5_000);
    for sheet in [repeated, wide] {
        let parts = [("xl/sharedStrings.xml", long.as_str()), ("xl/worksheets/sheet1.xml", sheet.as_str())];
        stage.write("bomb.xlsx", archive(&parts));
        let before = resident();
        let read = stage.call("read_file", json!({"path": "bomb.xlsx", "offset": 10, "limit": 1})).await;
        assert!(read["total_lines"].as_u64().unwrap() < 1_100, "{read}");
        assert!(resident().saturating_sub(before) < 200 << 20, "{} MB more", (resident() - before) >> 20);
    }
}

/// Bytes of memory that this process has.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    pages.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or_default() * 4_096
}

#[tokio::test]
async fn two_gigabytes_cost_no_memory_and_hardly_any_time() {
    let stage = Stage::new();
    let path = stage.write("huge.txt", "one\ntwo\n");
    std::fs::File::options().write(true).open(&path).unwrap().set_len(2 << 30).unwrap();
    std::fs::File::options().write(true).open(stage.write("zero.dat", "")).unwrap().set_len(2 << 30).unwrap();
    let (began, before) = (std::time::Instant::now(), resident());
    let zero = stage.call("read_file", json!({"path": "zero.dat"})).await;
    assert!(zero["error"].as_str().unwrap().contains("not text"), "{zero}");
    let patched = stage.call("patch", json!({"path": "huge.txt", "old_string": "one", "new_string": "1"})).await;
    assert!(patched["error"].as_str().unwrap().contains("too large"), "{patched}");
    let found = stage.call("search_files", json!({"pattern": "two"})).await;
    assert_eq!(found["total_count"], 0, "a file with null bytes is not searched: {found}");
    let written = stage.call("write_file", json!({"path": "huge.txt", "content": "small\n"})).await;
    assert_eq!(written["bytes_written"], 6, "{written}");
    assert!(resident().saturating_sub(before) < 300 << 20);
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
}

/// Run with `--release -- --ignored --nocapture quick` to see the numbers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "measures; a busy machine would fail it"]
#[allow(clippy::print_stdout, reason = "the numbers are what it is for")]
async fn reads_and_writes_of_small_files_are_quick_in_a_release() {
    let stage = Stage::new();
    let text = "a line of a small file\n".repeat(100);
    for number in 0..50 {
        stage.write(&format!("src/f{number}.txt"), &text);
    }
    let middle = |mut times: Vec<std::time::Duration>| {
        times.sort();
        times[times.len() / 2]
    };
    let mut reads = Vec::new();
    let mut writes = Vec::new();
    for number in 0..50 {
        let path = format!("src/f{number}.txt");
        let began = std::time::Instant::now();
        stage.call("read_file", json!({"path": path})).await;
        reads.push(began.elapsed());
        let began = std::time::Instant::now();
        stage.call("write_file", json!({"path": path, "content": "new\n"})).await;
        writes.push(began.elapsed());
    }
    let (read, write) = (middle(reads), middle(writes));
    println!("read_file {read:?}, write_file {write:?}");
    assert!(read < std::time::Duration::from_millis(1), "read_file took {read:?}");
    assert!(write < std::time::Duration::from_millis(5), "write_file took {write:?}");
}
