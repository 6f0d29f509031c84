//! What a provider keeps of a prompt from one request to the next, and how it is asked to.
//!
//! Some providers keep what is marked: [`policy`] says who and for how long, [`Breakpoints`] where the marks stand. A mark
//! is a position and never an edit: the encoders look it up while they write, so that no message is copied for it and the
//! text of a message has the same bytes with a mark and without. Marking is therefore the last step of all, behind
//! everything that trims, joins or leaves out.
//!
//! Others keep beginnings by themselves and want to know which requests begin alike: [`key`] tells them.
//!
//! All of it is a function of the request and its receiver, so that a recorded request can be written again, and another
//! model that steps in gets its own.

mod breakpoints;
mod key;
mod policy;

#[cfg(test)]
mod tests;

pub(super) use breakpoints::Breakpoints;
pub(super) use key::{key, takes_key};

use super::{ApiMode, Target};
use hermes_types::{Concession, Message, Request};
use serde::ser::{Serialize, SerializeMap, Serializer};

/// The name of a mark on the wire, and of the field by which a person arranges caching for an endpoint.
pub(super) const FIELD: &str = "cache_control";

/// How long a provider keeps what was marked, counted from its last use. Writing costs more the longer it is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ttl {
    #[default]
    FiveMinutes,
    Hour,
}

impl Ttl {
    const ALL: [Self; 2] = [Self::FiveMinutes, Self::Hour];

    /// The word of `prompt_caching.cache_ttl`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|ttl| ttl.as_str().eq_ignore_ascii_case(word.trim()))
    }
}

/// The end of a piece that the provider should keep, as it is written. Five minutes go without saying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Marker(Ttl);

impl Serialize for Marker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("type", "ephemeral")?;
        if self.0 != Ttl::FiveMinutes {
            map.serialize_entry("ttl", self.0.as_str())?;
        }
        map.end()
    }
}

/// The marks this request is written with, all of one kind; `None` where marking is of no use or not wanted.
fn marker(request: &Request, target: &Target, mode: ApiMode) -> Option<Marker> {
    let wanted = target.cache?;
    let longest = policy::policy(target, mode, &request.model)?;
    // Whoever marks by settings of their own would get one mark too many.
    let is_arranged = target.extra_body.contains_key(FIELD);
    let wanted = (!is_arranged && !request.concedes(Concession::CacheHints) && will_be_read(request)).then_some(wanted);
    wanted.map(|wanted| Marker(wanted.min(longest)))
}

/// Writing costs a quarter more than not writing, so what nobody will read again is not written: a question that belongs
/// to no conversation, and one that has neither tools nor a reply in it, as side jobs have not. A conversation without
/// tools pays for its first request once more, at its second.
fn will_be_read(request: &Request) -> bool {
    let has_begun = || request.messages.iter().any(|message| matches!(**message, Message::Assistant(_)));
    request.session.is_some() && (!request.tools.is_empty() || has_begun())
}
