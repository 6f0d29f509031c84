//! What commands of a conversation left in its shell, and what it makes of later ones.
//!
//! A shell that keeps exports, functions and aliases gives words a meaning that the text of the next command does not
//! show: after `f() { rm -rf "$1"; }`, `f ~` is what it is only to who remembers. So a command is judged with what its
//! shell holds beyond what the person's own login shell had set up. The state is text that bash wrote; it is cut into
//! entries without trusting what a here-document in a function may look like.

use super::judge::Notes;
use super::place::Place;
use super::script;
use super::shell::Shell;
use brush_parser::ast::{AndOrList, Command, CompoundListItem, FunctionBody, Program};
use std::collections::{BTreeMap, HashSet};
use std::rc::Rc;

/// As many ends of blocks are tried to find the end of one function.
const MOST_ENDS: usize = 40;
/// A function beyond this is not read; calling it is asked about.
const LONGEST_BODY: usize = 100_000;

/// What a shell holds that the person's login shell did not set up.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Remembered {
    variables: BTreeMap<String, String>,
    aliases: BTreeMap<String, String>,
    /// By name, as bash prints them.
    functions: BTreeMap<String, String>,
}

/// How a remembered function looks.
pub(super) enum Body {
    Known(Rc<FunctionBody>),
    /// It is there, and what it does cannot be read.
    Unreadable,
}

impl Remembered {
    /// What the state `now` has and `first` has not. Both are what bash wrote with `export -p`, `declare -f` and
    /// `alias -p`.
    pub fn since(first: &str, now: &str) -> Self {
        let known: HashSet<&str> = entries(first).into_iter().collect();
        let mut remembered = Self::default();
        let now = entries(now);
        let mut at = 0;
        while let Some(entry) = now.get(at).copied() {
            at += 1;
            if known.contains(entry) {
                continue;
            }
            if let Some(name) = function_name(entry) {
                // Where no end makes it readable, what follows it is still read for itself.
                let whole = whole_function(entry, now.get(at..).unwrap_or_default());
                at += whole.as_ref().map_or(0, |(_, taken)| *taken);
                let text = whole.map_or_else(|| entry.to_owned(), |(text, _)| text);
                remembered.functions.insert(name.to_owned(), text);
            } else if let Some(definition) = entry.strip_prefix("alias ") {
                let definition = definition.strip_prefix("-- ").unwrap_or(definition);
                remembered.aliases.extend(pair(definition));
            } else if entry.starts_with("declare -") {
                let assignment = entry.splitn(3, ' ').nth(2).unwrap_or_default();
                remembered.variables.extend(pair(assignment));
            }
        }
        remembered
    }

    /// Whether a word may mean another command than it says.
    pub fn defines_commands(&self) -> bool {
        !self.functions.is_empty() || !self.aliases.is_empty()
    }

    pub(super) fn variables(&self) -> impl Iterator<Item = (&str, &str)> {
        self.variables.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub(super) fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(name, text)| (name.as_str(), text.as_str()))
    }

    pub(super) fn function(&self, name: &str) -> Option<Body> {
        let text = self.functions.get(name)?;
        Some(only_function(text).map_or(Body::Unreadable, |body| Body::Known(Rc::new(body))))
    }
}

/// `name='value'`, without its quotes.
fn pair(assignment: &str) -> Option<(String, String)> {
    let (name, raw) = assignment.split_once('=')?;
    let place = Place { home: String::new(), hermes_home: String::new(), cwd: String::new() };
    let mut notes = Notes::new();
    let value = Shell::new(&place, &mut notes).word(raw);
    Some((name.to_owned(), value.text))
}

/// The function that begins with `entry`, and how many of the pieces after it belong to it.
fn whole_function(entry: &str, after: &[&str]) -> Option<(String, usize)> {
    let mut text = entry.to_owned();
    for taken in 0..MOST_ENDS {
        if only_function(&text).is_some() {
            return Some((text, taken));
        }
        text.push('\n');
        text.push_str(after.get(taken)?);
        if text.len() > LONGEST_BODY {
            return None;
        }
    }
    None
}

/// The body, when the text is one definition of a function and nothing else.
fn only_function(text: &str) -> Option<FunctionBody> {
    let Program { complete_commands } = script::read(text).ok()?;
    let [list] = complete_commands.as_slice() else { return None };
    let [CompoundListItem(AndOrList { first, additional }, _)] = list.0.as_slice() else { return None };
    match first.seq.as_slice() {
        [Command::Function(function)] if additional.is_empty() => Some(function.body.clone()),
        _ => None,
    }
}

fn function_name(entry: &str) -> Option<&str> {
    let line = entry.lines().next()?;
    let name = line.strip_suffix(" () ").or_else(|| line.strip_suffix(" ()"))?;
    Some(name.strip_prefix("function ").unwrap_or(name))
}

/// The state cut into pieces: a function up to the first line that may end it, a definition up to its closing quote.
fn entries(state: &str) -> Vec<&str> {
    let mut entries = Vec::new();
    let mut rest = state;
    while !rest.is_empty() {
        let line = rest.split('\n').next().unwrap_or_default();
        let length = if function_name(line).is_some() {
            rest.find("\n}").map_or(line.len(), |at| {
                let after = rest.get(at + 1..).unwrap_or_default();
                at + 1 + after.find('\n').unwrap_or(after.len())
            })
        } else if line.starts_with("declare -") || line.starts_with("alias ") {
            definition_end(rest)
        } else {
            // Also what is left of a function whose here-document looked like its end.
            rest.starts_with(' ').then(|| rest.find("\n}").map(|at| at + 2)).flatten().unwrap_or(line.len())
        };
        let (entry, tail) = rest.split_at_checked(length).unwrap_or((rest, ""));
        entries.push(entry);
        rest = tail.strip_prefix('\n').unwrap_or(tail);
    }
    entries
}

/// Where a definition ends: at the end of the line on which all its quotes are closed.
fn definition_end(text: &str) -> usize {
    let mut quote: Option<char> = None;
    let mut escapes = false;
    let mut rest = text.char_indices().peekable();
    while let Some((at, found)) = rest.next() {
        match (quote, found) {
            (None, '\n') => return at,
            (None, '\\') => {
                rest.next();
            }
            (None, '$') if rest.peek().is_some_and(|(_, next)| *next == '\'') => {
                rest.next();
                (quote, escapes) = (Some('\''), true);
            }
            (None, '"') => (quote, escapes) = (Some('"'), true),
            (None, '\'') => (quote, escapes) = (Some('\''), false),
            (Some(_), '\\') if escapes => {
                rest.next();
            }
            (Some(open), found) if open == found => quote = None,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_bash_wrote_it() {
        let first =
            "shopt -u autocd\ndeclare -x HOME=\"/home/ada\"\nours () \n{ \n    true\n}\nalias ll='ls -l'\n#whole\n";
        let now = "shopt -u autocd\ndeclare -x HOME=\"/home/ada\"\ndeclare -x C=\"rm -rf \\$X\ntwo\"\ndeclare -x D=$'a\\nb'\n\
                   f () \n{ \n    cat <<E\n}\nours () \n{ \n    true\n}\nE\n    rm -rf \"$1\"\n}\nours () \n{ \n    true\n}\n\
                   declare -fx f\nalias ll='ls -l'\nalias x='echo '\\''a'\\''\nb'\n#whole\n";
        let remembered = Remembered::since(first, now);
        let body = "f () \n{ \n    cat <<E\n}\nours () \n{ \n    true\n}\nE\n    rm -rf \"$1\"\n}";
        assert_eq!(
            remembered,
            Remembered {
                variables: [("C", "rm -rf $X\ntwo"), ("D", "a\nb")].map(|(a, b)| (a.into(), b.into())).into(),
                aliases: [("x".to_owned(), "echo 'a'\nb".to_owned())].into(),
                functions: [("f".to_owned(), body.to_owned())].into(),
            }
        );
        assert!(matches!(remembered.function("f"), Some(Body::Known(_))));
        assert_eq!(Remembered::since(now, now), Remembered::default());
    }
}
