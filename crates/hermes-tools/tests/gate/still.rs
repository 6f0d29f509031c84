//! What only looks may run side by side; nothing else may.

use crate::{dangers, place};
use hermes_tools::gate::is_still;
use proptest::prelude::*;

const STILL: [&str; 40] = [
    "true",
    "ls -la",
    "/bin/ls ~",
    "cat a b | sort -u | uniq -c | head -5",
    "git status --short",
    "git -C sub --no-pager log --oneline -20",
    "git diff HEAD~1 -- src",
    "git branch --show-current",
    "git branch -a",
    "git rev-parse HEAD",
    "git stash list",
    "rg -n 'fn main' src",
    "grep -rn TODO . 2>/dev/null",
    "find . -name '*.rs' -type f",
    "find src -maxdepth 2 | wc -l",
    "test -f Cargo.toml && cat Cargo.toml",
    "[ -d src ] || echo none",
    "echo $HOME $(date +%F)",
    "sed -n '1,40p' src/lib.rs",
    "sed -n '10p;$p' x",
    "sleep 5",
    "sleep 1; echo done",
    "stat x && file x",
    "date -u",
    "date -d yesterday +%s",
    "timeout 5 ls",
    "if [ -f a ]; then cat a; else echo no; fi",
    "( ls; pwd )",
    "{ ls; pwd; }",
    "diff <(ls a) <(ls b)",
    "cat < Cargo.toml",
    "echo hi >&2",
    "ls 2>&1 | tail -3",
    "cargo --version",
    "jq .name package.json",
    "du -sh . && df -h",
    "printf '%s\\n' a b",
    "git show HEAD:src/lib.rs | head",
    "while false; do ls; done",
    // Last: nothing can stand behind it.
    "cat <<'E'\nhello\nE",
];

const STIRS: [&str; 62] = [
    "cd src && ls",
    "ls > files",
    "ls >> files",
    "ls &> files",
    "X=1",
    "X=1 ls",
    "export A=b",
    "ls &",
    "echo $(touch x)",
    "cat <(touch x)",
    "ls > >(cat)",
    "f() { ls; }",
    "f() { ls; }; f",
    "alias ls=rm",
    "for f in a b; do cat $f; done",
    "./ls",
    "/tmp/ls",
    "LS",
    "$X",
    "touch x",
    "mkdir x",
    "cargo test",
    "make",
    "python3 x.py",
    "curl http://example.org",
    "cat < /dev/tcp/host/80",
    "sort -o x x",
    "sort -uo x x",
    "sort --output=x x",
    "sort --out x x",
    "sort $OPTIONS x",
    "sort *",
    "find . -exec cat {} ;",
    "find . -fprint x",
    "find $ARGS",
    "fd -x cat",
    "uniq a b",
    "date -s tomorrow",
    "date 11160200",
    "sed -i s/a/b/ x",
    "sed -n 'w out' x",
    "sed -n '1,3p' -i x",
    "sed 's/a/b/e' x",
    "printf -v x y",
    "git branch new",
    "git branch -d old",
    "git branch --list -D old",
    "git checkout x",
    "git -c core.pager=x log",
    "git diff --output=x",
    "git log --ext-diff",
    "git grep -Ovi x",
    "git stash",
    "git tag v1",
    "git config a.b c",
    "git remote add a b",
    "echo ${X:=1}",
    "echo $((X=1))",
    "((X++))",
    "[[ -f x ]]",
    "test -v 'a[$(touch x)]'",
    "echo 'unfinished",
];

#[test]
fn readers_are_still_and_nothing_else_is() {
    for command in STILL {
        assert!(is_still(command, &place()), "{command}");
    }
    for command in STIRS {
        assert!(!is_still(command, &place()), "{command}");
    }
}

#[test]
fn no_danger_is_still() {
    let still: Vec<String> =
        dangers().into_iter().map(|(_, _, command)| command).filter(|command| is_still(command, &place())).collect();
    assert_eq!(still, Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Nothing that stirs becomes still beside what is.
    #[test]
    fn company_makes_nothing_still(one in 0..STILL.len() - 1, other in 0..STIRS.len(), joint in 0..5_usize) {
        let joint = [" ; ", " && ", " || ", " | ", "\n"][joint];
        let (one, other) = (STILL[one], STIRS[other]);
        for both in [format!("{one}{joint}{other}"), format!("{other}{joint}{one}"), format!("echo \"$({other}\n)\"")] {
            prop_assert!(!is_still(&both, &place()), "{}", both);
        }
    }
}
