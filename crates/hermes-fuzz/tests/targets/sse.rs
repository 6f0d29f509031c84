//! The parser of server-sent events against the naive one.

use hermes_fuzz::{RECORDED, explore, mutants, reference, shred};
use hermes_model::wire::sse::{Event, Parser, SseFault};
use proptest::prelude::*;

const ODDITIES: [&[u8]; 4] = [
    b"\xEF\xBB\xBFdata: a\r\rdata: b\r\n\r\n: ping\n\ndata\ndata:\n\n",
    b"id: 1\nevent: x\nretry: 5\ndata: {\"a\":\ndata: 1}\n\ndata: last",
    "event: \u{4f60}\ndata: สวัสดี 😀\n\n\n\ndata:  two\n".as_bytes(),
    b"",
];
const DICTIONARY: [&str; 12] =
    ["\n", "\r", "\r\n", "\n\n", "data: ", "data:", "data", "event: ", ":", "\u{feff}", "é", "\0"];

fn events(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut seen = Vec::new();
    let mut each = |event: Event<'_>| {
        seen.push((event.name.to_owned(), event.data.to_owned()));
        Ok::<(), SseFault>(())
    };
    let mut parser = Parser::default();
    for piece in pieces {
        parser.push(piece, &mut each).expect("within the cap");
    }
    parser.finish(&mut each).expect("within the cap");
    seen
}

/// However the network cuts the bytes, the events are those of the standard, and nothing is in them that was not sent.
#[test]
fn pieces_make_the_events_of_the_whole() {
    let corpus = [&RECORDED[..], &ODDITIES[..]].concat();
    explore((mutants(), any::<Vec<u8>>()), |(mutant, sizes)| {
        let bytes = mutant.of(&corpus, &DICTIONARY);
        let seen = events(&shred(&bytes, &sizes));
        prop_assert_eq!(&seen, &reference::events(&bytes), "{:?}", String::from_utf8_lossy(&bytes));
        let length: usize = seen.iter().map(|(name, data)| name.len() + data.len()).sum();
        prop_assert!(length <= String::from_utf8_lossy(&bytes).len());
        Ok(())
    });
}

/// No clock is needed to see whether the work is linear: a parser that looks at what it holds again for each piece would
/// touch fifty million million bytes here and be at it for hours.
#[test]
fn an_event_of_ten_megabytes_may_come_byte_by_byte() {
    const SIZE: usize = 10 << 20;
    let mut body = b"data: ".to_vec();
    body.resize(body.len() + SIZE, b'x');
    body.extend_from_slice(b"\n\n");
    let mut lengths = Vec::new();
    let mut parser = Parser::default();
    for byte in &body {
        let each = |event: Event<'_>| {
            lengths.push(event.data.len());
            Ok::<(), SseFault>(())
        };
        parser.push(std::slice::from_ref(byte), each).expect("within the cap");
    }
    assert_eq!(lengths, [SIZE]);
}
