//! Whether a text is what a query asks for, and where. This decides what a hit is; indexes only propose.
//!
//! A word begins and ends where letters of spaced scripts do. Where scripts have no spaces, or the manner is
//! [`Manner::Inside`], a match may begin and end anywhere. Signs that are part of a name stand where they were typed. The words of a phrase follow each other with gaps between them.

use super::fold::{Kind, fold};
use super::query::{Clause, Ending, Query, Term, is_tail};
use hermes_types::Manner;
use std::ops::Range;

/// Nobody needs to know whether a word is in a text more often.
const MOST_COUNTED: usize = 100;

impl Query {
    /// Whether a text matches, by whole words.
    pub fn finds(&self, text: &str) -> bool {
        self.tally(&fold(text), Manner::Words).is_some()
    }

    /// How often each wanted term is in a folded text; `None` when the text does not match.
    pub(super) fn tally(&self, folded: &str, manner: Manner) -> Option<Vec<usize>> {
        let mut counts = Vec::new();
        let mut matched = false;
        for clauses in &self.any {
            let mut all = true;
            for clause in clauses {
                all &= clause.tally(folded, manner, &mut counts);
            }
            matched |= all;
        }
        matched.then_some(counts)
    }

    /// Where the wanted terms are in a folded text: which term, and where.
    pub(super) fn places(&self, folded: &str, manner: Manner) -> Vec<(usize, Range<usize>)> {
        let of_term = |(number, term)| Places::of(term, folded, manner).map(move |place| (number, place));
        self.wanted().enumerate().flat_map(|term| of_term(term).take(MOST_COUNTED)).collect()
    }
}

impl Clause {
    fn tally(&self, folded: &str, manner: Manner, counts: &mut Vec<usize>) -> bool {
        let mut all = true;
        for term in &self.all {
            let count = Places::of(term, folded, manner).take(MOST_COUNTED).count();
            all &= count > 0;
            counts.push(count);
        }
        // What is excluded is excluded as a word: `NOT test` does not mean `latest`.
        let has = |term: &Term| Places::of(term, folded, Manner::Words).next().is_some();
        all && !self.except.iter().any(|group| group.iter().all(has))
    }
}

/// The places of a term in a folded text, from left to right, not overlapping.
struct Places<'a> {
    term: &'a Term,
    folded: &'a str,
    manner: Manner,
    from: usize,
}

impl<'a> Places<'a> {
    fn of(term: &'a Term, folded: &'a str, manner: Manner) -> Self {
        Self { term, folded, manner, from: 0 }
    }

    /// Where the term ends, if it really begins at `start`.
    fn end_of(&self, start: usize) -> Option<usize> {
        let (before, mut rest) = self.folded.split_at_checked(start)?;
        let may_begin = self.manner == Manner::Inside || !is_one_word(before, rest);
        if !may_begin {
            return None;
        }
        let mut words = self.term.words.iter();
        if !before.ends_with(self.term.lead) {
            return None;
        }
        rest = rest.strip_prefix(words.next()?.as_str())?;
        for word in words {
            let next = rest.trim_start_matches(|found| Kind::of(found) == Kind::Gap);
            if next.len() == rest.len() {
                return None;
            }
            rest = next.strip_prefix(word.as_str())?;
        }
        if !self.term.tail.is_empty() {
            let after = rest.strip_prefix(self.term.tail.as_str()).filter(|after| !after.starts_with(is_tail))?;
            return Some(self.folded.len() - after.len());
        }
        let end = self.folded.len() - rest.len();
        if self.manner == Manner::Inside || !is_one_word(self.folded.get(..end)?, rest) {
            return Some(end);
        }
        // What has an open end ends with its word.
        let tail = rest.find(|found| Kind::of(found) != Kind::Spaced).unwrap_or(rest.len());
        (self.term.ending == Ending::Open).then_some(end + tail)
    }
}

/// Whether a word goes on from one side to the other.
fn is_one_word(before: &str, after: &str) -> bool {
    let is_spaced = |found: Option<char>| found.is_some_and(|found| Kind::of(found) == Kind::Spaced);
    is_spaced(before.chars().next_back()) && is_spaced(after.chars().next())
}

impl Iterator for Places<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        loop {
            let start = self.from + self.term.first.find(self.folded.as_bytes().get(self.from..)?)?;
            if let Some(end) = self.end_of(start) {
                self.from = end;
                return Some(start - self.term.lead.len()..end);
            }
            let skipped = self.folded.get(start..)?.chars().next()?;
            self.from = start + skipped.len_utf8();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(query: &str, text: &str, manner: Manner) -> bool {
        Query::parse(query).expect("a query").tally(&fold(text), manner).is_some()
    }

    #[test]
    fn words_are_whole_and_parts_are_anywhere() {
        let table = [
            ("config", "myconfigfile", false, true),
            ("config", "my_Config-file", true, true),
            ("conf*", "reconfigure, configure", true, true),
            ("conf*", "reconfigure", false, true),
            ("resume", "your Résumé", true, true),
            ("chat-send", "chat  (send)", true, true),
            ("chat-send", "chatsend", false, false),
            ("\"a b\"*", "a bcd", true, true),
            ("test NOT test1", "test test1", false, false),
            ("onfi NOT est", "myconfigfile latest", false, true),
            ("a b NOT c d", "a b c", true, true),
            ("a b NOT c d", "a b c d", false, false),
            ("a OR b c", "c b", true, true),
            ("a OR b c", "c", false, false),
            ("กรุงเทพ", "ฉันเดินทางไปกรุงเทพเมื่อวาน", true, true),
            ("docker 部署", "用Docker部署完成", true, true),
            ("docker部署", "用docker部署完成", true, true),
            ("ocker 部署", "用docker部署完成", false, true),
            ("a部a", "xa部a部a", true, true),
            ("C++", "modern c++.", true, true),
            ("C++", "c+ and c", false, false),
            ("C+", "C++", false, false),
            ("C#", "c sharp is C#, not C", true, true),
            ("C", "C++ counts too", true, true),
            ("x NOT C#", "x c", true, true),
            ("x NOT C#", "x c#", false, false),
            (".NET", "the net of asp.net", true, true),
            (".NET", "the net", false, false),
            ("🚀", "go🚀now", true, true),
            ("❤️", "a ❤ b", true, true),
            ("🚀 go", "go", false, false),
        ];
        for (query, text, words, inside) in table {
            let found = (finds(query, text, Manner::Words), finds(query, text, Manner::Inside));
            assert_eq!(found, (words, inside), "{query} in {text}");
        }
    }
}
