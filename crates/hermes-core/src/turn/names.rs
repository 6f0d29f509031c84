//! Which tool a model meant by a name that no tool has, and what such a name is called where no tool was meant.

use std::collections::BTreeSet;

/// Names this alike are taken for the same.
const ALIKE: f64 = 0.7;
/// Providers take no longer name back, and no other letters than those of [`is_plain`].
pub(super) const LONGEST: usize = 64;
const SUFFIXES: [&str; 2] = ["_tool", "tool"];

/// The offered tool that was meant, when there is no doubt: the name itself, the name as models misspell it, or the one
/// offered name that is much like it.
pub(crate) fn meant<'a>(name: &str, offered: &BTreeSet<&'a str>) -> Option<&'a str> {
    let known = |name: &str| offered.get(name).copied();
    if let Some(exact) = known(name) {
        return Some(exact);
    }
    // Markup that ran into the name.
    let name = name.split(['"', '\'', '<', '>']).next().unwrap_or_default().trim();
    let snake = snake_case(name);
    let mut bare = snake.as_str();
    for _ in 0..=2 {
        if let Some(found) = known(bare) {
            return Some(found);
        }
        let shorter = SUFFIXES.iter().find_map(|suffix| bare.strip_suffix(suffix));
        bare = shorter.map_or(bare, |shorter| shorter.trim_end_matches('_'));
    }
    let bare: Vec<char> = bare.chars().collect();
    let mut alike: Vec<(f64, &str)> = offered.iter().map(|known| (likeness(&bare, known), *known)).collect();
    alike.retain(|(likeness, _)| *likeness >= ALIKE);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    match alike.as_slice() {
        [(first, found), rest @ ..] if rest.first().is_none_or(|(second, _)| second < first) => Some(found),
        _ => None,
    }
}

/// The name under which a call that means no offered tool goes back to the model: every provider takes it, and no tool
/// answers to it. A blank one stays blank.
pub(crate) fn nobodys(name: &str, offered: &BTreeSet<&str>) -> String {
    let mut plain: String = name.trim().chars().take(LONGEST).map(|c| if is_plain(c) { c } else { '_' }).collect();
    if offered.contains(plain.as_str()) {
        plain.truncate(LONGEST - 1);
        plain.push('_');
    }
    plain
}

fn is_plain(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-')
}

/// `ReadFile`, `read-file` and `Read File` are `read_file`.
fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        match letter {
            '-' | ' ' | '.' => snake.push('_'),
            _ if letter.is_uppercase() => {
                if before.is_lowercase() || before.is_ascii_digit() {
                    snake.push('_');
                }
                snake.extend(letter.to_lowercase());
            }
            _ => snake.push(letter),
        }
        before = letter;
    }
    snake
}

/// Twice the letters two names have in common, in order, over the letters of both; nothing where their lengths alone
/// rule out that they are alike, so that a name without end costs no time.
fn likeness(a: &[char], b: &str) -> f64 {
    let b: Vec<char> = b.chars().collect();
    let share = |common: usize| (2 * common) as f64 / (a.len() + b.len()) as f64;
    if a.is_empty() || b.is_empty() || share(a.len().min(b.len())) < ALIKE {
        return 0.0;
    }
    let mut row = vec![0usize; b.len() + 1];
    for x in a {
        let mut diagonal = 0;
        for (at, y) in b.iter().enumerate() {
            let above = row.get(at + 1).copied().unwrap_or_default();
            let left = row.get(at).copied().unwrap_or_default();
            let best = if x == y { diagonal + 1 } else { above.max(left) };
            diagonal = above;
            if let Some(cell) = row.get_mut(at + 1) {
                *cell = best;
            }
        }
    }
    share(row.last().copied().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_what_the_model_meant_or_nothing() {
        let offered: BTreeSet<&str> = ["read_file", "write_file", "search_files", "terminal", "todo"].into();
        let table = [
            ("read_file", Some("read_file")),
            ("ReadFile", Some("read_file")),
            ("read-file", Some("read_file")),
            ("Read File", Some("read_file")),
            ("read_file_tool", Some("read_file")),
            ("TerminalTool", Some("terminal")),
            ("terminal\"><", Some("terminal")),
            ("readfile", Some("read_file")),
            ("todos", Some("todo")),
            ("ead_file", Some("read_file")),
            ("launch_rocket", None),
            ("", None),
            ("tool", None),
            ("file", None),
        ];
        for (name, expected) in table {
            assert_eq!(meant(name, &offered), expected, "{name}");
        }
    }

    #[test]
    fn a_name_nobody_has_can_be_sent_back_and_calls_nobody() {
        let offered: BTreeSet<&str> = ["read_file"].into();
        let table = [
            ("launch_rocket", "launch_rocket"),
            (" launch rocket! ", "launch_rocket_"),
            ("a\u{0}\u{1b}[31m", "a___31m"),
            ("räketé", "r_ket_"),
            ("read+file", "read_file_"),
            ("", ""),
        ];
        for (name, expected) in table {
            assert_eq!(nobodys(name, &offered), expected, "{name:?}");
        }
        assert_eq!(nobodys(&"x".repeat(1_000_000), &offered).len(), LONGEST);
    }

    #[test]
    fn a_name_without_end_is_nobodys_at_once() {
        let names: Vec<String> = (0..200).map(|n| format!("{}{n}", "a_tool_".repeat(8))).collect();
        let offered: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let endless = "a_tool_".repeat(1_000_000);
        let began = std::time::Instant::now();
        assert_eq!(meant(&endless, &offered), None);
        assert!(began.elapsed() < std::time::Duration::from_secs(10), "{:?}", began.elapsed());
    }
}
