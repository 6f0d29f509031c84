//! The picture of `hermes demo`: a real run on a pseudo-terminal, drawn cell by cell as SVG. Each line appears when it did in
//! the run; a viewer that does not animate shows the last frame.

use std::fmt::Write as _;
use std::io::Read;
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const COLUMNS: u16 = 80;
const ROWS: u16 = 48;
const FILE: &str = "docs/demo.svg";

/// Sizes in pixels.
const CELL: f64 = 8.43;
const LINE: f64 = 19.0;
const MARGIN: f64 = 18.0;
const TITLE: f64 = 34.0;

const STYLE: &str = "\
text{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:14px;fill:#e6edf3}
.dim{fill:#8b949e}.prompt{fill:#7ee787}.row{animation:appear .2s backwards}
@keyframes appear{from{opacity:0}}
@media(prefers-reduced-motion){.row{animation:none}}";

pub(crate) fn run(hermes: &Path) {
    let rows = perform(hermes);
    std::fs::write(FILE, draw(&rows)).expect("the picture can be written");
    println!("{FILE}: {} lines", rows.len());
}

/// A line of the screen: runs of cells that look alike, and when the first of them came.
struct Row {
    runs: Vec<(String, bool)>,
    at: Duration,
}

fn perform(hermes: &Path) -> Vec<Row> {
    let home = tempfile::tempdir().expect("a home");
    let line = format!("stty cols {COLUMNS} rows {ROWS}; exec {} demo", hermes.display());
    let mut child = Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("HOME", home.path())
        .env("HERMES_HOME", home.path())
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script(1) runs");
    let mut output = child.stdout.take().expect("a pipe");
    let cells = |count| NonZero::new(count).expect("a screen has cells");
    let mut parser = vt100::Parser::new(cells(ROWS), cells(COLUMNS), 0);
    let mut seen: Vec<Option<Duration>> = vec![None; usize::from(ROWS)];
    let begun = Instant::now();
    let mut bytes = [0; 4096];
    loop {
        let count = output.read(&mut bytes).expect("a pipe can be read");
        if count == 0 {
            break;
        }
        parser.process(&bytes[..count]);
        for (row, text) in parser.screen().rows(0, COLUMNS).enumerate() {
            if !text.trim().is_empty() {
                seen[row].get_or_insert(begun.elapsed());
            }
        }
    }
    assert!(child.wait().expect("it ended").success(), "the demo failed");
    let last = seen.iter().rposition(Option::is_some).expect("something was printed");
    let row = |number: usize| Row { runs: runs(parser.screen(), number), at: seen[number].unwrap_or_default() };
    (0..=last).map(row).collect()
}

/// Neighbouring cells of one style, as text and whether it is dimmed.
fn runs(screen: &vt100::Screen, row: usize) -> Vec<(String, bool)> {
    let mut runs: Vec<(String, bool)> = Vec::new();
    for column in 0..COLUMNS {
        let Some(cell) = screen.cell(u16::try_from(row).expect("a row"), column) else { continue };
        let text = if cell.has_contents() { cell.contents() } else { " " };
        match runs.last_mut() {
            Some((run, dim)) if *dim == cell.dim() => run.push_str(text),
            _ => runs.push((text.to_owned(), cell.dim())),
        }
    }
    if let Some((last, _)) = runs.last_mut() {
        last.truncate(last.trim_end().len());
    }
    runs.retain(|(text, _)| !text.is_empty());
    runs
}

fn draw(rows: &[Row]) -> String {
    let width = f64::from(COLUMNS) * CELL + 2.0 * MARGIN;
    let height = TITLE + (rows.len() + 1) as f64 * LINE + MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         xml:space=\"preserve\" aria-label=\"hermes demo in a terminal\">\n<style>{STYLE}</style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"10\" fill=\"#0d1117\"/>\n"
    );
    for (place, colour) in ["#ff5f57", "#febc2e", "#28c840"].into_iter().enumerate() {
        let x = MARGIN + 6.0 + 20.0 * place as f64;
        writeln!(svg, "<circle cx=\"{x}\" cy=\"17\" r=\"6\" fill=\"{colour}\"/>").expect("text grows");
    }
    let mut y = TITLE + LINE - 4.0;
    writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\"><tspan class=\"prompt\">$</tspan> hermes demo</text>")
        .expect("text grows");
    for row in rows {
        y += LINE;
        let delay = row.at.as_secs_f64();
        let mut line = String::new();
        for (text, dim) in &row.runs {
            let class = if *dim { " class=\"dim\"" } else { "" };
            write!(line, "<tspan{class}>{}</tspan>", escaped(text)).expect("text grows");
        }
        if row.runs.iter().any(|(text, _)| !text.trim().is_empty()) {
            let animation = format!("animation-delay:{delay:.2}s");
            writeln!(svg, "<text class=\"row\" x=\"{MARGIN}\" y=\"{y}\" style=\"{animation}\">{line}</text>")
                .expect("text grows");
        }
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
