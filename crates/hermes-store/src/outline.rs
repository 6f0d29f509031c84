//! What decides whether a session is meant: the few columns filters ask for, without prompts and counters.

use crate::db::Db;
use crate::fault::DbResult;
use crate::lineage::Link;
use crate::row::text_at;
use hermes_types::{EndReason, SessionFilter};
use rusqlite::{Row, ToSql};

/// A session as filters see it.
#[derive(Clone)]
pub(crate) struct Outline {
    pub(crate) link: Link,
    title: Option<String>,
    model: Option<String>,
    message_count: u64,
    cwd: Option<String>,
    /// Put away by the person, in files that have a place for that.
    pub(crate) archived: bool,
}

impl Outline {
    fn read(row: &Row<'_>) -> DbResult<Self> {
        let count: Option<i64> = row.get(Link::WIDTH + 2)?;
        Ok(Self {
            link: Link::read(row)?,
            title: text_at(row, Link::WIDTH)?,
            model: text_at(row, Link::WIDTH + 1)?,
            message_count: count.and_then(|count| u64::try_from(count).ok()).unwrap_or_default(),
            cwd: text_at(row, Link::WIDTH + 3)?,
            archived: row.get::<_, Option<i64>>(Link::WIDTH + 4)?.is_some_and(|archived| archived != 0),
        })
    }

    /// Whether everything a filter asks for holds. Nothing is below a directory when its own is not known.
    pub(crate) fn is_meant(&self, filter: &SessionFilter) -> bool {
        let Link { source, started_at, end_reason, .. } = &self.link;
        let holds = |text: &Option<String>, part: &String| {
            text.as_ref().is_some_and(|text| text.to_lowercase().contains(&part.to_lowercase()))
        };
        let reason = end_reason.as_ref().map(EndReason::as_str);
        (filter.sources.is_empty() || filter.sources.contains(source))
            && !filter.exclude_sources.contains(source)
            && filter.started_before.is_none_or(|before| *started_at < before)
            && filter.started_after.is_none_or(|after| *started_at >= after)
            && filter.title.as_ref().is_none_or(|part| holds(&self.title, part))
            && filter.model.as_ref().is_none_or(|part| holds(&self.model, part))
            && filter.end_reason.as_ref().is_none_or(|wanted| reason == Some(wanted.as_str()))
            && filter.min_messages.is_none_or(|least| self.message_count >= least)
            && filter.max_messages.is_none_or(|most| self.message_count <= most)
            && filter.cwd.as_ref().is_none_or(|folder| self.cwd.as_ref().is_some_and(|cwd| is_below(cwd, folder)))
    }
}

/// The sessions a condition on `sessions` holds for.
pub(crate) fn outlines(db: &Db, condition: &str, values: &[&dyn ToSql]) -> DbResult<Vec<Outline>> {
    let or_null = |column: &'static str| if db.shape.session_has(column) { column } else { "NULL" };
    let cwd = format!("coalesce({}, iif(json_valid(model_config), model_config ->> '$.cwd', NULL))", or_null("cwd"));
    let sql = format!(
        "SELECT {}, title, model, CAST(message_count AS INTEGER), {cwd}, CAST({} AS INTEGER) FROM sessions WHERE {condition}",
        Link::COLUMNS,
        or_null("archived"),
    );
    let mut statement = db.connection.prepare_cached(&sql)?;
    let mut rows = statement.query(values)?;
    let mut outlines = Vec::new();
    while let Some(row) = rows.next()? {
        outlines.push(Outline::read(row)?);
    }
    Ok(outlines)
}

fn is_below(path: &str, folder: &str) -> bool {
    let separators = ['/', '\\'];
    let folder = folder.trim_end_matches(separators);
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(separators))
}

#[cfg(test)]
mod tests {
    use super::is_below;

    #[test]
    fn a_folder_is_not_the_beginning_of_a_name() {
        let table = [
            ("/work/demo", "/work", true),
            ("/work/demo", "/work/demo/", true),
            ("/work/demo", "/work/dem", false),
            ("/work", "/work/demo", false),
            ("/work", "/", true),
            ("C:\\work\\demo", "C:\\work", true),
        ];
        for (path, folder, expected) in table {
            assert_eq!(is_below(path, folder), expected, "{path} in {folder}");
        }
    }
}
