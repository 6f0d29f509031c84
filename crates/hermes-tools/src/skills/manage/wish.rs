//! What a call wants, read from its arguments alone.

use crate::skills::catalogue::SKILL;
use crate::skills::{frontmatter, naming};
use serde::{Deserialize, Serialize};

pub(super) const ACTIONS: [&str; 6] = ["create", "patch", "edit", "delete", "write_file", "remove_file"];
/// Characters of a `SKILL.md`.
const LONGEST_SKILL: usize = 100_000;
/// Bytes of any other file.
const LARGEST_FILE: usize = 1 << 20;

/// The arguments; also what waits for approval, in the form of the Python program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ManageArgs {
    pub(super) action: String,
    pub(super) name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) category: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) file_content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) old_string: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) new_string: Option<String>,
    #[serde(default)]
    pub(super) replace_all: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) absorbed_into: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wish {
    /// As it was written; for a new skill a name that may be used.
    pub(super) name: String,
    pub(super) change: Change,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Change {
    Create { content: String, category: Option<String> },
    Edit { content: String },
    Patch { file: String, old: String, new: String, all: bool },
    Delete { absorbed_into: Option<String> },
    WriteFile { file: String, content: String },
    RemoveFile { file: String },
}

impl Wish {
    pub(super) fn read(args: &ManageArgs) -> Result<Self, String> {
        let name = args.name.trim();
        let needs = |field: &str| format!("'{}' needs {field}.", args.action.trim());
        let text = |value: &Option<String>, field: &str| value.clone().ok_or_else(|| needs(field));
        let full = |value: &Option<String>, field: &str| {
            value.clone().filter(|text| !text.trim().is_empty()).ok_or_else(|| needs(field))
        };
        let file = || naming::writable(full(&args.file_path, "file_path")?.trim(), folder_of(name));
        let change = match args.action.trim() {
            "create" => {
                naming::fault(name, "skill").map_or(Ok(()), Err)?;
                let category = args.category.as_deref().map(str::trim).filter(|category| !category.is_empty());
                category.and_then(|category| naming::fault(category, "category")).map_or(Ok(()), Err)?;
                let content = full(&args.content, "content, the whole SKILL.md")?;
                Change::Create { content: checked(SKILL, content)?, category: category.map(str::to_owned) }
            }
            "edit" => Change::Edit { content: checked(SKILL, full(&args.content, "content, the whole SKILL.md")?)? },
            "patch" => Change::Patch {
                file: match args.file_path.as_deref().map(str::trim).filter(|path| !path.is_empty()) {
                    Some(path) => naming::writable(path, folder_of(name))?,
                    None => SKILL.to_owned(),
                },
                old: full(&args.old_string, "old_string, text of the file")?,
                new: text(&args.new_string, "new_string; an empty one removes the text")?,
                all: args.replace_all,
            },
            "delete" => {
                let absorbed_into = args.absorbed_into.as_deref().map(str::trim).filter(|name| !name.is_empty());
                Change::Delete { absorbed_into: absorbed_into.map(str::to_owned) }
            }
            "write_file" => {
                let file = file()?;
                let content = checked(&file, text(&args.file_content, "file_content")?)?;
                Change::WriteFile { file, content }
            }
            "remove_file" => match file()? {
                file if file == SKILL => {
                    return Err(format!("{SKILL} is the skill itself; 'delete' removes all of it."));
                }
                file => Change::RemoveFile { file },
            },
            other => return Err(format!("There is no action '{other}'. Use: {}.", ACTIONS.join(", "))),
        };
        if name.is_empty() {
            return Err(needs("the name of a skill"));
        }
        Ok(Self { name: name.to_owned(), change })
    }

    /// The file that is changed, below its skill; nothing when all of them go.
    pub(super) fn file(&self) -> Option<&str> {
        match &self.change {
            Change::Create { .. } | Change::Edit { .. } => Some(SKILL),
            Change::Patch { file, .. } | Change::WriteFile { file, .. } | Change::RemoveFile { file } => Some(file),
            Change::Delete { .. } => None,
        }
    }
}

fn folder_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// A new content, unless it is too long or would make the skill unreadable.
pub(super) fn checked(file: &str, content: String) -> Result<String, String> {
    if file != SKILL {
        return match content.len() {
            0..=LARGEST_FILE => Ok(content),
            bytes => Err(format!("{file} would have {bytes} bytes; a file of a skill has at most {LARGEST_FILE}.")),
        };
    }
    let chars = content.chars().count();
    if chars > LONGEST_SKILL {
        return Err(format!(
            "{SKILL} would have {chars} characters; at most {LONGEST_SKILL} are read at once. Move details to files in \
             references/ and name them in {SKILL}."
        ));
    }
    frontmatter::check(&content).map_or(Ok(content), Err)
}
