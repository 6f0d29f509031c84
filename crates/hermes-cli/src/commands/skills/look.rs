//! Looking at skills: one that is here, one from elsewhere, those of lists, and what a scan finds.

use super::{Bench, hub_trouble, trouble, write_json};
use crate::commands::paper::{self, Paper};
use crate::commands::tools::alike;
use crate::commands::{Console, Exit, Trouble, table};
use hermes_tools::skills::hub::{Audited, HubError, Index, Listed, Offer, Place, Source, fetch};
use hermes_tools::skills::inventory;
use hermes_tools::skills::scan::{Force, Report, Verdict};
use serde_json::json;

#[derive(Debug, clap::Args)]
pub struct SearchArgs {
    /// Most lines
    #[arg(long, value_name = "N", default_value_t = 25)]
    limit: usize,
    /// As JSON, for programs
    #[arg(long)]
    json: bool,
}

pub(super) fn view(
    bench: &Bench<'_>,
    name: &str,
    file: Option<&str>,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let (name, parcel) = inventory::open(name, bench.settings, bench.scanner).map_err(|error| {
        let held = inventory::inventory(bench.settings, bench.scanner, &bench.hub());
        let meant = alike(held.iter().map(|one| one.name.as_str()), name);
        let meant = meant.map(|meant| format!(" Did you mean '{meant}'?")).unwrap_or_default();
        trouble(format!("{error}{meant} `hermes skills` shows all."))
    })?;
    let path = file.unwrap_or("SKILL.md");
    let Some(text) = parcel.text(path) else {
        let files: Vec<&str> = parcel.files.keys().map(String::as_str).collect();
        return Err(Trouble::Refused(format!("The skill '{name}' has no file '{path}'; it has {}.", files.join(", "))));
    };
    let text =
        if Paper::of_process().is_terminal() { paper::shown(text.trim_end()) } else { text.trim_end().to_owned() };
    writeln!(console.out, "{text}")?;
    Ok(Exit::Done)
}

pub(super) async fn search(
    bench: &Bench<'_>,
    query: &str,
    how: &SearchArgs,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let (lists, failed) = Index::all(bench.settings, bench.web).await;
    for error in &failed {
        writeln!(console.err, "… {}", paper::shown(&error.to_string()))?;
    }
    let fits = |listed: &&Listed| listed.fits(query);
    let found: Vec<&Listed> = lists.iter().flat_map(|list| &list.skills).filter(fits).take(how.limit).collect();
    if how.json {
        return write_json(console, &found);
    }
    if found.is_empty() && lists.is_empty() {
        writeln!(
            console.out,
            "There are no lists to search yet: put files or https addresses into skills.hub_indexes."
        )?;
        writeln!(console.out, "Without one, `hermes skills install` takes a folder or a git address.")?;
        return Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed });
    }
    if found.is_empty() {
        writeln!(console.out, "Nothing in the lists fits `{}`.", paper::one_line(query))?;
        return Ok(Exit::Done);
    }
    let row = |one: &&Listed| [&one.name, &one.source, &one.description].map(|cell| paper::one_line(cell));
    let rows: Vec<[String; 3]> = found.iter().map(row).collect();
    table::write_within(Paper::of_process().width, console.out, &rows)?;
    writeln!(console.out, "`hermes skills inspect NAME` looks at one, `hermes skills install NAME` installs it.")?;
    Ok(Exit::Done)
}

/// Brings a skill here without installing it.
pub(super) async fn fetched(bench: &Bench<'_>, identifier: &str) -> Result<Offer, Trouble> {
    let around = &bench.settings.around;
    let told = |error: HubError| match error {
        HubError::NoSource(_) if around.cwd.join(identifier).is_dir() => {
            Trouble::Usage(format!("{error}. `./{identifier}` is the folder of that name here."))
        }
        error => hub_trouble(error),
    };
    let source = Source::read(identifier, Place { cwd: &around.cwd, home: &around.home }).map_err(told)?;
    fetch(&source, bench.settings, bench.web, bench.stop).await.map_err(told)
}

pub(super) async fn inspect(
    bench: &Bench<'_>,
    identifier: &str,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let offer = fetched(bench, identifier).await?;
    let (report, allowed) = bench.hub().examine(&offer, Force::No);
    if as_json {
        return write_json(
            console,
            &json!({
                "name": offer.name, "description": offer.description, "source": offer.source,
                "identifier": offer.identifier, "trust": offer.trust, "verdict": report.verdict(),
                "installable": allowed.is_ok(), "sha256": offer.parcel.digest(),
                "files": offer.parcel.files.keys().collect::<Vec<_>>(), "findings": report,
            }),
        );
    }
    let rows = [
        ["Name", &offer.name],
        ["About", &offer.description],
        ["From", &offer.identifier],
        ["Trust", offer.trust.name()],
        ["Scan", report.verdict().name()],
        ["sha256", &offer.parcel.digest()],
    ];
    for [name, value] in rows {
        writeln!(console.out, "{name:<8}{}", paper::one_line(value))?;
    }
    for (path, piece) in &offer.parcel.files {
        writeln!(console.out, "  {}  {}", paper::one_line(path), table::size(piece.bytes.len() as u64))?;
    }
    findings(&report, console)?;
    match allowed {
        Ok(()) => writeln!(console.out, "It can be installed with `hermes skills install`.")?,
        Err(_) => writeln!(console.out, "It would not be installed.")?,
    }
    Ok(Exit::Done)
}

pub(super) fn findings(report: &Report, console: &mut Console<'_>) -> Result<(), Trouble> {
    for finding in &report.findings {
        writeln!(console.out, "{}", paper::shown(&finding.told()))?;
    }
    Ok(())
}

pub(super) fn audit(
    bench: &Bench<'_>,
    name: Option<&str>,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let audited = bench.hub().audit(name).map_err(hub_trouble)?;
    let is_clean = audited.iter().all(|one| one.report.verdict() == Verdict::Safe);
    if as_json {
        let rows: Vec<_> = audited.iter().map(as_row).collect();
        write_json(console, &rows)?;
    } else if audited.is_empty() {
        writeln!(console.out, "Nothing was installed from elsewhere.")?;
    } else {
        for one in &audited {
            let changed = if one.is_modified { ", changed since it was installed" } else { "" };
            let was = match one.entry.scan_verdict.as_str() {
                before if before == one.report.verdict().name() => String::new(),
                before => format!(" (was {before})"),
            };
            let (name, verdict) = (paper::one_line(&one.name), one.report.verdict().name());
            writeln!(console.out, "{name}: {verdict}{was}{changed}, from {}", paper::one_line(&one.entry.identifier))?;
            findings(&one.report, console)?;
        }
    }
    Ok(if is_clean { Exit::Done } else { Exit::Failed })
}

fn as_row(one: &Audited) -> serde_json::Value {
    json!({
        "name": one.name, "source": one.entry.source, "identifier": one.entry.identifier,
        "trust": one.entry.trust_level, "verdict": one.report.verdict(), "verdict_at_install": one.entry.scan_verdict,
        "modified": one.is_modified, "findings": one.report,
    })
}
