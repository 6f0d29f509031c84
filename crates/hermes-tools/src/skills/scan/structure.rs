//! What the files of a skill say without being read: how many, how large, of what kind.

use super::{Category, Finding, Severity};
use crate::skills::catalogue::{SKILL, SUPPORT};
use crate::skills::parcel::{Parcel, Piece};
use std::borrow::Cow;

const MOST_FILES: usize = 50;
const MOST_BYTES: u64 = 1 << 20;
const LARGEST_FILE: usize = 256 << 10;

/// Beginnings of programs for machines.
const PROGRAMS: [(&[u8], &str); 6] = [
    (b"\x7fELF", "a program for Linux"),
    (b"MZ", "a program for Windows"),
    (b"\xfe\xed\xfa\xcf", "a program for macOS"),
    (b"\xcf\xfa\xed\xfe", "a program for macOS"),
    (b"\xca\xfe\xba\xbe", "a program for macOS or Java"),
    (b"\x00asm", "a program for WebAssembly"),
];
/// Ends of names of programs that cannot be read.
const PROGRAM_ENDS: [&str; 14] =
    ["exe", "dll", "so", "dylib", "com", "msi", "scr", "bin", "jar", "class", "pyc", "pyo", "deb", "rpm"];
/// Packed files: what is in them is not looked at.
const PACKED_ENDS: [&str; 9] = ["zip", "tar", "gz", "tgz", "bz2", "xz", "7z", "rar", "whl"];
/// What may be started by its name.
const SCRIPT_ENDS: [&str; 10] = ["sh", "bash", "zsh", "py", "js", "mjs", "ts", "rb", "pl", "ps1"];

/// What people and agents read.
const TEXT_ENDS: [&str; 9] = ["md", "txt", "rst", "json", "yaml", "yml", "toml", "html", "csv"];

/// The beginning of an order to a terminal.
pub(super) fn steers_terminals(letter: char) -> bool {
    matches!(letter, '\u{1b}' | '\u{9b}' | '\u{9d}' | '\u{90}')
}

pub(super) fn escapes(path: &str) -> Finding {
    let meaning = "holds orders to a terminal, which whoever shows it may obey".to_owned();
    finding("terminal_escapes", Severity::High, path, meaning)
}

pub(super) fn look(parcel: &Parcel) -> Vec<Finding> {
    let mut found = Vec::new();
    let whole = |rule, severity, meaning: String| finding(rule, severity, "", meaning);
    if parcel.files.len() > MOST_FILES {
        found.push(whole(
            "too_many_files",
            Severity::Medium,
            format!("has {} files, more than a skill needs", parcel.files.len()),
        ));
    }
    if parcel.bytes() > MOST_BYTES {
        found.push(whole(
            "too_large",
            Severity::High,
            format!("has {} bytes, more than can be looked through", parcel.bytes()),
        ));
    }
    for link in &parcel.links {
        let meaning = "is a link, which can lead anywhere".to_owned();
        found.push(finding("link", Severity::Critical, link, meaning));
    }
    for (path, piece) in &parcel.files {
        found.extend(of_file(path, piece));
        if is_another_skill(path) {
            let meaning = "is another skill inside of this one, which would come with it".to_owned();
            found.push(finding("nested_skill", Severity::High, path, meaning));
        }
    }
    found
}

/// A `SKILL.md` below the first one, where skills are looked for.
fn is_another_skill(path: &str) -> bool {
    let is_support = path.split('/').next().is_some_and(|first| SUPPORT.contains(&first));
    path.ends_with(&format!("/{SKILL}")) && !is_support
}

fn of_file(path: &str, piece: &Piece) -> Vec<Finding> {
    let mut found = Vec::new();
    let end = path.rsplit('/').next().and_then(|name| name.rsplit_once('.')).map(|(_, end)| end.to_ascii_lowercase());
    let ends_in = |ends: &[&str]| end.as_deref().is_some_and(|end| ends.contains(&end));
    let program = PROGRAMS.iter().find(|(start, _)| piece.bytes.starts_with(start)).map(|(_, what)| *what);
    // Text may begin with these two letters.
    let program = program.filter(|_| crate::files::page::is_binary(&piece.bytes));
    if let Some(what) = program.or_else(|| ends_in(&PROGRAM_ENDS).then_some("a program nobody can read")) {
        found.push(finding("program", Severity::Critical, path, format!("is {what}")));
    } else if ends_in(&PACKED_ENDS) {
        found.push(finding("packed", Severity::High, path, "is packed: what is in it is not looked at".to_owned()));
    } else if piece.executable && !ends_in(&SCRIPT_ENDS) && !piece.bytes.starts_with(b"#!") {
        found.push(finding("executable", Severity::Medium, path, "can be started and is no script".to_owned()));
    }
    let is_text = !crate::files::page::is_binary(&piece.bytes);
    let promises_text = ends_in(&TEXT_ENDS) || ends_in(&SCRIPT_ENDS) || piece.bytes.starts_with(b"#!");
    if !is_text && promises_text {
        let meaning = "is called like a text and holds bytes that no text has".to_owned();
        found.push(finding("binary_text", Severity::High, path, meaning));
    }
    if is_text && String::from_utf8_lossy(&piece.bytes).contains(steers_terminals) {
        found.push(escapes(path));
    }
    if piece.bytes.len() > LARGEST_FILE {
        let meaning = format!("has {} bytes, more than anybody reads", piece.bytes.len());
        found.push(finding("large_file", Severity::Medium, path, meaning));
    }
    found
}

fn finding(rule: &'static str, severity: Severity, file: &str, meaning: String) -> Finding {
    Finding {
        rule: Cow::Borrowed(rule),
        severity,
        category: Category::Structural,
        file: if file.is_empty() { "the skill".to_owned() } else { file.to_owned() },
        line: 0,
        excerpt: String::new(),
        meaning: Cow::Owned(meaning),
    }
}
