//! Documents that are not text, as text: notebooks by their cells, `.docx` by its paragraphs, `.xlsx` by its rows.
//!
//! Only words come out: no layout, no pictures, no formulas. What a document unpacks to is bounded, whatever it claims.

use super::kinds::Format;
use super::markup::{Piece, pieces};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{Cursor, Read as _};
use std::ops::ControlFlow;

/// Bytes of one part of a document.
const PART: u64 = 32 << 20;
/// Sheets of a workbook that are shown.
const SHEETS: usize = 50;
/// Columns of a row; no program makes more.
const COLUMNS: usize = 16_384;
/// Bytes of text that come out of a workbook. Its cells can repeat one long text without end.
const TEXT: usize = 16 << 20;
const LEFT_OUT: &str = "# --- the rest of the workbook is left out: it is too large ---\n";

type Archive<'a> = zip::ZipArchive<Cursor<&'a [u8]>>;

/// The text of a document; nothing when it cannot be read as one.
pub(super) fn text(format: Format, bytes: &[u8]) -> Option<String> {
    match format {
        Format::Notebook => notebook(bytes),
        Format::Word => word(bytes),
        Format::Sheet => workbook(bytes),
    }
}

/// One file of the archive as text; one that is larger than it may be is no text.
fn part(archive: &mut Archive<'_>, name: &str) -> Option<String> {
    let mut bytes = Vec::new();
    archive.by_name(name).ok()?.take(PART + 1).read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= PART).then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn word(bytes: &[u8]) -> Option<String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
    let body = part(&mut archive, "word/document.xml")?;
    let mut text = String::new();
    let mut in_text = false;
    for piece in pieces(&body) {
        match piece {
            Piece::Open(tag) if tag.name == "t" => in_text = true,
            Piece::Close("t") => in_text = false,
            Piece::Text(words) if in_text => text.push_str(&words),
            Piece::Open(tag) | Piece::Empty(tag) if tag.name == "tab" => text.push('\t'),
            Piece::Open(tag) | Piece::Empty(tag) if matches!(tag.name, "br" | "cr") => text.push('\n'),
            Piece::Close("p") => text.push('\n'),
            _ => {}
        }
    }
    Some(text)
}

/// The sheets in the order of their files, each row a line with tabs between its cells.
fn workbook(bytes: &[u8]) -> Option<String> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).ok()?;
    let shared = part(&mut archive, "xl/sharedStrings.xml").map(|part| shared_strings(&part)).unwrap_or_default();
    let names = part(&mut archive, "xl/workbook.xml").map(|part| sheet_names(&part)).unwrap_or_default();
    let mut text = String::new();
    for number in 1..=SHEETS {
        let Some(sheet) = part(&mut archive, &format!("xl/worksheets/sheet{number}.xml")) else { break };
        let name = names.get(number - 1).map_or("", String::as_str);
        // Writing to a string does not fail.
        let _ = writeln!(text, "# --- sheet {number}: {name} ---");
        if rows(&mut text, &sheet, &shared).is_break() {
            text.push_str(LEFT_OUT);
            break;
        }
    }
    (!text.is_empty()).then_some(text)
}

fn sheet_names(workbook: &str) -> Vec<String> {
    let names = pieces(workbook).filter_map(|piece| match piece {
        Piece::Open(tag) | Piece::Empty(tag) if tag.name == "sheet" => tag.attribute("name"),
        _ => None,
    });
    names.map(std::borrow::Cow::into_owned).collect()
}

/// The texts that cells refer to by number.
fn shared_strings(part: &str) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    let mut in_text = false;
    for piece in pieces(part) {
        match piece {
            Piece::Open(tag) | Piece::Empty(tag) if tag.name == "si" => texts.push(String::new()),
            Piece::Open(tag) if tag.name == "t" => in_text = true,
            Piece::Close("t") => in_text = false,
            Piece::Text(words) if in_text => onto_last(&mut texts, &words),
            _ => {}
        }
    }
    texts
}

fn onto_last(texts: &mut [String], words: &str) {
    if let Some(last) = texts.last_mut() {
        last.push_str(words);
    }
}

/// The rows of one sheet, as long as there is room.
fn rows(text: &mut String, sheet: &str, shared: &[String]) -> ControlFlow<()> {
    let mut room = TEXT.saturating_sub(text.len());
    let mut cells: Vec<String> = Vec::new();
    let (mut refers, mut in_value) = (false, false);
    for piece in pieces(sheet) {
        match piece {
            Piece::Open(tag) | Piece::Empty(tag) if tag.name == "c" => {
                refers = tag.attribute("t").as_deref() == Some("s");
                // Empty cells are left out of the file; they keep their place.
                let column = tag.attribute("r").map_or(cells.len(), |place| column(&place));
                cells.resize(column.clamp(cells.len(), COLUMNS.max(cells.len())), String::new());
                if cells.len() < COLUMNS {
                    cells.push(String::new());
                }
            }
            Piece::Open(tag) if matches!(tag.name, "v" | "t") => in_value = true,
            Piece::Close("v" | "t") => in_value = false,
            Piece::Text(value) if in_value => {
                let meant = value.parse().ok().filter(|_| refers).and_then(|index: usize| shared.get(index));
                let words = meant.map_or(value.as_ref(), String::as_str);
                room = take(room, words.len())?;
                onto_last(&mut cells, words);
            }
            Piece::Close("row") => {
                room = take(room, cells.len() + 1)?;
                text.push_str(&cells.join("\t"));
                text.push('\n');
                cells.clear();
            }
            _ => {}
        }
    }
    ControlFlow::Continue(())
}

fn take(room: usize, wanted: usize) -> ControlFlow<(), usize> {
    room.checked_sub(wanted).map_or(ControlFlow::Break(()), ControlFlow::Continue)
}

/// The number of the column in a place such as `AB12`, from 0.
fn column(place: &str) -> usize {
    let letters = place.bytes().take_while(u8::is_ascii_alphabetic).take(3);
    let number = letters.fold(0, |number, letter| number * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1);
    number.saturating_sub(1)
}

/// The cells of a notebook in order, each with the text of its outputs.
fn notebook(bytes: &[u8]) -> Option<String> {
    let whole: Value = serde_json::from_slice(bytes).ok()?;
    let cells = whole.get("cells")?.as_array()?;
    let mut text = String::new();
    for (number, cell) in cells.iter().enumerate() {
        let kind = cell.get("cell_type").and_then(Value::as_str).unwrap_or("cell");
        // Writing to a string does not fail.
        let _ = writeln!(text, "# --- cell {} ({kind}) ---", number + 1);
        lines(&mut text, &joined(cell.get("source")));
        for output in cell.get("outputs").and_then(Value::as_array).into_iter().flatten() {
            let said = match (output.get("text"), output.get("data"), output.get("traceback")) {
                (Some(said), _, _) => joined(Some(said)),
                (None, Some(data), _) => {
                    data.get("text/plain").map_or_else(|| shown_kinds(data), |plain| joined(Some(plain)))
                }
                (None, None, Some(trace)) => {
                    String::from_utf8_lossy(&strip_ansi_escapes::strip(joined(Some(trace)))).into_owned()
                }
                (None, None, None) => continue,
            };
            text.push_str("# output:\n");
            lines(&mut text, &said);
        }
    }
    Some(text)
}

fn lines(text: &mut String, added: &str) {
    text.push_str(added);
    if !added.is_empty() && !added.ends_with('\n') {
        text.push('\n');
    }
}

/// A text, or a list of lines that already end as they should.
fn joined(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().filter_map(Value::as_str).collect(),
        _ => String::new(),
    }
}

/// Pictures and the like are named, not shown.
fn shown_kinds(data: &Value) -> String {
    let kinds: Vec<&str> = data.as_object().into_iter().flatten().map(|(kind, _)| kind.as_str()).collect();
    format!("[{}]", kinds.join(", "))
}
