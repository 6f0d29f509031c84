//! The copy that recovery works on: taken byte by byte before SQLite sees the file, and given a readable beginning.

use super::hold::{Held, LOGS};
use super::record::number;
use crate::health::marker::beside;
use crate::private;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"SQLite format 3\0";
const HEADER: usize = 100;
/// From the usual one on.
const PAGE_SIZES: [usize; 8] = [4096, 1024, 2048, 8192, 16384, 32768, 65536, 512];
/// Enough pages to tell a page size by.
const SAMPLE: u64 = 4 * 1024 * 1024;

/// A file as pages.
pub(super) struct Pages {
    file: File,
    pub(super) size: usize,
    pub(super) usable: usize,
    pub(super) count: u32,
    pub(super) bytes: u64,
}

/// Whether the beginning of the file had to be made up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Beginning {
    Kept,
    MadeUp,
}

/// Copies the file and its logs into a folder.
pub(super) fn take(held: &Held, folder: &Path) -> io::Result<PathBuf> {
    let copy = folder.join("copy.db");
    // Not opened anew: closing it would cost the lock.
    let mut from = &held.file;
    from.rewind()?;
    io::copy(&mut from, &mut private::create_new(&copy)?)?;
    for addition in LOGS {
        match fs::copy(beside(&held.real, addition), beside(&copy, addition)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(copy)
}

/// Gives a copy whose first bytes were destroyed a beginning that SQLite can read, so that the rest has a chance.
pub(super) fn mend_beginning(copy: &Path) -> io::Result<Beginning> {
    let mut file = OpenOptions::new().read(true).write(true).open(copy)?;
    let mut header = Vec::new();
    (&mut file).take(HEADER as u64).read_to_end(&mut header)?;
    if header.starts_with(MAGIC) && declared_size(&header).is_some() || header.len() < HEADER {
        return Ok(Beginning::Kept);
    }
    let size = guess_size(&mut file)?;
    let pages = u32::try_from(file.metadata()?.len() / size as u64).unwrap_or(u32::MAX);
    let has_log = fs::metadata(copy.with_extension("db-wal")).is_ok_and(|log| log.len() > 0);
    let mode = if has_log { 2 } else { 1 };
    let mut made = MAGIC.to_vec();
    made.extend(u16::try_from(size).unwrap_or(1).to_be_bytes());
    made.extend([mode, mode, 0, 64, 32, 32]);
    for word in [1, pages, 0, 0, 1, 4, 0, 0, 1, 0, 0, 0] {
        made.extend(u32::to_be_bytes(word));
    }
    made.resize(92, 0);
    made.extend(u32::to_be_bytes(1));
    made.extend(u32::to_be_bytes(3_040_000));
    file.seek(SeekFrom::Start(0))?;
    file.write_all(&made)?;
    Ok(Beginning::MadeUp)
}

fn declared_size(header: &[u8]) -> Option<usize> {
    match number(header, 16, 2)? {
        1 => Some(65_536),
        size if size >= 512 && size.is_power_of_two() => Some(size),
        _ => None,
    }
}

/// The size that most pages look right with.
fn guess_size(file: &mut File) -> io::Result<usize> {
    file.seek(SeekFrom::Start(0))?;
    let mut sample = Vec::new();
    file.take(SAMPLE).read_to_end(&mut sample)?;
    let share = |size: usize| {
        let right = sample.chunks_exact(size).skip(1).filter(|page| looks_right(page)).count();
        right * size
    };
    let best = PAGE_SIZES.into_iter().rev().max_by_key(|size| share(*size));
    Ok(best.unwrap_or(4096))
}

/// A leaf is filled from its end: its cells reach into the second half, and none lies beyond it.
fn looks_right(page: &[u8]) -> bool {
    let Some(10 | 13) = page.first() else { return false };
    let cells = number(page, 3, 2).unwrap_or_default();
    let last = (0..cells).map_while(|cell| number(page, 8 + 2 * cell, 2)).max().unwrap_or_default();
    (page.len() / 2..page.len()).contains(&last)
}

impl Pages {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let mut file = File::open(path)?;
        let mut header = Vec::new();
        (&mut file).take(HEADER as u64).read_to_end(&mut header)?;
        let size = match declared_size(&header) {
            Some(size) => size,
            None => guess_size(&mut file)?,
        };
        let reserved = usize::from(header.get(20).copied().unwrap_or_default());
        let usable = if reserved <= size.saturating_sub(480) { size - reserved } else { size };
        let bytes = file.metadata()?.len();
        let count = u32::try_from(bytes.div_ceil(size as u64)).unwrap_or(u32::MAX);
        Ok(Self { file, size, usable, count, bytes })
    }

    /// A page by its number, from 1 on; the last one may be cut.
    pub(super) fn read(&mut self, page: u32, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        let Some(before) = page.checked_sub(1).filter(|_| page <= self.count) else { return Ok(()) };
        self.file.seek(SeekFrom::Start(u64::from(before) * self.size as u64))?;
        (&mut self.file).take(self.size as u64).read_to_end(into)?;
        Ok(())
    }

    /// Pages that hold nothing any more. What was deleted stays deleted.
    pub(super) fn free(&mut self) -> io::Result<Vec<bool>> {
        let mut free = vec![false; self.count as usize + 1];
        let mut page = Vec::new();
        self.read(1, &mut page)?;
        let mut trunk = number(&page, 32, 4).unwrap_or_default();
        while let Some(is_free @ false) = free.get_mut(trunk) {
            *is_free = true;
            self.read(u32::try_from(trunk).unwrap_or_default(), &mut page)?;
            let leaves = number(&page, 4, 4).unwrap_or_default().min(self.size / 4);
            for leaf in (0..leaves).filter_map(|leaf| number(&page, 8 + 4 * leaf, 4)) {
                if let Some(is_free) = free.get_mut(leaf) {
                    *is_free = true;
                }
            }
            trunk = number(&page, 0, 4).unwrap_or_default();
        }
        Ok(free)
    }
}
