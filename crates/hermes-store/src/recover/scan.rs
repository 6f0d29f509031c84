//! The second way: every page of the file is looked at, whatever the tree above it says.

use super::copy::Pages;
use super::layout::{Layout, Row};
use super::record::{self, Cell};
use std::io;

/// How often a page may be read as the rest of a row. In a sound file it is once; old copies of rows point to it again.
const READS_PER_PAGE: u64 = 8;

/// Hands every row that fits one of the layouts to `keep`.
pub(super) fn rows<E: From<io::Error>>(
    pages: &mut Pages,
    free: &[bool],
    layouts: &[Layout],
    mut keep: impl FnMut(&Layout, Row) -> Result<(), E>,
) -> Result<(), E> {
    let (mut page, mut reads) = (Vec::new(), READS_PER_PAGE * u64::from(pages.count));
    // The first page holds the names of the tables, which are found another way.
    for number in 2..=pages.count {
        if free.get(number as usize).copied().unwrap_or_default() {
            continue;
        }
        pages.read(number, &mut page)?;
        for cell in record::cells(&page, pages.usable, pages.bytes) {
            let Some(payload) = payload(pages, &page, &cell, &mut reads)? else { continue };
            let Some(fields) = record::decode(&payload) else { continue };
            let row = Row { rowid: cell.rowid, fields };
            if let Some(layout) = layouts.iter().find(|layout| layout.fits(&row)) {
                keep(layout, row)?;
            }
        }
    }
    Ok(())
}

/// The bytes of a row, followed through the pages it goes on in; `None` when the chain is broken.
fn payload(pages: &mut Pages, page: &[u8], cell: &Cell, reads: &mut u64) -> io::Result<Option<Vec<u8>>> {
    let Some(local) = page.get(cell.local.clone()) else { return Ok(None) };
    let mut bytes = local.to_vec();
    let (mut next, mut piece) = (cell.overflow, Vec::new());
    while let Some(number) = next {
        let Some(left) = reads.checked_sub(1) else { return Ok(None) };
        *reads = left;
        pages.read(number, &mut piece)?;
        let missing = cell.size - bytes.len();
        let Some(part) = piece.get(4..pages.usable.min(4 + missing)) else { return Ok(None) };
        bytes.extend_from_slice(part);
        let following = record::number(&piece, 0, 4).and_then(|page| u32::try_from(page).ok());
        next = following.filter(|_| bytes.len() < cell.size);
    }
    Ok((bytes.len() == cell.size).then_some(bytes))
}
