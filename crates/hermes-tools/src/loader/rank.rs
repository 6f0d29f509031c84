//! Which texts a query is about: BM25 over words, with weights for where a word stands. Pure, and the same for every
//! order of the texts.

use std::collections::{BTreeMap, BTreeSet};

/// How soon more of the same word stops to count.
const SATURATION: f64 = 1.2;
/// How much longer texts are held against themselves.
const LENGTH: f64 = 0.75;
/// A name says more about a tool than its description, its parameters a little more.
const OF_NAME: f64 = 3.0;
const OF_PARAMETER: f64 = 1.5;

/// A text to be found, by where its words stand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Document {
    words: BTreeMap<String, f64>,
    length: f64,
}

impl Document {
    pub(crate) fn new<'a>(name: &str, description: &str, parameters: impl IntoIterator<Item = &'a str>) -> Self {
        let mut document = Self::default();
        document.add(name, OF_NAME);
        document.add(description, 1.0);
        parameters.into_iter().for_each(|parameter| document.add(parameter, OF_PARAMETER));
        document
    }

    fn add(&mut self, text: &str, weight: f64) {
        for word in words(text) {
            *self.words.entry(word).or_default() += weight;
            self.length += weight;
        }
    }
}

/// The places of the documents that have a word of the query, the best first; among equals, in their order.
pub(crate) fn ranked(query: &str, documents: &[Document]) -> Vec<usize> {
    let asked: BTreeSet<String> = words(query).collect();
    let count = documents.len() as f64;
    let usual = (documents.iter().map(|document| document.length).sum::<f64>() / count.max(1.0)).max(1.0);
    let mut scores = vec![0.0; documents.len()];
    for word in &asked {
        let holding = documents.iter().filter(|document| document.words.contains_key(word)).count() as f64;
        let rarity = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
        for (score, document) in scores.iter_mut().zip(documents) {
            let Some(often) = document.words.get(word) else { continue };
            let held = SATURATION * (1.0 - LENGTH + LENGTH * document.length / usual);
            *score += rarity * often * (SATURATION + 1.0) / (often + held);
        }
    }
    let mut found: Vec<(usize, f64)> = scores.into_iter().enumerate().filter(|(_, score)| *score > 0.0).collect();
    found.sort_by(|(here, a), (there, b)| b.total_cmp(a).then(here.cmp(there)));
    found.into_iter().map(|(place, _)| place).collect()
}

/// `createIssues`, `create_issues` and `Create issues.` have the same words; a plural is its singular.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut before = ' ';
    for letter in text.chars() {
        let begins = letter.is_uppercase() && (before.is_lowercase() || before.is_numeric());
        if (begins || !letter.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).map(singular)
}

fn singular(word: String) -> String {
    let stem = match () {
        () if word.len() < 4 || word.ends_with("ss") || word.ends_with("us") => None,
        () => {
            word.strip_suffix("ies").map(|stem| format!("{stem}y")).or_else(|| Some(word.strip_suffix('s')?.to_owned()))
        }
    };
    stem.unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn documents(texts: &[(&str, &str)]) -> Vec<Document> {
        texts.iter().map(|(name, description)| Document::new(name, description, [])).collect()
    }

    #[test]
    fn words_are_the_same_however_they_are_written() {
        for text in ["createIssues", "create_issues", "Create issues.", "create-ISSUES", "create.issue"] {
            assert_eq!(words(text).collect::<Vec<_>>(), ["create", "issue"], "{text}");
        }
        let table =
            [("queries", "query"), ("status", "status"), ("class", "class"), ("is", "is"), ("größen", "größen")];
        for (text, expected) in table {
            assert_eq!(words(text).collect::<Vec<_>>(), [expected]);
        }
        assert_eq!(words(" .,_ ").count(), 0);
    }

    #[test]
    fn the_rarer_word_and_the_name_count_more() {
        let found = documents(&[
            ("github_create_issue", "Creates an issue in a repository"),
            ("github_list_issues", "Lists the issues of a repository"),
            ("github_merge", "Merges a pull request of a repository"),
            ("clock_now", "The time in a zone"),
        ]);
        let table: [(&str, &[usize]); 4] =
            [("create issue", &[0, 1]), ("time", &[3]), ("merge a pull request", &[2, 0, 1, 3]), ("rocket", &[])];
        for (query, expected) in table {
            assert_eq!(ranked(query, &found), expected, "{query}");
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop::collection::vec(prop::sample::select(vec!["issue", "file", "Merge", "täglich", "a", "x1", "_"]), 0..8)
            .prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]
        #[test]
        fn whatever_is_found_has_a_word_of_the_query_and_nothing_else_matters(
            texts in prop::collection::vec((text(), text()), 0..12),
            query in text(),
        ) {
            let all: Vec<Document> = texts.iter().map(|(name, told)| Document::new(name, told, [])).collect();
            let found = ranked(&query, &all);
            let asked: BTreeSet<String> = words(&query).collect();
            for (place, (name, told)) in texts.iter().enumerate() {
                let has_one = words(name).chain(words(told)).any(|word| asked.contains(&word));
                prop_assert_eq!(found.contains(&place), has_one, "{} in {} {}", query, name, told);
            }
            let distinct: BTreeSet<&usize> = found.iter().collect();
            prop_assert_eq!(distinct.len(), found.len());
        }

        #[test]
        fn words_and_texts_that_have_nothing_to_do_with_each_other_change_nothing(
            texts in prop::collection::vec((text(), text()), 0..10),
            query in text(),
        ) {
            let mut all: Vec<Document> = texts.iter().map(|(name, told)| Document::new(name, told, [])).collect();
            let found = ranked(&query, &all);
            prop_assert_eq!(&ranked(&format!("{query} zebra"), &all), &found);
            all.push(Document::new("zebra", "stripes", []));
            let again: BTreeSet<usize> = ranked(&query, &all).into_iter().collect();
            prop_assert_eq!(again, found.into_iter().collect::<BTreeSet<usize>>());
        }

        #[test]
        fn who_asks_for_a_name_alone_in_its_words_finds_it_first(texts in prop::collection::vec((text(), text()), 0..10)) {
            let mut all: Vec<Document> = texts.iter().map(|(name, told)| Document::new(name, told, [])).collect();
            all.push(Document::new("zebra_stripes", "counts", []));
            prop_assert_eq!(ranked("zebra_stripes", &all), vec![all.len() - 1]);
        }
    }
}
