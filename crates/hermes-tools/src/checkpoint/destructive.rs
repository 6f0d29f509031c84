//! Which commands are worth a snapshot before they run: coarse on purpose. It decides about nothing else.

use crate::gate::{Place, judge};

/// Programs that remove or overwrite files.
const PROGRAMS: [&str; 15] = [
    "rm", "rmdir", "unlink", "cp", "install", "mv", "ln", "truncate", "dd", "shred", "tee", "rsync", "patch", "rimraf",
    "sponge",
];
/// Programs that do so with an option.
const WITH_OPTION: [(&str, &[&str]); 5] = [
    ("sed", &["-i", "--in-place"]),
    ("gsed", &["-i", "--in-place"]),
    ("perl", &["-i", "-pi", "-ni"]),
    ("ruby", &["-i", "-pi", "-ni"]),
    ("find", &["-delete"]),
];
/// What git does to files that are not committed.
const GIT: [&str; 15] = [
    "reset", "clean", "checkout", "restore", "switch", "stash", "rm", "mv", "apply", "am", "merge", "pull", "rebase",
    "revert", "cherry-pick",
];
/// Options of git before its command that take a word.
const GIT_VALUES: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Whether a command may destroy what is in files. The gate reads it, so wrappers and variables do not hide anything;
/// what cannot be read may do anything.
pub fn looks_destructive(command: &str) -> bool {
    let place = Place { home: "/nonexistent".into(), hermes_home: "/nonexistent/.hermes".into(), cwd: "/".into() };
    let judgement = judge(command, &place);
    !judgement.readable || judgement.texts.iter().any(|text| destroys(text)) || overwrites(command)
}

/// One command, its words parted by spaces.
fn destroys(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let Some(name) = words.next() else { return false };
    let name = name.rsplit('/').next().unwrap_or(name);
    let words: Vec<&str> = words.collect();
    if name == "git" {
        return git_command(&words).is_some_and(|command| GIT.contains(&command));
    }
    let has = |option: &&str| words.iter().any(|word| word.starts_with(*option));
    PROGRAMS.contains(&name) || WITH_OPTION.iter().any(|(program, options)| *program == name && options.iter().any(|option| has(&option)))
}

fn git_command<'w>(words: &[&'w str]) -> Option<&'w str> {
    let mut rest = words.iter();
    while let Some(word) = rest.next() {
        match *word {
            word if GIT_VALUES.contains(&word) => drop(rest.next()),
            word if word.starts_with('-') => {}
            word => return Some(word),
        }
    }
    None
}

/// A `>` outside of quotes that makes a file anew. Appending and joining streams are none.
fn overwrites(command: &str) -> bool {
    let mut quote = None;
    let mut rest = command.char_indices();
    while let Some((at, found)) = rest.next() {
        match (quote, found) {
            (None | Some('"'), '\\') => drop(rest.next()),
            (Some(open), found) if open == found => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(found),
            (None, '>') => {
                let after = command.get(at + 1..).unwrap_or_default();
                let target = after.trim_start_matches('|').trim_start();
                if after.starts_with('>') {
                    // The second half of `>>`.
                    rest.next();
                } else if !after.starts_with(['&', '(']) && !target.starts_with("/dev/") {
                    return true;
                }
            }
            (None, _) => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_destroy_is_told_from_what_does_not() {
        let destructive = [
            "rm x",
            "sudo rm -f a b",
            "cd /tmp && mv a b",
            "X=rm; $X file",
            "sed -i s/a/b/ f",
            "sed -i.bak s/a/b/ f",
            "sed --in-place s/a/b/ f",
            "echo hi > file",
            "echo hi >| file",
            "cmd 2> errors.txt",
            "git reset --hard",
            "git -C sub checkout -- .",
            "git clean -fd",
            "find . -name '*.o' -delete",
            "truncate -s0 f",
            "dd if=a of=b",
            "bash -c 'rm -r build'",
            "cat f | tee g",
            "echo 'unclosed",
        ];
        let harmless = [
            "ls -la",
            "echo 'a > b'",
            "echo \"rm x > y\"",
            "echo a \\> b",
            "cargo test 2>&1",
            "make > /dev/null",
            "make 2>/dev/null",
            "echo more >> log",
            "sed s/a/b/ f",
            "git commit -m 'rm everything'",
            "git status",
            "grep -r rm .",
            "find . -name rm",
        ];
        for command in destructive {
            assert!(looks_destructive(command), "{command}");
        }
        for command in harmless {
            assert!(!looks_destructive(command), "{command}");
        }
    }
}
