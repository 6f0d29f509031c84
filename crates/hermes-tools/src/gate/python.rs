//! Python, read as far as a gate can: the names that stand in it, and its texts.
//!
//! What a script does through tools is judged when it does it. Here is what it would do without them: start programs, run
//! code that nobody can read beforehand, and touch files by name that steer the machine or hold keys. A name counts
//! wherever it stands, since Python has many ways to reach what it names. Nobody can tell by reading all that a program
//! will do: a path put together from what it finds is not seen here. What must hold for those too is the sandbox's part.

use super::intent::Seen;
use super::judge::Notes;
use super::place::Place;
use super::script;
use super::shell::Shell;
use super::word::Word;
use unicode_normalization::UnicodeNormalization;

/// A longer script was not written to be read.
const LONGEST: usize = 1 << 20;
/// Texts of one line that are looked at together.
const MOST_TOGETHER: usize = 60;
const LONGEST_PATH: usize = 400;

/// Names that start programs.
const STARTING: [&str; 38] = [
    "subprocess", "_posixsubprocess", "system", "popen", "Popen", "posix_spawn", "posix_spawnp", "startfile", "execl",
    "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe", "spawnl", "spawnle", "spawnlp", "spawnlpe",
    "spawnv", "spawnve", "spawnvp", "spawnvpe", "fork_exec", "forkpty", "pty", "pexpect", "plumbum", "getoutput",
    "getstatusoutput", "check_output", "check_call", "create_subprocess_exec", "create_subprocess_shell",
    "subprocess_exec", "subprocess_shell", "SubprocessTransport",
];
/// Names through which code or a name that is only known later is reached.
const HIDING: [&str; 37] = [
    "__import__", "__builtins__", "builtins", "importlib", "runpy", "codeop", "ctypes", "_ctypes", "cffi", "marshal",
    "timeit", "cProfile", "attrgetter", "methodcaller", "exec_module", "load_module", "CodeType", "FunctionType",
    "InteractiveInterpreter", "InteractiveConsole", "globals", "vars", "__dict__", "__globals__", "__subclasses__",
    "__getattribute__", "__loader__", "__spec__", "__code__", "__closure__", "__reduce__", "__reduce_ex__", "__mro__",
    "__bases__", "__base__", "dill", "cloudpickle",
];
/// The same, where they are no method of something else: `re.compile` and `frame.eval` are.
const HIDING_ALONE: [&str; 3] = ["eval", "exec", "compile"];
/// Names behind these modules, and what they are there.
const BEHIND: [(&str, &str, Seen); 3] = [
    ("sys", "modules", Seen::ComputedCode),
    ("pickle", "loads", Seen::ComputedCode),
    ("pickle", "load", Seen::ComputedCode),
];
/// A name that means something harmless behind this one.
const HARMLESS_BEHIND: [(&str, &str); 1] = [("platform", "system")];
/// Names that change files.
const CHANGING: [&str; 30] = [
    "write", "writelines", "write_text", "write_bytes", "dump", "unlink", "remove", "rmdir", "removedirs", "rename",
    "renames", "replace", "truncate", "chmod", "lchmod", "chown", "lchown", "symlink", "link", "symlink_to",
    "hardlink_to", "touch", "mkfifo", "mknod", "copy", "copy2", "copyfile", "copytree", "move", "extractall",
];
/// Deletes a directory with all that is in it.
const DELETING: &str = "rmtree";

/// What a reader of Python sees.
#[derive(Debug, PartialEq, Eq)]
enum Token {
    Name(String),
    /// What a text says, as far as that is written down.
    Text(String),
    Mark(char),
    /// The end of a statement.
    End,
}

/// Notes all that is dangerous about a script.
pub(super) fn walk(code: &str, place: &Place, notes: &mut Notes) {
    if code.len() > LONGEST {
        notes.add(Seen::TooLarge, code);
        return;
    }
    let tokens = tokens(code);
    let mut starts = false;
    for at in 0..tokens.len() {
        for seen in meanings(&tokens, at) {
            starts |= seen == Seen::ScriptStarts;
            notes.add(seen, &name(&tokens, at));
        }
    }
    let names = |wanted: &dyn Fn(&str) -> bool| tokens.iter().any(|token| matches!(token, Token::Name(name) if wanted(name)));
    let changes = names(&|name| CHANGING.contains(&name));
    let deletes = names(&|name| name == DELETING);
    for line in tokens.split(|token| *token == Token::End) {
        let texts: Vec<&str> = line.iter().filter_map(text).take(MOST_TOGETHER).collect();
        for path in paths(&texts) {
            touched(&path, changes, place, notes);
        }
        if starts {
            let together = texts.join(" ");
            let commands = texts.iter().copied().filter(|text| text.contains(' ')).chain([together.as_str()]);
            commands.for_each(|command| handed_to_a_shell(command, place, notes));
        }
        if deletes && line.iter().any(|token| *token == Token::Name(DELETING.to_owned())) {
            let targets = if texts.is_empty() { vec!["\"$1\"".to_owned()] } else { texts.iter().map(|text| quoted(text)).collect() };
            targets.iter().for_each(|target| handed_to_a_shell(&format!("rm -r {target}"), place, notes));
        }
    }
}

/// What the token at this place stands for.
fn meanings(tokens: &[Token], at: usize) -> Vec<Seen> {
    let Some(Token::Name(name)) = tokens.get(at) else { return Vec::new() };
    let mark = |at: Option<usize>| at.and_then(|at| tokens.get(at)).is_some_and(|token| *token == Token::Mark('.'));
    let owner = match tokens.get(at.wrapping_sub(2)) {
        Some(Token::Name(owner)) if mark(at.checked_sub(1)) => Some(owner.as_str()),
        _ => None,
    };
    let is_method = mark(at.checked_sub(1));
    if owner.is_some_and(|owner| HARMLESS_BEHIND.contains(&(owner, name))) {
        return Vec::new();
    }
    let mut seen = meaning(name);
    if HIDING_ALONE.contains(&name.as_str()) && !is_method {
        seen.push(Seen::ComputedCode);
    }
    let behind = BEHIND.iter().filter(|(module, member, _)| owner == Some(module) && name == member);
    seen.extend(behind.map(|(_, _, seen)| *seen));
    if name == "getattr" {
        // A name that is written down is as good as one behind a dot.
        match attribute(tokens, at) {
            Some(written) => seen.extend(meaning(written)),
            None => seen.push(Seen::ComputedCode),
        }
    }
    seen
}

fn meaning(name: &str) -> Vec<Seen> {
    let starts = STARTING.contains(&name).then_some(Seen::ScriptStarts);
    let hides = HIDING.contains(&name).then_some(Seen::ComputedCode);
    starts.into_iter().chain(hides).collect()
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

fn name(tokens: &[Token], at: usize) -> String {
    match tokens.get(at) {
        Some(Token::Name(name)) => name.clone(),
        _ => String::new(),
    }
}

/// What the texts of a line could name: each of them, and all of them as parts of one path or of one name. A path may
/// begin at the home without saying so.
fn paths(texts: &[&str]) -> Vec<String> {
    let mut paths: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    if texts.len() > 1 {
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

/// Reads a script. What is no Python is read as well as it goes: it will not run.
fn tokens(code: &str) -> Vec<Token> {
    let mut reader = Reader { rest: code, open: 0, tokens: Vec::new() };
    while reader.step().is_some() {}
    reader.tokens
}

struct Reader<'a> {
    rest: &'a str,
    /// Brackets that are open: a line that ends in them is not over.
    open: usize,
    tokens: Vec<Token>,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Option<()> {
        let first = self.rest.chars().next()?;
        match first {
            '#' => self.skip(|c| c != '\n'),
            '\\' if self.rest.starts_with("\\\n") => self.advance(2),
            '\n' | ';' => {
                self.advance(1);
                if self.open == 0 {
                    self.tokens.push(Token::End);
                }
            }
            '\'' | '"' => self.string(""),
            _ if first == '_' || first.is_alphabetic() => {
                let name = self.take(|c| c == '_' || c.is_alphanumeric());
                let is_prefix = name.len() <= 2 && name.chars().all(|c| "rRbBuUfFtT".contains(c));
                if is_prefix && self.rest.starts_with(['\'', '"']) {
                    self.string(name);
                } else {
                    // Python takes look-alike letters for the plain ones, too.
                    self.tokens.push(Token::Name(name.nfkc().collect()));
                }
            }
            _ if first.is_numeric() => self.skip(|c| c == '_' || c == '.' || c.is_alphanumeric()),
            _ if first.is_whitespace() => self.skip(|c| c.is_whitespace() && c != '\n'),
            _ => {
                match first {
                    '(' | '[' | '{' => self.open += 1,
                    ')' | ']' | '}' => self.open = self.open.saturating_sub(1),
                    _ => {}
                }
                self.advance(first.len_utf8());
                self.tokens.push(Token::Mark(first));
            }
        }
        Some(())
    }

    fn advance(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn take(&mut self, fits: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !fits(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn skip(&mut self, fits: impl Fn(char) -> bool) {
        self.take(fits);
    }

    /// A text that begins here. Expressions inside of one are code.
    fn string(&mut self, prefix: &str) {
        let quote = self.rest.get(..1).unwrap_or_default();
        let triple = quote.repeat(3);
        let end = if self.rest.starts_with(&triple) { triple.as_str() } else { quote };
        self.advance(end.len());
        let raw = prefix.contains(['r', 'R']);
        let body = self.until(end);
        if prefix.contains(['f', 'F', 't', 'T']) {
            for hole in body.split('{').skip(1) {
                let inner = tokens(hole.split('}').next().unwrap_or(hole));
                self.tokens.extend(inner);
            }
        }
        let value = if raw { body.to_owned() } else { unescaped(body) };
        self.tokens.push(Token::Text(value));
    }

    /// All before the end of a text, which is passed.
    fn until(&mut self, end: &str) -> &'a str {
        let whole = self.rest;
        let mut escaped = false;
        for (at, c) in whole.char_indices() {
            let here = whole.get(at..).unwrap_or_default();
            if !escaped && here.starts_with(end) {
                self.rest = here.get(end.len()..).unwrap_or_default();
                return whole.get(..at).unwrap_or_default();
            }
            escaped = !escaped && c == '\\';
        }
        self.rest = "";
        whole
    }
}

/// A text with its escapes as the characters they stand for.
fn unescaped(body: &str) -> String {
    let mut out = String::with_capacity(body.len());
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let Some(kind) = after.chars().next() else { break };
        let digits = match kind {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            _ => 0,
        };
        let octal: String = after.chars().take(3).take_while(|c| ('0'..='7').contains(c)).collect();
        let (code, length) = if digits > 0 {
            (after.get(1..1 + digits).and_then(|hex| u32::from_str_radix(hex, 16).ok()), 1 + digits)
        } else if !octal.is_empty() {
            (u32::from_str_radix(&octal, 8).ok(), octal.len())
        } else {
            (Some(u32::from(plain(kind))), kind.len_utf8())
        };
        if kind != '\n' {
            out.extend(code.and_then(char::from_u32));
        }
        rest = after.get(length..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn plain(kind: char) -> char {
    match kind {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        other => other,
    }
}
