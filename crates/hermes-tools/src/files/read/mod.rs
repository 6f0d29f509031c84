//! `read_file`: a page of a file with numbered lines.
//!
//! Small files are read once; of large ones only the way to the page is read, and never more than a page is kept. A page
//! the conversation has already is not sent again. What is no text is named, not shown.

mod document;
mod kinds;
mod markup;
mod window;

use super::history::{Asked, Known, PageKey};
use super::keys;
use super::page::{EndedBy, Page, PageRequest, is_binary, page, paged, similar_names};
use super::place::open::Opened;
use super::place::{Readable, Rules};
use super::stamp::{Stamp, fingerprint, is_settled};
use super::text;
use crate::cover::Cover;
use crate::desk::{Cx, Desk};
use crate::effects::Effects;
use crate::gate::Permit;
use crate::run::Reader;
use crate::tool::{Card, Output, Repeats, ResultCap, Tool, ToolError};
use hermes_core::stop::Stop;
use kinds::Kind;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fs::{File, Metadata};
use std::io::{BufReader, Cursor, Read as _};
use std::path::Path;
use std::sync::Arc;

const LINES: i64 = 500;
/// Files up to this size are read as a whole.
const WHOLE: u64 = 1 << 20;
/// Files in UTF-16 and documents are turned into text as a whole; larger ones are refused.
const CONVERTED: u64 = 32 << 20;
/// Bytes that tell text from other things.
const SAMPLE: usize = 1_000;
const LARGE: u64 = 512_000;
const MANY_LINES: usize = 200;

pub(crate) struct ReadFile;

#[derive(Debug, Deserialize)]
pub(crate) struct ReadFileArgs {
    path: String,
    #[serde(default)]
    offset: Option<i64>,
    #[serde(default)]
    limit: Option<i64>,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, relative to the working directory, or ~/..."},
            "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line, from 1"},
            "limit": {"type": "integer", "minimum": 1, "default": LINES, "description": "Most lines"}
        },
        "required": ["path"]
    })
}

#[derive(Debug, Default, Serialize)]
struct Shown {
    content: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<usize>,
    file_size: u64,
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    truncated_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    is_binary: bool,
    is_image: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    extracted_document: Option<bool>,
    #[serde(rename = "_hint", skip_serializing_if = "Option::is_none")]
    size_hint: Option<&'static str>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

#[derive(Debug, Serialize)]
struct Unchanged<'a> {
    status: &'static str,
    message: &'static str,
    path: &'a str,
    dedup: bool,
    content_returned: bool,
}

pub(super) const UNCHANGED: &str = "The file is as it was when these lines were last shown; see that result above.";

impl Tool for ReadFile {
    type Args = ReadFileArgs;

    fn card(&self) -> Card {
        let description = "Read a text file as numbered lines `N|text`, page by page. Also notebooks (.ipynb), .docx and \
                           .xlsx as text. Use this instead of cat, head, tail or sed.";
        Card {
            emoji: "📖",
            result_cap: ResultCap::Own,
            repeats: Repeats::Idempotent,
            ..Card::new("read_file", "file", description, parameters())
        }
    }

    fn effects(&self, args: &ReadFileArgs, cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::read(checked(args, &cx.desk)?.path()))
    }

    async fn call(&self, args: ReadFileArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let (desk, stop, reader) = (cx.desk.clone(), cx.stop.clone(), cx.hands.reader());
        let readable = checked(&args, &desk)?;
        super::still(&permit, readable.path())?;
        super::blocking(move || read(&args, &readable, &desk, reader, &stop)).await
    }
}

fn checked(args: &ReadFileArgs, desk: &Desk) -> Result<Readable, ToolError> {
    let rules = Rules::of(&desk.settings().around);
    rules.readable(&args.path, &desk.cwd()).map_err(|why| ToolError::told(why.to_string()))
}

fn read(
    args: &ReadFileArgs,
    readable: &Readable,
    desk: &Arc<Desk>,
    reader: Reader,
    stop: &Stop,
) -> Result<Output, ToolError> {
    let (file, about) = match readable.open() {
        Ok(Opened::File(file, about)) => (file, about),
        Ok(Opened::Absent) => return Err(missing(&args.path, readable.path())),
        Ok(Opened::Directory) => {
            let message = format!("{} is a directory. Use search_files with target=\"files\" to list it.", args.path);
            return Err(ToolError::told(message));
        }
        Ok(Opened::Special) => {
            return Err(ToolError::told(format!("{} is no file but a device or a pipe.", args.path)));
        }
        Err(error) => return Err(ToolError::told(format!("{} cannot be read: {error}.", args.path))),
    };
    let settings = &desk.settings().files;
    let at_least_one = |value: Option<i64>, usual: i64| usize::try_from(value.unwrap_or(usual).max(1)).unwrap_or(1);
    let request = PageRequest {
        offset: at_least_one(args.offset, 1),
        limit: at_least_one(args.limit, LINES).min(settings.max_lines),
        line_chars: settings.max_line_length,
        // A page that is larger than a result may be would go to a file, and be read again from there.
        page_chars: settings.max_chars.min(desk.room.sizes().result),
    };
    let stamp = Stamp::of(&about);
    let key = PageKey { path: readable.path().to_path_buf(), offset: request.offset, limit: request.limit };
    let asked = match reader {
        Reader::Model => desk.history.ask(&key, &stamp),
        // What the conversation has a program has not, and the other way round.
        Reader::Program => Asked::Fresh,
    };
    let warning = match asked {
        Asked::Fresh => None,
        Asked::Often(count) => Some(format!(
            "These lines were asked for {count} times in a row. The next time is refused: use what you have, or do \
             something else first."
        )),
        Asked::Unchanged => {
            let message = UNCHANGED;
            let unchanged =
                Unchanged { status: "unchanged", message, path: &args.path, dedup: true, content_returned: false };
            return Output::json(&unchanged);
        }
        Asked::TooOften(count) => {
            let error = format!(
                "BLOCKED: these lines of {} were asked for {count} times in a row. They are in the conversation: use \
                 them, or go on with another step.",
                args.path
            );
            return Err(ToolError::Tell(json!({"error": error, "path": args.path, "already_read": count - 1})));
        }
    };
    let at = desk.shop.traffic.now();
    let (mut shown, print) =
        contents(&args.path, readable.path(), (file, &about), &request, desk.settings().cover, stop)?;
    shown.warning = warning;
    desk.history.knows(readable.path(), Known { stamp, print, at });
    if reader == Reader::Model && is_settled(&about) {
        desk.history.showed(key, stamp);
    }
    Output::json(&shown)
}

/// The page, and what tells the whole content from another one where all of it was read.
fn contents(
    name: &str,
    path: &Path,
    (mut file, about): (File, &Metadata),
    request: &PageRequest,
    cover: Cover,
    stop: &Stop,
) -> Result<(Shown, Option<u64>), ToolError> {
    let unreadable = |error: std::io::Error| ToolError::told(format!("{name} cannot be read: {error}."));
    let mut head = Vec::new();
    file.by_ref().take(WHOLE + 1).read_to_end(&mut head).map_err(unreadable)?;
    let whole = head.len() as u64 <= WHOLE;
    let print = whole.then(|| fingerprint(&head));
    let size = about.len().max(head.len() as u64);
    let shown = Shown { file_size: size, ..Shown::default() };
    let kind = kinds::of(path, &head);
    let shown_as = |text: &str, document: Option<bool>, shown: Shown| {
        let text = if cover == Cover::Secrets { keys::covered(text) } else { Cow::Borrowed(text) };
        finished(shown, page(&text, request), request, cover, document)
    };
    let rest = |head: Vec<u8>, file: File| -> Result<Vec<u8>, ToolError> {
        let mut all = head;
        file.take(CONVERTED).read_to_end(&mut all).map_err(unreadable)?;
        Ok(all)
    };
    if let Kind::Document(format) = kind
        && size <= CONVERTED
    {
        let all = rest(head.clone(), file.try_clone().map_err(unreadable)?)?;
        if let Some(text) = document::text(format, &all) {
            return Ok((shown_as(&text, Some(true), shown), print));
        }
    }
    match kind {
        Kind::Image => {
            let hint = "This is an image. Use vision_analyze with its path to see it.".to_owned();
            return Ok((Shown { hint: Some(hint), is_binary: true, is_image: true, ..shown }, print));
        }
        Kind::Binary(what) => return Err(binary(name, size, what)),
        Kind::Document(_) | Kind::Unknown => {}
    }
    if text::encoding_of(&head) != text::Encoding::Utf8 && size <= CONVERTED {
        let all = rest(head, file)?;
        let text = text::decode_lossy(&all);
        return Ok((shown_as(&text, None, shown), print));
    }
    if is_binary(head.get(..SAMPLE).unwrap_or(&head)) {
        return Err(binary(name, size, "not text"));
    }
    if whole {
        let text = String::from_utf8_lossy(&head);
        return Ok((shown_as(&text, None, shown), print));
    }
    let source = BufReader::with_capacity(1 << 16, Cursor::new(head).chain(file));
    let window = window::read(source, request, cover, stop).map_err(unreadable)?;
    let read = paged(window.lines.iter().map(String::as_str), window.counted, request);
    let mut shown = finished(shown, read, request, cover, None);
    if window.end == window::End::NotReached {
        shown.total_lines = None;
        shown.hint = shown.next_offset.map(|next| {
            format!(
                "Lines {} to {} are shown; the file is too large to count its lines. Use offset={next} to continue.",
                request.offset,
                next - 1
            )
        });
    }
    Ok((shown, print))
}

fn finished(shown: Shown, read: Page, request: &PageRequest, cover: Cover, extracted_document: Option<bool>) -> Shown {
    let truncated = read.next_offset.is_some();
    let large = shown.file_size > LARGE && request.limit > MANY_LINES && truncated;
    Shown {
        content: cover.file(&read.content).into_owned(),
        total_lines: Some(read.total_lines),
        truncated,
        truncated_by: (read.ended_by == Some(EndedBy::Bytes)).then_some("bytes"),
        next_offset: read.next_offset,
        hint: read.hint,
        extracted_document,
        size_hint: large.then_some("The file is large. search_files finds the lines you need; read only those."),
        ..shown
    }
}

fn binary(name: &str, size: u64, what: &str) -> ToolError {
    ToolError::told(format!(
        "{name} is {what} ({size} bytes) and is not shown as text. Use vision_analyze for pictures, or a command that \
         understands the format."
    ))
}

fn missing(name: &str, path: &Path) -> ToolError {
    let entries = path.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut names: Vec<String> =
        entries.into_iter().flatten().flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let wanted = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    // The directory of the person's words, so that a suggestion can be used as it is.
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    let named = |entry: &str| if name.contains('/') { format!("{folder}/{entry}") } else { entry.to_owned() };
    let similar: Vec<String> =
        similar_names(&wanted, names.iter().map(String::as_str)).into_iter().map(named).collect();
    ToolError::Tell(json!({"error": format!("File not found: {name}"), "similar_files": similar}))
}
