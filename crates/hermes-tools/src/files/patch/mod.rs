//! `patch`: part of a file replaced, or several files changed by one text.
//!
//! Both ways are planned in memory first and land together or not at all. Every path goes through the same table as
//! `write_file`. When another program changes a file in the moment between, the plan is made anew on what it left.

mod replace;
mod several;

use super::change::{self, Failure, Step};
use super::keys;
use super::place::{Rules, Writable};
use super::v4a;
use super::write::lint::{self, Lint};
use super::write::syntax::Language;
use super::{current, write};
use crate::cover::Cover;
use crate::desk::{Cx, Desk};
use crate::effects::{Effects, Scope};
use crate::gate::Permit;
use crate::tool::{Card, Output, ResultCap, Tool, ToolError};
use hermes_core::redact;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

const RESULT_CHARS: usize = 100_000;
/// How often a plan is made anew because another program was quicker.
const TRIES: usize = 4;

pub(crate) struct PatchTool;

#[derive(Debug, Clone, Deserialize)]
pub(crate) struct PatchArgs {
    #[serde(default)]
    mode: Mode,
    #[serde(default)]
    path: Option<String>,
    #[serde(default)]
    old_string: Option<String>,
    #[serde(default)]
    new_string: Option<String>,
    #[serde(default)]
    replace_all: bool,
    #[serde(default)]
    patch: Option<String>,
    #[serde(default)]
    cross_profile: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mode {
    #[default]
    Replace,
    Patch,
}

fn parameters() -> Value {
    json!({
        "type": "object",
        "properties": {
            "mode": {"type": "string", "enum": ["replace", "patch"], "default": "replace"},
            "path": {"type": "string", "description": "replace: the file"},
            "old_string": {"type": "string", "description": "replace: text of the file, with enough lines around it to be unique"},
            "new_string": {"type": "string", "description": "replace: what stands there afterwards; empty removes it"},
            "replace_all": {"type": "boolean", "default": false, "description": "replace: every place instead of the only one"},
            "patch": {
                "type": "string",
                "description": "patch: *** Begin Patch / *** Update File: p / @@ hint @@ / lines with ' ', '-', '+' / \
                                *** Add File: p / *** Delete File: p / *** Move File: a -> b / *** End Patch"
            },
            "cross_profile": {
                "type": "boolean", "default": false,
                "description": "Allow writing into another Hermes profile; only when the person asked for it"
            }
        },
        "required": ["mode"]
    })
}

#[derive(Debug, Default, Serialize)]
struct Patched {
    success: bool,
    diff: String,
    files_modified: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_created: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    files_deleted: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resolved_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lint: Option<LintReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    stale: Option<String>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum LintReport {
    One(Lint),
    Several(BTreeMap<String, Lint>),
}

/// What a call wants, with every path checked.
#[derive(Clone)]
enum Wish {
    Replace { given: String, target: Writable, old: String, new: String, all: bool },
    Several { patch: v4a::Patch, targets: BTreeMap<String, Writable> },
}

/// A change that is ready to land, and how it is told.
struct Draft {
    steps: Vec<Step>,
    told: Patched,
    /// Files that have a new content, with the old one.
    contents: Vec<Content>,
}

struct Content {
    target: Writable,
    before: Option<String>,
    after: String,
}

impl Tool for PatchTool {
    type Args = PatchArgs;

    fn card(&self) -> Card {
        let description = "Change files in place. mode=replace: swap old_string for new_string in one file; small differences \
                           in white space are forgiven. mode=patch: a V4A patch over several files, applied as a whole or \
                           not at all. Returns the diff. Use this instead of sed.";
        Card {
            emoji: "🔧",
            result_cap: ResultCap::Chars(RESULT_CHARS),
            ..Card::new("patch", "file", description, parameters())
        }
    }

    fn effects(&self, args: &PatchArgs, cx: &Cx) -> Result<Effects, ToolError> {
        let wish = wish(args, &cx.desk)?;
        let scopes = wish.paths().into_iter().flat_map(|path| Effects::write(path).scopes).collect::<Vec<Scope>>();
        Ok(Effects { scopes, ..Effects::none() })
    }

    async fn call(&self, args: PatchArgs, permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let desk = cx.desk.clone();
        let wish = wish(&args, &desk)?;
        for path in wish.paths() {
            super::still(&permit, &path)?;
        }
        desk.history.other_tool_ran();
        let held = desk.shop.traffic.hold(wish.paths()).await;
        let for_work = desk.clone();
        let (mut told, contents) = super::holding(held, move || land(&for_work, &wish)).await?;
        told.lint = linted(&contents, &desk, cx).await;
        Output::json(&told)
    }
}

/// Reasons quote the file, so secrets in them are covered as they are in a read.
fn failed(error: impl AsRef<str>) -> ToolError {
    ToolError::Tell(json!({"success": false, "error": redact::file(error.as_ref())}))
}

/// The same for a reason that quotes a file, where the owner may want to see everything.
fn quoting(desk: &Desk, error: &str, file: Option<&str>) -> String {
    let cover = desk.settings().cover;
    cover.file(&quoted(desk, error.to_owned(), file)).into_owned()
}

/// Text that quotes a file, without the lines of its private keys.
fn quoted(desk: &Desk, text: String, file: Option<&str>) -> String {
    match (desk.settings().cover, file) {
        (Cover::Secrets, Some(file)) => keys::unquoted(text, file),
        (Cover::Nothing, _) | (_, None) => text,
    }
}

fn wish(args: &PatchArgs, desk: &Desk) -> Result<Wish, ToolError> {
    let rules = Rules::of(&desk.settings().around);
    let checked = |path: &str| {
        let target = rules.writable(path, &desk.cwd(), args.cross_profile.into());
        target.map_err(|why| failed(why.to_string()))
    };
    match args.mode {
        Mode::Replace => {
            let missing = |name: &str| failed(format!("patch: mode=replace needs `{name}`."));
            let given = args.path.clone().filter(|path| !path.trim().is_empty()).ok_or_else(|| missing("path"))?;
            let old = args.old_string.clone().ok_or_else(|| missing("old_string"))?;
            let new = args.new_string.clone().ok_or_else(|| missing("new_string"))?;
            let target = checked(&given)?;
            Ok(Wish::Replace { given, target, old, new, all: args.replace_all })
        }
        Mode::Patch => {
            let text = args.patch.as_deref().filter(|patch| !patch.trim().is_empty());
            let text = text.ok_or_else(|| failed("patch: mode=patch needs `patch`."))?;
            let patch = v4a::parse(text).map_err(|error| failed(error.to_string()))?;
            let mut targets = BTreeMap::new();
            for path in several::paths(&patch) {
                targets.insert(path.to_owned(), checked(path)?);
            }
            Ok(Wish::Several { patch, targets })
        }
    }
}

impl Wish {
    fn paths(&self) -> BTreeSet<PathBuf> {
        match self {
            Self::Replace { target, .. } => BTreeSet::from([target.path().to_path_buf()]),
            Self::Several { targets, .. } => targets.values().map(|target| target.path().to_path_buf()).collect(),
        }
    }

    fn draft(&self, desk: &Desk) -> Result<Draft, ToolError> {
        match self {
            Self::Replace { given, target, old, new, all } => {
                replace::draft(desk, &replace::Edit { given, target, old, new, all: *all })
            }
            Self::Several { patch, targets } => several::draft(desk, patch, targets),
        }
    }
}

/// Plans and changes, again when another program was quicker.
fn land(desk: &Arc<Desk>, wish: &Wish) -> Result<(Patched, Vec<Content>), ToolError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let Draft { steps, mut told, contents } = wish.draft(desk)?;
        let done = match change::apply(steps) {
            Ok(done) => done,
            Err(Failure::Overtaken(_)) if tries < TRIES => continue,
            Err(failure) => return Err(failed(write::told(&failure))),
        };
        for content in &contents {
            current::landed(desk, &content.target).map_err(failed)?;
            desk.history.hit(content.target.path());
        }
        let warnings = contents.iter().filter_map(|content| content.target.warning().map(str::to_owned));
        let notes: Vec<String> = warnings.chain(done.notes).collect();
        told.success = true;
        told.diff = desk.settings().cover.file(&told.diff).into_owned();
        told.warning = (!notes.is_empty()).then(|| notes.join(" "));
        return Ok((told, contents));
    }
}

async fn linted(contents: &[Content], desk: &Desk, cx: &Cx) -> Option<LintReport> {
    let mut reports = BTreeMap::new();
    for content in contents {
        let path = content.target.path();
        let report = match Language::of(path) {
            Some(language) => language.fault(&content.after).map_or_else(Lint::ok, Lint::error),
            None => {
                let around = &desk.settings().around;
                lint::check(path, content.before.as_deref(), &content.after, around, &cx.stop).await
            }
        };
        reports.insert(path.display().to_string(), report);
    }
    match reports.len() {
        0 => None,
        1 => reports.into_values().next().map(LintReport::One),
        _ => Some(LintReport::Several(reports)),
    }
}
