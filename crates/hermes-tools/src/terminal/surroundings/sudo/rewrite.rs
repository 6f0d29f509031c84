//! Finds every `sudo` that a shell would run and that reads the input of the command, and tells it to read its password
//! there.
//!
//! The text is read with the grammar of the gate, never searched. Nothing is taken away or moved: each change puts the
//! same words directly behind an unquoted `sudo` in the place of a command, where they are options of sudo and nothing
//! else. They hold no separator, no expansion and no command, so what runs is what the gate judged. Left alone is a sudo
//! whose input is a pipe, a file or nothing (it would take the data for its password) and one with opinions of its own
//! about passwords.

use crate::gate::script;
use brush_parser::ast::{
    AndOr, Command, CommandPrefixOrSuffixItem as Item, CompoundCommand, CompoundList, IoFileRedirectKind, IoRedirect,
    Pipeline, RedirectList, SeparatorOperator, SimpleCommand, Word,
};
use brush_parser::word::{self, WordPiece, WordPieceWithSource};
use std::collections::BTreeSet;

const SUDO: &str = "sudo";
const INSERTED: &str = " -S -p ''";
/// Options after which sudo asks for no password, or asks elsewhere.
const OWN_WAY: [char; 7] = ['n', 'S', 'A', 'K', 'k', 'V', 'h'];
const OWN_WAY_LONG: [&str; 7] =
    ["--non-interactive", "--stdin", "--askpass", "--remove-timestamp", "--reset-timestamp", "--version", "--help"];
/// Options whose rest, or next word, is a value.
const WITH_VALUE: [char; 11] = ['C', 'D', 'g', 'p', 'R', 'r', 't', 'T', 'U', 'u', 'a'];

pub(super) struct Rewritten {
    pub(super) command: String,
    pub(super) places: usize,
}

pub(super) fn rewrite(command: &str) -> Rewritten {
    let text: Vec<char> = command.chars().collect();
    let mut finder = Finder { text: &text, ends: BTreeSet::new() };
    finder.script(command, 0, Input::Own);
    let mut out = String::with_capacity(command.len() + finder.ends.len() * INSERTED.len());
    for (at, found) in text.iter().enumerate() {
        if finder.ends.contains(&at) {
            out.push_str(INSERTED);
        }
        out.push(*found);
    }
    if finder.ends.contains(&text.len()) {
        out.push_str(INSERTED);
    }
    Rewritten { command: out, places: finder.ends.len() }
}

/// What a command reads.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    /// What was given to the whole command.
    Own,
    Other,
}

struct Finder<'a> {
    text: &'a [char],
    /// Where the words go: behind these many characters.
    ends: BTreeSet<usize>,
}

impl Finder<'_> {
    /// A script that begins after `offset` characters of the text. What cannot be read is left alone.
    fn script(&mut self, text: &str, offset: usize, input: Input) {
        if let Ok(program) = script::read(text) {
            for list in &program.complete_commands {
                self.list(list, offset, input);
            }
        }
    }

    fn list(&mut self, list: &CompoundList, offset: usize, input: Input) {
        for item in &list.0 {
            // A shell gives commands in the background nothing to read.
            let input = if matches!(item.1, SeparatorOperator::Async) { Input::Other } else { input };
            self.pipeline(&item.0.first, offset, input);
            for next in &item.0.additional {
                let (AndOr::And(pipeline) | AndOr::Or(pipeline)) = next;
                self.pipeline(pipeline, offset, input);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, offset: usize, input: Input) {
        for (at, command) in pipeline.seq.iter().enumerate() {
            self.command(command, offset, if at == 0 { input } else { Input::Other });
        }
    }

    fn command(&mut self, command: &Command, offset: usize, input: Input) {
        match command {
            Command::Simple(simple) => self.simple(simple, offset, input),
            Command::Compound(compound, redirects) => {
                self.compound(compound, offset, behind(redirects.as_ref(), input))
            }
            Command::Function(function) => {
                self.compound(&function.body.0, offset, behind(function.body.1.as_ref(), input));
            }
            Command::ExtendedTest(..) => {}
        }
    }

    fn compound(&mut self, compound: &CompoundCommand, offset: usize, input: Input) {
        match compound {
            CompoundCommand::Arithmetic(_) => {}
            CompoundCommand::ArithmeticForClause(clause) => self.list(&clause.body.list, offset, input),
            CompoundCommand::BraceGroup(group) => self.list(&group.list, offset, input),
            CompoundCommand::Subshell(subshell) => self.list(&subshell.list, offset, input),
            CompoundCommand::ForClause(clause) => {
                for value in clause.values.iter().flatten() {
                    self.word(value, offset, input);
                }
                self.list(&clause.body.list, offset, input);
            }
            CompoundCommand::CaseClause(clause) => {
                for body in clause.cases.iter().filter_map(|case| case.cmd.as_ref()) {
                    self.list(body, offset, input);
                }
            }
            CompoundCommand::IfClause(clause) => {
                self.list(&clause.condition, offset, input);
                self.list(&clause.then, offset, input);
                for other in clause.elses.iter().flatten() {
                    if let Some(condition) = &other.condition {
                        self.list(condition, offset, input);
                    }
                    self.list(&other.body, offset, input);
                }
            }
            CompoundCommand::WhileClause(clause) | CompoundCommand::UntilClause(clause) => {
                self.list(&clause.0, offset, input);
                self.list(&clause.1.list, offset, input);
            }
            // Its input is a pipe to the shell.
            CompoundCommand::Coprocess(process) => self.command(&process.body, offset, Input::Other),
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, offset: usize, input: Input) {
        let suffix = || simple.suffix.iter().flat_map(|suffix| &suffix.0);
        let items = simple.prefix.iter().flat_map(|prefix| &prefix.0).chain(suffix());
        let mut own_input = input;
        for item in items {
            match item {
                Item::IoRedirect(redirect) if feeds(redirect) => own_input = Input::Other,
                Item::AssignmentWord(_, word) | Item::Word(word) => self.word(word, offset, input),
                Item::IoRedirect(_) | Item::ProcessSubstitution(..) => {}
            }
        }
        let Some(name) = &simple.word_or_name else { return };
        self.word(name, offset, input);
        let arguments = suffix().filter_map(|item| match item {
            Item::Word(word) | Item::AssignmentWord(_, word) => Some(word.value.as_str()),
            Item::IoRedirect(_) | Item::ProcessSubstitution(..) => None,
        });
        if name.value == SUDO && own_input == Input::Own && !goes_its_own_way(arguments) {
            self.mark(name, offset);
        }
    }

    /// The text has the last word on where the word stands: a place that cannot be confirmed is not changed.
    fn mark(&mut self, name: &Word, offset: usize) {
        let Some(span) = &name.loc else { return };
        let start = offset + span.start.index;
        let end = start + SUDO.len();
        let is_there = self.text.get(start..end).is_some_and(|found| found.iter().copied().eq(SUDO.chars()));
        let before = start.checked_sub(1).and_then(|at| self.text.get(at));
        let ends =
            |found: Option<&char>| found.is_none_or(|found| found.is_whitespace() || ";&|(){}<>`\n".contains(*found));
        if is_there && ends(before) && ends(self.text.get(end)) {
            self.ends.insert(end);
        }
    }

    /// Commands in `$(…)` read what the command around them reads.
    fn word(&mut self, word: &Word, offset: usize, input: Input) {
        let Some(span) = &word.loc else { return };
        if let Ok(pieces) = word::parse(&word.value, &script::options()) {
            self.pieces(&pieces, &word.value, offset + span.start.index, input);
        }
    }

    fn pieces(&mut self, pieces: &[WordPieceWithSource], value: &str, offset: usize, input: Input) {
        for piece in pieces {
            match &piece.piece {
                WordPiece::DoubleQuotedSequence(inner) | WordPiece::GettextDoubleQuotedSequence(inner) => {
                    self.pieces(inner, value, offset, input);
                }
                WordPiece::CommandSubstitution(text) => {
                    let before = value.get(..piece.start_index).map(|before| before.chars().count());
                    let inside = value.get(piece.start_index..).and_then(|rest| rest.strip_prefix("$("));
                    if let (Some(before), Some(inside)) = (before, inside)
                        && inside.starts_with(text.as_str())
                    {
                        self.script(text, offset + before + "$(".len(), input);
                    }
                }
                _ => {}
            }
        }
    }
}

/// What the commands of a block read behind these redirections.
fn behind(redirects: Option<&RedirectList>, input: Input) -> Input {
    if redirects.is_some_and(|list| list.0.iter().any(feeds)) { Input::Other } else { input }
}

/// Whether it replaces the standard input.
fn feeds(redirect: &IoRedirect) -> bool {
    let is_input = |descriptor: &Option<i32>| descriptor.is_none_or(|number| number == 0);
    match redirect {
        IoRedirect::File(descriptor, kind, _) => match kind {
            IoFileRedirectKind::Read | IoFileRedirectKind::ReadAndWrite | IoFileRedirectKind::DuplicateInput => {
                is_input(descriptor)
            }
            _ => *descriptor == Some(0),
        },
        IoRedirect::HereDocument(descriptor, _) => is_input(descriptor),
        IoRedirect::HereString(descriptor, _) => is_input(descriptor),
        IoRedirect::OutputAndError(..) => false,
    }
}

/// Whether the options in front of the command of sudo already say something about passwords.
fn goes_its_own_way<'a>(arguments: impl Iterator<Item = &'a str>) -> bool {
    let mut is_value = false;
    for word in arguments {
        if std::mem::take(&mut is_value) {
            continue;
        }
        if word == "--" || !word.starts_with('-') {
            return false;
        }
        if word.starts_with("--") {
            if OWN_WAY_LONG.contains(&word) {
                return true;
            }
            continue;
        }
        for (at, letter) in word.chars().enumerate().skip(1) {
            if WITH_VALUE.contains(&letter) {
                is_value = at + 1 == word.chars().count();
                break;
            }
            if OWN_WAY.contains(&letter) {
                return true;
            }
        }
    }
    false
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test reports what it did not expect")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_a_sudo_that_runs_and_reads_the_input_is_changed() {
        let changed = [
            ("sudo apt update", "sudo -S -p '' apt update"),
            ("sudo", "sudo -S -p ''"),
            ("X=1 sudo id; sudo -u nina id", "X=1 sudo -S -p '' id; sudo -S -p '' -u nina id"),
            ("cd /x && sudo make install || sudo true", "cd /x && sudo -S -p '' make install || sudo -S -p '' true"),
            ("if sudo true; then (sudo id); fi", "if sudo -S -p '' true; then (sudo -S -p '' id); fi"),
            ("sudo cat x | grep y", "sudo -S -p '' cat x | grep y"),
            ("echo \"ü $(sudo id -u)\"", "echo \"ü $(sudo -S -p '' id -u)\""),
            ("größe=1\nsudo id # sudo", "größe=1\nsudo -S -p '' id # sudo"),
            ("f() { sudo id; }; f", "f() { sudo -S -p '' id; }; f"),
            ("sudo tee x > y 2>&1", "sudo -S -p '' tee x > y 2>&1"),
        ];
        for (command, expected) in changed {
            assert_eq!(rewrite(command).command, expected);
        }
    }

    #[test]
    fn a_sudo_that_is_text_or_reads_something_else_is_left_alone() {
        let kept = [
            "echo sudo",
            "echo 'sudo id'",
            "grep \"sudo id\" x",
            "# sudo id",
            "'sudo' id",
            "s\\udo id",
            "echo x | sudo tee /etc/x",
            "sudo tee x < y",
            "sudo tee x <<E\nsudo\nE",
            "sudo tee x <<< y",
            "sudo sleep 5 &",
            "sudo -n true",
            "sudo -Sk id",
            "sudo --askpass id",
            "while read x; do sudo rm $x; done < list",
            "cat <<E\nsudo id\nE",
            "echo \"unfinished; sudo id",
        ];
        for command in kept {
            let rewritten = rewrite(command);
            assert_eq!((rewritten.command.as_str(), rewritten.places), (command, 0));
        }
    }

    fn pieces() -> impl Strategy<Value = String> {
        let piece = prop::sample::select(vec![
            "sudo",
            " ",
            "id",
            ";",
            "&&",
            "|",
            "&",
            "(",
            ")",
            "$(",
            "`",
            "'",
            "\"",
            "\n",
            "#",
            "<<E\n",
            "\nE\n",
            "{ ",
            "; }",
            "if ",
            "then ",
            "fi",
            "X=1 ",
            "-u",
            "-n",
            "ü",
            "\\",
            "$",
            "<",
            ">",
            "case x in x) ",
            ";; esac",
            "\\\n",
            "\t",
        ]);
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn the_rewrite_differs_only_by_the_inserted_words(command in pieces()) {
            let rewritten = rewrite(&command);
            // No piece makes these words by itself, so taking them away must give the original back.
            prop_assert_eq!(rewritten.command.replace(INSERTED, ""), command);
            prop_assert_eq!(rewritten.command.matches("sudo -S -p ''").count(), rewritten.places);
        }
    }
}
