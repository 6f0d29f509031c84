//! `hermes sessions stats`: the store in numbers.

use super::paper::one_line;
use super::{Console, Desk, Exit, Trouble};
use crate::commands::table::{self, size};
use clap::Args;
use hermes_types::StoreFacts;
use serde_json::{Map, Value, json};

#[derive(Debug, Args)]
pub struct StatsArgs {
    /// One JSON object instead of a table
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: StatsArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let facts = desk.store.facts().await?;
    if args.json {
        return desk.print_json(&as_json(&facts), console);
    }
    let mut rows = vec![
        [
            "conversations".to_owned(),
            format!("{}, {} ended", table::grouped(facts.sessions), table::grouped(facts.ended)),
        ],
        ["messages".to_owned(), table::grouped(facts.messages)],
    ];
    if let (Some(oldest), Some(newest)) = (facts.oldest, facts.newest) {
        rows.push(["from".to_owned(), format!("{} to {}", desk.clock.day(oldest), desk.clock.day(newest))]);
    }
    rows.push(["text".to_owned(), size(facts.text_bytes)]);
    rows.push(["on disk".to_owned(), size(facts.disk_bytes)]);
    let held = facts
        .by_source
        .iter()
        .map(|(source, number)| [format!("held in {}", one_line(source)), super::count(*number, "conversation")]);
    rows.extend(held);
    table::write(console.out, &rows)?;
    Ok(Exit::Done)
}

fn as_json(facts: &StoreFacts) -> Value {
    let by_source: Map<String, Value> =
        facts.by_source.iter().map(|(name, count)| (name.clone(), json!(count))).collect();
    json!({
        "schema_version": facts.schema_version,
        "sessions": facts.sessions,
        "ended": facts.ended,
        "messages": facts.messages,
        "by_source": by_source,
        "oldest": facts.oldest,
        "newest": facts.newest,
        "text_bytes": facts.text_bytes,
        "disk_bytes": facts.disk_bytes,
    })
}
