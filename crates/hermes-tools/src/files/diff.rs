//! How a change is shown: a unified diff, complete up to a size, and honest about what it leaves out.

use similar::TextDiff;
use std::fmt::Write as _;
use std::time::Duration;

/// Lines of a diff that are shown; the change itself is on disk, and a reader wants to see that it is the right one.
const LINES: usize = 400;
/// Characters of one of those lines.
const LINE_CHARS: usize = 500;
const CONTEXT: usize = 3;
/// After this long the rest of two texts that share nothing is shown as removed and added.
const PATIENCE: Duration = Duration::from_millis(500);

/// One file before and after, each absent when the file is.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    pub before: Option<(&'a str, &'a str)>,
    pub after: Option<(&'a str, &'a str)>,
}

/// The diff, with `/dev/null` for a file that is not there. Empty when nothing but the name is different.
pub fn unified(sides: Sides<'_>) -> String {
    let before = sides.before.map_or("", |(_, text)| text);
    let after = sides.after.map_or("", |(_, text)| text);
    let name = |prefix: &str, side: Option<(&str, &str)>| match side {
        Some((path, _)) => format!("{prefix}/{}", path.trim_start_matches('/')),
        None => "/dev/null".to_owned(),
    };
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(before, after);
    let (old_name, new_name) = (name("a", sides.before), name("b", sides.after));
    let whole = diff.unified_diff().context_radius(CONTEXT).header(&old_name, &new_name).to_string();
    capped(&whole)
}

fn capped(whole: &str) -> String {
    let mut lines = whole.split_inclusive('\n');
    let mut text = String::new();
    for line in lines.by_ref().take(LINES) {
        let body = line.strip_suffix('\n').unwrap_or(line);
        match body.char_indices().nth(LINE_CHARS) {
            Some((end, _)) => text.extend([body.get(..end).unwrap_or_default(), "... [truncated]", "\n"]),
            None => text.push_str(line),
        }
    }
    let left = lines.count();
    if left > 0 {
        // Writing to a string does not fail.
        let _ = writeln!(text, "... {left} more lines of the diff are not shown; read the file to see the rest.");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_shown_with_its_surroundings() {
        let before = "a\nb\nc\nd\ne\nf\n";
        let sides = Sides { before: Some(("/src/x", before)), after: Some(("/src/x", "a\nb\nc\nd\nE\nf")) };
        assert_eq!(
            unified(sides),
            "--- a/src/x\n+++ b/src/x\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n-f\n+E\n+f\n\\ No newline at end of file\n"
        );
        let same = Sides { after: sides.before, ..sides };
        assert_eq!(unified(same), "");
    }

    #[test]
    fn new_and_removed_files_have_one_side() {
        let made = unified(Sides { before: None, after: Some(("x", "a\n")) });
        assert_eq!(made, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n");
        let gone = unified(Sides { before: Some(("x", "a\n")), after: None });
        assert_eq!(gone, "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n");
    }

    #[test]
    fn a_huge_diff_says_what_it_leaves_out() {
        let after: String = (0..1_000).map(|line| format!("{line}{}\n", "x".repeat(600))).collect();
        let shown = unified(Sides { before: None, after: Some(("x", &after)) });
        assert_eq!(shown.lines().count(), LINES + 1);
        assert!(shown.ends_with("\n... 603 more lines of the diff are not shown; read the file to see the rest.\n"));
        assert!(shown.len() < LINES * (LINE_CHARS + 30));
    }
}
