//! The person at the terminal, as the gate of the tools needs one: asks for consent, asks the model's own questions, and
//! writes down what is allowed for good. Without a terminal there is nobody, and nobody consents.
//!
//! Answers are whole lines and Enter alone is a no, so nothing typed ahead or by mistake says yes. A question ends when its
//! future is dropped (the gate holds the clock and listens to Ctrl-C); the reader behind it ends with it and takes no input
//! that is meant for somebody else.

mod adviser;
mod allowlist;
mod terminal;

pub use adviser::Counsel;
pub use allowlist::Allowlist;

use crate::output::terminal::width;
use crate::output::wrap::folded;
use futures_util::future::BoxFuture;
use hermes_tools::face::{ApprovalQuestion, Clarification, Face, Nobody, Reply};
use hermes_tools::gate::{Answer, Channel, Excerpt, Permanence, excerpt, visible};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::sync::Arc;
use terminal::{Echo, say};

/// Whoever sits at this terminal.
#[derive(Debug, Clone, Copy)]
pub struct Person(());

/// The person, or nobody where input or output is no terminal.
pub fn face() -> Arc<dyn Face> {
    if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        Arc::new(Person(()))
    } else {
        Arc::new(Nobody)
    }
}

impl Face for Person {
    fn channel(&self) -> Channel {
        Channel::Person
    }

    fn approve(&self, question: ApprovalQuestion) -> BoxFuture<'_, Answer> {
        Box::pin(async move {
            say(&shown(&question, Length::Excerpt, width()));
            loop {
                let line = terminal::line(choices(&question), Echo::On, "No answer: it does not run.").await;
                match line.as_deref().map_or(Heard::Answer(Answer::Deny), |line| heard(line, question.permanence)) {
                    Heard::Answer(answer) => return answer,
                    Heard::ShowAll => say(&shown(&question, Length::Whole, width())),
                    Heard::Nothing => say("That is none of the answers.\n"),
                }
            }
        })
    }

    fn clarify(&self, question: Clarification) -> BoxFuture<'_, Reply> {
        Box::pin(async move {
            say(&asked(&question));
            let line = terminal::line("> ".to_owned(), Echo::On, "No answer.").await;
            match line.map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()) {
                Some(line) => Reply::Said(chosen(&line, &question.choices)),
                None => Reply::Silence,
            }
        })
    }

    fn password(&self, reason: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let prompt = format!("{} (hidden; Enter alone gives none): ", visible(&reason));
            let line = terminal::line(prompt, Echo::Off, "No password given.").await?;
            let password = line.trim_end_matches(['\r', '\n']).to_owned();
            (!password.is_empty()).then_some(password)
        })
    }

    fn tell(&self, notice: String) {
        say(&format!("{}\n", visible(&notice)));
    }
}

/// How much of a long command is shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Length {
    Excerpt,
    Whole,
}

/// The question as a person reads it.
fn shown(question: &ApprovalQuestion, length: Length, width: usize) -> String {
    let what = match length {
        Length::Whole => question.what.clone(),
        Length::Excerpt => match excerpt(&question.what) {
            Excerpt::Whole(whole) => whole,
            Excerpt::Ends { head, left_out, tail } => {
                format!("{head}\n… {left_out} characters are not shown; v shows all of it …\n{tail}")
            }
        },
    };
    let mut out = format!("\n{} wants to do something that needs your consent:\n\n", question.tool);
    // Writing into a string cannot fail.
    for line in what.lines() {
        // Left to the terminal, the rest of a line would begin at the edge, where only our own words stand: a command could
        // write a `why` of its own there.
        let line = line.replace('\t', EDGE);
        for (at, piece) in folded(&line, width.saturating_sub(EDGE.len())).into_iter().enumerate() {
            let _ = writeln!(out, "{}{piece}", if at == 0 { EDGE } else { GOES_ON });
        }
    }
    out.push('\n');
    if let Some(cwd) = &question.cwd {
        let _ = writeln!(out, "  where   {cwd}");
    }
    for (at, reason) in question.reasons.iter().enumerate() {
        let label = if at == 0 { "why" } else { "" };
        let _ = writeln!(out, "  {label:<6}  {reason}");
    }
    if let Some(advice) = &question.advice {
        let _ = writeln!(out, "  but     {advice}");
    }
    out.push('\n');
    out
}

/// How lines of what would be done begin, and how those that go on do.
const EDGE: &str = "    ";
const GOES_ON: &str = "  … ";
/// The answers there are, one to a line, so that each says what it means on every width.
fn choices(question: &ApprovalQuestion) -> String {
    let like_it = if question.reasons.len() > 1 { "the reason is one of these" } else { "the reason is the same" };
    let mut rows = vec![("o", "once".to_owned())];
    if question.permanence == Permanence::Offered {
        rows.push(("s", format!("in this session, whenever {like_it}")));
        rows.push(("a", format!("always, whenever {like_it}")));
    }
    if matches!(excerpt(&question.what), Excerpt::Ends { .. }) {
        rows.push(("v", "show all of it first".to_owned()));
    }
    rows.push(("d", "deny; so does Enter alone".to_owned()));
    let rows: String = rows.iter().map(|(key, meaning)| format!("  {key}  {meaning}\n")).collect();
    format!("{rows}  (deny after {} s) > ", question.timeout.as_secs())
}

/// What a line means as an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heard {
    Answer(Answer),
    ShowAll,
    Nothing,
}

fn heard(line: &str, permanence: Permanence) -> Heard {
    let offered = permanence == Permanence::Offered;
    match line.trim().to_lowercase().as_str() {
        "" | "d" | "deny" | "n" | "no" => Heard::Answer(Answer::Deny),
        "o" | "once" | "y" | "yes" => Heard::Answer(Answer::Once),
        "s" | "session" if offered => Heard::Answer(Answer::Session),
        "a" | "always" if offered => Heard::Answer(Answer::Always),
        "v" | "view" | "show" => Heard::ShowAll,
        _ => Heard::Nothing,
    }
}

fn asked(question: &Clarification) -> String {
    let mut out = format!("\n{}\n", visible(&question.question));
    for (at, choice) in question.choices.iter().enumerate() {
        // Writing into a string cannot fail.
        let _ = writeln!(out, "  {} {}", at + 1, visible(choice));
    }
    if !question.choices.is_empty() {
        out.push_str("A number, or an answer of your own.\n");
    }
    out
}

/// The choice a number stands for, or the line itself.
fn chosen(line: &str, choices: &[String]) -> String {
    let by_number = line.parse::<usize>().ok().and_then(|number| choices.get(number.checked_sub(1)?));
    by_number.cloned().unwrap_or_else(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::SessionId;
    use std::time::Duration;

    fn question(what: &str, permanence: Permanence) -> ApprovalQuestion {
        ApprovalQuestion {
            session: SessionId::new("s"),
            tool: "terminal".into(),
            what: what.into(),
            cwd: Some("/home/ada/work".into()),
            reasons: vec!["recursive delete".into(), "git clean with force (deletes untracked files)".into()],
            permanence,
            advice: Some("the model that was consulted advises against it".into()),
            timeout: Duration::from_secs(60),
        }
    }

    #[test]
    fn a_question_says_what_where_and_why() {
        let question = question("rm -rf build\ngit clean -fd", Permanence::Offered);
        assert_eq!(
            format!("{}{}", shown(&question, Length::Excerpt, 80), choices(&question)),
            "\nterminal wants to do something that needs your consent:\n\n    rm -rf build\n    git clean -fd\n\n  \
             where   /home/ada/work\n  why     recursive delete\n          git clean with force (deletes untracked files)\n  \
             but     the model that was consulted advises against it\n\n  \
             o  once\n  s  in this session, whenever the reason is one of these\n  \
             a  always, whenever the reason is one of these\n  d  deny; so does Enter alone\n  (deny after 60 s) > "
        );
    }

    #[test]
    fn a_long_command_shows_both_ends_and_all_of_it_on_request() {
        let long = question(&format!("echo {}; rm -rf x", "a".repeat(9_000)), Permanence::OnceOnly);
        let first = shown(&long, Length::Excerpt, 20_000);
        assert!(first.contains("characters are not shown") && first.contains("; rm -rf x"), "{first}");
        assert!(shown(&long, Length::Whole, 20_000).contains(&long.what));
        assert_eq!(
            choices(&long),
            "  o  once\n  v  show all of it first\n  d  deny; so does Enter alone\n  (deny after 60 s) > "
        );
    }

    #[test]
    fn a_long_line_never_reaches_the_edge() {
        let forged = format!("rm -rf x {}  why     harmless", " ".repeat(67));
        let expected = format!("    rm -rf x{}\n  …   why     harmless\n", " ".repeat(68));
        let shown = shown(&question(&forged, Permanence::Offered), Length::Excerpt, 80);
        assert!(shown.contains(&expected), "{shown}");
    }

    #[test]
    fn only_a_clear_yes_is_a_yes() {
        use Heard::{Answer as A, Nothing, ShowAll};
        let table = [
            ("", A(Answer::Deny), A(Answer::Deny)),
            (" No\n", A(Answer::Deny), A(Answer::Deny)),
            ("o", A(Answer::Once), A(Answer::Once)),
            ("YES", A(Answer::Once), A(Answer::Once)),
            ("s", A(Answer::Session), Nothing),
            ("always", A(Answer::Always), Nothing),
            ("v", ShowAll, ShowAll),
            ("ok", Nothing, Nothing),
            ("yes please", Nothing, Nothing),
        ];
        for (line, offered, once) in table {
            assert_eq!(heard(line, Permanence::Offered), offered, "{line:?}");
            assert_eq!(heard(line, Permanence::OnceOnly), once, "{line:?}");
        }
    }

    #[test]
    fn a_choice_is_taken_by_its_number_or_in_own_words() {
        let choices = ["red".to_owned(), "blue".to_owned()];
        let table = [("1", "red"), ("2", "blue"), ("0", "0"), ("3", "3"), ("green", "green")];
        for (line, said) in table {
            assert_eq!(chosen(line, &choices), said);
        }
        let question = Clarification { question: "Which\u{202e}?".into(), choices: choices.to_vec() };
        let expected = "\nWhich⟨U+202E⟩?\n  1 red\n  2 blue\nA number, or an answer of your own.\n";
        assert_eq!(asked(&question), expected);
    }
}
