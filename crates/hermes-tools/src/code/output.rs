//! What is kept of what a script prints, while it comes and in bounded memory: the beginning and the end of its output, the
//! beginning of its complaints. Bytes are counted, so that a reader knows exactly what is missing.

use crate::terminal::capture::readable;
use std::collections::VecDeque;

/// Bytes of the beginning and of the end of the output: two fifths and three fifths of 50 000.
const HEAD: usize = 20_000;
const TAIL: usize = 30_000;
/// Bytes of complaints; a traceback begins with what matters.
const COMPLAINTS: usize = 10_000;

/// One stream of a script.
pub(super) struct Kept {
    room_at_the_end: usize,
    room_at_the_start: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: usize,
}

impl Kept {
    pub(super) fn output() -> Self {
        Self::with_room(HEAD, TAIL)
    }

    pub(super) fn complaints() -> Self {
        Self::with_room(COMPLAINTS, 0)
    }

    fn with_room(start: usize, end: usize) -> Self {
        Self { room_at_the_end: end, room_at_the_start: start, head: Vec::new(), tail: VecDeque::new(), total: 0 }
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len();
        let room = self.room_at_the_start.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend(first);
        // Of a long piece only its end can stay.
        let rest = rest.get(rest.len().saturating_sub(self.room_at_the_end)..).unwrap_or_default();
        self.tail.extend(rest);
        let surplus = self.tail.len().saturating_sub(self.room_at_the_end);
        self.tail.drain(..surplus);
    }

    /// All that came.
    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// How much of it is here.
    pub(super) fn captured(&self) -> usize {
        self.head.len() + self.tail.len()
    }

    pub(super) fn omitted(&self) -> usize {
        self.total - self.captured()
    }

    /// As text, without escape sequences, and with a note where something is missing.
    pub(super) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        match (self.omitted(), self.room_at_the_end) {
            (0, _) => readable(&[self.head.as_slice(), &tail].concat()),
            (omitted, 0) => format!("{}\n[… {omitted} bytes left out …]", readable(&self.head)),
            (omitted, _) => {
                let note = format!("[… {omitted} of {} bytes of output left out here …]", self.total);
                format!("{}\n\n{note}\n\n{}", readable(&self.head), readable(&tail))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn both_ends_stay_and_the_gap_is_counted() {
        let mut kept = Kept::with_room(4, 6);
        ["beginning", "", "of", " the end"].iter().for_each(|piece| kept.take(piece.as_bytes()));
        assert_eq!((kept.total(), kept.captured(), kept.omitted()), (19, 10, 9));
        assert_eq!(kept.text(), "begi\n\n[… 9 of 19 bytes of output left out here …]\n\nhe end");
    }

    proptest! {
        #[test]
        fn what_fits_is_whole_and_what_does_not_has_its_two_ends(
            pieces in proptest::collection::vec("[a-z]{0,30}", 0..12), start in 0usize..40, end in 0usize..40
        ) {
            let whole = pieces.concat();
            let mut kept = Kept::with_room(start, end);
            pieces.iter().for_each(|piece| kept.take(piece.as_bytes()));
            prop_assert_eq!(kept.total(), whole.len());
            prop_assert_eq!(kept.captured(), whole.len().min(start + end));
            let text = kept.text();
            if whole.len() <= start + end {
                prop_assert_eq!(text, whole);
            } else {
                let (first, last) = (whole.split_at(start).0, whole.split_at(whole.len() - end).1);
                prop_assert!(text.starts_with(first) && text.contains(&kept.omitted().to_string()));
                prop_assert!(end == 0 || text.ends_with(last));
            }
        }
    }
}
