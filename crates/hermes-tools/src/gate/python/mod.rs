//! Python, read as far as a gate can: the names that stand in it, and its texts.
//!
//! What a script does through tools is judged when it does it. Here is what it would do without them: start programs, run
//! code that nobody can read beforehand, and touch files by name that steer the machine or hold keys. A name counts
//! wherever it stands, since Python has many ways to reach what it names. Nobody can tell by reading all that a program
//! will do: a path put together from what it finds is not seen here. What must hold for those too is the sandbox's part.

mod names;
#[cfg(test)]
mod tests;
mod tokens;

use crate::gate::intent::Seen;
use crate::gate::judge::Notes;
use crate::gate::place::Place;
use crate::gate::script;
use crate::gate::shell::Shell;
use crate::gate::word::Word;
use names::{Owner, Sense};
use tokens::{Token, tokens};

/// A longer script was not written to be read.
const LONGEST: usize = 256 * 1024;
/// A script with more texts carries data of which nobody can say what it is for.
const MOST_TEXTS: usize = 5_000;
/// Texts of one line that are looked at together.
const MOST_TOGETHER: usize = 60;
/// Longer lists of texts are no parts of one path.
const MOST_PARTS: usize = 12;
const LONGEST_PATH: usize = 400;

/// Notes all that is dangerous about a script.
pub(in crate::gate) fn walk(code: &str, place: &Place, notes: &mut Notes) {
    if code.len() > LONGEST {
        notes.add(Seen::TooLarge, code);
        return;
    }
    let tokens = tokens(code);
    if tokens.iter().filter_map(text).count() > MOST_TEXTS {
        notes.add(Seen::Unreadable, code);
    }
    let senses: Vec<(usize, Sense)> = (0..tokens.len()).filter_map(|at| Some((at, sense_of(&tokens, at)?))).collect();
    for (at, sense) in &senses {
        let name = tokens.get(*at).and_then(name).unwrap_or_default();
        match sense {
            Sense::Starts => notes.add(Seen::ScriptStarts, name),
            Sense::Hides => notes.add(Seen::ComputedCode, name),
            Sense::Changes | Sense::Deletes | Sense::Harmless => {}
        }
    }
    let has = |wanted: Sense| senses.iter().any(|(_, sense)| *sense == wanted);
    let (starts, changes) = (has(Sense::Starts), has(Sense::Changes));
    let mut begins = 0;
    for line in tokens.split(|token| *token == Token::End) {
        let texts: Vec<&str> = line.iter().filter_map(text).take(MOST_TEXTS).collect();
        paths(&texts).iter().for_each(|path| touched(path, changes, place, notes));
        if starts {
            let together = texts.iter().take(MOST_TOGETHER).copied().collect::<Vec<_>>().join(" ");
            let commands = texts.iter().copied().filter(|text| text.contains(' ')).chain([together.as_str()]);
            commands.for_each(|command| handed_to_a_shell(command, place, notes));
        }
        let ends = begins + line.len();
        if senses.iter().any(|(at, sense)| *sense == Sense::Deletes && (begins..ends).contains(at)) {
            let known = texts.iter().map(|text| quoted(text));
            let unknown = texts.is_empty().then(|| "\"$1\"".to_owned());
            known.chain(unknown).for_each(|what| handed_to_a_shell(&format!("rm -r {what}"), place, notes));
        }
        begins = ends + 1;
    }
}

/// What the token at this place stands for.
fn sense_of(tokens: &[Token], at: usize) -> Option<Sense> {
    let written = tokens.get(at).and_then(name)?;
    let before = |back: usize| at.checked_sub(back).and_then(|at| tokens.get(at));
    let owner = match (before(1), before(2)) {
        (Some(Token::Mark('.')), Some(Token::Name(owner))) => Owner::Named(owner),
        (Some(Token::Mark('.')), _) => Owner::Something,
        _ => Owner::Nobody,
    };
    if is_given_a_value(tokens, at) {
        return None;
    }
    if written == "getattr" {
        // A name that is written down is as good as one behind a dot.
        return attribute(tokens, at).map_or(Some(Sense::Hides), |name| names::sense(name, Owner::Something));
    }
    names::sense(written, owner)
}

/// `system=…`: the name of an argument, or of something new.
fn is_given_a_value(tokens: &[Token], at: usize) -> bool {
    let equals = |at: usize| tokens.get(at).is_some_and(|token| *token == Token::Mark('='));
    equals(at + 1) && !equals(at + 2)
}

/// The second argument of the call at this place, if it is one text.
fn attribute(tokens: &[Token], at: usize) -> Option<&str> {
    let mut depth = 0_usize;
    let mut rest = tokens.iter().skip(at + 1);
    for token in rest.by_ref() {
        match token {
            Token::Mark('(' | '[' | '{') => depth += 1,
            Token::Mark(')' | ']' | '}') => depth = depth.saturating_sub(1),
            Token::Mark(',') if depth == 1 => break,
            _ => {}
        }
        if depth == 0 {
            return None;
        }
    }
    let written = rest.next().and_then(text)?;
    matches!(rest.next(), Some(Token::Mark(',' | ')'))).then_some(written)
}

fn text(token: &Token) -> Option<&str> {
    match token {
        Token::Text(text) => Some(text),
        _ => None,
    }
}

fn name(token: &Token) -> Option<&str> {
    match token {
        Token::Name(name) => Some(name),
        _ => None,
    }
}

/// What the texts of a line could name: each of them, and all of them as parts of one path or of one name. A path may
/// begin at the home without saying so.
fn paths(texts: &[&str]) -> Vec<String> {
    let mut paths: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    if (2..=MOST_PARTS).contains(&texts.len()) {
        let parts: Vec<&str> = texts.iter().map(|text| text.trim_matches('/')).collect();
        let start = if texts.first().is_some_and(|text| text.starts_with('/')) { "/" } else { "" };
        paths.extend([format!("{start}{}", parts.join("/")), texts.concat()]);
        paths.extend(texts.windows(2).flat_map(|pair| [pair.join("/"), pair.concat()]));
    }
    paths.retain(|path| !path.is_empty() && path.len() <= LONGEST_PATH && !path.contains(char::is_whitespace));
    let at_home: Vec<String> =
        paths.iter().filter(|path| !path.starts_with(['/', '~'])).map(|path| format!("~/{path}")).collect();
    paths.extend(at_home);
    paths
}

/// A path that a script names. One that steers the machine is noted however it is used; others when files are changed.
fn touched(path: &str, changes: bool, place: &Place, notes: &mut Notes) {
    let cwd = Some(place.cwd.as_str());
    notes.reads(path, place, cwd);
    if changes || place.is_sensitive(path, cwd) || place.is_disk(path, cwd) || place.is_kernel_switch(path, cwd) {
        notes.writes(&[Word::literal(path)], place, cwd);
    }
}

fn handed_to_a_shell(text: &str, place: &Place, notes: &mut Notes) {
    if script::read(text).is_ok() {
        Shell::new(place, notes).source(text);
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}
