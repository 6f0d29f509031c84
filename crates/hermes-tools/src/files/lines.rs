//! Lines of a file that is not read into memory, however long they are.

use hermes_core::stop::Stop;
use std::io::{self, BufRead};

/// One line, of which as many bytes are kept.
pub(super) fn line(source: &mut impl BufRead, keep: usize, stop: &Stop) -> io::Result<Option<Vec<u8>>> {
    let mut kept = Vec::new();
    let mut any = false;
    loop {
        let chunk = chunk(source, stop)?;
        if chunk.is_empty() {
            return Ok(any.then_some(kept));
        }
        any = true;
        let end = memchr::memchr(b'\n', chunk);
        let taken = end.map_or(chunk.len(), |end| end + 1);
        let room = keep.saturating_sub(kept.len()).min(taken);
        kept.extend_from_slice(chunk.get(..room).unwrap_or_default());
        source.consume(taken);
        if end.is_some() {
            return Ok(Some(kept));
        }
    }
}

/// What is at hand, unless the person interrupted.
pub(super) fn chunk<'s>(source: &'s mut impl BufRead, stop: &Stop) -> io::Result<&'s [u8]> {
    if stop.stopped() {
        return Err(io::Error::other("the person interrupted"));
    }
    source.fill_buf()
}
