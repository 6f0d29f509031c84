//! What commands print, where that can be foreseen, and where it comes from where it cannot.

use super::act::Act;
use super::pattern;
use super::shell::Shell;
use super::word::{Origin, Word, joined};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

const FETCHERS: [&str; 14] =
    ["curl", "wget", "fetch", "http", "https", "xh", "aria2c", "lynx", "w3m", "nc", "ncat", "telnet", "ftp", "ssh"];
const DECODERS: [&str; 8] = ["base64", "base32", "base16", "basenc", "xxd", "openssl", "uudecode", "gpg"];
const SCRAMBLERS: [&str; 3] = ["tr", "rev", "rot13"];

impl Shell<'_> {
    /// The output of a command, and the files it leaves behind.
    pub(super) fn prints(&mut self, name: &str, args: &[Word], stdin: Option<&Word>) -> Word {
        let given = stdin.map_or(Origin::Literal, |stdin| stdin.origin);
        match name {
            "echo" => echo(args),
            "printf" => printf(args),
            "pwd" => self.variable("PWD"),
            ":" => Word::default(),
            "realpath" | "readlink" | "dirname" => {
                let path = args.last().filter(|word| word.is_known());
                let whole = path.and_then(|path| self.place.absolute(&path.text, self.scope.cwd.as_deref()));
                let whole = match whole.filter(|_| name == "dirname") {
                    Some(file) => file.rsplit_once('/').map(|(folder, _)| format!("{folder}/")),
                    None => path.and_then(|path| self.place.absolute(&path.text, self.scope.cwd.as_deref())),
                };
                whole.map_or_else(|| Word::unknown(given.max(Origin::Local)), Word::literal)
            }
            "which" | "type" => args.last().cloned().unwrap_or_default(),
            "command" => args.iter().find(|word| !word.text.starts_with('-')).cloned().unwrap_or_default(),
            "cat" | "head" | "tail" | "nl" => match args.iter().find(|word| !word.text.starts_with('-')) {
                Some(file) => self.content(file),
                None => stdin.cloned().unwrap_or_default(),
            },
            "tee" => {
                let text = stdin.cloned().unwrap_or_default();
                for file in args.iter().filter(|word| !word.text.starts_with('-')) {
                    let key = self.file_key(file);
                    self.files.insert(key, text.clone());
                }
                text
            }
            "dd" => {
                let text = stdin.cloned().unwrap_or_else(|| Word::unknown(Origin::Local));
                let Some(file) = args.iter().find_map(|word| word.text.strip_prefix("of=")) else { return text };
                let key = self.file_key(&Word::literal(file));
                self.files.insert(key, text);
                Word::default()
            }
            "chmod" => {
                let makes = args.iter().any(|word| word.text.contains("+x") || is_executable_mode(&word.text));
                for file in args.iter().skip(1).filter(|_| makes) {
                    let key = self.file_key(file);
                    self.executable.insert(key);
                }
                Word::default()
            }
            "cp" | "mv" | "ln" | "install" => {
                let operands: Vec<&Word> = args.iter().filter(|word| !word.text.starts_with('-')).collect();
                if let [from, to] = operands.as_slice() {
                    let (from, to) = (self.file_key(from), self.file_key(to));
                    if let Some(content) = self.files.get(&from).cloned() {
                        self.files.insert(to.clone(), content);
                    }
                    if self.executable.contains(&from) {
                        self.executable.insert(to);
                    }
                }
                Word::default()
            }
            "curl" | "wget" => self.fetch(name, args),
            name if FETCHERS.contains(&name) => Word::unknown(Origin::Remote),
            name if DECODERS.contains(&name) => {
                let decodes = args.iter().any(|word| {
                    matches!(
                        word.text.as_str(),
                        "-d" | "-D" | "--decode" | "-r" | "-di" | "-id" | "-rp" | "-p" | "-A" | "--decrypt"
                    )
                });
                if name == "base64"
                    && decodes
                    && let Some(text) = stdin.filter(|stdin| stdin.is_known()).and_then(|stdin| decoded(&stdin.text))
                {
                    return Word { text, origin: given.max(Origin::Decoded) };
                }
                Word::unknown(given.max(if decodes || name == "uudecode" { Origin::Decoded } else { Origin::Local }))
            }
            name if SCRAMBLERS.contains(&name) => Word::unknown(given.max(Origin::Decoded)),
            _ => Word::unknown(given.max(Origin::Local)),
        }
    }

    /// A download leaves a file, or prints.
    fn fetch(&mut self, name: &str, args: &[Word]) -> Word {
        let act = Act { name, args, via: &[], background: false, stdin: None, place: self.place, cwd: None };
        let named = act.writes().into_iter().next().filter(|file| file.text != "-");
        let after_url = act
            .texts()
            .find(|text| text.contains("://"))
            .or_else(|| act.operands().last().copied())
            .and_then(|url| url.split(['?', '#']).next())
            .and_then(|url| url.rsplit('/').next())
            .map(Word::literal);
        let prints = name == "wget"
            && (act.value("-O", "--output-document") == Some("-")
                || act.texts().any(|text| text.starts_with('-') && text.ends_with("O-")));
        let keeps = if name == "wget" { !prints } else { act.short('O') || act.long("--remote-name") };
        let Some(file) = named.or(after_url.filter(|_| keeps)) else { return Word::unknown(Origin::Remote) };
        let key = self.file_key(&file);
        self.files.insert(key, Word::unknown(Origin::Remote));
        Word::default()
    }
}

fn decoded(text: &str) -> Option<String> {
    let packed: String = text.chars().filter(|found| !found.is_whitespace()).collect();
    STANDARD.decode(packed).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

fn is_executable_mode(text: &str) -> bool {
    text.len() >= 3 && text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte % 2 == 1)
}

fn echo(args: &[Word]) -> Word {
    let flags = args.iter().take_while(|word| matches!(word.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en")).count();
    let escapes = args.iter().take(flags).any(|word| word.text.contains('e'));
    let mut text = joined(args.get(flags..).unwrap_or_default());
    if escapes {
        text.text = pattern::unescaped(&text.text);
    }
    text.text.push('\n');
    text
}

/// `%s` and `%b` take the arguments in turn; other directives are unknown.
fn printf(args: &[Word]) -> Word {
    let args = match args.first() {
        Some(first) if first.text == "--" => args.get(1..).unwrap_or_default(),
        Some(first) if first.text == "-v" => return Word::default(),
        _ => args,
    };
    let Some((format, values)) = args.split_first() else { return Word::default() };
    let mut out = Word { text: String::new(), origin: format.origin };
    let mut values = values.iter().peekable();
    loop {
        let had = values.len();
        let mut rest = format.text.chars();
        let mut literal = String::new();
        while let Some(found) = rest.next() {
            if found != '%' {
                literal.push(found);
                continue;
            }
            out.text.push_str(&pattern::unescaped(&std::mem::take(&mut literal)));
            match rest.next() {
                Some('%') => out.text.push('%'),
                Some('s' | 'q' | 'd') => out.push(&values.next().cloned().unwrap_or_default()),
                Some('b') => {
                    let value = values.next().cloned().unwrap_or_default();
                    out.push(&Word { text: pattern::unescaped(&value.text), origin: value.origin });
                }
                _ => return Word::unknown(Origin::Decoded),
            }
        }
        out.text.push_str(&pattern::unescaped(&literal));
        if values.len() == had || values.peek().is_none() || out.text.len() > 10_000 {
            return out;
        }
    }
}
