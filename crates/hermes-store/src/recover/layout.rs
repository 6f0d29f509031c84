//! What rows look like: the tables a salvaged row can belong to, and how it is told by its values which one it is.

use super::record::Field;
use crate::fault::DbResult;
use crate::schema;
use rusqlite::Connection;

/// A table and the order of its columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) table: String,
    pub(super) columns: Vec<Column>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: String,
    /// Its type and default, as a new table would declare it.
    pub(super) declaration: String,
    kind: Kind,
    required: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Stands for the number of the row, and is empty inside it.
    RowId,
    Text,
    Integer,
    Real,
    Any,
}

/// The tables whose rows are worth looking for in loose pages; the first that fits is it. What went over the wire is not:
/// a piece of it is of no use without all the others.
const SALVAGED: [&str; 6] =
    ["messages", "sessions", "hermes_calls", "hermes_turns", "hermes_compressions", "hermes_message_extra"];
/// What the other program adds to tables of the founding schema, in its order.
const RAISED_MESSAGES: [&str; 8] = [
    "effect_disposition TEXT",
    "reasoning_content TEXT",
    "codex_message_items TEXT",
    "platform_message_id TEXT",
    "observed INTEGER DEFAULT 0",
    "active INTEGER NOT NULL DEFAULT 1",
    "compacted INTEGER NOT NULL DEFAULT 0",
    "api_content TEXT",
];
const RAISED_SESSIONS: [&str; 20] = [
    "session_key TEXT",
    "chat_id TEXT",
    "chat_type TEXT",
    "thread_id TEXT",
    "display_name TEXT",
    "origin_json TEXT",
    "expiry_finalized INTEGER DEFAULT 0",
    "cwd TEXT",
    "git_branch TEXT",
    "git_repo_root TEXT",
    "api_call_count INTEGER DEFAULT 0",
    "handoff_state TEXT",
    "handoff_platform TEXT",
    "handoff_error TEXT",
    "compression_failure_cooldown_until REAL",
    "compression_failure_error TEXT",
    "compression_fallback_streak INTEGER NOT NULL DEFAULT 0",
    "profile_name TEXT",
    "rewind_count INTEGER NOT NULL DEFAULT 0",
    "archived INTEGER NOT NULL DEFAULT 0",
];
/// The order of the same columns in files that the other program made itself.
const NATIVE_MESSAGES: &str = "id session_id role content tool_call_id tool_calls tool_name effect_disposition timestamp \
    token_count finish_reason reasoning reasoning_content reasoning_details codex_reasoning_items codex_message_items \
    platform_message_id observed active compacted api_content";
const NATIVE_SESSIONS: &str = "id source user_id session_key chat_id chat_type thread_id display_name origin_json \
    expiry_finalized model model_config system_prompt parent_session_id started_at ended_at end_reason message_count \
    tool_call_count input_tokens output_tokens cache_read_tokens cache_write_tokens reasoning_tokens cwd git_branch \
    git_repo_root billing_provider billing_base_url billing_mode estimated_cost_usd actual_cost_usd cost_status \
    cost_source pricing_version title api_call_count handoff_state handoff_platform handoff_error \
    compression_failure_cooldown_until compression_failure_error compression_fallback_streak profile_name rewind_count \
    archived";

/// Earlier than any conversation with a model, and later than any clock should be.
const PLAUSIBLE_TIMES: std::ops::Range<f64> = 1.0..1.0e11;
const LONGEST_NAME: usize = 512;

/// A row with the table it belongs to.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Row {
    pub(super) rowid: i64,
    pub(super) fields: Vec<Field>,
}

impl Layout {
    /// The columns a file declares; `None` when it has no such table.
    pub(super) fn read(connection: &Connection, table: &str) -> DbResult<Option<Self>> {
        let mut info =
            connection.prepare("SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info(?1)")?;
        let columns = info.query_map([table], |row| {
            let (name, kind): (String, String) = (row.get(0)?, row.get(1)?);
            let (required, default): (bool, Option<String>) = (row.get(2)?, row.get(3)?);
            let is_key: bool = row.get::<_, i64>(4)? == 1;
            let declared = kind.to_ascii_uppercase();
            let must = if required && default.is_some() { " NOT NULL" } else { "" };
            let default_value = default.as_ref().map(|value| format!(" DEFAULT {value}")).unwrap_or_default();
            Ok(Column {
                name,
                declaration: format!("{declared}{must}{default_value}"),
                kind: match declared.as_str() {
                    "INTEGER" if is_key => Kind::RowId,
                    "INTEGER" => Kind::Integer,
                    "TEXT" => Kind::Text,
                    "REAL" => Kind::Real,
                    _ => Kind::Any,
                },
                required: required && default.is_none(),
            })
        })?;
        let columns: Vec<Column> = columns.collect::<Result<_, _>>()?;
        Ok((!columns.is_empty()).then(|| Self { table: table.to_owned(), columns }))
    }

    /// The layouts to look for: those of the file itself, else all there have been.
    pub(super) fn salvaged(source: Option<&Connection>) -> DbResult<Vec<Self>> {
        let known = Connection::open_in_memory()?;
        known.execute_batch(schema::TABLES)?;
        known.execute_batch(schema::PRIVATE)?;
        for (table, columns) in [("messages", &RAISED_MESSAGES[..]), ("sessions", &RAISED_SESSIONS[..])] {
            for column in columns {
                known.execute_batch(&format!("ALTER TABLE {table} ADD COLUMN {column}"))?;
            }
        }
        let mut layouts = Vec::new();
        for table in SALVAGED {
            let own = source.and_then(|source| Self::read(source, table).ok().flatten());
            let Some(raised) = Self::read(&known, table)? else { continue };
            let native = match table {
                "messages" => Some(raised.in_order(NATIVE_MESSAGES)),
                "sessions" => Some(raised.in_order(NATIVE_SESSIONS)),
                _ => None,
            };
            match own {
                Some(own) => layouts.push(own),
                None => layouts.extend(std::iter::once(raised).chain(native)),
            }
        }
        Ok(layouts)
    }

    fn in_order(&self, names: &str) -> Self {
        let column = |name: &str| self.columns.iter().find(|column| column.name == name).cloned();
        Self { table: self.table.clone(), columns: names.split_whitespace().filter_map(column).collect() }
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }

    /// Whether a row can be one of this table. Rows may be shorter than the table: columns were added later.
    pub(super) fn fits(&self, row: &Row) -> bool {
        let fields = &row.fields;
        let required = self.columns.iter().rposition(|column| column.required).map_or(1, |last| last + 1);
        if fields.len() > self.columns.len() || fields.len() < required || row.rowid <= 0 {
            return false;
        }
        self.columns.iter().zip(fields).all(|(column, field)| column.takes(field)) && self.is_plausible(fields)
    }

    /// Whether the values make sense; tables that nothing is known about have rows of any kind.
    pub(super) fn is_plausible(&self, fields: &[Field]) -> bool {
        let at = |name: &str| self.place(name).and_then(|place| fields.get(place));
        let is_name = |name: &str| matches!(at(name), Some(Field::Text(text)) if is_name(text));
        let is_time = |name: &str| match at(name) {
            Some(Field::Real(time)) => PLAUSIBLE_TIMES.contains(time),
            #[expect(clippy::cast_precision_loss, reason = "only the magnitude matters")]
            Some(Field::Integer(time)) => PLAUSIBLE_TIMES.contains(&(*time as f64)),
            _ => false,
        };
        match self.table.as_str() {
            "messages" => is_name("session_id") && is_name("role") && is_time("timestamp"),
            "sessions" => is_name("id") && is_name("source") && is_time("started_at"),
            "hermes_message_extra" => {
                fields.len() == self.columns.len() && matches!(at("state"), Some(Field::Integer(0..=2)))
            }
            table if table.starts_with("hermes_") && self.place("session_id").is_some() => {
                fields.len() == self.columns.len() && is_name("session_id")
            }
            _ => true,
        }
    }
}

impl Column {
    fn takes(&self, field: &Field) -> bool {
        match (self.kind, field) {
            (Kind::RowId, field) => matches!(field, Field::Null),
            (_, Field::Null) => !self.required,
            (Kind::Text, field) => matches!(field, Field::Text(_)),
            (Kind::Integer, field) => matches!(field, Field::Integer(_)),
            (Kind::Real, field) => matches!(field, Field::Real(_) | Field::Integer(_)),
            (Kind::Any, _) => true,
        }
    }

    pub(super) fn is_row_id(&self) -> bool {
        self.kind == Kind::RowId
    }
}

fn is_name(bytes: &[u8]) -> bool {
    !bytes.is_empty()
        && bytes.len() <= LONGEST_NAME
        && std::str::from_utf8(bytes).is_ok_and(|text| !text.contains(char::is_control))
}
