//! What the owner wrote down: modes, and rules by tool and pattern.
//!
//! An entry is `pattern`, which means commands whoever runs them, or `tool(pattern)`. What the pattern of a tool is held
//! against depends on what a call touches: its command, the resolved paths of its files, or else its arguments as
//! canonical JSON. A rule that forbids needs one match anywhere; a rule that permits must fit all of the call.

use super::judge::{Judgement, Shape};
use super::matter::Matter;
use super::pattern;
use crate::effects::{Reach, Scope};
use std::path::{Path, PathBuf};

/// What happens to dangerous commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// A person is asked.
    Manual,
    /// A model is asked first, a person when it does not say yes.
    Smart,
    /// Nobody is asked.
    Off,
}

impl Mode {
    /// The mode a setting names. YAML reads `off` as `false`. An unknown word is `None`; the careful choice is manual.
    pub fn from_setting(text: &str) -> Option<Self> {
        match text.trim().to_lowercase().as_str() {
            "manual" => Some(Self::Manual),
            "smart" => Some(Self::Smart),
            "off" | "false" => Some(Self::Off),
            _ => None,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    Allow,
    Ask,
    Deny,
}

/// What a rule speaks of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// Commands of every tool.
    Commands,
    /// Calls of this tool, or of all that a pattern fits.
    Tool(String),
}

/// One line of policy: what it speaks of, a pattern with `*`, `?` and `[…]`, and what follows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    pub about: About,
    /// As it was written.
    pub pattern: String,
    pub effect: Effect,
    /// The pattern as absolute paths: as written, and where its folders really lie.
    paths: Vec<String>,
}

/// Where the paths of rules start from.
#[derive(Debug, Clone, Copy)]
pub struct Start<'a> {
    pub home: &'a Path,
    pub cwd: &'a Path,
}

/// Why an entry is no rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    #[error("it is empty")]
    Empty,
    #[error("its parenthesis is not closed; write tool(pattern)")]
    Unclosed,
    #[error("there is no pattern between its parentheses; tool(*) means every call")]
    NoPattern,
}

impl RuleError {
    /// What an entry was meant to say, where that is clear. A line that forbids must not be lost to a slip.
    pub(super) fn meant(self, entry: &str) -> Option<String> {
        let entry = entry.trim();
        match self {
            Self::Empty => None,
            Self::Unclosed => Some(format!("{entry})")),
            Self::NoPattern => entry.split_once('(').map(|(tool, _)| format!("{tool}(*)")),
        }
    }
}

impl Rule {
    /// A rule about commands.
    pub fn command(effect: Effect, pattern: impl Into<String>) -> Self {
        Self { about: About::Commands, pattern: pattern.into(), effect, paths: Vec::new() }
    }

    /// Reads one entry of `approvals.allow`, `.ask` or `.deny`.
    pub fn read(entry: &str, effect: Effect, start: Start<'_>) -> Result<Self, RuleError> {
        let entry = entry.trim();
        if entry.is_empty() {
            return Err(RuleError::Empty);
        }
        // Tools of servers are spoken of by name alone: no command begins like this.
        if entry.starts_with("mcp__") && is_tool_name(entry) {
            return Ok(Self { about: About::Tool(entry.to_owned()), ..Self::command(effect, "*") });
        }
        let Some((tool, rest)) = entry.split_once('(').filter(|(tool, _)| is_tool_name(tool)) else {
            return Ok(Self::command(effect, entry));
        };
        let pattern = rest.strip_suffix(')').ok_or(RuleError::Unclosed)?.trim();
        if pattern.is_empty() {
            return Err(RuleError::NoPattern);
        }
        let paths = paths(pattern, start);
        Ok(Self { about: About::Tool(tool.to_owned()), pattern: pattern.to_owned(), effect, paths })
    }

    pub(super) fn fits(&self, tool: &str, matter: &Matter<'_>) -> bool {
        match &self.about {
            About::Commands => matter.command.is_some_and(|judgement| self.fits_command(judgement)),
            About::Tool(name) => same(name, tool) && self.fits_call(matter),
        }
    }

    fn fits_call(&self, matter: &Matter<'_>) -> bool {
        let command = matter.command.map(|judgement| self.fits_command(judgement) || self.fits_script(judgement));
        let mut scopes = matter.scopes.iter().map(|scope| self.fits_scope(scope));
        let everything = matches!(self.pattern.as_str(), "*" | "**");
        match (self.effect, command) {
            (Effect::Allow, Some(fits)) => fits && (matter.scopes.is_empty() || everything),
            (Effect::Allow, None) if !matter.scopes.is_empty() => scopes.all(|fits| fits),
            (Effect::Ask | Effect::Deny, _) if everything => true,
            (Effect::Ask | Effect::Deny, Some(fits)) => fits || scopes.any(|fits| fits),
            (Effect::Ask | Effect::Deny, None) if !matter.scopes.is_empty() => scopes.any(|fits| fits),
            (_, None) => same(&self.pattern, matter.arguments),
        }
    }

    /// A rule that forbids looks at every command inside; one that permits must fit the whole, and the whole must be
    /// one readable command.
    fn fits_command(&self, judgement: &Judgement) -> bool {
        match self.effect {
            Effect::Allow => {
                judgement.shape == Shape::Plain
                    && judgement.readable
                    && is_command(&self.pattern, judgement.command().trim())
            }
            Effect::Ask | Effect::Deny => judgement.texts.iter().any(|text| is_command(&self.pattern, text)),
        }
    }

    /// Whoever names the tool knows that its text is no command.
    fn fits_script(&self, judgement: &Judgement) -> bool {
        judgement.shape == Shape::Script && same(&self.pattern, judgement.command().trim())
    }

    /// What forbids a folder forbids all in it, and a search that would enter it.
    fn fits_scope(&self, scope: &Scope) -> bool {
        let path = scope.path.to_string_lossy();
        match self.effect {
            Effect::Allow => scope.reach == Reach::File && self.paths.iter().any(|pattern| is_path(pattern, &path)),
            Effect::Ask | Effect::Deny => {
                let path = path.to_lowercase();
                self.paths.iter().map(|pattern| pattern.to_lowercase()).any(|pattern| {
                    let inside = is_path(&pattern, &path) || is_path(&format!("{pattern}/**"), &path);
                    inside || scope.reach == Reach::Tree && fixed_part(&pattern).starts_with(Path::new(&path))
                })
            }
        }
    }
}

/// Letters of tool names, and of patterns for them.
fn is_tool_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-*?".contains(&byte))
}

/// `~/x` lies in the home, `x/y` where the conversation starts, and a bare name anywhere.
fn paths(pattern: &str, start: Start<'_>) -> Vec<String> {
    let under = |folder: &Path, rest: &str| format!("{}/{rest}", folder.display());
    let spelled = match pattern {
        "~" => start.home.display().to_string(),
        _ if pattern.starts_with('/') => pattern.to_owned(),
        _ => match pattern.strip_prefix("~/") {
            Some(rest) => under(start.home, rest),
            None if !pattern.contains('/') => format!("/**/{pattern}"),
            None if pattern.starts_with("**/") => format!("/{pattern}"),
            None => under(start.cwd, pattern.trim_start_matches("./")),
        },
    };
    let fixed = fixed_part(&spelled);
    let rest = Path::new(&spelled).strip_prefix(&fixed).map(Path::to_path_buf).unwrap_or_default();
    let real = resolved(&fixed).join(rest).display().to_string();
    if real == spelled { vec![spelled] } else { vec![spelled, real] }
}

/// The folders of a pattern before the first that is open.
fn fixed_part(pattern: &str) -> PathBuf {
    Path::new(pattern).components().take_while(|part| !pattern::has_glob(&part.as_os_str().to_string_lossy())).collect()
}

/// Where a path leads through links, as far as it exists. A link to what is not there yet is followed too: writing to
/// it makes the file.
pub(super) fn resolved(path: &Path) -> PathBuf {
    follow(path.to_path_buf(), MOST_LINKS)
}

const MOST_LINKS: usize = 40;

fn follow(path: PathBuf, left: usize) -> PathBuf {
    let mut rest = Vec::new();
    let mut folder = path.as_path();
    loop {
        let with_rest = |start: PathBuf| rest.iter().rev().fold(start, |whole, part| whole.join(part));
        if let Ok(real) = folder.canonicalize() {
            return with_rest(real);
        }
        let (Some(parent), Some(name)) = (folder.parent(), folder.file_name()) else { return path };
        match folder.read_link() {
            Ok(_) if left == 0 => return path,
            Ok(target) => return follow(with_rest(parent.join(target)), left - 1),
            Err(_) => {
                rest.push(name);
                folder = parent;
            }
        }
    }
}

/// `git push *` also means `git push`.
fn is_command(pattern: &str, text: &str) -> bool {
    same(pattern, text) || pattern.strip_suffix(" *").is_some_and(|bare| same(bare, text))
}

/// Glob matching that ignores case.
pub(super) fn same(pattern: &str, text: &str) -> bool {
    pattern::matches(&pattern.to_lowercase(), &text.to_lowercase())
}

/// `*` stays within one name, `**` crosses folders.
fn is_path(pattern: &str, path: &str) -> bool {
    let parts = |text: &str| text.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect::<Vec<_>>();
    parts_fit(&parts(pattern), &parts(path))
}

fn parts_fit(pattern: &[String], path: &[String]) -> bool {
    match pattern.split_first() {
        None => path.is_empty(),
        Some((first, rest)) if first == "**" => {
            (0..=path.len()).any(|skipped| parts_fit(rest, path.get(skipped..).unwrap_or_default()))
        }
        Some((first, rest)) => {
            path.split_first().is_some_and(|(name, below)| pattern::matches(first, name) && parts_fit(rest, below))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entry: &str) -> Result<Rule, RuleError> {
        Rule::read(entry, Effect::Deny, Start { home: Path::new("/home/ada"), cwd: Path::new("/work") })
    }

    #[test]
    fn an_entry_speaks_of_commands_or_of_a_tool() {
        let about = |entry: &str| read(entry).map(|rule| (rule.about, rule.pattern));
        let tool = |name: &str, pattern: &str| Ok((About::Tool(name.into()), pattern.to_owned()));
        assert_eq!(about("git push *"), Ok((About::Commands, "git push *".into())));
        assert_eq!(about("echo $(date)"), Ok((About::Commands, "echo $(date)".into())));
        assert_eq!(about("terminal(git push *)"), tool("terminal", "git push *"));
        assert_eq!(about("write_*( ~/notes/** )"), tool("write_*", "~/notes/**"));
        assert_eq!(about("mcp__github__*"), tool("mcp__github__*", "*"));
        assert_eq!(about(" "), Err(RuleError::Empty));
        assert_eq!(about("terminal(git push"), Err(RuleError::Unclosed));
        assert_eq!(about("read_file()"), Err(RuleError::NoPattern));
    }

    #[test]
    fn paths_of_rules_are_absolute() {
        for (pattern, expected) in [
            ("~/notes/**", "/home/ada/notes/**"),
            ("~", "/home/ada"),
            ("/srv/x", "/srv/x"),
            ("*.pem", "/**/*.pem"),
            ("**/secret/*", "/**/secret/*"),
            ("src/*", "/work/src/*"),
            ("./src/*", "/work/src/*"),
        ] {
            let rule = read(&format!("read_file({pattern})")).unwrap_or_else(|error| panic!("{pattern}: {error}"));
            assert_eq!(rule.paths.first().map(String::as_str), Some(expected), "{pattern}");
        }
    }

    #[test]
    fn stars_of_paths_stay_in_their_folder() {
        for (pattern, path, fits) in [
            ("/a/*", "/a/b", true),
            ("/a/*", "/a/b/c", false),
            ("/a/**", "/a/b/c", true),
            ("/a/**", "/a", true),
            ("/**/*.pem", "/x/y.pem", true),
            ("/**/*.pem", "/y.pem", true),
            ("/a/**/z", "/a/b/c/z", true),
            ("/a/**/z", "/a/b/c", false),
        ] {
            assert_eq!(is_path(pattern, path), fits, "{pattern} {path}");
        }
    }
}
