//! Questions to the person at the terminal. Without a terminal there is nobody to ask, so each command says instead what
//! to type. A prompt runs beside the runtime; Ctrl-C and Esc leave the command.

use super::Trouble;
use inquire::{Confirm, InquireError, Password, PasswordDisplayMode, Select, Text};
use std::fmt;
use std::io::IsTerminal;

const PAGE: usize = 14;

/// Proof that somebody is there to answer.
#[derive(Clone, Copy)]
pub(super) struct Person(());

/// One option of a list.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// As it stands in the list.
    pub(super) shown: String,
    /// What remains on the screen once it is chosen.
    pub(super) answer: String,
    /// Further words it is found by; `None` for the way out, which is always there.
    pub(super) found_by: Option<String>,
}

impl Line {
    pub(super) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { shown: text.clone(), answer: text, found_by: Some(String::new()) }
    }

    fn fits(&self, typed: &str) -> bool {
        let Some(words) = &self.found_by else { return true };
        let text = format!("{} {words}", self.shown).to_lowercase();
        typed.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Person {
    /// The prompts are read from standard input and drawn on standard error.
    pub(super) fn present() -> Option<Self> {
        (std::io::stdin().is_terminal() && std::io::stderr().is_terminal()).then_some(Self(()))
    }

    /// One of the options, by its place.
    pub(super) async fn choose(self, question: &str, options: Vec<Line>, start: usize) -> Result<usize, Trouble> {
        let question = question.to_owned();
        let start = start.min(options.len().saturating_sub(1));
        ask(move || {
            let prompt = Select::new(&question, options).with_page_size(PAGE).with_starting_cursor(start);
            let prompt = prompt.with_scorer(&|typed, line, _, _| line.fits(typed).then_some(0));
            let prompt = prompt.with_formatter(&|chosen| chosen.value.answer.clone());
            let prompt = prompt.with_help_message("type to search, ↑↓ to move, enter to choose, esc to leave");
            prompt.raw_prompt().map(|chosen| chosen.index)
        })
        .await
    }

    /// Yes or no; Enter alone is no.
    pub(super) async fn confirm(self, question: &str) -> Result<bool, Trouble> {
        let question = question.to_owned();
        ask(move || {
            let prompt = Confirm::new(&question).with_default(false);
            let prompt = prompt.with_default_value_formatter(&|_| "y/N".into());
            prompt.with_error_message("y is yes; n or Enter is no").prompt()
        })
        .await
    }

    /// Something that must not appear on the screen.
    pub(super) async fn secret(self, question: &str, help: &str) -> Result<String, Trouble> {
        let (question, help) = (question.to_owned(), help.to_owned());
        ask(move || hidden(&question, &help)).await
    }

    /// The same for a command that needs no runtime.
    pub(super) fn secret_now(self, question: &str, help: &str) -> Result<String, Trouble> {
        hidden(question, help).map_err(unanswered)
    }

    pub(super) async fn line(self, question: &str, help: &str, initial: &str) -> Result<String, Trouble> {
        let (question, help, initial) = (question.to_owned(), help.to_owned(), initial.to_owned());
        let answer = ask(move || Text::new(&question).with_help_message(&help).with_initial_value(&initial).prompt());
        answer.await.map(|text| text.trim().to_owned())
    }
}

fn hidden(question: &str, help: &str) -> Result<String, InquireError> {
    let prompt = Password::new(question).without_confirmation().with_display_mode(PasswordDisplayMode::Hidden);
    let prompt = prompt.with_formatter(&|typed| if typed.is_empty() { "none".into() } else { "********".into() });
    prompt.with_help_message(help).prompt()
}

fn unanswered(error: InquireError) -> Trouble {
    match error {
        InquireError::OperationCanceled | InquireError::OperationInterrupted => Trouble::Interrupted,
        other => failed(&other),
    }
}

fn failed(reason: &dyn fmt::Display) -> Trouble {
    Trouble::Refused(format!("the terminal could not be asked: {reason}"))
}

async fn ask<T: Send + 'static>(
    prompt: impl FnOnce() -> Result<T, InquireError> + Send + 'static,
) -> Result<T, Trouble> {
    match tokio::task::spawn_blocking(prompt).await {
        Ok(answer) => answer.map_err(unanswered),
        Err(error) => Err(failed(&error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_by_every_word_typed_and_the_way_out_always() {
        let line = Line { found_by: Some("claude claude-code".into()), ..Line::plain("○ Anthropic  needs a key") };
        let way_out = Line { found_by: None, ..Line::plain("another one") };
        let table = [("", true), ("CLAUDE", true), ("anth key", true), ("anth login", false)];
        for (typed, found) in table {
            assert_eq!((line.fits(typed), way_out.fits(typed)), (found, true), "{typed}");
        }
    }

    #[test]
    fn leaving_a_question_is_no_answer_to_it() {
        for left in [InquireError::OperationInterrupted, InquireError::OperationCanceled] {
            let trouble = unanswered(left);
            assert_eq!(trouble.exit(), crate::commands::Exit::Interrupted);
            assert_eq!(trouble.to_string(), "Left; what is not confirmed above was not done.");
        }
    }
}
