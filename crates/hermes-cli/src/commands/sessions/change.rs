//! `hermes sessions rename`, `delete` and `branch`.

use super::paper::{cut, one_line};
use super::{Console, Desk, Exit, Trouble, count};
use crate::commands::ask::new_session_id;
use crate::commands::person::Person;
use clap::Args;
use hermes_core::store::StoreError;
use hermes_types::{Kinship, MessageId, NewSession, Relative, SessionId};
use std::collections::HashSet;

/// What was said first tells enough in this many cells.
const WHAT_CELLS: usize = 60;

#[derive(Debug, Args)]
pub struct RenameArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// The new title; "" takes the title away
    #[arg(required = true, value_name = "TITLE")]
    pub title: Vec<String>,
}

#[derive(Debug, Args)]
pub struct DeleteArgs {
    /// Id, the beginning of an id, or title
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Do not ask
    #[arg(short = 'y', long)]
    pub yes: bool,
}

#[derive(Debug, Args)]
pub struct BranchArgs {
    /// Id, the beginning of an id, or title
    pub name: String,
    /// Copy up to this message, and leave out what follows; `show` tells the numbers
    #[arg(long, value_name = "MESSAGE")]
    pub at: Option<i64>,
    /// The title of the copy; otherwise it is numbered
    #[arg(long, value_name = "TITLE")]
    pub title: Option<String>,
}

pub(super) async fn rename(args: RenameArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let id = desk.find(&args.name).await?;
    match desk.store.rename(&id, &args.title.join(" ")).await? {
        Some(title) => writeln!(console.out, "{} is called \"{}\" now.", one_line(id.as_str()), one_line(&title))?,
        None => writeln!(console.out, "{} has no title any more.", one_line(id.as_str()))?,
    }
    Ok(Exit::Done)
}

pub(super) async fn delete(args: DeleteArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    // Everything is found before anything is deleted.
    let mut ids = Vec::new();
    for name in &args.names {
        let id = desk.find(name).await?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    if !args.yes {
        for id in &ids {
            writeln!(console.err, "  {}", described(id, &desk.store.lineage(id).await?, desk))?;
        }
        let them = if ids.len() == 1 { "it" } else { "them" };
        agreed(&format!("Delete {them} for good?")).await?;
    }
    let mut gone = true;
    for id in &ids {
        let shown = one_line(id.as_str());
        if desk.store.delete(id).await? {
            writeln!(console.out, "Deleted {shown}.")?;
        } else {
            // It may have gone with another one of the list.
            gone = false;
            writeln!(console.err, "{shown} was gone already.")?;
        }
    }
    Ok(if gone || ids.len() > 1 { Exit::Done } else { Exit::Failed })
}

/// A session as somebody recognises it, with what would go with it.
fn described(id: &SessionId, family: &[Relative], desk: &Desk<'_>) -> String {
    let Some(own) = family.iter().find(|relative| relative.id == *id) else { return one_line(id.as_str()) };
    let what = match own.title.as_deref() {
        Some(title) => format!("\"{}\"", one_line(title)),
        None if own.preview.is_empty() => super::NOTHING_SAID.to_owned(),
        None => one_line(&own.preview),
    };
    let (parts, helpers) = goes_with(id, family);
    let mut with = Vec::new();
    if parts > 0 {
        with.push(count(parts, "other part"));
    }
    if helpers > 0 {
        with.push(count(helpers, "sub-agent"));
    }
    let with = if with.is_empty() { String::new() } else { format!(", with {}", with.join(" and ")) };
    let (said, began) = (count(own.message_count, "message"), desk.clock.day(own.started_at));
    format!("{}  {}, {began}, {said}{with}", one_line(id.as_str()), cut(&what, WHAT_CELLS))
}

/// How many other sessions of the same conversation, and how many sub-agents of all of them, go with a session. Parents
/// come before their children.
fn goes_with(id: &SessionId, family: &[Relative]) -> (u64, u64) {
    let of = |kinship| family.iter().filter(move |relative| relative.kinship == kinship);
    let mut parts = HashSet::from([id]);
    // Upwards to where the conversation began, then down to where it went on.
    for relative in of(Kinship::Continuation).collect::<Vec<_>>().into_iter().rev() {
        if parts.contains(&relative.id) {
            parts.extend(&relative.parent);
        }
    }
    for relative in of(Kinship::Continuation) {
        if relative.parent.as_ref().is_some_and(|parent| parts.contains(parent)) {
            parts.insert(&relative.id);
        }
    }
    let mut masters = parts.clone();
    for relative in of(Kinship::Delegate) {
        if relative.parent.as_ref().is_some_and(|parent| masters.contains(parent)) {
            masters.insert(&relative.id);
        }
    }
    (parts.len() as u64 - 1, (masters.len() - parts.len()) as u64)
}

/// Goes on only when somebody says so; without a terminal nobody can.
pub(super) async fn agreed(question: &str) -> Result<(), Trouble> {
    const OTHERWISE: &str = "Nothing was deleted";
    let Some(person) = Person::present() else {
        return Err(Trouble::Refused(format!(
            "{OTHERWISE}: nobody is here to be asked. Say it beforehand with --yes."
        )));
    };
    match person.confirm(question).await? {
        true => Ok(()),
        false => Err(Trouble::Refused(format!("{OTHERWISE}."))),
    }
}

pub(super) async fn branch(args: BranchArgs, desk: &Desk<'_>, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let from = desk.find(&args.name).await?;
    let origin = desk.store.session(&from).await?.ok_or_else(|| StoreError::NoSession(from.to_string()))?;
    let id = new_session_id();
    desk.store.branch(&from, NewSession::new(id.clone(), origin.source), args.at.map(MessageId)).await?;
    if let Some(title) = &args.title
        && let Err(error) = desk.store.rename(&id, title).await
    {
        // Half of what was asked for is not what was asked for.
        desk.store.delete(&id).await?;
        return Err(error.into());
    }
    writeln!(console.out, "{id}")?;
    let title = desk.store.session(&id).await?.and_then(|branch| branch.title);
    let called = title.map(|title| format!(" It is called \"{}\".", one_line(&title))).unwrap_or_default();
    writeln!(console.err, "Read it with `hermes sessions show {id}`.{called}")?;
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::Moment;

    #[test]
    fn a_conversation_goes_with_its_parts_and_sub_agents_and_without_its_branches() {
        let relative = |id: &str, parent: &str, kinship| Relative {
            id: SessionId::new(id),
            parent: Some(SessionId::new(parent)),
            kinship,
            title: None,
            preview: String::new(),
            started_at: Moment::default(),
            message_count: 0,
        };
        let family = [
            relative("helper", "root", Kinship::Delegate),
            relative("deeper", "helper", Kinship::Delegate),
            relative("next", "root", Kinship::Continuation),
            relative("last", "next", Kinship::Continuation),
            relative("late", "last", Kinship::Delegate),
            relative("branch", "root", Kinship::Branch),
            relative("other", "branch", Kinship::Delegate),
        ];
        for id in ["root", "next", "last"] {
            assert_eq!(goes_with(&SessionId::new(id), &family), (2, 3), "{id}");
        }
        assert_eq!(goes_with(&SessionId::new("branch"), &family), (0, 1));
    }
}
