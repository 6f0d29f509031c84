//! What a person typed, understood once.
//!
//! Words (all of them), `"phrases"`, `OR`, `NOT`, `AND`, `beginning*`. Any text is a query: signs that mean nothing are
//! gaps, operators with nothing to join are dropped, and every term is quoted on its way to SQLite, so that no text can
//! become syntax. As in FTS5, words side by side belong together before `NOT`, `NOT` before `AND`, `AND` before `OR`.

use super::fold::{Kind, fold};
use memchr::memmem::Finder;
use std::fmt;

/// What follows is not read: nobody types it, and programs that do mean no search.
const LONGEST: usize = 2048;
const MOST_TERMS: usize = 64;
const OPERATORS: [&str; 3] = ["AND", "OR", "NOT"];

/// A search, parsed. The normal form is its `Display`.
///
/// ```
/// # use hermes_store::Query;
/// let query = Query::parse("deploy* AND chat-send NOT (java").expect("there is something to look for");
/// assert_eq!(query.to_string(), r#"deploy* AND "chat-send" NOT java"#);
/// assert!(query.finds("Deployed with chat-send yesterday"));
/// assert_eq!(query.snippet("Deployed with chat-send").as_deref(), Some(">>>Deployed<<< with >>>chat-send<<<"));
/// ```
#[derive(Debug, Clone)]
pub struct Query {
    /// One of these, each of which is all of its clauses.
    pub(super) any: Vec<Vec<Clause>>,
}

/// All of some terms, and none of the groups of others.
#[derive(Debug, Clone, Default)]
pub(super) struct Clause {
    pub(super) all: Vec<Term>,
    pub(super) except: Vec<Vec<Term>>,
}

/// A word, a phrase or the beginning of one.
#[derive(Debug, Clone)]
pub(super) struct Term {
    /// As it was typed, without control characters, quotes and gaps around it.
    typed: String,
    is_quoted: bool,
    pub(super) ending: Ending,
    /// The folded words of it, in order; never none.
    pub(super) words: Vec<String>,
    /// Looks for the first word.
    pub(super) first: Box<Finder<'static>>,
}

/// Whether the last word must end where the term does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Closed,
    /// `begin*`
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    And,
    Or,
    Not,
}

enum Lexeme {
    Term(Term),
    Operator(Operator),
}

impl Query {
    /// `None` when nothing is left to look for.
    pub fn parse(text: &str) -> Option<Self> {
        let mut lexemes = read(text);
        drop_dangling(&mut lexemes);
        let mut any = vec![vec![Clause::default()]];
        let mut pending = None;
        for lexeme in lexemes {
            let term = match lexeme {
                Lexeme::Operator(operator) => {
                    // Of several in a row the last one counts: `AND NOT` is `NOT`.
                    pending = Some(operator);
                    continue;
                }
                Lexeme::Term(term) => term,
            };
            let is_first = any.first().and_then(|all| all.first()).is_none_or(|clause| clause.all.is_empty());
            place(&mut any, term, pending.take().filter(|_| !is_first));
        }
        any.iter().flatten().any(|clause| !clause.all.is_empty()).then_some(Self { any })
    }

    /// The terms that must or may be there, in order.
    pub(super) fn wanted(&self) -> impl Iterator<Item = &Term> {
        self.any.iter().flatten().flat_map(|clause| &clause.all)
    }

    fn terms(&self) -> impl Iterator<Item = &Term> {
        self.any.iter().flatten().flat_map(|clause| clause.all.iter().chain(clause.except.iter().flatten()))
    }

    /// Whether some term is in a script without spaces, which the word index cannot find.
    pub(super) fn is_unspaced(&self) -> bool {
        self.terms().any(|term| term.words.iter().any(|word| word.chars().any(|found| Kind::of(found).is_unspaced())))
    }

    /// The shortest beginning of a word that is looked for, in characters.
    pub(super) fn shortest_beginning(&self) -> Option<usize> {
        let open = self.terms().filter(|term| term.ending == Ending::Open);
        open.filter_map(|term| term.words.last()).map(|word| word.chars().count()).min()
    }

    /// As an expression of FTS5.
    pub(super) fn to_fts5(&self) -> String {
        self.render(&|clause| {
            let all = |terms: &[Term]| terms.iter().map(Term::to_fts5).collect::<Vec<_>>().join(" AND ");
            clause
                .except
                .iter()
                .fold(format!("({})", all(&clause.all)), |left, right| format!("({left} NOT ({}))", all(right)))
        })
    }

    fn render(&self, clause: &dyn Fn(&Clause) -> String) -> String {
        let all = |clauses: &Vec<Clause>| clauses.iter().map(clause).collect::<Vec<_>>().join(" AND ");
        self.any.iter().map(all).collect::<Vec<_>>().join(" OR ")
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side_by_side = |terms: &[Term]| terms.iter().map(Term::to_string).collect::<Vec<_>>().join(" ");
        f.write_str(&self.render(&|clause| {
            clause
                .except
                .iter()
                .fold(side_by_side(&clause.all), |left, right| format!("{left} NOT {}", side_by_side(right)))
        }))
    }
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.is_quoted || self.words.len() > 1 { "\"" } else { "" };
        let end = if self.ending == Ending::Open { "*" } else { "" };
        write!(f, "{mark}{}{mark}{end}", self.typed)
    }
}

impl Term {
    fn of(typed: &str, is_quoted: bool, ending: Ending) -> Option<Self> {
        let spoken = |character: char| if character.is_control() || character == '"' { ' ' } else { character };
        let typed: String = typed.chars().map(spoken).collect();
        let words = split_words(&fold(&typed));
        let first = Box::new(Finder::new(words.first()?).into_owned());
        let typed = typed.trim_matches(|found| Kind::of(found) == Kind::Gap).to_owned();
        Some(Self { is_quoted: is_quoted || OPERATORS.contains(&typed.as_str()), typed, ending, words, first })
    }

    fn to_fts5(&self) -> String {
        let end = if self.ending == Ending::Open { " *" } else { "" };
        format!("\"{}\"{end}", self.typed)
    }

    /// A word that would be an operator in capitals.
    fn is_operator(&self) -> bool {
        self.ending == Ending::Closed && OPERATORS.iter().any(|word| self.typed.eq_ignore_ascii_case(word))
    }
}

fn split_words(folded: &str) -> Vec<String> {
    folded.split(|found| Kind::of(found) == Kind::Gap).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn read(text: &str) -> Vec<Lexeme> {
    let mut lexemes = Lexemes::default();
    let characters: Vec<char> = text.chars().take(LONGEST).collect();
    let mut rest = characters.as_slice();
    while let Some((next, after)) = rest.split_first() {
        rest = after;
        match *next {
            '"' => {
                lexemes.end_word(Ending::Closed);
                // A quote that nothing closes is a gap.
                if let Some(end) = rest.iter().position(|found| *found == '"') {
                    let (phrase, closed) = rest.split_at(end);
                    rest = closed.split_first().map_or(closed, |(_, after)| after);
                    let ending = if rest.first() == Some(&'*') { Ending::Open } else { Ending::Closed };
                    lexemes.push(Term::of(&phrase.iter().collect::<String>(), true, ending));
                }
            }
            '*' => lexemes.end_word(Ending::Open),
            '+' | '{' | '}' | '(' | ')' | ':' | '^' => lexemes.end_word(Ending::Closed),
            gap if gap.is_whitespace() || gap.is_control() => lexemes.end_word(Ending::Closed),
            letter => lexemes.word.push(letter),
        }
    }
    lexemes.end_word(Ending::Closed);
    lexemes.done
}

#[derive(Default)]
struct Lexemes {
    done: Vec<Lexeme>,
    terms: usize,
    word: String,
}

impl Lexemes {
    fn end_word(&mut self, ending: Ending) {
        let word = std::mem::take(&mut self.word);
        let operator = match (word.as_str(), ending) {
            ("AND", Ending::Closed) => Operator::And,
            ("OR", Ending::Closed) => Operator::Or,
            ("NOT", Ending::Closed) => Operator::Not,
            _ => return self.push(Term::of(&word, false, ending)),
        };
        self.done.push(Lexeme::Operator(operator));
    }

    fn push(&mut self, term: Option<Term>) {
        if let Some(term) = term
            && self.terms < MOST_TERMS
        {
            self.terms += 1;
            self.done.push(Lexeme::Term(term));
        }
    }
}

/// Operators at the ends join nothing; small ones there are a sentence that was not finished, unless they are all there is.
fn drop_dangling(lexemes: &mut Vec<Lexeme>) {
    let dangles = |lexeme: Option<&Lexeme>, is_alone: bool| match lexeme {
        Some(Lexeme::Operator(_)) => true,
        Some(Lexeme::Term(term)) => !is_alone && !term.is_quoted && term.is_operator(),
        None => false,
    };
    while dangles(lexemes.last(), lexemes.len() == 1) {
        lexemes.pop();
    }
    let first = (0..lexemes.len()).find(|at| !dangles(lexemes.get(*at), at + 1 == lexemes.len()));
    lexemes.drain(..first.unwrap_or_default());
}

/// Puts a term where its operator says; without one it joins what stands before it.
fn place(any: &mut Vec<Vec<Clause>>, term: Term, operator: Option<Operator>) {
    let Some(all) = any.last_mut() else { return };
    match (operator, all.last_mut()) {
        (Some(Operator::Or), _) => any.push(vec![Clause { all: vec![term], except: Vec::new() }]),
        (Some(Operator::And), _) | (None, None) => all.push(Clause { all: vec![term], except: Vec::new() }),
        (Some(Operator::Not), Some(clause)) => clause.except.push(vec![term]),
        (Some(Operator::Not), None) => {}
        (None, Some(clause)) => clause.except.last_mut().unwrap_or(&mut clause.all).push(term),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_people_type_becomes_what_they_mean() {
        let table = [
            ("hello AND", "hello"),
            ("hello and", "hello"),
            ("OR", ""),
            ("or", "or"),
            ("not", "not"),
            ("chat-send", "\"chat-send\""),
            ("foo:bar", "foo bar"),
            ("***", ""),
            ("P2.2 my-app.config.ts", "\"P2.2\" \"my-app.config.ts\""),
            ("NOT x", "x"),
            ("AND AND x OR", "x"),
            ("a AND OR b", "a OR b"),
            ("a AND NOT b", "a NOT b"),
            ("a NOT b c OR d", "a NOT b c OR d"),
            ("salt and pepper", "salt and pepper"),
            ("\"exact phrase\" x", "\"exact phrase\" x"),
            ("\"unclosed phrase", "unclosed phrase"),
            ("\"\" x", "x"),
            ("\"x AND\"", "\"x AND\""),
            ("deploy* *", "deploy*"),
            ("foo*bar", "foo* bar"),
            ("\"foo bar\"*", "\"foo bar\"*"),
            ("NEAR(a b, 5)", "NEAR a b 5"),
            ("content : {x} ^y + z", "content x y z"),
            ("-foo", "foo"),
            ("--- … 🚀", ""),
            ("a\0b\nc", "a b c"),
            ("don't", "\"don't\""),
            ("部署 数据库*", "部署 数据库*"),
        ];
        for (typed, normal) in table {
            let query = Query::parse(typed).map_or(String::new(), |query| query.to_string());
            assert_eq!(query, normal, "{typed}");
        }
    }

    #[test]
    fn every_term_is_quoted_for_sqlite() {
        let fts5 = |text: &str| Query::parse(text).expect("a query").to_fts5();
        assert_eq!(fts5("a b NOT c d NOT e"), r#"((("a" AND "b") NOT ("c" AND "d")) NOT ("e"))"#);
        assert_eq!(fts5("a OR b AND c*"), r#"("a") OR ("b") AND ("c" *)"#);
        assert_eq!(fts5("NEAR(x) col:y"), r#"("NEAR" AND "x" AND "col" AND "y")"#);
    }

    proptest! {
        #[test]
        fn the_normal_form_means_itself(text in r#"([a-c"*:(\-. ]|AND |OR |NOT |and |部|é){0,24}"#) {
            if let Some(query) = Query::parse(&text) {
                let again = Query::parse(&query.to_string()).map(|query| query.to_string());
                prop_assert_eq!(again, Some(query.to_string()));
            }
        }
    }
}
