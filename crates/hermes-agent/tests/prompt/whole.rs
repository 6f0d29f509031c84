//! The whole prompt, as it is stored and sent.

use crate::stage::Stage;
use hermes_agent::gather::{Beginning, Sources};
use hermes_core::prompt::{Name, Tier, names};
use hermes_testkit::golden;
use serde_json::json;

fn full() -> Stage {
    let mut stage = Stage::with(json!({
        "agent": {"environment_hint": "not this"},
        "platform_hints": {"telegram": "Ada reads on a watch."},
    }));
    stage.variables.insert("HERMES_ENVIRONMENT_HINT".into(), "The GPU belongs to the lab.".into());
    stage.variables.insert("TERMUX_VERSION".into(), "0.118".into());
    stage.write("home/.hermes/SOUL.md", "You are Ada's gardener.\n");
    stage.write("home/.hermes/memories/MEMORY.md", "The roses need water.");
    stage.write("home/.hermes/memories/USER.md", "Ada gets up early.");
    stage.write("project/AGENTS.md", "Plant in rows.");
    let pruning = "---\nname: pruning\ndescription: When and how to cut roses\n---\nIn March.\n";
    stage.write("home/.hermes/skills/garden/pruning/SKILL.md", pruning);
    stage
}

#[tokio::test]
async fn a_conversation_begins_with_everything_there_is() {
    let stage = full();
    let (prompt, notices) = stage
        .prompt(Beginning {
            names_session: true,
            platform: "telegram".into(),
            profile: Some("garden".into()),
            system_message: Some("Speak of flowers.".into()),
            external_memory: Some("Last week it rained.".into()),
            ..stage.beginning("20260102_030405_abcdef")
        })
        .await;
    assert_eq!(notices, Vec::<String>::new());
    golden("tests/golden/prompt/full.txt", &stage.anywhere(&prompt.text()));
}

#[tokio::test]
async fn two_conversations_share_everything_before_the_notes() {
    let stage = full();
    let (first, _) = stage.prompt(stage.beginning("a")).await;
    let (same, _) = stage.prompt(stage.beginning("b")).await;
    assert_eq!(first.text(), same.text(), "another conversation of the same day, byte for byte");
    stage.write("home/.hermes/memories/MEMORY.md", "The roses were watered.");
    let (next, _) = stage.prompt(stage.beginning("c")).await;
    let stable = |prompt: &hermes_core::prompt::Prompt| {
        prompt.layers.iter().filter(|layer| layer.tier() < Tier::Volatile).cloned().collect::<Vec<_>>()
    };
    assert_eq!(stable(&first), stable(&next));
    assert_ne!(first.text(), next.text());
    assert_eq!(names(&next.text()), Some(("gpt-5", "openai")));
}

#[tokio::test]
async fn jobs_and_sub_agents_leave_files_unread() {
    let stage = full();
    let begins = |sources| Beginning { sources, ..stage.beginning("s") };
    let (job, _) = stage.prompt(begins(Sources::JOB)).await;
    assert!(job.text().starts_with("You are Ada's gardener."));
    let (helper, _) = stage.prompt(begins(Sources::NOTHING)).await;
    assert!(helper.text().starts_with("You are Hermes"));
    for prompt in [job, helper] {
        for name in [Name::Project, Name::Memory, Name::User] {
            assert_eq!(prompt.layer(name), None);
        }
    }
}

#[tokio::test]
async fn the_owner_can_leave_out_the_machine_and_the_notes() {
    let stage = Stage::with(json!({
        "agent": {"environment_probe": false},
        "memory": {"memory_enabled": false},
    }));
    stage.write("home/.hermes/memories/MEMORY.md", "The roses need water.");
    stage.write("home/.hermes/memories/USER.md", "Ada gets up early.");
    let (prompt, _) = stage.prompt(stage.beginning("s")).await;
    assert_eq!(prompt.layer(Name::Environment), None);
    assert_eq!(prompt.layer(Name::Memory), None);
    assert!(prompt.layer(Name::User).is_some());
}

#[tokio::test]
async fn notes_that_cannot_be_read_are_told() {
    let stage = Stage::new();
    stage.write("home/.hermes/memories/MEMORY.md", b"caf\xe9");
    let (prompt, notices) = stage.prompt(stage.beginning("s")).await;
    assert_eq!(prompt.layer(Name::Memory), None);
    assert!(notices.len() == 1 && notices[0].contains("MEMORY.md is not UTF-8 text"), "{notices:?}");
}
