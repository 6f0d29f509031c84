//! What a call of a foreign tool would touch, as far as its arguments tell: tools of MCP servers and of plugins.
//!
//! What such a tool does cannot be known; what it is asked to do can be read. An argument with the name of a command is
//! judged as a shell command, whoever would run it, and one with the name of a path is held against the same rules as the
//! paths of our own file tools. So a server that runs commands is no way around the gate. Arguments under other names are
//! not guessed at: rules of the owner (`mcp__server__tool`) speak about the whole call.

use crate::desk::Cx;
use crate::effects::{Access, Company, Effects, Reach, Scope, ShellCommand};
use crate::files::place::{CrossProfile, Rules};
use crate::tool::ToolError;
use hermes_types::{Object, Touch};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::Arc;

/// What is known about a tool that others wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Foreigner {
    pub claim: Claim,
    pub works: Works,
    pub company: Company,
}

/// What its makers say it does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Claim {
    /// Nothing: it may change whatever it can reach.
    #[default]
    Unclear,
    /// It only looks. Taken at its word for paths and for running it again, never for commands.
    ReadsOnly,
}

/// Where it works.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Works {
    /// On this machine: paths are paths of ours.
    #[default]
    Here,
    /// At a server somewhere: paths are somebody else's.
    Elsewhere,
}

/// Words an argument is called by that a shell, or an interpreter like one, will run.
const COMMANDS: [&str; 9] =
    ["command", "commands", "cmd", "cmds", "cmdline", "command_line", "shell_command", "bash", "script"];
/// Words for what follows the name of a program.
const OPERANDS: [&str; 3] = ["args", "argv", "arguments"];
/// The last word of a name that means a file or a folder.
const PATHS: [&str; 14] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filepath",
    "dir",
    "directory",
    "folder",
    "destination",
    "dest",
    "target",
    "source",
    "uri",
];
/// Deeper than this nobody nests a path.
const DEEPEST: usize = 8;
const FILE_URI: &str = "file://";

/// Everything a call with these arguments would touch.
pub fn effects(arguments: &Object, foreigner: Foreigner, cx: &Cx) -> Result<Effects, ToolError> {
    let mut found = Found::default();
    found.read(arguments, DEEPEST);
    let touch = match foreigner.claim {
        Claim::ReadsOnly if found.commands.is_empty() => Touch::Reads,
        Claim::ReadsOnly | Claim::Unclear => Touch::Changes,
    };
    let cwd = cx.desk.cwd();
    let scopes = match foreigner.works {
        Works::Here => scopes(&found.paths, foreigner.claim, cx)?,
        Works::Elsewhere => Vec::new(),
    };
    let command = (!found.commands.is_empty()).then(|| ShellCommand {
        text: found.commands.join("\n"),
        cwd,
        remembered: Arc::default(),
    });
    let company = if command.is_some() { Company::Alone } else { foreigner.company };
    Ok(Effects { scopes, command, company, besides: touch, ..Effects::none() })
}

fn scopes(paths: &[String], claim: Claim, cx: &Cx) -> Result<Vec<Scope>, ToolError> {
    let rules = Rules::of(&cx.desk.settings().around);
    let cwd = cx.desk.cwd();
    let checked = paths.iter().map(|given| {
        let given = given.strip_prefix(FILE_URI).unwrap_or(given);
        let (path, access): (PathBuf, Access) = match claim {
            Claim::ReadsOnly => (rules.readable(given, &cwd)?.path().to_owned(), Access::Read),
            Claim::Unclear => {
                // What may not be read may not be copied away by a tool that writes either.
                rules.readable(given, &cwd)?;
                let place = rules.writable(given.trim_end_matches('/'), &cwd, CrossProfile::No)?;
                (place.path().to_owned(), Access::Write)
            }
        };
        Ok(Scope { path, access, reach: Reach::Tree })
    });
    let checked: Result<Vec<Scope>, crate::files::place::Why> = checked.collect();
    checked.map_err(|why| ToolError::told(why.to_string()))
}

/// What arguments name.
#[derive(Default)]
struct Found {
    commands: Vec<String>,
    paths: Vec<String>,
}

impl Found {
    fn read(&mut self, arguments: &Object, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let operands = arguments.iter().filter(|(name, _)| is_one_of(name, &OPERANDS));
        let operands: Vec<&str> = operands.flat_map(|(_, value)| texts(value)).collect();
        for (name, value) in arguments {
            match () {
                () if is_one_of(name, &COMMANDS) => self.commands.extend(command_lines(value, &operands)),
                () if is_path(name) => {
                    self.paths.extend(texts(value).filter(|text| leads_here(text)).map(str::to_owned))
                }
                () => {}
            }
            self.look_into(value, depth);
        }
    }

    fn look_into(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(inner) => self.read(inner, depth),
            Value::Array(items) if depth > 0 => items.iter().for_each(|item| self.look_into(item, depth - 1)),
            _ => {}
        }
    }
}

/// A text is a line for a shell, with the operands beside it; so is each of several, unless together they are the words
/// of one.
fn command_lines(value: &Value, operands: &[&str]) -> Vec<String> {
    let quoted = |words: &[&str]| shell_words::join(words);
    match value {
        Value::String(text) if operands.is_empty() => vec![text.clone()],
        Value::String(text) => vec![format!("{text} {}", quoted(operands))],
        Value::Array(_) => {
            let words: Vec<&str> = texts(value).collect();
            // `["rm", "-rf", "/"]` and `["cd /", "rm -rf *"]` look alike: both are judged.
            let one = quoted(&[&words[..], operands].concat());
            words.iter().map(|word| (*word).to_owned()).chain([one]).collect()
        }
        _ => Vec::new(),
    }
}

/// A text, or each of several.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(items) => Box::new(items.iter().filter_map(Value::as_str)),
        _ => Box::new(std::iter::empty()),
    }
}

fn is_one_of(name: &str, words: &[&str]) -> bool {
    let plain = snake(name);
    words.contains(&plain.as_str())
}

fn is_path(name: &str) -> bool {
    snake(name).rsplit('_').next().is_some_and(|last| PATHS.contains(&last))
}

/// An address on the web is no path of ours.
fn leads_here(text: &str) -> bool {
    !text.trim().is_empty() && (text.starts_with(FILE_URI) || !text.contains("://"))
}

/// `filePath`, `file-path` and `file_path` are one name.
fn snake(name: &str) -> String {
    let mut plain = String::with_capacity(name.len() + 4);
    let mut after_small = false;
    for letter in name.chars() {
        if letter.is_uppercase() && after_small {
            plain.push('_');
        }
        after_small = letter.is_lowercase();
        match letter {
            '-' | ' ' | '.' => plain.push('_'),
            letter => plain.extend(letter.to_lowercase()),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn found(arguments: Value) -> (Vec<String>, Vec<String>) {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let mut found = Found::default();
        found.read(&arguments, DEEPEST);
        (found.commands, found.paths)
    }

    #[test]
    fn commands_are_found_under_their_usual_names_and_shapes() {
        for (arguments, expected) in [
            (json!({"command": "ls -l"}), vec!["ls -l"]),
            (json!({"shellCommand": "ls"}), vec!["ls"]),
            (json!({"command": "rm", "args": ["-rf", "/"]}), vec!["rm -rf /"]),
            (json!({"cmd": ["rm", "-rf", "my files"]}), vec!["rm", "-rf", "my files", "rm -rf 'my files'"]),
            (json!({"steps": [{"script": "one"}, {"script": "two"}]}), vec!["one", "two"]),
            (json!({"text": "rm -rf /"}), vec![]),
        ] {
            assert_eq!(found(arguments.clone()).0, expected, "{arguments}");
        }
    }

    #[test]
    fn paths_are_found_under_their_usual_names() {
        for (arguments, expected) in [
            (json!({"path": "/etc/passwd"}), vec!["/etc/passwd"]),
            (json!({"filePath": "a", "output-file": "b", "note": "c"}), vec!["a", "b"]),
            (json!({"uri": "file:///x"}), vec!["file:///x"]),
            (json!({"uri": "https://example.org/x"}), vec![]),
            (json!({"edits": {"target": ["d", "e"]}}), vec!["d", "e"]),
        ] {
            assert_eq!(found(arguments.clone()).1, expected, "{arguments}");
        }
    }
}
