//! Inputs that are nearly right: a real one, and a few edits.

use proptest::prelude::*;

/// What an independent server said in each protocol.
pub const RECORDED: [&[u8]; 9] = [
    include_bytes!("../../hermes-model/tests/aimock/recorded/anthropic-reasoning.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/anthropic-text.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/anthropic-tools.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/chat-reasoning.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/chat-text.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/chat-tools.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/responses-reasoning.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/responses-text.sse"),
    include_bytes!("../../hermes-model/tests/aimock/recorded/responses-tools.sse"),
];

/// One edit. Places are fractions of the input, so that an edit means something for inputs of every length.
#[derive(Debug, Clone, Copy)]
enum Edit {
    Cut {
        at: u16,
    },
    Remove {
        at: u16,
        length: u8,
    },
    Overwrite {
        at: u16,
        with: u8,
    },
    Repeat {
        at: u16,
        length: u8,
    },
    /// A word of the dictionary.
    Insert {
        at: u16,
        word: u8,
    },
    /// A piece of another input.
    Splice {
        at: u16,
        seed: u8,
        from: u16,
        length: u8,
    },
}

/// Which input, and what is done to it.
#[derive(Debug, Clone)]
pub struct Mutant {
    seed: u8,
    edits: Vec<Edit>,
}

pub fn mutants() -> impl Strategy<Value = Mutant> {
    let at = any::<u16>;
    let edit = prop_oneof![
        at().prop_map(|at| Edit::Cut { at }),
        (at(), any::<u8>()).prop_map(|(at, length)| Edit::Remove { at, length }),
        (at(), any::<u8>()).prop_map(|(at, with)| Edit::Overwrite { at, with }),
        (at(), any::<u8>()).prop_map(|(at, length)| Edit::Repeat { at, length }),
        (at(), any::<u8>()).prop_map(|(at, word)| Edit::Insert { at, word }),
        (at(), any::<u8>(), at(), any::<u8>()).prop_map(|(at, seed, from, length)| Edit::Splice {
            at,
            seed,
            from,
            length
        }),
    ];
    (any::<u8>(), prop::collection::vec(edit, 0..=6)).prop_map(|(seed, edits)| Mutant { seed, edits })
}

impl Mutant {
    pub fn of(&self, corpus: &[&[u8]], dictionary: &[&str]) -> Vec<u8> {
        let mut bytes = pick(corpus, self.seed).to_vec();
        for edit in &self.edits {
            edit.apply(&mut bytes, corpus, dictionary);
        }
        bytes
    }
}

impl Edit {
    fn apply(self, bytes: &mut Vec<u8>, corpus: &[&[u8]], dictionary: &[&str]) {
        match self {
            Self::Cut { at } => bytes.truncate(place(at, bytes.len())),
            Self::Remove { at, length } => {
                bytes.drain(range(at, length, bytes.len()));
            }
            Self::Overwrite { at, with } => {
                let at = place(at, bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = with;
                }
            }
            Self::Repeat { at, length } => {
                let range = range(at, length, bytes.len());
                let piece = bytes[range.clone()].to_vec();
                insert(bytes, range.end, &piece);
            }
            Self::Insert { at, word } => {
                let at = place(at, bytes.len());
                insert(bytes, at, pick(dictionary, word).as_bytes());
            }
            Self::Splice { at, seed, from, length } => {
                let other = pick(corpus, seed);
                let at = place(at, bytes.len());
                insert(bytes, at, &other[range(from, length, other.len())]);
            }
        }
    }
}

pub(crate) fn pick<T: Copy>(list: &[T], index: u8) -> T {
    list[usize::from(index) % list.len()]
}

/// From 0 to `length`, both included.
pub(crate) fn place(fraction: u16, length: usize) -> usize {
    usize::from(fraction) * (length + 1) / (usize::from(u16::MAX) + 1)
}

fn range(at: u16, length: u8, total: usize) -> std::ops::Range<usize> {
    let start = place(at, total);
    start..total.min(start + usize::from(length))
}

fn insert(bytes: &mut Vec<u8>, at: usize, piece: &[u8]) {
    bytes.splice(at..at, piece.iter().copied());
}
