//! What a server answered, as a result: texts in one piece, pictures and other files saved and named by their path.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_core::redact;
use hermes_tools::attic;
use hermes_tools::cover::Cover;
use hermes_tools::settings::Settings;
use hermes_tools::tool::{Output, ToolError};
use hermes_types::{Object, clip};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::fs::{DirBuilder, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Bytes of one file that a server may leave here.
const LARGEST: usize = 50 << 20;
/// What all files of servers may take together.
const MOST_KEPT: u64 = 256 << 20;
/// Characters of an error.
const LONGEST_ERROR: usize = 4_000;
/// What is kept of an item of a list.
const LISTED: [&str; 7] = ["uri", "uriTemplate", "name", "title", "description", "mimeType", "arguments"];
/// What files of a kind are called. Others end in `bin`.
const ENDINGS: [(&str, &str); 12] = [
    ("image/png", "png"),
    ("image/jpeg", "jpg"),
    ("image/gif", "gif"),
    ("image/webp", "webp"),
    ("image/svg+xml", "svg"),
    ("audio/wav", "wav"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("application/pdf", "pdf"),
    ("application/json", "json"),
    ("application/zip", "zip"),
    ("text/plain", "txt"),
];

/// Where files of servers go, and whether secrets in texts are covered.
pub(crate) struct Shelf {
    folder: PathBuf,
    cover: Cover,
}

impl Shelf {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self { folder: settings.around.hermes_home.join("cache").join("mcp"), cover: settings.cover }
    }
}

pub(crate) fn of_call(answer: &Value, shelf: &Shelf) -> Result<Output, ToolError> {
    let text = blocks(answer.get("content"), shelf);
    if answer.get("isError").and_then(Value::as_bool) == Some(true) {
        let error = if text.trim().is_empty() { "the tool failed and does not say why" } else { &text };
        return Err(ToolError::told(clip(&redact::text(error), LONGEST_ERROR)));
    }
    let structured = answer.get("structuredContent").filter(|structured| !structured.is_null());
    let structured = structured.map(|structured| covered(structured, shelf.cover));
    match structured {
        Some(structured) if text.trim().is_empty() => Output::json(&json!({"result": structured})),
        Some(structured) => Output::json(&json!({"result": text, "structuredContent": structured})),
        None => Output::json(&json!({"result": text})),
    }
}

pub(crate) fn of_resource(answer: &Value, shelf: &Shelf) -> Result<Output, ToolError> {
    let contents = answer.get("contents").and_then(Value::as_array).into_iter().flatten();
    let texts: Vec<String> = contents.map(|content| resource(content, shelf)).collect();
    Output::json(&json!({"result": texts.join("\n")}))
}

pub(crate) fn of_prompt(answer: &Value, shelf: &Shelf) -> Result<Output, ToolError> {
    let messages = answer.get("messages").and_then(Value::as_array).into_iter().flatten();
    let messages: Vec<Value> = messages
        .map(|message| {
            let role = message.get("role").cloned().unwrap_or_default();
            json!({"role": role, "content": blocks(message.get("content"), shelf)})
        })
        .collect();
    let description = answer.get("description").cloned().unwrap_or_default();
    Output::json(&json!({"description": description, "messages": messages}))
}

pub(crate) fn of_list(answer: &Value, items: &str, shelf: &Shelf) -> Result<Output, ToolError> {
    let listed = answer.get(items).and_then(Value::as_array).into_iter().flatten();
    let listed: Vec<Value> = listed
        .map(|item| {
            let kept = LISTED.iter().filter_map(|key| Some(((*key).to_owned(), covered(item.get(*key)?, shelf.cover))));
            Value::Object(kept.collect::<Object>())
        })
        .collect();
    Output::json(&json!({items: listed}))
}

/// One block or a list of them, a line for each.
fn blocks(content: Option<&Value>, shelf: &Shelf) -> String {
    let blocks: Vec<&Value> = match content {
        Some(Value::Array(blocks)) => blocks.iter().collect(),
        Some(block) => vec![block],
        None => Vec::new(),
    };
    blocks.into_iter().map(|block| told(block, shelf)).collect::<Vec<_>>().join("\n")
}

fn told(block: &Value, shelf: &Shelf) -> String {
    let text = |key: &str| block.get(key).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "text" => shelf.cover.file(text("text")).into_owned(),
        "image" | "audio" => shelf.saved(text("data"), text("mimeType")),
        "resource" => block.get("resource").map(|content| resource(content, shelf)).unwrap_or_default(),
        "resource_link" => format!("[resource {}: read it with read_resource, uri {}]", text("name"), text("uri")),
        other => format!("[something of the kind `{}` that cannot be shown]", clip(other, 40)),
    }
}

fn resource(content: &Value, shelf: &Shelf) -> String {
    let text = |key: &str| content.get(key).and_then(Value::as_str);
    match (text("text"), text("blob")) {
        (Some(words), _) => shelf.cover.file(words).into_owned(),
        (None, Some(blob)) => shelf.saved(blob, text("mimeType").unwrap_or_default()),
        (None, None) => String::new(),
    }
}

/// The value with secrets in its texts covered.
fn covered(value: &Value, cover: Cover) -> Value {
    match value {
        Value::String(text) => Value::String(cover.file(text).into_owned()),
        Value::Array(items) => Value::Array(items.iter().map(|item| covered(item, cover)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), covered(value, cover))).collect())
        }
        other => other.clone(),
    }
}

impl Shelf {
    /// Saves a file and gives the line that stands for it.
    fn saved(&self, data: &str, kind: &str) -> String {
        let kind = clip(kind, 60);
        if data.len() / 4 * 3 > LARGEST {
            return format!("[a file of the kind `{kind}` that is too large to keep]");
        }
        let Ok(bytes) = STANDARD.decode(data.trim()) else {
            return format!("[a file of the kind `{kind}` that cannot be read]");
        };
        match self.keep(&bytes, &kind) {
            Ok(path) => format!("MEDIA:{}", path.display()),
            Err(error) => format!("[a file of the kind `{kind}` that could not be saved: {error}]"),
        }
    }

    /// The same bytes are one file.
    fn keep(&self, bytes: &[u8], kind: &str) -> io::Result<PathBuf> {
        let bare = kind.split(';').next().unwrap_or_default().trim();
        let ending = ENDINGS.iter().find(|(known, _)| *known == bare).map_or("bin", |(_, ending)| ending);
        let digest: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
        let path = self.folder.join(format!("{digest}.{ending}"));
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder)?;
        if holds(&path, bytes.len()) {
            return Ok(path);
        }
        let mut file = tempfile::Builder::new().permissions(Permissions::from_mode(0o600)).tempfile_in(&self.folder)?;
        file.write_all(bytes)?;
        file.persist(&path).map_err(|error| error.error)?;
        attic::tidy(&self.folder, &path, MOST_KEPT);
        Ok(path)
    }
}

/// Whether the file is there already. Not a link: nothing of ours lies behind one.
fn holds(path: &Path, length: usize) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.len() == length as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arbitrary::any_json;
    use proptest::prelude::*;

    fn shelf(folder: &Path) -> Shelf {
        Shelf { folder: folder.to_owned(), cover: Cover::Secrets }
    }

    fn text(output: Result<Output, ToolError>) -> String {
        match output {
            Ok(Output::Text(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn texts_come_in_one_piece_and_structure_beside_them() {
        let shelf = shelf(Path::new("/nowhere"));
        let table = [
            (
                json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
                r#"{"result":"a\nb"}"#,
            ),
            (
                json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}}),
                r#"{"result":"a","structuredContent":{"n":1}}"#,
            ),
            (json!({"content": [], "structuredContent": {"n": 1}}), r#"{"result":{"n":1}}"#),
            (json!({}), r#"{"result":""}"#),
            (
                json!({"content": [{"type": "resource", "resource": {"uri": "x", "text": "inside"}}]}),
                r#"{"result":"inside"}"#,
            ),
            (
                json!({"content": [{"type": "resource_link", "uri": "demo://1", "name": "one"}]}),
                r#"{"result":"[resource one: read it with read_resource, uri demo://1]"}"#,
            ),
            (
                json!({"content": [{"type": "hologram"}]}),
                r#"{"result":"[something of the kind `hologram` that cannot be shown]"}"#,
            ),
        ];
        for (answer, expected) in table {
            assert_eq!(text(of_call(&answer, &shelf)), expected, "{answer}");
        }
    }

    #[test]
    fn a_failure_is_an_error_without_secrets() {
        let answer =
            json!({"isError": true, "content": [{"type": "text", "text": "no: token=abcdefghijklmnopqrstuv"}]});
        let failed = of_call(&answer, &shelf(Path::new("/nowhere"))).unwrap_err().to_string();
        assert!(failed.starts_with("no: token=") && !failed.contains("abcdefghijklmnopqrstuv"), "{failed}");
        let silent = of_call(&json!({"isError": true, "content": []}), &shelf(Path::new("/nowhere"))).unwrap_err();
        assert_eq!(silent.to_string(), "the tool failed and does not say why");
    }

    #[test]
    fn pictures_are_saved_once_and_named() {
        let home = tempfile::tempdir().unwrap();
        let shelf = shelf(home.path());
        let answer = json!({"content": [{"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}]});
        let first = text(of_call(&answer, &shelf));
        assert_eq!(first, text(of_call(&answer, &shelf)));
        let path = home.path().join("2cf24dba5fb0a30e.png");
        assert_eq!(first, format!(r#"{{"result":"MEDIA:{}"}}"#, path.display()));
        assert_eq!(std::fs::read(path).unwrap(), b"hello");
        assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 1);
        let broken = json!({"content": [{"type": "image", "data": "%", "mimeType": "image/png"}]});
        assert_eq!(
            text(of_call(&broken, &shelf)),
            r#"{"result":"[a file of the kind `image/png` that cannot be read]"}"#
        );
    }

    #[test]
    fn lists_keep_what_is_of_use() {
        let shelf = shelf(Path::new("/nowhere"));
        let answer =
            json!({"resources": [{"uri": "a://b", "name": "n", "icons": ["data:…"], "_meta": {}}], "nextCursor": "x"});
        assert_eq!(text(of_list(&answer, "resources", &shelf)), r#"{"resources":[{"uri":"a://b","name":"n"}]}"#);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn an_answer_of_any_shape_becomes_a_text_or_an_error(answer in any_json()) {
            let home = tempfile::tempdir().unwrap();
            let shelf = shelf(home.path());
            let told = [
                of_call(&answer, &shelf),
                of_resource(&answer, &shelf),
                of_prompt(&answer, &shelf),
                of_list(&answer, "resources", &shelf),
            ];
            let failed = answer.get("isError").and_then(Value::as_bool) == Some(true);
            for (place, told) in told.into_iter().enumerate() {
                match told {
                    Ok(Output::Text(text)) => {
                        prop_assert!(serde_json::from_str::<Object>(&text).is_ok(), "{} is no object", text);
                    }
                    Err(error) => prop_assert!(failed && place == 0, "{}", error),
                    Ok(other) => prop_assert!(false, "{:?}", other),
                }
            }
        }
    }
}
