//! `hooks.<event>: [{command, matcher, timeout, on_failure}]`, read once. What makes no sense is named and left out; a
//! hook that would guard something is never silently weaker than it was written.

use crate::occasion::{Occasion, Power, deaf_to};
use crate::protocol::Failing;
use regex::Regex;
use serde_json::Value;
use std::time::Duration;

const SECTION: &str = "hooks";
/// A part of the section that is no event.
const OUTPUT_SPILL: &str = "output_spill";
const USUAL_TIMEOUT: u64 = 60;
const LONGEST_TIMEOUT: u64 = 300;

/// One hook as the owner wrote it.
#[derive(Debug, Clone)]
pub struct HookConfig {
    pub occasion: Occasion,
    pub command: String,
    /// Which tools it is about, as it is written.
    pub matcher: Option<String>,
    tools: Option<Tools>,
    pub timeout: Duration,
    pub on_failure: Failing,
}

#[derive(Debug, Clone)]
enum Tools {
    Matching(Regex),
    /// The pattern is none: the tool of that name.
    Named(String),
}

impl HookConfig {
    /// Whether it is about this tool. The pattern has to fit the whole name.
    pub fn concerns(&self, tool: Option<&str>) -> bool {
        match (&self.tools, tool) {
            (None, _) => true,
            (Some(Tools::Matching(pattern)), Some(tool)) => pattern.is_match(tool),
            (Some(Tools::Named(name)), Some(tool)) => name == tool,
            (Some(_), None) => false,
        }
    }
}

/// The hooks in a whole `config.yaml`.
pub fn read(config: &Value, odd: &mut Vec<String>) -> Vec<HookConfig> {
    let section = match config.get(SECTION) {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Object(section)) => section,
        Some(_) => {
            odd.push("hooks: events with lists of commands are wanted; none is used".to_owned());
            return Vec::new();
        }
    };
    let mut hooks = Vec::new();
    for (event, entries) in section.iter().filter(|(event, _)| *event != OUTPUT_SPILL) {
        let Some(occasion) = Occasion::parse(event) else {
            odd.extend(deaf_to(event).map(|told| format!("hooks.{event}: {told}; its commands do not run")));
            continue;
        };
        match entries {
            Value::Null => {}
            Value::Array(entries) => {
                let read = entries.iter().enumerate().filter_map(|(at, entry)| one(occasion, at, entry, odd));
                hooks.extend(read);
            }
            _ => odd.push(format!("hooks.{event}: a list of commands is wanted; none is used")),
        }
    }
    hooks
}

fn one(occasion: Occasion, at: usize, entry: &Value, odd: &mut Vec<String>) -> Option<HookConfig> {
    let place = format!("hooks.{}[{at}]", occasion.name());
    let command = entry.get("command").and_then(Value::as_str).map(str::trim).filter(|command| !command.is_empty());
    let Some(command) = command else {
        odd.push(format!("{place}: `command` is missing; it does not run"));
        return None;
    };
    let matcher = matcher(occasion, &place, entry.get("matcher"), odd);
    let tools = matcher.as_ref().and_then(|matcher| tools(occasion, &place, matcher, odd));
    Some(HookConfig {
        occasion,
        command: command.to_owned(),
        tools,
        matcher,
        timeout: timeout(&place, entry.get("timeout"), odd),
        on_failure: on_failure(&place, entry.get("on_failure"), odd),
    })
}

fn matcher(occasion: Occasion, place: &str, written: Option<&Value>, odd: &mut Vec<String>) -> Option<String> {
    let written = written.filter(|written| !written.is_null())?;
    let Some(text) = written.as_str().map(str::trim) else {
        odd.push(format!("{place}.matcher: a pattern for names of tools is wanted; it counts for all tools"));
        return None;
    };
    if !occasion.is_about_a_tool() {
        odd.push(format!("{place}.matcher: {} is about no tool; it counts always", occasion.name()));
        return None;
    }
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// The tools a hook is about; all of them where nothing comes back. Patterns are not all of those of the Python program:
/// a guard of "everything but reading" (`(?!read_).*`) must not become a guard of nothing.
fn tools(occasion: Occasion, place: &str, matcher: &str, odd: &mut Vec<String>) -> Option<Tools> {
    let what = match Regex::new(&format!("^(?:{matcher})$")) {
        Ok(pattern) => return Some(Tools::Matching(pattern)),
        Err(_) => format!("{place}.matcher: {matcher:?} is no pattern that is understood here"),
    };
    if occasion.power() == Power::Guards {
        odd.push(format!("{what}; the hook guards all tools"));
        return None;
    }
    odd.push(format!("{what}; it counts for the tool of that name"));
    Some(Tools::Named(matcher.to_owned()))
}

fn timeout(place: &str, written: Option<&Value>, odd: &mut Vec<String>) -> Duration {
    let seconds = match written {
        None | Some(Value::Null) => USUAL_TIMEOUT,
        Some(written) => match written.as_u64().filter(|seconds| *seconds > 0) {
            Some(seconds) if seconds > LONGEST_TIMEOUT => {
                odd.push(format!("{place}.timeout: {LONGEST_TIMEOUT} s is the most; that is used"));
                LONGEST_TIMEOUT
            }
            Some(seconds) => seconds,
            None => {
                odd.push(format!(
                    "{place}.timeout: whole seconds are wanted, not {written}; {USUAL_TIMEOUT} s are used"
                ));
                USUAL_TIMEOUT
            }
        },
    };
    Duration::from_secs(seconds)
}

fn on_failure(place: &str, written: Option<&Value>, odd: &mut Vec<String>) -> Failing {
    match written.map(|written| written.as_str().unwrap_or_default()) {
        None | Some("block") => Failing::Block,
        Some("continue") => Failing::Continue,
        Some(_) => {
            odd.push(format!("{place}.on_failure: block or continue is wanted; block is used"));
            Failing::Block
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn hooks_are_read_and_slips_are_named() {
        let config = json!({"hooks": {
            "pre_tool_call": [
                {"command": " guard.sh ", "matcher": "terminal|write_.*", "timeout": 900},
                {"command": "watch", "matcher": "(", "on_failure": "continue"},
                {"matcher": "terminal"},
            ],
            "post_tool_call": [{"command": "note", "matcher": "("}],
            "on_session_end": [{"command": "bye", "matcher": "x", "timeout": "soon"}],
            "pre_verify": [{"command": "never"}],
            "pre_tool_cal": [{"command": "never"}],
            "output_spill": {"max_chars": 7},
            "post_llm_call": null,
        }});
        let mut odd = Vec::new();
        let hooks = read(&config, &mut odd);
        let told: Vec<_> =
            hooks.iter().map(|hook| (hook.command.as_str(), hook.timeout.as_secs(), hook.on_failure)).collect();
        assert_eq!(
            told,
            [
                ("guard.sh", 300, Failing::Block),
                ("watch", 60, Failing::Continue),
                ("note", 60, Failing::Block),
                ("bye", 60, Failing::Block)
            ]
        );
        assert_eq!(odd.len(), 8, "{odd:#?}");
        let guard = hooks.first().unwrap();
        for (tool, expected) in [("terminal", true), ("write_file", true), ("my_terminal", false), ("terminal2", false)]
        {
            assert_eq!(guard.concerns(Some(tool)), expected, "{tool}");
        }
        assert!(hooks.get(1).is_some_and(|guard| guard.concerns(Some("terminal"))), "a guard guards");
        assert!(hooks.get(2).is_some_and(|note| note.concerns(Some("(")) && !note.concerns(Some("terminal"))));
    }
}
