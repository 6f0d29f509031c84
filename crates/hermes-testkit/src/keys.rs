//! Which credential belongs to which host, and what a request shows of it.

use crate::http::Received;

/// Where a credential may travel.
const CREDENTIAL_HEADERS: [&str; 4] = ["authorization", "x-api-key", "x-goog-api-key", "api-key"];

#[derive(Debug, Default)]
pub(crate) struct KeyRules {
    /// Host names first asked; `None` holds for all others.
    rules: Vec<(Option<String>, Rule)>,
    never: Vec<String>,
}

#[derive(Debug, Clone)]
enum Rule {
    Expect(String),
    Forbid,
}

impl KeyRules {
    pub(crate) fn expect(&mut self, host: Option<&str>, key: &str) {
        self.set(host, Rule::Expect(key.to_owned()));
    }

    pub(crate) fn forbid(&mut self, host: Option<&str>) {
        self.set(host, Rule::Forbid);
    }

    pub(crate) fn never_show(&mut self, secret: &str) {
        self.never.push(secret.to_owned());
    }

    fn set(&mut self, host: Option<&str>, rule: Rule) {
        self.rules.retain(|(known, _)| known.as_deref() != host);
        self.rules.push((host.map(str::to_owned), rule));
    }

    fn rule_for(&self, host: &str) -> Option<&Rule> {
        let find = |wanted: Option<&str>| self.rules.iter().find(|(known, _)| known.as_deref() == wanted);
        find(Some(host)).or_else(|| find(None)).map(|(_, rule)| rule)
    }

    pub(crate) fn complaints(&self, request: &Received) -> Vec<String> {
        let shown = credentials(request);
        let mut complaints = Vec::new();
        match self.rule_for(request.host_name()) {
            Some(Rule::Expect(key)) if shown.is_empty() => {
                complaints.push(format!("no credential, but this host needs {}", hint(key)));
            }
            Some(Rule::Expect(key)) => {
                let foreign = shown.iter().filter(|(_, value)| value != key);
                let complaint = |(place, value): &(&str, String)| {
                    format!("`{place}` carries {}, but this host may only see {}", hint(value), hint(key))
                };
                complaints.extend(foreign.map(complaint));
            }
            Some(Rule::Forbid) => {
                let complaint = |(place, value): &(&str, String)| {
                    format!("`{place}` carries {}, but this host may see no credential", hint(value))
                };
                complaints.extend(shown.iter().map(complaint));
            }
            None => {}
        }
        complaints.extend(self.never.iter().filter_map(|secret| shown_in(request, secret)));
        complaints
    }
}

fn credentials(request: &Received) -> Vec<(&'static str, String)> {
    let in_headers = CREDENTIAL_HEADERS.into_iter().flat_map(|name| {
        request.headers.iter().filter(move |(key, _)| key == name).map(move |(_, value)| (name, bare(value).to_owned()))
    });
    let in_query = url::form_urlencoded::parse(request.query.as_bytes())
        .filter(|(name, _)| name == "key")
        .map(|(_, value)| ("?key", value.into_owned()));
    in_headers.chain(in_query).filter(|(_, value)| !value.is_empty()).collect()
}

/// The credential without the word for its scheme.
fn bare(value: &str) -> &str {
    value.split_once(' ').map_or(value, |(_scheme, credential)| credential).trim()
}

fn shown_in(request: &Received, secret: &str) -> Option<String> {
    let body = String::from_utf8_lossy(&request.raw);
    let header = request.headers.iter().find(|(_, value)| value.contains(secret));
    let place = match header {
        Some((name, _)) => format!("header `{name}`"),
        None if body.contains(secret) => "the body".to_owned(),
        None if request.query.contains(secret) || request.path.contains(secret) => "the address".to_owned(),
        None => return None,
    };
    Some(format!("{place} shows {}, which must never come here", hint(secret)))
}

/// Enough of a key to know which one it was, not enough to use it.
fn hint(key: &str) -> String {
    let shown: String = key.chars().take(12).collect();
    if shown == key { format!("`{shown}`") } else { format!("`{shown}…` ({} characters)", key.chars().count()) }
}
