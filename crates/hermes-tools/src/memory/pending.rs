//! Changes that wait for a person: `pending/memory/<id>.json` and `pending/skills/<id>.json`, in the form of the Python
//! program.

use super::Target;
use super::disk;
use super::edit::Operation;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

const ID_DIGITS: usize = 8;
/// Attempts to find an id that is not taken.
const ATTEMPTS: usize = 16;

/// Whose changes wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subsystem {
    Memory,
    Skills,
}

impl Subsystem {
    fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Skills => "skills",
        }
    }
}

/// A change that was wished for and not made yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pending {
    pub id: String,
    subsystem: String,
    action: String,
    /// For the person who decides.
    pub summary: String,
    origin: String,
    /// Seconds since 1970.
    pub created_at: f64,
    payload: Value,
}

impl Pending {
    pub(super) fn new(target: Target, operations: &[Operation], now: SystemTime) -> Self {
        let (action, summary, payload) = match operations {
            [only] => (only.action(), single_summary(target, only), single_payload(target, only)),
            many => ("batch", batch_summary(target, many), batch_payload(target, many)),
        };
        Self::of(Subsystem::Memory, action, summary, payload, now)
    }

    pub(crate) fn of(subsystem: Subsystem, action: &str, summary: String, payload: Value, now: SystemTime) -> Self {
        let created_at = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let (subsystem, origin) = (subsystem.name().to_owned(), "foreground".to_owned());
        Self { id: String::new(), subsystem, action: action.to_owned(), summary, origin, created_at, payload }
    }

    /// What it wants, as whoever made it wrote it down.
    pub fn payload(&self) -> &Value {
        &self.payload
    }

    /// Writes it under a new id.
    pub(crate) fn keep(mut self, folder: &Path) -> io::Result<String> {
        disk::create_folder(folder)?;
        for _ in 0..ATTEMPTS {
            self.id = format!("{:08x}", rand::random::<u32>());
            let text = serde_json::to_vec_pretty(&self)?;
            match disk::create(&file(folder, &self.id), &text) {
                Ok(()) => return Ok(self.id),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// What it wants, or nothing when it cannot be read.
    pub(super) fn wish(&self) -> Option<(Target, Vec<Operation>)> {
        let target = Target::named(self.payload.get("target")?.as_str()?)?;
        let operations = match self.payload.get("operations") {
            Some(operations) => operations.as_array()?.iter().map(operation).collect::<Option<Vec<_>>>()?,
            None => vec![operation(&self.payload)?],
        };
        Some((target, operations))
    }
}

/// All that wait, the oldest first. What cannot be read is left for a person to look at.
pub(crate) fn all(folder: &Path) -> Vec<Pending> {
    let Ok(files) = fs::read_dir(folder) else { return Vec::new() };
    let paths =
        files.flatten().map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "json"));
    let mut waiting: Vec<Pending> = paths.filter_map(|path| load(&path)).collect();
    waiting.sort_by(|a, b| a.created_at.total_cmp(&b.created_at).then_with(|| a.id.cmp(&b.id)));
    waiting
}

pub(crate) fn one(folder: &Path, id: &str) -> Option<Pending> {
    is_id(id).then(|| load(&file(folder, id))).flatten()
}

pub(crate) fn drop(folder: &Path, id: &str) -> io::Result<()> {
    if is_id(id) { fs::remove_file(file(folder, id)) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// An id names a file: nothing but hexadecimal digits may be in it.
fn is_id(id: &str) -> bool {
    id.len() == ID_DIGITS && id.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn file(folder: &Path, id: &str) -> PathBuf {
    folder.join(format!("{id}.json"))
}

fn load(path: &Path) -> Option<Pending> {
    let bytes = disk::read(path).ok()??;
    let pending: Pending = serde_json::from_slice(&bytes).ok()?;
    (path.file_stem()?.to_str()? == pending.id && is_id(&pending.id)).then_some(pending)
}

fn operation(value: &Value) -> Option<Operation> {
    let text = |key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    Some(match value.get("action")?.as_str()? {
        "add" => Operation::Add { content: text("content")? },
        "replace" => Operation::Replace { old: text("old_text")?, content: text("content")? },
        "remove" => Operation::Remove { old: text("old_text")? },
        _ => return None,
    })
}

fn single_payload(target: Target, operation: &Operation) -> Value {
    json!({
        "action": operation.action(), "target": target.name(),
        "content": operation.content(), "old_text": operation.old(),
    })
}

fn batch_payload(target: Target, operations: &[Operation]) -> Value {
    let operations: Vec<Value> = operations
        .iter()
        .map(|operation| {
            let fields = [("content", operation.content()), ("old_text", operation.old())];
            let mut object = serde_json::Map::from_iter([("action".to_owned(), json!(operation.action()))]);
            object.extend(fields.into_iter().filter_map(|(key, text)| Some((key.to_owned(), json!(text?)))));
            Value::Object(object)
        })
        .collect();
    json!({"action": "batch", "target": target.name(), "operations": operations})
}

fn single_summary(target: Target, operation: &Operation) -> String {
    let target = target.name();
    match operation {
        Operation::Add { content } => format!("add to {target}: {content}"),
        Operation::Replace { old, content } => format!("replace in {target}: {old}\nby: {content}"),
        Operation::Remove { old } => format!("remove from {target}: {old}"),
    }
}

fn batch_summary(target: Target, operations: &[Operation]) -> String {
    let lines: Vec<String> = operations.iter().map(|operation| single_summary(target, operation)).collect();
    lines.join("\n")
}
