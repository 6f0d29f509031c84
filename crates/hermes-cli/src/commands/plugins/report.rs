//! What people and programs read about plugins.

use crate::app::App;
use crate::commands::{Console, Exit, Trouble, paper, table};
use crate::extensions;
use hermes_plugins::{
    Found, Kind, NEEDS_PYTHON, NOTHING_TO_START, Records, Registration, Source, Start, Wish, deaf_to,
};
use serde::Serialize;

/// One plugin as programs read it.
#[derive(Debug, Serialize)]
struct Row {
    name: String,
    version: String,
    description: String,
    source: &'static str,
    status: &'static str,
    folder: String,
    tools: Vec<String>,
    hooks: Vec<String>,
    /// Why it does not run although it may.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

/// Why a plugin cannot run here; nothing for one that can.
pub(in crate::commands) fn problem(found: &Found) -> Option<String> {
    match &found.read {
        Err(fault) => Some(fault.to_string()),
        Ok(read) => match read.start {
            Start::Command(_) => None,
            Start::NeedsPython => Some(NEEDS_PYTHON.to_owned()),
            Start::Nothing => Some(NOTHING_TO_START.to_owned()),
        },
    }
}

fn status(found: &Found) -> &'static str {
    match found.wish {
        Wish::Enabled => "enabled",
        Wish::Disabled => "disabled",
        Wish::NotEnabled => "not enabled",
    }
}

fn row(found: &Found, records: &Records) -> Row {
    let manifest = found.read.as_ref().map(|read| read.manifest.clone()).unwrap_or_default();
    let registered = records.recall(found);
    let (tools, hooks) = match registered {
        Some(Registration { tools, hooks }) => {
            (tools.into_iter().map(|tool| tool.name).collect(), hooks.into_iter().map(|hook| hook.name).collect())
        }
        None => (manifest.provides_tools, manifest.provides_hooks),
    };
    Row {
        name: found.key.clone(),
        version: manifest.version,
        description: manifest.description,
        source: found.source.as_str(),
        status: status(found),
        folder: found.folder.display().to_string(),
        tools,
        hooks,
        problem: problem(found),
    }
}

pub(super) fn list(
    app: &App,
    enabled: bool,
    user: bool,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let mut odd = Vec::new();
    let (found, _) = extensions::plugins(app, &mut odd);
    odd.iter().try_for_each(|odd| writeln!(console.err, "… {}", paper::shown(odd)))?;
    let records = Records::new(app.home.dir());
    let is_shown = |one: &&Found| (!enabled || one.wish == Wish::Enabled) && (!user || one.source == Source::User);
    let rows: Vec<Row> = found.iter().filter(is_shown).map(|one| row(one, &records)).collect();
    if as_json {
        writeln!(console.out, "{}", paper::json_pretty(&rows).map_err(std::io::Error::other)?)?;
        return Ok(Exit::Done);
    }
    if rows.is_empty() {
        let place = app.home.dir().join("plugins");
        writeln!(console.out, "No plugins in {}. `hermes plugins install FOLDER` brings one.", place.display())?;
        return Ok(Exit::Done);
    }
    let lines: Vec<[String; 4]> = rows
        .into_iter()
        .map(|row| {
            let about = row.problem.map_or(row.description, |problem| format!("does not run: {problem}"));
            [row.status, &row.name, &row.version, &about].map(paper::one_line)
        })
        .collect();
    table::write_folded(paper::Paper::of_process().width, console.out, &lines)?;
    let mut out = console.sentences();
    writeln!(out, "`hermes plugins enable|disable NAME` changes it, `hermes plugins info NAME` tells more.")?;
    Ok(Exit::Done)
}

pub(super) fn info(app: &App, found: &Found, console: &mut Console<'_>) -> Result<Exit, Trouble> {
    let row = row(found, &Records::new(app.home.dir()));
    let mut lines = Vec::new();
    let mut line = |name: &str, value: String| {
        if !value.is_empty() {
            lines.push([name.to_owned(), paper::one_line(&value)]);
        }
    };
    line("name", format!("{} {}", row.name, row.version));
    line("status", row.status.to_owned());
    line("folder", format!("{} ({})", row.folder, row.source));
    line("about", row.description);
    line("tools", row.tools.join(", "));
    line("hooks", row.hooks.join(", "));
    if let Ok(read) = &found.read {
        line("author", read.manifest.author.clone());
        if let Start::Command(words) = &read.start {
            line("started by", words.join(" "));
        }
        line("needs", read.manifest.requires_env.join(", "));
        line("missing", super::super::hooks::outside(app).missing(&read.manifest.requires_env).join(", "));
        line("not known", read.manifest.unknown.join(", "));
        if read.manifest.kind != Kind::Standalone {
            line("kind", "only its tools and hooks count here".to_owned());
        }
        row.hooks.iter().filter_map(|hook| deaf_to(hook)).for_each(|told| line("note", told));
    }
    line("hides", found.hides.as_ref().map(|hidden| hidden.display().to_string()).unwrap_or_default());
    line("problem", row.problem.clone().unwrap_or_default());
    table::write_folded(paper::Paper::of_process().width, console.out, &lines)?;
    Ok(if row.problem.is_none() { Exit::Done } else { Exit::Failed })
}

/// What a plugin adds, when it was just asked.
pub(super) fn additions(registered: &Registration, console: &mut Console<'_>) -> Result<(), Trouble> {
    let names = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let tools = registered.tools.iter().map(|tool| tool.name.as_str()).collect();
    let hooks = registered.hooks.iter().map(|hook| hook.name.as_str()).collect();
    let told = format!("It adds these tools: {}; and hears of: {}.", names(tools), names(hooks));
    writeln!(console.out, "{}", paper::shown(&told))?;
    for told in registered.deaf() {
        writeln!(console.err, "… {}", paper::shown(&told))?;
    }
    Ok(())
}
