//! Leaf pages and records of the SQLite file format, read from bytes that may be anything.
//!
//! Nothing here trusts a number it reads: every place is looked up with a bound, and what does not fit is passed over.

use rusqlite::ToSql;
use rusqlite::types::{ToSqlOutput, ValueRef};
use std::ops::Range;

const TABLE_LEAF: u8 = 0x0d;
const LEAF_HEADER: usize = 8;

/// One value, byte for byte: text of other programs need not be UTF-8.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Field {
    Null,
    Integer(i64),
    Real(f64),
    Text(Vec<u8>),
    Blob(Vec<u8>),
}

impl From<ValueRef<'_>> for Field {
    fn from(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => Self::Integer(number),
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(bytes.to_vec()),
            ValueRef::Blob(bytes) => Self::Blob(bytes.to_vec()),
        }
    }
}

impl ToSql for Field {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Self::Null => ValueRef::Null,
            Self::Integer(number) => ValueRef::Integer(*number),
            Self::Real(number) => ValueRef::Real(*number),
            Self::Text(bytes) => ValueRef::Text(bytes),
            Self::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

/// Where the row of a leaf page is: a part in the page, the rest in a chain of other pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    pub(super) rowid: i64,
    pub(super) size: usize,
    pub(super) local: Range<usize>,
    pub(super) overflow: Option<u32>,
}

/// The cells of a page, when it is a leaf of a table. `usable` is the page without its reserved end.
pub(super) fn cells(page: &[u8], usable: usize, largest: u64) -> Vec<Cell> {
    if page.first() != Some(&TABLE_LEAF) {
        return Vec::new();
    }
    let count = number(page, 3, 2).unwrap_or_default();
    let pointers = (0..count).filter_map(|cell| number(page, LEAF_HEADER + 2 * cell, 2));
    pointers.filter_map(|at| cell(page, at, usable, largest)).collect()
}

fn cell(page: &[u8], at: usize, usable: usize, largest: u64) -> Option<Cell> {
    let (size, after_size) = varint(page, at)?;
    let (rowid, start) = varint(page, after_size)?;
    if size > largest {
        return None;
    }
    let size = usize::try_from(size).ok()?;
    let here = local_size(size, usable)?;
    let local = start..start.checked_add(here)?;
    if local.end > usable {
        return None;
    }
    let overflow = if here < size { Some(u32::try_from(number(page, local.end, 4)?).ok()?) } else { None };
    Some(Cell { rowid: rowid.cast_signed(), size, local, overflow })
}

/// How much of a row of this size stays in its leaf.
fn local_size(size: usize, usable: usize) -> Option<usize> {
    let most = usable.checked_sub(35)?;
    if size <= most {
        return Some(size);
    }
    let least = (usable.checked_sub(12)? * 32 / 255).checked_sub(23)?;
    let wanted = least + size.checked_sub(least)? % usable.checked_sub(4)?;
    Some(if wanted <= most { wanted } else { least })
}

/// The values of a row; `None` when the bytes are no record.
pub(super) fn decode(payload: &[u8]) -> Option<Vec<Field>> {
    let (header, mut at) = varint(payload, 0)?;
    let header = usize::try_from(header).ok().filter(|end| *end <= payload.len())?;
    let mut body = header;
    let mut fields = Vec::new();
    while at < header {
        let (kind, next) = varint(payload, at)?;
        let (field, end) = field(payload, kind, body)?;
        fields.push(field);
        (at, body) = (next, end);
    }
    (at == header && body == payload.len()).then_some(fields)
}

fn field(payload: &[u8], kind: u64, at: usize) -> Option<(Field, usize)> {
    let bytes = |length: usize| {
        let end = at.checked_add(length)?;
        Some((payload.get(at..end)?, end))
    };
    let integer = |length| {
        let (bytes, end) = bytes(length)?;
        let start = if bytes.first().is_some_and(|byte| *byte >= 0x80) { -1 } else { 0 };
        Some((Field::Integer(bytes.iter().fold(start, |sum: i64, byte| (sum << 8) | i64::from(*byte))), end))
    };
    match kind {
        0 => Some((Field::Null, at)),
        1..=4 => integer(usize::try_from(kind).ok()?),
        5 => integer(6),
        6 => integer(8),
        7 => {
            let (bytes, end) = bytes(8)?;
            Some((Field::Real(f64::from_be_bytes(bytes.try_into().ok()?)), end))
        }
        8 => Some((Field::Integer(0), at)),
        9 => Some((Field::Integer(1), at)),
        10 | 11 => None,
        text_or_blob => {
            let (found, end) = bytes(usize::try_from((text_or_blob - 12) / 2).ok()?)?;
            let found = found.to_vec();
            Some((if text_or_blob % 2 == 1 { Field::Text(found) } else { Field::Blob(found) }, end))
        }
    }
}

/// A number of variable length, and the place after it.
fn varint(bytes: &[u8], at: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for place in 0..9 {
        let byte = *bytes.get(at.checked_add(place)?)?;
        if place == 8 {
            return Some(((value << 8) | u64::from(byte), at + 9));
        }
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte < 0x80 {
            return Some((value, at + place + 1));
        }
    }
    None
}

/// A number of fixed length, the large end first.
pub(super) fn number(bytes: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |sum, byte| (sum << 8) | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn any_bytes_are_read_or_passed_over(mut page in prop::collection::vec(any::<u8>(), 0..600), leaf: bool) {
            if let (true, Some(first)) = (leaf, page.first_mut()) {
                *first = TABLE_LEAF;
            }
            for cell in cells(&page, 512, 10_000) {
                prop_assert!(cell.local.end <= 512 && cell.size <= 10_000);
                let _ = page.get(cell.local).and_then(decode);
            }
            let fields = decode(&page).unwrap_or_default();
            prop_assert!(fields.len() <= page.len());
        }
    }
}
