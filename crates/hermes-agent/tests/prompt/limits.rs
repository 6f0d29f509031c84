//! No file, however long, takes more than its room.

use crate::stage::{Stage, only};
use serde_json::json;

#[tokio::test]
async fn a_long_file_loses_its_middle_and_says_so() {
    let stage = Stage::with(json!({"context_file_max_chars": 1000}));
    let text = format!("{}{}{}", "ä".repeat(700), "ö".repeat(500), "ü".repeat(200));
    stage.write("project/AGENTS.md", &text);
    let (files, notices) = stage.project("project").await;
    let marker = "[… 500 characters of AGENTS.md are left out here; read the file to see them …]";
    let cut = format!("{}\n\n{marker}\n\n{}", "ä".repeat(700), "ü".repeat(200));
    assert_eq!(files, only("AGENTS.md", &cut).0);
    assert_eq!(
        notices,
        [
            "AGENTS.md is long: 500 of its 1400 characters are left out of the prompt. `context_file_max_chars` sets how \
          many are read"
        ]
    );
    stage.write("project/AGENTS.md", "x".repeat(1000));
    assert_eq!(stage.project("project").await, only("AGENTS.md", &"x".repeat(1000)));
}

#[tokio::test]
async fn of_a_huge_file_only_the_beginning_is_looked_at() {
    let stage = Stage::new();
    // The bound falls into the middle of a character.
    stage.write("project/AGENTS.md", format!("xy{}", "€".repeat(1_000_000)));
    let (files, notices) = stage.project("project").await;
    let (_, text) = files.first().expect("it is read");
    assert!(
        text.starts_with("xy€") && text.ends_with("[… the rest of AGENTS.md is left out; read the file to see it …]")
    );
    assert!(text.chars().count() < 20_000);
    assert_eq!(notices, ["AGENTS.md is huge: only its beginning is in the prompt"]);
}

#[tokio::test]
async fn many_rules_share_one_room() {
    let stage = Stage::with(json!({"context_file_max_chars": 100}));
    stage.write("project/.cursor/rules/a.mdc", "a".repeat(60));
    stage.write("project/.cursor/rules/b.mdc", "b".repeat(40));
    stage.write("project/.cursor/rules/c.mdc", "c");
    let (files, notices) = stage.project("project").await;
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, [".cursor/rules/a.mdc", ".cursor/rules/b.mdc"]);
    assert_eq!(notices, [".cursor/rules/c.mdc is left out of the prompt: the files before it fill the room"]);
}
