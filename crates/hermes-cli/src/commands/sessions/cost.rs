//! `hermes sessions cost`: what a conversation cost, with everything that belongs to it.

mod requests;

use super::paper::one_line;
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::money::told;
use crate::commands::table::{self, grouped};
use clap::Args;
use hermes_types::{Bill, BillRow, Payer, SessionId, Spent, Usage};
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub struct CostArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// Every request: what it shares with the one before, what a cache gave of it, and why where it could not
    #[arg(long)]
    pub requests: bool,
    /// One JSON value instead of a table
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: CostArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let asked = desk.find(&args.name).await?;
    let bill = desk.store.bill(&asked).await?;
    if args.requests {
        return requests::run(&bill.sessions, &asked, args.json, desk, console).await;
    }
    if args.json {
        return desk.print_json(&as_json(&asked, &bill), console);
    }
    if bill.rows.is_empty() {
        writeln!(console.err, "Nothing is known to have been spent in this conversation.")?;
        return Ok(Exit::Done);
    }
    let heading = ["model", "for", "calls", "tokens in", "from cache", "out", "cost"].map(str::to_owned);
    let rows = bill.rows.iter().map(line);
    let total = cells("total".to_owned(), String::new(), &bill.usage, &bill.spent);
    let rows: Vec<[String; 7]> = std::iter::once(heading).chain(rows).chain([total]).collect();
    table::write_within(desk.paper.width, console.out, &rows)?;
    if let [_, _, ..] = bill.sessions.as_slice() {
        let sessions = count(bill.sessions.len() as u64, "session");
        writeln!(console.err, "This conversation is kept in {sessions}; `hermes sessions lineage` draws them.")?;
    }
    if bill.spent.unpriced > 0 {
        let calls = count(bill.spent.unpriced, "call");
        writeln!(
            console.err,
            "Nobody says all that {calls} cost; `hermes model --refresh` asks the provider, pricing.overrides sets it."
        )?;
    }
    Ok(Exit::Done)
}

fn line(row: &BillRow) -> [String; 7] {
    cells(one_line(&row.model), one_line(purpose(row)), &row.usage, &row.spent)
}

fn cells(name: String, purpose: String, usage: &Usage, spent: &Spent) -> [String; 7] {
    [
        name,
        purpose,
        grouped(spent.calls),
        grouped(usage.prompt()),
        grouped(usage.cache_read),
        grouped(usage.output),
        told(spent),
    ]
}

/// What calls were for, in a word.
fn purpose(row: &BillRow) -> &str {
    match (row.task.as_str(), row.payer) {
        ("", Payer::Conversation) => "conversation",
        ("", Payer::SubAgent) => "sub-agents",
        (task, _) => task,
    }
}

fn as_json(asked: &SessionId, bill: &Bill) -> Value {
    let sum = |usage: &Usage, spent: &Spent| {
        json!({
            "calls": spent.calls,
            "input_tokens": usage.input,
            "output_tokens": usage.output,
            "cache_read_tokens": usage.cache_read,
            "cache_write_tokens": usage.cache_write,
            "reasoning_tokens": usage.reasoning,
            "total_tokens": usage.total(),
            "cost_usd": spent.cost,
            "cost_status": spent.status(),
            "unpriced_calls": spent.unpriced,
        })
    };
    let row = |row: &BillRow| {
        let mut object = json!({"model": row.model, "provider": row.provider, "task": row.task, "payer": row.payer});
        if let (Some(object), Value::Object(sum)) = (object.as_object_mut(), sum(&row.usage, &row.spent)) {
            object.extend(sum);
        }
        object
    };
    json!({
        "asked": asked,
        "sessions": bill.sessions,
        "rows": bill.rows.iter().map(row).collect::<Vec<_>>(),
        "total": sum(&bill.usage, &bill.spent),
    })
}
