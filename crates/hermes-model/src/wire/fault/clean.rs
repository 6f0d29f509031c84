//! Foreign text made fit for a person's screen: no markup, no control characters, no secrets.

use hermes_types::clip;

/// More than this is not read, however large a page a proxy sends.
const LONGEST_TEXT: usize = 8_000;

const REDACTED: &str = "«redacted»";

/// How keys and tokens of the known vendors begin.
const KEY_PREFIXES: [&str; 22] = [
    "sk-",
    "sk_",
    "rk-",
    "pk-",
    "gsk_",
    "xai-",
    "aiza",
    "ya29.",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "hf_",
    "nvapi-",
    "pplx-",
    "csk-",
    "fw_",
    "tgp_",
    "r8_",
    "eyj",
    "akia",
];
/// What a word with such a beginning needs besides it to be more than an example (`sk-...`).
const SHORTEST_KEY: usize = 8;
/// Letters and digits in one piece of this length are no word; a name has hyphens and dots in it.
const LONGEST_PIECE: usize = 32;
/// Ids a provider's support asks for.
const PUBLIC_PREFIXES: [&str; 3] = ["req_", "resp_", "msg_"];

/// One line of plain text: white space collapsed, secrets taken out.
pub(crate) fn sentence(text: &str) -> String {
    let plain: String = clip(text, LONGEST_TEXT).chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let mut out = String::with_capacity(plain.len());
    let mut after_bearer = false;
    for word in plain.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        redact_word(word, after_bearer, &mut out);
        after_bearer = word.trim_matches(|c: char| !c.is_alphanumeric()).eq_ignore_ascii_case("bearer");
    }
    out
}

/// Copies a word, less the runs in it that look like keys (`key=AIza…`, `"sk-…".`).
fn redact_word(word: &str, after_bearer: bool, out: &mut String) {
    let mut run = String::new();
    for c in word.chars() {
        if is_key_character(c) {
            run.push(c);
            continue;
        }
        flush(&mut run, after_bearer, out);
        out.push(c);
    }
    flush(&mut run, after_bearer, out);
}

fn flush(run: &mut String, after_bearer: bool, out: &mut String) {
    let is_secret = looks_like_key(run) || (after_bearer && run.len() >= SHORTEST_KEY);
    out.push_str(if is_secret { REDACTED } else { run });
    run.clear();
}

fn is_key_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '*')
}

fn looks_like_key(run: &str) -> bool {
    let lower = run.to_ascii_lowercase();
    let known = KEY_PREFIXES.iter().any(|prefix| {
        lower.match_indices(prefix).any(|(at, _)| {
            let (before, key) = lower.split_at_checked(at).unwrap_or_default();
            let rest = key.strip_prefix(prefix).unwrap_or_default();
            let is_long = rest.len() >= SHORTEST_KEY
                && rest.bytes().any(|b| b.is_ascii_digit() || b == b'*' || b == b'_')
                || rest.len() >= 3 * SHORTEST_KEY;
            // `Bearer%20sk-…` is a key, `disk-…` is a word.
            is_long && !before.ends_with(|c: char| c.is_ascii_alphabetic())
        })
    });
    let is_public = PUBLIC_PREFIXES.iter().any(|prefix| lower.starts_with(prefix));
    let opaque = !is_public && run.split(['-', '.']).any(is_opaque);
    known || opaque
}

fn is_opaque(piece: &str) -> bool {
    piece.len() >= LONGEST_PIECE
        && piece.bytes().any(|b| b.is_ascii_digit())
        && piece.bytes().any(|b| b.is_ascii_alphabetic())
}

/// The text of a page: its title when it has one, else what stands between the tags.
pub(super) fn page_text(page: &str) -> String {
    let page = clip(page, 8 * LONGEST_TEXT);
    let lower = page.to_ascii_lowercase();
    if !lower.contains("<html") && !lower.contains("<!doctype") && !lower.contains("<body") {
        return page;
    }
    let title = between(&page, &lower, "<title", "</title").map(|inner| inner.split_once('>').map_or("", |(_, t)| t));
    match title.map(str::trim).filter(|title| !title.is_empty()) {
        Some(title) => unescaped(title),
        None => unescaped(&without_tags(&page)),
    }
}

/// What stands between two marks; `lower` is `text` in lower case, byte for byte as long.
fn between<'a>(text: &'a str, lower: &str, open: &str, close: &str) -> Option<&'a str> {
    let start = lower.find(open)? + open.len();
    let length = lower.get(start..)?.find(close)?;
    text.get(start..start + length)
}

fn without_tags(page: &str) -> String {
    let mut text = String::new();
    let mut hidden: Option<&str> = None;
    for piece in page.split('<') {
        let (tag, words) = piece.split_once('>').unwrap_or(("", piece));
        let tag = tag.trim().to_ascii_lowercase();
        match hidden {
            Some(name) if tag.strip_prefix('/').is_some_and(|rest| rest.starts_with(name)) => hidden = None,
            Some(_) => continue,
            None => hidden = ["script", "style"].into_iter().find(|name| tag.starts_with(name)),
        }
        if hidden.is_none() {
            text.push_str(words);
            text.push(' ');
        }
    }
    text
}

fn unescaped(text: &str) -> String {
    let entities = [("&nbsp;", " "), ("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    entities.iter().fold(text.to_owned(), |text, (entity, plain)| text.replace(entity, plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_never_reach_a_person() {
        let table = [
            (
                "Incorrect API key provided: sk-proj-abc1234567. See docs.",
                "Incorrect API key provided: «redacted» See docs.",
            ),
            ("Incorrect API key provided: sk-ab****wxyz9.", "Incorrect API key provided: «redacted»"),
            ("header Authorization: Bearer abcdefgh12 refused", "header Authorization: Bearer «redacted» refused"),
            ("sent Bearer%20sk-abc1234567 and task-1234567890", "sent Bearer%«redacted» and task-1234567890"),
            ("GET /v1?key=AIzaSyA1234567890 failed", "GET /v1?key=«redacted» failed"),
            ("token 0123456789abcdef0123456789abcdef01234567", "token «redacted»"),
            ("zai key 0123456789abcdef0123456789abcdef.AbCd was refused", "zai key «redacted» was refused"),
            (
                "region asia-southeast1 req_0123456789abcdef0123456789abcdef",
                "region asia-southeast1 req_0123456789abcdef0123456789abcdef",
            ),
            ("use a key like sk-... please", "use a key like sk-... please"),
            ("model sk-learn is fine", "model sk-learn is fine"),
            ("request 123e4567-e89b-12d3-a456-426614174000", "request 123e4567-e89b-12d3-a456-426614174000"),
            (
                "metric generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "metric generativelanguage.googleapis.com/generate_content_free_tier_requests",
            ),
        ];
        for (text, expected) in table {
            assert_eq!(sentence(text), expected);
        }
    }

    #[test]
    fn a_page_is_its_title_or_its_words() {
        let titled =
            "<!DOCTYPE html><html><head><title>api.x.ai | 502: Bad gateway</title></head><body>x</body></html>";
        assert_eq!(page_text(titled), "api.x.ai | 502: Bad gateway");
        let untitled =
            "<html><style>p{}</style><body><h1>403 &amp; out</h1><script>if(a<b)c()</script><p>bye</p></body></html>";
        assert_eq!(sentence(&page_text(untitled)), "403 & out bye");
        assert_eq!(page_text("plain <b> text"), "plain <b> text");
    }
}
