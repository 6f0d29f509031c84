//! The lines of a page out of a file that is not read into memory.

use super::PageRequest;
use crate::cover::Cover;
use crate::files::keys::{GLANCE, Keys, cover};
use crate::files::lines::{chunk, line};
use hermes_core::stop::Stop;
use std::io::{self, BufRead};

/// Bytes behind the page that are read to count the lines.
const COUNTED: u64 = 128 << 20;

/// The lines from the offset on, each cut when it is longer than is shown, and how many lines there are.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) lines: Vec<String>,
    pub(super) counted: usize,
    pub(super) end: End,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Reached,
    /// The file goes on; at least one more line than was counted up to the page is known.
    NotReached,
}

pub(super) fn read(
    mut source: impl BufRead,
    request: &PageRequest,
    covering: Cover,
    stop: &Stop,
) -> io::Result<Window> {
    // A character has at most four bytes; one more tells that the line was cut.
    let keep = request.line_chars.saturating_add(1).saturating_mul(4);
    let mut lines = Vec::new();
    let mut keys = Keys::default();
    let mut number = 0;
    let mut chars = 0;
    // One line more than is shown, so that the page knows it goes on.
    while lines.len() <= request.limit && chars <= request.page_chars {
        let wanted = number + 1 >= request.offset;
        let Some(line) = line(&mut source, if wanted { keep } else { GLANCE }, stop)? else {
            return Ok(Window { lines, counted: number, end: End::Reached });
        };
        number += 1;
        let secret = keys.passes(&line) && covering == Cover::Secrets;
        if wanted && secret {
            lines.push(cover());
        } else if wanted {
            let text = String::from_utf8_lossy(&line);
            let text = text.strip_prefix('\u{feff}').filter(|_| number == 1).unwrap_or(&text);
            chars += text.chars().take(request.line_chars).count();
            lines.push(text.to_owned());
        }
    }
    let (more, end) = count(&mut source, stop)?;
    Ok(Window { lines, counted: number + more, end })
}

fn count(source: &mut impl BufRead, stop: &Stop) -> io::Result<(usize, End)> {
    let (mut lines, mut read, mut open) = (0, 0, false);
    while read < COUNTED {
        let chunk = chunk(source, stop)?;
        let Some(last) = chunk.last() else { return Ok((lines + usize::from(open), End::Reached)) };
        open = *last != b'\n';
        lines += memchr::memchr_iter(b'\n', chunk).count();
        let taken = chunk.len();
        read += taken as u64;
        source.consume(taken);
    }
    Ok((lines + 1, End::NotReached))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::page::{page, paged};
    use proptest::prelude::*;
    use std::io::BufReader;

    proptest! {
        #[test]
        fn a_window_gives_the_same_page_as_the_whole_text(
            text in "(\u{feff}a|)([aé\r]{0,9}\n){0,9}[aé]{0,9}", offset in 1..12_usize, limit in 1..9_usize,
            line_chars in 1..8_usize, page_chars in 20..60_usize, buffer in 1..9_usize
        ) {
            let request = PageRequest { offset, limit, line_chars, page_chars };
            let source = BufReader::with_capacity(buffer, text.as_bytes());
            let window = read(source, &request, Cover::Secrets, &Stop::new()).unwrap();
            prop_assert_eq!(window.end, End::Reached);
            let pieced = paged(window.lines.iter().map(String::as_str), window.counted, &request);
            prop_assert_eq!(pieced, page(&text, &request));
        }
    }

    #[test]
    fn an_interrupt_ends_the_reading() {
        let stop = Stop::new();
        stop.stop();
        assert!(read(BufReader::new(std::io::repeat(b'\n')), &PageRequest::default(), Cover::Secrets, &stop).is_err());
    }
}
