//! What a file has: version, columns and search indexes, and one dialect over all of it.
//!
//! Each connection gets temporary views with the same columns whatever the version, so that every query is written once.

use super::ladder::column_names;
use super::{PRIVATE, table_exists, version};
use crate::fault::DbResult;
use rusqlite::{Connection, OptionalExtension};

/// The columns of messages that have a meaning here.
const KNOWN: [&str; 18] = [
    "id",
    "session_id",
    "role",
    "content",
    "tool_call_id",
    "tool_calls",
    "tool_name",
    "timestamp",
    "token_count",
    "finish_reason",
    "reasoning",
    "reasoning_content",
    "reasoning_details",
    "codex_reasoning_items",
    "codex_message_items",
    "active",
    "compacted",
    "api_content",
];

/// How whole words are indexed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Index {
    /// Over the content alone (the founding schema).
    Content,
    /// Over content, tool name and tool calls, in a copy of its own (from version 11 on).
    Combined,
    /// There is none; words are looked for in the messages themselves.
    Missing,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) version: u32,
    pub(crate) messages: Vec<String>,
    pub(crate) sessions: Vec<String>,
    pub(crate) index: Index,
    /// Per-model sums of the other program are there and have to be kept true.
    pub(crate) model_usage: bool,
}

impl Shape {
    pub(crate) fn read(connection: &Connection) -> DbResult<Self> {
        let definition: Option<String> = connection
            .query_row("SELECT sql FROM sqlite_master WHERE name = 'messages_fts'", [], |row| row.get(0))
            .optional()?;
        let index = match definition {
            None => Index::Missing,
            Some(sql) if sql.contains("content_rowid") => Index::Content,
            Some(_) => Index::Combined,
        };
        Ok(Self {
            version: version(connection)?.unwrap_or_default(),
            messages: column_names(connection, "messages")?,
            sessions: column_names(connection, "sessions")?,
            index,
            model_usage: table_exists(connection, "session_model_usage")?,
        })
    }

    pub(crate) fn message_has(&self, column: &str) -> bool {
        self.messages.iter().any(|name| name == column)
    }

    pub(crate) fn session_has(&self, column: &str) -> bool {
        self.sessions.iter().any(|name| name == column)
    }

    /// The columns of messages that only another program knows, quoted.
    pub(crate) fn foreign_columns(&self) -> impl Iterator<Item = String> {
        let foreign = self.messages.iter().filter(|name| !KNOWN.contains(&name.as_str()));
        foreign.map(|name| format!("\"{}\"", name.replace('"', "\"\"")))
    }

    /// Rows know by themselves whether they are live, compacted or undone.
    pub(crate) fn has_states(&self) -> bool {
        self.message_has("active") && self.message_has("compacted")
    }

    /// Creates the views of this connection anew. A file that cannot be written may lack our tables; empty ones stand in.
    pub(crate) fn dress(&self, connection: &Connection) -> DbResult<()> {
        connection.execute_batch("DROP VIEW IF EXISTS temp.every_message;")?;
        if !table_exists(connection, "hermes_meta")? {
            let stand_in = PRIVATE
                .replace("CREATE TABLE IF NOT EXISTS", "CREATE TEMP TABLE IF NOT EXISTS")
                .replace("CREATE INDEX IF NOT EXISTS ", "CREATE INDEX IF NOT EXISTS temp.");
            connection.execute_batch(&stand_in)?;
        }
        connection.execute_batch(&self.every_message())?;
        Ok(())
    }

    /// All messages with all columns any version has; `state` is 0 live, 1 compacted, 2 undone.
    fn every_message(&self) -> String {
        let or_null = |column: &'static str| {
            if self.message_has(column) { format!("m.{column}") } else { format!("NULL AS {column}") }
        };
        let state = if self.has_states() {
            // A row that we changed before the columns existed says so beside it.
            "CASE WHEN m.active = 1 THEN coalesce(x.state, 0) WHEN m.compacted = 1 THEN 1 ELSE 2 END"
        } else {
            "coalesce(x.state, 0)"
        };
        let sent = if self.message_has("api_content") { "coalesce(m.api_content, x.sent)" } else { "x.sent" };
        let foreign: String = self.foreign_columns().map(|name| format!(", m.{name}")).collect();
        format!(
            "CREATE TEMP VIEW every_message AS SELECT m.id, m.session_id, m.role, m.content, m.tool_call_id,
                 m.tool_calls, m.tool_name, m.timestamp, m.token_count, m.finish_reason, m.reasoning,
                 m.reasoning_details, m.codex_reasoning_items, {}, {}, {sent} AS sent, {state} AS state, x.fields{foreign}
             FROM main.messages m LEFT JOIN hermes_message_extra x ON x.message_id = m.id",
            or_null("reasoning_content"),
            or_null("codex_message_items"),
        )
    }
}
