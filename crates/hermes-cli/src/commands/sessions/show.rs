//! `hermes sessions show`: a conversation as it was held.
//!
//! On a terminal words of people and models are shown whole up to a generous cap; tool calls are one line, their results a
//! few; `--raw` cuts nothing. In a file or a pipe nothing is cut at all. What was summarised away or taken back is shown
//! with `--all`, and marked.

use super::export::record;
use super::paper::{Ink, Paper, cut, one_line, shown};
use super::when::Clock;
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::table::grouped;
use crate::output::wrap;
use clap::Args;
use hermes_core::store::StoreError;
use hermes_types::{
    Assistant, Billing, CompressionRecord, Content, Kinship, Message, Object, Part, PartView, Relative, RowState,
    Session, StoredMessage, Usd,
};
use serde_json::Value;

const RESULT_LINES: usize = 8;
const THOUGHT_LINES: usize = 6;
/// More than anybody reads at once; far below what fills a terminal's memory.
const SPOKEN_LINES: usize = 300;
const SPOKEN_CHARS: usize = 20_000;
/// The last digit amounts of money are told with: $0.0001.
const SMALLEST_TOLD: Usd = Usd::from_pico(100_000_000);
/// Where the values of the head begin.
const FACT_INDENT: usize = 12;

#[derive(Debug, Args)]
pub struct ShowArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// Cut nothing on a terminal; into a file or a pipe, byte for byte with control characters
    #[arg(long, conflicts_with = "json")]
    pub raw: bool,
    /// Also messages that were summarised away or taken back
    #[arg(long)]
    pub all: bool,
    /// Only the last N messages
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// One JSON object: the session in the shape of exports
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: ShowArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let id = desk.find(&args.name).await?;
    let export = desk.store.export(&id).await?.ok_or_else(|| StoreError::NoSession(id.to_string()))?;
    let (session, mut messages) = (export.session, export.messages);
    messages.retain(|message| args.all || message.state == RowState::Live);
    let earlier = messages.len().saturating_sub(args.last.unwrap_or(usize::MAX));
    messages.drain(..earlier);
    if args.json {
        return desk.print_json(&record::of(&session, &messages), console);
    }
    let family = desk.store.lineage(&id).await?;
    let compressions = desk.store.compressions(&id).await?;
    let page = Page { paper: desk.paper, clock: &desk.clock, raw: args.raw };
    write!(console.out, "{}", page.head(&session, &compressions, &family))?;
    if messages.is_empty() && earlier == 0 {
        writeln!(console.out, "\nNothing was said.")?;
    }
    if earlier > 0 {
        let left_out = format!("… {} before", count(earlier as u64, "message"));
        writeln!(console.out, "\n{}", page.dim(&left_out))?;
    }
    let mut day = None;
    for message in &messages {
        write!(console.out, "{}", page.message(message, &mut day))?;
    }
    Ok(Exit::Done)
}

/// How a conversation is put on paper.
struct Page<'a> {
    paper: Paper,
    clock: &'a Clock,
    raw: bool,
}

impl Page<'_> {
    /// Cells per line, where long things are cut to be read at a glance.
    fn glance(&self) -> Option<usize> {
        self.paper.width.filter(|_| !self.raw)
    }

    fn dim(&self, text: &str) -> String {
        self.paper.ink(Ink::Dim, text)
    }

    fn head(&self, session: &Session, compressions: &[CompressionRecord], family: &[Relative]) -> String {
        let own = family.iter().find(|relative| relative.id == session.id);
        let title = super::called(session.title.as_deref(), own.map(|own| own.preview.as_str()).unwrap_or_default());
        let title = self.glance().map_or_else(|| title.clone(), |width| cut(&title, width));
        let mut lines = vec![self.paper.ink(Ink::Bold, &title)];
        let shortened = shortened(compressions).map(|told| ("shortened", told));
        let rows = facts(session, self.clock).into_iter().chain(shortened).chain(kin(session, family));
        lines.extend(rows.map(|(name, value)| self.fact(name, &one_line(&value))));
        lines.join("\n") + "\n"
    }

    fn fact(&self, name: &str, value: &str) -> String {
        let value = match self.paper.width {
            Some(width) => wrap::fill(value, width.saturating_sub(FACT_INDENT)),
            None => value.to_owned(),
        };
        let value = value.replace('\n', &format!("\n{}", " ".repeat(FACT_INDENT)));
        format!("  {} {value}", self.dim(&format!("{name:<9}")))
    }

    /// A message under a line that tells who, when and which.
    fn message(&self, stored: &StoredMessage, day: &mut Option<String>) -> String {
        let (who, ink) = match &stored.message {
            Message::System(_) => ("System".to_owned(), Ink::Dim),
            Message::User(_) => ("You".to_owned(), Ink::Person),
            Message::Assistant(_) => ("Hermes".to_owned(), Ink::Model),
            Message::Tool(result) => (format!("← {}", one_line(result.name.as_deref().unwrap_or("tool"))), Ink::Dim),
        };
        let today = self.clock.day(stored.at);
        let when =
            if day.as_deref() == Some(&today) { self.clock.time(stored.at) } else { self.clock.stamp(stored.at) };
        *day = Some(today);
        let fate = match stored.state {
            RowState::Live => "",
            RowState::Compacted => "  (summarised away)",
            RowState::Undone => "  (taken back)",
        };
        let about = self.dim(&format!("  {when}  #{}{fate}", stored.id));
        format!("\n{}{about}\n{}", self.paper.ink(ink, &who), self.body(&stored.message))
    }

    fn body(&self, message: &Message) -> String {
        let body = self.words(message);
        if body.is_empty() { format!("{}\n", self.dim("(empty)")) } else { body }
    }

    fn words(&self, message: &Message) -> String {
        match message {
            Message::System(plain) | Message::User(plain) => self.spoken(&plain.content),
            Message::Assistant(said) => self.said(said),
            Message::Tool(result) => {
                let text = text_of(&result.content);
                let text = if self.raw { text } else { spread(text) };
                self.clipped(&text, RESULT_LINES, "  ", Ink::Dim)
            }
        }
    }

    fn said(&self, said: &Assistant) -> String {
        let mut out = String::new();
        if let Some(thought) = said.reasoning.as_ref().or(said.reasoning_content.as_ref()) {
            out.push_str(&self.clipped(thought, THOUGHT_LINES, "┆ ", Ink::Dim));
        }
        out.push_str(&said.content.as_ref().map(|content| self.spoken(content)).unwrap_or_default());
        for call in &said.tool_calls {
            let arguments = call.function.arguments.as_str();
            let line = match self.glance() {
                None => format!("→ {} {}", self.fit(&call.function.name), self.fit(arguments)),
                Some(width) => cut(&format!("→ {} {}", one_line(&call.function.name), one_line(arguments)), width),
            };
            out.push_str(&line);
            out.push('\n');
        }
        out
    }

    /// Words, broken between them on a terminal.
    fn spoken(&self, content: &Content) -> String {
        let text = self.fit(&text_of(content));
        if text.trim().is_empty() {
            return String::new();
        }
        let whole = text.trim_end_matches('\n');
        let (kept, missing) = match self.glance() {
            None => (whole.to_owned(), None),
            Some(_) => beginning(whole),
        };
        let mut kept = match self.paper.width {
            Some(width) => wrap::fill(&kept, width),
            None => kept,
        };
        kept.push('\n');
        if let Some(missing) = missing {
            kept.push_str(&format!("{}\n", self.dim(&format!("{missing}; --raw shows everything"))));
        }
        kept
    }

    /// The first lines of something, each behind a mark.
    fn clipped(&self, text: &str, most: usize, mark: &str, ink: Ink) -> String {
        let text = self.fit(text);
        let text = text.trim_end();
        let room = self.glance().map(|width| width.saturating_sub(mark.chars().count()));
        let most = room.map_or(usize::MAX, |_| most);
        let mut out = String::new();
        for line in text.lines().take(most) {
            let line = room.map_or_else(|| line.to_owned(), |room| cut(line, room));
            out.push_str(&format!("{}\n", self.paper.ink(ink, &format!("{mark}{line}"))));
        }
        let missing = text.lines().count().saturating_sub(most);
        if missing > 0 {
            let missing = format!("{mark}… {}", count(missing as u64, "more line"));
            out.push_str(&format!("{}\n", self.paper.ink(ink, &missing)));
        }
        out
    }

    /// Stored text reaches a terminal only without what would act on it.
    fn fit(&self, text: &str) -> String {
        if self.raw && !self.paper.is_terminal() { text.to_owned() } else { shown(text) }
    }
}

/// Tools answer with JSON; where lines are hidden in it, field after field with its lines is easier to read.
fn spread(text: String) -> String {
    let has_lines = |value: &Value| value.as_str().is_some_and(|text| text.trim_end().contains('\n'));
    match serde_json::from_str::<Object>(&text) {
        Ok(fields) if fields.values().any(has_lines) => {
            let field = |(name, value): (&String, &Value)| match value {
                Value::String(text) => format!("{name}: {}", text.trim_end()),
                other => format!("{name}: {other}"),
            };
            fields.iter().map(field).collect::<Vec<_>>().join("\n")
        }
        _ => text,
    }
}

/// The beginning of a long text, and what is missing of it.
fn beginning(text: &str) -> (String, Option<String>) {
    let lines: Vec<&str> = text.lines().take(SPOKEN_LINES).collect();
    let by_lines = lines.join("\n");
    let kept: String = by_lines.chars().take(SPOKEN_CHARS).collect();
    let missing = text.chars().count().saturating_sub(kept.chars().count());
    let told = (missing > 0).then(|| format!("… {}", count(missing as u64, "more character")));
    (kept, told)
}

/// What a person can read of a content; other parts are named.
pub(super) fn text_of(content: &Content) -> String {
    let Content::Parts(parts) = content else { return content.text() };
    parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

fn part(part: &Part) -> String {
    match part.view() {
        PartView::Text(text) => text.to_owned(),
        PartView::Image { url, .. } if url.starts_with("data:") => {
            let kind = url.trim_start_matches("data:").split([';', ',']).next().unwrap_or_default();
            format!("[{kind}, {} characters]", grouped(url.len() as u64))
        }
        PartView::Image { url, .. } => format!("[image {url}]"),
        PartView::Other => match part.0.get("type").and_then(Value::as_str) {
            Some(kind) => format!("[{kind}]"),
            None => "[something]".to_owned(),
        },
    }
}

/// What is known about a session, name and value.
pub(super) fn facts(session: &Session, clock: &Clock) -> Vec<(&'static str, String)> {
    let mut facts = vec![("id", session.id.to_string())];
    let model = session.model.as_deref().map(|model| format!(", {model}")).unwrap_or_default();
    let provider = session.billing.provider.as_deref().map(|provider| format!(" at {provider}")).unwrap_or_default();
    facts.push(("held", format!("{}{model}{provider}", session.source)));
    if let Some(folder) = session.cwd() {
        facts.push(("in", folder.to_owned()));
    }
    let reason = session.end_reason.as_ref().map(|reason| format!(" ({})", reason.as_str())).unwrap_or_default();
    let end =
        session.ended_at.map_or_else(|| "not ended".to_owned(), |end| format!("ended {}{reason}", clock.stamp(end)));
    facts.push(("began", format!("{}, {end}", clock.stamp(session.started_at))));
    let calls = match session.tool_call_count {
        0 => String::new(),
        calls => format!(", {}", count(calls, "tool call")),
    };
    facts.push(("said", format!("{}{calls}", count(session.message_count, "message"))));
    facts.extend(tokens(session).map(|tokens| ("tokens", tokens)));
    facts.extend(cost(&session.billing).map(|cost| ("cost", cost)));
    facts
}

fn tokens(session: &Session) -> Option<String> {
    let usage = &session.usage;
    if usage.total() == 0 {
        return None;
    }
    let reasoning = match usage.reasoning {
        0 => String::new(),
        reasoning => format!(" ({} reasoning)", grouped(reasoning)),
    };
    let cache = match (usage.cache_read, usage.cache_write) {
        (0, 0) => String::new(),
        (read, written) => format!(", cache {} read, {} written", grouped(read), grouped(written)),
    };
    Some(format!("{} in, {} out{reasoning}{cache}", grouped(usage.input), grouped(usage.output)))
}

fn cost(billing: &Billing) -> Option<String> {
    match (billing.actual, billing.estimated, billing.status.as_deref()) {
        (Some(actual), ..) => Some(actual.to_string()),
        (None, _, Some("included")) => Some("included in a subscription".into()),
        (None, Some(estimated), _) if estimated.pico() == 0 => Some("nothing (estimated)".into()),
        (None, Some(estimated), _) if estimated.pico() < SMALLEST_TOLD.pico() => {
            Some(format!("less than {SMALLEST_TOLD} (estimated)"))
        }
        (None, Some(estimated), _) => Some(format!("about {estimated} (estimated)")),
        (None, None, _) => None,
    }
}

/// How often the conversation was compressed, and what came of it.
fn shortened(compressions: &[CompressionRecord]) -> Option<String> {
    let saved: Vec<u64> = compressions.iter().filter_map(CompressionRecord::saved).collect();
    let vain = compressions.len() - saved.len();
    let mut told = Vec::new();
    if !saved.is_empty() {
        let tokens = saved.iter().fold(0_u64, |sum, saved| sum.saturating_add(*saved));
        told.push(format!("{}, {} tokens saved", count(saved.len() as u64, "time"), grouped(tokens)));
    }
    if vain > 0 {
        let reason = compressions.iter().rev().find_map(|record| record.stopped.as_deref());
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        told.push(format!("{} in vain{reason}", count(vain as u64, "attempt")));
    }
    (!told.is_empty()).then(|| told.join(", "))
}

/// What a session descends from, and what descends from it.
fn kin(session: &Session, family: &[Relative]) -> Vec<(&'static str, String)> {
    let told = |relative: &Relative| match relative.title.as_deref() {
        Some(title) => format!("{} \"{title}\"", relative.id),
        None => relative.id.to_string(),
    };
    let own = family.iter().find(|relative| relative.id == session.id);
    let parent = own.and_then(|own| family.iter().find(|relative| Some(&relative.id) == own.parent.as_ref()));
    let from = own.zip(parent).map(|(own, parent)| {
        let how = match own.kinship {
            Kinship::Root | Kinship::Continuation => "continues",
            Kinship::Branch => "branch of",
            Kinship::Delegate => "sub-agent of",
        };
        ("from", format!("{how} {}", told(parent)))
    });
    let children = family.iter().filter(|relative| relative.parent.as_ref() == Some(&session.id));
    let to = children.map(|child| match child.kinship {
        Kinship::Root | Kinship::Continuation => ("goes on", format!("in {}", told(child))),
        Kinship::Branch => ("branch", told(child)),
        Kinship::Delegate => ("sub-agent", told(child)),
    });
    from.into_iter().chain(to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_amounts_are_not_told_as_nothing() {
        let told = |pico| cost(&Billing { estimated: Some(Usd::from_pico(pico)), ..Billing::default() });
        let amounts = [0, 1, 100_000_000, 250_000_000_000].map(|pico| told(pico).expect("a cost"));
        let words = ["nothing", "less than $0.0001", "about $0.0001", "about $0.25"];
        assert_eq!(amounts, words.map(|word| format!("{word} (estimated)")));
    }
}
