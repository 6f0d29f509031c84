//! Programs that run programs: shells, whose text is followed, and other languages, whose text is only noticed.

use super::intent::Seen;
use super::shell::Shell;
use super::stream::Streams;
use super::word::{Origin, Word};

pub(super) const SHELLS: [&str; 11] =
    ["sh", "bash", "dash", "zsh", "ksh", "ash", "fish", "rbash", "mksh", "csh", "tcsh"];

/// A language: its names, its options for code on the command line, and whether they may hide in a cluster (`-ne`).
struct Language {
    names: &'static [&'static str],
    code: &'static [&'static str],
    cluster: Option<char>,
    /// Options that name what runs instead of a script.
    module: &'static [&'static str],
}

static LANGUAGES: [Language; 10] = [
    Language {
        names: &["python", "python2", "python3", "pypy", "pypy3"],
        code: &["-c"],
        cluster: Some('c'),
        module: &["-m"],
    },
    Language {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        code: &["-e", "-p", "-pe", "--eval", "--print"],
        cluster: None,
        module: &["--test"],
    },
    Language {
        names: &["deno"],
        code: &["eval"],
        cluster: None,
        module: &["run", "test", "task", "fmt", "lint", "cache", "install", "check", "bench", "compile", "doc"],
    },
    Language { names: &["perl"], code: &["-e", "-E"], cluster: Some('e'), module: &[] },
    Language { names: &["ruby"], code: &["-e"], cluster: Some('e'), module: &[] },
    Language { names: &["php"], code: &["-r", "-B", "-R"], cluster: None, module: &["-S"] },
    Language {
        names: &["lua", "luajit", "osascript", "rscript", "julia", "groovy", "scala", "elixir"],
        code: &["-e", "--eval"],
        cluster: None,
        module: &[],
    },
    Language { names: &["powershell", "pwsh"], code: &["-c", "-command", "-file", "-f"], cluster: None, module: &[] },
    Language { names: &["tclsh", "guile", "sbcl"], code: &["-c", "--eval"], cluster: None, module: &[] },
    Language { names: &["r"], code: &["-e"], cluster: None, module: &["CMD"] },
];

/// Options of interpreters whose value is the next word.
const VALUES: [&str; 13] =
    ["-o", "-O", "+o", "+O", "--rcfile", "--init-file", "-X", "-W", "-I", "-r", "--require", "-M", "--import"];

const MOST_TEXTS: usize = 60;

fn language(name: &str) -> Option<&'static Language> {
    let versionless = name.trim_end_matches(|found: char| found.is_ascii_digit() || found == '.');
    LANGUAGES.iter().find(|language| {
        language.names.contains(&name) || (versionless == "python" && language.names.contains(&"python"))
    })
}

impl Shell<'_> {
    pub(super) fn interpreter(&mut self, name: &str, args: &[Word], stdin: Option<&Word>, streams: &Streams) {
        if SHELLS.contains(&name) {
            self.shell(args, stdin, streams);
        } else if let Some(language) = language(name) {
            self.language(name, language, args, stdin, streams);
        } else if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
            if args.iter().any(|word| {
                word.text.contains("system(") || word.text.contains("| getline") || word.text.contains("|getline")
            }) {
                self.notes.add(Seen::InlineCode, name);
                for word in args {
                    self.calls_out(&word.text);
                }
            }
        } else if name == "parallel" {
            self.parallel(args, stdin);
        } else if matches!(name, "make" | "gmake") {
            self.make(args);
        }
        if name == "make"
            && args.windows(2).any(|pair| matches!(pair, [flag, file] if flag.text == "-f" && file.text == "-"))
        {
            self.notes.add(Seen::Pipe, name);
        } else if matches!(name, "at" | "batch")
            && let Some(feed) = stdin
        {
            self.fed(feed, name);
        }
    }

    /// Without a command of its own, `parallel` takes every line or every argument for one.
    fn parallel(&mut self, args: &[Word], stdin: Option<&Word>) {
        let marker = args.iter().position(|word| word.text.starts_with(":::"));
        let before = args.iter().take(marker.unwrap_or(args.len()));
        if before
            .filter(|word| !word.text.starts_with('-'))
            .any(|word| !word.text.bytes().all(|byte| byte.is_ascii_digit()))
        {
            return;
        }
        match (marker, stdin) {
            (Some(marker), _) => {
                for word in args.iter().skip(marker + 1) {
                    self.code(word, "parallel");
                    self.source(&word.text);
                }
            }
            (None, Some(feed)) => self.fed(&feed.clone(), "parallel"),
            (None, None) => {}
        }
    }

    /// Variables of `make` become parts of commands.
    fn make(&mut self, args: &[Word]) {
        let values = args.iter().filter(|word| word.is_known()).filter_map(|word| word.text.split_once('='));
        let commands = values.filter(|(name, value)| !name.starts_with('-') && value.contains([' ', ';', '`', '$']));
        for (_, value) in commands {
            let scope = self.scope.clone();
            self.source(value);
            self.scope = scope;
        }
    }

    fn shell(&mut self, args: &[Word], stdin: Option<&Word>, streams: &Streams) {
        let mut rest = args;
        while let Some((word, more)) = rest.split_first() {
            let text = word.text.as_str();
            let is_option = text.starts_with('-') || text.starts_with('+');
            if is_option && !text.starts_with("--") && text.contains('c') && !VALUES.contains(&text) {
                let after = more.iter().position(|word| !word.text.starts_with('-')).unwrap_or(more.len());
                let mut given = more.iter().skip(after).cloned();
                let code = given.next().unwrap_or_default();
                self.notes.add(Seen::ShellCode, &code.plain());
                self.code(&code, "sh -c");
                let outer = self.scope.clone();
                if let Some(zero) = given.next() {
                    self.scope.variables.insert("0".into(), zero);
                }
                self.scope.arguments = Some(given.collect());
                self.source(&code.text);
                self.scope = outer;
                return;
            }
            if text == "-s" || text == "-" || text == "--" && more.is_empty() {
                break;
            }
            if !is_option {
                let key = self.file_key(word);
                if matches!(text, "/dev/stdin" | "/proc/self/fd/0" | "/dev/fd/0") {
                    break;
                }
                if let Some(content) = self.files.get(&key).cloned() {
                    self.file_runs(&content, text, more);
                } else if text.starts_with("/dev/tcp") || !word.is_known() && word.origin >= Origin::Decoded {
                    self.notes.add(Seen::RemoteCode, text);
                } else {
                    self.runs_from_disk(word);
                }
                return;
            }
            rest = if VALUES.contains(&text) { more.split_first().map_or(&[], |(_, more)| more) } else { more };
        }
        if let Some(feed) = stdin {
            if streams.document {
                self.notes.add(Seen::Document, "sh <<");
            }
            self.fed(feed, "sh");
        }
    }

    /// A shell that reads its commands from a pipe.
    pub(super) fn fed(&mut self, feed: &Word, name: &str) {
        match feed.origin {
            Origin::Remote => self.notes.add(Seen::RemotePipe, name),
            Origin::Decoded => self.notes.add(Seen::DecodedCode, name),
            Origin::Local | Origin::Literal => self.notes.add(Seen::Pipe, name),
        }
        if !feed.plain().trim().is_empty() {
            let (outer, scope) = (self.stdin.take(), self.scope.clone());
            self.source(&feed.text);
            (self.stdin, self.scope) = (outer, scope);
        }
    }

    fn language(&mut self, name: &str, language: &Language, args: &[Word], stdin: Option<&Word>, streams: &Streams) {
        let mut rest = args;
        while let Some((word, more)) = rest.split_first() {
            let text = word.text.to_lowercase();
            let text = if matches!(name, "powershell" | "pwsh") { text.as_str() } else { word.text.as_str() };
            let option = text.split('=').next().unwrap_or(text);
            let clustered = language.cluster.is_some_and(|letter| {
                text.starts_with('-') && !text.starts_with("--") && text.contains(letter) && !VALUES.contains(&text)
            });
            if language.code.contains(&option) || clustered {
                self.notes.add(Seen::InlineCode, name);
                if let Some(code) = more.first() {
                    match code.origin {
                        Origin::Remote => self.notes.add(Seen::RemoteCode, name),
                        Origin::Decoded => self.notes.add(Seen::DecodedCode, name),
                        _ => self.calls_out(&code.text),
                    }
                }
                return;
            }
            if language.module.contains(&option) {
                return;
            }
            if text == "-" || matches!(text, "/dev/stdin") {
                break;
            }
            if !text.starts_with('-') {
                let key = self.file_key(word);
                if let Some(content) = self.files.get(&key).cloned() {
                    if content.origin == Origin::Remote {
                        self.notes.add(Seen::DownloadedRun, text);
                    }
                    self.calls_out(&content.text);
                }
                return;
            }
            if matches!(text, "--version" | "-V" | "-v" | "--help" | "-h") {
                return;
            }
            rest = if VALUES.contains(&text) { more.split_first().map_or(&[], |(_, more)| more) } else { more };
        }
        let Some(feed) = stdin else { return };
        match feed.origin {
            Origin::Remote => self.notes.add(Seen::RemotePipe, name),
            Origin::Decoded => self.notes.add(Seen::DecodedCode, name),
            _ if streams.document => self.notes.add(Seen::Document, name),
            _ => self.notes.add(Seen::Pipe, name),
        }
        self.calls_out(&feed.text);
    }

    /// Texts inside code of another language that it hands to a shell: `os.system('rm -rf /')`.
    fn calls_out(&mut self, code: &str) {
        const DOORS: [&str; 7] = ["system", "exec", "popen", "subprocess", "spawn", "qx", "`"];
        const DELETING: [&str; 5] = ["rmtree", "remove_tree", "rmSync", "rm_rf", "rimraf"];
        let (opens, deletes) =
            (DOORS.iter().any(|door| code.contains(door)), DELETING.iter().any(|door| code.contains(door)));
        if !opens && !deletes {
            return;
        }
        let mut texts: Vec<String> = Vec::new();
        for quote in ['\'', '"', '`'] {
            let parts: Vec<&str> = code.split(quote).skip(1).step_by(2).take(MOST_TEXTS).collect();
            if deletes {
                texts.extend(parts.iter().filter(|path| !path.contains(' ')).map(|path| format!("rm -r '{path}'")));
            }
            // One by one, and together: `execvp("rm", ["rm", "-rf", "/"])`.
            texts.extend(parts.iter().filter(|text| text.contains(' ')).map(|text| (*text).to_owned()));
            texts.push(parts.join(" "));
        }
        let (outer, scope) = (self.stdin.take(), self.scope.clone());
        for text in texts.iter().filter(|text| super::script::read(text).is_ok()) {
            self.source(text);
        }
        (self.stdin, self.scope) = (outer, scope);
    }
}
