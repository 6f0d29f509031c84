//! The plan of a conversation: a short list that the model keeps up to date and that survives the compression of its
//! history. It lives with the conversation and touches nothing outside.

use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::Permit;
use crate::tool::{Afterword, Card, Output, Tool, ToolError};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::sync::{Mutex, PoisonError};

const MOST_ITEMS: usize = 256;
const MOST_CHARS: usize = 4_000;
/// A result above this was not made by this tool.
const MOST_RESTORED_CHARS: usize = 512_000;
const CUT: &str = "… [cut]";
const NO_ID: &str = "?";
const NO_CONTENT: &str = "(nothing said)";
const REMINDER: &str = "[Open items of your plan, kept when the conversation was compressed]";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
    Cancelled,
}

impl Status {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Pending, "pending"),
        (Self::InProgress, "in_progress"),
        (Self::Completed, "completed"),
        (Self::Cancelled, "cancelled"),
    ];

    fn named(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Self::ALL.into_iter().find(|(_, known)| *known == name).map(|(status, _)| status)
    }

    /// How an open item is marked in a reminder.
    fn mark(self) -> Option<&'static str> {
        match self {
            Self::Pending => Some("[ ]"),
            Self::InProgress => Some("[>]"),
            Self::Completed | Self::Cancelled => None,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Item {
    id: String,
    content: String,
    status: Status,
}

/// An item as a model writes it: anything may be missing or of another type.
#[derive(Debug, Clone, Default)]
struct Written {
    id: String,
    content: String,
    status: Option<Status>,
}

impl Written {
    fn of(value: &Value) -> Self {
        let text = |key: &str| match value.get(key) {
            Some(Value::String(text)) => text.trim().to_owned(),
            Some(Value::Number(number)) => number.to_string(),
            _ => String::new(),
        };
        Self { id: capped(&text("id")), content: capped(&text("content")), status: Status::named(&text("status")) }
    }

    fn into_item(self) -> Item {
        let or = |text: String, otherwise: &str| if text.is_empty() { otherwise.to_owned() } else { text };
        Item {
            id: or(self.id, NO_ID),
            content: or(self.content, NO_CONTENT),
            status: self.status.unwrap_or(Status::Pending),
        }
    }
}

/// What is to be done, in order.
#[derive(Debug, Default)]
pub struct TodoList {
    items: Mutex<Vec<Item>>,
}

#[derive(Debug, Serialize)]
struct Answer {
    todos: Vec<Item>,
    summary: Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
}

#[derive(Debug, Serialize)]
struct Summary {
    total: usize,
    pending: usize,
    in_progress: usize,
    completed: usize,
    cancelled: usize,
}

impl TodoList {
    /// What the model is reminded of after its history was compressed; nothing when nothing is open.
    pub fn reminder(&self) -> Option<String> {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let line = |item: &Item| Some(format!("- {} {}. {}", item.status.mark()?, item.id, item.content));
        let lines: Vec<String> = items.iter().filter_map(line).collect();
        (!lines.is_empty()).then(|| format!("{REMINDER}\n{}", lines.join("\n")))
    }

    /// How far it is, for a person.
    fn progress(&self) -> String {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        let done = items.iter().filter(|item| matches!(item.status, Status::Completed | Status::Cancelled)).count();
        let now = items.iter().find(|item| item.status == Status::InProgress);
        let now = now.map(|item| format!(", now: {}", item.content)).unwrap_or_default();
        if items.is_empty() { "nothing planned".to_owned() } else { format!("{done} of {} done{now}", items.len()) }
    }

    /// Takes over the list of the last result of this tool, when a conversation is resumed. Whether it was one.
    pub fn restore(&self, result: &str) -> bool {
        if result.chars().nth(MOST_RESTORED_CHARS).is_some() {
            return false;
        }
        let Ok(value) = serde_json::from_str::<Value>(result) else { return false };
        let Some(todos) = value.get("todos").and_then(Value::as_array) else { return false };
        self.replace(todos);
        true
    }

    /// Everything anew. Of two items with one id the last counts.
    fn replace(&self, todos: &[Value]) -> usize {
        let mut items: Vec<Item> = Vec::new();
        for item in todos.iter().map(|value| Written::of(value).into_item()) {
            items.retain(|known| known.id != item.id);
            items.push(item);
        }
        self.set(items)
    }

    /// Changes what is given of the items that are known, and appends the others.
    fn merge(&self, todos: &[Value]) -> usize {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for written in todos.iter().map(Written::of) {
            match items.iter_mut().find(|item| item.id == written.id) {
                Some(item) => {
                    if !written.content.is_empty() {
                        item.content = written.content;
                    }
                    item.status = written.status.unwrap_or(item.status);
                }
                None => {
                    let item = written.into_item();
                    items.retain(|known| known.id != item.id);
                    items.push(item);
                }
            }
        }
        self.set(items)
    }

    /// Keeps as many as may be; how many that left out.
    fn set(&self, mut items: Vec<Item>) -> usize {
        let left_out = items.len().saturating_sub(MOST_ITEMS);
        items.truncate(MOST_ITEMS);
        *self.items.lock().unwrap_or_else(PoisonError::into_inner) = items;
        left_out
    }

    fn answer(&self, left_out: usize) -> Answer {
        let todos = self.items.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let count = |status| todos.iter().filter(|item| item.status == status).count();
        let summary = Summary {
            total: todos.len(),
            pending: count(Status::Pending),
            in_progress: count(Status::InProgress),
            completed: count(Status::Completed),
            cancelled: count(Status::Cancelled),
        };
        let note = (left_out > 0).then(|| format!("The last {left_out} were left out: at most {MOST_ITEMS} items."));
        Answer { todos, summary, note }
    }
}

fn capped(text: &str) -> String {
    if text.chars().nth(MOST_CHARS).is_none() {
        return text.to_owned();
    }
    let kept = MOST_CHARS.saturating_sub(CUT.chars().count());
    text.chars().take(kept).chain(CUT.chars()).collect()
}

const DESCRIPTION: &str = "Your plan for this conversation, for work of three steps or more. Without todos it is read. \
todos replaces the whole list; with merge=true items are changed by id and new ones appended. Keep the order of \
importance and one item in_progress; mark it completed as soon as it is done.";

pub(crate) struct TodoTool;

#[derive(Debug, Deserialize)]
pub(crate) struct Args {
    todos: Option<Vec<Value>>,
    #[serde(default)]
    merge: Option<bool>,
}

impl Tool for TodoTool {
    type Args = Args;

    fn card(&self) -> Card {
        let parameters = json!({
            "type": "object",
            "properties": {
                "todos": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string"},
                            "content": {"type": "string"},
                            "status": {"type": "string", "enum": Status::ALL.map(|(_, name)| name)}
                        },
                        "required": ["id", "content", "status"]
                    }
                },
                "merge": {"type": "boolean", "default": false}
            }
        });
        Card { emoji: "📋", ..Card::new("todo", "todo", DESCRIPTION, parameters) }
    }

    /// Two changes of one reply must be made in their order.
    fn effects(&self, _args: &Args, _cx: &Cx) -> Result<Effects, ToolError> {
        Ok(Effects::alone())
    }

    /// How far the plan is, and what is being done now.
    fn afterword(&self, result: &str) -> Afterword {
        let list = TodoList::default();
        let note = list.restore(result).then(|| list.progress());
        Afterword { note, ..Afterword::default() }
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let list = &cx.desk.todo;
        let left_out = match &args.todos {
            None => 0,
            Some(todos) if args.merge == Some(true) => list.merge(todos),
            Some(todos) => list.replace(todos),
        };
        Output::json(&list.answer(left_out))
    }
}
