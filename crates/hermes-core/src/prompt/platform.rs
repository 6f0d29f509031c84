//! Where the person reads: what text looks like there, and how a file gets to them. One row per platform.

/// What becomes of markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Markdown,
    /// Markdown, but for tables.
    NoTables,
    Plain,
    /// Nobody knows who renders it.
    Unknown,
}

/// How a file gets to the person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// A line `MEDIA:<path>` becomes an attachment.
    Attached,
    /// The person is at the machine.
    Named,
    /// Not at all.
    Never,
}

struct Row {
    name: &'static str,
    /// Where answers appear.
    place: &'static str,
    form: Form,
    files: Files,
    /// What else is different there.
    more: &'static str,
}

const fn row(name: &'static str, place: &'static str, form: Form, files: Files, more: &'static str) -> Row {
    Row { name, place, form, files, more }
}

const CHAT: &str = "Write as one writes in a chat: short.";
const NOBODY: &str =
    "Nobody is there to answer: decide yourself, ask nothing. Your last message is delivered as it is.";
const SHORT: &str = "Stay below 1,500 characters.";

use Files::{Attached, Named, Never};
use Form::{Markdown, NoTables, Plain, Unknown};

static PLATFORMS: [Row; 22] = [
    row("cli", "in a terminal", Plain, Named, ""),
    row("tui", "in a terminal", Markdown, Named, ""),
    row("desktop", "in the desktop app", Markdown, Named, ""),
    row("webui", "in a browser", Markdown, Attached, ""),
    row("api_server", "in a program you do not know", Unknown, Never, ""),
    row("cron", "wherever this scheduled job reports to", Unknown, Attached, NOBODY),
    row("telegram", "on Telegram", NoTables, Attached, CHAT),
    row("discord", "on Discord", NoTables, Attached, CHAT),
    row("slack", "on Slack", NoTables, Attached, CHAT),
    row("whatsapp", "on WhatsApp", Plain, Attached, CHAT),
    row("whatsapp_cloud", "on WhatsApp", Plain, Attached, CHAT),
    row("signal", "on Signal", Plain, Attached, CHAT),
    row("bluebubbles", "on iMessage", Plain, Attached, CHAT),
    row("sms", "as SMS", Plain, Never, SHORT),
    row(
        "email",
        "as email",
        Plain,
        Attached,
        "Write a whole mail, without greeting or subject unless they are wanted.",
    ),
    row("mattermost", "on Mattermost", Markdown, Attached, ""),
    row("matrix", "on Matrix", Markdown, Attached, ""),
    row("feishu", "on Feishu", NoTables, Attached, ""),
    row("weixin", "on Weixin", NoTables, Attached, CHAT),
    row("wecom", "on WeCom", NoTables, Attached, ""),
    row("qqbot", "on QQ", NoTables, Attached, CHAT),
    row("yuanbao", "on Yuanbao", Markdown, Attached, CHAT),
];

/// What the owner wants said about a platform: `platform_hints.<platform>`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HintOverride {
    /// Instead of ours.
    pub replace: Option<String>,
    /// Behind it.
    pub append: Option<String>,
}

/// The platforms that have a row.
pub fn platforms() -> impl Iterator<Item = &'static str> {
    PLATFORMS.iter().map(|row| row.name)
}

pub(super) fn hint(platform: &str, wish: Option<&HintOverride>) -> String {
    let own = || PLATFORMS.iter().find(|row| row.name == platform).map(Row::told).unwrap_or_default();
    let base = wish.and_then(|wish| wish.replace.clone()).unwrap_or_else(own);
    let more = wish.and_then(|wish| wish.append.as_deref()).unwrap_or_default();
    format!("{}\n{}", base.trim(), more.trim())
}

impl Row {
    fn told(&self) -> String {
        let parts = [format!("Your answers appear {}.", self.place), self.form.told().into(), self.files.told().into()];
        let parts = parts.into_iter().chain([self.more.to_owned()]).filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join(" ")
    }
}

impl Form {
    fn told(self) -> &'static str {
        match self {
            Self::Markdown => "Markdown is shown as meant.",
            Self::NoTables => "Simple Markdown is shown as meant; tables are not: use lists.",
            Self::Plain => "Write plain text: Markdown is not shown as meant.",
            Self::Unknown => "Use Markdown sparingly, so that it reads well raw too.",
        }
    }
}

impl Files {
    fn told(self) -> &'static str {
        match self {
            Self::Attached => "A line `MEDIA:/absolute/path` in your answer sends that file.",
            Self::Named => "The person can open files on this machine: name their paths.",
            Self::Never => "Files cannot be sent: put what matters into the text.",
        }
    }
}
