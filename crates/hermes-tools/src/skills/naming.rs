//! What skills, their categories and their files may be called.
//!
//! Names become folders, words of a prompt and slash commands; paths come from models and from strangers. Everything that
//! is written passes here first, as text alone: what lies on the disk is looked at by whoever writes.

use super::catalogue::{SKILL, SUPPORT};

pub(super) const LONGEST_NAME: usize = 64;
/// Folders and files below a skill.
const DEEPEST: usize = 8;
const LONGEST_PART: usize = 128;

/// Why something is no name of a skill, or of a category.
pub(super) fn fault(name: &str, what: &str) -> Option<String> {
    let is_letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_begun = name.chars().next().is_some_and(is_letter);
    let is_name = is_begun && name.chars().all(|c| is_letter(c) || matches!(c, '.' | '_' | '-'));
    if is_name && name.len() <= LONGEST_NAME && !name.contains("..") {
        return None;
    }
    Some(format!(
        "'{name}' is no name for a {what}: use at most {LONGEST_NAME} lower-case letters, digits, '-', '_' and '.', with a \
         letter or a digit first."
    ))
}

/// A path below a skill in its one spelling, or why it is none.
pub(super) fn inner(path: &str) -> Result<String, String> {
    let bad = |why: &str| Err(format!("'{path}' is no path inside of a skill: {why}."));
    if path.is_empty() || path.starts_with(['/', '~']) || path.contains(['\\', '\0', ':']) {
        return bad("give one such as references/api.md");
    }
    let mut parts = Vec::new();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            return bad("it leads out of it");
        }
        if part.len() > LONGEST_PART || part.chars().any(char::is_control) {
            return bad("a name in it is too long or has odd characters");
        }
        parts.push(part);
    }
    match parts.len() {
        0 => bad("it names no file"),
        1..=DEEPEST => Ok(parts.join("/")),
        _ => bad("it is too deep"),
    }
}

/// A path that a model may write: `SKILL.md`, or a file in one of the four folders.
pub(super) fn writable(path: &str, skill: &str) -> Result<String, String> {
    let inner = inner(path)?;
    let own = inner.strip_prefix(&format!("{skill}/")).unwrap_or(&inner);
    if own == SKILL {
        return Ok(SKILL.to_owned());
    }
    let in_support = SUPPORT.iter().any(|folder| {
        inner.strip_prefix(folder).and_then(|rest| rest.strip_prefix('/')).is_some_and(|file| !file.is_empty())
    });
    if in_support && !inner.split('/').any(|part| part.starts_with('.')) {
        return Ok(inner);
    }
    Err(format!(
        "'{path}' cannot be written: files of a skill go to {}, such as references/api.md.",
        SUPPORT.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_plain_words() {
        for good in ["cook", "a", "7zip", "git.flow_2", "x-1", &"n".repeat(64)] {
            assert_eq!(fault(good, "skill"), None, "{good}");
        }
        for bad in ["", "Cook", "-x", ".hub", "a b", "a/b", "../x", "a..b", "é", &"n".repeat(65), "a\n"] {
            assert!(fault(bad, "skill").is_some(), "{bad:?}");
        }
    }

    #[test]
    fn paths_stay_inside_and_have_one_spelling() {
        let table = [
            ("references/a.md", Some("references/a.md")),
            ("./references//a.md", Some("references/a.md")),
            ("SKILL.md", Some("SKILL.md")),
            ("cook/SKILL.md", Some("SKILL.md")),
            ("other/SKILL.md", None),
            ("references", None),
            ("references/", None),
            ("references/../SKILL.md", None),
            ("/etc/passwd", None),
            ("~/x", None),
            ("scripts/.env", None),
            ("scripts\\x", None),
            ("notes.md", None),
            ("", None),
        ];
        for (path, expected) in table {
            assert_eq!(writable(path, "cook").ok().as_deref(), expected, "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_leads_out(path in "(\\.|/|\\.\\.|[a-z]|~|\\\\|references){0,12}") {
            for inside in [inner(&path), writable(&path, "cook")].into_iter().flatten() {
                prop_assert!(!inside.starts_with('/') && inside.split('/').all(|part| part != ".." && !part.is_empty()));
            }
        }
    }
}
