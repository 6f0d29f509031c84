//! What one command does: functions and aliases, builtins that change the state, wrappers, and the table of intents.

use super::act::Act;
use super::fragment::FRAGMENT;
use super::intent::{NOTABLE, Seen, hides_code};
use super::pattern;
use super::shell::Shell;
use super::stream::Streams;
use super::word::{Origin, UNKNOWN, Word, joined};
use super::wrapper::{self, Inner};

/// Builtins that take words for names of variables.
const TAKES_NAMES: [&str; 10] = ["test", "[", "printf", "unset", "read", "declare", "typeset", "local", "let", "wait"];

impl Shell<'_> {
    pub(super) fn act(&mut self, words: Vec<Word>, streams: &Streams) -> Word {
        self.run(words, streams, &[])
    }

    pub(super) fn run(&mut self, mut words: Vec<Word>, streams: &Streams, via: &[&'static str]) -> Word {
        if words.is_empty() || !self.may_go_on() {
            return Word::default();
        }
        let head = words.remove(0);
        let args = words;
        // `$VENV/bin/python` is python, wherever it lies.
        let base = head.text.rsplit('/').next().unwrap_or_default();
        if base.contains(UNKNOWN) {
            self.notes.add(Seen::UnknownCommand, &joined(&args).plain());
        }
        if head.plain().is_empty() {
            // An unset variable or an empty "$@" leaves the next word in its place: `$SUDO rm`.
            return self.run(args, streams, via);
        }
        let name = self.name_of(&head);
        if !is_of_the_system(&head.text, &name) {
            self.notes.stirs();
        }
        if via.is_empty() {
            // Aliases come first: bash puts them in place before it looks for anything else.
            if let Some(text) = self.scope.aliases.remove(&head.text) {
                // A rule for `ls` is for the program, not for what somebody gave its name to.
                self.notes.several();
                let printed = self.source(&format!("{text} {}", self.behind_alias(&text, &args)));
                self.scope.aliases.insert(head.text, text);
                return printed;
            }
            if let Some(body) = self.function(&head.text) {
                self.notes.several();
                return self.call(&head.text, &body, Some(args));
            }
        }
        let stdin = streams.stdin.clone().or_else(|| self.stdin.clone());
        let act = Act {
            name: &name,
            args: &args,
            via,
            background: self.position.background,
            stdin: stdin.as_ref(),
            place: self.place,
            cwd: self.scope.cwd.as_deref(),
        };
        self.notes.act(&act);
        let written = act.writes();
        let hides = !via.contains(&FRAGMENT) && hides_code(&act);
        self.notes.writes(&written, self.place, self.scope.cwd.as_deref());
        if hides {
            self.hidden(&args, stdin.as_ref());
        }
        self.script_file(&head, &args);
        if TAKES_NAMES.contains(&name.as_str()) {
            args.iter().for_each(|word| self.subscript(word));
        }
        if let Some(printed) = self.builtin(&name, &args, stdin.as_ref()) {
            return printed;
        }
        self.interpreter(&name, &args, stdin.as_ref(), streams);
        let outer = self.scope.cwd.clone();
        self.enter(&name, &args);
        let mut printed = None;
        for inner in wrapper::unwrap(&name, &args) {
            printed = Some(self.found_inside(inner, &args, streams, via));
        }
        // `builtin cd` moves this very shell.
        if !matches!(name.as_str(), "builtin" | "command") {
            self.scope.cwd = outer;
        }
        if printed.is_none() && matches!(name.as_str(), "ssh" | "su" | "sudo" | "chroot" | "nsenter") {
            let feed = streams.stdin.clone().or_else(|| self.stdin.clone());
            if let Some(feed) = feed {
                self.fed(&feed, &name);
            }
        }
        let own = self.prints(&name, &args, stdin.as_ref());
        match printed {
            // What ssh prints comes from elsewhere, whatever ran there.
            Some(inner) if own.origin == Origin::Remote => Word { text: inner.text, origin: Origin::Remote },
            Some(inner) => inner,
            None => own,
        }
    }

    /// `env X=rm -C /` and `sudo -D /` run what follows with other variables and in another folder.
    fn enter(&mut self, name: &str, args: &[Word]) {
        for word in args.iter().take_while(|word| word.text.starts_with('-') || word.text.contains('=')) {
            if let Some((variable, value)) =
                word.text.split_once('=').filter(|(variable, _)| !variable.starts_with('-'))
                && matches!(name, "env" | "sudo" | "doas")
            {
                let value = Word { text: value.to_owned(), origin: word.origin };
                self.set(variable.to_owned(), value);
            }
        }
        let (short, long) = match name {
            "env" => ("-C", "--chdir"),
            "sudo" => ("-D", "--chdir"),
            _ => return,
        };
        let mut rest = args.iter().take_while(|word| word.text.starts_with('-') || word.text.contains('='));
        let at = rest.position(|word| word.text == short || word.text.starts_with(long));
        let folder = at.and_then(|at| {
            let attached = args.get(at).and_then(|word| word.text.split_once('=')).map(|(_, folder)| folder.to_owned());
            attached.or_else(|| args.get(at + 1).map(|word| word.text.clone()))
        });
        if let Some(folder) = folder {
            self.scope.cwd = self.place.absolute(&folder, self.scope.cwd.as_deref());
        }
    }

    /// What xargs makes of its input: in place of the marker of `-I`, or behind the other words.
    fn with_input(&self, words: &mut Vec<Word>, args: &[Word]) {
        if args.iter().any(|word| word.text == "--pipe") {
            return;
        }
        let input = self.stdin.clone().unwrap_or_else(|| Word::unknown(Origin::Local));
        let input = Word { text: input.text.trim().to_owned(), origin: input.origin };
        let marker = args.iter().enumerate().find_map(|(at, word)| match word.text.strip_prefix("-I") {
            Some("") => args.get(at + 1).map(|next| next.text.clone()),
            Some(attached) => Some(attached.to_owned()),
            None => None,
        });
        match marker.filter(|marker| !marker.is_empty()) {
            Some(marker) => {
                for word in words.iter_mut().filter(|word| word.text.contains(&marker)) {
                    *word =
                        Word { text: word.text.replace(&marker, &input.text), origin: word.origin.max(input.origin) };
                }
            }
            // With `-0` blanks end nothing.
            None if input.is_known() && args.iter().any(|word| matches!(word.text.as_str(), "-0" | "--null")) => {
                let parts = input.text.split('\0').filter(|part| !part.is_empty());
                words.extend(parts.map(|part| Word { text: part.to_owned(), origin: input.origin }));
            }
            None if input.is_known() => words
                .extend(input.text.split_whitespace().map(|text| Word { text: text.to_owned(), origin: input.origin })),
            None => words.push(input),
        }
    }

    fn found_inside(&mut self, inner: Inner, args: &[Word], streams: &Streams, via: &[&'static str]) -> Word {
        match inner {
            Inner::Words { wrapper, mut words } => {
                if matches!(wrapper, "xargs" | "parallel") {
                    self.with_input(&mut words, args);
                }
                let mut path = via.to_vec();
                path.push(wrapper);
                self.run(words, streams, &path)
            }
            Inner::Code { wrapper, text } => {
                self.code(&text, wrapper);
                let stdin = self.stdin.clone();
                let printed = self.source(&text.text);
                self.stdin = stdin;
                printed
            }
        }
    }

    /// The words after an alias. One that ends with a blank has the next word looked up too.
    fn behind_alias(&self, text: &str, args: &[Word]) -> String {
        let next = args.first().and_then(|next| self.scope.aliases.get(&next.text));
        match next.filter(|_| text.ends_with([' ', '\t'])) {
            Some(next) => format!("{next} {}", quoted(args.get(1..).unwrap_or_default())),
            None => quoted(args),
        }
    }

    /// Text that is given to a shell: where it comes from decides whether it can be trusted at all.
    pub(super) fn code(&mut self, text: &Word, through: &str) {
        match text.origin {
            Origin::Remote => self.notes.add(Seen::RemoteCode, through),
            Origin::Decoded => self.notes.add(Seen::DecodedCode, through),
            _ if !text.is_known() => self.notes.add(Seen::ComputedCode, &text.plain()),
            _ => {}
        }
    }

    /// The name of a command without folders. A pattern is the first dangerous name it can stand for.
    fn name_of(&mut self, head: &Word) -> String {
        let plain = head.plain();
        let base = plain.rsplit(['/', '\\']).next().unwrap_or(&plain).to_lowercase();
        let base = base.strip_suffix(".exe").unwrap_or(&base);
        if pattern::has_glob(base) && base != "[" && base != "[[" {
            self.notes.add(Seen::UnknownCommand, &plain);
            if let Some(name) = NOTABLE.iter().find(|name| pattern::matches(base, name)) {
                return (*name).to_owned();
            }
        }
        let mixed = base.chars().any(|found| !found.is_ascii() && found.is_alphabetic() && found != UNKNOWN)
            && base.chars().any(|found| found.is_ascii_alphabetic());
        if mixed {
            self.notes.add(Seen::LookAlike, base);
        }
        base.to_owned()
    }

    /// A program of the script's own making that is started by its path.
    fn script_file(&mut self, head: &Word, args: &[Word]) {
        if !head.text.contains('/') {
            return;
        }
        let key = self.file_key(head);
        if self.executable.contains(&key) {
            self.notes.add(Seen::MadeExecutable, &head.text);
        }
        match self.files.get(&key).cloned() {
            Some(content) => self.file_runs(&content, &head.text, args),
            None => self.runs_from_disk(head),
        }
    }

    /// A script that lies there already: who may look at files looks into it.
    pub(super) fn runs_from_disk(&mut self, file: &Word) {
        let path = self.place.absolute(&file.text, self.scope.cwd.as_deref());
        if let Some(path) = path.filter(|_| file.is_known()) {
            self.notes.runs_script(path);
        }
    }

    pub(super) fn file_runs(&mut self, content: &Word, path: &str, args: &[Word]) {
        if content.origin == Origin::Remote {
            self.notes.add(Seen::DownloadedRun, path);
        } else {
            self.code(content, path);
        }
        if !content.is_known() {
            return;
        }
        let first = content.text.lines().next().unwrap_or_default();
        if !first.starts_with("#!") || first.contains("sh") {
            let outer = self.scope.clone();
            self.scope.arguments = Some(args.to_vec());
            self.source(&content.text);
            self.scope = outer;
        }
    }
}

/// `ls` and `/bin/ls`; `./ls` can be anything.
fn is_of_the_system(head: &str, name: &str) -> bool {
    let folders = ["", "/bin/", "/usr/bin/"];
    folders.iter().any(|folder| head.strip_prefix(folder) == Some(name))
}

/// Words as a shell would have to be given them to read the same words.
fn quoted(words: &[Word]) -> String {
    words.iter().map(|word| format!("'{}'", word.text.replace('\'', "'\\''"))).collect::<Vec<_>>().join(" ")
}
