//! The kernel's table of processes, as far as `/proc` shows it. Nothing is cached: a row is true for the moment it was
//! read, and [`Identity`] tells a process from a later one that got the same number.

use std::io::Read;
use std::path::{Path, PathBuf};

/// More than a kernel lets a process have.
const LARGEST_ENVIRONMENT: u64 = 8 << 20;

/// A process and no other: numbers come back, a number with a time of birth does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    pub pid: u32,
    /// Clock ticks between the start of the machine and that of the process.
    pub born: u64,
}

/// One line of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) who: Identity,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    pub(super) life: Life,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Life {
    Living,
    /// Ended, and only waiting for its parent to notice.
    Ended,
}

impl Identity {
    /// The process that has this number now. `None` where there is none, or no `/proc`.
    pub fn of(pid: u32) -> Option<Self> {
        row(pid).map(|row| row.who)
    }

    /// Whether it still runs.
    pub fn lives(&self) -> bool {
        row(self.pid).is_some_and(|row| row.who == *self && row.life == Life::Living)
    }
}

/// Every process that can be seen.
pub(super) fn rows() -> Vec<Row> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(row).collect()
}

pub(super) fn row(pid: u32) -> Option<Row> {
    // A name may hold any byte.
    let stat = std::fs::read(file_of(pid, "stat")).ok()?;
    parse(pid, &String::from_utf8_lossy(&stat))
}

/// `pid (name) state parent group session …`, the time of birth being the 22nd field. The name may hold spaces and
/// brackets, so fields are counted from the last bracket.
fn parse(pid: u32, stat: &str) -> Option<Row> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = after_name.split_ascii_whitespace().collect();
    let number = |place: usize| fields.get(place)?.parse::<u32>().ok();
    let life = if matches!(*fields.first()?, "Z" | "X" | "x") { Life::Ended } else { Life::Living };
    let born = fields.get(19)?.parse().ok()?;
    let who = Identity { pid, born };
    Some(Row { who, parent: number(1)?, group: number(2)?, session: number(3)?, life })
}

/// Whether the process was started with `mark` among the marks of `variable`. What cannot be read has none.
pub(super) fn carries(pid: u32, variable: &str, mark: &str) -> bool {
    let Ok(file) = std::fs::File::open(file_of(pid, "environ")) else { return false };
    let mut environment = Vec::new();
    if file.take(LARGEST_ENVIRONMENT).read_to_end(&mut environment).is_err() {
        return false;
    }
    environment.split(|byte| *byte == 0).any(|entry| {
        let entry = String::from_utf8_lossy(entry);
        let marks = entry.strip_prefix(variable).and_then(|rest| rest.strip_prefix('='));
        marks.is_some_and(|marks| marks.split(':').any(|found| found == mark))
    })
}

fn file_of(pid: u32, name: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_spaces_moves_no_field() {
        let stat = "42 (a) R 1 (b) c) S 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 9001 1 2";
        let who = Identity { pid: 42, born: 9001 };
        assert_eq!(parse(42, stat), Some(Row { who, parent: 7, group: 42, session: 41, life: Life::Living }));
        assert_eq!(parse(42, "42 (cut"), None);
        assert_eq!(parse(42, "42 (cut) S 1 2 3"), None);
    }
}
