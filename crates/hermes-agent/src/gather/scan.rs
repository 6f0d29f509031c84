//! Files that become part of the instructions are looked through for text that wants to steer the agent. What is found is
//! a reason to doubt and no proof, so that by default only the paragraph it stands in is left out.

use hermes_tools::threat::{Scanner, Scope, Threat, ids};
use std::collections::BTreeSet;

/// `security.context_scan`: what becomes of a file in which something was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ContextScan {
    /// The paragraph is left out.
    #[default]
    Quarantine,
    /// The whole file is left out.
    Block,
    /// It is read as it is; the person is told.
    Warn,
}

impl ContextScan {
    pub(super) fn named(name: &str) -> Option<Self> {
        match name {
            "quarantine" => Some(Self::Quarantine),
            "block" => Some(Self::Block),
            "warn" => Some(Self::Warn),
            _ => None,
        }
    }
}

/// The text as the model may read it, and a word for the person where something was found.
pub(super) fn safe(name: &str, text: String, scanner: &Scanner, policy: ContextScan) -> (String, Option<String>) {
    let threats = scanner.scan(&text, Scope::Context);
    if threats.is_empty() {
        return (text, None);
    }
    let found = described(&threats);
    match policy {
        ContextScan::Warn => {
            let notice = format!("{name} may want to steer the agent: it {found}. It is in the prompt all the same");
            (text, Some(notice))
        }
        ContextScan::Block => blocked(name, &threats),
        ContextScan::Quarantine => match quarantined(name, &text, scanner) {
            Some((rest, lines)) => {
                let notice = format!("{name} may want to steer the agent: it {found}. Left out of the prompt: {lines}");
                (rest, Some(notice))
            }
            None => blocked(name, &threats),
        },
    }
}

fn blocked(name: &str, threats: &[Threat]) -> (String, Option<String>) {
    let text =
        format!("[BLOCKED: {name} contained potential prompt injection ({}). Content not loaded.]", ids(threats));
    let notice = format!("{name} may want to steer the agent: it {}. It is left out of the prompt", described(threats));
    (text, Some(notice))
}

/// What was found, in words, with the ids for those who look them up.
fn described(threats: &[Threat]) -> String {
    let meanings: BTreeSet<&str> = threats.iter().map(|threat| threat.meaning).collect();
    format!("{} ({})", meanings.into_iter().collect::<Vec<_>>().join(", "), ids(threats))
}

/// The text without the paragraphs in which something was found, and which these are; none when what was found stands in
/// no single paragraph.
fn quarantined(name: &str, text: &str, scanner: &Scanner) -> Option<(String, String)> {
    let mut kept = String::with_capacity(text.len());
    let mut lines = Vec::new();
    for paragraph in paragraphs(text) {
        let threats = scanner.scan(paragraph.text, Scope::Context);
        if threats.is_empty() {
            kept.push_str(paragraph.text);
        } else {
            let gap = paragraph.text.get(paragraph.text.trim_end().len()..).unwrap_or_default();
            let ids = ids(&threats);
            kept.push_str(&format!("[QUARANTINED: a paragraph of {name} looked like prompt injection ({ids})]{gap}"));
            lines.push(paragraph.line.to_string());
        }
    }
    let is_clean = scanner.scan(&kept, Scope::Context).is_empty();
    let from = if lines.len() == 1 { "the paragraph from line" } else { "the paragraphs from lines" };
    is_clean.then(|| (kept, format!("{from} {}", lines.join(", "))))
}

struct Paragraph<'t> {
    /// Of its first character.
    line: usize,
    text: &'t str,
}

/// The text in pieces that begin behind blank lines; joined they are the text again.
fn paragraphs(text: &str) -> Vec<Paragraph<'_>> {
    let mut pieces = Vec::new();
    let (mut start, mut at, mut first_line, mut is_behind_blank) = (0, 0, 1, false);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let is_blank = line.trim().is_empty();
        if !is_blank && is_behind_blank {
            pieces.extend(text.get(start..at).map(|text| Paragraph { line: first_line, text }));
            (start, first_line) = (at, number + 1);
        }
        is_behind_blank = is_blank;
        at += line.len();
    }
    pieces.extend(text.get(start..).map(|text| Paragraph { line: first_line, text }));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn paragraphs_are_the_text(text in "([a-z]{0,3}| |\n|\r\n){0,40}") {
            let joined: String = paragraphs(&text).iter().map(|paragraph| paragraph.text).collect();
            prop_assert_eq!(joined, text);
        }
    }

    #[test]
    fn a_paragraph_knows_its_line() {
        let lines: Vec<_> = paragraphs("a\nb\n\n \nc\n\nd").iter().map(|paragraph| paragraph.line).collect();
        assert_eq!(lines, [1, 5, 7]);
    }
}
