//! Values of variables and of the `${…}` forms.
//!
//! A variable that the script did not set may hold anything. Where a form offers a text of its own for that case
//! (`${x:-rm}`), the text is taken: a hidden command must be seen, and an unset name is how it is hidden.

use super::pattern::{self, Cut};
use super::shell::Shell;
use super::word::{Origin, Word, joined};
use brush_parser::word::{Parameter, ParameterExpr, ParameterTransformOp, SpecialParameter, SubstringMatchKind};

impl Shell<'_> {
    pub(super) fn parameter(&mut self, expression: &ParameterExpr) -> Word {
        use ParameterExpr as E;
        match expression {
            E::Parameter { parameter, indirect } => self.held(parameter, *indirect),
            E::IndicateErrorIfNullOrUnset { parameter, indirect, error_message, .. } => {
                self.inner(error_message.as_deref());
                self.held(parameter, *indirect)
            }
            E::UseDefaultValues { parameter, indirect, default_value, .. } => {
                let held = self.held(parameter, *indirect);
                if held.is_known() && !held.text.is_empty() { held } else { self.inner(default_value.as_deref()) }
            }
            E::AssignDefaultValues { parameter, indirect, default_value, .. } => {
                self.notes.stirs();
                let held = self.held(parameter, *indirect);
                if held.is_known() && !held.text.is_empty() {
                    return held;
                }
                let value = self.inner(default_value.as_deref());
                if let Parameter::Named(name) = parameter {
                    self.scope.variables.insert(name.clone(), value.clone());
                }
                value
            }
            E::UseAlternativeValue { parameter, indirect, alternative_value, .. } => {
                let held = self.held(parameter, *indirect);
                if held.text.is_empty() { held } else { self.inner(alternative_value.as_deref()) }
            }
            E::ParameterLength { parameter, indirect } => {
                let held = self.held(parameter, *indirect);
                changed(&held, |text| text.chars().count().to_string())
            }
            E::RemoveSmallestSuffixPattern { parameter, indirect, pattern } => {
                self.cut(parameter, *indirect, pattern.as_deref(), Cut::ShortestSuffix)
            }
            E::RemoveLargestSuffixPattern { parameter, indirect, pattern } => {
                self.cut(parameter, *indirect, pattern.as_deref(), Cut::LongestSuffix)
            }
            E::RemoveSmallestPrefixPattern { parameter, indirect, pattern } => {
                self.cut(parameter, *indirect, pattern.as_deref(), Cut::ShortestPrefix)
            }
            E::RemoveLargestPrefixPattern { parameter, indirect, pattern } => {
                self.cut(parameter, *indirect, pattern.as_deref(), Cut::LongestPrefix)
            }
            E::Substring { parameter, indirect, offset, length } => {
                let held = self.held(parameter, *indirect);
                let offset = self.arithmetic(&offset.value).text.parse().ok();
                let length = length.as_ref().map(|length| self.arithmetic(&length.value).text.parse().ok());
                part(&held, offset, length)
            }
            E::Transform { parameter, indirect, op } => {
                let held = self.held(parameter, *indirect);
                transformed(&held, op)
            }
            E::UppercaseFirstChar { parameter, indirect, .. } | E::UppercasePattern { parameter, indirect, .. } => {
                let held = self.held(parameter, *indirect);
                changed(&held, str::to_uppercase)
            }
            E::LowercaseFirstChar { parameter, indirect, .. } | E::LowercasePattern { parameter, indirect, .. } => {
                let held = self.held(parameter, *indirect);
                changed(&held, str::to_lowercase)
            }
            E::ReplaceSubstring { parameter, indirect, pattern, replacement, match_kind } => {
                let held = self.held(parameter, *indirect);
                let pattern = self.word(pattern);
                let replacement = self.inner(replacement.as_deref());
                replaced(&held, &pattern, &replacement, match_kind)
            }
            E::VariableNames { .. } | E::MemberKeys { .. } => Word::unknown(Origin::Local),
        }
    }

    fn inner(&mut self, raw: Option<&str>) -> Word {
        raw.map(|raw| self.word(raw)).unwrap_or_default()
    }

    fn cut(&mut self, parameter: &Parameter, indirect: bool, pattern: Option<&str>, cut: Cut) -> Word {
        let held = self.held(parameter, indirect);
        let pattern = self.inner(pattern);
        changed(&held, |text| pattern::without(text, &pattern.text, cut))
    }

    fn held(&mut self, parameter: &Parameter, indirect: bool) -> Word {
        let value = match parameter {
            Parameter::Positional(number) => match &self.scope.arguments {
                Some(arguments) => {
                    let at = usize::try_from(*number).unwrap_or(usize::MAX).saturating_sub(1);
                    arguments.get(at).cloned().unwrap_or_default()
                }
                None => Word::unknown(Origin::Local),
            },
            Parameter::Special(special) => self.special(special),
            Parameter::Named(name) | Parameter::NamedWithAllIndices { name, .. } => self.variable(name),
            Parameter::NamedWithIndex { name, index } => {
                let index = self.word(index).text;
                let element = format!("{name}[{index}]");
                if self.scope.variables.contains_key(&element) { self.variable(&element) } else { self.variable(name) }
            }
        };
        if indirect && value.is_known() { self.variable(&value.text) } else { value }
    }

    fn special(&self, special: &SpecialParameter) -> Word {
        match (special, &self.scope.arguments) {
            (SpecialParameter::AllPositionalParameters { .. }, Some(arguments)) => joined(arguments),
            (SpecialParameter::PositionalParameterCount, Some(arguments)) => Word::literal(arguments.len().to_string()),
            (SpecialParameter::ShellName, _) => {
                self.scope.variables.get("0").cloned().unwrap_or_else(|| Word::literal("bash"))
            }
            _ => Word::unknown(Origin::Local),
        }
    }

    pub(super) fn variable(&self, name: &str) -> Word {
        if let Some(value) = self.scope.variables.get(name) {
            return value.clone();
        }
        match name {
            "HOME" => Word::literal(self.place.home.clone()),
            "HERMES_HOME" => Word::literal(self.place.hermes_home.clone()),
            "PWD" => self.scope.cwd.clone().map_or_else(|| Word::unknown(Origin::Local), Word::literal),
            // Whoever ends the parent of a shell ends this program.
            "PPID" => Word::literal("hermes"),
            "IFS" => Word::literal(" \t\n"),
            // Not what they are, but what they begin with: `${PATH:0:1}` is a way to write a slash.
            "PATH" => Word::literal("/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
            "SHELL" | "BASH" => Word::literal("/bin/bash"),
            _ => Word::unknown(Origin::Local),
        }
    }
}

fn changed(held: &Word, change: impl Fn(&str) -> String) -> Word {
    if held.is_known() { Word { text: change(&held.text), origin: held.origin } } else { Word::unknown(held.origin) }
}

fn part(held: &Word, offset: Option<i64>, length: Option<Option<i64>>) -> Word {
    let (Some(offset), true) = (offset, held.is_known()) else { return Word::unknown(held.origin) };
    let all: Vec<char> = held.text.chars().collect();
    let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
    let start = if offset < 0 { count.saturating_add(offset).max(0) } else { offset.min(count) };
    let end = match length {
        None => count,
        Some(Some(length)) if length < 0 => count.saturating_add(length),
        Some(Some(length)) => start.saturating_add(length).min(count),
        Some(None) => return Word::unknown(held.origin),
    };
    let range = usize::try_from(start).unwrap_or(0)..usize::try_from(end).unwrap_or(0);
    Word { text: all.get(range).unwrap_or_default().iter().collect(), origin: held.origin }
}

fn transformed(held: &Word, operation: &ParameterTransformOp) -> Word {
    match operation {
        ParameterTransformOp::ExpandEscapeSequences => changed(held, pattern::unescaped),
        ParameterTransformOp::ToLowerCase => changed(held, str::to_lowercase),
        ParameterTransformOp::ToUpperCase | ParameterTransformOp::CapitalizeInitial => changed(held, str::to_uppercase),
        ParameterTransformOp::Quoted | ParameterTransformOp::PossiblyQuoteWithArraysExpanded { .. } => held.clone(),
        _ => Word::unknown(held.origin),
    }
}

fn replaced(held: &Word, pattern: &Word, replacement: &Word, kind: &SubstringMatchKind) -> Word {
    if !(held.is_known() && pattern.is_known()) || pattern::has_glob(&pattern.text) || pattern.text.is_empty() {
        return Word::unknown(held.origin);
    }
    let (text, from, to) = (held.text.as_str(), pattern.text.as_str(), replacement.text.as_str());
    let text = match kind {
        SubstringMatchKind::Prefix => text.strip_prefix(from).map(|rest| format!("{to}{rest}")),
        SubstringMatchKind::Suffix => text.strip_suffix(from).map(|rest| format!("{rest}{to}")),
        SubstringMatchKind::FirstOccurrence => Some(text.replacen(from, to, 1)),
        SubstringMatchKind::Anywhere => Some(text.replace(from, to)),
    };
    Word { text: text.unwrap_or_else(|| held.text.clone()), origin: held.origin.max(replacement.origin) }
}
