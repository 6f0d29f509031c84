//! Redirects, here-documents and process substitutions: what a command reads, and the files a script leaves behind.

use super::shell::Shell;
use super::word::{Origin, Word};
use brush_parser::ast::{
    IoFileRedirectKind as Kind, IoFileRedirectTarget as Target, IoRedirect, ProcessSubstitutionKind as Direction,
    SubshellCommand,
};

/// Redirects of one command.
#[derive(Default)]
pub(super) struct Streams {
    pub(super) stdin: Option<Word>,
    pub(super) writes: Vec<Word>,
    pub(super) document: bool,
    /// The file that takes the standard output.
    pub(super) stdout: Option<Word>,
}

impl Shell<'_> {
    pub(super) fn streams<'r>(&mut self, redirects: impl IntoIterator<Item = &'r IoRedirect>) -> Streams {
        let mut streams = Streams::default();
        for redirect in redirects {
            self.notes.several();
            match redirect {
                IoRedirect::File(descriptor, kind, target) => self.file_stream(*descriptor, kind, target, &mut streams),
                IoRedirect::HereDocument(_, document) => {
                    let text = &document.doc.value;
                    let text = if document.requires_expansion { self.document(text) } else { Word::literal(text) };
                    streams.stdin = Some(text);
                    streams.document = true;
                }
                IoRedirect::HereString(_, word) => streams.stdin = Some(self.word(&word.value)),
                IoRedirect::OutputAndError(word, _) => {
                    let path = self.word(&word.value);
                    streams.stdout = Some(path.clone());
                    streams.writes.push(path);
                }
            }
        }
        self.notes.writes(&streams.writes, self.place, self.scope.cwd.as_deref());
        streams
    }

    fn file_stream(&mut self, descriptor: Option<i32>, kind: &Kind, target: &Target, streams: &mut Streams) {
        let path = match target {
            Target::Filename(word) | Target::Duplicate(word) => self.word(&word.value),
            Target::Fd(number) => Word::literal(number.to_string()),
            Target::ProcessSubstitution(kind, subshell) => self.pipe_file(kind, subshell),
        };
        match kind {
            Kind::DuplicateInput if path.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
                // Another descriptor: what comes out of it was decided elsewhere.
                if !matches!(path.text.as_str(), "0" | "1" | "2" | "-") {
                    streams.stdin = Some(Word::unknown(Origin::Local));
                }
            }
            Kind::Read | Kind::DuplicateInput => {
                if path.text.starts_with("/dev/tcp/") || path.text.starts_with("/dev/udp/") {
                    self.notes.stirs();
                }
                self.notes.reads(&path.text, self.place, self.scope.cwd.as_deref());
                let key = self.file_key(&path);
                streams.stdin = self.files.get(&key).cloned().or(streams.stdin.take());
            }
            Kind::DuplicateOutput if path.text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {}
            Kind::Write | Kind::Append | Kind::Clobber | Kind::ReadAndWrite | Kind::DuplicateOutput => {
                if descriptor.is_none_or(|descriptor| descriptor == 1) {
                    streams.stdout = Some(path.clone());
                }
                streams.writes.push(path);
            }
        }
    }

    /// A process substitution is a file whose content is the output.
    pub(super) fn pipe_file(&mut self, kind: &Direction, subshell: &SubshellCommand) -> Word {
        self.notes.several();
        let outer = self.stdin.clone();
        if matches!(kind, Direction::Write) {
            self.notes.stirs();
        }
        if matches!(kind, Direction::Write) && self.stdin.is_none() {
            // `echo … > >(sh)`: something is written to it.
            self.stdin = Some(Word::unknown(Origin::Local));
        }
        let output = self.subshell(subshell);
        self.stdin = outer;
        let path = format!("/dev/fd/{}", 63 + self.files.len());
        self.files.insert(path.clone(), output);
        Word::literal(path)
    }

    /// The name under which a file of the script is remembered.
    pub(super) fn file_key(&self, path: &Word) -> String {
        self.place.absolute(&path.text, self.scope.cwd.as_deref()).unwrap_or_else(|| path.text.clone())
    }

    pub(super) fn content(&self, path: &Word) -> Word {
        self.files.get(&self.file_key(path)).cloned().unwrap_or_else(|| Word::unknown(Origin::Local))
    }

    /// Where the output goes: into a file that is remembered, or on.
    pub(super) fn redirected(&mut self, printed: Word, streams: &Streams) -> Word {
        match &streams.stdout {
            Some(path) => {
                let key = self.file_key(path);
                self.files.insert(key, printed);
                Word::default()
            }
            None => printed,
        }
    }
}
