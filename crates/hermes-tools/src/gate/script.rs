//! Reading a script with the grammar of bash, without letting the text harm the reader.
//!
//! The grammar is recursive and tries alternatives, so nesting is counted before it is entered: depth costs stack, and
//! unfinished parentheses cost time that doubles with each. What is too deep is unreadable, which means: ask.

use brush_parser::ast::Program;
use brush_parser::{ParserOptions, Token, parse_tokens, uncached_tokenize_str};

const MOST_SUBSTITUTIONS: usize = 200;
const MOST_PARENTHESES: usize = 12;
const MOST_BLOCKS: usize = 80;
const OPENING_WORDS: [&str; 9] = ["{", "if", "elif", "while", "until", "for", "case", "select", "function"];

/// Text that no shell would run, or that is nested too deeply to be followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

pub(super) fn options() -> ParserOptions {
    // Tildes are expanded by us: the grammar reads the digits of `~99…` into a number that may not hold them.
    ParserOptions { tilde_expansion_at_word_start: false, ..ParserOptions::default() }
}

pub(super) fn read(text: &str) -> Result<Program, Unreadable> {
    let options = options();
    if substitutions(text) > MOST_SUBSTITUTIONS {
        return Err(Unreadable);
    }
    let tokens = uncached_tokenize_str(text, &options.tokenizer_options()).map_err(|_| Unreadable)?;
    if is_too_deep(&tokens) || has_huge_descriptor(&tokens) {
        return Err(Unreadable);
    }
    parse_tokens(&tokens, &options).map_err(|_| Unreadable)
}

fn substitutions(text: &str) -> usize {
    let dollars = text.as_bytes().windows(2).filter(|pair| matches!(*pair, [b'$', b'(' | b'{' | b'['])).count();
    dollars + text.bytes().filter(|byte| *byte == b'`').count() / 2
}

/// A pattern of `case` ends in a parenthesis that nothing opened; `;;` pays for it.
fn is_too_deep(tokens: &[Token]) -> bool {
    let (mut open, mut deepest, mut blocks) = (0_usize, 0_usize, 0_usize);
    for token in tokens {
        match token {
            Token::Operator(text, _) => match text.as_str() {
                "(" | ";;" | ";&" | ";;&" => open += 1,
                ")" => open = open.saturating_sub(1),
                _ => {}
            },
            Token::Word(text, _) if OPENING_WORDS.contains(&text.as_str()) => blocks += 1,
            Token::Word(..) => {}
        }
        deepest = deepest.max(open);
    }
    deepest > MOST_PARENTHESES || blocks > MOST_BLOCKS
}

/// `99999999999>file`: the grammar reads descriptors into 32 bits and does not expect more.
fn has_huge_descriptor(tokens: &[Token]) -> bool {
    tokens.windows(2).any(|pair| match pair {
        [Token::Word(number, _), Token::Operator(operator, _)] => {
            number.len() > 9
                && number.bytes().all(|byte| byte.is_ascii_digit())
                && operator.starts_with(['<', '>', '&'])
        }
        _ => false,
    })
}
