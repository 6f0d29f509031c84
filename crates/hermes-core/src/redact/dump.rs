//! Whether a command prints variables with their names. Answered from its words alone: what is wrongly taken for a dump
//! costs a few covered values, and nothing else.

/// Programs and builtins that print variables, and what may stand behind them when they do.
const DUMPS: &[(&str, Behind)] = &[
    ("printenv", Behind::Anything),
    ("env", Behind::OptionsAndValues),
    ("set", Behind::Nothing),
    ("export", Behind::OptionsOrPrint),
    ("declare", Behind::OptionsOrPrint),
    ("typeset", Behind::OptionsOrPrint),
    ("readonly", Behind::OptionsOrPrint),
];

#[derive(Debug, Clone, Copy)]
enum Behind {
    Anything,
    Nothing,
    /// Anything else is a command that runs with these variables.
    OptionsAndValues,
    /// Options alone, or names behind `-p`.
    OptionsOrPrint,
}

pub(super) fn prints_variables(command: &str) -> bool {
    command.split([';', '|', '&', '\n', '(', ')', '{', '}', '`']).any(|part| {
        let words =
            || part.split_whitespace().map(|word| word.trim_matches(['"', '\''])).filter(|word| !word.is_empty());
        words().any(is_file_of_variables)
            || words().enumerate().any(|(at, word)| {
                let dump = DUMPS.iter().find(|(name, _)| word.rsplit('/').next() == Some(name));
                dump.is_some_and(|(_, behind)| behind.allows(words().skip(at + 1)))
            })
    })
}

impl Behind {
    fn allows<'a>(self, words: impl Iterator<Item = &'a str>) -> bool {
        let is_option = |word: &str| word.starts_with(['-', '+']);
        let mut words = words.take_while(|word| !word.contains(['<', '>'])).peekable();
        match self {
            Self::Anything => true,
            Self::Nothing => words.next().is_none(),
            Self::OptionsAndValues => words.all(|word| is_option(word) || word.contains('=')),
            Self::OptionsOrPrint => {
                words.peek().is_some_and(|word| is_option(word) && word.contains('p')) || words.all(is_option)
            }
        }
    }
}

fn is_file_of_variables(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or_default();
    matches!(name, "environ" | ".envrc") || name.starts_with(".env.") || name.ends_with(".env")
}
