//! The first way: tables are read through SQL, around the places that cannot be read.

use super::layout::{Column, Layout, Row};
use super::record::Field;
use crate::fault::DbResult;
use rusqlite::{Connection, Statement};

/// Reading around holes is given up after this many tries; loose pages are the better way then.
const MOST_PROBES: u32 = 400;

/// How a table was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reading {
    Whole,
    WithHoles,
}

/// Whether what a tree leads to can be believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trust {
    /// The file as a whole is sound.
    All,
    /// A tree that is tied together wrongly leads to rows of another place, or of another table.
    Plausible,
}

/// Reads a table with numbered rows.
pub(super) fn numbered(
    source: &Connection,
    layout: &Layout,
    trust: Trust,
    keep: &mut dyn FnMut(&Row) -> DbResult<()>,
) -> DbResult<Reading> {
    let select = |order: &str| {
        source.prepare(&format!(
            "SELECT rowid, * FROM \"{}\" NOT INDEXED WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid {order}",
            layout.table
        ))
    };
    let (Ok(mut up), Ok(mut down)) = (select("ASC"), select("DESC")) else { return Ok(Reading::WithHoles) };
    let mut reading = Reading::Whole;
    let mut probes = 0;
    let mut ranges = vec![(i64::MIN, i64::MAX)];
    while let Some((from, to)) = ranges.pop() {
        probes += 1;
        let risen = read(&mut up, 1, (from, to), layout, trust, keep)?;
        let Some(low) = risen else { continue };
        reading = Reading::WithHoles;
        let low = low.map_or(from, |last| last.saturating_add(1));
        if probes > MOST_PROBES || low > to {
            continue;
        }
        // What comes after the hole is reached from the other end.
        let Some(fallen) = read(&mut down, -1, (low, to), layout, trust, keep)? else { continue };
        let high = fallen.map_or(to, |last| last.saturating_sub(1));
        if low < high {
            let middle = low.midpoint(high);
            ranges.extend([(low, middle), (middle + 1, high)]);
        }
    }
    Ok(reading)
}

/// Reads until the end, which is `None`, or until something cannot be read: then the last row that could.
fn read(
    statement: &mut Statement<'_>,
    direction: i64,
    range: (i64, i64),
    layout: &Layout,
    trust: Trust,
    keep: &mut dyn FnMut(&Row) -> DbResult<()>,
) -> DbResult<Option<Option<i64>>> {
    let mut last: Option<i64> = None;
    let Ok(mut rows) = statement.query(range) else { return Ok(Some(None)) };
    loop {
        let row = match rows.next() {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(_) => return Ok(Some(last)),
        };
        let Some(row) = take(row, layout) else { return Ok(Some(last)) };
        let in_order = last.is_none_or(|last| row.rowid.saturating_sub(last).signum() == direction);
        let in_range = (range.0..=range.1).contains(&row.rowid);
        if !in_order || !in_range || (trust == Trust::Plausible && !layout.is_plausible(&row.fields)) {
            return Ok(Some(last));
        }
        keep(&row)?;
        last = Some(row.rowid);
    }
}

fn take(row: &rusqlite::Row<'_>, layout: &Layout) -> Option<Row> {
    let rowid = row.get(0).ok()?;
    let field = |(place, column): (usize, &Column)| match column.is_row_id() {
        true => Some(Field::Null),
        false => row.get_ref(place + 1).ok().map(Field::from),
    };
    let fields = layout.columns.iter().enumerate().map(field).collect::<Option<_>>()?;
    Some(Row { rowid, fields })
}

/// Reads a table without numbers, as far as it goes.
pub(super) fn unnumbered(
    source: &Connection,
    layout: &Layout,
    keep: &mut dyn FnMut(&Row) -> DbResult<()>,
) -> DbResult<Reading> {
    let Ok(mut statement) = source.prepare(&format!("SELECT 0, * FROM \"{}\"", layout.table)) else {
        return Ok(Reading::WithHoles);
    };
    let Ok(mut rows) = statement.query([]) else { return Ok(Reading::WithHoles) };
    loop {
        match rows.next() {
            Ok(Some(row)) => match take(row, layout) {
                Some(row) => keep(&row)?,
                None => return Ok(Reading::WithHoles),
            },
            Ok(None) => return Ok(Reading::Whole),
            Err(_) => return Ok(Reading::WithHoles),
        }
    }
}
