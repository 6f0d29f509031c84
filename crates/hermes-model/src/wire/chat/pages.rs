//! What was written of a conversation already, so that a request writes only what is new.
//!
//! A message never changes once it was sent, and what is written of it depends on nothing but itself and the [`Rules`]
//! of the request. So each is written once and copied from then on. Messages that bear a mark are written anew.

use super::message::{Rules, WireMessage};
use hermes_types::Message;
use serde_json::value::{RawValue, to_raw_value};
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Pages {
    rules: Option<Rules>,
    pages: Vec<Page>,
}

#[derive(Debug)]
struct Page {
    message: Arc<Message>,
    /// `None` where it could not be written by itself.
    written: Option<Box<RawValue>>,
}

impl Pages {
    /// Writes what is not there yet.
    pub(super) fn write(&mut self, messages: &[Arc<Message>], rules: &Rules) {
        if self.rules.as_ref() != Some(rules) {
            *self = Self { rules: Some(rules.clone()), pages: Vec::new() };
        }
        self.pages.truncate(messages.len());
        for (place, message) in messages.iter().enumerate() {
            let known = self.pages.get(place).is_some_and(|page| Arc::ptr_eq(&page.message, message));
            if known {
                continue;
            }
            let written = to_raw_value(&WireMessage { message, rules, marker: None }).ok();
            let page = Page { message: message.clone(), written };
            match self.pages.get_mut(place) {
                Some(old) => *old = page,
                None => self.pages.push(page),
            }
        }
    }

    /// The message at this place, as it is written without a mark.
    pub(super) fn at(&self, place: usize) -> Option<&RawValue> {
        self.pages.get(place)?.written.as_deref()
    }
}
