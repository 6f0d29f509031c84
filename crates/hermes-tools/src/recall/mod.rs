//! `session_search`: earlier conversations, found and read again.
//!
//! Five questions, told apart by what is given (`request.rs`): browse what was last, discover where something was said,
//! read the two ends of a conversation, scroll to any place in it, read one message in full. No model is asked; what comes
//! back are the words that were said, with secrets covered, all of them within one room (`show.rs`). A pure read: it goes
//! through the store port alone and changes nothing. The program's own sessions are never proposed, nor what the model
//! still sees of the present conversation (`present.rs`).

mod archive;
mod browse;
mod discover;
mod present;
mod request;
mod scroll;
mod show;
mod stretch;
mod whole;

use crate::desk::Cx;
use crate::effects::Effects;
use crate::gate::Permit;
use crate::tool::{Card, Output, Repeats, Tool, ToolError};
use archive::Archive;
use hermes_core::store::SessionStore;
pub(crate) use request::Args;
use request::{Request, Shape};
use show::Pen;
use std::sync::Arc;

const DESCRIPTION: &str = "Earlier conversations with this person, word for word. query finds where something was said; \
session_id alone reads the beginning and the end of a conversation; with around_message_id it shows what was said \
around a match (take an id from either end to go on; a small window shows more of each message); message_id alone gives \
one message in full, from offset on; nothing at all lists recent ones. Use it when the person refers to something from \
before, instead of asking them to repeat it.";

pub(crate) struct SessionSearch {
    /// None where conversations are not kept.
    store: Option<Arc<dyn SessionStore>>,
}

impl SessionSearch {
    pub(crate) fn new(store: Option<Arc<dyn SessionStore>>) -> Self {
        Self { store }
    }
}

impl Tool for SessionSearch {
    type Args = Args;

    fn card(&self) -> Card {
        let card = Card::new("session_search", "session_search", DESCRIPTION, request::parameters());
        Card { emoji: "🔍", repeats: Repeats::Idempotent, ..card }
    }

    fn effects(&self, args: &Args, _cx: &Cx) -> Result<Effects, ToolError> {
        Request::of(args).map(|_| Effects::none())
    }

    async fn call(&self, args: Args, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let Request { shape, roles } = Request::of(&args)?;
        let Some(store) = &self.store else {
            return Err(ToolError::told("no conversations are kept here, so there is nothing to search"));
        };
        let archive = Archive { store: store.as_ref(), asking: &cx.desk.session };
        let pen = Pen::new(cx.desk.settings().cover, cx.desk.room.sizes().result);
        match shape {
            Shape::Whole { message, offset } => whole::whole(archive, &pen, (message, offset)).await,
            Shape::Scroll { session, anchor, window } => {
                scroll::scroll(archive, &pen, &roles, (&session, anchor, window)).await
            }
            Shape::Read { session, query } => scroll::read(archive, &pen, &roles, (&session, query.as_deref())).await,
            Shape::Discover { query, order, limit } => {
                let quest = discover::Quest { query: &query, order, limit, roles: &roles };
                discover::discover(archive, &pen, quest).await
            }
            Shape::Browse { limit } => browse::browse(archive, &pen, limit).await,
        }
    }
}
