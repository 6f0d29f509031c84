//! One command that would run, with everything the table of intents may ask about it.

use super::place::Place;
use super::word::{UNKNOWN, Word};

pub(super) struct Act<'a> {
    /// The name without folders, in small letters.
    pub(super) name: &'a str,
    pub(super) args: &'a [Word],
    /// The wrappers it was found in, outermost first.
    pub(super) via: &'a [&'static str],
    pub(super) background: bool,
    pub(super) stdin: Option<&'a Word>,
    pub(super) place: &'a Place,
    pub(super) cwd: Option<&'a str>,
}

impl Act<'_> {
    pub(super) fn is(&self, names: &[&str]) -> bool {
        names.contains(&self.name)
    }

    pub(super) fn was_in(&self, wrapper: &str) -> bool {
        self.via.contains(&wrapper)
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.args.iter().map(|word| word.text.as_str())
    }

    fn options(&self) -> impl Iterator<Item = &str> {
        self.texts().take_while(|text| *text != "--").filter(|text| text.starts_with('-') && text.len() > 1)
    }

    /// A short option, alone or among others.
    pub(super) fn short(&self, letter: char) -> bool {
        self.options().any(|option| !option.starts_with("--") && option.contains(letter))
    }

    /// A long option or an abbreviation of it.
    pub(super) fn long(&self, name: &str) -> bool {
        self.options().any(|option| {
            let option = option.split('=').next().unwrap_or(option);
            option.starts_with("--") && option.len() >= 4 && name.starts_with(option)
        })
    }

    pub(super) fn has(&self, text: &str) -> bool {
        self.texts().any(|found| found == text)
    }

    /// What is not an option. Everything counts after `--`.
    pub(super) fn operands(&self) -> Vec<&str> {
        let mut operands = Vec::new();
        let mut only_operands = false;
        for text in self.texts() {
            match text {
                "--" if !only_operands => only_operands = true,
                text if !only_operands && text.starts_with('-') && text.len() > 1 => {}
                text => operands.push(text),
            }
        }
        operands
    }

    /// The value of an option: the next word, or what is attached to it.
    pub(super) fn value(&self, short: &str, long: &str) -> Option<&str> {
        let mut rest = self.texts();
        while let Some(text) = rest.next() {
            if text == short || (!long.is_empty() && text == long) {
                return rest.next();
            }
            if !long.is_empty()
                && let Some(value) = text.strip_prefix(long).and_then(|value| value.strip_prefix('='))
            {
                return Some(value);
            }
            if short.len() == 2 && !text.starts_with("--") && text.len() > 2 {
                if let Some(value) = text.strip_prefix(short) {
                    return Some(value);
                }
                // A cluster such as `-sSLo file`.
                if text.starts_with('-') && text.ends_with(short.trim_start_matches('-')) {
                    return rest.next();
                }
            }
        }
        None
    }

    pub(super) fn is_vital(&self, path: &str) -> bool {
        self.place.is_vital(path, self.cwd)
    }

    /// All words as one text, for rules and excerpts.
    pub(super) fn text(&self) -> String {
        let mut text = self.name.to_owned();
        for word in self.texts() {
            text.push(' ');
            text.extend(word.chars().map(|found| if found == UNKNOWN { '…' } else { found }));
        }
        text
    }

    /// The files this command writes by its own arguments.
    pub(super) fn writes(&self) -> Vec<Word> {
        let last = |operands: Vec<&str>| operands.last().map(|last| (*last).to_owned()).into_iter().collect();
        let all = |operands: Vec<&str>| operands.into_iter().map(str::to_owned).collect();
        let without_script = |operands: Vec<&str>| operands.into_iter().skip(1).map(str::to_owned).collect();
        let paths: Vec<String> = match self.name {
            "tee" | "truncate" | "shred" | "sponge" => all(self.operands()),
            "cp" | "mv" | "install" | "ln" | "rsync" | "scp" | "link" => match self.value("-t", "--target-directory") {
                Some(folder) => vec![folder.to_owned()],
                None => self.with_files_in(last(self.operands())),
            },
            "sed" | "gsed" if self.edits_in_place() => {
                if self.short('e') || self.short('f') || self.long("--expression") {
                    all(self.operands())
                } else {
                    without_script(self.operands())
                }
            }
            "perl" | "ruby" if self.short('i') => all(self.operands()),
            "ed" | "ex" => all(self.operands()),
            "dd" => self.texts().filter_map(|text| text.strip_prefix("of=")).map(str::to_owned).collect(),
            "find" | "gfind" => {
                let named = |pair: &[Word]| match pair {
                    [how, file] if ["-fprint", "-fprintf", "-fprint0", "-fls"].contains(&how.text.as_str()) => {
                        Some(file.text.clone())
                    }
                    _ => None,
                };
                self.args.windows(2).filter_map(named).collect()
            }
            "sort" => self.value("-o", "--output").map(str::to_owned).into_iter().collect(),
            "uniq" | "split" if self.operands().len() > 1 => last(self.operands()),
            "csplit" => self.value("-f", "--prefix").map(str::to_owned).into_iter().collect(),
            "patch" => self.operands().into_iter().take(1).map(str::to_owned).collect(),
            "git" if self.has("apply") => self.value("", "--directory").map(str::to_owned).into_iter().collect(),
            "tar" | "bsdtar" => self.value("-C", "--directory").map(str::to_owned).into_iter().collect(),
            "unzip" => self.value("-d", "").map(str::to_owned).into_iter().collect(),
            "cpio" | "pax" => last(self.operands()),
            "aria2c" => self.value("-d", "--dir").map(str::to_owned).into_iter().collect(),
            "wget" if self.value("-P", "--directory-prefix").is_some() => {
                self.value("-P", "--directory-prefix").map(str::to_owned).into_iter().collect()
            }
            "sed" | "gsed" | "awk" | "gawk" | "mawk" => self.written_by_script(),
            "curl" => self.value("-o", "--output").map(str::to_owned).into_iter().collect(),
            "wget" => self.value("-O", "--output-document").map(str::to_owned).into_iter().collect(),
            _ => Vec::new(),
        };
        paths.into_iter().map(Word::literal).collect()
    }

    /// `sed -n 'w file'` and `awk '{ print > "file" }'`.
    fn written_by_script(&self) -> Vec<String> {
        let mut files = Vec::new();
        for text in self.texts() {
            if self.name.ends_with("sed") {
                let pieces = text.split([';', '\n']);
                files.extend(pieces.filter_map(|piece| piece.rsplit_once("w /")).map(|(_, file)| format!("/{file}")));
            } else {
                let targets = text.split('>').skip(1).filter_map(|rest| rest.trim_start().strip_prefix('"'));
                files.extend(targets.filter_map(|rest| rest.split('"').next()).map(str::to_owned));
            }
        }
        files
    }

    /// `cp .env ~/.hermes/` writes `~/.hermes/.env`; both names are held against the table.
    fn with_files_in(&self, targets: Vec<String>) -> Vec<String> {
        let Some(target) = targets.first().filter(|target| target.ends_with('/')).cloned() else { return targets };
        let sources = self.operands();
        let count = sources.len().saturating_sub(1);
        let files = sources.into_iter().take(count).filter_map(|source| source.rsplit('/').next());
        files.map(|file| format!("{target}{file}")).chain(targets.iter().cloned()).collect()
    }

    pub(super) fn edits_in_place(&self) -> bool {
        self.options().any(|option| {
            option.starts_with("--in-place")
                || (!option.starts_with("--") && option.contains('i') && !option.starts_with("-e"))
        })
    }
}
