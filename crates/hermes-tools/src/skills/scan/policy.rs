//! Who may bring what: trust, verdict, decision. All of it is one table.

use serde::{Deserialize, Serialize};

/// Where a skill is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Trust {
    /// It comes with the program.
    Builtin,
    /// A repository on the list of those that are looked after.
    Trusted,
    Community,
    AgentCreated,
}

/// What the scan makes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Safe,
    Caution,
    Dangerous,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    Allow,
    Block,
    /// Somebody has to decide; the agent itself cannot.
    Ask,
}

/// Whether the person insists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Force {
    #[default]
    No,
    Yes,
}

/// Repositories on GitHub that are looked after.
const TRUSTED: [&str; 4] = ["openai/skills", "anthropics/skills", "huggingface/skills", "nvidia/skills"];

impl Trust {
    /// Of a repository on GitHub, `owner/name`.
    pub fn of_repository(repository: &str) -> Self {
        let is_trusted = TRUSTED.iter().any(|trusted| repository.eq_ignore_ascii_case(trusted));
        if is_trusted { Self::Trusted } else { Self::Community }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Trusted => "trusted",
            Self::Community => "community",
            Self::AgentCreated => "agent-created",
        }
    }

    pub fn named(name: &str) -> Self {
        let all = [Self::Builtin, Self::Trusted, Self::AgentCreated];
        all.into_iter().find(|trust| trust.name() == name).unwrap_or(Self::Community)
    }
}

impl Verdict {
    pub fn name(self) -> &'static str {
        match self {
            Self::Safe => "safe",
            Self::Caution => "caution",
            Self::Dangerous => "dangerous",
        }
    }
}

pub fn decide(trust: Trust, verdict: Verdict) -> Decision {
    use Decision::{Allow, Ask, Block};
    let [safe, caution, dangerous] = match trust {
        Trust::Builtin => [Allow, Allow, Allow],
        Trust::Trusted => [Allow, Allow, Block],
        Trust::Community => [Allow, Block, Block],
        Trust::AgentCreated => [Allow, Allow, Ask],
    };
    match verdict {
        Verdict::Safe => safe,
        Verdict::Caution => caution,
        Verdict::Dangerous => dangerous,
    }
}

/// Whether a person who insists gets it after all. What is dangerous stays out, whoever it is from.
pub fn is_lifted(verdict: Verdict, force: Force) -> bool {
    force == Force::Yes && verdict != Verdict::Dangerous
}

#[cfg(test)]
mod tests {
    use super::*;
    use Decision::{Allow, Ask, Block};

    #[test]
    fn who_may_bring_what() {
        let table = [
            (Trust::Builtin, [Allow, Allow, Allow]),
            (Trust::Trusted, [Allow, Allow, Block]),
            (Trust::Community, [Allow, Block, Block]),
            (Trust::AgentCreated, [Allow, Allow, Ask]),
        ];
        for (trust, expected) in table {
            let decided = [Verdict::Safe, Verdict::Caution, Verdict::Dangerous].map(|verdict| decide(trust, verdict));
            assert_eq!(decided, expected, "{trust:?}");
            assert_eq!(Trust::named(trust.name()), trust);
        }
        assert!(is_lifted(Verdict::Caution, Force::Yes) && !is_lifted(Verdict::Caution, Force::No));
        assert!(!is_lifted(Verdict::Dangerous, Force::Yes));
    }

    #[test]
    fn only_whole_names_are_trusted() {
        for (name, trust) in [
            ("openai/skills", Trust::Trusted),
            ("NVIDIA/skills", Trust::Trusted),
            ("openai/skills2", Trust::Community),
            ("evil/openai/skills", Trust::Community),
            ("", Trust::Community),
        ] {
            assert_eq!(Trust::of_repository(name), trust, "{name}");
        }
    }
}
