//! What the model reads of a search.

use super::content::Line;
use super::page::Window;
use crate::run::Reader;
use serde::Serialize;
use serde_json::{Map, Value};
use std::fmt::Write as _;
use std::path::Path;

/// From so many lines on they are shown as text: the path once, then its lines.
const AS_TEXT: usize = 5;
const FORMAT: &str = "path, then its lines as `  number: text`";
const FORMAT_WITH_CONTEXT: &str = "path, then its lines as `  number: text`; lines around them as `  number- text`";

#[derive(Debug, Default, Serialize)]
pub(super) struct Answer {
    total_count: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches: Option<Vec<Match>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    matches_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) files: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) counts: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) warning: Option<String>,
    #[serde(rename = "_omitted", skip_serializing_if = "Option::is_none")]
    pub(super) omitted: Option<u64>,
    #[serde(rename = "_warning", skip_serializing_if = "Option::is_none")]
    pub(super) repeated: Option<String>,
    #[serde(skip)]
    next: Option<Next>,
}

#[derive(Debug, Serialize)]
struct Match {
    path: String,
    line: u64,
    content: String,
}

#[derive(Debug)]
struct Next {
    offset: u64,
    total: u64,
    shown: u64,
}

/// A path as the model can give it back: below the current directory it is relative.
pub(super) fn name(path: &Path, cwd: &Path) -> String {
    path.strip_prefix(cwd).unwrap_or(path).to_string_lossy().into_owned()
}

impl Answer {
    pub(super) fn of(total_count: u64) -> Self {
        Self { total_count, ..Self::default() }
    }

    /// A model gets many lines as text, which is shorter; a program gets a list, however many there are.
    pub(super) fn put_lines(&mut self, files: Vec<(String, Vec<Line>)>, context: usize, reader: Reader) {
        let hits = files.iter().flat_map(|(_, lines)| lines).filter(|line| matches!(line, Line::Match { .. })).count();
        if hits == 0 {
            return;
        }
        let as_list = context == 0 && hits < AS_TEXT || reader == Reader::Program;
        if context > 0 || !as_list {
            self.matches_format = Some(if context == 0 { FORMAT } else { FORMAT_WITH_CONTEXT });
            self.matches_text = Some(as_text(&files));
        }
        if as_list {
            self.matches = Some(separate(files));
        }
    }

    /// How the page relates to everything that was found, `total` of the things that are paged.
    pub(super) fn put_page(&mut self, window: Window, total: u64, limit_reason: Option<&'static str>) {
        let end = window.offset.saturating_add(window.limit);
        if total > end {
            self.next = Some(Next { offset: end, total, shown: window.limit });
        } else if total > 0 && window.offset >= total {
            self.warn(format!("offset {} is after the last of {total} results", window.offset));
        }
        self.truncated = self.next.is_some() || limit_reason.is_some();
        self.limit_reason = limit_reason;
    }

    pub(super) fn warn(&mut self, text: String) {
        match &mut self.warning {
            Some(warning) => {
                warning.push_str(". ");
                warning.push_str(&text);
            }
            None => self.warning = Some(text),
        }
    }

    /// The line after the JSON that says how to go on.
    pub(super) fn hint(&self) -> Option<String> {
        let Next { offset, total, shown } = self.next.as_ref()?;
        Some(format!(
            "[{shown} of {total} are shown. Use offset={offset} to go on, or narrow the pattern, path or file_glob.]"
        ))
    }
}

fn separate(files: Vec<(String, Vec<Line>)>) -> Vec<Match> {
    let mut matches = Vec::new();
    for (path, lines) in files {
        for line in lines {
            if let Line::Match { number, text } = line {
                matches.push(Match { path: path.clone(), line: number, content: text });
            }
        }
    }
    matches
}

fn as_text(files: &[(String, Vec<Line>)]) -> String {
    let mut all = String::new();
    for (path, lines) in files.iter().filter(|(_, lines)| !lines.is_empty()) {
        if !all.is_empty() {
            all.push('\n');
        }
        all.push_str(path);
        for line in lines {
            // Writing to a string does not fail.
            let _ = match line {
                Line::Match { number, text } => write!(all, "\n  {number}: {text}"),
                Line::Context { number, text } => write!(all, "\n  {number}- {text}"),
                Line::Gap => write!(all, "\n  --"),
            };
        }
    }
    all
}
