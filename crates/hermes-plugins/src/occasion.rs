//! The events that plugins and shell hooks hear of, by the names they have in the Python program, and what an answer to
//! each may do. Names that this program knows and has no place for are in [`UNHEARD`], each with its reason.

/// Something that happens in a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Occasion {
    PreToolCall,
    PostToolCall,
    TransformToolResult,
    TransformTerminalOutput,
    PreLlmCall,
    PostLlmCall,
    SessionStart,
    SessionEnd,
    SessionFinalize,
    SubagentStart,
    SubagentStop,
    PreApproval,
    PostApproval,
}

/// What an answer may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Power {
    /// It lets something happen, or not. Silence because of a failure is a no, unless the hook says otherwise.
    Guards,
    /// Its text takes the place of another. A failure changes nothing.
    Rewrites,
    /// Its text is added for the model. A failure adds nothing.
    Informs,
    /// Nobody waits for what it thinks.
    Watches,
}

struct Row {
    occasion: Occasion,
    name: &'static str,
    power: Power,
}

const fn row(occasion: Occasion, name: &'static str, power: Power) -> Row {
    Row { occasion, name, power }
}

const TABLE: [Row; 13] = [
    row(Occasion::PreToolCall, "pre_tool_call", Power::Guards),
    row(Occasion::PostToolCall, "post_tool_call", Power::Watches),
    row(Occasion::TransformToolResult, "transform_tool_result", Power::Rewrites),
    row(Occasion::TransformTerminalOutput, "transform_terminal_output", Power::Rewrites),
    row(Occasion::PreLlmCall, "pre_llm_call", Power::Informs),
    row(Occasion::PostLlmCall, "post_llm_call", Power::Watches),
    row(Occasion::SessionStart, "on_session_start", Power::Watches),
    row(Occasion::SessionEnd, "on_session_end", Power::Watches),
    row(Occasion::SessionFinalize, "on_session_finalize", Power::Watches),
    row(Occasion::SubagentStart, "subagent_start", Power::Watches),
    row(Occasion::SubagentStop, "subagent_stop", Power::Watches),
    row(Occasion::PreApproval, "pre_approval_request", Power::Watches),
    row(Occasion::PostApproval, "post_approval_response", Power::Watches),
];

const NO_GATEWAY: &str = "there is no gateway yet";
const NO_BOARD: &str = "there is no board of tasks yet";
const ON_DISK: &str = "an answer is on disk and on the screen as the model wrote it before it could be changed";
const RECORDED: &str = "what goes over the wire is recorded and can be looked at with `hermes sessions replay`";

/// Names of the Python program that are never heard here, and why.
pub const UNHEARD: [(&str, &str); 10] = [
    ("transform_llm_output", ON_DISK),
    ("pre_api_request", RECORDED),
    ("post_api_request", RECORDED),
    ("api_request_error", RECORDED),
    ("on_session_reset", "a conversation of the command line is never reset"),
    ("pre_verify", "the loop has no step of checking before it ends"),
    ("pre_gateway_dispatch", NO_GATEWAY),
    ("kanban_task_claimed", NO_BOARD),
    ("kanban_task_completed", NO_BOARD),
    ("kanban_task_blocked", NO_BOARD),
];

impl Occasion {
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| row.occasion)
    }

    pub fn parse(name: &str) -> Option<Self> {
        TABLE.iter().find(|row| row.name == name).map(|row| row.occasion)
    }

    pub fn name(self) -> &'static str {
        self.row().map_or("", |row| row.name)
    }

    pub fn power(self) -> Power {
        self.row().map_or(Power::Watches, |row| row.power)
    }

    /// Whether it is about one tool, so that a hook can choose which.
    pub fn is_about_a_tool(self) -> bool {
        matches!(
            self,
            Self::PreToolCall | Self::PostToolCall | Self::TransformToolResult | Self::TransformTerminalOutput
        )
    }

    fn row(self) -> Option<&'static Row> {
        TABLE.iter().find(|row| row.occasion == self)
    }
}

/// Why a name is never heard here, in words for its author; nothing for a name that is.
pub fn deaf_to(name: &str) -> Option<String> {
    if Occasion::parse(name).is_some() {
        return None;
    }
    let known = UNHEARD.iter().find(|(unheard, _)| *unheard == name);
    Some(match known {
        Some((_, reason)) => format!("`{name}` never happens here: {reason}"),
        None => format!("there is no event `{name}`"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_to_its_occasion() {
        for occasion in Occasion::all() {
            assert_eq!(Occasion::parse(occasion.name()), Some(occasion));
            assert_eq!(deaf_to(occasion.name()), None);
        }
        assert_eq!(Occasion::parse("pre_verify"), None);
        assert!(deaf_to("pre_verify").is_some_and(|told| told.contains("never happens here")));
        assert_eq!(deaf_to("pre_tool_cal"), Some("there is no event `pre_tool_cal`".to_owned()));
    }
}
