//! `A && B &` means to bash: a second shell that runs A, then B, and waits for it. What is meant is: A, and then B in the
//! background. [`rewritten`] says that, by adding `{` and `}` and nothing else. Where the reading is not certain (a here
//! document, a quote that is not closed) the command stays as it is.

use std::borrow::Cow;

/// A command that ends lists like `A && B &` in the background as they are meant.
pub(super) fn rewritten(command: &str) -> Cow<'_, str> {
    if !command.contains('&') {
        return Cow::Borrowed(command);
    }
    match insertions(command) {
        Some(insertions) if !insertions.is_empty() => Cow::Owned(insert(command, &insertions)),
        _ => Cow::Borrowed(command),
    }
}

fn insert(command: &str, insertions: &[(usize, &'static str)]) -> String {
    let mut text = String::with_capacity(command.len() + insertions.len() * 4);
    for (at, character) in command.char_indices() {
        insertions.iter().filter(|(place, _)| *place == at).for_each(|(_, added)| text.push_str(added));
        text.push(character);
    }
    insertions.iter().filter(|(place, _)| *place >= command.len()).for_each(|(_, added)| text.push_str(added));
    text
}

/// What a list is made of so far.
#[derive(Default)]
struct Reading {
    /// Round brackets, braces and compound commands that are open.
    depth: usize,
    /// Where the part after the last `&&` or `||` begins.
    after_operator: Option<usize>,
    word: String,
    /// Whether a word that begins here could be a reserved one.
    at_command: bool,
    insertions: Vec<(usize, &'static str)>,
}

/// Byte offsets and what is put there; `None` where the text cannot be followed.
fn insertions(command: &str) -> Option<Vec<(usize, &'static str)>> {
    let mut reading = Reading { at_command: true, ..Reading::default() };
    let mut rest = command.char_indices().peekable();
    let mut before = ' ';
    while let Some((at, character)) = rest.next() {
        let next = rest.peek().map(|(_, next)| *next);
        match character {
            '\\' => {
                rest.next();
                reading.word.push('x');
            }
            '\'' | '"' | '`' => {
                skip_quoted(&mut rest, character)?;
                reading.word.push('x');
            }
            '#' if reading.word.is_empty() => while rest.next_if(|(_, next)| *next != '\n').is_some() {},
            '<' if next == Some('<') => return None,
            '(' => {
                reading.end_word();
                reading.open();
            }
            ')' => {
                reading.end_word();
                reading.close()?;
            }
            '&' | '|' if next == Some(character) => {
                reading.end_word();
                rest.next();
                reading.operator(at + 2);
            }
            '&' if matches!(before, '>' | '<') || next == Some('>') => reading.word.push('x'),
            '&' => {
                reading.end_word();
                reading.background(at, command);
            }
            ';' => {
                reading.end_word();
                reading.end_list();
            }
            '\n' => {
                reading.end_word();
                reading.line_ends(at, command);
            }
            '|' => {
                reading.end_word();
                reading.at_command = true;
            }
            _ if character.is_whitespace() => reading.end_word(),
            _ => reading.word.push(character),
        }
        before = character;
    }
    reading.end_word();
    (reading.depth == 0).then_some(reading.insertions)
}

impl Reading {
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.at_command) {
            return;
        }
        match word.as_str() {
            "{" | "if" | "while" | "until" | "for" | "select" | "case" | "[[" | "function" => self.open(),
            "}" | "fi" | "done" | "esac" => self.depth = self.depth.saturating_sub(1),
            "then" | "do" | "else" | "elif" | "!" | "time" => self.at_command = true,
            _ => {}
        }
    }

    fn open(&mut self) {
        self.depth += 1;
        self.at_command = true;
    }

    fn close(&mut self) -> Option<()> {
        self.depth = self.depth.checked_sub(1)?;
        Some(())
    }

    fn operator(&mut self, after: usize) {
        if self.depth == 0 {
            self.after_operator = Some(after);
        }
        self.at_command = true;
    }

    fn end_list(&mut self) {
        if self.depth == 0 {
            self.after_operator = None;
        }
        self.at_command = true;
    }

    /// A line that ends with an operator goes on.
    fn line_ends(&mut self, at: usize, command: &str) {
        let goes_on =
            self.after_operator.and_then(|after| command.get(after..at)).is_some_and(|text| text.trim().is_empty());
        if !goes_on {
            self.end_list();
        }
    }

    fn background(&mut self, at: usize, command: &str) {
        if self.depth == 0
            && let Some(after) = self.after_operator
        {
            self.insertions.push((after, " {"));
            let line = command.get(at + 1..).and_then(|rest| rest.lines().next()).unwrap_or("").trim_start();
            let closing = if line.is_empty() || line.starts_with('#') { " }" } else { " };" };
            self.insertions.push((at + 1, closing));
        }
        self.end_list();
    }
}

fn skip_quoted(rest: &mut impl Iterator<Item = (usize, char)>, quote: char) -> Option<()> {
    loop {
        match rest.next()?.1 {
            '\\' if quote != '\'' => {
                rest.next()?;
            }
            character if character == quote => return Some(()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_lists_that_go_to_the_background_are_rewritten() {
        let table = [
            ("a && b &", "a && { b & }"),
            ("a || b & c", "a || { b & }; c"),
            ("a && b | c & # why", "a && { b | c & } # why"),
            ("a &&\nb &\nc", "a && {\nb & }\nc"),
            ("a; b && c & d && e &", "a; b && { c & }; d && { e & }"),
            ("a &", "a &"),
            ("a && b", "a && b"),
            ("(a && b &)", "(a && b &)"),
            ("if a && b & then c; fi", "if a && b & then c; fi"),
            ("a && b >&2 2>&1 &>x", "a && b >&2 2>&1 &>x"),
            ("echo 'a && b &'", "echo 'a && b &'"),
            ("a && echo \\& x", "a && echo \\& x"),
            ("cat <<E\na && b &\nE\n", "cat <<E\na && b &\nE\n"),
            ("a && b & 'open", "a && b & 'open"),
            ("# a && b &", "# a && b &"),
        ];
        for (command, wanted) in table {
            assert_eq!(rewritten(command), wanted);
        }
    }

    proptest! {
        #[test]
        fn nothing_but_brackets_is_added(command in "[abd&|;(){}'\"\\\\ \n<#>]{0,40}") {
            let after = rewritten(&command);
            let mut wanted = command.chars().peekable();
            for character in after.chars() {
                if wanted.peek() == Some(&character) {
                    wanted.next();
                } else {
                    prop_assert!(matches!(character, '{' | '}' | ';' | ' '), "{:?} became {:?}", command, after);
                }
            }
            prop_assert_eq!(wanted.next(), None);
        }
    }
}
