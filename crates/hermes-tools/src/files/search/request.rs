//! What the model asks for, as it writes it and as it is meant.

use super::page::Window;
use crate::files::place::real;
use crate::tool::ToolError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const LIMIT: u64 = 50;
const MOST: u64 = 1_000;
const MOST_CONTEXT: u64 = 50;
/// Further than this nobody pages; it bounds what a search keeps in memory.
const FURTHEST: u64 = 1_000_000;

#[derive(Debug, Clone, Deserialize)]
pub struct SearchArgs {
    pub(super) pattern: String,
    #[serde(default)]
    pub(super) target: Target,
    #[serde(default = "here")]
    pub(super) path: String,
    #[serde(default)]
    pub(super) file_glob: Option<String>,
    #[serde(default)]
    limit: Option<u64>,
    #[serde(default)]
    offset: Option<u64>,
    #[serde(default)]
    pub(super) output_mode: Mode,
    #[serde(default)]
    context: Option<u64>,
}

fn here() -> String {
    ".".to_owned()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Target {
    #[default]
    #[serde(alias = "grep")]
    Content,
    #[serde(alias = "find")]
    Files,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Mode {
    #[default]
    Content,
    FilesOnly,
    Count,
}

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "pattern": {
                "type": "string",
                "description": "Regular expression for one line (target content), or a glob such as *.py or a name \
                                (target files)"
            },
            "target": {
                "type": "string",
                "enum": ["content", "files"],
                "description": "content: lines in files (default). files: files by name, newest first"
            },
            "path": {"type": "string", "description": "Directory or file to search (default: the current directory)"},
            "file_glob": {"type": "string", "description": "Only files like this, e.g. *.rs; !*.min.js leaves out"},
            "limit": {"type": "integer", "minimum": 1, "maximum": MOST, "description": "Results per page (default 50)"},
            "offset": {"type": "integer", "minimum": 0, "description": "Results to skip (default 0)"},
            "output_mode": {
                "type": "string",
                "enum": ["content", "files_only", "count"],
                "description": "content: lines with numbers (default). files_only: paths. count: lines per file"
            },
            "context": {
                "type": "integer",
                "minimum": 0,
                "maximum": MOST_CONTEXT,
                "description": "Lines to show before and after each match (default 0)"
            }
        },
        "required": ["pattern"]
    })
}

impl SearchArgs {
    pub(super) fn window(&self) -> Window {
        let limit = self.limit.unwrap_or(LIMIT).clamp(1, MOST);
        Window { offset: self.offset.unwrap_or(0).min(FURTHEST), limit }
    }

    pub(super) fn context(&self) -> usize {
        usize::try_from(self.context.unwrap_or(0).min(MOST_CONTEXT)).unwrap_or_default()
    }

    pub(super) fn file_glob(&self) -> Option<&str> {
        self.file_glob.as_deref().map(str::trim).filter(|glob| !glob.is_empty())
    }

    /// What would be asked again: everything that decides about the result.
    pub(super) fn key(&self, root: &Path) -> String {
        let Self { pattern, target, output_mode, .. } = self;
        let (window, context, glob) = (self.window(), self.context(), self.file_glob());
        format!("{pattern:?} {target:?} {root:?} {glob:?} {window:?} {output_mode:?} {context}")
    }

    /// Where the search begins: absolute, with every link followed as far as the path exists.
    pub(super) fn root(&self, cwd: &Path, home: &Path) -> Result<PathBuf, ToolError> {
        let given = self.path.trim();
        if given.contains('\0') {
            return Err(ToolError::told("the path has a NUL character in it; no file has such a name"));
        }
        let absolute = match given {
            "" => cwd.to_owned(),
            "~" => home.to_owned(),
            given => given.strip_prefix("~/").map_or_else(|| cwd.join(given), |below| home.join(below)),
        };
        Ok(real(&absolute))
    }
}
