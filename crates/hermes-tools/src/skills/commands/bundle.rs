//! Several skills under one name: YAML files in `skill-bundles/` of the home.

use crate::skills::frontmatter::yaml;
use crate::skills::words::{one_line, scalar, words};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDER: &str = "skill-bundles";
const LARGEST: u64 = 64 << 10;
const MOST: usize = 200;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    pub name: String,
    pub description: String,
    pub skills: Vec<String>,
    /// Said before the skills.
    pub instruction: Option<String>,
}

/// In the order of their files. One that cannot be read is told to the log.
pub(super) fn all(hermes_home: &Path) -> Vec<Bundle> {
    let Ok(entries) = fs::read_dir(hermes_home.join(FOLDER)) else { return Vec::new() };
    let end = |path: &Path| path.extension().and_then(|end| end.to_str()).map(str::to_owned);
    let mut files: Vec<(bool, PathBuf)> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter_map(|path| match end(&path).as_deref() {
            Some("yaml") => Some((false, path)),
            Some("yml") => Some((true, path)),
            _ => None,
        })
        .take(MOST)
        .collect();
    files.sort();
    let read = |path: &PathBuf| {
        let bundle = read(path);
        if bundle.is_none() {
            tracing::warn!(file = %path.display(), "a bundle of skills cannot be read: it needs a list of skills");
        }
        bundle
    };
    files.iter().filter_map(|(_, path)| read(path)).collect()
}

fn read(path: &Path) -> Option<Bundle> {
    let is_small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = is_small.then(|| fs::read_to_string(path).ok()).flatten()?;
    let fields = yaml(&text).ok()?;
    let field =
        |key: &str| fields.get(key).and_then(scalar).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let name = field("name").or_else(|| path.file_stem()?.to_str().map(str::to_owned))?;
    let skills = fields.get("skills").map(words).filter(|skills| !skills.is_empty())?;
    let description = field("description").unwrap_or_else(|| format!("{} skills at once", skills.len()));
    Some(Bundle {
        name: one_line(&name),
        description: one_line(&description),
        skills,
        instruction: field("instruction"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bundles_are_files_with_a_list() {
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join(FOLDER);
        fs::create_dir(&folder).unwrap();
        fs::write(
            folder.join("b.yaml"),
            "name: Backend\nskills: [code-review, failing-test]\ninstruction: Small steps.\n",
        )
        .unwrap();
        fs::write(folder.join("a.yml"), "skills:\n  - x\n").unwrap();
        fs::write(folder.join("none.yaml"), "name: None\n").unwrap();
        fs::write(folder.join("broken.yaml"), "[").unwrap();
        let found = all(home.path());
        let names: Vec<&str> = found.iter().map(|bundle| bundle.name.as_str()).collect();
        assert_eq!(names, ["Backend", "a"]);
        assert_eq!(found[0].instruction.as_deref(), Some("Small steps."));
        assert_eq!((found[1].description.as_str(), &found[1].skills), ("1 skills at once", &vec!["x".to_owned()]));
    }
}
