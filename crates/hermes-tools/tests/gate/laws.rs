//! What holds for every command: reading never fails, and no wrapping makes a danger less.

use crate::{dangers, judged, ordinary, place};
use hermes_tools::gate::{Class, judge};
use proptest::prelude::*;

/// Ways to hide a command inside another. The command stands where `@` is; `%` takes it quoted for a shell.
const WRAPPINGS: [&str; 36] = [
    "sudo @",
    "env A=1 @",
    "nice -n 5 @",
    "nohup @",
    "timeout 5 @",
    "command @",
    "time @",
    "setsid @",
    "stdbuf -oL @",
    "busybox sh -c %",
    "sh -c %",
    "bash -lc %",
    "eval %",
    "( @ )",
    "{ @; }",
    "true && @",
    "false || @",
    "ls; @",
    "@ &",
    "! @",
    "if true; then @; fi",
    "while true; do @; break; done",
    "for i in 1; do @; done",
    "f() { @; }; f",
    "echo $(@)",
    "echo \"$(@)\"",
    "x=$(@)",
    "cat <(@)",
    "trap % EXIT",
    "ssh host %",
    "su -c %",
    "xargs sh -c %",
    "find . -exec sh -c % \\;",
    "case a in a) @;; esac",
    "sh <<'END'\n@\nEND",
    "X=%; eval \"$X\"",
];

fn worst(command: &str) -> Option<Class> {
    judged(command).findings.iter().map(|finding| finding.class).min()
}

fn wrapped(wrapping: &str, command: &str) -> String {
    let quoted = format!("'{}'", command.replace('\'', "'\\''"));
    wrapping.replace('@', command).replace('%', &quoted)
}

/// Simple commands with a danger: what a wrapper can take as its words.
fn simple_dangers() -> Vec<(Class, String)> {
    let is_simple = |command: &str| {
        !command
            .contains(['\n', '\u{1b}', ';', '&', '|', '(', '{', '<', '>', '`', '!', '#', '%', '@', '*', '=', '$', '\\'])
            && !command.starts_with(['"', '\''])
            && !["if", "for", "while", "until", "case", "function", "coproc", "set", "alias"]
                .contains(&command.split(' ').next().unwrap_or_default())
    };
    dangers()
        .into_iter()
        .filter(|(_, key, command)| is_simple(command) && key != "command cannot be read")
        .map(|(class, _, command)| (class, command))
        .collect()
}

#[test]
fn no_wrapper_makes_a_danger_less() {
    let mut weaker = Vec::new();
    for (class, command) in simple_dangers() {
        for wrapping in WRAPPINGS {
            let hidden = wrapped(wrapping, &command);
            if worst(&hidden).is_none_or(|found| found > class) {
                weaker.push(hidden);
            }
        }
    }
    assert!(weaker.is_empty(), "{} escaped:\n{}", weaker.len(), weaker.join("\n"));
}

/// The same word, spelled with quotes and escapes.
fn spelled(word: &str, how: &[u8]) -> String {
    let mut out = String::new();
    for (letter, how) in word.chars().zip(how.iter().cycle()) {
        match how % 5 {
            0 => out.push(letter),
            1 => out.push_str(&format!("\\{letter}")),
            2 => out.push_str(&format!("'{letter}'")),
            3 => out.push_str(&format!("\"{letter}\"")),
            _ => out.push_str(&format!("$'\\x{:02x}'''", u32::from(letter))),
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quoting_changes_nothing(how in prop::collection::vec(any::<u8>(), 1..12)) {
        for command in ["rm -rf /", "/bin/rm -r -f /etc", "mkfs.ext4 /dev/sda", "shutdown now", "kill -9 -1"] {
            let spelling: Vec<String> = command.split(' ').map(|word| spelled(word, &how)).collect();
            let spelling = spelling.join(" ");
            prop_assert_eq!(worst(&spelling), Some(Class::Hardline), "{}", spelling);
        }
    }

    #[test]
    fn two_wrappers_hide_no_more_than_one(first in 0..WRAPPINGS.len(), second in 0..WRAPPINGS.len()) {
        let hidden = wrapped(WRAPPINGS[second], &wrapped(WRAPPINGS[first], "rm -rf /"));
        // A word-wise wrapper before a compound is no shell any more: unreadable is right too.
        prop_assert!(worst(&hidden).is_some(), "{}", hidden);
    }

    #[test]
    fn any_text_is_judged(text in ".{0,200}") {
        let judgement = judge(&text, &place());
        prop_assert_eq!(judgement.command(), text.as_str());
    }

    #[test]
    fn a_danger_is_seen_beside_any_work(at in any::<prop::sample::Index>(), after in any::<bool>()) {
        let all = ordinary();
        let work = at.get(&all);
        let both = if after { format!("{work}\nrm -rf /") } else { format!("rm -rf /\n{work}") };
        prop_assert_eq!(worst(&both), Some(Class::Hardline), "{}", both);
    }
}

/// Work in front of a command does not carry it past the limits of the reader.
#[test]
fn no_amount_of_work_hides_a_command() {
    for (before, after) in [
        ("ls; ".repeat(24_000), "rm -rf /".to_owned()),
        (format!("for d in {}", "a ".repeat(400)), "/; do rm -rf $d; done".to_owned()),
        (format!("rm -rf {{{}", "a,".repeat(500)), "/}".to_owned()),
        ("sh -c $(echo ".repeat(30), format!("rm -rf /{}", ")".repeat(30))),
    ] {
        assert_eq!(worst(&format!("{before}{after}")), Some(Class::Hardline), "{after}");
    }
}

#[test]
fn what_is_too_large_or_too_deep_is_never_harmless() {
    for text in [
        "a".repeat(5_000),
        "a;".repeat(30_000),
        "ls\n".repeat(50_000),
        "(".repeat(4_000) + &")".repeat(90),
        format!("{}ls{}", "( ".repeat(300), " )".repeat(300)),
        format!("echo {}ls{}", "$(echo ".repeat(300), ")".repeat(300)),
        format!("{}ls{}", "if true; then ".repeat(300), "; fi".repeat(300)),
        "`".repeat(4_001),
        "99999999999999999999>x ls".into(),
        "f() { f; g; }; g() { f; g; }; f; ".repeat(100) + "for i in {1..9999}; do for j in {1..9999}; do f; done; done",
    ] {
        let start: String = text.chars().take(40).collect();
        assert!(worst(&text).is_some(), "{start}");
    }
    for text in [
        &"{".repeat(4_000),
        "echo {1..99999999999999999999}",
        "ls ~99999999999999999999999",
        "ls ~+ ~- ~1",
        "echo ${99999999999}",
    ] {
        judged(text);
    }
}
