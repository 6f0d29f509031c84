//! Commands: any text is judged, the same text always alike, and nothing that is written around a command hides it.

use hermes_fuzz::{explore, mutants};
use hermes_tools::gate::{Class, Judgement, Place, judge};
use proptest::prelude::*;

const COMMANDS: [&[u8]; 12] = [
    b"for f in *.rs; do grep -n 'unwrap()' \"$f\" | head -n 3; done > out.txt 2>&1",
    b"X=rm; ${X:-ls} -rf \"${HOME%/*}\"/{a,b} && echo $(printf '%s' \"`id`\") || exit 1",
    b"cat <<'EOF' | sudo -u root bash -s -- a b\nrm -rf /tmp/x\nEOF\n",
    b"f() { local a=$1; shift; \"$@\" <(curl -s x) >&2; }; f sh -c 'eval \"$0\"' &",
    b"case $x in a|b) ls;; *) echo $((1 + (2 * 3)));; esac; [[ -n $y && ! -f z ]] && ((i++))",
    b"find . -name '*.o' -exec sh -c 'rm {}' \\; -o -delete; xargs -I{} rm {} < list",
    b"a=(1 'two' $'\\x41'); printf '%s\\n' \"${a[@]}\" ${a[0]//1/2} ${#a} ${!b} ${c^^}",
    b":(){ :|:& };: # comment",
    b"env -i A=1 timeout -k 1 5 nice -n 3 stdbuf -oL git -c core.pager=cat log --oneline",
    b"if true; then { ls; } >x; elif false; then (cd /; ls); else until :; do :; done; fi",
    "ｒｍ -rf ／ \u{1b}[31mrm\u{1b}[0m \u{200b}".as_bytes(),
    b"python3 -c 'import os; os.system(\"ls -l\")' | base64 -d | tee >(sh) {1..3} ~/a ~+ 3<>/dev/tcp/h/1",
];
const PIECES: [&str; 40] = [
    " ", "\n", ";", "&", "&&", "|", "||", "(", ")", "{", "}", "((", "))", "[[", "]]", "$(", "${", "$((", "`", "'",
    "\"", "\\", "$'", "<<EOF\n", "\nEOF\n", "<<<", "<(", ">", "2>&1", "#", "!", "~", "*", "{a,b}", "$x", "$@", "if ",
    "done", ";;", "\0",
];

fn judged(text: &str) -> Judgement {
    let place = Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/home/ada/p".into() };
    judge(text, &place)
}

fn is_hardline(judgement: &Judgement) -> bool {
    judgement.findings.iter().any(|finding| finding.class == Class::Hardline)
}

/// P8: what can be read at all can be read with a command before it, and that command is seen.
#[test]
fn any_text_is_judged_and_hides_nothing() {
    explore(mutants(), |mutant| {
        let text = String::from_utf8_lossy(&mutant.of(&COMMANDS, &PIECES)).into_owned();
        let judgement = judged(&text);
        prop_assert_eq!(&judged(&text), &judgement, "{:?}", text);
        prop_assert_eq!(judgement.command(), text.as_str());
        let before = judged(&format!("rm -rf /\n{text}"));
        prop_assert!(is_hardline(&before), "{:?} hides a command before it", text);
        let inside = judged(&format!("true $(rm -rf /); {text}"));
        prop_assert!(is_hardline(&inside), "{:?} hides a substitution before it", text);
        Ok(())
    });
}

/// Every danger that one text has, two texts in a row have.
#[test]
fn work_before_a_text_takes_no_danger_from_it() {
    explore(mutants(), |mutant| {
        let text = String::from_utf8_lossy(&mutant.of(&COMMANDS, &PIECES)).into_owned();
        let alone = judged(&text);
        let after = judged(&format!("true\n{text}"));
        for finding in &alone.findings {
            let kept = after.findings.iter().any(|found| found.key == finding.key);
            prop_assert!(kept, "{:?} lost {:?} behind other work", text, finding);
        }
        Ok(())
    });
}
