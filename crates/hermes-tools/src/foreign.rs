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

/// The last word of a name whose value a shell, or an interpreter like one, will run.
const COMMANDS: [&str; 8] = ["command", "commands", "cmd", "cmds", "cmdline", "bash", "script", "scripts"];
/// Whole names of the same kind.
const PROGRAMS: [&str; 6] = ["command_line", "cmd_line", "program", "executable", "exec", "argv"];
/// Words for what follows the name of a program.
const OPERANDS: [&str; 3] = ["args", "argv", "arguments"];
/// The last word of a name that means a file or a folder.
const PATHS: [&str; 27] = [
    "path",
    "paths",
    "file",
    "files",
    "filename",
    "filenames",
    "filepath",
    "filepaths",
    "infile",
    "outfile",
    "dir",
    "dirs",
    "outdir",
    "directory",
    "directories",
    "folder",
    "folders",
    "destination",
    "dest",
    "dst",
    "target",
    "targets",
    "source",
    "sources",
    "src",
    "uri",
    "uris",
];
/// Words for the folder in which a command is run.
const FOLDERS: [&str; 5] = ["cwd", "workdir", "work_dir", "working_dir", "working_directory"];
/// What is nested deeper is not read, and so it is not run.
const DEEPEST: usize = 64;
const TOO_DEEP: &str =
    "The arguments are nested too deep to be judged, so the call does not run. Say it in a flatter way.";
/// The beginning of an address of a file, whatever the argument is called.
const FILE_URI: &str = "file:";

/// Everything a call with these arguments would touch.
pub fn effects(arguments: &Object, foreigner: Foreigner, cx: &Cx) -> Result<Effects, ToolError> {
    let mut found = Found::default();
    found.read(arguments, DEEPEST);
    if found.is_cut {
        return Err(ToolError::told(TOO_DEEP));
    }
    let commands = found.lines();
    let touch = match foreigner.claim {
        Claim::ReadsOnly if commands.is_empty() => Touch::Reads,
        Claim::ReadsOnly | Claim::Unclear => Touch::Changes,
    };
    let cwd = cx.desk.cwd();
    let scopes = match foreigner.works {
        Works::Here => scopes(&found.paths, foreigner.claim, cx)?,
        Works::Elsewhere => Vec::new(),
    };
    let command =
        (!commands.is_empty()).then(|| ShellCommand { text: commands.join("\n"), cwd, remembered: Arc::default() });
    let company = if command.is_some() { Company::Alone } else { foreigner.company };
    Ok(Effects { scopes, command, company, besides: touch, ..Effects::none() })
}

fn scopes(paths: &[String], claim: Claim, cx: &Cx) -> Result<Vec<Scope>, ToolError> {
    let rules = Rules::of(&cx.desk.settings().around);
    let cwd = cx.desk.cwd();
    let checked = paths.iter().flat_map(|given| spellings(given)).map(|given| {
        let given = given.as_str();
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

/// The paths that a text may mean: itself, or, of an address of a file, what stands behind its beginning as it is written
/// and as a reader of addresses takes it (`file://localhost/x`, `%2e` for a dot).
fn spellings(given: &str) -> Vec<String> {
    let Some(behind) = behind_file(given) else { return vec![given.to_owned()] };
    let written = behind.strip_prefix("//").unwrap_or(behind).to_owned();
    let read = url::Url::parse(given.trim()).ok().and_then(|address| address.to_file_path().ok());
    [Some(written), read.map(|path| path.display().to_string())].into_iter().flatten().collect()
}

/// What stands behind `file:`, in any case of its letters.
fn behind_file(text: &str) -> Option<&str> {
    let (scheme, rest) = text.trim_start().split_at_checked(FILE_URI.len())?;
    scheme.eq_ignore_ascii_case(FILE_URI).then_some(rest)
}

/// What arguments name.
#[derive(Default)]
struct Found {
    commands: Vec<String>,
    /// Where they may be run, besides where the conversation is.
    folders: Vec<String>,
    paths: Vec<String>,
    /// Something was nested too deep to be read.
    is_cut: bool,
}

impl Found {
    fn read(&mut self, arguments: &Object, depth: usize) {
        let Some(depth) = depth.checked_sub(1) else {
            self.is_cut = true;
            return;
        };
        for (name, value) in arguments {
            match () {
                () if is_one_of(name, &FOLDERS) => self.folders.extend(texts(value).into_iter().map(str::to_owned)),
                () if is_command(name) => {
                    let beside = arguments.iter().filter(|(other, _)| *other != name && is_one_of(other, &OPERANDS));
                    let operands: Vec<&str> = beside.flat_map(|(_, value)| texts(value)).collect();
                    self.commands.extend(command_lines(value, &operands, depth));
                }
                () if is_path(name) => {
                    self.paths.extend(texts(value).into_iter().filter(|text| is_plain_path(text)).map(str::to_owned))
                }
                () => {}
            }
            self.look_into(value, depth);
        }
    }

    fn look_into(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(inner) => self.read(inner, depth),
            Value::Array(items) => match depth.checked_sub(1) {
                Some(depth) => items.iter().for_each(|item| self.look_into(item, depth)),
                None => self.is_cut = true,
            },
            Value::String(text) if behind_file(text).is_some() => self.paths.push(text.clone()),
            _ => {}
        }
    }
}

impl Found {
    /// The commands where the conversation is, and once more in each folder that is named for them.
    fn lines(&self) -> Vec<String> {
        // A folder of the home has to stay one: quotes would make a name of its `~`.
        let word = |folder: &str| match folder.starts_with('~') && !folder.contains(char::is_whitespace) {
            true => folder.to_owned(),
            false => shell_words::quote(folder).into_owned(),
        };
        let there = self.folders.iter().flat_map(|folder| {
            let word = word(folder);
            self.commands.iter().map(move |command| format!("cd {word} && {command}"))
        });
        self.commands.iter().cloned().chain(there).collect()
    }
}

/// Everything that a value under the name of a command can come to. A text is a line for a shell, with the operands beside
/// it; so is each of several, unless together they are the words of one.
fn command_lines(value: &Value, operands: &[&str], depth: usize) -> Vec<String> {
    let Some(deeper) = depth.checked_sub(1) else { return Vec::new() };
    match value {
        Value::String(text) if operands.is_empty() => vec![text.clone()],
        Value::String(text) => {
            alike(format!("{text} {}", operands.join(" ")), format!("{text} {}", shell_words::join(operands)))
        }
        Value::Array(items) => {
            let words: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let nested = items.iter().filter(|item| !item.is_string());
            let mut lines: Vec<String> = nested.flat_map(|item| command_lines(item, operands, deeper)).collect();
            if !words.is_empty() {
                // `["rm", "-rf", "/"]` and `["cd /", "rm -rf *"]` look alike: both are judged.
                let one = [&words[..], operands].concat();
                lines.extend(words.iter().map(|word| (*word).to_owned()));
                lines.extend(alike(one.join(" "), shell_words::join(&one)));
            }
            lines
        }
        Value::Object(fields) => fields.values().flat_map(|field| command_lines(field, operands, deeper)).collect(),
        _ => Vec::new(),
    }
}

/// Words that somebody puts together with spaces alone, and with quotes: two lines where that makes a difference.
fn alike(bare: String, quoted: String) -> Vec<String> {
    if bare == quoted { vec![bare] } else { vec![quoted, bare] }
}

/// A text, or each of several.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().flat_map(texts).collect(),
        _ => Vec::new(),
    }
}

fn is_one_of(name: &str, words: &[&str]) -> bool {
    let plain = snake(name);
    words.contains(&plain.as_str())
}

fn is_command(name: &str) -> bool {
    is_one_of(name, &PROGRAMS) || snake(name).rsplit('_').next().is_some_and(|last| COMMANDS.contains(&last))
}

fn is_path(name: &str) -> bool {
    snake(name).rsplit('_').next().is_some_and(|last| PATHS.contains(&last))
}

/// An address on the web is no path of ours; one of a file is found under any name.
fn is_plain_path(text: &str) -> bool {
    !text.trim().is_empty() && !text.contains("://") && behind_file(text).is_none()
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
        assert!(!found.is_cut);
        (found.lines(), found.paths)
    }

    #[test]
    fn commands_are_found_under_their_usual_names_and_shapes() {
        for (arguments, expected) in [
            (json!({"command": "ls -l"}), vec!["ls -l"]),
            (json!({"shellCommand": "ls"}), vec!["ls"]),
            (json!({"command": "rm", "args": ["-rf", "/"]}), vec!["rm -rf /"]),
            (
                json!({"cmd": ["rm", "-rf", "my files"]}),
                vec!["rm", "-rf", "my files", "rm -rf 'my files'", "rm -rf my files"],
            ),
            (json!({"command": "rm", "args": "-rf /"}), vec!["rm '-rf /'", "rm -rf /"]),
            (json!({"argv": ["rm", "x"]}), vec!["rm", "x", "rm x"]),
            (json!({"commands": [["rm", "x"], ["ls"]]}), vec!["rm", "x", "rm x", "ls", "ls"]),
            (json!({"command": {"text": "ls"}}), vec!["ls"]),
            (json!({"build_cmd": "make", "preScript": "env"}), vec!["make", "env"]),
            (json!({"run": {"program": "rm", "args": ["x"]}}), vec!["rm x"]),
            (json!({"command": true, "script": null}), vec![]),
            (json!({"steps": [{"script": "one"}, {"script": "two"}]}), vec!["one", "two"]),
            (json!({"text": "rm -rf /"}), vec![]),
            (json!({"cwd": "/x y", "command": "rm -rf ./*"}), vec!["rm -rf ./*", "cd '/x y' && rm -rf ./*"]),
            (json!({"options": {"workingDir": "~"}, "script": "ls"}), vec!["ls", "cd ~ && ls"]),
        ] {
            assert_eq!(found(arguments.clone()).0, expected, "{arguments}");
        }
    }

    #[test]
    fn what_is_nested_too_deep_is_noticed() {
        for wrap in [|inner: Value| json!([inner]), |inner: Value| json!({ "x": inner })] {
            let nested = (0..DEEPEST).fold(json!({"command": "rm -rf /"}), |inner, _| wrap(inner));
            let Value::Object(arguments) = json!({ "x": nested }) else { panic!("an object") };
            let mut found = Found::default();
            found.read(&arguments, DEEPEST);
            assert!(found.is_cut);
        }
    }

    #[test]
    fn an_address_of_a_file_is_every_path_it_may_mean() {
        for (given, expected) in [
            ("notes.txt", vec!["notes.txt"]),
            ("file:///a/b", vec!["/a/b", "/a/b"]),
            ("file://localhost/a", vec!["localhost/a", "/a"]),
            ("FILE:/a/%2eenv", vec!["/a/%2eenv", "/a/.env"]),
            ("file:a", vec!["a", "/a"]),
        ] {
            assert_eq!(spellings(given), expected, "{given}");
        }
    }

    #[test]
    fn paths_are_found_under_their_usual_names() {
        for (arguments, expected) in [
            (json!({"path": "/etc/passwd"}), vec!["/etc/passwd"]),
            (json!({"filePath": "a", "output-file": "b", "note": "c"}), vec!["a", "b"]),
            (json!({"uri": "file:///x"}), vec!["file:///x"]),
            (json!({"uri": "https://example.org/x"}), vec![]),
            (json!({"page": "FILE:///x", "links": [["file:/y"]]}), vec!["FILE:///x", "file:/y"]),
            (json!({"edits": {"target": ["d", "e"]}}), vec!["d", "e"]),
        ] {
            assert_eq!(found(arguments.clone()).1, expected, "{arguments}");
        }
    }
}
