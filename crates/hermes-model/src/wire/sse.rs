//! Server-sent events as a push parser: bytes in, events out, in linear time whatever the size of an event.
//!
//! Written here because a pure, synchronous parser is what fuzzing, replay and the decoders need; the maintained crates
//! are asynchronous streams and drop an event that the server forgot to terminate. It accepts a byte-order mark, LF, CR
//! and CRLF in any mixture, characters split between chunks, comments, and a missing last blank line.

/// One event. `data` lines are joined by a newline, as the standard says. A line of the field `error`, which the standard
/// does not know, is data of an event of that name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// The `event:` field; empty when the server sent none.
    pub name: &'a str,
    pub data: &'a str,
}

/// An event larger than this is refused: no provider sends one, and memory is not endless.
pub const LARGEST_EVENT: usize = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseFault {
    #[error("the server sent an event of more than 64 MiB")]
    TooLarge,
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The parser's state between chunks.
#[derive(Debug, Default)]
pub struct Parser {
    /// The unfinished line.
    line: Vec<u8>,
    name: String,
    data: String,
    has_data: bool,
    started: bool,
    /// The last byte was CR: a following LF belongs to it.
    after_cr: bool,
}

impl Parser {
    /// Takes in a chunk and hands each completed event to `each`.
    pub fn push<E: From<SseFault>>(
        &mut self,
        mut chunk: &[u8],
        mut each: impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !chunk.is_empty() {
            if std::mem::take(&mut self.after_cr)
                && let Some(rest) = chunk.strip_prefix(b"\n")
            {
                chunk = rest;
                continue;
            }
            let Some(end) = memchr::memchr2(b'\n', b'\r', chunk) else {
                self.keep(chunk)?;
                break;
            };
            let (head, tail) = chunk.split_at(end);
            self.after_cr = tail.first() == Some(&b'\r');
            chunk = tail.get(1..).unwrap_or_default();
            if self.line.is_empty() {
                self.line_end(head, &mut each)?;
            } else {
                self.keep(head)?;
                let line = std::mem::take(&mut self.line);
                self.line_end(&line, &mut each)?;
                self.line = line;
                self.line.clear();
            }
        }
        Ok(())
    }

    /// The body is over: an event without its blank line still counts.
    pub fn finish<E: From<SseFault>>(mut self, mut each: impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let line = std::mem::take(&mut self.line);
        if !line.is_empty() {
            self.line_end(&line, &mut each)?;
        }
        self.dispatch(&mut each)
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), SseFault> {
        if self.line.len() + self.data.len() + bytes.len() > LARGEST_EVENT {
            return Err(SseFault::TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn line_end<E: From<SseFault>>(
        &mut self,
        line: &[u8],
        each: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let line =
            if std::mem::replace(&mut self.started, true) { line } else { line.strip_prefix(BOM).unwrap_or(line) };
        if line.is_empty() {
            return self.dispatch(each);
        }
        let (field, value) = match memchr::memchr(b':', line) {
            Some(at) => (line.get(..at).unwrap_or_default(), line.get(at + 1..).unwrap_or_default()),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" | b"error" => {
                // llama.cpp tells of a failure in a field of its own.
                if field == b"error" {
                    self.name = "error".to_owned();
                }
                if self.data.len() + value.len() > LARGEST_EVENT {
                    return Err(SseFault::TooLarge.into());
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                push_lossy(&mut self.data, value);
            }
            b"event" => {
                self.name.clear();
                push_lossy(&mut self.name, value);
            }
            _ => {} // comments (empty field), id, retry: nothing a model stream needs
        }
        Ok(())
    }

    fn dispatch<E>(&mut self, each: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        let result = if self.has_data { each(Event { name: &self.name, data: &self.data }) } else { Ok(()) };
        self.name.clear();
        self.data.clear();
        self.has_data = false;
        result
    }
}

/// Appends text. Nearly all of it is valid, and checking that at once is several times faster than the general way.
fn push_lossy(text: &mut String, bytes: &[u8]) {
    match std::str::from_utf8(bytes) {
        Ok(valid) => text.push_str(valid),
        Err(_) => text.push_str(&String::from_utf8_lossy(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn events(chunks: &[&[u8]]) -> Vec<(String, String)> {
        let mut seen = Vec::new();
        let mut parser = Parser::default();
        let mut each = |event: Event<'_>| {
            seen.push((event.name.to_owned(), event.data.to_owned()));
            Ok::<(), SseFault>(())
        };
        for chunk in chunks {
            parser.push(chunk, &mut each).expect("within the cap");
        }
        parser.finish(&mut each).expect("within the cap");
        seen
    }

    fn data(list: &[&str]) -> Vec<(String, String)> {
        list.iter().map(|text| (String::new(), (*text).to_owned())).collect()
    }

    #[test]
    fn every_line_ending_and_oddity_of_real_servers() {
        assert_eq!(events(&[b"\xEF\xBB\xBFdata: a\n\ndata: b\n\n"]), data(&["a", "b"]));
        assert_eq!(events(&[b"data: a\r\rdata: b\r\r"]), data(&["a", "b"]));
        assert_eq!(events(&[b"data: a\r\n\r\ndata: b\r\n\r\n"]), data(&["a", "b"]));
        assert_eq!(events(&[b"data: a\r", b"\n\r", b"\ndata: b\n\n"]), data(&["a", "b"]));
        assert_eq!(events(&[b": OPENROUTER PROCESSING\n\ndata:a\n\n"]), data(&["a"]));
        assert_eq!(events(&[b"data: a\ndata: b\n\n"]), data(&["a\nb"]));
        assert_eq!(events(&[b"data: a\n\ndata: last"]), data(&["a", "last"]));
        assert_eq!(events(&["data: ส".as_bytes(), "วัส\n\n".as_bytes()]), data(&["สวัส"]));
        assert_eq!(events(&[b"id: 1\nretry: 5\n\n"]), data(&[]));
        assert_eq!(events(&[b"event: ping\ndata: {}\n\n"]), vec![("ping".into(), "{}".into())]);
        assert_eq!(events(&[b"data\n\n"]), data(&[""]));
        assert_eq!(
            events(&[b"data: a\n\nerror: {\"code\":500}\n\ndata: b\n\n"]),
            [("", "a"), ("error", "{\"code\":500}"), ("", "b")].map(|(name, data)| (name.to_owned(), data.to_owned()))
        );
    }

    proptest! {
        /// Where the network cuts the bytes changes nothing.
        #[test]
        fn chunking_is_invisible(text in "(data: [a-zé\u{4f60} ]{0,8}|event: x|: c|)(\n|\r|\r\n){1,2}.{0,6}\n\ndata: z", size in 1usize..7) {
            let whole = events(&[text.as_bytes()]);
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            prop_assert_eq!(events(&chunks), whole);
        }
    }
}
