//! Golden files: what came out once, was read by a person, and must come out again.

use std::env;
use std::fs;
use std::path::Path;

/// Lines of agreement shown around a difference.
const CONTEXT: usize = 3;

/// Compares `actual` with the checked-in file at `path` (relative to the crate under test, where cargo runs its tests)
/// and panics with the difference. `UPDATE_GOLDEN=1` writes the file instead, for a person to read in the diff.
#[track_caller]
pub fn golden(path: impl AsRef<Path>, actual: &str) {
    let path = path.as_ref();
    let shown = path.display();
    if env::var_os("UPDATE_GOLDEN").is_some_and(|value| value == "1") {
        let folder = path.parent().expect("a golden file lies in a folder");
        fs::create_dir_all(folder).unwrap_or_else(|error| panic!("cannot create {}: {error}", folder.display()));
        fs::write(path, actual).unwrap_or_else(|error| panic!("cannot write {shown}: {error}"));
        return;
    }
    if let Err(complaint) = compare(path, actual) {
        panic!("{complaint}");
    }
}

fn compare(path: &Path, actual: &str) -> Result<(), String> {
    let shown = path.display();
    let expected =
        fs::read_to_string(path).map_err(|error| format!("cannot read {shown}: {error}; UPDATE_GOLDEN=1 writes it"))?;
    match difference(&expected, actual) {
        None => Ok(()),
        Some(difference) => {
            Err(format!("{shown} is not what came out (- file, + now); UPDATE_GOLDEN=1 accepts it:\n{difference}"))
        }
    }
}

/// The lines that differ, between the lines that agree at both ends. `None` when the texts are equal.
fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (expected.split_inclusive('\n').collect(), actual.split_inclusive('\n').collect());
    let shorter = old.len().min(new.len());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(&new).take_while(same).count();
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(same).count().min(shorter - head);
    let mut lines = vec![format!("@@ line {} @@", head + 1)];
    let mut show = |sign: char, part: &[&str]| {
        // Line ends are shown, or a difference in nothing but them would be invisible.
        lines.extend(part.iter().map(|line| format!("{sign} {}", line.escape_debug()).replace("\\\"", "\"")));
    };
    show(' ', &old[head.saturating_sub(CONTEXT)..head]);
    show('-', &old[head..old.len() - tail]);
    show('+', &new[head..new.len() - tail]);
    show(' ', &old[old.len() - tail..(old.len() - tail + CONTEXT).min(old.len())]);
    Some(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lines_that_differ_are_shown_with_their_surroundings() {
        let old = "1\n2\n3\n4\nfive\n6\n7\n8\n9\n";
        let new = "1\n2\n3\n4\n5\n5½\n6\n7\n8\n9\n";
        let shown = "@@ line 5 @@\n  2\\n\n  3\\n\n  4\\n\n- five\\n\n+ 5\\n\n+ 5½\\n\n  6\\n\n  7\\n\n  8\\n";
        assert_eq!(difference(old, new).as_deref(), Some(shown));
        assert_eq!(difference(old, old), None);
    }

    #[test]
    fn a_difference_of_line_ends_alone_is_visible() {
        assert_eq!(difference("a\n", "a\r\n").as_deref(), Some("@@ line 1 @@\n- a\\n\n+ a\\r\\n"));
        assert_eq!(difference("a\n", "a").as_deref(), Some("@@ line 1 @@\n- a\\n\n+ a"));
        assert_eq!(difference("a\na\n", "a\n").as_deref(), Some("@@ line 2 @@\n  a\\n\n- a\\n"));
    }

    #[test]
    fn a_file_that_is_missing_or_differs_says_how_to_accept_the_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("x.txt");
        let missing = compare(&file, "x").expect_err("there is no such file");
        assert!(missing.contains("x.txt") && missing.contains("UPDATE_GOLDEN=1 writes it"), "{missing}");
        fs::write(&file, "y\n").expect("written");
        let other = compare(&file, "x\n").expect_err("not the same");
        assert!(other.contains("UPDATE_GOLDEN=1 accepts it:\n@@ line 1 @@\n- y\\n\n+ x\\n"), "{other}");
        assert_eq!(compare(&file, "y\n"), Ok(()));
    }
}
