//! What GitHub Copilot wants to hear with every request, whatever the protocol: what the conversation is about, whether a
//! person or the agent speaks (only the former is counted against a plan), and whether there is something to see.

use super::Target;
use crate::provider::Quirk;
use hermes_types::{Concession, Content, Message, PartView, Request, Role};

const INTENT: &str = "openai-intent";

pub(super) fn serves(target: &Target) -> bool {
    target.provider.has(Quirk::CopilotHeaders) || target.host_is("githubcopilot.com")
}

/// The headers beyond those that the row of the vendor names already; none for other vendors.
pub(super) fn headers(request: &Request, target: &Target) -> Vec<(&'static str, String)> {
    if !serves(target) {
        return Vec::new();
    }
    let mut headers = Vec::new();
    if !target.provider.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case(INTENT)) {
        headers.push((INTENT, "conversation-edits".to_owned()));
    }
    headers.push(("x-initiator", initiator(request).to_owned()));
    if !request.concedes(Concession::Images) && request.messages.iter().any(|message| shows_image(message)) {
        headers.push(("copilot-vision-request", "true".to_owned()));
    }
    headers
}

/// A turn is the person's until the model has spoken in it.
fn initiator(request: &Request) -> &'static str {
    match request.messages.last().map(|message| message.role()) {
        Some(Role::Tool | Role::Assistant) => "agent",
        Some(Role::System | Role::User) | None => "user",
    }
}

fn shows_image(message: &Message) -> bool {
    let Some(Content::Parts(parts)) = message.content() else { return false };
    parts.iter().any(|part| matches!(part.view(), PartView::Image { .. }))
}
