//! What comes from elsewhere and goes again.

use super::look::{fetched, findings};
use super::{Bench, agreed, forced, hub_trouble, setup, write_json};
use crate::app::App;
use crate::commands::paper;
use crate::commands::{Console, Exit, Trouble, table};
use hermes_tools::skills::hub::{Entry, HubError, Offer, Standing, Wanted};
use hermes_tools::skills::scan::{Force, Verdict};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct InstallArgs {
    /// A folder, a git address, owner/repository/folder on GitHub, the https address of a SKILL.md, or a name in a list
    #[arg(value_name = "SKILL")]
    identifier: String,
    /// The folder of skills to put it in
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
    /// Another name for it
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Install it although the scan finds it doubtful, or over a skill of your own; never what is dangerous
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) async fn install(
    bench: &Bench<'_>,
    app: &App,
    how: InstallArgs,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let InstallArgs { identifier, category, name, force, yes } = how;
    let offer = fetched(bench, &identifier).await?;
    let hub = bench.hub();
    let (report, allowed) = hub.examine(&offer, forced(force));
    if allowed.is_ok() {
        findings(&report, console)?;
        let question = format!("Install '{}' from {}?", offer.name, offer.identifier);
        if !agreed(&question, yes).await? {
            return Ok(Exit::Interrupted);
        }
    }
    let wanted = Wanted { category, name, force: forced(force) };
    let installed = hub.install(&offer, &wanted).map_err(hub_trouble)?;
    let doubt = match installed.verdict {
        Verdict::Safe => "",
        Verdict::Caution | Verdict::Dangerous => " Read it before you use it.",
    };
    writeln!(
        console.out,
        "Installed '{}' ({}) in {}.{doubt}",
        installed.name,
        installed.verdict.name(),
        installed.folder.display()
    )?;
    writeln!(console.out, "New conversations know it; `/{}` calls it.", installed.name)?;
    // It is installed whatever becomes of what it asks for.
    setup::after_installing(bench, app, &installed.name, console).await?;
    Ok(Exit::Done)
}

/// The installed skills that are meant.
fn meant(bench: &Bench<'_>, name: Option<&str>) -> Result<Vec<(String, Entry)>, Trouble> {
    let mut installed = bench.hub().installed();
    installed.retain(|(known, _)| name.is_none_or(|name| name == known));
    match (name, installed.is_empty()) {
        (Some(name), true) => Err(hub_trouble(HubError::NotInstalled(name.to_owned()))),
        _ => Ok(installed),
    }
}

/// What the source of an installed skill has now.
async fn again(bench: &Bench<'_>, entry: &Entry) -> Result<Offer, Trouble> {
    match entry.source.as_str() {
        "local" | "git" | "github" | "url" | "index" => fetched(bench, &entry.identifier).await,
        other => Err(Trouble::Refused(format!("skills from '{other}' cannot be fetched by this program yet."))),
    }
}

pub(super) async fn check(
    bench: &Bench<'_>,
    name: Option<&str>,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let mut rows = Vec::new();
    for (name, entry) in meant(bench, name)? {
        let status = match again(bench, &entry).await {
            Ok(offer) => match bench.hub().standing(&name, &entry, &offer).map_err(hub_trouble)? {
                Standing::Current => ("current", String::new()),
                Standing::Outdated => ("outdated", "`hermes skills update` brings what is newer".to_owned()),
                Standing::Modified => {
                    ("modified", "you changed it; `hermes skills update --force` would replace that".to_owned())
                }
            },
            Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
            Err(error) => ("unknown", error.to_string()),
        };
        rows.push([name, status.0.to_owned(), paper::one_line(&status.1)]);
    }
    let is_current = rows.iter().all(|[_, status, _]| status == "current");
    if as_json {
        let rows: Vec<_> =
            rows.iter().map(|[name, status, note]| json!({"name": name, "status": status, "note": note})).collect();
        write_json(console, &rows)?;
    } else if rows.is_empty() {
        writeln!(console.out, "Nothing was installed from elsewhere.")?;
    } else {
        table::write(console.out, &rows)?;
    }
    Ok(if is_current { Exit::Done } else { Exit::Failed })
}

pub(super) async fn update(
    bench: &Bench<'_>,
    name: Option<&str>,
    force: Force,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let (mut done, mut failed) = (0_u64, 0_u64);
    for (name, entry) in meant(bench, name)? {
        match renew(bench, &name, &entry, force).await {
            Ok(Some(line)) => {
                done += 1;
                writeln!(console.out, "{line}")?;
            }
            Ok(None) => {}
            Err(Trouble::Interrupted) => return Err(Trouble::Interrupted),
            Err(error) => {
                failed += 1;
                writeln!(console.err, "{name}: {}", paper::shown(&error.to_string()))?;
            }
        }
    }
    if done == 0 && failed == 0 {
        writeln!(console.out, "Everything that was installed is as its source has it.")?;
    }
    Ok(if failed == 0 { Exit::Done } else { Exit::Failed })
}

/// A line about what was brought; nothing when nothing is newer.
async fn renew(bench: &Bench<'_>, name: &str, entry: &Entry, force: Force) -> Result<Option<String>, Trouble> {
    let offer = again(bench, entry).await?;
    let hub = bench.hub();
    match (hub.standing(name, entry, &offer).map_err(hub_trouble)?, force) {
        (Standing::Current, _) => return Ok(None),
        (Standing::Modified, Force::No) => return Err(hub_trouble(HubError::Modified(name.to_owned()))),
        (Standing::Modified | Standing::Outdated, _) => {}
    }
    let wanted = Wanted { name: Some(name.to_owned()), force, ..Wanted::default() };
    let installed = hub.install(&offer, &wanted).map_err(hub_trouble)?;
    Ok(Some(format!("Updated '{}' ({}).", installed.name, installed.verdict.name())))
}

pub(super) async fn uninstall(
    bench: &Bench<'_>,
    name: &str,
    yes: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    meant(bench, Some(name))?;
    if !agreed(&format!("Remove the skill '{name}'?"), yes).await? {
        return Ok(Exit::Interrupted);
    }
    let folder = bench.hub().remove(name).map_err(hub_trouble)?;
    writeln!(console.out, "Removed '{name}' from {}.", folder.display())?;
    Ok(Exit::Done)
}
