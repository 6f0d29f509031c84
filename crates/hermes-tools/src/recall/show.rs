//! How messages are shown: secrets covered, and all texts of an answer within one room.
//!
//! Short texts leave what they do not need to the long ones, so that the same call shows much of few messages or a little
//! of many. A text is covered before it is cut: half a secret is not recognised as one.

use crate::cover::Cover;
use hermes_types::{Message, MessageId, Moment, Role, StoredMessage, clip};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

/// Characters for all messages of an answer.
const ROOM: usize = 40_000;
/// Read beyond the cut, so that a secret that the cut goes through is seen whole.
const MARGIN: usize = 4_096;
/// Of one message.
const MOST_CALLS: usize = 8;
const LONGEST_NAME: usize = 64;
const LONGEST_TITLE: usize = 200;
const LONGEST_SNIPPET: usize = 400;
/// Characters before the match, where a snippet is made anew.
const BEFORE_MATCH: usize = 80;
/// What the store puts around a match.
const MARKS: (&str, &str) = (">>>", "<<<");

/// A piece of one text that may be seen, and the length of the whole.
pub(super) struct Page {
    pub(super) text: String,
    pub(super) length: usize,
}

/// A message as the model sees it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Line {
    pub(super) id: MessageId,
    pub(super) role: Role,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) when: Option<String>,
    pub(super) content: String,
    /// The length of a text that was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) full_length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tool_name: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) tool_calls: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) anchor: Option<bool>,
}

/// Writes what may be seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pen {
    cover: Cover,
    room: usize,
}

impl Pen {
    /// `result` is the size of a whole result; half of it is left for everything but the texts.
    pub(super) fn new(cover: Cover, result: usize) -> Self {
        Self { cover, room: ROOM.min(result / 2) }
    }

    /// Covers the texts and brings them into the room, all by the same measure.
    pub(super) fn fit<'l>(&self, lines: impl IntoIterator<Item = &'l mut Line>) {
        let mut lines: Vec<&mut Line> = lines.into_iter().collect();
        let lengths: Vec<usize> = lines.iter().map(|line| line.content.chars().count()).collect();
        let most = share(lengths.clone(), self.room);
        for (line, length) in lines.iter_mut().zip(lengths) {
            let head: String = line.content.chars().take(most.saturating_add(MARGIN)).collect();
            line.content = clip(&self.cover.talk(&head), most);
            line.full_length = (length > most).then_some(length);
        }
    }

    /// As much of one message as there is room for, from a character on. All of it is covered first, so that pages that
    /// follow each other are the whole.
    pub(super) fn page(&self, message: &Message, offset: usize) -> Page {
        let whole = everything(message);
        let covered = self.cover.talk(&whole);
        let text = covered.chars().skip(offset).take(self.room).collect();
        Page { text, length: covered.chars().count() }
    }

    pub(super) fn title(&self, title: Option<&str>) -> Option<String> {
        title.map(|title| clip(&self.cover.talk(title), LONGEST_TITLE))
    }

    /// The place of the match. A snippet is a piece of a message and may be a piece of a secret: where the message has
    /// one, the snippet is made anew from what may be seen of it.
    pub(super) fn snippet(&self, found: &str, of: Option<&Message>) -> String {
        let Some(message) = of else { return clip(&self.cover.talk(found), LONGEST_SNIPPET) };
        let whole = everything(message);
        let covered = self.cover.talk(&whole);
        if covered == whole {
            return clip(found, LONGEST_SNIPPET);
        }
        let matched = found.split_once(MARKS.0).and_then(|(_, rest)| rest.split_once(MARKS.1)).map(|(word, _)| word);
        let at = matched.and_then(|word| covered.find(word)).unwrap_or_default();
        let before = covered.get(..at).unwrap_or_default().chars().count();
        let piece: String = covered.chars().skip(before.saturating_sub(BEFORE_MATCH)).collect();
        clip(&piece, LONGEST_SNIPPET)
    }
}

/// A short name: of a source, a model, or what a model wrote in its place.
pub(super) fn label(name: &str) -> String {
    clip(name, LONGEST_NAME)
}

/// A message with its whole text; [`Pen::fit`] makes it fit to be seen.
pub(super) fn line(stored: &StoredMessage) -> Line {
    let (tool_name, tool_calls) = match &stored.message {
        Message::Assistant(assistant) => {
            let names = assistant.tool_calls.iter().map(|call| label(&call.function.name));
            (None, names.take(MOST_CALLS).collect())
        }
        Message::Tool(result) => (result.name.as_deref().map(label), Vec::new()),
        Message::System(_) | Message::User(_) => (None, Vec::new()),
    };
    Line {
        id: stored.id,
        role: stored.message.role(),
        when: when(stored.at),
        content: stored.message.text(),
        full_length: None,
        tool_name,
        tool_calls,
        anchor: None,
    }
}

/// The same for several; one of them may be what was asked for.
pub(super) fn lines(messages: &[StoredMessage], anchor: Option<MessageId>) -> Vec<Line> {
    let marked = |stored: &StoredMessage| Line { anchor: (Some(stored.id) == anchor).then_some(true), ..line(stored) };
    messages.iter().map(marked).collect()
}

/// A time as models read it, to the second.
pub(super) fn when(moment: Moment) -> Option<String> {
    let since = SignedDuration::try_from_secs_f64(moment.seconds()).ok()?;
    let time = Timestamp::from_duration(since).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// What a search looks through: the text and the calls.
pub(super) fn everything(message: &Message) -> String {
    let calls = match message {
        Message::Assistant(assistant) => assistant.tool_calls.as_slice(),
        _ => &[],
    };
    let calls = calls.iter().map(|call| format!("{} {}", call.function.name, call.function.arguments.as_str()));
    Some(message.text()).filter(|text| !text.is_empty()).into_iter().chain(calls).collect::<Vec<_>>().join("\n")
}

/// The most that each text may have, so that all of them stay within the room.
fn share(mut lengths: Vec<usize>, room: usize) -> usize {
    lengths.sort_unstable();
    let (mut left, mut waiting) = (room, lengths.len());
    for length in lengths {
        let fair = left / waiting;
        if length > fair {
            return fair;
        }
        left -= length;
        waiting -= 1;
    }
    usize::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Assistant, CallId, ToolCall};
    use proptest::prelude::*;

    const KEY: &str = "sk-ant-api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKl";
    /// A piece of it that nobody would take for a secret.
    const PIECE: &str = "OpQrStUvWxYz0123456789AbCdEfGhIjKl";

    fn a_line(content: &str) -> Line {
        let (id, role) = (MessageId(1), Role::User);
        let content = content.to_owned();
        Line { id, role, when: None, content, full_length: None, tool_name: None, tool_calls: Vec::new(), anchor: None }
    }

    #[test]
    fn short_texts_leave_their_room_to_long_ones() {
        let pen = Pen { cover: Cover::Secrets, room: 30 };
        let mut lines = [a_line("four"), a_line(&"é".repeat(50)), a_line(&"x".repeat(13)), a_line("")];
        pen.fit(&mut lines);
        let shown: Vec<(usize, Option<usize>)> =
            lines.iter().map(|line| (line.content.chars().count(), line.full_length)).collect();
        assert_eq!(shown, [(4, None), (13, Some(50)), (13, None), (0, None)]);
        assert!(lines[1].content.ends_with("é…"));
    }

    #[test]
    fn a_secret_is_covered_before_the_cut_goes_through_it() {
        let pen = Pen { cover: Cover::Secrets, room: 20 };
        let mut lines = [a_line(&format!("the key is {KEY} ok"))];
        pen.fit(&mut lines);
        assert!(lines[0].content.starts_with("the key is «red") && !lines[0].content.contains("sk-"), "{lines:?}");
    }

    #[test]
    fn a_snippet_shows_no_piece_of_a_secret() {
        let pen = Pen::new(Cover::Secrets, 100_000);
        let message = Message::user(format!("Long before: {KEY} is the deploy key."));
        let seen = pen.snippet(&format!("…{} is the >>>deploy<<< key.", PIECE), Some(&message));
        assert!(seen.contains("is the deploy key.") && !seen.contains(PIECE), "{seen}");
        let seen = pen.snippet(">>>sk<<<-ant-api03-AbCd", Some(&message));
        assert!(seen.starts_with("Long before: «redacted:"), "{seen}");

        let call = ToolCall::new(CallId::new("c"), "t", format!(r#"{{"key":"{KEY}"}}"#).as_str());
        let calls = Assistant { tool_calls: vec![call], ..Assistant::default() };
        let seen = pen.snippet(&format!(">>>key<<<\":\"{KEY}"), Some(&Message::Assistant(calls)));
        assert!(!seen.contains(PIECE), "{seen}");
        let plain = Message::user("we deploy on fridays");
        assert_eq!(pen.snippet("we >>>deploy<<< on fridays", Some(&plain)), "we >>>deploy<<< on fridays");
    }

    proptest! {
        #[test]
        fn all_texts_together_fit(lengths in prop::collection::vec(0_usize..5_000, 0..60), room in 0_usize..20_000) {
            let most = share(lengths.clone(), room);
            let cut = |most: usize| lengths.iter().map(|length| (*length).min(most)).sum::<usize>();
            prop_assert!(cut(most) <= room);
            prop_assert!(most == usize::MAX || cut(most + 1) > room - room.min(lengths.len()), "nothing is wasted");
        }
    }
}
