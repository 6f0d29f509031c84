//! The skills themselves, as they lie in `skills/` of this crate. A new one is a folder there and a row here.

use crate::skills::parcel::Parcel;

/// The folder they are copied to.
pub(super) const CATEGORY: &str = "basics";

/// A skill that comes with the program.
#[derive(Debug)]
pub struct Bundled {
    pub name: &'static str,
    /// Path and text.
    files: &'static [(&'static str, &'static str)],
}

/// A row: the folder and its files.
macro_rules! skill {
    ($name:literal $(, $file:literal)*) => {
        Bundled {
            name: $name,
            files: &[
                ("SKILL.md", include_str!(concat!("../../../skills/", $name, "/SKILL.md"))),
                $(($file, include_str!(concat!("../../../skills/", $name, "/", $file))),)*
            ],
        }
    };
}

pub static SET: &[Bundled] = &[
    skill!("code-review", "references/what-to-look-for.md"),
    skill!("commit-message"),
    skill!("explore-data", "scripts/profile.py"),
    skill!("failing-test"),
    skill!("long-document"),
    skill!("make-a-skill", "templates/SKILL.md"),
    skill!("task-plan"),
];

/// Which set this is. A test says what to write here when a skill changed: then it is copied again.
pub(super) static STAMP: &str = "0cd0545ef468e5f4\n";

impl Bundled {
    pub fn named(name: &str) -> Option<&'static Self> {
        SET.iter().find(|one| one.name == name)
    }

    pub(in crate::skills) fn place(&self) -> String {
        format!("{CATEGORY}/{}", self.name)
    }

    pub fn parcel(&self) -> Parcel {
        Parcel::of_texts(self.files.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::frontmatter::{self, Frontmatter};
    use crate::skills::scan::{self, Verdict};
    use crate::threat::Scanner;
    use std::collections::BTreeSet;

    #[test]
    fn every_skill_is_what_skill_manage_would_accept() {
        for bundled in SET {
            let text = bundled.parcel().text("SKILL.md").expect("a text");
            assert_eq!(frontmatter::check(&text), None, "{}", bundled.name);
            let (front, body) = Frontmatter::split(&text);
            assert_eq!(front.name().as_deref(), Some(bundled.name));
            let description = front.text("description").expect("a description");
            assert!(description.chars().count() <= 60, "{}: fits into the list whole", bundled.name);
            assert!(body.lines().count() < 70, "{}: a page, not more", bundled.name);
        }
    }

    #[test]
    fn the_stamp_is_that_of_this_set() {
        let digests: String = SET.iter().map(|one| one.name.to_owned() + &one.parcel().plain_digest()).collect();
        let stamp = Parcel::of_texts([("set", digests.as_str())]).plain_digest();
        assert_eq!(Some(STAMP.trim_end()), stamp.get(..16), "write this to STAMP");
    }

    #[test]
    fn every_link_leads_to_a_file_and_every_file_is_linked() {
        let names: BTreeSet<&str> = SET.iter().map(|one| one.name).collect();
        let link = regex::Regex::new(r"(references|templates|scripts|assets)/[A-Za-z0-9._-]+").expect("a pattern");
        for bundled in SET {
            let parcel = bundled.parcel();
            let text = parcel.text("SKILL.md").expect("a text");
            for file in parcel.files.keys().filter(|file| *file != "SKILL.md") {
                assert!(text.contains(file.as_str()), "{}: {file} is not named", bundled.name);
            }
            for linked in link.find_iter(&text) {
                assert!(parcel.files.contains_key(linked.as_str()), "{}: no {}", bundled.name, linked.as_str());
            }
            for related in Frontmatter::split(&text).0.own_words("related_skills") {
                assert!(names.contains(related.as_str()), "{}: no skill {related}", bundled.name);
            }
        }
    }

    #[test]
    fn the_set_is_what_lies_in_the_folder_and_nothing_in_it_is_suspicious() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("skills");
        let on_disk: BTreeSet<String> = std::fs::read_dir(&folder)
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        assert_eq!(on_disk, SET.iter().map(|one| one.name.to_owned()).collect());
        for bundled in SET {
            let read = Parcel::read(&folder.join(bundled.name)).expect("a skill");
            assert_eq!(read.digest(), bundled.parcel().digest(), "{}: a file is missing in the row", bundled.name);
            let report = scan::scan(&bundled.parcel(), &Scanner::new());
            assert_eq!(report.verdict(), Verdict::Safe, "{}:\n{}", bundled.name, report.worst());
        }
    }
}
