//! Which of the five questions is asked. What is given decides, and every number is brought into its range.

use super::show::label;
use crate::tool::ToolError;
use hermes_types::{MessageId, Role, SearchOrder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::ops::RangeInclusive;

const LIMIT: i64 = 3;
const LIMITS: RangeInclusive<i64> = 1..=10;
const WINDOW: i64 = 5;
const WINDOWS: RangeInclusive<i64> = 1..=20;
/// What is looked at where nothing is said: what tools gave is long and rarely what is remembered.
const USUAL_ROLES: [Role; 2] = [Role::User, Role::Assistant];
const ROLES: [(&str, Role); 4] =
    [("user", Role::User), ("assistant", Role::Assistant), ("tool", Role::Tool), ("system", Role::System)];

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Args {
    query: Option<String>,
    limit: Option<i64>,
    sort: Option<String>,
    session_id: Option<String>,
    around_message_id: Option<i64>,
    window: Option<i64>,
    role_filter: Option<String>,
    message_id: Option<i64>,
    offset: Option<i64>,
}

/// A call that makes sense.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Request {
    pub(super) shape: Shape,
    /// Whose messages are searched and shown.
    pub(super) roles: Vec<Role>,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// One message in full, from a character on. It is named by itself: what else is given means nothing.
    Whole { message: MessageId, offset: usize },
    /// The messages around one.
    Scroll { session: String, anchor: MessageId, window: usize },
    /// The beginning and the end of a conversation. A query beside it has no meaning and is told about.
    Read { session: String, query: Option<String> },
    /// Conversations in which something was said.
    Discover { query: String, order: SearchOrder, limit: usize },
    /// What was talked about last.
    Browse { limit: usize },
}

impl Request {
    pub(super) fn of(args: &Args) -> Result<Self, ToolError> {
        let roles = roles(args.role_filter.as_deref())?;
        if let Some(message) = args.message_id {
            let offset = args.offset.and_then(|offset| usize::try_from(offset).ok()).unwrap_or_default();
            return Ok(Self { shape: Shape::Whole { message: MessageId(message), offset }, roles });
        }
        let order = order(args.sort.as_deref())?;
        let limit = within(args.limit, LIMIT, LIMITS);
        let (query, session) = (given(args.query.as_ref()), given(args.session_id.as_ref()));
        let shape = match (session, args.around_message_id, query) {
            (Some(session), Some(anchor), _) => {
                let window = within(args.window, WINDOW, WINDOWS);
                Shape::Scroll { session, anchor: MessageId(anchor), window }
            }
            (Some(session), None, query) => Shape::Read { session, query },
            (None, Some(_), _) => {
                return Err(ToolError::told(
                    "around_message_id needs the session_id that was found with it; message_id alone shows one message.",
                ));
            }
            (None, None, Some(query)) => Shape::Discover { query, order, limit },
            (None, None, None) => Shape::Browse { limit },
        };
        Ok(Self { shape, roles })
    }
}

fn given(text: Option<&String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn within(number: Option<i64>, usual: i64, range: RangeInclusive<i64>) -> usize {
    let number = number.unwrap_or(usual).clamp(*range.start(), *range.end());
    usize::try_from(number).unwrap_or(1)
}

fn order(sort: Option<&str>) -> Result<SearchOrder, ToolError> {
    match sort.map(str::trim) {
        None | Some("") => Ok(SearchOrder::Best),
        Some("newest") => Ok(SearchOrder::Newest),
        Some("oldest") => Ok(SearchOrder::Oldest),
        Some(other) => Err(ToolError::told(format!(
            "There is no sort '{}'. Use newest or oldest; without it the best come first.",
            label(other)
        ))),
    }
}

fn roles(filter: Option<&str>) -> Result<Vec<Role>, ToolError> {
    let mut wanted = Vec::new();
    for name in filter.unwrap_or_default().split(',').map(str::trim).filter(|name| !name.is_empty()) {
        let Some((_, role)) = ROLES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) else {
            let known = ROLES.map(|(known, _)| known).join(", ");
            return Err(ToolError::told(format!("There is no role '{}'. Use some of: {known}.", label(name))));
        };
        if !wanted.contains(role) {
            wanted.push(*role);
        }
    }
    Ok(if wanted.is_empty() { USUAL_ROLES.to_vec() } else { wanted })
}

pub(super) fn parameters() -> Value {
    let number = |usual: i64, range: RangeInclusive<i64>| json!({"type": "integer", "minimum": range.start(), "maximum": range.end(), "default": usual});
    json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words (all must be there), \"a phrase\", OR, NOT, begin*"},
            "limit": number(LIMIT, LIMITS),
            "sort": {"type": "string", "enum": ["newest", "oldest"]},
            "session_id": {"type": "string"},
            "around_message_id": {"type": "integer"},
            "window": number(WINDOW, WINDOWS),
            "role_filter": {"type": "string", "description": "Comma list, usually user,assistant; tool for results"},
            "message_id": {"type": "integer"},
            "offset": {"type": "integer"}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arguments: Value) -> Result<Request, String> {
        let args: Args = serde_json::from_value(arguments).expect("arguments");
        Request::of(&args).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_given_decides_what_is_asked() {
        let usual = USUAL_ROLES.to_vec();
        let session = || "s".to_owned();
        let discover = |order, limit| Shape::Discover { query: "deploy".to_owned(), order, limit };
        let table = [
            (json!({}), Shape::Browse { limit: 3 }),
            (json!({"query": "  ", "session_id": "", "limit": 99}), Shape::Browse { limit: 10 }),
            (json!({"query": " deploy "}), discover(SearchOrder::Best, 3)),
            (json!({"query": "deploy", "sort": "oldest", "limit": -4}), discover(SearchOrder::Oldest, 1)),
            (json!({"session_id": "s"}), Shape::Read { session: session(), query: None }),
            (json!({"session_id": "s", "query": "x"}), Shape::Read { session: session(), query: Some("x".to_owned()) }),
            (
                json!({"session_id": "s", "around_message_id": 7, "window": 50, "query": "x"}),
                Shape::Scroll { session: session(), anchor: MessageId(7), window: 20 },
            ),
            (json!({"message_id": 7}), Shape::Whole { message: MessageId(7), offset: 0 }),
            (
                json!({"message_id": 7, "offset": 900, "session_id": "s", "query": "x"}),
                Shape::Whole { message: MessageId(7), offset: 900 },
            ),
            (json!({"message_id": 7, "offset": -1}), Shape::Whole { message: MessageId(7), offset: 0 }),
        ];
        for (arguments, shape) in table {
            assert_eq!(request(arguments.clone()), Ok(Request { shape, roles: usual.clone() }), "{arguments}");
        }
    }

    #[test]
    fn what_the_schema_promises_is_what_is_read() {
        let schema = parameters();
        let promised = schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        assert_eq!(crate::tool::fields::fields_of::<Args>(), Some(promised));
    }

    #[test]
    fn roles_are_a_list_with_commas() {
        let roles = |filter: &str| request(json!({"role_filter": filter})).map(|request| request.roles);
        assert_eq!(roles(" , "), Ok(USUAL_ROLES.to_vec()));
        assert_eq!(roles("tool, USER,tool"), Ok(vec![Role::Tool, Role::User]));
        assert_eq!(roles("bot"), Err("There is no role 'bot'. Use some of: user, assistant, tool, system.".to_owned()));
    }

    #[test]
    fn what_makes_no_sense_is_said() {
        let alone = request(json!({"around_message_id": 7}));
        let told = "around_message_id needs the session_id that was found with it; message_id alone shows one message.";
        assert_eq!(alone, Err(told.to_owned()));
        let sort = request(json!({"query": "x", "sort": "best"}));
        assert_eq!(
            sort,
            Err("There is no sort 'best'. Use newest or oldest; without it the best come first.".to_owned())
        );
    }
}
