//! Giving toolsets to the agent and taking them away: `platform_toolsets.<platform>` in `config.yaml`.

use super::call::alike;
use super::doubt;
use crate::agent::chosen;
use crate::app::App;
use crate::commands::config::refuse_managed;
use crate::commands::{Console, Exit, Trouble, paper};
use crate::hands::Hands;
use crate::settings::KeyPath;
use crate::settings::edit::{self, Change};
use hermes_tools::toolset::{self, Catalogue};
use serde_json::Value;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum To {
    On,
    Off,
}

pub(super) fn run(
    app: &App,
    hands: &Hands,
    names: &[String],
    platform: &str,
    to: To,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let catalogue = hands.catalogue();
    let parts: BTreeSet<String> = toolset::configurable().map(str::to_owned).chain(hands.registry.toolsets()).collect();
    if let Some(name) = names.iter().find(|name| !parts.contains(*name)) {
        let name = paper::one_line(name);
        let meant = alike(parts.iter().map(String::as_str), &name).map(|meant| format!("; did you mean `{meant}`?"));
        let told =
            format!("there is no toolset `{name}`{} `hermes tools list` shows all", meant.as_deref().unwrap_or(";"));
        return Err(Trouble::Usage(told));
    }
    if let Some(doubt) = doubt(app, platform, &catalogue) {
        writeln!(console.err, "{doubt}")?;
    }
    let key = KeyPath::of(["platform_toolsets", platform]);
    refuse_managed(&app.home, &app.environment, &key)?;
    let before = used(app, platform, &catalogue, &parts);
    let mut after = before.clone();
    for name in names {
        match to {
            To::On => after.insert(name.clone()),
            To::Off => after.remove(name),
        };
    }
    let word = if to == To::On { "on" } else { "off" };
    if after == before {
        writeln!(console.out, "Nothing to change: {} {word} already.", are(names))?;
        return Ok(Exit::Done);
    }
    let list = Value::Array(after.into_iter().map(Value::String).collect());
    let file = edit::change_config(&app.home, |_| Ok::<_, Trouble>(vec![Change::Set(key, list)]))?;
    writeln!(
        console.out,
        "{} {word} for `{platform}` from the next conversation on.\nWritten to {}.",
        are(names),
        file.display()
    )?;
    for name in
        names.iter().filter(|name| to == To::On && hands.registry.definitions(&catalogue.tools(name)).is_empty())
    {
        writeln!(console.err, "`{name}` has no tool that can be used here; `hermes tools info {name}` says why.")?;
    }
    Ok(Exit::Done)
}

/// The parts a platform uses now.
fn used(app: &App, platform: &str, catalogue: &Catalogue<'_>, parts: &BTreeSet<String>) -> BTreeSet<String> {
    let selected = catalogue.select(&chosen(app, platform, catalogue)).names;
    let whole = |part: &&String| {
        let tools = catalogue.tools(part);
        !tools.is_empty() && tools.iter().all(|tool| selected.contains(tool))
    };
    parts.iter().filter(whole).cloned().collect()
}

fn are(names: &[String]) -> String {
    let listed: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("{} {}", listed.join(", "), if names.len() == 1 { "is" } else { "are" })
}
