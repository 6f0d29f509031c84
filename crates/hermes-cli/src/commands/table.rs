//! Text in columns, for people.

use super::paper::{cells, cut, padded};
use crate::output::wrap::fill;
use std::io::{self, Write};

/// A cell wider than this does not push the others aside.
const WIDEST: usize = 40;
/// Narrower than this, a column of sentences cannot be read.
const LEAST_ROOM: usize = 24;
/// Where what has no room beside the rest begins.
const BELOW: usize = 6;

/// Writes rows with their columns aligned, indented by two.
pub(super) fn write<const N: usize>(out: &mut dyn Write, rows: &[[String; N]]) -> io::Result<()> {
    write_within(None, out, rows)
}

/// The same, every line cut where a terminal ends.
pub(super) fn write_within<const N: usize>(
    width: Option<usize>,
    out: &mut dyn Write,
    rows: &[[String; N]],
) -> io::Result<()> {
    let of_column = |column: usize| {
        let widths = rows.iter().filter_map(|row| row.get(column)).map(|cell| cells(cell));
        widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(of_column).collect();
    for row in rows {
        let columns = row.iter().zip(&widths).map(|(cell, width)| padded(cell, *width));
        let line = format!("  {}", columns.collect::<Vec<_>>().join("  "));
        let line = width.map_or_else(|| line.clone(), |width| cut(line.trim_end(), width));
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// The same, with the last column broken between words where a terminal ends, under its own beginning or, where that
/// leaves no room, on lines below.
pub(super) fn write_folded<const N: usize>(
    width: Option<usize>,
    out: &mut dyn Write,
    rows: &[[String; N]],
) -> io::Result<()> {
    let Some(width) = width else { return write(out, rows) };
    let mut lines = Vec::new();
    write(&mut lines, rows)?;
    for (line, row) in String::from_utf8_lossy(&lines).lines().zip(rows) {
        let last = row.last().map(String::as_str).unwrap_or_default();
        let head = line.strip_suffix(last.trim_end()).unwrap_or_default();
        if cells(line) <= width || head.is_empty() {
            writeln!(out, "{line}")?;
            continue;
        }
        let beside = width.saturating_sub(cells(head));
        let (indent, room) =
            if beside >= LEAST_ROOM { (cells(head), beside) } else { (BELOW, width - BELOW.min(width)) };
        let filled = fill(last, room).replace('\n', &format!("\n{}", " ".repeat(indent)));
        match beside >= LEAST_ROOM {
            true => writeln!(out, "{head}{filled}")?,
            false => writeln!(out, "{}\n{}{filled}", head.trim_end(), " ".repeat(BELOW))?,
        }
    }
    Ok(())
}

/// A length of time in the largest unit that says enough.
pub(super) fn span(time: std::time::Duration) -> String {
    match time.as_secs() {
        seconds @ 0..120 => format!("{seconds} s"),
        seconds @ 120..7_200 => format!("{} min", seconds / 60),
        seconds @ 7_200..172_800 => format!("{} h", seconds / 3_600),
        seconds => format!("{} days", seconds / 86_400),
    }
}

/// `1 message`, `2 messages`.
pub(super) fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A number of bytes in the unit that says enough.
pub(super) fn size(bytes: u64) -> String {
    let mut amount = bytes as f64;
    let mut told = count(bytes, "byte");
    for unit in ["KiB", "MiB", "GiB"] {
        amount /= 1024.0;
        if amount < 1.0 {
            break;
        }
        told = format!("{amount:.1} {unit}");
    }
    told
}

/// A number with its thousands apart.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn numbers_and_times_read_well() {
        let numbers = [0, 999, 1_000, 128_000, 1_048_576].map(grouped);
        assert_eq!(numbers, ["0", "999", "1,000", "128,000", "1,048,576"]);
        let spans = [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(|seconds| span(Duration::from_secs(seconds)));
        assert_eq!(spans, ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 days"]);
    }

    #[test]
    fn the_last_column_breaks_between_words_and_keeps_its_place() {
        let rows = [
            ["on".to_owned(), "file".to_owned(), "patch, read_file, search_files, write_file".to_owned()],
            ["off".to_owned(), "todo".to_owned(), "todo".to_owned()],
        ];
        let drawn = |width| {
            let mut out = Vec::new();
            write_folded(width, &mut out, &rows).expect("memory takes everything");
            String::from_utf8(out).expect("text")
        };
        let whole = "  on   file  patch, read_file, search_files, write_file\n  off  todo  todo\n";
        assert_eq!((drawn(None), drawn(Some(60))), (whole.to_owned(), whole.to_owned()));
        let narrow = "  on   file  patch, read_file,\n             search_files, write_file\n  off  todo  todo\n";
        assert_eq!(drawn(Some(40)), narrow);
        let below = "  on   file\n      patch, read_file,\n      search_files, write_file\n  off  todo  todo\n";
        assert_eq!(drawn(Some(30)), below);
    }

    #[test]
    fn sizes_and_counts_read_well() {
        let sizes = [0, 1, 1023, 1024, 212_992, 5 << 20, 7 << 30].map(size);
        assert_eq!(sizes, ["0 bytes", "1 byte", "1,023 bytes", "1.0 KiB", "208.0 KiB", "5.0 MiB", "7.0 GiB"]);
        assert_eq!([0, 1, 1_000].map(|number| count(number, "day")), ["0 days", "1 day", "1,000 days"]);
    }

    #[test]
    fn wide_letters_take_their_room_and_a_line_ends_with_the_terminal() {
        let rows = [["汉字", "x", "a long end"], ["abc", "y", ""]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write_within(Some(14), &mut out, &rows).expect("written");
        assert_eq!(String::from_utf8_lossy(&out), "  汉字  x  a …\n  abc   y\n");
    }

    #[test]
    fn columns_line_up_and_a_wide_cell_stands_alone() {
        let wide = "x".repeat(WIDEST + 1);
        let rows = [["a", "bb", "c"], ["aaa", "b", ""], [&wide, "b", "c"]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write(&mut out, &rows).expect("written");
        let expected = format!("  a    bb  c\n  aaa  b\n  {wide}  b   c\n");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
