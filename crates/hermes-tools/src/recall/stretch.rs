//! Which messages of a conversation are shown. Pure: a list in, parts of it out.

use hermes_types::{MessageId, Role, RowState, StoredMessage};

/// The messages around one of them, and what surrounds those.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stretch<'m> {
    pub(super) before: &'m [StoredMessage],
    pub(super) shown: &'m [StoredMessage],
    pub(super) after: &'m [StoredMessage],
}

/// A conversation without its middle.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ends<'m> {
    pub(super) first: &'m [StoredMessage],
    pub(super) between: &'m [StoredMessage],
    pub(super) last: &'m [StoredMessage],
}

/// What counts in a conversation: what was said by one of these and not taken back. The anchor counts whoever said it.
pub(super) fn said(messages: Vec<StoredMessage>, roles: &[Role], anchor: Option<MessageId>) -> Vec<StoredMessage> {
    let counts = |stored: &StoredMessage| {
        let is_wanted = roles.contains(&stored.message.role()) || Some(stored.id) == anchor;
        is_wanted && stored.foreign_role.is_none() && stored.state != RowState::Undone
    };
    messages.into_iter().filter(counts).collect()
}

/// The anchor with at most `window` messages on each side; nothing where the anchor is not among them.
pub(super) fn around(messages: &[StoredMessage], anchor: MessageId, window: usize) -> Option<Stretch<'_>> {
    let place = messages.iter().position(|stored| stored.id == anchor)?;
    let (before, rest) = messages.split_at(place.saturating_sub(window));
    let length = place - before.len() + window + 1;
    let (shown, after) = rest.split_at(length.min(rest.len()));
    Some(Stretch { before, shown, after })
}

/// The first and the last messages, and those between them.
pub(super) fn ends(messages: &[StoredMessage], first: usize, last: usize) -> Ends<'_> {
    let (first, rest) = messages.split_at(first.min(messages.len()));
    let (between, last) = rest.split_at(rest.len().saturating_sub(last));
    Ends { first, between, last }
}

/// At most so many from the beginning.
pub(super) fn head(messages: &[StoredMessage], most: usize) -> &[StoredMessage] {
    messages.get(..most).unwrap_or(messages)
}

/// At most so many from the end.
pub(super) fn tail(messages: &[StoredMessage], most: usize) -> &[StoredMessage] {
    messages.get(messages.len().saturating_sub(most)..).unwrap_or(messages)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hermes_types::{Message, Moment, Object, SessionId};
    use proptest::prelude::*;

    fn stored(id: i64, role: Role) -> StoredMessage {
        let message = match role {
            Role::System => Message::system("x"),
            Role::User => Message::user("x"),
            Role::Assistant => Message::assistant("x"),
            Role::Tool => Message::tool(&hermes_types::CallId::new("c"), "t", "x"),
        };
        StoredMessage {
            id: MessageId(id),
            session_id: SessionId::new("s"),
            at: Moment::default(),
            token_count: None,
            sent: None,
            state: RowState::Live,
            message,
            foreign_role: None,
            columns: Object::new(),
        }
    }

    fn ids(messages: &[StoredMessage]) -> Vec<i64> {
        messages.iter().map(|stored| stored.id.0).collect()
    }

    #[test]
    fn what_was_taken_back_or_is_no_message_does_not_count_and_the_anchor_does() {
        let mut messages: Vec<StoredMessage> =
            [Role::System, Role::User, Role::Tool, Role::Assistant, Role::Tool, Role::User, Role::User]
                .into_iter()
                .zip(1..)
                .map(|(role, id)| stored(id, role))
                .collect();
        messages[5].state = RowState::Undone;
        messages[6].foreign_role = Some("session_meta".to_owned());
        let roles = [Role::User, Role::Assistant];
        assert_eq!(ids(&said(messages.clone(), &roles, None)), [2, 4]);
        assert_eq!(ids(&said(messages.clone(), &roles, Some(MessageId(5)))), [2, 4, 5]);
        assert_eq!(ids(&said(messages, &roles, Some(MessageId(6)))), [2, 4], "what was taken back stays so");
    }

    proptest! {
        #[test]
        fn parts_are_the_whole_in_order_and_hold_the_anchor(count in 1_i64..60, at in 0_i64..60, window in 1_usize..21) {
            let messages: Vec<StoredMessage> = (0..count).map(|id| stored(id, Role::User)).collect();
            let found = around(&messages, MessageId(at), window);
            prop_assert_eq!(found.is_some(), at < count);
            if let Some(Stretch { before, shown, after }) = found {
                prop_assert_eq!([before, shown, after].concat(), messages.clone());
                prop_assert!(ids(shown).contains(&at) && shown.len() <= 2 * window + 1);
                prop_assert!(before.is_empty() || ids(shown).first() == Some(&(at - window as i64)));
                prop_assert!(after.is_empty() || ids(shown).last() == Some(&(at + window as i64)));
            }
            let Ends { first, between, last } = ends(&messages, window, 10);
            prop_assert_eq!([first, between, last].concat(), messages.clone());
            prop_assert!(between.is_empty() || (first.len() == window && last.len() == 10));
            prop_assert_eq!(head(&messages, 3).len(), tail(&messages, 3).len());
        }
    }
}
