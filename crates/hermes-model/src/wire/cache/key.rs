//! A name for how a request begins. Providers that keep beginnings by themselves send requests of one name to the machine
//! that has it.
//!
//! The name is made of instructions and tools, so conversations that open alike share it, and one that goes on as another
//! session behind a compression keeps it. Where there is neither, the first message stands for them: it stays too.

use crate::wire::Target;
use hermes_types::{Concession, Request};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// The chat endpoints that document `prompt_cache_key`. Others may refuse a field they do not know.
const HOSTS: [&str; 4] = ["api.openai.com", "api.mistral.ai", "api.moonshot.ai", "api.moonshot.cn"];

/// As much of the digest as tells beginnings apart.
const LENGTH: usize = 24;

/// Whether a chat endpoint wants to hear the key.
pub(in crate::wire) fn takes_key(target: &Target) -> bool {
    target.cache.is_some() && HOSTS.iter().any(|host| target.host_is(host))
}

/// The key of a request with these instructions and these tools, told by name. The order of the tools does not count.
pub(in crate::wire) fn key<T: Serialize>(
    request: &Request,
    instructions: &str,
    tools: &[T],
    name: impl Fn(&T) -> Option<&str>,
) -> Option<String> {
    if request.concedes(Concession::CacheHints) {
        return None;
    }
    let mut by_name: Vec<&T> = tools.iter().collect();
    by_name.sort_by_key(|tool| name(tool));
    let opening =
        if instructions.is_empty() && tools.is_empty() { request.messages.first()?.text() } else { String::new() };
    let mut digest = Sha256::new();
    digest.update(instructions);
    digest.update([0]);
    // Names, texts and schemas always have a JSON form.
    digest.update(serde_json::to_vec(&by_name).unwrap_or_default());
    digest.update(opening);
    let mut hex = hex::encode(digest.finalize());
    hex.truncate(LENGTH);
    Some(format!("pck_{hex}"))
}
