//! The last part of what a process printed: at most a fixed number of characters, cut between characters. Bytes may come
//! in any portions; what is no UTF-8 becomes a replacement character, once and for all.

use std::collections::VecDeque;

/// Output of one process.
#[derive(Debug)]
pub(super) struct Buffer {
    characters: VecDeque<char>,
    most: usize,
    /// The beginning of a character whose end has not come yet.
    unfinished: Vec<u8>,
    /// Characters that had to make room.
    pub(super) lost: u64,
}

impl Buffer {
    pub(super) fn new(most: usize) -> Self {
        Self { characters: VecDeque::new(), most, unfinished: Vec::new(), lost: 0 }
    }

    /// Takes bytes and gives back the text they completed.
    pub(super) fn push(&mut self, bytes: &[u8]) -> String {
        let mut all = std::mem::take(&mut self.unfinished);
        all.extend_from_slice(bytes);
        let mut text = String::new();
        let mut chunks = all.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            text.push_str(chunk.valid());
            if chunk.invalid().is_empty() {
                continue;
            }
            if chunks.peek().is_none() && is_beginning(chunk.invalid()) {
                self.unfinished = chunk.invalid().to_vec();
            } else {
                text.push(char::REPLACEMENT_CHARACTER);
            }
        }
        self.keep(&text);
        text
    }

    /// Nothing more will come.
    pub(super) fn finish(&mut self) -> String {
        let text = if std::mem::take(&mut self.unfinished).is_empty() { "" } else { "\u{fffd}" };
        self.keep(text);
        text.to_owned()
    }

    fn keep(&mut self, text: &str) {
        self.characters.extend(text.chars());
        let excess = self.characters.len().saturating_sub(self.most);
        self.characters.drain(..excess);
        self.lost += excess as u64;
    }

    /// Everything that is kept, without control sequences of terminals.
    pub(super) fn text(&self) -> String {
        let raw: String = self.characters.iter().collect();
        plain(&raw)
    }
}

/// Text without control sequences and with plain ends of lines.
pub(super) fn plain(text: &str) -> String {
    strip_ansi_escapes::strip_str(text.replace("\r\n", "\n"))
}

/// The last `count` characters.
pub(super) fn tail(text: &str, count: usize) -> String {
    let skip = text.chars().count().saturating_sub(count);
    text.chars().skip(skip).collect()
}

/// Whether more bytes could make a character of these.
fn is_beginning(bytes: &[u8]) -> bool {
    match std::str::from_utf8(bytes) {
        Ok(_) => false,
        Err(error) => error.error_len().is_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn portions_do_not_matter(bytes in proptest::collection::vec(any::<u8>(), 0..200), cut in 1usize..20) {
            let mut whole = Buffer::new(1000);
            whole.push(&bytes);
            whole.finish();
            let mut parts = Buffer::new(1000);
            bytes.chunks(cut).for_each(|part| { parts.push(part); });
            parts.finish();
            prop_assert_eq!(&whole.characters, &parts.characters);
            prop_assert_eq!(whole.characters.iter().collect::<String>(), String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn the_end_is_kept_and_the_rest_is_counted(text in "\\PC{0,300}", most in 1usize..100) {
            let mut buffer = Buffer::new(most);
            text.as_bytes().chunks(7).for_each(|part| { buffer.push(part); });
            let kept: String = buffer.characters.iter().collect();
            prop_assert_eq!(&kept, &tail(&text, most));
            prop_assert_eq!(buffer.lost as usize, text.chars().count() - kept.chars().count());
        }
    }

    #[test]
    fn what_a_terminal_would_act_on_is_not_text() {
        let mut buffer = Buffer::new(100);
        buffer.push(b"\x1b[31mred\x1b[0m\r\nplain");
        assert_eq!(buffer.text(), "red\nplain");
    }
}
