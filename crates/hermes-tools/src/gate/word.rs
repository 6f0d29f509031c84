//! Text as far as it can be known without running anything, and where it came from.

/// Stands for a part that only running would show. It never occurs in a command: [`super::text`] removes it.
pub(super) const UNKNOWN: char = '\u{f8ff}';

/// Where text came from, the least trusted last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(super) enum Origin {
    /// Written in the command itself.
    #[default]
    Literal,
    /// Printed by a local command, or a variable from outside.
    Local,
    /// The output of something that decodes or scrambles.
    Decoded,
    /// Fetched from another machine.
    Remote,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) origin: Origin,
}

impl Word {
    pub(super) fn literal(text: impl Into<String>) -> Self {
        Self { text: text.into(), origin: Origin::Literal }
    }

    pub(super) fn unknown(origin: Origin) -> Self {
        Self { text: UNKNOWN.into(), origin: origin.max(Origin::Local) }
    }

    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(UNKNOWN)
    }

    /// The text if everything unknown in it were empty.
    pub(super) fn plain(&self) -> String {
        self.text.replace(UNKNOWN, "")
    }

    pub(super) fn push(&mut self, other: &Self) {
        self.text.push_str(&other.text);
        self.origin = self.origin.max(other.origin);
    }
}

/// Several words as one text, as `eval` and `echo` join them.
pub(super) fn joined(words: &[Word]) -> Word {
    let mut whole = Word::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            whole.text.push(' ');
        }
        whole.push(word);
    }
    whole
}

/// Fields while a word is being expanded: quoted parts stay together, unquoted expansions break at blanks.
#[derive(Default)]
pub(super) struct Fields {
    done: Vec<Word>,
    open: Option<Word>,
}

impl Fields {
    pub(super) fn keep(&mut self, part: &Word) {
        self.open.get_or_insert_default().push(part);
    }

    pub(super) fn split(&mut self, part: &Word, separators: &[char]) {
        let mut rest = part.text.as_str();
        while let Some(at) = rest.find(separators) {
            let (head, tail) = rest.split_at(at);
            if !head.is_empty() {
                self.keep(&Word { text: head.into(), origin: part.origin });
            }
            self.close();
            rest = tail.trim_start_matches(separators);
        }
        if !rest.is_empty() {
            self.keep(&Word { text: rest.into(), origin: part.origin });
        }
    }

    /// Each value a word of its own; the first and the last grow together with what stands beside them.
    pub(super) fn keep_apart(&mut self, values: &[Word]) {
        for (at, value) in values.iter().enumerate() {
            if at > 0 {
                self.close();
            }
            self.keep(value);
        }
    }

    pub(super) fn close(&mut self) {
        self.done.extend(self.open.take());
    }

    pub(super) fn finish(mut self) -> Vec<Word> {
        self.close();
        self.done
    }
}
