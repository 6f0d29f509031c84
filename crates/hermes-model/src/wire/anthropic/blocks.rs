//! Content blocks as they stand on the wire, borrowed from the history: an image or a long text is never copied on its
//! way into the body. The order of the fields is the order of the bytes.

use crate::wire::cache::{self, Marker};
use hermes_types::{Object, Part, PartView};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use std::borrow::Cow;

#[derive(Debug, Clone, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        citations: Option<&'a Value>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Marker>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Marker>,
    },
    Thinking {
        thinking: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        signature: Option<&'a str>,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: Cow<'a, str>,
        name: Cow<'a, str>,
        input: Input<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Marker>,
    },
    ToolResult {
        tool_use_id: Cow<'a, str>,
        content: Output<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<Marker>,
    },
    /// A part in Anthropic's own form: images and documents by id, search results.
    #[serde(untagged)]
    Foreign(Foreign<'a>),
}

/// The arguments of a call, as they are written already.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    Written(&'a RawValue),
    Kept(&'a Object),
    None {},
}

#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Source<'a> {
    Base64 { media_type: &'static str, data: &'a str },
    Url { url: &'a str },
}

/// What a tool gave back, or the system prompt: plain text unless an image or a marker wants a list.
#[derive(Debug, Clone, serde::Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Blocks(Vec<Block<'a>>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Foreign<'a> {
    part: &'a Object,
    cache_control: Option<Marker>,
}

impl Serialize for Foreign<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (key, value) in self.part.iter().filter(|(key, _)| *key != cache::FIELD) {
            map.serialize_entry(key, value)?;
        }
        if let Some(marker) = self.cache_control {
            map.serialize_entry(cache::FIELD, &marker)?;
        }
        map.end()
    }
}

/// Stands for an assistant turn that says nothing, because the protocol wants every turn to say something.
pub(super) const EMPTY: &str = "(empty)";

/// Block types that mean something only where the protocol puts them; as a part of a user message they are refused.
const MISPLACED: [&str; 4] = ["tool_use", "tool_result", "thinking", "redacted_thinking"];

/// Parts of a user message that are written in this protocol already.
const NATIVE: [&str; 4] = ["image", "document", "search_result", "container_upload"];

const ATTACHMENT_LEFT_OUT: &str = "(attachment left out: the model takes only text and images here)";

impl<'a> Block<'a> {
    pub(super) fn text(text: impl Into<Cow<'a, str>>) -> Self {
        Self::Text { text: text.into(), citations: None, cache_control: None }
    }

    /// A text part with the one field that may accompany it. Markers of others are not ours to pass on.
    pub(super) fn text_of(text: &'a str, part: &'a Object) -> Self {
        let citations = part.get("citations").filter(|list| list.as_array().is_some_and(|list| !list.is_empty()));
        Self::Text { text: text.into(), citations, cache_control: None }
    }

    /// The image in a part, in whichever form it is written. `None` when the part is something else.
    pub(super) fn image_of(part: &'a Part) -> Option<Self> {
        match part.view() {
            PartView::Image { url, .. } => Some(match Source::of(url) {
                Some(source) => Self::Image { source, cache_control: None },
                None => Self::text("(image could not be read)"),
            }),
            PartView::Other if kind(&part.0) == "image" => Some(Self::native(part)),
            _ => None,
        }
    }

    /// A part that is neither text nor image: as it is where the protocol knows it, else the mention of it.
    pub(super) fn attachment_of(part: &'a Part) -> Option<Self> {
        if NATIVE.contains(&kind(&part.0)) {
            return Some(Self::native(part));
        }
        mention(part).map(Self::text)
    }

    fn native(part: &'a Part) -> Self {
        Self::Foreign(Foreign { part: &part.0, cache_control: None })
    }

    pub(super) fn is_thinking(&self) -> bool {
        matches!(self, Self::Thinking { .. } | Self::RedactedThinking { .. })
    }

    /// Text of nothing but white space, which the protocol refuses.
    pub(super) fn is_blank(&self) -> bool {
        matches!(self, Self::Text { text, .. } if text.trim().is_empty())
    }

    pub(super) fn marker(&self) -> Option<Marker> {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. }
            | Self::Foreign(Foreign { cache_control, .. }) => *cache_control,
            Self::Thinking { .. } | Self::RedactedThinking { .. } => None,
        }
    }

    pub(super) fn marked(mut self, marker: Option<Marker>) -> Self {
        self.set_marker(marker);
        self
    }

    fn set_marker(&mut self, marker: Option<Marker>) {
        match self {
            Self::Text { cache_control, .. }
            | Self::Image { cache_control, .. }
            | Self::ToolUse { cache_control, .. }
            | Self::ToolResult { cache_control, .. }
            | Self::Foreign(Foreign { cache_control, .. }) => *cache_control = marker,
            Self::Thinking { .. } | Self::RedactedThinking { .. } => {}
        }
    }
}

const SCHEMES: [&str; 2] = ["https://", "http://"];

/// The types of images the protocol takes, as they are written and as it wants them written.
const MEDIA_TYPES: [(&str, &str); 5] = [
    ("image/jpeg", "image/jpeg"),
    ("image/jpg", "image/jpeg"),
    ("image/png", "image/png"),
    ("image/gif", "image/gif"),
    ("image/webp", "image/webp"),
];

impl<'a> Source<'a> {
    /// `None` for whatever the protocol would refuse: a `data:` URL without base64 or of another type, and addresses
    /// that only this machine understands.
    fn of(url: &'a str) -> Option<Self> {
        let url = url.trim();
        let Some(inline) = url.strip_prefix("data:") else {
            return SCHEMES.iter().any(|scheme| url.starts_with(scheme)).then_some(Self::Url { url });
        };
        let (given, data) = inline.split_once(";base64,").filter(|(_, data)| !data.is_empty())?;
        let given = given.split(';').next()?.trim();
        let (_, media_type) = MEDIA_TYPES.iter().find(|(known, _)| given.eq_ignore_ascii_case(known))?;
        Some(Self::Base64 { media_type, data })
    }
}

/// What is said of an attachment that cannot be sent. `None` for what is no part of what was said.
pub(super) fn mention(part: &Part) -> Option<&'static str> {
    (!MISPLACED.contains(&kind(&part.0))).then_some(ATTACHMENT_LEFT_OUT)
}

/// The `type` of a part or stored block; empty when it has none.
pub(super) fn kind(part: &Object) -> &str {
    part.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// Puts the marker on the last block that can carry one (thinking cannot), unless a marker is there already.
pub(super) fn mark(blocks: &mut [Block<'_>], marker: Option<Marker>) {
    if marker.is_none() || blocks.iter().any(|block| block.marker().is_some()) {
        return;
    }
    if let Some(last) = blocks.iter_mut().rfind(|block| !block.is_thinking()) {
        last.set_marker(marker);
    }
}
