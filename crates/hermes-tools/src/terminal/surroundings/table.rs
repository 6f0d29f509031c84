//! Which variables commands do not see, and why. The keys and addresses of the providers of models are not in here: who
//! knows the providers names them in `Surroundings::private_variables`.

/// One reason to hold variables back.
pub(super) struct Rule {
    pub(super) names: Names,
    pub(super) held: Held,
    #[allow(dead_code, reason = "for people who read or extend the table")]
    pub(super) because: &'static str,
}

pub(super) enum Names {
    These(&'static [&'static str]),
    /// All that begin with one of these.
    Beginning(&'static [&'static str]),
    /// All that begin with the first and end in one of the others.
    Between(&'static str, &'static [&'static str]),
    /// All that begin with the name of a service and end as secrets do.
    SecretsOf(&'static [&'static str]),
}

/// The firmer one is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Held {
    /// The owner can let it pass by name.
    UnlessWanted,
    Always,
}

const SECRET_ENDINGS: [&str; 9] =
    ["_KEY", "_KEYS", "_TOKEN", "_SECRET", "_PASSWORD", "_PASSWD", "_CREDENTIALS", "_AUTH", "_SID"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        names: Names::These(&["SUDO_PASSWORD", "HERMES_RPC_TOKEN", "HERMES_DASHBOARD_TOKEN", "HERMES_API_KEY"]),
        held: Held::Always,
        because: "keys to the machine or to Hermes itself",
    },
    Rule {
        names: Names::Beginning(&["_HERMES_FORCE_", "_HERMES_", "HERMES_SESSION_"]),
        held: Held::Always,
        because: "internal; a conversation has only its own identity",
    },
    Rule {
        names: Names::Between("AUXILIARY_", &["_API_KEY", "_BASE_URL"]),
        held: Held::Always,
        because: "models for small jobs",
    },
    Rule {
        names: Names::Between("GATEWAY_", &["_SECRET", "_KEY", "_TOKEN", "_PASSWORD"]),
        held: Held::Always,
        because: "the gateway and its relays",
    },
    Rule {
        names: Names::Between("HERMES_", &["_TOKEN", "_SECRET", "_API_KEY", "_PASSWORD"]),
        held: Held::Always,
        because: "keys to Hermes itself",
    },
    Rule {
        names: Names::SecretsOf(&[
            "TELEGRAM_",
            "DISCORD_",
            "SLACK_",
            "MATTERMOST_",
            "MATRIX_",
            "WHATSAPP_",
            "SIGNAL_",
            "EMAIL_",
            "TWILIO_",
            "TEAMS_",
            "MSGRAPH_",
            "GOOGLE_CHAT_",
            "FEISHU_",
            "WECOM_",
            "WEIXIN_",
            "DINGTALK_",
            "QQ_",
            "LINE_",
            "NTFY_",
            "IRC_",
            "SIMPLEX_",
            "HASS_",
            "BLUEBUBBLES_",
            "YUANBAO_",
            "API_SERVER_",
            "WEBHOOK_",
        ]),
        held: Held::Always,
        because: "who has them speaks in the name of Hermes",
    },
    Rule {
        names: Names::These(&["OP_SERVICE_ACCOUNT_TOKEN", "BWS_ACCESS_TOKEN"]),
        held: Held::Always,
        because: "vaults that Hermes reads its keys from",
    },
    Rule {
        names: Names::These(&["GH_TOKEN", "GITHUB_TOKEN", "COPILOT_GITHUB_TOKEN"]),
        held: Held::UnlessWanted,
        because: "pushes and publishes as the person",
    },
    Rule {
        names: Names::Beginning(&["GITHUB_APP_"]),
        held: Held::UnlessWanted,
        because: "acts as an app of the person",
    },
    Rule {
        names: Names::Beginning(&["MODAL_", "DAYTONA_API_"]),
        held: Held::UnlessWanted,
        because: "rents machines on the person's account",
    },
    Rule {
        names: Names::SecretsOf(&[
            "EXA_",
            "PARALLEL_",
            "FIRECRAWL_",
            "TAVILY_",
            "BRAVE_SEARCH_",
            "BROWSERBASE_",
            "BROWSER_USE_",
            "FAL_",
            "KREA_",
            "VOICE_TOOLS_OPENAI_",
            "ELEVENLABS_",
            "MISTRAL_",
            "HONCHO_",
            "HINDSIGHT_",
            "SUPERMEMORY_",
            "MEM0_",
            "RETAINDB_",
            "OPENVIKING_",
            "LANGFUSE_",
            "TINKER_",
            "WANDB_",
        ]),
        held: Held::UnlessWanted,
        because: "keys of tools; a skill may need one of them",
    },
    Rule {
        names: Names::These(&["VIRTUAL_ENV", "CONDA_PREFIX"]),
        held: Held::UnlessWanted,
        because: "the Python environment Hermes was started from is not the project's",
    },
];

impl Names {
    pub(super) fn fit(&self, name: &str) -> bool {
        match self {
            Self::These(names) => names.contains(&name),
            Self::Beginning(starts) => starts.iter().any(|start| name.starts_with(start)),
            Self::Between(start, ends) => ends_like(name.strip_prefix(start), ends),
            Self::SecretsOf(services) => services.iter().any(|service| {
                // `FAL_KEY` is the service and nothing but the ending.
                let rest = service.strip_suffix('_').and_then(|service| name.strip_prefix(service));
                ends_like(rest, &SECRET_ENDINGS)
            }),
        }
    }
}

fn ends_like(rest: Option<&str>, ends: &[&str]) -> bool {
    rest.is_some_and(|rest| ends.iter().any(|end| rest.ends_with(end)))
}
