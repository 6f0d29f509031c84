//! `skills_list`: names and descriptions.

use super::audience::bar;
use super::catalogue::{Catalogue, Skill};
use super::index::{LIST, VIEW};
use super::settings::{platform, roots};
use super::vet::{WITHHELD, suspicious};
use super::{blocking, reading};
use crate::cover::Cover;
use crate::desk::{Cx, Desk};
use crate::effects::Effects;
use crate::gate::Permit;
use crate::threat::Scope;
use crate::tool::{Card, Output, Repeats, Tool, ToolError};
use hermes_types::clip;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::collections::BTreeSet;

/// Characters of a description. There may be hundreds.
const SHOWN: usize = 200;
const DESCRIPTION: &str = "The skills there are: name, description, category.";

pub(crate) struct SkillsList;

#[derive(Debug, Deserialize)]
pub(crate) struct ListArgs {
    category: Option<String>,
}

#[derive(Debug, Serialize)]
struct Listed {
    success: bool,
    skills: Vec<Line>,
    categories: BTreeSet<String>,
    count: usize,
    hint: String,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    description: String,
    category: String,
}

impl Line {
    fn of(skill: &Skill, cover: Cover) -> Self {
        let description = clip(&cover.talk(&skill.description), SHOWN);
        Self { name: skill.name.clone(), description, category: skill.category.clone() }
    }
}

impl Tool for SkillsList {
    type Args = ListArgs;

    fn card(&self) -> Card {
        let parameters = json!({"type": "object", "properties": {"category": {"type": "string"}}});
        Card { emoji: "📚", repeats: Repeats::Idempotent, ..Card::new(LIST, "skills", DESCRIPTION, parameters) }
    }

    fn effects(&self, _args: &ListArgs, cx: &Cx) -> Result<Effects, ToolError> {
        Ok(reading(cx.desk.settings()))
    }

    async fn call(&self, args: ListArgs, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let desk = cx.desk.clone();
        blocking(move || Output::json(&list(&args, &desk))).await
    }
}

fn list(args: &ListArgs, desk: &Desk) -> Listed {
    let settings = desk.settings();
    let catalogue = Catalogue::scan(&roots(settings), &desk.shop.scanner);
    let platform = platform(&settings.around);
    let usable = catalogue.listed().into_iter().filter(|skill| bar(skill, &settings.skills, platform).is_none());
    let all: Vec<Line> = usable.map(|skill| Line::of(skill, settings.cover)).collect();
    let categories: BTreeSet<String> = all.iter().map(|line| line.category.clone()).collect();
    let wanted = args.category.as_deref().map(str::trim).filter(|category| !category.is_empty());
    let mut skills: Vec<Line> =
        all.into_iter().filter(|line| wanted.is_none_or(|wanted| wanted == line.category)).collect();
    let descriptions: Vec<String> = skills.iter().map(|line| line.description.clone()).collect();
    for place in suspicious(&descriptions, &desk.shop.scanner, Scope::Context) {
        if let Some(line) = skills.get_mut(place) {
            line.description = WITHHELD.to_owned();
        }
    }
    let hint = match (skills.is_empty(), wanted) {
        (false, _) => format!("{VIEW}(name) loads one."),
        (true, Some(_)) => "There is no such category; see categories.".to_owned(),
        (true, None) => {
            format!("There are none yet; they live in {}.", settings.around.hermes_home.join("skills").display())
        }
    };
    Listed { success: true, count: skills.len(), skills, categories, hint }
}
