//! Several skills under one name: YAML files in `skill-bundles/` of the home.

use crate::skills::frontmatter::yaml;
use crate::skills::words::{one_line, scalar, words};
use crate::yaml::Misread;
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
        read(path).inspect_err(|why| tracing::warn!("a bundle of skills is not used: {}:{why}", path.display())).ok()
    };
    files.iter().filter_map(|(_, path)| read(path)).collect()
}

fn read(path: &Path) -> Result<Bundle, Misread> {
    let wrong = |reason: &str| Misread { place: None, reason: reason.to_owned() };
    let is_small = fs::metadata(path).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = is_small.then(|| fs::read_to_string(path).ok()).flatten();
    let fields = yaml(&text.ok_or_else(|| wrong("it is no small file of text"))?)?;
    let field =
        |key: &str| fields.get(key).and_then(scalar).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    let name = field("name").or_else(|| path.file_stem()?.to_str().map(str::to_owned));
    let name = name.ok_or_else(|| wrong("it has no name"))?;
    let skills = fields.get("skills").map(words).filter(|skills| !skills.is_empty());
    let skills = skills.ok_or_else(|| Misread::at(1, 1, "it needs a list of `skills`"))?;
    let description = field("description").unwrap_or_else(|| format!("{} skills at once", skills.len()));
    Ok(Bundle { name: one_line(&name), description: one_line(&description), skills, instruction: field("instruction") })
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
