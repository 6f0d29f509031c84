//! Commands that are found by looking at pieces of a text, where it cannot be read as a script: it is broken, or it is
//! written for a program that takes commands in its own way.

use super::shell::Shell;
use super::stream::Streams;
use super::word::Word;

const MOST_FRAGMENTS: usize = 400;
/// Stands in place of a wrapper where a command was only found by looking at pieces.
pub(super) const FRAGMENT: &str = "fragment";

impl Shell<'_> {
    /// A text that cannot be read is still searched, piece by piece: consent to it must not carry a hardline command.
    pub(super) fn fragments(&mut self, text: &str) {
        const ENDS: [char; 12] = [';', '&', '|', '\n', '(', ')', '{', '}', '`', '"', '\'', '$'];
        let words = ["do", "then", "else", "!", "in"];
        for piece in text.split(ENDS).take(MOST_FRAGMENTS) {
            let piece = piece.split_whitespace().map(Word::literal);
            let piece: Vec<Word> = piece.skip_while(|word| words.contains(&word.text.as_str())).collect();
            self.run(piece, &Streams::default(), &[FRAGMENT]);
        }
    }

    /// Words of a program that runs commands out of its own options: `ProxyCommand=rm -rf ~`, `:!reboot`. Each program
    /// writes them in another way, so every piece is looked at.
    pub(super) fn hidden(&mut self, words: &[Word], stdin: Option<&Word>) {
        const ENDS: [char; 17] =
            ['=', ':', '!', '%', '|', ';', '&', '(', ')', '{', '}', '`', '"', '\'', '$', ',', '\n'];
        let texts = words.iter().chain(stdin).map(|word| word.text.as_str());
        for piece in texts.flat_map(|text| text.split(ENDS)).take(MOST_FRAGMENTS) {
            let mut piece: Vec<Word> = piece.split_whitespace().map(Word::literal).collect();
            let is_verb = |word: &Word| ["shell", ".shell", ".system", "system"].contains(&word.text.as_str());
            // A line of a crontab begins with its times.
            let times = piece.iter().take_while(|word| word.text.bytes().all(|byte| b"0123456789*/-".contains(&byte)));
            let times = times.count();
            piece.drain(..times);
            if piece.first().is_some_and(is_verb) {
                piece.remove(0);
            }
            if piece.first().is_some_and(|word| !word.text.starts_with('-')) {
                self.run(piece, &Streams::default(), &[FRAGMENT]);
            }
        }
    }
}
