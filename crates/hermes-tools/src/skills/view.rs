//! `skill_view`: a skill, or a file of it.
//!
//! A file is resolved first and then held against the folder of its skill, so neither `..` nor a link leads out of it, and
//! it is opened as it was resolved. Commands written into a skill are text here; nothing is run. What looks like an attack
//! is shown with a word of caution before it.

use super::audience::{Bar, bar, bar_of};
use super::catalogue::{Catalogue, SKILL, Skill};
use super::frontmatter::{Frontmatter, Variable};
use super::index::VIEW;
use super::inline;
use super::linked::{Linked, linked};
use super::lookup::{Known, acceptable, find};
use super::settings::{platform, roots};
use super::vet::caution;
use super::words::fill;
use super::{blocking, reading};
use crate::desk::{Cx, Desk};
use crate::effects::{Company, Effects};
use crate::files::page::is_binary;
use crate::files::place::open::Opened;
use crate::files::place::{Rules, real};
use crate::gate::Permit;
use crate::settings::Settings;
use crate::terminal::surroundings::withheld;
use crate::tool::{Card, Output, Repeats, Tool, ToolError};
use hermes_types::Object;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

/// Larger files are read page by page, with another tool.
const LARGEST: u64 = 1 << 20;
/// Bytes that tell text from other things.
const SAMPLE: usize = 1_000;
const DESCRIPTION: &str = "Load a skill, or with file_path one of the files it links.";

pub(crate) struct SkillView;

#[derive(Debug, Deserialize)]
pub(crate) struct ViewArgs {
    name: String,
    file_path: Option<String>,
}

/// A whole skill. The caution comes before the text it is about.
#[derive(Debug, Serialize)]
pub(super) struct Viewed {
    success: bool,
    pub(super) name: String,
    description: String,
    tags: Vec<String>,
    related_skills: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
    pub(super) content: String,
    path: String,
    skill_dir: String,
    pub(super) linked_files: Linked,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage_hint: Option<String>,
    required_environment_variables: Vec<Variable>,
    missing_required_environment_variables: Vec<String>,
    setup_needed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) setup_note: Option<String>,
    /// What it asks for in the settings, and what is set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) config: Option<Object>,
    readiness_status: &'static str,
}

/// A file of a skill.
#[derive(Debug, Serialize)]
struct ViewedFile<'a> {
    success: bool,
    name: &'a str,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
    content: String,
    file_type: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_binary: Option<bool>,
}

impl Tool for SkillView {
    type Args = ViewArgs;

    fn card(&self) -> Card {
        let parameters = json!({
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "Name, or category/name"},
                "file_path": {"type": "string", "description": "Below the skill, such as references/api.md"}
            },
            "required": ["name"]
        });
        Card { emoji: "📘", repeats: Repeats::Idempotent, ..Card::new(VIEW, "skills", DESCRIPTION, parameters) }
    }

    fn effects(&self, args: &ViewArgs, cx: &Cx) -> Result<Effects, ToolError> {
        acceptable(&args.name)?;
        let settings = cx.desk.settings();
        // A skill whose commands are run does what they do.
        let company = if settings.skills.inline_shell { Company::Alone } else { Company::Welcome };
        Ok(Effects { company, ..reading(settings) })
    }

    async fn call(&self, args: ViewArgs, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let desk = cx.desk.clone();
        let answer = blocking(move || view(&args, &desk)).await?;
        let mut viewed = match answer {
            Answer::File(output) => return Ok(output),
            Answer::Skill(viewed) => viewed,
        };
        if cx.desk.settings().skills.inline_shell && inline::has_commands(&viewed.content) {
            let folder = PathBuf::from(&viewed.skill_dir);
            viewed.content = inline::run(&viewed.content, &folder, &cx.hands, &cx.desk, &cx.stop).await;
        }
        Output::json(&viewed)
    }
}

/// What was asked for.
enum Answer {
    Skill(Box<Viewed>),
    File(Output),
}

fn view(args: &ViewArgs, desk: &Desk) -> Result<Answer, ToolError> {
    let settings = desk.settings();
    let roots = roots(settings);
    let catalogue = Catalogue::scan(&roots, &desk.shop.scanner);
    let wanted = args.file_path.as_deref().map(str::trim).filter(|path| !path.is_empty());
    match (find(&catalogue, &roots, &args.name)?, wanted) {
        (Known::Skill(skill), file) => {
            if let Some(bar) = bar(skill, &settings.skills, platform(&settings.around)) {
                return Err(barred(&skill.name, &skill.front, bar));
            }
            match file {
                None | Some(SKILL) => Ok(Answer::Skill(Box::new(viewed_skill(skill, desk)?))),
                Some(file) => part(skill, file, desk).map(Answer::File),
            }
        }
        (Known::Flat { file, root }, None) => {
            let text = text_of(&file, &root, desk)?;
            let (front, _) = Frontmatter::split(&text);
            let name = args.name.trim().to_owned();
            if let Some(bar) = bar_of(&front, &[name.as_str()], &settings.skills, platform(&settings.around)) {
                return Err(barred(&name, &front, bar));
            }
            let description = front.text("description").unwrap_or_default();
            let viewed = viewed((name, description), &front, (&file, &root), (&text, Linked::default()), desk);
            Ok(Answer::Skill(Box::new(viewed)))
        }
        (Known::Flat { .. }, Some(_)) => Err(told(format!("The skill '{}' is a single file.", args.name))),
    }
}

/// One skill, whole.
pub(super) fn viewed_skill(skill: &Skill, desk: &Desk) -> Result<Viewed, ToolError> {
    let file = skill.folder.join(SKILL);
    let text = text_of(&file, &skill.folder, desk)?;
    let about = (skill.name.clone(), skill.description.clone());
    Ok(viewed(about, &skill.front, (&file, &skill.folder), (&text, linked(&skill.folder)), desk))
}

fn viewed(
    (name, description): (String, String),
    front: &Frontmatter,
    (file, folder): (&Path, &Path),
    (text, linked_files): (&str, Linked),
    desk: &Desk,
) -> Viewed {
    let settings = desk.settings();
    let (_, body) = Frontmatter::split(text);
    let content = match settings.skills.template_vars {
        true => filled(body, folder, desk),
        false => body.to_owned(),
    };
    let variables = front.variables();
    let is_set = |name: &str| settings.around.variables.get(name).is_some_and(|value| !value.trim().is_empty());
    let missing: Vec<String> = variables
        .iter()
        .filter(|variable| !variable.optional && !is_set(&variable.name))
        .map(|variable| variable.name.clone())
        .collect();
    let (tags, related_skills) = (front.own_words("tags"), front.own_words("related_skills"));
    let asked_for = variables.iter().flat_map(|one| [&one.prompt, &one.help, &one.required_for]).flatten();
    let aside = tags.iter().chain(&related_skills).chain(asked_for).chain(linked_files.paths());
    let aside: Vec<&str> = aside.map(String::as_str).collect();
    let setup_needed = !missing.is_empty();
    let setup_note = setup_note(&name, &missing, &variables, settings);
    Viewed {
        success: true,
        warning: caution(&format!("{description}\n{}\n{content}", aside.join("\n")), &desk.shop.scanner),
        usage_hint: linked_files.hint(&name),
        name,
        description: settings.cover.talk(&description).into_owned(),
        tags,
        related_skills,
        content: settings.cover.file(&content).into_owned(),
        path: file.display().to_string(),
        skill_dir: folder.display().to_string(),
        linked_files,
        required_environment_variables: variables,
        missing_required_environment_variables: missing,
        setup_needed,
        setup_note,
        config: front.config(&settings.skills.config),
        readiness_status: if setup_needed { "setup_needed" } else { "available" },
    }
}

/// What commands will not see of what a skill asks for, and what can be done about it.
fn setup_note(skill: &str, missing: &[String], variables: &[Variable], settings: &Settings) -> Option<String> {
    let withheld = withheld(&settings.around, &settings.terminal);
    let held_back = variables.iter().filter_map(|one| Some(format!("{} ({})", one.name, withheld.get(&one.name)?)));
    let held_back: Vec<String> = held_back.collect();
    let mut notes = Vec::new();
    if !missing.is_empty() {
        notes.push(format!(
            "Commands will not see {}. The person can set what is missing with `hermes skills setup {skill}`, for the next \
             conversation; or go on without it.",
            missing.join(", ")
        ));
    }
    if !held_back.is_empty() {
        notes.push(format!(
            "Set, and held back from commands: {}. The person can let some pass with terminal.env_passthrough.",
            held_back.join(", ")
        ));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn filled(body: &str, folder: &Path, desk: &Desk) -> String {
    fill(body, |name| match name {
        "HERMES_SKILL_DIR" => Some(folder.to_string_lossy()),
        "HERMES_SESSION_ID" => Some(Cow::Borrowed(desk.session.as_str())),
        _ => None,
    })
}

fn part(skill: &Skill, wanted: &str, desk: &Desk) -> Result<Output, ToolError> {
    let file = inside(&skill.folder, wanted).ok_or_else(|| {
        told(format!("'{wanted}' does not lead to a file of the skill '{}'. Use a path of linked_files.", skill.name))
    })?;
    let bytes = match bytes_of(&file, &skill.folder, desk)? {
        Some(bytes) => bytes,
        None => {
            let error = format!("The skill '{}' has no file '{wanted}'.", skill.name);
            let available = linked(&skill.folder);
            return Err(ToolError::Tell(json!({"success": false, "error": error, "available_files": available})));
        }
    };
    let suffix = file.extension().map(|suffix| format!(".{}", suffix.to_string_lossy()));
    let binary = is_binary(bytes.get(..SAMPLE).unwrap_or(&bytes));
    let text = String::from_utf8_lossy(&bytes);
    let (warning, content) = match binary {
        true => (None, format!("[binary file, {} bytes; use its path in commands]", bytes.len())),
        false => (caution(&text, &desk.shop.scanner), desk.settings().cover.file(&text).into_owned()),
    };
    let is_binary = binary.then_some(true);
    let (name, file_type) = (skill.name.as_str(), suffix.unwrap_or_default());
    Output::json(&ViewedFile { success: true, name, file: wanted, warning, content, file_type, is_binary })
}

/// The path of a file below a folder, by its text alone. Links are looked at when it is opened.
fn inside(folder: &Path, wanted: &str) -> Option<PathBuf> {
    let path = Path::new(wanted);
    let is_plain = path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    (is_plain && !wanted.contains('\0') && !wanted.starts_with('~')).then(|| folder.join(path))
}

fn text_of(file: &Path, folder: &Path, desk: &Desk) -> Result<String, ToolError> {
    let bytes = bytes_of(file, folder, desk)?.ok_or_else(|| told(format!("{} is gone.", file.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a file holds; nothing when there is none. Resolved, held against its folder and the rules for all tools, and
/// opened without following another link.
fn bytes_of(file: &Path, folder: &Path, desk: &Desk) -> Result<Option<Vec<u8>>, ToolError> {
    let shown = file.display();
    let rules = Rules::of(&desk.settings().around);
    let readable = rules.readable(&file.to_string_lossy(), folder).map_err(|why| told(why.to_string()))?;
    if !readable.path().starts_with(real(folder)) {
        return Err(told(format!("{shown} is a link that leads out of its skill and is not followed.")));
    }
    let (opened, about) = match readable.open() {
        Ok(Opened::File(opened, about)) => (opened, about),
        Ok(Opened::Absent | Opened::Directory) => return Ok(None),
        Ok(Opened::Special) => return Err(told(format!("{shown} is no file but a device or a pipe."))),
        Err(error) => return Err(told(format!("{shown} cannot be read: {error}."))),
    };
    if about.len() > LARGEST {
        let (size, most) = (about.len(), LARGEST);
        return Err(told(format!(
            "{shown} has {size} bytes, more than the {most} that are shown at once. Read it page by page with read_file."
        )));
    }
    let mut bytes = Vec::new();
    opened.take(LARGEST).read_to_end(&mut bytes).map_err(|error| told(format!("{shown} cannot be read: {error}.")))?;
    Ok(Some(bytes))
}

fn barred(name: &str, front: &Frontmatter, bar: Bar) -> ToolError {
    let mut error = match bar {
        Bar::System => json!({"error": format!(
            "The skill '{name}' is for {} only.", front.words("platforms").join(", ")
        ), "readiness_status": "unsupported"}),
        Bar::Disabled => json!({"error": format!("The skill '{name}' is switched off (skills.disabled).")}),
    };
    if let Some(fields) = error.as_object_mut() {
        fields.insert("success".to_owned(), Value::Bool(false));
    }
    ToolError::Tell(error)
}

fn told(message: impl Into<String>) -> ToolError {
    ToolError::Tell(json!({"success": false, "error": message.into()}))
}
