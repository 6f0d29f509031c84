//! Questions of the model to the person, through whatever face is attached.
//!
//! Where nobody answers, the model is told so and what counts instead: the first of its choices, or an assumption that it
//! has to state. It is never left waiting and never told that somebody said what nobody said.

use crate::desk::Cx;
use crate::effects::Effects;
use crate::face::{Clarification, Reply};
use crate::gate::{Channel, Permit};
use crate::tool::{Card, Output, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::time::Duration;

const MOST_CHOICES: usize = 4;
const MOST_QUESTION_CHARS: usize = 4_000;
const MOST_CHOICE_CHARS: usize = 400;
/// Where a choice written as an object has its text, the best first.
const CHOICE_FIELDS: [&str; 4] = ["label", "description", "text", "title"];
/// A little more than the person has, so that the tool itself says what became of the question.
const MARGIN: Duration = Duration::from_secs(5);

/// `agent.clarify_timeout`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClarifySettings {
    /// Seconds; zero or less is for ever.
    pub clarify_timeout: f64,
}

impl Default for ClarifySettings {
    fn default() -> Self {
        Self { clarify_timeout: 3600.0 }
    }
}

impl ClarifySettings {
    pub(crate) fn patience(&self) -> Option<Duration> {
        Duration::try_from_secs_f64(self.clarify_timeout).ok().filter(|patience| !patience.is_zero())
    }
}

const DESCRIPTION: &str = "Ask the person when the task can be read in ways that lead to different work, or a choice is \
theirs to make. Up to 4 choices, the one you would take first; without choices the question is open. Not for things you \
can find out, nor to confirm commands.";

pub(crate) struct ClarifyTool {
    /// How long a person has to answer; none is for ever.
    patience: Option<Duration>,
}

impl ClarifyTool {
    pub(crate) fn new(patience: Option<Duration>) -> Self {
        Self { patience }
    }
}

#[derive(Debug, Deserialize)]
pub(crate) struct Args {
    question: String,
    choices: Option<Vec<Value>>,
}

#[derive(Debug, Serialize)]
struct Answered {
    question: String,
    choices_offered: Option<Vec<String>>,
    user_response: String,
}

/// What counts when nobody answered.
#[derive(Debug, Serialize)]
struct Unanswered {
    question: String,
    choices_offered: Option<Vec<String>>,
    user_response: Option<String>,
    answered: bool,
    default: Option<String>,
    note: String,
}

/// Why there is no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Silence {
    NobodyThere,
    NoAnswer,
}

impl Tool for ClarifyTool {
    type Args = Args;

    fn card(&self) -> Card {
        let parameters = json!({
            "type": "object",
            "properties": {
                "question": {"type": "string"},
                "choices": {"type": "array", "items": {"type": "string"}, "maxItems": MOST_CHOICES}
            },
            "required": ["question"]
        });
        Card { emoji: "❓", ..Card::new("clarify", "clarify", DESCRIPTION, parameters) }
    }

    fn effects(&self, args: &Args, _cx: &Cx) -> Result<Effects, ToolError> {
        if shown(&args.question, MOST_QUESTION_CHARS).is_empty() {
            return Err(ToolError::told("question is empty. Say what you want to know."));
        }
        Ok(Effects::alone())
    }

    fn limit(&self, _args: &Args) -> Option<Duration> {
        self.patience.map(|patience| patience + MARGIN)
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let question = shown(&args.question, MOST_QUESTION_CHARS);
        let choices = offered(args.choices.as_deref().unwrap_or_default());
        let (shop, face) = (&cx.desk.shop, cx.desk.face());
        if face.channel() == Channel::Nobody {
            return silence(question, choices, Silence::NobodyThere);
        }
        let asked = Clarification { question: question.clone(), choices: choices.clone() };
        let too_late = async {
            match self.patience {
                Some(patience) => shop.clock.alarm(patience).await,
                None => std::future::pending().await,
            }
        };
        let reply = tokio::select! {
            biased;
            () = cx.stop.wait() => {
                let error = "the person interrupted instead of answering";
                return Err(ToolError::Tell(json!({"error": error, "status": "cancelled"})));
            }
            reply = face.clarify(asked) => reply,
            () = too_late => Reply::Silence,
        };
        match reply {
            Reply::Said(words) if !words.trim().is_empty() => {
                let user_response = words.trim().to_owned();
                Output::json(&Answered { question, choices_offered: some(choices), user_response })
            }
            Reply::Said(_) | Reply::Silence => silence(question, choices, Silence::NoAnswer),
        }
    }
}

fn silence(question: String, choices: Vec<String>, why: Silence) -> Result<Output, ToolError> {
    let why = match why {
        Silence::NobodyThere => "Nobody is there to answer.",
        Silence::NoAnswer => "The person did not answer.",
    };
    let default = choices.first().cloned();
    let next = match &default {
        Some(_) => {
            "The first choice counts as the default: go on with it unless something you know speaks against it, \
                    and say in your answer that you chose it."
        }
        None => "Assume what is most likely and easiest to undo, go on, and say in your answer what you assumed.",
    };
    let note = format!("{why} {next} Do not ask again.");
    Output::json(&Unanswered {
        question,
        choices_offered: some(choices),
        user_response: None,
        answered: false,
        default,
        note,
    })
}

fn some(choices: Vec<String>) -> Option<Vec<String>> {
    (!choices.is_empty()).then_some(choices)
}

/// The first four that say something, each once.
fn offered(written: &[Value]) -> Vec<String> {
    let mut choices: Vec<String> = Vec::new();
    for choice in written.iter().map(|value| shown(&flattened(value), MOST_CHOICE_CHARS)) {
        if !choice.is_empty() && !choices.contains(&choice) && choices.len() < MOST_CHOICES {
            choices.push(choice);
        }
    }
    choices
}

fn flattened(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(object) => {
            let texts = CHOICE_FIELDS.iter().filter_map(|field| object.get(*field)?.as_str());
            texts.map(str::trim).find(|text| !text.is_empty()).unwrap_or_default().to_owned()
        }
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Array(_) | Value::Null => String::new(),
    }
}

/// Text of a model as a terminal may show it: no escape sequences, no control characters, not endless.
fn shown(text: &str, most: usize) -> String {
    let plain = strip_ansi_escapes::strip_str(text);
    let kept = plain.chars().filter(|c| *c == '\n' || !c.is_control()).filter(|c| !turns_text_around(*c));
    kept.take(most).collect::<String>().trim().to_owned()
}

/// Marks that show text in another order than it is written in.
fn turns_text_around(character: char) -> bool {
    matches!(character, '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}
