//! Skills as commands: `/name text` becomes a message with the skill in it.
//!
//! What was typed is told apart without a disk (`parse`): a name in its one spelling (`slug`), up to five skills in a row,
//! or a bundle, a file that names several. Names of the face itself come first, the first of two equal ones wins. The
//! message holds everything the model needs to follow a skill, so it stays in the conversation and in its record.

mod bundle;
mod message;

pub use bundle::Bundle;

use super::audience::{bar, is_at_home};
use super::catalogue::{Catalogue, Skill};
use super::lookup::{Known, find};
use super::settings::{platform, roots};
use crate::desk::Desk;
use crate::run::Hands;
use crate::settings::Settings;
use crate::threat::Scanner;
use hermes_core::stop::Stop;
use message::Loaded;
use std::path::PathBuf;
use std::sync::Arc;

/// As many skills can be called at once.
pub const MOST_AT_ONCE: usize = 5;

/// The one spelling of a name as a command; nothing is left of some names.
///
/// ```
/// use hermes_tools::skills::commands::slug;
/// assert_eq!(slug("My Skill_2 (new)"), "my-skill-2-new");
/// ```
pub fn slug(name: &str) -> String {
    let spaced = name.to_lowercase().replace([' ', '_'], "-");
    let plain: String = spaced.chars().filter(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || *c == '-').collect();
    plain.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// A command that can be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    pub slug: String,
    pub description: String,
    target: Target,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Target {
    Skill { name: String, place: String },
    Bundle(Bundle),
}

/// What somebody typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation<'c> {
    called: Vec<&'c Command>,
    /// What follows the commands.
    pub instruction: String,
}

/// All commands there are.
#[derive(Debug, Clone, Default)]
pub struct Commands(Vec<Command>);

/// With whom a message is made: its commands, if it may run any, are theirs.
#[derive(Clone, Copy)]
pub struct Scene<'s> {
    pub desk: &'s Arc<Desk>,
    pub hands: &'s Hands,
    pub stop: &'s Stop,
}

/// Why no message could be made; for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unusable(String);

impl Commands {
    /// `taken` are the names of the face's own commands.
    pub fn scan(settings: &Settings, scanner: &Scanner, taken: &[&str]) -> Self {
        let bundles = bundle::all(&settings.around.hermes_home);
        let catalogue = Catalogue::scan(&roots(settings), scanner);
        let platform = platform(&settings.around);
        let mut skills = catalogue.listed();
        skills.retain(|skill| {
            bar(skill, &settings.skills, platform).is_none() && is_at_home(&skill.front, &settings.around)
        });
        // The person's own before those of other folders.
        skills.sort_by_key(|skill| skill.root);
        let bundles = bundles.into_iter().map(|bundle| Command {
            slug: slug(&bundle.name),
            description: bundle.description.clone(),
            target: Target::Bundle(bundle),
        });
        let skills = skills.into_iter().map(|skill| Command {
            slug: slug(&skill.name),
            description: skill.description.clone(),
            target: Target::Skill { name: skill.name.clone(), place: skill.place.clone() },
        });
        let mut commands: Vec<Command> = Vec::new();
        for command in bundles.chain(skills) {
            let is_known = commands.iter().any(|known| known.slug == command.slug);
            if !command.slug.is_empty() && !is_known && !taken.contains(&command.slug.as_str()) {
                commands.push(command);
            }
        }
        Self(commands)
    }

    pub fn list(&self) -> &[Command] {
        &self.0
    }

    fn get(&self, word: &str) -> Option<&Command> {
        let typed = word.strip_prefix('/')?.replace('_', "-");
        self.0.iter().find(|command| command.slug == typed)
    }

    /// What was meant, when a text begins with a command that is known. A path is no command.
    pub fn parse(&self, text: &str) -> Option<Invocation<'_>> {
        let mut called: Vec<&Command> = Vec::new();
        let mut rest = text.trim_start();
        while called.len() < MOST_AT_ONCE {
            let (word, behind) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            let Some(command) = self.get(word) else { break };
            let is_bundle = matches!(command.target, Target::Bundle(_));
            if called.contains(&command) || is_bundle && !called.is_empty() {
                break;
            }
            called.push(command);
            rest = behind.trim_start();
            if is_bundle {
                break;
            }
        }
        (!called.is_empty()).then(|| Invocation { called, instruction: rest.trim().to_owned() })
    }
}

impl Invocation<'_> {
    /// The names that were called.
    pub fn names(&self) -> Vec<&str> {
        self.called.iter().map(|command| command.slug.as_str()).collect()
    }

    /// The message for the model.
    pub async fn message(&self, scene: Scene<'_>) -> Result<String, Unusable> {
        if let [Command { target: Target::Bundle(bundle), slug, .. }] = self.called.as_slice() {
            let (loaded, missing) = load_all(&bundle.skills, scene).await;
            if loaded.is_empty() {
                return Err(Unusable(format!("None of the skills of /{slug} is there: {}.", missing.join(", "))));
            }
            return Ok(message::of_bundle(bundle, &loaded, &missing, &self.instruction));
        }
        let mut loaded = Vec::new();
        for command in &self.called {
            if let Target::Skill { place, .. } = &command.target {
                loaded.push(load(place, scene).await?);
            }
        }
        Ok(message::of_skills(&loaded, &self.instruction))
    }
}

/// The beginning of a conversation for which skills are loaded at once (`-s a,b`). One that is not there is an error.
pub async fn preloaded(names: &[String], scene: Scene<'_>) -> Result<String, Unusable> {
    let mut loaded = Vec::new();
    for name in names {
        loaded.push(load(name, scene).await?);
    }
    Ok(message::preloaded(&loaded))
}

async fn load_all(names: &[String], scene: Scene<'_>) -> (Vec<Loaded>, Vec<String>) {
    let (mut loaded, mut missing) = (Vec::new(), Vec::new());
    for name in names {
        match load(name, scene).await {
            Ok(skill) => loaded.push(skill),
            Err(_) => missing.push(name.clone()),
        }
    }
    (loaded, missing)
}

/// One skill, ready to be put into a message.
async fn load(name: &str, scene: Scene<'_>) -> Result<Loaded, Unusable> {
    let (desk, name) = (scene.desk.clone(), name.to_owned());
    let work = tokio::task::spawn_blocking(move || {
        let settings = desk.settings();
        let roots: Vec<PathBuf> = roots(settings);
        let catalogue = Catalogue::scan(&roots, &desk.shop.scanner);
        let unusable = |error: &dyn std::fmt::Display| Unusable(error.to_string());
        let skill: &Skill = match find(&catalogue, &roots, &name).map_err(|error| unusable(&error))? {
            Known::Skill(skill) => skill,
            Known::Flat { .. } => {
                return Err(Unusable(format!("The skill '{name}' is a single file of the old kind.")));
            }
        };
        if bar(skill, &settings.skills, platform(&settings.around)).is_some() {
            return Err(Unusable(format!("The skill '{}' is switched off, or not for this system.", skill.name)));
        }
        Loaded::of(skill, &desk).map_err(|error| unusable(&error))
    });
    let loaded = work.await.map_err(|error| Unusable(format!("the skill could not be read: {error}")))?;
    Ok(loaded?.with_commands_run(scene).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Commands {
        let skill = |name: &str| Command {
            slug: slug(name),
            description: String::new(),
            target: Target::Skill { name: name.to_owned(), place: name.to_owned() },
        };
        let bundle =
            Bundle { name: "All".into(), description: String::new(), skills: vec!["a".into()], instruction: None };
        let all = Command { slug: "all".into(), description: String::new(), target: Target::Bundle(bundle) };
        Commands(["a", "b c", "d", "e", "f", "g"].into_iter().map(skill).chain([all]).collect())
    }

    #[test]
    fn names_have_one_spelling() {
        let table = [("Foo Bar", "foo-bar"), ("a__b", "a-b"), ("C++ & more", "c-more"), ("-x-", "x"), ("日本", "")];
        for (name, expected) in table {
            assert_eq!(slug(name), expected, "{name}");
        }
    }

    #[test]
    fn commands_stack_up_to_five_and_the_rest_is_said() {
        let commands = commands();
        let parsed = |text: &str| {
            let found = commands.parse(text)?;
            Some((found.names().join(" "), found.instruction.clone()))
        };
        let table = [
            ("/a do it\nnow", Some(("a", "do it\nnow"))),
            ("/b_c x", Some(("b-c", "x"))),
            ("/a /d /a again", Some(("a d", "/a again"))),
            ("/a /b-c /d /e /f /g x", Some(("a b-c d e f", "/g x"))),
            ("/a", Some(("a", ""))),
            ("/all the same", Some(("all", "the same"))),
            ("/a /all x", Some(("a", "/all x"))),
            ("/unknown x", None),
            ("/etc/hosts what is this", None),
            ("a", None),
            ("", None),
        ];
        for (text, expected) in table {
            let expected = expected.map(|(names, said)| (names.to_owned(), said.to_owned()));
            assert_eq!(parsed(text), expected, "{text}");
        }
    }
}
