//! What a person typed, understood once.
//!
//! Words (all of them), `"phrases"`, `OR`, `NOT`, `AND`, `beginning*`. Signs that mean nothing are gaps; those that are
//! part of a name (`C++`, `C#`, `.NET`) and emoji are looked for as they are. Operators with nothing to join are dropped,
//! but a query that only says what shall not be there is none ([`NoQuery`]). Every term is quoted on its way to SQLite, so that no
//! text can become syntax. As in FTS5, words side by side belong together before `NOT`, `NOT` before `AND`, `AND` before `OR`.

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
    /// As it was typed, without control characters and quotes. What is a gap to us may be a letter to SQLite.
    typed: String,
    is_quoted: bool,
    pub(super) ending: Ending,
    /// The folded words of it, in order; never none. An emoji is a word of its own kind.
    pub(super) words: Vec<String>,
    /// The signs that must stand directly before the first word and after the last.
    pub(super) lead: &'static str,
    pub(super) tail: String,
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

/// Why a text is no query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoQuery {
    #[error("there is nothing to look for")]
    Empty,
    #[error("this only says what shall not be there; name something that shall, as in `deploy NOT docker`")]
    OnlyNegative,
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
    pub fn parse(text: &str) -> Result<Self, NoQuery> {
        let mut lexemes = read(text);
        drop_dangling(&mut lexemes);
        let mut any: Vec<Vec<Clause>> = Vec::new();
        let (mut joint, mut negated) = (None, false);
        for lexeme in lexemes {
            match lexeme {
                Lexeme::Operator(Operator::Not) => negated = true,
                // Of several in a row the last one counts.
                Lexeme::Operator(operator) => (joint, negated) = (Some(operator), false),
                Lexeme::Term(term) => place(&mut any, term, joint.take(), std::mem::take(&mut negated)),
            }
        }
        if any.is_empty() {
            return Err(NoQuery::Empty);
        }
        let any: Option<_> = any.into_iter().map(with_something_wanted).collect();
        any.map(|any| Self { any }).ok_or(NoQuery::OnlyNegative)
    }

    /// Whether every alternative wants something that indexes know.
    pub(super) fn is_worded(&self) -> bool {
        self.any.iter().all(|clauses| clauses.iter().flat_map(|clause| &clause.all).any(Term::is_worded))
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
            // What SQLite takes for a gap would find nothing there, and what must stand beside a word it cannot exclude.
            let words = |terms: &[Term]| {
                let words = terms.iter().filter(|term| term.is_worded());
                words.map(Term::to_fts5).collect::<Vec<_>>().join(" AND ")
            };
            let is_plain = |terms: &&Vec<Term>| terms.iter().all(|term| term.is_worded() && !term.has_signs());
            let wanted = words(&clause.all);
            if wanted.is_empty() {
                return wanted;
            }
            let except = clause.except.iter().filter(is_plain);
            except.fold(format!("({wanted})"), |left, right| format!("({left} NOT ({}))", words(right)))
        })
    }

    fn render(&self, clause: &dyn Fn(&Clause) -> String) -> String {
        let all = |clauses: &Vec<Clause>| {
            clauses.iter().map(clause).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" AND ")
        };
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
        let inside = if self.is_worded() { without_gaps(&self.typed) } else { self.typed.trim() };
        write!(f, "{mark}{}{inside}{}{mark}{end}", self.lead, self.tail)
    }
}

impl Term {
    fn of(typed: &str, is_quoted: bool, ending: Ending) -> Option<Self> {
        let spoken = |character: char| if character.is_control() || character == '"' { ' ' } else { character };
        let typed: String = typed.chars().map(spoken).collect();
        let folded = fold(&typed);
        let (mut words, mut lead, mut tail) = (split_words(&folded), "", String::new());
        if words.is_empty() {
            words.extend(signs_of(&folded));
        } else {
            (lead, tail) = (lead_of(&folded), tail_of(&folded).to_owned());
        }
        let first = Box::new(Finder::new(words.first()?).into_owned());
        let is_quoted = is_quoted || OPERATORS.contains(&without_gaps(&typed));
        Some(Self { typed, is_quoted, ending, words, lead, tail, first })
    }

    fn to_fts5(&self) -> String {
        let end = if self.ending == Ending::Open { " *" } else { "" };
        format!("\"{}\"{end}", self.typed)
    }

    /// Whether it has letters, which is what indexes know.
    fn is_worded(&self) -> bool {
        self.words.iter().flat_map(|word| word.chars()).any(|found| Kind::of(found) != Kind::Gap)
    }

    fn has_signs(&self) -> bool {
        !self.lead.is_empty() || !self.tail.is_empty()
    }

    /// A word that would be an operator in capitals.
    fn is_operator(&self) -> bool {
        self.ending == Ending::Closed
            && OPERATORS.iter().any(|word| without_gaps(&self.typed).eq_ignore_ascii_case(word))
    }
}

fn without_gaps(text: &str) -> &str {
    text.trim_matches(|found| Kind::of(found) == Kind::Gap)
}

/// A dot at the beginning of a name: `.NET`, `.env`.
fn lead_of(folded: &str) -> &'static str {
    let after = folded.trim_start().strip_prefix('.').and_then(|rest| rest.chars().next());
    if after.is_some_and(|after| Kind::of(after) != Kind::Gap) { "." } else { "" }
}

/// The signs at the end of a name: `C++`, `C#`.
fn tail_of(folded: &str) -> &str {
    let text = folded.trim_end();
    let name = text.trim_end_matches(is_tail);
    let is_name = name.chars().next_back().is_some_and(|last| Kind::of(last) != Kind::Gap);
    text.get(name.len()..).filter(|_| is_name).unwrap_or_default()
}

pub(super) fn is_tail(found: char) -> bool {
    matches!(found, '+' | '#')
}

/// Emoji and symbols, which are looked for as they are; `None` when there is nothing but punctuation. How an emoji is to
/// be drawn does not count at its end.
fn signs_of(folded: &str) -> Option<String> {
    let is_sign = |found: char| matches!(u32::from(found), 0x20A0..=0x20CF | 0x2190..=0x2BFF | 0x1F000..=0x1FAFF);
    let signs = folded.trim().trim_end_matches('\u{FE0F}');
    signs.chars().any(is_sign).then(|| signs.to_owned())
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
            '+' if lexemes.is_named() && ends_a_name(rest) => lexemes.word.push('+'),
            '+' | '{' | '}' | '(' | ')' | ':' | '^' => lexemes.end_word(Ending::Closed),
            gap if gap.is_whitespace() || gap.is_control() => lexemes.end_word(Ending::Closed),
            letter => lexemes.word.push(letter),
        }
    }
    lexemes.end_word(Ending::Closed);
    lexemes.done
}

/// Whether nothing but such signs follows before a gap.
fn ends_a_name(rest: &[char]) -> bool {
    let next = rest.iter().find(|found| !is_tail(**found));
    next.is_none_or(|next| Kind::of(*next) == Kind::Gap)
}

#[derive(Default)]
struct Lexemes {
    done: Vec<Lexeme>,
    terms: usize,
    word: String,
}

impl Lexemes {
    /// Whether a word with letters goes before.
    fn is_named(&self) -> bool {
        self.word.trim_end_matches(is_tail).chars().next_back().is_some_and(|last| Kind::of(last) != Kind::Gap)
    }

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
    let is_not = |at: usize| {
        matches!((lexemes.get(at), lexemes.get(at + 1)), (Some(Lexeme::Operator(Operator::Not)), Some(Lexeme::Term(_))))
    };
    let first = (0..lexemes.len()).find(|at| is_not(*at) || !dangles(lexemes.get(*at), at + 1 == lexemes.len()));
    lexemes.drain(..first.unwrap_or_default());
}

/// Puts a term where its operators say; without one it joins what stands before it.
fn place(any: &mut Vec<Vec<Clause>>, term: Term, joint: Option<Operator>, negated: bool) {
    let alone = |term| match negated {
        true => Clause { all: Vec::new(), except: vec![vec![term]] },
        false => Clause { all: vec![term], except: Vec::new() },
    };
    let Some(all) = any.last_mut().filter(|_| joint != Some(Operator::Or)) else {
        return any.push(vec![alone(term)]);
    };
    match (joint, all.last_mut()) {
        (_, Some(clause)) if negated => clause.except.push(vec![term]),
        (None, Some(clause)) => clause.except.last_mut().unwrap_or(&mut clause.all).push(term),
        _ => all.push(alone(term)),
    }
}

/// An alternative in which every clause wants something: `NOT a AND b` is `b NOT a`. `None` when nothing is wanted.
fn with_something_wanted(clauses: Vec<Clause>) -> Option<Vec<Clause>> {
    let (mut wanting, others): (Vec<Clause>, Vec<Clause>) =
        clauses.into_iter().partition(|clause| !clause.all.is_empty());
    let is_turned = !others.is_empty();
    wanting.first_mut()?.except.extend(others.into_iter().flat_map(|clause| clause.except));
    // A small `or` may stand at an end now, where it would be taken for an unfinished sentence.
    let terms = wanting.iter_mut().flat_map(|clause| clause.all.iter_mut().chain(clause.except.iter_mut().flatten()));
    terms.filter(|term| is_turned && term.is_operator()).for_each(|term| term.is_quoted = true);
    Some(wanting)
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
            // The Python program looks for x here; the opposite of what was typed is not an answer.
            ("NOT x", "only negative"),
            ("NOT x y", "only negative"),
            ("a OR NOT b", "only negative"),
            ("NOT a AND b", "b NOT a"),
            ("NOT AND b", "b"),
            ("C++ c# .NET", "C++ c# .NET"),
            ("C++/C# a+b C++17 + #5", "\"C++/C#\" a b C 17 5"),
            ("\"modern C++\" f(C++)", "\"modern C++\" f C++"),
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
            ("--- … 🚀", "🚀"),
            ("--- … ***", ""),
            ("a\0b\nc", "a b c"),
            ("don't", "\"don't\""),
            ("部署 数据库*", "部署 数据库*"),
        ];
        for (typed, normal) in table {
            let query = match Query::parse(typed) {
                Ok(query) => query.to_string(),
                Err(NoQuery::Empty) => String::new(),
                Err(NoQuery::OnlyNegative) => "only negative".into(),
            };
            assert_eq!(query, normal, "{typed}");
        }
    }

    #[test]
    fn every_term_is_quoted_for_sqlite() {
        let fts5 = |text: &str| Query::parse(text).expect("a query").to_fts5();
        assert_eq!(fts5("a b NOT c d NOT e"), r#"((("a" AND "b") NOT ("c" AND "d")) NOT ("e"))"#);
        assert_eq!(fts5("a OR b AND c*"), r#"("a") OR ("b") AND ("c" *)"#);
        assert_eq!(fts5("a 🚀 NOT C# NOT c"), r#"(("a") NOT ("c"))"#);
        assert_eq!(fts5("NEAR(x) col:y"), r#"("NEAR" AND "x" AND "col" AND "y")"#);
    }

    #[test]
    fn the_longest_queries_are_not_too_long_for_sqlite() {
        let connection = rusqlite::Connection::open_in_memory().expect("a database");
        connection.execute_batch("CREATE VIRTUAL TABLE t USING fts5(x)").expect("a table");
        for joint in [" ", " AND ", " OR ", " NOT ", "* ", "-"] {
            let query = Query::parse(&vec!["a1"; 500].join(joint)).expect("a query");
            let found =
                connection.query_row("SELECT count(*) FROM t WHERE t MATCH ?1", [query.to_fts5()], |row| row.get(0));
            assert_eq!(found, Ok(0), "{joint}");
        }
    }

    proptest! {
        #[test]
        fn the_normal_form_means_itself(text in r#"([a-c"*:(\-.+# ]|🚀|AND |OR |NOT |and |部|é){0,24}"#) {
            if let Ok(query) = Query::parse(&text) {
                let again = Query::parse(&query.to_string()).map(|query| query.to_string());
                prop_assert_eq!(again, Ok(query.to_string()));
            }
        }
    }
}
