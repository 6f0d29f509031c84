//! Which tool a model meant by a name that no tool has.

use std::collections::BTreeSet;

/// Names this alike are taken for the same.
const ALIKE: f64 = 0.7;
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
    let mut alike: Vec<(f64, &str)> = offered.iter().map(|known| (likeness(bare, known), *known)).collect();
    alike.retain(|(likeness, _)| *likeness >= ALIKE);
    alike.sort_by(|a, b| b.0.total_cmp(&a.0));
    match alike.as_slice() {
        [(first, found), rest @ ..] if rest.first().is_none_or(|(second, _)| second < first) => Some(found),
        _ => None,
    }
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

/// Twice the letters two names have in common, in order, over the letters of both.
fn likeness(a: &str, b: &str) -> f64 {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if a.is_empty() || b.is_empty() {
        return 0.0;
    }
    let mut row = vec![0usize; b.len() + 1];
    for x in &a {
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
    let common = row.last().copied().unwrap_or_default();
    (2 * common) as f64 / (a.len() + b.len()) as f64
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
}
