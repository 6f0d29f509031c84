//! Tools of a server as tools of ours: their own ones, and four that bring its resources and prompts.
//!
//! What a call would touch is read from its arguments, whatever the server claims; what it gives is the word of a stranger.

use crate::answer;
use crate::fault::{Effect, Fault, Nature};
use crate::link::Link;
use crate::name;
use crate::server::{Question, Server};
use crate::settings::{CallOrder, Place};
use hermes_tools::desk::Cx;
use hermes_tools::effects::{Company, Effects};
use hermes_tools::foreign::{self, Claim, Foreigner, Works};
use hermes_tools::gate::Permit;
use hermes_tools::loader;
use hermes_tools::threat::{self, Scanner, Scope};
use hermes_tools::tool::{Card, Output, Repeats, ResultCap, Source, Tool, ToolError};
use hermes_types::{Object, clip};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// Characters of a description; servers have been seen to send manuals.
const LONGEST_DESCRIPTION: usize = 4_000;
/// Tools of one server; whoever has more is not believed.
const MOST_TOOLS: usize = 500;
/// Bytes of the parameters of one tool, and of all tools of a server. Every question to a model may carry them.
const LARGEST_SCHEMA: usize = 64 << 10;
const ROOM_FOR_SCHEMAS: usize = 1 << 20;
/// Characters of the name of a tool in the log.
const LONGEST_NAME: usize = 100;
/// A little more than the server has, so that what became of a call is told in its own words.
const MARGIN: Duration = Duration::from_secs(30);

/// What a call asks of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Errand {
    Call(String),
    ListResources,
    ReadResource,
    ListPrompts,
    GetPrompt,
}

#[derive(Clone)]
pub(crate) struct RemoteTool {
    server: Arc<Server>,
    card: Card,
    errand: Errand,
    claim: Claim,
    nature: Nature,
}

impl PartialEq for RemoteTool {
    /// Whether a model, and the gate, could tell one from the other.
    fn eq(&self, other: &Self) -> bool {
        let Self { server: _, card, errand, claim, nature } = self;
        (card, errand, claim, nature) == (&other.card, &other.errand, &other.claim, &other.nature)
    }
}

impl RemoteTool {
    pub(crate) fn card(&self) -> &Card {
        &self.card
    }

    /// The tool without words that want to steer the agent, and what was found in them. It can be called as before: what
    /// a call may do is decided by the gate.
    pub(crate) fn tempered(mut self, scanner: &Scanner) -> (Self, Option<String>) {
        let words = format!("{}\n{}", self.card.description, self.card.parameters);
        let threats = scanner.scan(&words, Scope::Context);
        if threats.is_empty() {
            return (self, None);
        }
        let ids = threat::ids(&threats);
        self.card.description = format!("[left out: it may want to steer the agent ({ids})]");
        self.card.parameters = loader::bare(&self.card.parameters);
        (self, Some(ids))
    }
}

/// Everything that a server offers and the owner takes.
pub(crate) async fn all(server: &Arc<Server>, link: &Link) -> Result<Vec<RemoteTool>, Fault> {
    let settings = &server.settings;
    let mut tools = Vec::new();
    if link.abilities.tools {
        tools = own(server, &link.list("tools/list", "tools").await?);
    }
    if settings.resources && link.abilities.resources {
        tools.push(utility(server, Errand::ListResources, "list_resources", "resources there are", &[]));
        tools.push(utility(
            server,
            Errand::ReadResource,
            "read_resource",
            "one of its resources",
            &[("uri", "string")],
        ));
    }
    if settings.prompts && link.abilities.prompts {
        tools.push(utility(server, Errand::ListPrompts, "list_prompts", "prompts there are", &[]));
        let arguments = [("name", "string"), ("arguments", "object")];
        tools.push(utility(server, Errand::GetPrompt, "get_prompt", "one of its prompts, filled in", &arguments));
    }
    Ok(tools)
}

/// The tools of the server itself that have a name and are wanted, as many as fit.
fn own(server: &Arc<Server>, listed: &[Value]) -> Vec<RemoteTool> {
    let settings = &server.settings;
    let named = listed.iter().filter_map(|tool| Some((tool.get("name")?.as_str()?, tool)));
    let wanted = named.filter(|(name, _)| !name.is_empty() && settings.filter.takes(name));
    let wanted: Vec<(&str, &Value)> = wanted.take(MOST_TOOLS).collect();
    let called = name::tools(&settings.name, wanted.iter().map(|(name, _)| *name));
    let mut room = ROOM_FOR_SCHEMAS;
    let mut tools = Vec::with_capacity(wanted.len());
    for (name, listed) in wanted {
        let schema = listed.get("inputSchema").and_then(Value::as_object).cloned().unwrap_or_default();
        let schema = name::schema(schema);
        let size = schema.to_string().len();
        let Some(called) = called.get(name).filter(|_| size <= LARGEST_SCHEMA.min(room)) else {
            let name = clip(name, LONGEST_NAME);
            tracing::warn!(server = %settings.name, name, size, "this tool has more parameters than there is room for");
            continue;
        };
        room -= size;
        tools.push(own_tool(server, name, called, schema, listed));
    }
    tools
}

fn own_tool(server: &Arc<Server>, name: &str, called: &str, schema: Value, listed: &Value) -> RemoteTool {
    let hint = |hint: &str| listed.pointer(&format!("/annotations/{hint}")).and_then(Value::as_bool) == Some(true);
    let reads_only = hint("readOnlyHint");
    let description = listed.get("description").and_then(Value::as_str).unwrap_or_default();
    RemoteTool {
        server: server.clone(),
        card: Card {
            repeats: if reads_only { Repeats::Idempotent } else { Repeats::MayDiffer },
            ..card(server, called.to_owned(), description, schema)
        },
        errand: Errand::Call(name.to_owned()),
        claim: if reads_only { Claim::ReadsOnly } else { Claim::Unclear },
        nature: if reads_only || hint("idempotentHint") { Nature::Repeatable } else { Nature::Once },
    }
}

/// The first argument of a utility is the one it needs.
fn utility(server: &Arc<Server>, errand: Errand, name: &str, what: &str, arguments: &[(&str, &str)]) -> RemoteTool {
    let properties: Object = arguments.iter().map(|(name, kind)| ((*name).to_owned(), json!({"type": kind}))).collect();
    let required: Vec<&str> = arguments.iter().take(1).map(|(name, _)| *name).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let description = format!("Of the MCP server {}: {what}.", server.settings.name);
    RemoteTool {
        server: server.clone(),
        card: Card {
            repeats: Repeats::Idempotent,
            ..card(server, name::tool(&server.settings.name, name), &description, schema)
        },
        errand,
        claim: Claim::ReadsOnly,
        nature: Nature::Repeatable,
    }
}

fn card(server: &Server, called: String, description: &str, parameters: Value) -> Card {
    Card {
        name: called.into(),
        toolset: name::toolset(&server.settings.name).into(),
        description: clip(description, LONGEST_DESCRIPTION),
        emoji: "🔌",
        parameters,
        requires_env: Vec::new(),
        result_cap: ResultCap::Usual,
        source: Source::Strangers,
        repeats: Repeats::MayDiffer,
    }
}

impl Tool for RemoteTool {
    type Args = Object;

    fn card(&self) -> Card {
        self.card.clone()
    }

    fn effects(&self, args: &Object, cx: &Cx) -> Result<Effects, ToolError> {
        let settings = &self.server.settings;
        let works = match settings.place {
            Place::Program { .. } => Works::Here,
            Place::Remote(_) => Works::Elsewhere,
        };
        let company = match settings.order {
            CallOrder::OneByOne => Company::Alone,
            CallOrder::SideBySide => Company::Welcome,
        };
        foreign::effects(args, Foreigner { claim: self.claim, works, company }, cx)
    }

    fn limit(&self, _args: &Object) -> Option<Duration> {
        Some(self.server.settings.timeout + MARGIN)
    }

    async fn call(&self, args: Object, _permit: Permit, cx: &Cx) -> Result<Output, ToolError> {
        let given = |name: &str| args.get(name).cloned().unwrap_or_default();
        let (method, params) = match &self.errand {
            Errand::Call(tool) => ("tools/call", json!({"name": tool, "arguments": args})),
            Errand::ListResources => ("resources/list", json!({})),
            Errand::ReadResource => ("resources/read", json!({"uri": given("uri")})),
            Errand::ListPrompts => ("prompts/list", json!({})),
            Errand::GetPrompt => {
                let filled = args.get("arguments").filter(|filled| filled.is_object()).cloned();
                ("prompts/get", json!({"name": given("name"), "arguments": filled.unwrap_or_else(|| json!({}))}))
            }
        };
        let question = Question { method, params, nature: self.nature };
        let answered = self.server.ask(question, cx).await.map_err(|failed| match failed.effect {
            Effect::Known => ToolError::told(failed.told),
            Effect::Unknown => ToolError::Unknown(json!({"error": failed.told, "outcome": "unknown"})),
        })?;
        let shelf = answer::Shelf::of(cx.desk.settings());
        match &self.errand {
            Errand::Call(_) => answer::of_call(&answered, &shelf),
            Errand::ReadResource => answer::of_resource(&answered, &shelf),
            Errand::GetPrompt => answer::of_prompt(&answered, &shelf),
            Errand::ListResources => answer::of_list(&answered, "resources", &shelf),
            Errand::ListPrompts => answer::of_list(&answered, "prompts", &shelf),
        }
    }
}
