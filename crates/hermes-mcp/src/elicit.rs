//! Questions of a server to the person: a form, field by field, through the face of the conversation whose call the server
//! works on. Where nobody sits there, nobody calls, or nobody answers in time, the answer is never a yes.

use crate::server::Server;
use hermes_tools::face::{Clarification, Face, Reply};
use hermes_tools::gate::Channel;
use hermes_types::{Object, clip};
use serde_json::{Number, Value};

const ACCEPT: &str = "Yes";
const DECLINE: &str = "No";
/// What a person types instead of an answer.
const REFUSALS: [&str; 4] = ["no", "decline", "cancel", "/cancel"];
/// Fields of a form; nobody fills in more for a program.
const MOST_FIELDS: usize = 12;
const MOST_CHOICES: usize = 4;
const LONGEST: usize = 500;
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
    let face = caller.face();
    if face.channel() == Channel::Nobody {
        return Answer::Decline;
    }
    tokio::select! {
        biased;
        answered = form(face, &server.settings.name, message, schema) => answered,
        () = server.clock().alarm(settings.timeout) => Answer::Cancel,
    }
}

async fn form(face: &dyn Face, server: &str, message: &str, schema: &Value) -> Answer {
    let fields = fields(schema);
    let Some(fields) = fields.filter(|fields| fields.len() <= MOST_FIELDS) else { return Answer::Decline };
    let opening = format!("The MCP server {server} asks: {}", clip(message.trim(), LONGEST));
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
            Need::Optional => "empty leaves it out, `cancel` refuses",
        };
        let question = format!("{opening}\n{}{hint} ({rest})", field.label);
        let said = match face.clarify(Clarification { question, choices: field.kind.choices() }).await {
            Reply::Said(said) => said.trim().to_owned(),
            Reply::Silence => return Err(Answer::Cancel),
        };
        let is_choice = field.kind.choices().iter().any(|choice| choice.eq_ignore_ascii_case(&said));
        if !is_choice && REFUSALS.iter().any(|word| word.eq_ignore_ascii_case(&said)) {
            return Err(Answer::Decline);
        }
        if said.is_empty() && (field.need == Need::Optional || field.default.is_some()) {
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
            let title = text("title").unwrap_or(name);
            let label = match text("description") {
                Some(description) => format!("{title}: {description}"),
                None => title.to_owned(),
            };
            let need = if required.contains(&name.as_str()) { Need::Required } else { Need::Optional };
            let default = field.get("default").filter(|default| !default.is_null()).cloned();
            Some(Field { name: name.clone(), label: clip(&label, LONGEST), kind, need, default })
        })
        .collect()
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
