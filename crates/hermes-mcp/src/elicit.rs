//! Questions of a server to the person: a form, field by field, through the face of the conversation whose call the server
//! works on. Where nobody sits there, nobody calls, or nobody answers in time, the answer is never a yes.
//!
//! The words of a server are shown in one line, with everything spelled out that a screen would hide or obey. Who asks for
//! what looks like a secret is named as somebody who should not. A server asks one question at a time, and one that was
//! left without an answer three times in a row has to wait for the next call.

use crate::server::Server;
use hermes_core::disguise::latin;
use hermes_tools::face::{Clarification, Face, Reply};
use hermes_tools::gate::{Channel, visible};
use hermes_types::{Object, clip};
use serde_json::{Number, Value};
use std::sync::atomic::Ordering;

const ACCEPT: &str = "Yes";
const DECLINE: &str = "No";
/// What a person types instead of an answer.
const REFUSALS: [&str; 4] = ["no", "decline", "cancel", "/cancel"];
/// What leaves a field out. An empty line is no answer at all.
const LEFT_OUT: &str = "-";
/// Questions in a row without an answer, after which a server is not heard in this call.
const MOST_UNANSWERED: u32 = 3;
/// Words of fields that hold secrets, in small letters without anything between them.
const SECRETS: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "creditcard",
    "cardnumber",
    "seedphrase",
    "mnemonic",
];
const WARNING: &str = "[This looks like a secret. The server will read what you type; an honest one does not ask for \
    passwords or keys like this.]";
/// Fields of a form; nobody fills in more for a program.
const MOST_FIELDS: usize = 12;
const MOST_CHOICES: usize = 4;
const LONGEST: usize = 500;
const LONGEST_CHOICE: usize = 100;
/// Times that a value of the wrong kind may be typed.
const TRIES: usize = 3;

/// What the server is told.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Answer {
    Accept(Object),
    Decline,
    /// Nobody decided.
    Cancel,
}

/// One field of a form.
#[derive(Debug, Clone, PartialEq)]
struct Field {
    name: String,
    label: String,
    kind: Kind,
    need: Need,
    default: Option<Value>,
}

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Text,
    Number,
    Whole,
    Switch,
    OneOf(Vec<String>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

pub(crate) async fn answer(server: &Server, message: &str, schema: &Value) -> Answer {
    let settings = &server.settings.elicitation;
    let Some(caller) = server.caller().filter(|_| settings.enabled) else { return Answer::Decline };
    let face = caller.desk.face();
    if face.channel() == Channel::Nobody || server.unanswered.load(Ordering::Relaxed) >= MOST_UNANSWERED {
        return Answer::Decline;
    }
    let Ok(_word) = server.word.try_acquire() else { return Answer::Cancel };
    let answer = tokio::select! {
        biased;
        answered = form(face, &server.settings.name, message, schema) => answered,
        () = caller.stop.wait() => Answer::Cancel,
        () = server.clock().alarm(settings.timeout) => Answer::Cancel,
    };
    match answer {
        Answer::Accept(_) => server.unanswered.store(0, Ordering::Relaxed),
        Answer::Decline | Answer::Cancel => drop(server.unanswered.fetch_add(1, Ordering::Relaxed)),
    }
    answer
}

/// Words of a server as a person sees them: in one line, so that none of them looks like words of ours.
fn shown(words: &str) -> String {
    clip(&visible(&words.split_whitespace().collect::<Vec<_>>().join(" ")), LONGEST)
}

fn is_secret(words: &str) -> bool {
    let letters: String = words.chars().map(latin).filter(|c| c.is_alphanumeric()).collect();
    SECRETS.iter().any(|secret| letters.contains(secret))
}

async fn form(face: &dyn Face, server: &str, message: &str, schema: &Value) -> Answer {
    let fields = fields(schema);
    let Some(fields) = fields.filter(|fields| fields.len() <= MOST_FIELDS) else { return Answer::Decline };
    let opening = format!("The MCP server {server} asks: {}", shown(message));
    if fields.is_empty() {
        let choices = vec![ACCEPT.to_owned(), DECLINE.to_owned()];
        return match face.clarify(Clarification { question: opening, choices }).await {
            Reply::Said(said) if said.trim().eq_ignore_ascii_case(ACCEPT) => Answer::Accept(Object::new()),
            Reply::Said(_) => Answer::Decline,
            Reply::Silence => Answer::Cancel,
        };
    }
    let mut filled = Object::new();
    for field in fields {
        match ask(face, &opening, &field).await {
            Ok(Some(value)) => drop(filled.insert(field.name, value)),
            Ok(None) => {}
            Err(refusal) => return refusal,
        }
    }
    Answer::Accept(filled)
}

/// Asks for one field until it fits. Nothing where it may stay empty.
async fn ask(face: &dyn Face, opening: &str, field: &Field) -> Result<Option<Value>, Answer> {
    let mut hint = String::new();
    for _ in 0..TRIES {
        let rest = match field.need {
            Need::Required => "type `cancel` to refuse",
            Need::Optional => "`-` leaves it out, `cancel` refuses",
        };
        let warning =
            if is_secret(&format!("{} {}", field.name, field.label)) { format!("\n{WARNING}") } else { String::new() };
        let question = format!("{opening}{warning}\n{}{hint} ({rest})", field.label);
        let said = match face.clarify(Clarification { question, choices: field.kind.choices() }).await {
            Reply::Said(said) => said.trim().to_owned(),
            Reply::Silence => return Err(Answer::Cancel),
        };
        let is_choice = field.kind.choices().iter().any(|choice| choice.eq_ignore_ascii_case(&said));
        if !is_choice && REFUSALS.iter().any(|word| word.eq_ignore_ascii_case(&said)) {
            return Err(Answer::Decline);
        }
        if matches!(said.as_str(), "" | LEFT_OUT) && (field.need == Need::Optional || field.default.is_some()) {
            return Ok(field.default.clone());
        }
        match field.kind.read(&said) {
            Some(value) => return Ok(Some(value)),
            None => hint = format!(" [{}]", field.kind.expected()),
        }
    }
    Err(Answer::Cancel)
}

/// The fields of a form in its order, or nothing where one of them cannot be asked for.
fn fields(schema: &Value) -> Option<Vec<Field>> {
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
    let properties = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    properties
        .map(|(name, field)| {
            let text = |key: &str| field.get(key).and_then(Value::as_str);
            let options = field.get("enum").and_then(Value::as_array);
            let named = field.get("oneOf").and_then(Value::as_array);
            let kind = match (options, named, text("type")) {
                (Some(options), _, _) => {
                    Kind::OneOf(options.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect())
                }
                (None, Some(named), _) => {
                    Kind::OneOf(named.iter().filter_map(|one| one.get("const")?.as_str().map(str::to_owned)).collect())
                }
                (None, None, Some("string") | None) => Kind::Text,
                (None, None, Some("number")) => Kind::Number,
                (None, None, Some("integer")) => Kind::Whole,
                (None, None, Some("boolean")) => Kind::Switch,
                _ => return None,
            };
            if matches!(&kind, Kind::OneOf(options) if !options.iter().all(|option| is_plain(option))) {
                return None;
            }
            let title = text("title").unwrap_or(name);
            let label = match text("description") {
                Some(description) => format!("{title}: {description}"),
                None => title.to_owned(),
            };
            let need = if required.contains(&name.as_str()) { Need::Required } else { Need::Optional };
            let default = field.get("default").filter(|default| !default.is_null()).cloned();
            Some(Field { name: name.clone(), label: shown(&label), kind, need, default })
        })
        .collect()
}

/// A choice is shown as it is sent, so it has to be one that can be seen.
fn is_plain(choice: &str) -> bool {
    visible(choice) == choice && !choice.contains('\n') && choice.chars().count() <= LONGEST_CHOICE
}

impl Kind {
    fn choices(&self) -> Vec<String> {
        match self {
            Self::OneOf(options) if options.len() <= MOST_CHOICES => options.clone(),
            Self::Switch => vec!["yes".to_owned(), "no".to_owned()],
            _ => Vec::new(),
        }
    }

    fn read(&self, said: &str) -> Option<Value> {
        match self {
            Self::Text => (!said.is_empty()).then(|| said.into()),
            Self::Number => said.parse().ok().and_then(Number::from_f64).map(Value::Number),
            Self::Whole => said.parse::<i64>().ok().map(Value::from),
            Self::Switch => match said.to_ascii_lowercase().as_str() {
                "yes" | "y" | "true" | "1" => Some(true.into()),
                "no" | "n" | "false" | "0" => Some(false.into()),
                _ => None,
            },
            Self::OneOf(options) => {
                options.iter().find(|one| one.eq_ignore_ascii_case(said)).map(|one| one.as_str().into())
            }
        }
    }

    fn expected(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Whole => "a whole number".to_owned(),
            Self::Switch => "yes or no".to_owned(),
            Self::OneOf(options) => format!("one of {}", options.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests;
