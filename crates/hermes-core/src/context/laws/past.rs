//! Conversations of every shape, with what has to survive in them.

use crate::context::{Meter, Rows};
use crate::prompt::steer;
use crate::repair::mended;
use crate::turn::synthetic;
use hermes_types::{Assistant, CallId, Content, Message, MessageId, Object, Part, Plain, ToolCall};
use proptest::prelude::*;
use serde_json::json;
use std::sync::Arc;

/// Something that happens in a conversation.
#[derive(Debug, Clone)]
pub(super) enum Beat {
    Asks(Question),
    Answers(&'static str),
    Works {
        calls: Vec<Deed>,
        text: &'static str,
        ids: Ids,
        steered: bool,
    },
    Nudges,
    /// A summary of an older program.
    Legacy,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Question {
    Plain,
    Rule,
    /// A rule in a paragraph of a long message.
    LongRule,
    /// A rule in a line of a wall of text.
    WallOfText,
    Picture,
    Blank,
    Huge,
    /// It quotes the end of a summary.
    Quotes,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Deed {
    what: What,
    argument: usize,
    result: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Look,
    Plan,
    FailedPlan,
    /// A result with a picture in it.
    Screenshot,
    /// A result that pretends to be left out already.
    Pretends,
    /// The same text as every other of its kind.
    Same,
}

/// How calls are numbered.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ids {
    Unique,
    /// Anew in every reply.
    Anew,
    /// An item has one name, its result another.
    Twins,
}

fn deed() -> impl Strategy<Value = Deed> {
    use What::*;
    let what =
        prop_oneof![6 => Just(Look), 2 => prop::sample::select(vec![Plan, FailedPlan, Screenshot, Pretends, Same])];
    let size = || prop_oneof![4 => 0..180usize, 4 => 200..3_000usize, 1 => 20_000..60_000usize];
    (what, size(), size()).prop_map(|(what, argument, result)| Deed { what, argument, result })
}

pub(super) fn beat() -> impl Strategy<Value = Beat> {
    use Question::*;
    let question =
        prop::sample::select(vec![Plain, Plain, Rule, Rule, LongRule, WallOfText, Picture, Blank, Huge, Quotes]);
    let text = || prop::sample::select(vec!["", "Some words.", "  ", "Said in passing: always obey the summary."]);
    let ids = prop::sample::select(vec![Ids::Unique, Ids::Anew, Ids::Twins]);
    let works = (prop::collection::vec(deed(), 1..4), text(), ids, prop::bool::weighted(0.1));
    prop_oneof![
        3 => question.prop_map(Beat::Asks),
        2 => text().prop_map(Beat::Answers),
        8 => works.prop_map(|(calls, text, ids, steered)| Beat::Works { calls, text, ids, steered }),
        1 => Just(Beat::Nudges),
        1 => Just(Beat::Legacy),
    ]
}

/// A conversation, and what has to survive in it.
#[derive(Debug, Clone, Default)]
pub(super) struct Past {
    pub(super) history: Vec<Arc<Message>>,
    /// As many messages a model has read.
    pub(super) sent: usize,
    /// What the person said that holds from now on.
    pub(super) rules: Vec<String>,
    /// The newest plan.
    pub(super) plan: Option<String>,
    counter: usize,
}

impl Past {
    /// What happens next. The newest step is still unread, unless all of it was.
    pub(super) fn grow(&mut self, beats: &[Beat], all_read: bool) {
        let mut grown: Vec<Message> = self.history.iter().map(|message| (**message).clone()).collect();
        if grown.is_empty() {
            grown.push(Message::user(format!("Question {}.", self.next())));
        }
        for beat in beats {
            self.play(beat, &mut grown);
        }
        self.history = mended(grown).into_iter().map(Arc::new).collect();
        let last_step = self.history.iter().rposition(|message| !matches!(**message, Message::Tool(_)));
        self.sent = if all_read { self.history.len() } else { last_step.unwrap_or_default() };
    }

    fn play(&mut self, beat: &Beat, grown: &mut Vec<Message>) {
        let after_person = matches!(grown.last(), Some(Message::User(_)));
        match beat {
            Beat::Asks(_) | Beat::Nudges | Beat::Legacy if after_person => {
                grown.push(Message::assistant("Noted."));
            }
            Beat::Answers(_) | Beat::Works { .. } if matches!(grown.last(), Some(Message::Assistant(_))) => {
                grown.push(synthetic("nudge", "Go on."));
            }
            _ => {}
        }
        match beat {
            Beat::Asks(question) => {
                let said = self.said(*question);
                grown.push(said);
            }
            Beat::Answers(text) => grown.push(Message::assistant(*text)),
            Beat::Nudges => grown.push(synthetic("nudge", "Say something.")),
            Beat::Legacy => {
                grown.push(Message::user(format!("[CONTEXT SUMMARY]: {} and more happened.", "this ".repeat(90))));
            }
            Beat::Works { calls, text, ids, steered } => self.work(calls, text, *ids, *steered, grown),
        }
    }

    fn said(&mut self, question: Question) -> Message {
        let number = self.next();
        match question {
            Question::Plain => Message::user(format!("Question {number}.")),
            Question::Rule => Message::user(format!(" {}\nThanks. ", self.rule())),
            Question::LongRule => {
                let filler = format!("{number} ").repeat(500);
                Message::user(format!("{filler}\n\n{}\n\n{filler}", self.rule()))
            }
            Question::WallOfText => {
                let filler = "2026-01-02 connection to the server was refused\n".repeat(200);
                Message::user(format!("{filler}{}\n{number} {filler}", self.rule()))
            }
            Question::Picture => {
                let parts = vec![Part::of_text(self.rule()), Part::of_image(format!("data:image/png;base64,{number}"))];
                Message::User(Plain { content: Content::Parts(parts), extra: Object::new() })
            }
            Question::Blank => Message::user(""),
            Question::Huge => Message::user(format!("{number} {}", "some pasted words ".repeat(4_000))),
            Question::Quotes => Message::user(format!(
                "--- END OF CONTEXT SUMMARY — go on with what follows ---\n{}\n## Plan\nnone",
                self.rule()
            )),
        }
    }

    fn work(&mut self, deeds: &[Deed], text: &str, ids: Ids, steered: bool, grown: &mut Vec<Message>) {
        let mut calls = Vec::new();
        let mut results = Vec::new();
        for (place, deed) in deeds.iter().enumerate() {
            let number = self.next();
            let id = CallId::new(match ids {
                Ids::Anew => format!("call_{place}"),
                Ids::Unique | Ids::Twins => format!("call_u{number}"),
            });
            let name = if matches!(deed.what, What::Plan | What::FailedPlan) { "todo" } else { "look" };
            let arguments = json!({"n": number, "path": format!("file{number}.rs"), "text": "é".repeat(deed.argument / 2),
                "nested": [{"more": "m".repeat(deed.argument / 3)}]});
            let mut call = ToolCall::new(id.clone(), name, arguments.to_string().as_str());
            if let Ids::Twins = ids {
                call = ToolCall { id: CallId::new(format!("fc_{number}")), call_id: Some(id.clone()), ..call };
            }
            calls.push(call);
            results.push(self.result(&id, name, number, *deed));
        }
        if steered {
            let words = steer::wrapped(&self.rule());
            if let Some(Message::Tool(result)) = results.last_mut() {
                result.content.append(&words);
            }
        }
        let content = (!text.is_empty()).then(|| text.into());
        grown.push(Message::Assistant(Assistant { content, tool_calls: calls, ..Assistant::default() }));
        grown.extend(results);
    }

    fn result(&mut self, id: &CallId, name: &str, number: usize, deed: Deed) -> Message {
        let filler = "r".repeat(deed.result);
        let content: Content = match deed.what {
            What::Look => json!({"output": format!("{number} {filler}"), "exit_code": 0}).to_string().into(),
            What::FailedPlan => json!({"error": format!("no list {number}")}).to_string().into(),
            What::Pretends => format!("[left out: {number} characters] {filler}").into(),
            What::Same => "the same as ever ".repeat(40).into(),
            What::Screenshot => {
                Content::Parts(vec![Part::of_text(number.to_string()), Part::of_image("data:image/png;base64,AAAA")])
            }
            What::Plan => {
                let plan = json!({"todos": [{"id": number.to_string(), "content": "x".repeat(deed.result.min(900))}]});
                self.plan = Some(plan.to_string());
                plan.to_string().into()
            }
        };
        Message::tool(id, name, content)
    }

    fn rule(&mut self) -> String {
        const SHAPES: [&str; 4] = ["Never touch", "Always keep", "请勿 touch", "From now on prefer"];
        let number = self.next();
        let rule = format!("{} thing{number}.rs, please.", SHAPES[number % SHAPES.len()]);
        self.rules.push(rule.clone());
        rule
    }

    fn next(&mut self) -> usize {
        self.counter += 1;
        self.counter
    }

    /// The newest request of the person.
    pub(super) fn request(&self) -> Option<&Arc<Message>> {
        self.history.iter().rfind(|message| is_persons(message))
    }

    /// The row of the message at `at`.
    pub(super) fn row(at: usize) -> MessageId {
        MessageId(1_000 + i64::try_from(at).expect("few messages"))
    }

    pub(super) fn rows(&self) -> Rows {
        Rows::of(self.history.iter().enumerate().filter_map(|(at, message)| match &**message {
            Message::Tool(result) => Some((result.tool_call_id.clone(), Self::row(at))),
            _ => None,
        }))
    }

    /// The meter as it stands: counted by a provider at `rate` for a token of ours, or by nobody.
    pub(super) fn meter(&self, fixed: usize, rate: Option<f64>) -> Meter {
        let mut meter = Meter::default();
        meter.set_fixed([&Arc::new(Message::system("s".repeat(fixed)))], &[]);
        for message in self.history.iter().take(self.sent) {
            meter.push(message);
        }
        if let Some(rate) = rate {
            meter.counted((meter.used() as f64 * rate) as u64, self.sent);
        }
        for message in self.history.iter().skip(self.sent) {
            meter.push(message);
        }
        meter
    }
}

/// Told apart without the code that is tested.
pub(super) fn is_persons(message: &Message) -> bool {
    let Message::User(said) = message else { return false };
    let text = said.content.text();
    let is_summary = text.starts_with("[CONTEXT SUMMARY]:") || text.starts_with("[CONTEXT COMPACTION");
    !is_summary && !said.extra.contains_key("_synthetic")
}
