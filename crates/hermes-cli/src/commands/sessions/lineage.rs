//! `hermes sessions lineage`: how conversations descend from each other.

use super::paper::{Ink, Paper, cells, cut, one_line};
use super::when::Clock;
use super::{Console, Desk, Exit, Trouble, count};
use clap::Args;
use hermes_types::{Kinship, Relative, SessionId};
use serde_json::json;
use std::collections::HashSet;

/// What was said first tells enough in this many cells.
const WHAT_CELLS: usize = 40;
/// Fewer tell nothing.
const LEAST_WHAT: usize = 8;

#[derive(Debug, Args)]
pub struct LineageArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// One JSON object instead of a tree
    #[arg(long)]
    pub json: bool,
}

pub(super) async fn run(args: LineageArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let asked = desk.find(&args.name).await?;
    let family = desk.store.lineage(&asked).await?;
    if args.json {
        return desk.print_json(&json!({"asked": asked, "sessions": family}), console);
    }
    let tree = Tree { family: &family, asked: &asked, paper: desk.paper, clock: &desk.clock };
    write!(console.out, "{}", tree.draw())?;
    Ok(Exit::Done)
}

struct Tree<'a> {
    family: &'a [Relative],
    asked: &'a SessionId,
    paper: Paper,
    clock: &'a Clock,
}

/// A session still to be drawn.
struct Pending<'a> {
    relative: &'a Relative,
    /// What stands before its line, and before those of its children.
    lead: String,
    below: String,
}

impl<'a> Tree<'a> {
    /// Without recursion: a conversation may have been compressed a thousand times.
    fn draw(&self) -> String {
        let known: HashSet<&SessionId> = self.family.iter().map(|relative| &relative.id).collect();
        let is_top = |relative: &&Relative| relative.parent.as_ref().is_none_or(|parent| !known.contains(parent));
        let top = self.family.iter().filter(is_top);
        let mut pending: Vec<Pending<'_>> =
            top.map(|relative| Pending { relative, lead: String::new(), below: String::new() }).collect();
        pending.reverse();
        let mut drawn = HashSet::new();
        let mut out = String::new();
        while let Some(next) = pending.pop() {
            if drawn.insert(&next.relative.id) {
                out.push_str(&self.line(&next));
                pending.extend(self.children(&next));
            }
        }
        out
    }

    /// The children of a session, the last one first, as a stack wants them.
    fn children(&self, parent: &Pending<'a>) -> Vec<Pending<'a>> {
        let children = self.family.iter().filter(|child| child.parent.as_ref() == Some(&parent.relative.id));
        let children: Vec<&Relative> = children.collect();
        // An only child that goes on with the conversation stands below it: a long chain is no staircase.
        if let [only] = children.as_slice()
            && only.kinship == Kinship::Continuation
        {
            let below = parent.below.clone();
            return vec![Pending { relative: only, lead: format!("{below}↳ "), below }];
        }
        let branch = |(place, child): (usize, &&'a Relative)| {
            let (corner, side) = if place == 0 { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let below = &parent.below;
            Pending { relative: child, lead: format!("{below}{corner}"), below: format!("{below}{side}") }
        };
        children.iter().rev().enumerate().map(branch).collect()
    }

    fn line(&self, pending: &Pending<'_>) -> String {
        let Relative { id, kinship, title, preview, started_at, message_count, .. } = pending.relative;
        let kind = match kinship {
            Kinship::Root => "",
            Kinship::Continuation => "continuation ",
            Kinship::Branch => "branch ",
            Kinship::Delegate => "sub-agent ",
        };
        let what = super::called(title.as_deref(), preview);
        let about = format!("  {}, {}", self.clock.day(*started_at), count(*message_count, "message"));
        let mark = if id == self.asked { "  ← this one" } else { "" };
        let named = format!("{kind}{}", one_line(id.as_str()));
        let line = match self.paper.width {
            None => format!("{}{named}  {what}{about}{mark}", pending.lead),
            Some(width) => self.within(width, &pending.lead, &named, &what, &[&about, mark]),
        };
        let ink = if id == self.asked { self.paper.ink(Ink::Bold, &line) } else { line };
        format!("{ink}\n")
    }

    /// Everything gives way before the id: what was said, the date, the depth of the tree.
    fn within(&self, width: usize, lead: &str, named: &str, what: &str, ends: &[&str]) -> String {
        let room = width.saturating_sub(cells(named));
        let lead = match lead.chars().count().checked_sub(room) {
            None | Some(0) => lead.to_owned(),
            Some(over) => format!("…{}", lead.chars().skip(over + 1).collect::<String>()),
        };
        let mut room = room.saturating_sub(cells(&lead));
        let mut after = String::new();
        for end in ends.iter().rev() {
            if cells(end) <= room {
                room -= cells(end);
                after = format!("{end}{after}");
            }
        }
        let what =
            if room > LEAST_WHAT { format!("  {}", cut(what, (room - 2).min(WHAT_CELLS))) } else { String::new() };
        format!("{lead}{named}{what}{after}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::Moment;

    fn relative(id: &str, parent: Option<&str>, kinship: Kinship, title: Option<&str>) -> Relative {
        Relative {
            id: SessionId::new(id),
            parent: parent.map(SessionId::new),
            kinship,
            title: title.map(str::to_owned),
            preview: "how does it begin".into(),
            started_at: Moment::from_seconds(1_760_000_000.0),
            message_count: 2,
        }
    }

    fn drawn(family: &[Relative], asked: &str) -> String {
        let clock = Clock::at("2026-07-15T12:00:00Z");
        let paper = Paper { width: Some(100), colour: false };
        Tree { family, asked: &SessionId::new(asked), paper, clock: &clock }.draw()
    }

    #[test]
    fn a_family_is_drawn_as_a_tree() {
        let family = [
            relative("root", None, Kinship::Root, Some("Long refactor")),
            relative("next", Some("root"), Kinship::Continuation, Some("Long refactor #2")),
            relative("tried", Some("next"), Kinship::Branch, None),
            relative("helper", Some("tried"), Kinship::Delegate, None),
            relative("last", Some("next"), Kinship::Continuation, Some("Long refactor #3")),
        ];
        let expected = "\
root  Long refactor  2025-10-09, 2 messages
↳ continuation next  Long refactor #2  2025-10-09, 2 messages
├─ branch tried  how does it begin  2025-10-09, 2 messages  ← this one
│  └─ sub-agent helper  how does it begin  2025-10-09, 2 messages
└─ continuation last  Long refactor #3  2025-10-09, 2 messages
";
        assert_eq!(drawn(&family, "tried"), expected);
    }

    #[test]
    fn a_circle_and_a_very_long_chain_end() {
        let circle = [
            relative("a", Some("b"), Kinship::Branch, None),
            relative("b", Some("a"), Kinship::Branch, None),
            relative("c", None, Kinship::Root, None),
        ];
        assert_eq!(drawn(&circle, "c").lines().count(), 1);
        let id = |number: usize| format!("s{number}");
        let chain: Vec<Relative> = (0..600)
            .map(|number: usize| {
                let parent = number.checked_sub(1).map(id);
                relative(&id(number), parent.as_deref(), Kinship::Branch, None)
            })
            .collect();
        let tree = drawn(&chain, "s599");
        assert_eq!(tree.lines().count(), 600);
        assert!(tree.lines().all(|line| cells(line) <= 100), "{tree}");
        assert!(tree.lines().zip(0..).all(|(line, number)| line.contains(&format!("branch {}", id(number)))), "{tree}");
    }
}
