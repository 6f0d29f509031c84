//! Questions to the person at the terminal. Without a terminal there is nobody to ask, so each command says instead what
//! to type. A prompt runs beside the runtime; Ctrl-C and Esc leave the command.

use super::Trouble;
use inquire::{InquireError, Password, PasswordDisplayMode, Select, Text};
use std::io::IsTerminal;

const PAGE: usize = 14;

/// Proof that somebody is there to answer.
#[derive(Clone, Copy)]
pub(super) struct Person(());

impl Person {
    /// The prompts are read from standard input and drawn on standard error.
    pub(super) fn present() -> Option<Self> {
        (std::io::stdin().is_terminal() && std::io::stderr().is_terminal()).then_some(Self(()))
    }

    /// One of the options, by its place.
    pub(super) async fn choose(self, question: &str, options: Vec<String>, start: usize) -> Result<usize, Trouble> {
        let question = question.to_owned();
        let start = start.min(options.len().saturating_sub(1));
        ask(move || {
            let prompt = Select::new(&question, options).with_page_size(PAGE).with_starting_cursor(start);
            let prompt = prompt.with_help_message("type to search, ↑↓ to move, enter to choose, esc to leave");
            prompt.raw_prompt().map(|chosen| chosen.index)
        })
        .await
    }

    /// Something that must not appear on the screen.
    pub(super) async fn secret(self, question: &str, help: &str) -> Result<String, Trouble> {
        let (question, help) = (question.to_owned(), help.to_owned());
        ask(move || {
            let prompt = Password::new(&question).without_confirmation().with_display_mode(PasswordDisplayMode::Hidden);
            prompt.with_help_message(&help).prompt()
        })
        .await
    }

    pub(super) async fn line(self, question: &str, help: &str, initial: &str) -> Result<String, Trouble> {
        let (question, help, initial) = (question.to_owned(), help.to_owned(), initial.to_owned());
        let answer = ask(move || Text::new(&question).with_help_message(&help).with_initial_value(&initial).prompt());
        answer.await.map(|text| text.trim().to_owned())
    }
}

async fn ask<T: Send + 'static>(
    prompt: impl FnOnce() -> Result<T, InquireError> + Send + 'static,
) -> Result<T, Trouble> {
    let failed = |reason: String| Trouble::Refused(format!("the terminal could not be asked: {reason}"));
    match tokio::task::spawn_blocking(prompt).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(InquireError::OperationCanceled | InquireError::OperationInterrupted)) => Err(Trouble::Interrupted),
        Ok(Err(error)) => Err(failed(error.to_string())),
        Err(error) => Err(failed(error.to_string())),
    }
}
