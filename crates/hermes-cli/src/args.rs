//! The command line as people type it. Flags are turned into requests in `commands`; nothing here acts.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  hermes -z \"why is the sky blue?\"            one answer, nothing else on stdout
  git diff | hermes -z \"review this\"          standard input becomes context
  hermes -z hi -m claude-sonnet-4-5 --provider anthropic
  hermes chat -c -q \"and at night?\"           go on with the newest session
  hermes --resume ID                          finish a turn that was cut off
  hermes model                                choose provider and model
  hermes demo                                 watch it work, no key needed

Exit codes: 0 answered, 1 failed, 2 wrong usage (also a --provider nobody knows),
130 interrupted.";

const LONGEST_TAG: usize = 64;

/// An AI agent for your terminal: any model, your tools, your memory.
#[derive(Debug, Parser)]
#[command(name = "hermes", version, after_help = EXAMPLES, args_conflicts_with_subcommands = false)]
pub struct Cli {
    /// Answer this prompt and exit; `-` reads it from standard input
    #[arg(short = 'z', long = "oneshot", value_name = "PROMPT")]
    pub oneshot: Option<String>,

    #[command(flatten)]
    pub asking: Asking,

    /// Use another profile (its own home directory)
    #[arg(short, long, value_name = "NAME", global = true)]
    pub profile: Option<String>,

    #[command(subcommand)]
    pub command: Option<Command>,
}

/// What `-z` and `chat` have in common.
#[derive(Debug, Clone, Default, Args)]
pub struct Asking {
    #[command(flatten)]
    pub whom: Whom,

    #[command(flatten)]
    pub form: Form,

    #[command(flatten)]
    pub which: Which,

    #[command(flatten)]
    pub how: How,

    /// Attach an image file (repeatable)
    #[arg(long, value_name = "FILE")]
    pub image: Vec<PathBuf>,
}

/// Which conversation.
#[derive(Debug, Clone, Default, Args)]
pub struct Which {
    /// Go on with a session: an id, its beginning, or a title. Without a question, finish what was cut off
    #[arg(short, long, value_name = "ID|TITLE", conflicts_with = "continue_last")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub resume: Option<String>,

    /// Go on with the newest session, or with the one of this title
    #[arg(short, long = "continue", value_name = "TITLE", num_args = 0..=1, default_missing_value = "")]
    pub continue_last: Option<String>,

    /// Work in the current directory, not where the session worked before
    #[arg(long)]
    pub no_restore_cwd: bool,

    /// Where the session is said to be held; `tool` hides it from lists [default: cli]
    #[arg(long, value_name = "TAG", value_parser = tag)]
    pub source: Option<String>,
}

/// A word that lists can show.
fn tag(typed: &str) -> Result<String, String> {
    let is_word = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | '/');
    let is_tag = !typed.is_empty() && typed.chars().all(is_word) && typed.chars().nth(LONGEST_TAG).is_none();
    is_tag.then(|| typed.to_owned()).ok_or_else(|| {
        format!(
            "a source is one word of letters, digits, `-` and `_`, such as `cli` or `tool`; at most {LONGEST_TAG} long"
        )
    })
}

/// What the agent may do.
#[derive(Debug, Clone, Default, Args)]
pub struct How {
    /// Most model calls for this question [default: agent.max_turns, 90]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_turns: Option<u32>,

    /// Toolsets for this run, with commas between them (see `hermes tools`)
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    pub toolsets: Option<Vec<String>>,

    /// Load skills first, with commas between them (repeatable; see `hermes skills`)
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',')]
    pub skills: Vec<String>,

    /// Do not ask about dangerous commands; what is denied for good still does not run
    #[arg(long)]
    pub yolo: bool,

    /// Let new shell hooks of config.yaml run without asking, and remember it
    #[arg(long)]
    pub accept_hooks: bool,
}

/// Whom to ask.
#[derive(Debug, Clone, Default, Args)]
pub struct Whom {
    /// Model for this run
    #[arg(short, long, value_name = "MODEL")]
    pub model: Option<String>,

    /// Provider for this run
    #[arg(long, value_name = "PROVIDER")]
    pub provider: Option<String>,
}

/// What becomes of the answer.
#[derive(Debug, Clone, Default, Args)]
pub struct Form {
    /// How to print the answer [default: text]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub output_format: Option<OutputFormat>,

    /// Write a JSON report of tokens and cost here, also on failure
    #[arg(long, value_name = "FILE")]
    pub usage_file: Option<PathBuf>,
}

// The same flags may stand before a command and behind it; those behind it count.

impl Asking {
    pub fn or(mut self, before: Self) -> Self {
        self.image.splice(..0, before.image);
        Self {
            whom: self.whom.or(before.whom),
            form: self.form.or(before.form),
            which: self.which.or(before.which),
            how: self.how.or(before.how),
            image: self.image,
        }
    }
}

impl Which {
    pub fn or(self, before: Self) -> Self {
        let (resume, continue_last) = match (&self.resume, &self.continue_last) {
            (None, None) => (before.resume, before.continue_last),
            _ => (self.resume, self.continue_last),
        };
        let no_restore_cwd = self.no_restore_cwd || before.no_restore_cwd;
        Self { resume, continue_last, no_restore_cwd, source: self.source.or(before.source) }
    }

    /// Whether it is a conversation that was there before.
    pub fn goes_on(&self) -> bool {
        self.resume.is_some() || self.continue_last.is_some()
    }
}

impl How {
    pub fn or(mut self, before: Self) -> Self {
        self.skills.splice(..0, before.skills);
        Self {
            max_turns: self.max_turns.or(before.max_turns),
            toolsets: self.toolsets.or(before.toolsets),
            skills: self.skills,
            yolo: self.yolo || before.yolo,
            accept_hooks: self.accept_hooks || before.accept_hooks,
        }
    }
}

impl Whom {
    pub fn or(self, before: Self) -> Self {
        Self { model: self.model.or(before.model), provider: self.provider.or(before.provider) }
    }
}

impl Form {
    pub fn or(self, before: Self) -> Self {
        let output_format = self.output_format.or(before.output_format);
        Self { output_format, usage_file: self.usage_file.or(before.usage_file) }
    }

    pub fn format(&self) -> OutputFormat {
        self.output_format.unwrap_or_default()
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// The answer as text
    #[default]
    Text,
    /// One JSON object at the end
    Json,
    /// One JSON object per event, as it happens
    StreamJson,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Ask one question (`-q`); an interactive session is not there yet
    Chat(ChatArgs),
    /// Choose provider and model
    Model {
        #[command(flatten)]
        args: crate::commands::model::ModelArgs,
        #[command(flatten)]
        whom: Whom,
    },
    /// Keys and logins
    Auth(crate::commands::auth::AuthArgs),
    /// Show what would be asked, and with what
    Status {
        #[command(flatten)]
        args: crate::commands::status::StatusArgs,
        #[command(flatten)]
        whom: Whom,
    },
    /// Choose who is asked when the model fails
    Fallback(crate::commands::fallback::FallbackArgs),
    /// What the agent can do, and what it may
    Tools(crate::commands::tools::ToolsArgs),
    /// Tools of other programs and servers (MCP)
    Mcp(crate::commands::mcp::McpArgs),
    /// What the agent knows how to do; install, check and remove skills
    Skills(crate::commands::skills::SkillsArgs),
    /// Programs that add tools and hooks
    Plugins(crate::commands::plugins::PluginsArgs),
    /// Commands of yours that run on events
    Hooks(crate::commands::hooks::HooksArgs),
    /// Look for what is broken, and say what to type next
    Doctor(crate::commands::doctor::DoctorArgs),
    /// Snapshots of files before they were changed, and the way back
    Checkpoints(crate::commands::checkpoints::CheckpointsArgs),
    /// What the model is told before you say a word, and what it costs
    Prompt(crate::commands::prompt::PromptArgs),
    /// Look at settings and change them
    Config(crate::commands::config::ConfigArgs),
    /// Look at past conversations, search them, clean up
    Sessions(crate::commands::sessions::SessionsArgs),
    /// What was done, and what it cost
    Insights(crate::commands::insights::InsightsArgs),
    /// Put the whole home into one file
    Backup(crate::commands::backup::BackupArgs),
    /// Bring a backup back
    Import(crate::commands::backup::ImportArgs),
    /// Keep several homes side by side
    Profile(crate::commands::profile::ProfileArgs),
    /// Watch a scripted conversation go through the real path: no key, no network
    Demo(Form),
    /// Print a completion script for your shell
    Completion { shell: clap_complete::Shell },
    /// Print the version
    Version,
    /// Where logins have gone
    #[command(hide = true)]
    Login,
    /// Forget the login in use, or that of `--provider`
    #[command(hide = true)]
    Logout {
        /// Provider to leave
        #[arg(long, value_name = "PROVIDER")]
        provider: Option<String>,
    },
}

#[derive(Debug, Args)]
pub struct ChatArgs {
    /// The question; `-` reads it from standard input
    #[arg(short, long, value_name = "TEXT")]
    pub query: Option<String>,

    /// Only the answer on stdout; on stderr only errors, who else answered and, last, `session_id: ID`
    #[arg(short = 'Q', long)]
    pub quiet: bool,

    #[command(flatten)]
    pub asking: Asking,
}
