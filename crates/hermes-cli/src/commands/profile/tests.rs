use super::*;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: ProfileArgs,
}

struct Desk {
    folder: tempfile::TempDir,
    root: Root,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::at(folder.path().join("home"));
        Self { folder, root }
    }

    fn file(&self, path: &str, content: &str) {
        let path = self.root.dir().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, content).expect("written");
    }

    fn type_in(&self, words: &[&str], input: &str) -> (Exit, String) {
        let args = Line::try_parse_from([&["profile"], words].concat()).expect("a command").args;
        let chosen = self.root.home(None, &|_| None).ok();
        let mut shown = Vec::new();
        let mut complaints = Vec::new();
        let mut console = Console { out: &mut shown, err: &mut complaints, input: &mut input.as_bytes() };
        let exit = run(args, &self.root, chosen.as_ref(), &mut console);
        shown.append(&mut complaints);
        (exit, String::from_utf8(shown).expect("text").replace(&self.folder.path().display().to_string(), "~"))
    }

    fn says(&self, words: &[&str]) -> (Exit, String) {
        self.type_in(words, "")
    }
}

#[test]
fn a_profile_is_made_chosen_renamed_and_deleted() {
    let desk = Desk::new();
    desk.file("config.yaml", "model: gpt-5\n");
    assert_eq!(
        desk.says(&["create", "work"]),
        (Exit::Done, "Made the profile `work` (~/home/profiles/work).\nWork in it once with `hermes -p work`, or always after `hermes profile use work`.\n".into())
    );
    assert_eq!(
        desk.says(&["use", "work"]),
        (Exit::Done, "Working in the profile `work` from now on (~/home/profiles/work).\n".into())
    );
    assert_eq!(
        desk.says(&["list"]),
        (
            Exit::Done,
            "  default               gpt-5                             ~/home\n* work                  no model chosen                   ~/home/profiles/work\n".into()
        )
    );
    assert_eq!(
        desk.says(&["rename", "work", "office"]),
        (Exit::Done, "The profile `work` is `office` now (~/home/profiles/office).\n".into())
    );
    assert_eq!(desk.root.sticky().expect("read").as_deref(), Some("office"));
    assert_eq!(
        desk.type_in(&["delete", "office"], "no\n"),
        (
            Exit::Failed,
            "This deletes ~/home/profiles/office with its settings, keys, memories and sessions.\nType `office` to go on: \nNothing \
             was deleted. `hermes profile delete office --yes` does not ask.\n"
                .into()
        )
    );
    assert_eq!(
        desk.says(&["delete", "office", "--yes"]),
        (
            Exit::Done,
            "It was the chosen profile; the default one is chosen now.\nDeleted the profile `office`.\n".into()
        )
    );
    let left: Vec<_> = fs::read_dir(desk.root.profiles_dir()).expect("there").flatten().collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_clone_takes_the_identity_and_clone_all_the_rest() {
    let desk = Desk::new();
    for (path, content) in [
        ("config.yaml", "model: gpt-5\n"),
        (".env", "A_KEY=1\n"),
        ("SOUL.md", "kind"),
        ("memories/MEMORY.md", "note"),
        ("skills/cook/SKILL.md", "cook"),
        ("state.db", "sessions"),
        ("logs/agent.log", "log"),
        ("gateway.pid", "1"),
        ("profiles/other/config.yaml", ""),
    ] {
        desk.file(path, content);
    }
    let files = |profile: &str| {
        let mut found = Vec::new();
        let mut folders = vec![desk.root.profiles_dir().join(profile)];
        let base = desk.root.profiles_dir().join(profile);
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("there").flatten() {
                match entry.path().is_dir() {
                    true => folders.push(entry.path()),
                    false => found.push(entry.path().strip_prefix(&base).expect("inside").display().to_string()),
                }
            }
        }
        found.sort();
        found
    };
    assert_eq!(desk.says(&["create", "twin", "--clone"]).0, Exit::Done);
    assert_eq!(files("twin"), [".env", "SOUL.md", "config.yaml", "memories/MEMORY.md", "skills/cook/SKILL.md"]);
    assert_eq!(desk.says(&["create", "double", "--clone-all"]).0, Exit::Done);
    assert_eq!(
        files("double"),
        [".env", "SOUL.md", "config.yaml", "memories/MEMORY.md", "skills/cook/SKILL.md", "state.db"]
    );
    assert_eq!(
        desk.says(&["show", "twin"]),
        (
            Exit::Done,
            "Profile   twin\nHome      ~/home/profiles/twin\nModel     gpt-5\nSettings  config.yaml\nKeys      1 in .env\nSkills    1\n".into()
        )
    );
}

#[test]
fn refusals_name_the_reason() {
    let desk = Desk::new();
    assert_eq!(desk.says(&["create", "work"]).0, Exit::Done);
    let table = [
        (&["create", "work"][..], "The profile `work` exists already (~/home/profiles/work).\n"),
        (&["delete", "default", "-y"], "The default profile is the home itself and cannot be deleted.\n"),
        (&["rename", "default", "x"], "The default profile is the home itself and keeps its name.\n"),
        (
            &["use", "nobody"],
            "The profile `nobody` does not exist.\n`hermes profile list` shows those that do; `hermes profile create nobody` makes it.\n",
        ),
        (
            &["create", "../up"],
            "`../up` cannot name a profile: it has other characters than allowed.\nUse small letters, digits, `-` and `_`, starting \
             with a letter or digit, for example `work`.\n",
        ),
    ];
    for (words, expected) in table {
        assert_eq!(desk.says(words), (Exit::Failed, expected.into()), "{words:?}");
    }
}

#[test]
fn a_chosen_profile_that_is_gone_can_be_left() {
    let desk = Desk::new();
    desk.says(&["create", "work"]);
    desk.says(&["use", "work"]);
    fs::remove_dir(desk.root.dir().join("profiles/work")).expect("removed");
    let (exit, said) = desk.says(&["list"]);
    assert_eq!(exit, Exit::Done);
    assert!(
        said.ends_with("The chosen profile is gone; `hermes profile use default` goes back to the default one.\n"),
        "{said}"
    );
    assert_eq!(desk.says(&["use", "default"]).0, Exit::Done);
    assert_eq!(desk.root.sticky().expect("read"), None);
    assert!(!desk.root.dir().join("profiles/work").exists());
}
