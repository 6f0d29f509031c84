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
pub(crate) struct Unreadable;

pub(crate) fn options() -> ParserOptions {
    // Tildes are expanded by us: the grammar reads the digits of `~99…` into a number that may not hold them.
    ParserOptions { tilde_expansion_at_word_start: false, ..ParserOptions::default() }
}

pub(crate) fn read(text: &str) -> Result<Program, Unreadable> {
    let options = options();
    let nested = substitutions(text);
    if nested > MOST_SUBSTITUTIONS || has_document_in_expansion(text) {
        return Err(Unreadable);
    }
    // The tokenizer expects a closing character after a here-document where the text may have ended.
    let padding = if text.contains("<<") { "\n".repeat(nested + 1) } else { String::new() };
    let tokens =
        uncached_tokenize_str(&format!("{text}{padding}"), &options.tokenizer_options()).map_err(|_| Unreadable)?;
    if is_too_deep(&tokens) || has_huge_descriptor(&tokens) {
        return Err(Unreadable);
    }
    parse_tokens(&tokens, &options).map_err(|_| Unreadable)
}

fn substitutions(text: &str) -> usize {
    let dollars = text.as_bytes().windows(2).filter(|pair| matches!(*pair, [b'$', b'(' | b'{' | b'['])).count();
    dollars + text.bytes().filter(|byte| *byte == b'`').count() / 2
}

/// `${x:-<<E}` is text to a shell and a here-document to the tokenizer, which would take the next lines for its body.
fn has_document_in_expansion(text: &str) -> bool {
    text.lines().any(|line| {
        let mut rest = line;
        while let Some((_, inside)) = rest.split_once("${") {
            let (name, after) = inside.split_once('}').unwrap_or((inside, ""));
            let is_simple = !name.contains(['\'', '"', '\\', '$', '<', '`']);
            if !is_simple && inside.replace("<<<", "").contains("<<") {
                return true;
            }
            rest = if is_simple { after } else { inside };
        }
        false
    })
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
