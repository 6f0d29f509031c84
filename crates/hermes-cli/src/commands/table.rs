//! Text in columns, for people.

use std::io::{self, Write};

/// A cell wider than this does not push the others aside.
const WIDEST: usize = 40;

/// Writes rows with their columns aligned, indented by two.
pub(super) fn write<const N: usize>(out: &mut dyn Write, rows: &[[String; N]]) -> io::Result<()> {
    let width = |column: usize| {
        let widths = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        widths.filter(|width| *width <= WIDEST).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        writeln!(out, "  {}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
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

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
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
    fn columns_line_up_and_a_wide_cell_stands_alone() {
        let wide = "x".repeat(WIDEST + 1);
        let rows = [["a", "bb", "c"], ["aaa", "b", ""], [&wide, "b", "c"]].map(|row| row.map(str::to_owned));
        let mut out = Vec::new();
        write(&mut out, &rows).expect("written");
        let expected = format!("  a    bb  c\n  aaa  b\n  {wide}  b   c\n");
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}
