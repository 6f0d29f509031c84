//! `write_file`: a whole file, or nothing.
//!
//! Refusals come in one order: no path, no content, a place of the system, another profile, text of the tools instead of a
//! content, a protected place, data that cannot be parsed. What the conversation may not know about the file it
//! overwrites is told beside the result and stops nothing.

pub(crate) mod display;
pub(crate) mod lint;
pub(crate) mod syntax;

use super::change::{self, Failure, Over, Step};
use super::current;
use super::place::{Kind, Rules, Writable};
use super::text::{self, Encoding};
use crate::desk::{Cx, Desk};
use crate::effects::Effects;
use crate::gate::Permit;
use crate::tool::{Card, Output, ResultCap, Tool, ToolError};
use lint::Lint;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use syntax::Language;

const RESULT_CHARS: usize = 100_000;

pub(crate) struct WriteFile;

#[derive(Debug, Deserialize)]
pub(crate) struct WriteFileArgs {
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    content: Option<String>,
    #[serde(default)]
    cross_profile: bool,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Absolute, relative to the working directory, or ~/..."},
            "content": {"type": "string", "description": "The whole new content"},
            "cross_profile": {
                "type": "boolean", "default": false,
                "description": "Allow writing into another Hermes profile; only when the person asked for it"
            }
        },
        "required": ["path", "content"]
    })
}

#[derive(Debug, Serialize)]
struct Written {
    bytes_written: u64,
    dirs_created: bool,
    lint: Lint,
    resolved_path: String,
    files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
}

impl Tool for WriteFile {
    type Args = WriteFileArgs;

    fn card(&self) -> Card {
        let description = "Write a whole file, replacing what is there; directories are made. To change part of a file use \
                           patch. JSON, YAML and TOML must parse, code is checked for syntax.";
        Card {
            emoji: "✍️",
            result_cap: ResultCap::Chars(RESULT_CHARS),
            ..Card::new("write_file", "file", description, parameters())
        }
    }

    fn effects(&self, args: &WriteFileArgs, cx: &Cx) -> Result<Effects, ToolError> {
        let (target, _) = checked(args, &cx.desk)?;
        Ok(Effects::write(target.path()))
    }

    async fn call(&self, args: WriteFileArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let desk = cx.desk.clone();
        let (target, content) = checked(&args, &desk)?;
        super::still(&permit, target.path())?;
        desk.history.other_tool_ran();
        let (given, content) = (args.path.clone().unwrap_or_default(), content.to_owned());
        let held = desk.shop.traffic.hold(BTreeSet::from([target.path().to_path_buf()])).await;
        let (for_work, path) = (desk.clone(), target.path().to_path_buf());
        let landed = super::holding(held, move || write(&for_work, &given, &target, &content)).await?;
        let around = &desk.settings().around;
        let lint = match Language::of(&path) {
            Some(language) => {
                landed.after.as_deref().and_then(|text| language.fault(text)).map_or_else(Lint::ok, Lint::error)
            }
            None => {
                let after = landed.after.as_deref().unwrap_or_default();
                lint::check(&path, landed.before.as_deref(), after, around, &cx.stop).await
            }
        };
        Output::json(&Written { lint, ..landed.written })
    }
}

/// The target and the content, when nothing speaks against them.
fn checked<'a>(args: &'a WriteFileArgs, desk: &Desk) -> Result<(Writable, &'a str), ToolError> {
    let Some(path) = args.path.as_deref().filter(|path| !path.trim().is_empty()) else {
        return Err(ToolError::told("write_file: `path` is missing. Name the file to write."));
    };
    let Some(content) = args.content.as_deref() else {
        return Err(ToolError::told(
            "write_file: `content` is missing. Give the whole content; an empty text makes an empty file.",
        ));
    };
    let rules = Rules::of(&desk.settings().around);
    let target = rules.writable(path, &desk.cwd(), args.cross_profile.into());
    let early = |kind: Kind| matches!(kind, Kind::Unusable | Kind::Device | Kind::System | Kind::OtherProfile);
    match (target, display::fault(content, None)) {
        (Err(why), Some(_)) if early(why.kind) => Err(ToolError::told(why.to_string())),
        (_, Some(fault)) => Err(ToolError::told(fault)),
        (Err(why), None) => Err(ToolError::told(why.to_string())),
        (Ok(target), None) => Ok((target, content)),
    }
}

/// A file that was written, with both contents for whoever looks at them next.
struct Landed {
    written: Written,
    before: Option<String>,
    after: Option<String>,
}

fn write(desk: &Arc<Desk>, given: &str, target: &Writable, content: &str) -> Result<Landed, ToolError> {
    let path = target.path().to_path_buf();
    let shown = path.display().to_string();
    let nothing = |error: String| {
        ToolError::Tell(json!({"bytes_written": 0, "dirs_created": false, "error": error, "resolved_path": shown}))
    };
    let now = current::look(target).map_err(nothing)?;
    let before = now.text();
    let after = text::like(before.unwrap_or_default(), content);
    if let Some(fault) = display::fault(content, before) {
        return Err(nothing(fault));
    }
    if let Some(fault) = current::broken_data(&path, before, &after) {
        return Err(nothing(format!("Refusing to write {given}: {fault} The file is as it was.")));
    }
    let stale = current::stale(desk, given, &path, &now);
    let encoding = now.encoding().unwrap_or(Encoding::Utf8);
    let over = match now.about() {
        Some(about) => Over::File(Box::new(about.clone())),
        None => Over::Nothing,
    };
    let bytes = text::encode(&after, encoding);
    let warning = target.warning().map(str::to_owned);
    let step = Step::Put { target: target.clone(), bytes, over };
    let done = change::apply(vec![step]).map_err(|failure| nothing(told(&failure)))?;
    let bytes_written = current::landed(desk, target).map_err(nothing)?;
    let notes: Vec<String> = warning.into_iter().chain(done.notes).collect();
    let written = Written {
        bytes_written,
        dirs_created: done.folders_made,
        lint: Lint::ok(),
        resolved_path: shown.clone(),
        files_modified: vec![shown.clone()],
        warning: (!notes.is_empty()).then(|| notes.join(" ")),
        stale,
    };
    Ok(Landed { written, before: before.map(str::to_owned), after: Some(after) })
}

/// A failed change in words, with the state of the files.
pub(crate) fn told(failure: &Failure) -> String {
    match failure {
        Failure::Overtaken(path) => {
            format!("{}; nothing was written. Read it again before the next try.", change::overtaken(path))
        }
        Failure::Undone(reason) => format!("{reason}. No file was modified."),
        Failure::Torn { reason, state } => {
            format!("{reason}. Not everything could be put back: {}.", state.join("; "))
        }
    }
}
