//! Expansion of words: quotes, escapes, tildes, braces, variables and substitutions, without running anything.
//!
//! Commands inside a substitution are judged where they stand; their output is used where it can be foreseen.

use super::pattern;
use super::script::{self, options};
use super::shell::Shell;
use super::word::{Fields, Origin, Word};
use brush_parser::word::{
    Parameter, ParameterExpr, SpecialParameter, WordPiece, WordPieceWithSource, parse, parse_heredoc,
};

/// Whether an expansion breaks at blanks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Splitting {
    AtBlanks,
    Never,
}

impl Shell<'_> {
    /// The arguments that a raw word becomes.
    pub(super) fn words(&mut self, raw: &str) -> Vec<Word> {
        if is_plain(raw) {
            return vec![Word::literal(raw)];
        }
        let mut words = Vec::new();
        for spelled in pattern::braces(raw) {
            let mut fields = Fields::default();
            self.pieces_of(&spelled, Splitting::AtBlanks, &mut fields);
            words.extend(fields.finish());
        }
        words
    }

    /// A raw word where the shell does not split: assignments, targets of redirects, here-strings.
    pub(super) fn word(&mut self, raw: &str) -> Word {
        if is_plain(raw) {
            return Word::literal(raw);
        }
        let mut fields = Fields::default();
        self.pieces_of(raw, Splitting::Never, &mut fields);
        super::word::joined(&fields.finish())
    }

    /// The body of a here-document whose tag was not quoted.
    pub(super) fn document(&mut self, raw: &str) -> Word {
        match parse_heredoc(raw, &options()) {
            Ok(pieces) => self.quoted(pieces),
            Err(_) => {
                self.unreadable(raw);
                Word::unknown(Origin::Local)
            }
        }
    }

    fn pieces_of(&mut self, raw: &str, splitting: Splitting, fields: &mut Fields) {
        let Ok(pieces) = parse(raw, &options()) else {
            self.unreadable(raw);
            return fields.keep(&Word::unknown(Origin::Local));
        };
        for (at, piece) in pieces.into_iter().enumerate() {
            match piece.piece {
                WordPiece::Text(text) if at == 0 && text.starts_with('~') => {
                    let text = self.without_tilde(&text);
                    fields.keep(&text);
                }
                piece => self.piece(piece, splitting, fields),
            }
        }
    }

    /// `~` is whatever HOME says, also when the script says it.
    pub(super) fn without_tilde(&self, text: &str) -> Word {
        let own = self.scope.variables.get("HOME").filter(|_| text == "~" || text.starts_with("~/"));
        match own {
            Some(home) => {
                let rest = text.strip_prefix('~').unwrap_or_default();
                Word { text: format!("{}{rest}", home.text), origin: home.origin }
            }
            None => Word::literal(self.place.without_tilde(text, self.scope.cwd.as_deref())),
        }
    }

    fn piece(&mut self, piece: WordPiece, splitting: Splitting, fields: &mut Fields) {
        match piece {
            WordPiece::Text(text) | WordPiece::SingleQuotedText(text) => fields.keep(&Word::literal(text)),
            WordPiece::AnsiCQuotedText(text) => fields.keep(&Word::literal(pattern::unescaped(&text))),
            WordPiece::DoubleQuotedSequence(pieces) | WordPiece::GettextDoubleQuotedSequence(pieces) => {
                fields.keep(&Word::default());
                for piece in pieces {
                    match self.several(&piece.piece) {
                        Some(values) => fields.keep_apart(&values),
                        None => self.piece(piece.piece, Splitting::Never, fields),
                    }
                }
            }
            WordPiece::EscapeSequence(text) => {
                let escaped = text.strip_prefix('\\').unwrap_or(&text);
                fields.keep(&Word::literal(if escaped == "\n" { "" } else { escaped }));
            }
            WordPiece::TildeExpansion(_) => fields.keep(&Word::unknown(Origin::Local)),
            WordPiece::ParameterExpansion(expression) => {
                let value = self.parameter(&expression);
                self.spread(&value, splitting, fields);
            }
            WordPiece::CommandSubstitution(code) | WordPiece::BackquotedCommandSubstitution(code) => {
                let output = self.output_of(&code);
                self.spread(&output, splitting, fields);
            }
            WordPiece::ArithmeticExpression(expression) => {
                let value = self.arithmetic(&expression.value);
                fields.keep(&value);
            }
        }
    }

    fn quoted(&mut self, pieces: Vec<WordPieceWithSource>) -> Word {
        let mut fields = Fields::default();
        fields.keep(&Word::default());
        for piece in pieces {
            self.piece(piece.piece, Splitting::Never, &mut fields);
        }
        super::word::joined(&fields.finish())
    }

    fn spread(&self, value: &Word, splitting: Splitting, fields: &mut Fields) {
        match splitting {
            Splitting::AtBlanks => {
                let separators: Vec<char> = self.variable("IFS").text.chars().collect();
                fields.split(value, &separators);
            }
            Splitting::Never => fields.keep(value),
        }
    }

    /// `"$@"` and `"${a[@]}"`: quoted, and still several words.
    fn several(&self, piece: &WordPiece) -> Option<Vec<Word>> {
        let WordPiece::ParameterExpansion(ParameterExpr::Parameter { parameter, indirect: false }) = piece else {
            return None;
        };
        match parameter {
            Parameter::Special(SpecialParameter::AllPositionalParameters { concatenate: false }) => {
                self.scope.arguments.clone()
            }
            Parameter::NamedWithAllIndices { name, concatenate: false } => {
                let element = |at: usize| self.scope.variables.get(&format!("{name}[{at}]")).cloned();
                Some((0..).map_while(element).collect::<Vec<_>>()).filter(|elements| !elements.is_empty())
            }
            _ => None,
        }
    }

    /// What a substitution prints. Its commands are judged on the way.
    fn output_of(&mut self, code: &str) -> Word {
        let scope = self.scope.clone();
        let mut output = self.source(code);
        self.scope = scope;
        output.text.truncate(output.text.trim_end_matches('\n').len());
        output
    }

    /// Sums of literal numbers; everything else is unknown. Substitutions inside are judged.
    ///
    /// `$((rm -rf /); ls)` looks like a sum and is a subshell, so what begins like a command is judged as one too.
    pub(super) fn arithmetic(&mut self, expression: &str) -> Word {
        let start = expression.trim_start_matches(['(', ' ']);
        let first = start.split([' ', '\t', ')']).next().unwrap_or_default();
        let like_a_command = !first.is_empty() && first.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'/');
        if like_a_command && start.contains(' ') && script::read(expression).is_ok() {
            self.source(expression);
        }
        let expanded = self.word(expression);
        let text: String = expanded.text.chars().filter(|found| !found.is_whitespace()).collect();
        let sum = sum(&text);
        if sum.is_none() {
            self.notes.stirs();
        }
        sum.map_or_else(|| Word::unknown(expanded.origin), |value| Word::literal(value.to_string()))
    }
}

fn is_plain(raw: &str) -> bool {
    !raw.is_empty() && raw.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:=@%+,-".contains(&byte))
}

fn sum(text: &str) -> Option<i64> {
    let mut total = 0_i64;
    let mut rest = text;
    let mut sign = 1;
    loop {
        let digits = rest.len() - rest.trim_start_matches(|found: char| found.is_ascii_digit()).len();
        let (number, tail) = rest.split_at(digits);
        total = total.checked_add(number.parse::<i64>().ok()?.checked_mul(sign)?)?;
        (sign, rest) = match tail.strip_prefix('+') {
            Some(tail) => (1, tail),
            None => match tail.strip_prefix('-') {
                Some(tail) => (-1, tail),
                None if tail.is_empty() => return Some(total),
                None => return None,
            },
        };
    }
}
