//! The place in a text that shows why it was found: `… the >>>match<<< in its sentence …` on one line.

use super::fold::Folded;
use super::query::Query;
use hermes_types::Manner;
use std::ops::Range;

/// About forty words.
const WIDTH: usize = 240;
/// How far a cut moves to fall between words.
const NUDGE: usize = 20;
const OPEN: &str = ">>>";
const CLOSE: &str = "<<<";
const CUT: &str = "...";

impl Query {
    /// The best place of a text with the matches between `>>>` and `<<<`; `None` when no term is in it.
    pub fn snippet(&self, text: &str) -> Option<String> {
        self.snippet_by(text, Manner::Words)
    }

    pub(super) fn snippet_by(&self, text: &str, manner: Manner) -> Option<String> {
        let folded = Folded::of(text);
        let mut places: Vec<(usize, Range<usize>)> = self
            .places(&folded.text, manner)
            .into_iter()
            .map(|(term, place)| (term, folded.origin(&place)))
            .filter(|(_, place)| !place.is_empty())
            .collect();
        places.sort_by_key(|(_, place)| (place.start, place.end));
        let best = best_cluster(text, &places)?;
        let window = frame(text, &best);
        Some(render(text, &window, &merge(places.into_iter().map(|(_, place)| place))))
    }
}

/// From the first to the last match of the stretch with the most different terms, and of those the most matches.
fn best_cluster(text: &str, places: &[(usize, Range<usize>)]) -> Option<Range<usize>> {
    let mut best: Option<(usize, usize, Range<usize>)> = None;
    for (at, (_, first)) in places.iter().enumerate() {
        let limit = after(text, first.start, WIDTH);
        let inside: Vec<&(usize, Range<usize>)> = places
            .iter()
            .skip(at)
            .take_while(|(_, place)| place.start < limit)
            .filter(|(_, p)| p.end <= limit)
            .collect();
        let mut terms: Vec<usize> = inside.iter().map(|(term, _)| *term).collect();
        terms.sort_unstable();
        terms.dedup();
        let end = inside.iter().map(|(_, place)| place.end).max().unwrap_or(first.end.min(limit));
        if best.as_ref().is_none_or(|(most, count, _)| (terms.len(), inside.len()) > (*most, *count)) {
            best = Some((terms.len(), inside.len(), first.start..end));
        }
    }
    best.map(|(_, _, cluster)| cluster)
}

/// The cluster in the middle of a window, cut between words where they are near.
fn frame(text: &str, cluster: &Range<usize>) -> Range<usize> {
    let length = text.get(cluster.clone()).map_or(0, |inside| inside.chars().count());
    let margin = WIDTH.saturating_sub(length) / 2;
    let mut start = before(text, cluster.start, margin);
    let spare = margin - text.get(start..cluster.start).map_or(0, |lead| lead.chars().count()).min(margin);
    let mut end = after(text, cluster.end, margin + spare);
    if end == text.len() {
        let used = text.get(cluster.end..).map_or(0, |tail| tail.chars().count());
        start = before(text, start, (margin + spare).saturating_sub(used));
    }
    if start > 0
        && let Some(lead) = text.get(start..after(text, start, NUDGE).min(cluster.start))
        && let Some(gap) = lead.find(char::is_whitespace)
    {
        start += gap;
    }
    if end < text.len()
        && let Some(tail) = text.get(before(text, end, NUDGE).max(cluster.end)..end)
        && let Some(gap) = tail.rfind(char::is_whitespace)
    {
        end -= tail.len() - gap;
    }
    start..end
}

/// The offset so many characters behind `from`.
fn after(text: &str, from: usize, characters: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.char_indices().nth(characters).map_or(text.len(), |(offset, _)| from + offset)
}

/// The offset so many characters before `from`.
fn before(text: &str, from: usize, characters: usize) -> usize {
    let lead = text.get(..from).unwrap_or_default();
    match characters.checked_sub(1) {
        None => from,
        Some(last) => lead.char_indices().rev().nth(last).map_or(0, |(offset, _)| offset),
    }
}

/// Matches that overlap are one.
fn merge(places: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut merged: Vec<Range<usize>> = Vec::new();
    for place in places {
        match merged.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => merged.push(place),
        }
    }
    merged
}

fn render(text: &str, window: &Range<usize>, places: &[Range<usize>]) -> String {
    let mut line = Line::default();
    let mut shown = window.start;
    for place in places {
        let (start, end) = (place.start.max(shown), place.end.min(window.end));
        if start < end {
            line.push(text.get(shown..start).unwrap_or_default());
            line.mark(text.get(start..end).unwrap_or_default());
            shown = end;
        }
    }
    line.push(text.get(shown..window.end).unwrap_or_default());
    let lead = if window.start > 0 { CUT } else { "" };
    let tail = if window.end < text.len() { CUT } else { "" };
    format!("{lead}{}{tail}", line.text.trim())
}

/// One line of text: line breaks and control characters are spaces, and spaces do not pile up.
#[derive(Default)]
struct Line {
    text: String,
}

impl Line {
    fn push(&mut self, piece: &str) {
        for character in piece.chars() {
            let is_space = character.is_whitespace() || character.is_control();
            if !is_space {
                self.text.push(character);
            } else if !self.text.ends_with(' ') {
                self.text.push(' ');
            }
        }
    }

    fn mark(&mut self, piece: &str) {
        self.text.push_str(OPEN);
        self.push(piece);
        self.text.push_str(CLOSE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snippet(query: &str, text: &str) -> String {
        Query::parse(query).expect("a query").snippet(text).expect("a match")
    }

    #[test]
    fn matches_are_marked_on_one_line() {
        let table = [
            ("resume", "Your  Résumé\nis\tready\0.", "Your >>>Résumé<<< is ready ."),
            ("a OR \"a b\"", "a b a", ">>>a b<<< >>>a<<<"),
            ("กรุงเทพ", "ไปกรุงเทพเมื่อวาน", "ไป>>>กรุงเทพ<<<เมื่อวาน"),
            ("部署", "请帮我部署，再部署", "请帮我>>>部署<<<，再>>>部署<<<"),
            ("x NOT y", "x", ">>>x<<<"),
        ];
        for (query, text, line) in table {
            assert_eq!(snippet(query, text), line, "{query}");
        }
    }

    #[test]
    fn a_long_text_is_cut_around_the_best_place() {
        let text = format!("needle {} needle thread {}", "filler ".repeat(200), "padding ".repeat(200));
        let line = snippet("needle thread", &text);
        let (lead, tail) = ("filler ".repeat(15), "padding ".repeat(14));
        assert_eq!(line, format!("...{} >>>needle<<< >>>thread<<< {}...", lead.trim(), tail.trim()));
        let long = "x".repeat(2000);
        let line = snippet(&long, &long);
        assert!(line.starts_with(">>>xxx") && line.ends_with("xxx<<<..."), "{line}");
        assert!(line.len() <= WIDTH + 12, "{}", line.len());
    }
}
