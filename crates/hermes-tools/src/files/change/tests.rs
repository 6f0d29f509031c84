use super::*;
use crate::files::place::{CrossProfile, Rules};
use crate::settings::Surroundings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use tempfile::TempDir;

struct Ground {
    dir: TempDir,
}

impl Ground {
    fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn at(&self, name: &str) -> Writable {
        let root = self.root();
        let around = Surroundings {
            home: root.join("home"),
            hermes_home: root.join("home/.hermes"),
            hermes_root: root.join("home/.hermes"),
            cwd: root.clone(),
            temp: root.join("tmp"),
            variables: BTreeMap::new(),
            private_variables: BTreeSet::new(),
        };
        Rules::of(&around).writable(name, &root, CrossProfile::No).unwrap()
    }

    fn file(&self, name: &str, content: &str) -> Metadata {
        std::fs::write(self.root().join(name), content).unwrap();
        std::fs::metadata(self.root().join(name)).unwrap()
    }

    fn over(&self, name: &str, about: &Metadata, content: &str) -> Step {
        Step::Put { target: self.at(name), bytes: content.into(), over: Over::File(Box::new(about.clone())) }
    }

    /// Names and contents of everything, temporary files included.
    fn all(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        walk(&self.root(), &self.root(), &mut found);
        found.sort();
        found
    }
}

fn walk(folder: &Path, root: &Path, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        if path.is_dir() {
            found.push((name, "a directory".into()));
            walk(&path, root, found);
        } else {
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

#[test]
fn a_file_that_changed_in_between_stops_everything_and_keeps_its_new_content() {
    let ground = Ground::new();
    let (first, second, third) = (ground.file("a", "a"), ground.file("b", "b"), ground.file("c", "c"));
    ground.file("b", "somebody else's");
    let before = ground.all();
    let made = Step::Put { target: ground.at("new/deep/d"), bytes: b"d".to_vec(), over: Over::Nothing };
    let gone = Step::Remove { target: ground.at("c"), seen: Stamp::of(&third) };
    let steps = vec![ground.over("a", &first, "A"), made, gone, ground.over("b", &second, "B")];
    assert_eq!(apply(steps), Err(Failure::Overtaken(ground.root().join("b"))));
    assert_eq!(ground.all(), before);
    let restored = std::fs::metadata(ground.root().join("a")).unwrap();
    assert_eq!((restored.ino(), restored.mtime_nsec()), (first.ino(), first.mtime_nsec()), "the very file is back");
}

#[test]
fn a_file_that_appeared_in_between_is_not_overwritten() {
    let ground = Ground::new();
    let target = ground.at("a");
    ground.file("a", "theirs");
    let step = Step::Put { target, bytes: b"ours".to_vec(), over: Over::Nothing };
    assert_eq!(apply(vec![step]), Err(Failure::Overtaken(ground.root().join("a"))));
    assert_eq!(ground.all(), [("a".to_owned(), "theirs".to_owned())]);
}

#[test]
fn everything_lands_and_nothing_is_left_behind() {
    let ground = Ground::new();
    let (first, second, third) = (ground.file("a", "a"), ground.file("b", "b"), ground.file("c", "c"));
    let steps = vec![
        ground.over("a", &first, "A"),
        Step::Remove { target: ground.at("b"), seen: Stamp::of(&second) },
        Step::Rename { from: ground.at("c"), to: ground.at("d/c"), seen: Stamp::of(&third) },
    ];
    assert_eq!(apply(steps), Ok(Done { folders_made: true, notes: Vec::new() }));
    let expected = [("a", "A"), ("d", "a directory"), ("d/c", "c")];
    assert_eq!(ground.all(), expected.map(|(name, content)| (name.to_owned(), content.to_owned())));
}

#[test]
fn a_directory_that_becomes_a_link_is_not_written_through() {
    let ground = Ground::new();
    std::fs::create_dir_all(ground.root().join("d")).unwrap();
    std::fs::create_dir_all(ground.root().join("elsewhere")).unwrap();
    let target = ground.at("d/x");
    std::fs::rename(ground.root().join("d"), ground.root().join("was")).unwrap();
    std::os::unix::fs::symlink(ground.root().join("elsewhere"), ground.root().join("d")).unwrap();
    let step = Step::Put { target, bytes: b"x".to_vec(), over: Over::Nothing };
    assert!(matches!(apply(vec![step]), Err(Failure::Undone(_))));
    assert_eq!(std::fs::read_dir(ground.root().join("elsewhere")).unwrap().count(), 0);
}
