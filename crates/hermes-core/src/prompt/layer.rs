//! The names of the layers, in their order, and how long each stays the same.

use serde::Serialize;

/// How often a layer changes. What changes more often stands further behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// The same for every conversation with this model, on this platform, in this directory.
    Stable,
    /// What the caller and the project add.
    Context,
    /// What differs from one conversation to the next.
    Volatile,
}

/// One part of the prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    pub name: Name,
    pub text: String,
}

impl Layer {
    pub fn tier(&self) -> Tier {
        self.name.tier()
    }
}

/// Every layer there is. The order of the variants is the order in the prompt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Name {
    /// Who the agent is: `SOUL.md`, or our own few lines.
    Identity,
    /// Finish the work, invent nothing.
    Completion,
    /// Calls that may go together.
    Parallel,
    /// What to use particular tools for, beyond their descriptions.
    Tools,
    /// How messages of the person look that arrive while the agent works.
    MidTurn,
    /// What comes with a Nous subscription.
    Subscription,
    /// Act instead of announcing, for families of models that announce.
    Enforcement,
    /// What Google's models need to hear.
    Google,
    /// What OpenAI's and xAI's models need to hear.
    Execution,
    Skills,
    /// The name of the model, where its provider reports another one.
    ModelName,
    Environment,
    Profile,
    Platform,
    /// What the caller wants to say.
    SystemMessage,
    /// The project's own files for agents.
    Project,
    Memory,
    User,
    ExternalMemory,
    /// The day, the conversation, and who answers.
    Facts,
}

impl Name {
    pub const ALL: [Self; 20] = [
        Self::Identity,
        Self::Completion,
        Self::Parallel,
        Self::Tools,
        Self::MidTurn,
        Self::Subscription,
        Self::Enforcement,
        Self::Google,
        Self::Execution,
        Self::Skills,
        Self::ModelName,
        Self::Environment,
        Self::Profile,
        Self::Platform,
        Self::SystemMessage,
        Self::Project,
        Self::Memory,
        Self::User,
        Self::ExternalMemory,
        Self::Facts,
    ];

    pub fn tier(self) -> Tier {
        match self {
            Self::SystemMessage | Self::Project => Tier::Context,
            Self::Memory | Self::User | Self::ExternalMemory | Self::Facts => Tier::Volatile,
            _ => Tier::Stable,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Completion => "completion",
            Self::Parallel => "parallel",
            Self::Tools => "tools",
            Self::MidTurn => "mid_turn",
            Self::Subscription => "subscription",
            Self::Enforcement => "enforcement",
            Self::Google => "google",
            Self::Execution => "execution",
            Self::Skills => "skills",
            Self::ModelName => "model_name",
            Self::Environment => "environment",
            Self::Profile => "profile",
            Self::Platform => "platform",
            Self::SystemMessage => "system_message",
            Self::Project => "project",
            Self::Memory => "memory",
            Self::User => "user",
            Self::ExternalMemory => "external_memory",
            Self::Facts => "facts",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.as_str() == name)
    }
}

impl Tier {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Context => "context",
            Self::Volatile => "volatile",
        }
    }
}
