//! `mcp_servers.<name>` of the settings, read once into plain values.
//!
//! What cannot be used is named with its server and its key and gets its default; a server that cannot be started at all
//! is left out, and the reason is kept for whoever asks. `${VAR}` and `${env:VAR}` stand for variables; one that is not
//! set stays as it is written, so that nothing is silently started with an empty key.

mod reader;

pub use reader::Problem;

use hermes_types::anything_but_no;
use reader::Reader;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use url::Url;

/// The section of the settings.
pub const SECTION: &str = "mcp_servers";
/// The variable that starts the program without anything foreign.
pub const SAFE_MODE: &str = "HERMES_SAFE_MODE";

const CALL: Duration = Duration::from_secs(300);
const CONNECT: Duration = Duration::from_secs(60);
const KEEPALIVE: Duration = Duration::from_secs(180);
const SHORTEST_KEEPALIVE: Duration = Duration::from_secs(5);

/// One server that may be started.
#[derive(Debug, Clone, PartialEq)]
pub struct ServerSettings {
    pub name: String,
    pub place: Place,
    /// The longest one call may take.
    pub timeout: Duration,
    /// The longest a connection may take to be made.
    pub connect_timeout: Duration,
    pub keepalive: Duration,
    pub recycle: Recycle,
    pub order: CallOrder,
    pub filter: Filter,
    /// Whether resources and prompts of the server become tools.
    pub resources: bool,
    pub prompts: bool,
    pub sampling: SamplingSettings,
    pub elicitation: ElicitationSettings,
}

impl ServerSettings {
    /// Whether a tool with this name would be one of its own.
    pub fn owns(&self, tool: &str) -> bool {
        tool.starts_with(&crate::name::prefix(&self.name))
    }
}

/// Where a server is.
#[derive(Debug, Clone, PartialEq)]
pub enum Place {
    /// A program of this machine, spoken to through its input and output.
    Program {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    },
    Remote(Box<Remote>),
}

/// A server behind an address.
#[derive(Clone, PartialEq)]
pub struct Remote {
    pub url: Url,
    pub wire: Wire,
    /// Sent to the origin of `url` and to nobody else.
    pub headers: BTreeMap<String, String>,
    pub auth: Auth,
    pub tls: Tls,
}

impl std::fmt::Debug for Remote {
    /// Headers may hold keys; their names tell enough.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let headers: Vec<&String> = self.headers.keys().collect();
        let Self { url, wire, tls, .. } = self;
        f.debug_struct("Remote")
            .field("url", url)
            .field("wire", wire)
            .field("headers", &headers)
            .field("tls", tls)
            .finish()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    StreamableHttp,
    /// The older protocol: one stream of events, and an address to post to that the server names.
    Sse,
}

#[derive(Clone, PartialEq)]
pub enum Auth {
    /// What the headers say.
    Headers,
    OAuth(OAuthSettings),
}

#[derive(Clone, PartialEq, Default)]
pub struct OAuthSettings {
    pub client_id: Option<String>,
    pub client_secret: Option<String>,
    pub scopes: Vec<String>,
    /// The port the browser comes back to; none is any free one.
    pub redirect_port: Option<u16>,
    /// The whole address the browser comes back to, where it is not this machine's own.
    pub redirect_uri: Option<String>,
    pub redirect_host: Option<String>,
    pub client_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tls {
    pub trust: Trust,
    /// PEM files with the certificate of this client and its key.
    pub identity: Option<(String, Option<String>)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Trust {
    #[default]
    Usual,
    /// Certificates of this file besides the usual ones.
    File(String),
    /// The owner switched the check off.
    Anybody,
}

/// When a program is ended to be started anew at the next call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Recycle {
    pub idle: Option<Duration>,
    pub lifetime: Option<Duration>,
}

/// Whether a server takes several calls at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallOrder {
    #[default]
    OneByOne,
    SideBySide,
}

/// Which tools of a server are taken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Filter {
    #[default]
    All,
    Only(BTreeSet<String>),
    AllBut(BTreeSet<String>),
}

impl Filter {
    pub fn takes(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Only(names) => names.contains(tool),
            Self::AllBut(names) => !names.contains(tool),
        }
    }
}

/// What a server may ask of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SamplingSettings {
    pub enabled: bool,
    pub model: Option<String>,
    pub max_tokens: u32,
    pub timeout: Duration,
    /// Questions in any minute.
    pub max_per_minute: usize,
    /// Models it may name; none is any.
    pub allowed_models: Vec<String>,
    /// Answers in a row that may call tools of the server.
    pub max_tool_rounds: u32,
}

/// What a server may ask of the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ElicitationSettings {
    pub enabled: bool,
    pub timeout: Duration,
}

/// Everything that was found in the section.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Found {
    pub servers: Vec<ServerSettings>,
    /// Names of those that are switched off.
    pub disabled: Vec<String>,
    pub problems: Vec<Problem>,
}

/// Reads the section out of a whole `config.yaml`. `variable` is where `${…}` is looked up.
pub fn read(config: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Found {
    let mut found = Found::default();
    let Some(servers) = config.get(SECTION).filter(|section| !section.is_null()) else { return found };
    let Some(servers) = servers.as_object() else {
        found.problems.push(Problem::of("", "", "it has to be a section with one entry for each server"));
        return found;
    };
    let safe = variable(SAFE_MODE).is_some_and(|word| anything_but_no(&word));
    for (name, entry) in servers {
        let entry = interpolated(entry, variable);
        let mut reader = Reader::new(name, &entry);
        if !reader.is_section() {
            found.problems.push(Problem::of(name, "", "it has to be a section with `command` or `url`"));
            continue;
        }
        if safe || !reader.flag("enabled", true) {
            found.disabled.push(name.clone());
        } else {
            found.servers.extend(server(&mut reader));
        }
        found.problems.extend(reader.problems);
    }
    found
}

fn server(reader: &mut Reader<'_>) -> Option<ServerSettings> {
    let place = place(reader)?;
    let only = reader.names("tools.include");
    let but = reader.names("tools.exclude");
    let filter = match (only, but) {
        (Some(only), _) => Filter::Only(only),
        (None, Some(but)) => Filter::AllBut(but),
        (None, None) => Filter::All,
    };
    let side_by_side = reader.flag("supports_parallel_tool_calls", false);
    Some(ServerSettings {
        name: reader.server.to_owned(),
        place,
        timeout: reader.seconds("timeout").unwrap_or(CALL),
        connect_timeout: reader.seconds("connect_timeout").unwrap_or(CONNECT),
        keepalive: reader.seconds("keepalive_interval").unwrap_or(KEEPALIVE).max(SHORTEST_KEEPALIVE),
        recycle: Recycle {
            idle: reader.seconds("idle_timeout_seconds").or_else(|| reader.seconds("lifecycle.idle_timeout_seconds")),
            lifetime: reader
                .seconds("max_lifetime_seconds")
                .or_else(|| reader.seconds("lifecycle.max_lifetime_seconds")),
        },
        order: if side_by_side { CallOrder::SideBySide } else { CallOrder::OneByOne },
        filter,
        resources: reader.flag("tools.resources", true),
        prompts: reader.flag("tools.prompts", true),
        sampling: SamplingSettings {
            enabled: reader.flag("sampling.enabled", true),
            model: reader.text("sampling.model"),
            max_tokens: reader.whole("sampling.max_tokens_cap").unwrap_or(4096),
            timeout: reader.seconds("sampling.timeout").unwrap_or(Duration::from_secs(30)),
            max_per_minute: reader.whole("sampling.max_rpm").unwrap_or(10) as usize,
            allowed_models: reader.texts("sampling.allowed_models").unwrap_or_default(),
            max_tool_rounds: reader.whole("sampling.max_tool_rounds").unwrap_or(5),
        },
        elicitation: ElicitationSettings {
            enabled: reader.flag("elicitation.enabled", true),
            timeout: reader.seconds("elicitation.timeout").unwrap_or(CALL),
        },
    })
}

fn place(reader: &mut Reader<'_>) -> Option<Place> {
    let (command, url) = (reader.text("command"), reader.text("url"));
    match (command, url) {
        (command, Some(url)) => {
            if command.is_some() {
                reader.object_to("command", "there is a `url` too, which counts; remove one of them");
            }
            remote(reader, &url).map(|remote| Place::Remote(Box::new(remote)))
        }
        (Some(command), None) => {
            let args = reader.texts("args").unwrap_or_default();
            let env = reader.map("env");
            if let Some(objection) = crate::vet::objection(&command, &args) {
                reader.object_to("command", objection);
                return None;
            }
            Some(Place::Program { command, args, env })
        }
        (None, None) => {
            reader.object_to("", "it needs `command` (a program of this machine) or `url` (a server elsewhere)");
            None
        }
    }
}

fn remote(reader: &mut Reader<'_>, url: &str) -> Option<Remote> {
    let url = match Url::parse(url) {
        Ok(url) if matches!(url.scheme(), "http" | "https") && url.has_host() => url,
        Ok(url) => {
            reader.object_to("url", format!("`{}:` is no address of a server; use http or https", url.scheme()));
            return None;
        }
        Err(error) => {
            reader.object_to("url", format!("it is no address: {error}"));
            return None;
        }
    };
    let wire = match reader.text("transport").as_deref() {
        None | Some("http" | "streamable-http" | "streamable_http") => Wire::StreamableHttp,
        Some("sse") => Wire::Sse,
        Some(other) => {
            reader.object_to("transport", format!("`{other}` is not known; use http or sse"));
            Wire::StreamableHttp
        }
    };
    let auth = match reader.text("auth").as_deref() {
        Some("oauth") => Auth::OAuth(oauth(reader)),
        None if reader.has("oauth") => Auth::OAuth(oauth(reader)),
        None | Some("none" | "header" | "headers") => Auth::Headers,
        Some(other) => {
            reader.object_to("auth", format!("`{other}` is not known; use oauth, or `headers` for a key"));
            Auth::Headers
        }
    };
    let trust = match reader.switch_or_text("ssl_verify") {
        None | Some(Ok(true)) => Trust::Usual,
        Some(Ok(false)) => Trust::Anybody,
        Some(Err(file)) => Trust::File(file),
    };
    let identity = reader.text("client_cert").map(|certificate| (certificate, reader.text("client_key")));
    Some(Remote { url, wire, headers: reader.map("headers"), auth, tls: Tls { trust, identity } })
}

fn oauth(reader: &mut Reader<'_>) -> OAuthSettings {
    let scopes = reader.text("oauth.scope").map(|scope| scope.split_whitespace().map(str::to_owned).collect());
    let port = reader.whole("oauth.redirect_port").filter(|port| *port != 0);
    OAuthSettings {
        client_id: reader.text("oauth.client_id"),
        client_secret: reader.text("oauth.client_secret"),
        scopes: scopes.unwrap_or_default(),
        redirect_port: port.and_then(|port| u16::try_from(port).ok()),
        redirect_uri: reader.text("oauth.redirect_uri"),
        redirect_host: reader.text("oauth.redirect_host"),
        client_name: reader.text("oauth.client_name"),
    }
}

/// The value with every `${VAR}` and `${env:VAR}` in its texts replaced.
fn interpolated(value: &Value, variable: &dyn Fn(&str) -> Option<String>) -> Value {
    match value {
        Value::String(text) => Value::String(interpolated_text(text, variable)),
        Value::Array(items) => Value::Array(items.iter().map(|item| interpolated(item, variable)).collect()),
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, value)| (key.clone(), interpolated(value, variable))).collect())
        }
        other => other.clone(),
    }
}

fn interpolated_text(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        let Some((name, behind)) = after.split_once('}') else {
            out.push_str("${");
            rest = after;
            continue;
        };
        match variable(name.strip_prefix("env:").unwrap_or(name)) {
            Some(value) => out.push_str(&value),
            None => out.extend(["${", name, "}"]),
        }
        rest = behind;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests;
