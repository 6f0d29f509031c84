//! The words around a skill that somebody called.

use super::{Bundle, Scene};
use crate::desk::Desk;
use crate::skills::catalogue::Skill;
use crate::skills::inline;
use crate::skills::view::{self, Viewed};
use crate::tool::ToolError;
use std::path::PathBuf;

/// A skill as it goes into a message.
pub(super) struct Loaded {
    viewed: Viewed,
    folder: PathBuf,
}

impl Loaded {
    pub(super) fn of(skill: &Skill, desk: &Desk) -> Result<Self, ToolError> {
        Ok(Self { viewed: view::viewed_skill(skill, desk)?, folder: skill.folder.clone() })
    }

    pub(super) async fn with_commands_run(mut self, scene: Scene<'_>) -> Self {
        let is_wanted = scene.desk.settings().skills.inline_shell && inline::has_commands(&self.viewed.content);
        if is_wanted {
            self.viewed.content =
                inline::run(&self.viewed.content, &self.folder, scene.hands, scene.desk, scene.stop).await;
        }
        self
    }

    fn name(&self) -> &str {
        &self.viewed.name
    }

    /// The text of the skill and what belongs to it.
    fn text(&self) -> String {
        let Viewed { warning, content, linked_files, setup_note, config, .. } = &self.viewed;
        let folder = self.folder.display();
        let mut parts: Vec<String> = warning.iter().cloned().collect();
        parts.push(content.trim().to_owned());
        parts.push(format!(
            "[Folder of this skill: {folder}. Paths in it are meant from there; run its scripts by their whole path.]"
        ));
        if let Some(config) = config {
            let values: Vec<String> = config.iter().map(|(key, value)| format!("{key} = {value}")).collect();
            parts.push(format!("[Settings of this skill (skills.config): {}]", values.join("; ")));
        }
        parts.extend(setup_note.iter().map(|note| format!("[{note}]")));
        let files: Vec<String> = linked_files.paths().map(|path| format!("- {path} -> {folder}/{path}")).collect();
        if !files.is_empty() {
            let load = format!("[skill_view(name=\"{}\", file_path=\"…\") reads one of its files:]", self.name());
            parts.push(format!("{load}\n{}", files.join("\n")));
        }
        parts.join("\n\n")
    }
}

fn words_of_the_person(instruction: &str) -> Option<String> {
    (!instruction.is_empty()).then(|| format!("What the person says: {instruction}"))
}

pub(super) fn of_skills(loaded: &[Loaded], instruction: &str) -> String {
    let names: Vec<String> = loaded.iter().map(|one| format!("'{}'", one.name())).collect();
    let (skill, it) = if loaded.len() == 1 { ("skill", "it") } else { ("skills", "all of them") };
    let note =
        format!("[The person calls the {skill} {}. Follow {it} for what they say at the end.]", names.join(", "));
    joined(note, loaded, words_of_the_person(instruction))
}

pub(super) fn of_bundle(bundle: &Bundle, loaded: &[Loaded], missing: &[String], instruction: &str) -> String {
    let names: Vec<&str> = loaded.iter().map(Loaded::name).collect();
    let mut note = format!(
        "[The person calls the bundle '{}' of the skills {}. Follow all of them for what they say at the end.]",
        bundle.name,
        names.join(", ")
    );
    if !missing.is_empty() {
        note.push_str(&format!("\n[Not there, or switched off: {}.]", missing.join(", ")));
    }
    if let Some(said) = &bundle.instruction {
        note.push_str(&format!("\n\n{said}"));
    }
    joined(note, loaded, words_of_the_person(instruction))
}

pub(super) fn preloaded(loaded: &[Loaded]) -> String {
    let names: Vec<&str> = loaded.iter().map(Loaded::name).collect();
    let note = format!(
        "[The person loaded these skills for the whole conversation: {}. Follow them wherever they fit.]",
        names.join(", ")
    );
    joined(note, loaded, None)
}

fn joined(note: String, loaded: &[Loaded], end: Option<String>) -> String {
    let many = loaded.len() > 1;
    let texts = loaded.iter().map(|one| match many {
        true => format!("# Skill '{}'\n\n{}", one.name(), one.text()),
        false => one.text(),
    });
    std::iter::once(note).chain(texts).chain(end).collect::<Vec<_>>().join("\n\n")
}
