//! What a message says: a string, or an ordered list of parts (text, images, and whatever a vendor adds next year).

use crate::Object;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The `content` of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Parts(Vec<Part>),
}

/// One element of list content, kept verbatim. [`Part::view`] reads the kinds we act on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(pub Object);

/// The kinds of part every encoder understands. Everything else passes through or is left out, never guessed at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PartView<'a> {
    Text(&'a str),
    /// A `data:` or `http(s):` URL and the optional `detail` setting.
    Image {
        url: &'a str,
        detail: Option<&'a str>,
    },
    Other,
}

impl Content {
    /// The text alone: parts that are text, joined by newlines.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts.iter().filter_map(Part::text).collect();
                texts.join("\n")
            }
        }
    }

    /// Adds text at the end: to the text, or as a part of its own.
    pub fn append(&mut self, text: &str) {
        match self {
            Self::Text(own) => own.push_str(text),
            Self::Parts(parts) => parts.push(Part::of_text(text)),
        }
    }

    /// True when there is no text but white space and no other part.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| part.text().is_some_and(|text| text.trim().is_empty())),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Part {
    pub fn of_text(text: impl Into<String>) -> Self {
        let mut part = Object::new();
        part.insert("type".into(), "text".into());
        part.insert("text".into(), Value::String(text.into()));
        Self(part)
    }

    pub fn of_image(url: impl Into<String>) -> Self {
        let mut image = Object::new();
        image.insert("url".into(), Value::String(url.into()));
        let mut part = Object::new();
        part.insert("type".into(), "image_url".into());
        part.insert("image_url".into(), Value::Object(image));
        Self(part)
    }

    pub fn text(&self) -> Option<&str> {
        match self.view() {
            PartView::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn view(&self) -> PartView<'_> {
        let text_at = |key: &str| self.0.get(key).and_then(Value::as_str);
        match text_at("type") {
            Some("text" | "input_text" | "output_text") => text_at("text").map_or(PartView::Other, PartView::Text),
            Some("image_url" | "input_image") => self.image().unwrap_or(PartView::Other),
            _ => PartView::Other,
        }
    }

    /// Chat puts `{url, detail}` in an object, Responses puts the URL itself there.
    fn image(&self) -> Option<PartView<'_>> {
        let image = self.0.get("image_url")?;
        let (url, detail) = match image {
            Value::String(url) => (url.as_str(), self.0.get("detail")),
            Value::Object(map) => (map.get("url")?.as_str()?, map.get("detail")),
            _ => return None,
        };
        Some(PartView::Image { url, detail: detail.and_then(Value::as_str) })
    }
}
