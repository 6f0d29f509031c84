//! The prompt itself: to a pipe byte for byte, to a terminal without what a terminal would obey.

use super::Built;
use crate::commands::paper::{self, Paper};
use crate::commands::{Console, Exit, Trouble};
use hermes_core::prompt::{Layer, Name, Tier};
use serde::Serialize;

#[derive(Serialize)]
struct Report<'a> {
    platform: &'a str,
    model: Option<&'a str>,
    provider: Option<&'a str>,
    layers: Vec<Shown<'a>>,
}

#[derive(Serialize)]
struct Shown<'a> {
    name: Name,
    tier: Tier,
    text: &'a str,
}

pub(super) fn run(
    built: &Built,
    layer: Option<Name>,
    as_json: bool,
    console: &mut Console<'_>,
) -> Result<Exit, Trouble> {
    let wanted: Vec<&Layer> =
        built.prompt.layers.iter().filter(|found| layer.is_none_or(|name| found.name == name)).collect();
    if let (Some(name), []) = (layer, wanted.as_slice()) {
        let told = format!("This prompt has no layer `{}`; `hermes prompt size` lists those it has.", name.as_str());
        return Err(Trouble::Refused(told));
    }
    if as_json {
        let report = Report {
            platform: &built.platform,
            model: built.answerer.as_ref().map(|answerer| answerer.model.as_str()),
            provider: built.answerer.as_ref().map(|answerer| answerer.provider.as_str()),
            layers: wanted
                .iter()
                .map(|layer| Shown { name: layer.name, tier: layer.tier(), text: &layer.text })
                .collect(),
        };
        writeln!(console.out, "{}", paper::json_pretty(&report).map_err(std::io::Error::other)?)?;
        return Ok(Exit::Done);
    }
    let text = match layer {
        None => built.prompt.text(),
        Some(_) => wanted.iter().map(|layer| layer.text.as_str()).collect(),
    };
    let text = if Paper::of_process().is_terminal() { paper::shown(&text) } else { text };
    writeln!(console.out, "{text}")?;
    Ok(Exit::Done)
}
