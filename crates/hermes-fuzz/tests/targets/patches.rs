//! Patches: any text is read or refused, no signed line of an accepted one is lost, and a plan changes something.

use hermes_fuzz::{explore, mutants};
use hermes_tools::files::v4a::{Action, Change, Files, HunkLine, Patch, Stored, parse, plan};
use proptest::prelude::*;

const PATCHES: [&[u8]; 5] = [
    b"*** Begin Patch\n*** Update File: a\n@@ fn f @@\n one\n-two\n+2\n three\n*** End Patch\n",
    b"*** Add File: new\n+x\n+\n+y\n*** Delete File: b\n*** Move File: a -> c\n",
    b"***Update File: a\n-one\n+1\n\n@@\n+last\n\\ No newline at end of file\n*** Move File: a -> b/c\n",
    b"Sure:\r\n*** Begin Patch\r\n*** Update File: b\r\n-\xd0\xba\r\n+k\r\n*** End of File\r\n*** End Patch\r\n```\r\n",
    b"*** Update File: a\n two\n+2.5\n@@ three @@\n+3.5\n*** Update File: a\n-2.5\n",
];
const DICTIONARY: [&str; 18] = [
    "\n",
    "@@",
    "@@ x @@\n",
    "+",
    "-",
    " ",
    "\\",
    "***",
    "*** Begin Patch\n",
    "*** End Patch\n",
    "*** Update File: a\n",
    "*** Add File: n\n",
    "*** Delete File: a\n",
    "*** Move File: a -> b\n",
    "..",
    "->",
    "\r",
    "\u{feff}",
];

struct Two;

impl Files for Two {
    fn read(&self, path: &str) -> Result<Stored, String> {
        match path {
            "a" => Ok(Stored::Text("one\ntwo\nthree\nfn f\n".into())),
            "b" => Ok(Stored::Text("\u{feff}к\r\nл\r\n".into())),
            "c" => Ok(Stored::Binary),
            "locked" => Err("permission denied".into()),
            _ => Ok(Stored::Absent),
        }
    }
}

/// The lines between the two envelopes that begin with this sign.
fn signed(text: &str, sign: char) -> usize {
    let named = |line: &str, name: &str| line.strip_prefix("***").is_some_and(|rest| rest.trim() == name);
    let begins = text.lines().any(|line| named(line, "Begin Patch"));
    let inside = text.lines().skip_while(|line| begins && !named(line, "Begin Patch"));
    inside.take_while(|line| !named(line, "End Patch")).filter(|line| line.starts_with(sign)).count()
}

fn lines_of(patch: &Patch) -> (usize, usize) {
    let (mut added, mut removed) = (0, 0);
    for operation in &patch.operations {
        match &operation.action {
            Action::Update { hunks, .. } => {
                let lines = || hunks.iter().flat_map(|hunk| &hunk.lines);
                added += lines().filter(|line| matches!(line, HunkLine::Added(_))).count();
                removed += lines().filter(|line| matches!(line, HunkLine::Removed(_))).count();
            }
            Action::Add { content, .. } => added += content.matches('\n').count(),
            Action::Delete { .. } | Action::Move { .. } => {}
        }
    }
    (added, removed)
}

#[test]
fn no_line_of_an_accepted_patch_is_lost() {
    explore(mutants(), |mutant| {
        let text = String::from_utf8_lossy(&mutant.of(&PATCHES, &DICTIONARY)).into_owned();
        let Ok(patch) = parse(&text) else { return Ok(()) };
        let (added, removed) = lines_of(&patch);
        // A blank line without a sign inside of a new file counts as one of its lines.
        prop_assert!(added >= signed(&text, '+'), "{} added lines of {:?}", added, text);
        prop_assert_eq!(removed, signed(&text, '-'), "{:?}", text);
        if let Ok(changes) = plan(&patch, &Two) {
            prop_assert!(!changes.is_empty());
            for change in changes {
                if let Change::Update { before, after, .. } = change {
                    prop_assert_ne!(before, after);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn long_patches_are_read_in_time() {
    explore((mutants(), 1..500_usize), |(mutant, times)| {
        let text = String::from_utf8_lossy(&mutant.of(&PATCHES, &DICTIONARY)).repeat(times);
        let start = std::time::Instant::now();
        let operations = parse(&text).map_or(0, |patch| patch.operations.len());
        prop_assert!(operations <= text.matches("***").count());
        prop_assert!(start.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", start.elapsed());
        Ok(())
    });
}
