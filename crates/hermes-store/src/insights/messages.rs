//! One pass over the messages of a period. Text that is not counted is not read: a message may be a megabyte.

use super::Buckets;
use crate::db::Db;
use crate::fault::DbResult;
use crate::ledger::{Scope, number};
use crate::row::{from_json, text_at};
use hermes_types::Moment;
use rusqlite::params_from_iter;
use serde::Deserialize;
use std::collections::HashMap;

/// What was said in one session.
#[derive(Debug, Default)]
pub(super) struct Talk {
    pub(super) messages: u64,
    pub(super) of_user: u64,
    uses: HashMap<String, Uses>,
}

/// How often a tool was asked for, and how often it answered.
#[derive(Debug, Default)]
struct Uses {
    asked: u64,
    answered: u64,
}

impl Talk {
    pub(super) fn tool_calls(&self) -> u64 {
        self.uses.values().map(Uses::count).sum()
    }

    pub(super) fn tools(&self) -> impl Iterator<Item = (String, u64)> {
        self.uses.iter().map(|(name, uses)| (name.clone(), uses.count()))
    }

    fn uses(&mut self, tool: String) -> &mut Uses {
        self.uses.entry(tool).or_default()
    }
}

impl Uses {
    fn count(&self) -> u64 {
        self.asked.max(self.answered)
    }
}

/// As much of a call as is counted.
#[derive(Deserialize)]
struct Asked {
    function: Option<Named>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

pub(super) fn read(db: &Db, scope: &Scope, buckets: &mut Buckets) -> DbResult<HashMap<String, Talk>> {
    let (condition, values) = scope.of_sessions();
    let mut statement = db.connection.prepare_cached(&format!(
        "SELECT s.id, m.role, m.timestamp, CASE m.role WHEN 'assistant' THEN m.tool_calls WHEN 'tool' THEN m.tool_name END
         FROM sessions s CROSS JOIN every_message m ON m.session_id = s.id WHERE {condition} AND m.state < 2"
    ))?;
    let mut rows = statement.query(params_from_iter(values))?;
    let mut talks: HashMap<String, Talk> = HashMap::new();
    while let Some(row) = rows.next()? {
        let (session, role) = (text_at(row, 0)?.unwrap_or_default(), text_at(row, 1)?.unwrap_or_default());
        if let Some(at) = number(row, 2)? {
            buckets.at(Moment::from_seconds(at)).messages += 1;
        }
        let talk = talks.entry(session).or_default();
        talk.messages += 1;
        talk.of_user += u64::from(role == "user");
        let Some(text) = text_at(row, 3)?.filter(|text| !text.is_empty()) else { continue };
        if role == "tool" {
            talk.uses(text).answered += 1;
            continue;
        }
        // What another program broke is a call of a tool nobody can name: not counted.
        for asked in from_json::<Vec<Asked>>(&text).unwrap_or_default() {
            let name = asked.function.and_then(|function| function.name).or(asked.name);
            if let Some(name) = name.filter(|name| !name.is_empty()) {
                talk.uses(name).asked += 1;
            }
        }
    }
    Ok(talks)
}
