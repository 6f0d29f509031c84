//! `hermes sessions stats`: the store in numbers.

use super::paper::one_line;
use super::{Console, Desk, Exit, Trouble};
use crate::commands::table;
use clap::Args;
use hermes_types::StoreFacts;
use serde_json::{Map, Value, json};

const STEP: f64 = 1024.0;

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
        ["sessions".to_owned(), format!("{}, {} ended", table::grouped(facts.sessions), table::grouped(facts.ended))],
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
        .map(|(source, number)| [format!("held in {}", one_line(source)), super::count(*number, "session")]);
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

/// A number of bytes in the unit that says enough.
pub(super) fn size(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB"];
    let mut amount = bytes as f64;
    let mut told = format!("{bytes} bytes");
    for unit in units {
        amount /= STEP;
        if amount < 1.0 {
            break;
        }
        told = format!("{amount:.1} {unit}");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_read_well() {
        let sizes = [0, 1023, 1024, 212_992, 5 << 20, 7 << 30, u64::MAX].map(size);
        assert_eq!(sizes, ["0 bytes", "1023 bytes", "1.0 KiB", "208.0 KiB", "5.0 MiB", "7.0 GiB", "17179869184.0 GiB"]);
    }
}
