//! Documents that are not text, as text.

use super::kinds::Format;
use serde_json::Value;
use std::fmt::Write as _;

/// The text of a document; nothing when it cannot be read as one.
pub(super) fn text(format: Format, bytes: &[u8]) -> Option<String> {
    match format {
        Format::Notebook => notebook(bytes),
        Format::Word | Format::Sheet => None,
    }
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
