//! One wound in a stream, and what it took away.

use crate::mutant::place;
use crate::reference;
use crate::tale::Told;
use proptest::prelude::*;
use serde_json::Value;
use std::ops::Range;

/// What happens to the bytes on their way.
#[derive(Debug, Clone, Copy)]
pub enum Wound {
    None,
    Cut { at: u16 },
    Overwrite { at: u16, with: u8 },
    Drop { event: u16 },
    Double { event: u16 },
}

/// What a reader of the wounded stream could know at best.
#[derive(Debug, Clone, PartialEq)]
pub enum Harm {
    Nothing,
    /// These events never came.
    Lost(Range<usize>),
    /// In the place of these events came something that nobody can read.
    Garbled(Range<usize>),
    /// This event came twice.
    Repeated(usize),
    /// Something else came that looks right. No reader can know.
    Altered,
}

pub fn wounds() -> impl Strategy<Value = Wound> {
    prop_oneof![
        Just(Wound::None),
        any::<u16>().prop_map(|at| Wound::Cut { at }),
        (any::<u16>(), any::<u8>()).prop_map(|(at, with)| Wound::Overwrite { at, with }),
        any::<u16>().prop_map(|event| Wound::Drop { event }),
        any::<u16>().prop_map(|event| Wound::Double { event }),
    ]
}

impl Wound {
    pub fn inflict(self, events: &[Told]) -> Vec<u8> {
        let mut pieces: Vec<Vec<u8>> = events.iter().map(Told::bytes).collect();
        match self {
            Self::Drop { event } if !pieces.is_empty() => {
                pieces.remove(place(event, pieces.len() - 1));
            }
            Self::Double { event } if !pieces.is_empty() => {
                let at = place(event, pieces.len() - 1);
                pieces.insert(at, pieces[at].clone());
            }
            _ => {}
        }
        let mut bytes = pieces.concat();
        match self {
            Self::Cut { at } => bytes.truncate(place(at, bytes.len())),
            Self::Overwrite { at, with } => {
                let at = place(at, bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = with;
                }
            }
            Self::None | Self::Drop { .. } | Self::Double { .. } => {}
        }
        bytes
    }
}

impl Harm {
    /// Compares what came with what was sent.
    pub fn of(sent: &[Told], bytes: &[u8]) -> Self {
        let came = reference::events(bytes);
        let head = sent.iter().zip(&came).take_while(|(told, event)| told.is(event)).count();
        let (sent_rest, came_rest) = (&sent[head..], &came[head..]);
        let tail =
            sent_rest.iter().rev().zip(came_rest.iter().rev()).take_while(|(told, event)| told.is(event)).count();
        let missing = head..sent.len() - tail;
        match &came_rest[..came_rest.len() - tail] {
            [] if missing.is_empty() => Self::Nothing,
            [] => Self::Lost(missing),
            [again] if missing.is_empty() && head > 0 && sent[head - 1].is(again) => Self::Repeated(head - 1),
            strange if strange.iter().all(|(_, data)| is_noise(data)) => Self::Lost(missing),
            strange if strange.iter().all(|(_, data)| is_noise(data) || is_unreadable(data)) => Self::Garbled(missing),
            _ => Self::Altered,
        }
    }

    /// The numbers of the events that came, in their order.
    pub fn came(&self, sent: &[Told]) -> Vec<usize> {
        let all = 0..sent.len();
        match self {
            Self::Lost(missing) | Self::Garbled(missing) => all.filter(|at| !missing.contains(at)).collect(),
            Self::Repeated(again) => {
                all.flat_map(|at| std::iter::repeat_n(at, 1 + usize::from(at == *again))).collect()
            }
            Self::Nothing | Self::Altered => all.collect(),
        }
    }
}

/// Words between the events of a protocol, which every reader passes over.
fn is_noise(data: &str) -> bool {
    !data.trim_start().starts_with(['{', '['])
}

/// Half a character (`\ud83d`) is mended by readers, so its event counts as altered.
fn is_unreadable(data: &str) -> bool {
    serde_json::from_str::<Value>(data).is_err() && !data.contains("\\u")
}
