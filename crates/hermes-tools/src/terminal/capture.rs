//! What is kept of an output, while it comes, in bounded memory: its beginning, its end, and a note between them.

use super::backend::Capture;
use super::script::take_marker;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::path::PathBuf;

/// A character has at most as many bytes.
const WIDEST: usize = 4;
/// How much of the limit the beginning gets.
const HEAD_PERCENT: usize = 40;

pub(super) struct Captured {
    limit: Capture,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Bytes that came after the head and had to make room.
    lost: usize,
}

impl Captured {
    pub(super) fn new(limit: Capture) -> Self {
        Self { limit, head: Vec::new(), tail: VecDeque::new(), lost: 0 }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        let window = match self.limit {
            Capture::Whole => return self.head.extend(bytes),
            Capture::Within(characters) => characters.saturating_mul(WIDEST),
        };
        let (first, rest) = bytes.split_at(window.saturating_sub(self.head.len()).min(bytes.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(window);
        self.tail.drain(..surplus);
        self.lost += surplus;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_empty() && self.tail.is_empty()
    }

    /// The text, and the directory that stood between the markers.
    pub(super) fn finish(self, marker: Option<&str>) -> (String, Option<PathBuf>) {
        let Self { limit, mut head, tail, lost } = self;
        let mut tail = Vec::from(tail);
        if lost == 0 {
            head.append(&mut tail);
        }
        let end = if lost == 0 { &mut head } else { &mut tail };
        let cwd = marker.and_then(|marker| take_marker(end, marker));
        let (head, tail) = (readable(&head), readable(&tail));
        let text = match limit {
            Capture::Whole => head,
            Capture::Within(limit) => fitted(&head, &tail, lost, limit),
        };
        (text, cwd)
    }
}

/// Both parts within the limit. `lost` bytes are missing between them.
fn fitted(head: &str, tail: &str, lost: usize, limit: usize) -> String {
    let characters = head.chars().count() + tail.chars().count();
    if lost == 0 && characters <= limit {
        return format!("{head}{tail}");
    }
    // The number in the note is one of the things it leaves room for.
    let longest = note(lost.saturating_add(head.len()).saturating_add(tail.len()));
    let room = limit.saturating_sub(longest.chars().count());
    let first = room * HEAD_PERCENT / 100;
    let both: Cow<'_, str> = if lost == 0 { format!("{head}{tail}").into() } else { head.into() };
    let last: Cow<'_, str> = if lost == 0 { both.clone() } else { tail.into() };
    let kept_head: String = both.chars().take(first).collect();
    let skip = last.chars().count().saturating_sub(room - first);
    let kept_tail: String = last.chars().skip(skip).collect();
    let left_out = lost + (head.len() + tail.len()).saturating_sub(kept_head.len() + kept_tail.len());
    let text = format!("{kept_head}{}{kept_tail}", note(left_out));
    text.chars().take(limit).collect()
}

fn note(bytes: usize) -> String {
    format!("\n\n[… {bytes} bytes of output left out here …]\n\n")
}

/// Text without escape sequences; what is no UTF-8 becomes `�`.
pub(crate) fn readable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.contains('\u{1b}') {
        return text.into_owned();
    }
    // The stripper drops tabs and carriage returns as well; they belong to the text.
    let pieces = text.split_inclusive(['\t', '\r']);
    pieces.fold(String::with_capacity(text.len()), |mut plain, piece| {
        let body = piece.trim_end_matches(['\t', '\r']);
        plain.push_str(&strip_ansi_escapes::strip_str(body));
        plain.extend(piece.chars().rev().take_while(|last| matches!(last, '\t' | '\r')));
        plain
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn captured(limit: usize, chunks: &[&[u8]]) -> String {
        let mut captured = Captured::new(Capture::Within(limit));
        chunks.iter().for_each(|chunk| captured.take(chunk));
        captured.finish(None).0
    }

    #[test]
    fn the_beginning_gets_two_fifths_and_the_note_counts() {
        let text = captured(150, &[&[b'a'; 500], &[b'b'; 5_000_000]]);
        let wanted = format!("{}\n\n[… 5000397 bytes of output left out here …]\n\n{}", "a".repeat(41), "b".repeat(62));
        assert_eq!(text, wanted);
    }

    #[test]
    fn colours_go_and_tabs_stay() {
        assert_eq!(readable(b"a\t\x1b[31mred\x1b[0m\r\n\tb\xff\x1b]0;title\x07c"), "a\tred\r\n\tb\u{fffd}c");
    }

    proptest! {
        #[test]
        fn the_limit_holds_and_what_fits_is_whole(
            chunks in proptest::collection::vec("[aä€\u{1f600}\n]{0,80}", 0..8), limit in 0usize..300
        ) {
            let whole: String = chunks.concat();
            let bytes: Vec<&[u8]> = chunks.iter().map(|chunk| chunk.as_bytes()).collect();
            let text = captured(limit, &bytes);
            prop_assert!(text.chars().count() <= limit);
            if whole.chars().count() <= limit {
                prop_assert_eq!(text, whole);
            }
        }
    }
}
