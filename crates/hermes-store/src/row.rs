//! A message as a row, and back, without losing a byte.
//!
//! What has a column goes into its column, so that every program that shares the file sees it; the rest goes into
//! `hermes_message_extra`. List content is stored as NUL, `json:` and JSON text, as the other program does it.

use crate::db::Db;
use crate::fault::DbResult;
use crate::ledger::integer;
use crate::schema::Shape;
use hermes_core::store::StoreError;
use hermes_types::{
    Assistant, CallId, Content, Message, MessageId, Moment, NewMessage, Object, Plain, RowState, SessionId, StopReason,
    StoredMessage, ToolResult,
};
use rusqlite::types::ValueRef;
use rusqlite::{Row, ToSql, params_from_iter};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// The columns of the view `every_message` that we know, in the order [`read`] expects them.
const COLUMNS: &str = "id, session_id, role, content, tool_call_id, tool_calls, tool_name, timestamp, \
    token_count, finish_reason, reasoning, reasoning_details, codex_reasoning_items, reasoning_content, \
    codex_message_items, sent, state, fields";

/// As many columns are known; what other programs added follows.
const KNOWN: usize = 18;
/// Of the known ones, those that a message of a foreign role has in no other place.
const OF_FOREIGN: [(usize, &str); 9] = [
    (4, "tool_call_id"),
    (5, "tool_calls"),
    (6, "tool_name"),
    (9, "finish_reason"),
    (10, "reasoning"),
    (11, "reasoning_details"),
    (12, "codex_reasoning_items"),
    (13, "reasoning_content"),
    (14, "codex_message_items"),
];

/// What is selected from `every_message` for [`read`].
pub(crate) fn columns(shape: &Shape) -> String {
    shape.foreign_columns().fold(COLUMNS.to_owned(), |columns, name| columns + ", " + &name)
}

/// The levels of JSON that are read.
const DEEPEST: usize = 127;
const JSON_MARK: &str = "\0json:";
/// The keys of `hermes_message_extra.fields`.
const EXTRA: &str = "extra";
const BLOCKS: &str = "anthropic_content_blocks";
const REASONING_CONTENT: &str = "reasoning_content";
const MESSAGE_ITEMS: &str = "codex_message_items";
/// The column for what was sent instead of the content.
const SENT: &str = "api_content";

type Text<'a> = Option<Cow<'a, str>>;

/// A message in pieces: a text for each column it fills, and what has no column in any version.
struct Pieces<'a> {
    columns: Vec<(&'static str, Text<'a>)>,
    fields: Object,
}

/// A message as a file of some shape keeps it: the columns it has, and what goes beside them.
struct Cells<'a> {
    columns: Vec<(&'static str, Text<'a>)>,
    sent: Text<'a>,
    fields: Option<String>,
}

impl<'a> Cells<'a> {
    fn of(new: &'a NewMessage, shape: &Shape) -> DbResult<Self> {
        let Pieces { mut columns, mut fields } = take_apart(&new.message)?;
        columns.push((SENT, new.sent.as_ref().map(encode_content).transpose()?));
        let (columns, homeless): (Vec<_>, Vec<_>) = columns.into_iter().partition(|(name, _)| shape.message_has(name));
        let mut sent = None;
        for (name, text) in homeless {
            if name == SENT {
                sent = text;
            } else if let Some(text) = text {
                fields.insert(name.to_owned(), Value::String(text.into_owned()));
            }
        }
        let fields = (!fields.is_empty()).then(|| to_json(&fields)).transpose()?;
        Ok(Self { columns, sent, fields })
    }

    /// Puts what has no column beside a message; what became of it stays.
    fn keep_beside(&self, db: &Db, message: MessageId) -> DbResult<()> {
        db.connection
            .prepare_cached(
                "INSERT INTO hermes_message_extra(message_id, sent, fields) VALUES(?1, ?2, ?3)
                 ON CONFLICT(message_id) DO UPDATE SET sent = excluded.sent, fields = excluded.fields",
            )?
            .execute((message.0, &self.sent, &self.fields))?;
        Ok(())
    }
}

/// Inserts a message and what belongs beside it.
pub(crate) fn insert(db: &Db, session: &SessionId, new: &NewMessage, at: Moment) -> DbResult<MessageId> {
    let cells = Cells::of(new, &db.shape)?;
    let (session, seconds, tokens) = (session.as_str(), at.seconds(), new.token_count.map(integer));
    let mut names = vec!["session_id", "timestamp", "token_count"];
    let mut values: Vec<&dyn ToSql> = vec![&session, &seconds, &tokens];
    for (name, text) in &cells.columns {
        names.push(*name);
        values.push(text);
    }
    let marks = vec!["?"; names.len()].join(", ");
    db.connection
        .prepare_cached(&format!("INSERT INTO messages({}) VALUES({marks})", names.join(", ")))?
        .execute(params_from_iter(values))?;
    let id = MessageId(db.connection.last_insert_rowid());
    if cells.sent.is_some() || cells.fields.is_some() {
        cells.keep_beside(db, id)?;
    }
    Ok(id)
}

/// Puts another message of the same role in the place of one.
pub(crate) fn replace(db: &Db, message: MessageId, new: &NewMessage) -> DbResult<()> {
    let cells = Cells::of(new, &db.shape)?;
    let (seconds, tokens) = (new.at.map(Moment::seconds), new.token_count.map(integer));
    let mut changes = vec!["timestamp = coalesce(?, timestamp)".to_owned(), "token_count = ?".to_owned()];
    let mut values: Vec<&dyn ToSql> = vec![&seconds, &tokens];
    for (name, text) in &cells.columns {
        changes.push(format!("{name} = ?"));
        values.push(text);
    }
    values.push(&message.0);
    db.connection
        .prepare_cached(&format!("UPDATE messages SET {} WHERE id = ?", changes.join(", ")))?
        .execute(params_from_iter(values))?;
    cells.keep_beside(db, message)
}

/// How many calls a message asks for.
pub(crate) fn calls(message: &Message) -> usize {
    match message {
        Message::Assistant(assistant) => assistant.tool_calls.len(),
        _ => 0,
    }
}

fn take_apart(message: &Message) -> DbResult<Pieces<'_>> {
    let mut columns: Vec<(&'static str, Text<'_>)> = Vec::with_capacity(12);
    let mut fields = Object::new();
    let extra = match message {
        Message::System(plain) | Message::User(plain) => {
            let role = if matches!(message, Message::System(_)) { "system" } else { "user" };
            columns.push(("role", Some(role.into())));
            columns.push(("content", Some(encode_content(&plain.content)?)));
            &plain.extra
        }
        Message::Assistant(assistant) => {
            columns.push(("role", Some("assistant".into())));
            assistant_columns(assistant, &mut columns)?;
            if let Some(blocks) = &assistant.anthropic_content_blocks {
                fields.insert(BLOCKS.into(), Value::Array(blocks.clone()));
            }
            &assistant.extra
        }
        Message::Tool(result) => {
            columns.push(("role", Some("tool".into())));
            columns.push(("content", Some(encode_content(&result.content)?)));
            columns.push(("tool_call_id", Some(result.tool_call_id.as_str().into())));
            columns.push(("tool_name", result.name.as_deref().map(Into::into)));
            &result.extra
        }
    };
    if !extra.is_empty() {
        fields.insert(EXTRA.into(), one_level_down(extra)?);
    }
    Ok(Pieces { columns, fields })
}

fn assistant_columns<'a>(said: &'a Assistant, columns: &mut Vec<(&'static str, Text<'a>)>) -> DbResult<()> {
    let list = |items: &Option<Vec<Value>>| items.as_ref().map(to_json).transpose();
    let calls = (!said.tool_calls.is_empty()).then(|| to_json(&said.tool_calls)).transpose()?;
    columns.extend([
        ("content", said.content.as_ref().map(encode_content).transpose()?),
        ("tool_calls", calls.map(Cow::Owned)),
        ("finish_reason", said.finish_reason.as_ref().map(|reason| reason.as_str().into())),
        ("reasoning", said.reasoning.as_deref().map(Into::into)),
        ("reasoning_details", list(&said.reasoning_details)?.map(Cow::Owned)),
        ("codex_reasoning_items", list(&said.codex_reasoning_items)?.map(Cow::Owned)),
        (REASONING_CONTENT, said.reasoning_content.as_deref().map(Into::into)),
        (MESSAGE_ITEMS, list(&said.codex_message_items)?.map(Cow::Owned)),
    ]);
    Ok(())
}

/// A row of `every_message`.
pub(crate) fn read(row: &Row<'_>) -> DbResult<StoredMessage> {
    let mut fields: Object = text_at(row, 17)?.and_then(|text| from_json(&text)).unwrap_or_default();
    let extra = match fields.remove(EXTRA) {
        Some(Value::Object(extra)) => extra,
        Some(Value::String(text)) => from_json(&text).unwrap_or_default(),
        _ => Object::new(),
    };
    let content = text_at(row, 3)?.map(decode_content);
    let mut columns = foreign_cells(row)?;
    let mut foreign_role = None;
    let role = text_at(row, 2)?.unwrap_or_default();
    let message = match role.as_str() {
        "system" => Message::System(Plain { content: content.unwrap_or_default(), extra }),
        "user" => Message::User(Plain { content: content.unwrap_or_default(), extra }),
        "assistant" => Message::Assistant(read_assistant(row, content, &mut fields, extra)?),
        "tool" => Message::Tool(ToolResult {
            tool_call_id: CallId::new(text_at(row, 4)?.unwrap_or_default()),
            name: text_at(row, 6)?,
            content: content.unwrap_or_default(),
            extra,
        }),
        _ => {
            foreign_role = Some(role);
            for (column, name) in OF_FOREIGN {
                columns.extend(text_at(row, column)?.map(|text| (name.to_owned(), Value::String(text))));
            }
            Message::System(Plain { content: content.unwrap_or_default(), extra })
        }
    };
    Ok(StoredMessage {
        id: MessageId(row.get(0)?),
        session_id: SessionId::new(text_at(row, 1)?.unwrap_or_default()),
        at: Moment::from_seconds(number_at(row, 7)?.unwrap_or_default()),
        token_count: whole_at(row, 8)?.and_then(|count| u64::try_from(count).ok()),
        sent: text_at(row, 15)?.map(decode_content),
        state: match whole_at(row, 16)? {
            Some(0) | None => RowState::Live,
            Some(1) => RowState::Compacted,
            Some(_) => RowState::Undone,
        },
        message,
        foreign_role,
        columns,
    })
}

/// What other programs keep in columns of their own.
fn foreign_cells(row: &Row<'_>) -> DbResult<Object> {
    let mut cells = Object::new();
    for (place, name) in row.as_ref().column_names().enumerate().skip(KNOWN) {
        let value = match row.get_ref(place)? {
            // Nothing, and the nought that a new column puts everywhere, say nothing about a message.
            ValueRef::Null | ValueRef::Integer(0) => continue,
            ValueRef::Integer(number) => number.into(),
            ValueRef::Real(number) => number.into(),
            ValueRef::Text(_) | ValueRef::Blob(_) => text_at(row, place)?.into(),
        };
        cells.insert(name.to_owned(), value);
    }
    Ok(cells)
}

fn read_assistant(row: &Row<'_>, content: Option<Content>, fields: &mut Object, extra: Object) -> DbResult<Assistant> {
    let list =
        |column: usize| -> DbResult<Option<Vec<Value>>> { Ok(text_at(row, column)?.and_then(|text| from_json(&text))) };
    let mut beside = |name: &str| match fields.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let (reasoning_beside, items_beside) = (beside(REASONING_CONTENT), beside(MESSAGE_ITEMS));
    let blocks = match fields.remove(BLOCKS) {
        Some(Value::Array(blocks)) => Some(blocks),
        _ => None,
    };
    Ok(Assistant {
        content,
        reasoning: text_at(row, 10)?,
        reasoning_content: text_at(row, 13)?.or(reasoning_beside),
        reasoning_details: list(11)?,
        codex_reasoning_items: list(12)?,
        codex_message_items: list(14)?.or_else(|| items_beside.and_then(|text| from_json(&text))),
        anthropic_content_blocks: blocks,
        tool_calls: text_at(row, 5)?.and_then(|text| from_json(&text)).unwrap_or_default(),
        finish_reason: text_at(row, 9)?.map(StopReason::from),
        extra,
    })
}

/// Strings as they are, lists behind a mark. A string that begins with the mark is stored as JSON too, so that it comes
/// back as the string it was.
pub(crate) fn encode_content(content: &Content) -> DbResult<Cow<'_, str>> {
    match content {
        Content::Text(text) if !text.starts_with(JSON_MARK) => Ok(Cow::Borrowed(text)),
        other => Ok(Cow::Owned(format!("{JSON_MARK}{}", to_json(other)?))),
    }
}

/// What cannot be read behind the mark is the text it is.
pub(crate) fn decode_content(stored: String) -> Content {
    stored.strip_prefix(JSON_MARK).and_then(from_json).unwrap_or(Content::Text(stored))
}

/// Text in whatever form another program left it: bytes that are no UTF-8 are replaced, numbers are spelled.
pub(crate) fn text_at(row: &Row<'_>, column: usize) -> DbResult<Option<String>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number.to_string()),
        ValueRef::Real(number) => Some(number.to_string()),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(String::from_utf8_lossy(bytes).into_owned()),
    })
}

/// A number in whatever form another program left it; one bad cell does not hide a conversation.
fn number_at(row: &Row<'_>, column: usize) -> DbResult<Option<f64>> {
    let number = match row.get_ref(column)? {
        ValueRef::Null => None,
        ValueRef::Integer(number) => Some(number as f64),
        ValueRef::Real(number) => Some(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).trim().parse().ok(),
    };
    Ok(number.filter(|number| number.is_finite()))
}

fn whole_at(row: &Row<'_>, column: usize) -> DbResult<Option<i64>> {
    Ok(match row.get_ref(column)? {
        ValueRef::Integer(number) => Some(number),
        _ => None,
    })
}

/// The first column of every row a query finds, where it holds anything.
pub(crate) fn texts(db: &Db, sql: &str, values: &[&dyn ToSql]) -> DbResult<Vec<String>> {
    let mut statement = db.connection.prepare_cached(sql)?;
    let mut rows = statement.query(values)?;
    let mut texts = Vec::new();
    while let Some(row) = rows.next()? {
        texts.extend(text_at(row, 0)?);
    }
    Ok(texts)
}

/// JSON that can be read again: readers refuse what is nested too deeply, so it is refused here, before it is lost.
pub(crate) fn to_json<T: Serialize + ?Sized>(value: &T) -> DbResult<String> {
    let text = serde_json::to_string(value).map_err(|error| StoreError::Failed(error.to_string()))?;
    match depth(&text) {
        0..=DEEPEST => Ok(text),
        levels => {
            Err(StoreError::Failed(format!("JSON of {levels} levels cannot be kept, only up to {DEEPEST}")).into())
        }
    }
}

/// An object inside of another one; as text where one level more would be too many.
fn one_level_down(object: &Object) -> DbResult<Value> {
    let text = to_json(object)?;
    Ok(if depth(&text) < DEEPEST { Value::Object(object.clone()) } else { Value::String(text) })
}

/// How many lists and objects stand inside of each other.
fn depth(json: &str) -> usize {
    let (mut open, mut deepest, mut in_text, mut escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                open += 1;
                deepest = deepest.max(open);
            }
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// JSON that another program broke is as good as none.
pub(crate) fn from_json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_str(text).ok()
}
