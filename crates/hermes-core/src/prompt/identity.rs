//! The last lines of a prompt name who answers. After a fallback only they change, so that everything before them is
//! still what a provider has cached; and by them a stored prompt shows whether it still fits.

use super::Ingredients;

const STARTED: &str = "Conversation started:";
const SESSION: &str = "Session ID:";
const MODEL: &str = "Model:";
const PROVIDER: &str = "Provider:";

/// The facts of a conversation, one per line.
pub(super) fn facts(ingredients: &Ingredients) -> String {
    // A fixed width, so that no day costs more than another.
    let date = ingredients.date.map(|date| date.strftime("%a %Y-%m-%d").to_string());
    let lines = [
        (STARTED, date.as_deref()),
        (SESSION, ingredients.session.as_deref()),
        (MODEL, ingredients.model.as_deref()),
        (PROVIDER, ingredients.provider.as_deref()),
    ];
    let known = lines.into_iter().filter_map(|(key, value)| Some(line(key, value?)));
    known.collect::<Vec<_>>().join("\n")
}

/// The same prompt for another model. A text that names none stays as it is.
pub fn with_model(text: &str, model: &str, provider: &str) -> String {
    let Some((before, facts, after)) = parted(text) else { return text.to_owned() };
    let renewed = facts.split('\n').map(|old| match old {
        _ if old.starts_with(MODEL) => line(MODEL, model),
        _ if old.starts_with(PROVIDER) => line(PROVIDER, provider),
        _ => old.to_owned(),
    });
    format!("{before}{}{after}", renewed.collect::<Vec<_>>().join("\n"))
}

/// The model and the provider a prompt names.
///
/// ```
/// use hermes_core::prompt::{names, with_model};
/// let text = "You are Hermes.\n\nConversation started: Fri 2026-01-02\nModel: a\nProvider: x";
/// assert_eq!(names(text), Some(("a", "x")));
/// assert_eq!(names(&with_model(text, "b", "y")), Some(("b", "y")));
/// ```
pub fn names(text: &str) -> Option<(&str, &str)> {
    let (_, facts, _) = parted(text)?;
    let value = |key: &str| facts.split('\n').find_map(|line| line.strip_prefix(key)).map(str::trim);
    value(MODEL).zip(value(PROVIDER))
}

/// What stands before the facts, the facts, and what follows: only the last paragraph of facts is ours; files and notes
/// in front of it may have lines that look alike.
fn parted(text: &str) -> Option<(&str, &str, &str)> {
    let at_start = text.starts_with(STARTED).then_some(0);
    let behind_a_line = || text.rmatch_indices('\n').map(|(at, _)| at + 1).find(|at| starts_at(text, *at));
    let start = behind_a_line().or(at_start)?;
    let (before, rest) = text.split_at_checked(start)?;
    let (facts, after) = rest.split_at_checked(rest.find("\n\n").unwrap_or(rest.len()))?;
    Some((before, facts, after))
}

fn starts_at(text: &str, at: usize) -> bool {
    text.get(at..).is_some_and(|rest| rest.starts_with(STARTED))
}

/// Names come from settings; a line break in one must not make another line.
fn line(key: &str, value: &str) -> String {
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    format!("{key} {value}")
}
