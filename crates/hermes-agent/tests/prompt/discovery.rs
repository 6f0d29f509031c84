//! Which files speak, and in whose place.

use crate::stage::{Stage, only};

#[tokio::test]
async fn the_first_kind_of_project_speaks_alone() {
    let stage = Stage::new();
    assert_eq!(stage.project("project").await, (Vec::new(), Vec::new()));
    stage.write("project/.cursor/rules/b.mdc", "b");
    stage.write("project/.cursor/rules/a.mdc", "a");
    stage.write("project/.cursor/rules/readme.txt", "no rule");
    stage.write("project/.cursorrules", "rules");
    let (files, notices) = stage.project("project").await;
    let expected = [(".cursorrules", "rules"), (".cursor/rules/a.mdc", "a"), (".cursor/rules/b.mdc", "b")];
    assert_eq!(files, expected.map(|(name, text)| (name.to_owned(), text.to_owned())));
    assert_eq!(notices, Vec::<String>::new());
    for name in ["claude.md", "CLAUDE.md", "agents.md", "AGENTS.md", "HERMES.md", ".hermes.md"] {
        stage.write(&format!("project/{name}"), format!("\u{feff}from {name}\n"));
        assert_eq!(stage.project("project").await, only(name, &format!("from {name}")), "each goes before the last");
    }
}

#[tokio::test]
async fn a_file_without_words_lets_the_next_kind_speak() {
    let stage = Stage::new();
    stage.write("project/HERMES.md", "---\ntitle: nothing below\n---\n \n");
    stage.write("project/AGENTS.md", "\n\n");
    stage.write("project/CLAUDE.md", "hello");
    assert_eq!(stage.project("project").await, only("CLAUDE.md", "hello"));
}

#[tokio::test]
async fn our_own_files_are_found_up_to_the_root_of_the_repository() {
    let stage = Stage::new();
    stage.write("HERMES.md", "outside");
    stage.write("project/a/b/x", "");
    assert_eq!(stage.project("project/a/b").await, (Vec::new(), Vec::new()), "no repository, no walk");
    stage.write("project/.git/HEAD", "");
    assert_eq!(stage.project("project/a/b").await, (Vec::new(), Vec::new()), "what lies outside does not count");
    stage.write("project/HERMES.md", "---\nowner: ada\n---\nat the root");
    assert_eq!(stage.project("project/a/b").await, only("../../HERMES.md", "at the root"));
    stage.write("project/a/.hermes.md", "nearer\n---\nnot yaml");
    assert_eq!(stage.project("project/a/b").await, only("../.hermes.md", "nearer\n---\nnot yaml"));
    stage.write("project/a/b/HERMES.md", "--- \nnever closed");
    assert_eq!(stage.project("project/a/b").await, only("HERMES.md", "--- \nnever closed"));
    stage.write("project/AGENTS.md", "only where one stands");
    std::fs::remove_file(stage.path("project/HERMES.md")).expect("removed");
    std::fs::remove_file(stage.path("project/a/.hermes.md")).expect("removed");
    std::fs::remove_file(stage.path("project/a/b/HERMES.md")).expect("removed");
    assert_eq!(stage.project("project/a/b").await, (Vec::new(), Vec::new()));
    assert_eq!(stage.project("project").await, only("AGENTS.md", "only where one stands"));
}

#[tokio::test]
async fn links_are_followed_inside_of_the_project_and_nowhere_else() {
    let stage = Stage::new();
    stage.write("project/.git/HEAD", "");
    stage.write("project/docs/for-agents.md", "shared");
    stage.write("project/sub/x", "");
    stage.link("../docs/for-agents.md", "project/sub/AGENTS.md");
    assert_eq!(stage.project("project/sub").await, only("AGENTS.md", "shared"));

    stage.write("home/diary.md", "private");
    stage.write("project/.env", "PASSWORD=hunter2");
    stage.write("project/CLAUDE.md", "instead");
    for (target, reason) in [
        ("../home/diary.md", "it leads out of the project, to /stage/home/diary.md"),
        (".env", "it leads to /stage/project/.env, which is no file for agents"),
        ("nowhere.md", "it cannot be read (No such file or directory (os error 2))"),
    ] {
        stage.link(target, "project/AGENTS.md");
        let (files, notices) = stage.project("project").await;
        assert_eq!(files, only("CLAUDE.md", "instead").0, "{target}");
        let told: Vec<String> = notices.iter().map(|notice| stage.anywhere(notice)).collect();
        assert_eq!(told, [format!("AGENTS.md is left out of the prompt: {reason}")]);
        std::fs::remove_file(stage.path("project/AGENTS.md")).expect("removed");
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_told_and_costs_nothing_else() {
    let stage = Stage::new();
    stage.write("project/AGENTS.md/file-in-a-folder", "");
    stage.write("project/agents.md", b"caf\xe9");
    stage.write("project/CLAUDE.md", "hello");
    let (files, notices) = stage.project("project").await;
    assert_eq!(files, only("CLAUDE.md", "hello").0);
    assert_eq!(
        notices,
        [
            "AGENTS.md is left out of the prompt: it is not a file",
            "agents.md is left out of the prompt: it is not UTF-8 text; save it as UTF-8",
        ]
    );
}
