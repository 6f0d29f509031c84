//! Exit codes that are no failure, or say more than their number.

/// Programs, a code, and what it means.
const TABLE: [(&[&str], i32, &str); 9] = [
    (&["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"], 1, "no matches (not an error)"),
    (&["diff", "colordiff"], 1, "the files differ (not an error)"),
    (&["find"], 1, "some directories could not be read; the rest is there"),
    (&["test", "["], 1, "the condition is false (not an error)"),
    (&["curl"], 6, "the host name could not be resolved"),
    (&["curl"], 7, "nothing accepted the connection"),
    (&["curl"], 22, "the server answered with an HTTP error"),
    (&["curl"], 28, "the transfer took too long"),
    (&["git"], 1, "often no error: `git diff` and the like answer 1 for \"there are differences\""),
];

/// What a code means when the last program of the command gave it.
pub(super) fn meaning(command: &str, code: i32) -> Option<&'static str> {
    let program = last_program(command)?;
    TABLE.iter().find(|(programs, known, _)| *known == code && programs.contains(&program.as_str())).map(|row| row.2)
}

/// The name of the program whose exit code a chain or pipeline has.
fn last_program(command: &str) -> Option<String> {
    let mut last = String::new();
    let mut open: Option<char> = None;
    let mut rest = command.trim_end().trim_end_matches(';').chars();
    while let Some(character) = rest.next() {
        match (open, character) {
            (None | Some('"'), '\\') => {
                last.push(character);
                last.extend(rest.next());
                continue;
            }
            (Some(quote), _) if quote == character => open = None,
            (None, '\'' | '"') => open = Some(character),
            (None, '|' | ';' | '&' | '\n') => {
                last.clear();
                continue;
            }
            _ => {}
        }
        last.push(character);
    }
    let is_assignment =
        |word: &&str| word.split_once('=').is_some_and(|(name, _)| !name.contains('/') && !name.is_empty());
    let word = last.split_whitespace().find(|word| !is_assignment(word))?;
    word.rsplit('/').next().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_program_of_a_chain_says_what_its_code_means() {
        let table = [
            ("grep x file", 1, TABLE.first().map(|row| row.2)),
            ("cat a | /usr/bin/grep -q 'a|b'", 1, TABLE.first().map(|row| row.2)),
            ("grep x file | wc -l", 1, None),
            ("LC_ALL=C diff a b", 1, TABLE.get(1).map(|row| row.2)),
            ("cd x && curl -s http://a;", 7, TABLE.get(5).map(|row| row.2)),
            ("[ -f x ]", 1, TABLE.get(3).map(|row| row.2)),
            ("grep x file", 2, None),
            ("", 1, None),
        ];
        for (command, code, wanted) in table {
            assert_eq!(meaning(command, code), wanted, "{command}");
        }
    }
}
