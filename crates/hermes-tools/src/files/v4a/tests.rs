use super::*;
use crate::files::matching::MatchError;
use proptest::prelude::*;
use similar::{ChangeTag, TextDiff};
use std::collections::BTreeMap;

struct Disk(BTreeMap<&'static str, Stored>);

impl Disk {
    fn with(files: &[(&'static str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| (*path, Stored::Text((*text).to_owned()))).collect())
    }
}

impl Files for Disk {
    fn read(&self, path: &str) -> Result<Stored, String> {
        match self.0.get(path) {
            Some(stored) => Ok(stored.clone()),
            None if path == "locked" => Err("permission denied".into()),
            None => Ok(Stored::Absent),
        }
    }
}

fn planned(patch: &str, files: &[(&'static str, &str)]) -> Result<Vec<Change>, PlanError> {
    plan(&parse(patch).unwrap(), &Disk::with(files))
}

fn reasons(patch: &str, files: &[(&'static str, &str)]) -> Vec<(usize, Reason)> {
    let error = planned(patch, files).unwrap_err();
    error.faults.into_iter().map(|fault| (fault.line, fault.reason)).collect()
}

fn updated(text: &str, body: &str) -> String {
    match planned(&format!("*** Update File: f\n{body}"), &[("f", text)]).unwrap().as_slice() {
        [Change::Update { after, .. }] => after.clone(),
        other => panic!("not one update: {other:?}"),
    }
}

#[test]
fn a_patch_is_read_whole() {
    let text = "Here it is:\n*** Begin Patch\n***Update File: a b.rs\n@@ fn f() @@\n ctx\n-old\n+new\nbare\n\\ No newline\n\n\
                @@\n+tail\n*** Add File: n\n+one\n\n+\n+two\n\n*** Delete File: d\n*** Move File: x -> y/z\n*** End Patch\n```\n";
    let context = |text: &str| HunkLine::Context(text.into());
    let hunks = vec![
        Hunk {
            line: 4,
            hint: Some("fn f()".into()),
            lines: vec![
                context("ctx"),
                HunkLine::Removed("old".into()),
                HunkLine::Added("new".into()),
                context("bare"),
            ],
        },
        Hunk { line: 11, hint: None, lines: vec![HunkLine::Added("tail".into())] },
    ];
    let operations = vec![
        Operation { line: 3, action: Action::Update { path: "a b.rs".into(), hunks } },
        Operation { line: 13, action: Action::Add { path: "n".into(), content: "one\n\n\ntwo\n".into() } },
        Operation { line: 19, action: Action::Delete { path: "d".into() } },
        Operation { line: 20, action: Action::Move { from: "x".into(), to: "y/z".into() } },
    ];
    let mut read = parse(text).unwrap().operations;
    read.sort_by_key(|operation| operation.line);
    assert_eq!(read, operations);
}

#[test]
fn what_cannot_be_read_names_its_line() {
    let rows = [
        ("", 1, ParseFault::NoSections),
        ("*** Begin Patch\n*** End Patch", 2, ParseFault::NoSections),
        ("-a\n+b", 1, ParseFault::BeforeHeader),
        ("*** Update File: a\n*** Add File: b\n+x", 1, ParseFault::NoHunks("a".into())),
        ("*** Update File: a\n@@ x @@\n", 1, ParseFault::NoHunks("a".into())),
        ("*** Update File:\n-a", 1, ParseFault::EmptyPath),
        ("\n*** Delete File:  ", 2, ParseFault::EmptyPath),
        ("*** Move File: a", 1, ParseFault::NoDestination),
        ("*** Move File: a -> ", 1, ParseFault::NoDestination),
        ("*** Move File:  -> b", 1, ParseFault::EmptyPath),
        ("*** Add File: a/../b\n+x", 1, ParseFault::Climbs("a/../b".into())),
        ("*** Rename File: a -> b", 1, ParseFault::UnknownHeader("Rename File".into())),
        ("*** Add File: a\n+x\ny", 3, ParseFault::NotAdded),
        ("*** Delete File: a\n-x", 2, ParseFault::BodyWithoutMeaning),
        ("*** Begin Patch\n*** Delete File: a\n*** End Patch\n*** Delete File: b", 4, ParseFault::AfterEnd),
    ];
    for (text, line, fault) in rows {
        assert_eq!(parse(text), Err(ParseError { line, fault }), "{text:?}");
    }
    assert_eq!(
        parse("*** Move File: a").unwrap_err().to_string(),
        "The patch cannot be read: line 1: the move names no destination. Write \"*** Move File: from -> to\". \
         No files were modified."
    );
}

#[test]
fn hunks_follow_each_other_and_whole_lines_go() {
    assert_eq!(updated("ab\nb\nc\n", "@@\n-b\n@@\n c\n+d\n"), "ab\nc\nd\n");
    assert_eq!(updated("one\r\ntwo\r\n", " one\n-two\n+2\n+3\n"), "one\r\n2\r\n3\r\n");
    assert_eq!(updated("  if x:\n    y()\n", " if x:\n-  y()\n+  z()\n"), "  if x:\n    z()\n");
    assert_eq!(updated("\n", "+a\n \n"), "a\n\n", "a blank line of context counts when it has its sign");
    assert_eq!(updated("a\n\nb\n", " a\n\n-b\n+c\n\n"), "a\n\nc\n", "or when another line follows");
    assert_eq!(updated("a", "-a\n+b\n"), "b");
}

#[test]
fn added_lines_need_one_place() {
    assert_eq!(updated("a\nb", "@@\n+c\n"), "a\nb\nc\n");
    assert_eq!(updated("fn a() {\n}\n", "@@ fn a() @@\n+    x();\n"), "fn a() {\n    x();\n}\n");
    let missing = reasons("*** Update File: f\n@@ nope @@\n+x", &[("f", "a\na\n")]);
    assert_eq!(missing, [(2, Reason::HintMissing("nope".into()))]);
    let many = reasons("*** Update File: f\n@@ a @@\n+x", &[("f", "a\na\n")]);
    assert_eq!(many, [(2, Reason::HintAmbiguous { hint: "a".into(), count: 2 })]);
}

#[test]
fn a_hint_tells_equal_places_apart() {
    let filler = "// filler line\n".repeat(300);
    let text = format!("fn a() {{\n    x();\n}}\n{filler}fn b() {{\n    x();\n}}\n");
    let after = updated(&text, "@@ fn b() @@\n-    x();\n+    y();\n");
    assert_eq!(after, format!("fn a() {{\n    x();\n}}\n{filler}fn b() {{\n    y();\n}}\n"));
    let unclear = reasons("*** Update File: f\n-    x();\n+    y();\n", &[("f", &text)]);
    assert!(matches!(unclear.as_slice(), [(2, Reason::Hunk(MatchError::Ambiguous { count: 2, .. }))]), "{unclear:?}");
}

#[test]
fn all_faults_are_told_and_nothing_is_planned() {
    let patch = "*** Update File: f\n-a\n+b\n*** Update File: f\n-zzz\n+y\n*** Delete File: gone\n\
                 *** Move File: gone -> x\n*** Move File: f -> g\n*** Add File: g\n+x\n*** Update File: locked\n-a\n+b";
    let error = planned(patch, &[("f", "a\n"), ("g", "g\n")]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "The patch does not apply; no files were modified.\n\
         - line 5, f: The text to replace is not in the file. Nothing in it is similar: check the path, and read the \
         file before editing it.\n\
         - line 7, gone: the file does not exist. Check the path, or create it with Add File.\n\
         - line 8, gone: the file does not exist. Check the path, or create it with Add File.\n\
         - line 9, g: the file exists already. Change it with Update File, or remove it first.\n\
         - line 10, g: the file exists already. Change it with Update File, or remove it first.\n\
         - line 12, locked: the file cannot be read: permission denied."
    );
}

#[test]
fn a_patch_without_change_is_refused() {
    assert_eq!(reasons("*** Update File: f\n a\n", &[("f", "a\n")]), [(1, Reason::NoChange)]);
    assert_eq!(reasons("*** Update File: f\n-a\n+a\n", &[("f", "a\n")]), [(1, Reason::NoChange)]);
}

#[test]
fn operations_see_the_ones_before_them() {
    let patch = "*** Update File: a\n-1\n+2\n*** Move File: a -> b\n*** Update File: b\n-2\n+3\n*** Move File: b -> c\n\
                 *** Delete File: d\n*** Add File: d\n+new\n*** Add File: e\n+e\n*** Delete File: e";
    let changes = planned(patch, &[("a", "1\n"), ("d", "old\n")]).unwrap();
    let moved =
        Change::Move { from: "a".into(), to: "c".into(), before: Some("1\n".into()), after: Some("3\n".into()) };
    let renewed = Change::Update { path: "d".into(), before: "old\n".into(), after: "new\n".into() };
    assert_eq!(changes, [moved, renewed]);
}

#[test]
fn a_file_with_two_names_is_one_file() {
    let patch = "*** Update File: a\n-1\n+2\n*** Update File: ./a\n-2\n+3\n";
    let changes = planned(patch, &[("a", "1\n")]).unwrap();
    assert_eq!(changes, [Change::Update { path: "a".into(), before: "1\n".into(), after: "3\n".into() }]);
}

#[test]
fn what_is_not_text_can_only_go_or_move() {
    let disk = Disk([("p", Stored::Binary)].into());
    let moved = plan(&parse("*** Move File: p -> q").unwrap(), &disk).unwrap();
    assert_eq!(moved, [Change::Move { from: "p".into(), to: "q".into(), before: None, after: None }]);
    let edited = plan(&parse("*** Update File: p\n-a\n+b").unwrap(), &disk).unwrap_err();
    assert_eq!(edited.faults, [Fault { line: 1, path: "p".into(), reason: Reason::Binary }]);
}

/// The patch that a careful writer would make for two texts.
fn patch_between(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut patch = String::from("*** Begin Patch\n*** Update File: f\n");
    for group in diff.grouped_ops(3) {
        patch.push_str("@@\n");
        for change in group.iter().flat_map(|operation| diff.iter_changes(operation)) {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            patch.extend([&sign.to_string(), change.value()]);
        }
    }
    patch + "*** End Patch\n"
}

fn patched(before: &str, patch: &str) -> Result<String, PlanError> {
    let disk = Disk([("f", Stored::Text(before.to_owned()))].into());
    match plan(&parse(patch).unwrap(), &disk)?.as_slice() {
        [Change::Update { after, .. }] => Ok(after.clone()),
        other => panic!("not one update: {other:?}"),
    }
}

fn numbered(lines: &[u16]) -> String {
    lines.iter().map(|line| format!("{}line {line}\n", " ".repeat(usize::from(line % 5)))).collect()
}

proptest! {
    #[test]
    fn a_patch_leads_there_and_back(
        lines in prop::collection::vec((0..3_u8, any::<u8>()), 1..60)
    ) {
        let mut before = vec![1_000];
        let mut after = vec![1_000];
        for (index, (fate, _)) in lines.iter().enumerate() {
            let line = u16::try_from(index).unwrap();
            if *fate != 1 { before.push(line) }
            if *fate != 2 { after.push(line) }
        }
        let (before, after) = (numbered(&before), numbered(&after));
        prop_assume!(before != after);
        prop_assert_eq!(patched(&before, &patch_between(&before, &after)), Ok(after.clone()));
        prop_assert_eq!(patched(&after, &patch_between(&after, &before)), Ok(before.clone()));
        let (dos, dos_after) = (before.replace('\n', "\r\n"), after.replace('\n', "\r\n"));
        prop_assert_eq!(patched(&dos, &patch_between(&before, &after)), Ok(dos_after));
    }

    /// With lines that repeat, a patch may be refused, and is never applied somewhere else.
    #[test]
    fn a_patch_is_right_or_refused(before in "([ab{} ]{0,2}\n){1,14}", after in "([ab{} ]{0,2}\n){1,14}") {
        prop_assume!(before != after);
        let patch = patch_between(&before, &after);
        if let Ok(made) = patched(&before, &patch) {
            prop_assert_eq!(made, after, "{}", patch);
        }
    }
}
