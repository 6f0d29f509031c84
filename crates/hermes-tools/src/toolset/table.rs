//! Every toolset that comes with the program, as rows. A new one is a row here.

use super::Kind::{self, Bundle, Plain, Posture};

/// One toolset as it is written down.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) kind: Kind,
    /// Tools of its own.
    pub(super) tools: &'static [&'static str],
    /// Whether it starts from [`CORE`], and which parts of that it does without.
    pub(super) core: Core,
    /// Toolsets whose tools it has, too.
    pub(super) includes: &'static [&'static str],
}

pub(super) enum Core {
    None,
    Without(&'static [&'static [&'static str]]),
}

const WHOLE: Core = Core::Without(&[]);

const WEB: &[&str] = &["web_search", "web_extract"];
const TERMINAL: &[&str] = &["terminal", "process"];
/// Of the desktop program.
const PANES: &[&str] = &["read_terminal", "close_terminal"];
const FILE: &[&str] = &["read_file", "write_file", "patch", "search_files"];
const SKILLS: &[&str] = &["skills_list", "skill_view", "skill_manage"];
const BROWSER: &[&str] = &[
    "browser_navigate",
    "browser_snapshot",
    "browser_click",
    "browser_type",
    "browser_scroll",
    "browser_back",
    "browser_press",
    "browser_get_images",
    "browser_vision",
    "browser_console",
    "browser_cdp",
    "browser_dialog",
];
const HOMEASSISTANT: &[&str] = &["ha_list_entities", "ha_get_state", "ha_list_services", "ha_call_service"];
const KANBAN: &[&str] = &[
    "kanban_show",
    "kanban_list",
    "kanban_complete",
    "kanban_block",
    "kanban_heartbeat",
    "kanban_comment",
    "kanban_create",
    "kanban_link",
    "kanban_unblock",
    "kanban_attach",
    "kanban_attach_url",
    "kanban_attachments",
];
const YUANBAO: &[&str] =
    &["yb_query_group_info", "yb_query_group_members", "yb_send_dm", "yb_search_sticker", "yb_send_sticker"];
const FEISHU_DRIVE: &[&str] = &[
    "feishu_drive_list_comments",
    "feishu_drive_list_comment_replies",
    "feishu_drive_reply_comment",
    "feishu_drive_add_comment",
];
const SPOTIFY: &[&str] = &[
    "spotify_playback",
    "spotify_devices",
    "spotify_queue",
    "spotify_search",
    "spotify_playlists",
    "spotify_albums",
    "spotify_library",
];
const VIDEO_GEN: &[&str] = &["video_generate", "xai_video_edit", "xai_video_extend"];
const PROJECT: &[&str] = &["project_list", "project_create", "project_switch"];
const IMAGE: &[&str] = &["image_generate"];
const SPEECH: &[&str] = &["text_to_speech"];
const CRON: &[&str] = &["cronjob"];
const COMPUTER: &[&str] = &["computer_use"];
const CLARIFY: &[&str] = &["clarify"];
const VISION: &[&str] = &["vision_analyze"];
const CODE: &[&str] = &["execute_code"];
const DELEGATION: &[&str] = &["delegate_task"];
const NOTES: &[&str] = &["todo", "memory", "session_search"];

/// What the terminal and every messenger share.
pub(super) const CORE: &[&[&str]] = &[
    WEB,
    TERMINAL,
    PANES,
    FILE,
    VISION,
    IMAGE,
    SKILLS,
    BROWSER,
    SPEECH,
    NOTES,
    CLARIFY,
    CODE,
    DELEGATION,
    CRON,
    HOMEASSISTANT,
    KANBAN,
    COMPUTER,
];

const fn leaf(name: &'static str, description: &'static str, tools: &'static [&'static str]) -> Row {
    Row { name, description, kind: Plain, tools, core: Core::None, includes: &[] }
}

/// A messenger with everything.
const fn messenger(name: &'static str, description: &'static str) -> Row {
    Row { name, description, kind: Bundle, tools: &[], core: WHOLE, includes: &[] }
}

pub(super) const TOOLSETS: &[Row] = &[
    leaf("web", "Search the web and read pages", WEB),
    leaf("search", "Search the web without reading pages", &["web_search"]),
    leaf("x_search", "Search posts on X", &["x_search"]),
    leaf("vision", "Look at pictures", VISION),
    leaf("video", "Look at videos", &["video_analyze"]),
    leaf("image_gen", "Make pictures", IMAGE),
    leaf("video_gen", "Make and change videos", VIDEO_GEN),
    leaf("computer_use", "Use the screen, the mouse and the keyboard", COMPUTER),
    leaf("terminal", "Run commands and look after processes", TERMINAL),
    leaf("skills", "Read and keep skills", SKILLS),
    Row { includes: &["search"], ..leaf("browser", "Use a browser", BROWSER) },
    leaf("cronjob", "Schedule work", CRON),
    leaf("file", "Read, write, patch and search files", FILE),
    leaf("tts", "Speak", SPEECH),
    leaf("todo", "Keep a list of tasks", &["todo"]),
    leaf("memory", "Remember across conversations", &["memory"]),
    leaf("session_search", "Search earlier conversations", &["session_search"]),
    leaf("clarify", "Ask the person", CLARIFY),
    leaf("context_engine", "Tools of the active context engine", &[]),
    leaf("project", "Projects of the desktop program", PROJECT),
    leaf("code_execution", "Run Python that calls tools", CODE),
    leaf("delegation", "Hand work to sub-agents", DELEGATION),
    leaf("homeassistant", "Read and steer Home Assistant", HOMEASSISTANT),
    leaf("kanban", "Work on a board of tasks", KANBAN),
    leaf("discord", "Read and write on Discord", &["discord"]),
    leaf("discord_admin", "Look after a Discord server", &["discord_admin"]),
    leaf("yuanbao", "Groups and stickers of Yuanbao", YUANBAO),
    leaf("feishu_doc", "Read documents of Feishu", &["feishu_doc_read"]),
    leaf("feishu_drive", "Comments on documents of Feishu", FEISHU_DRIVE),
    leaf("spotify", "Music on Spotify", SPOTIFY),
    Row { includes: &["web", "file"], ..leaf("debugging", "Find and mend faults", TERMINAL) },
    Row { includes: &["web", "vision", "image_gen"], ..leaf("safe", "Nothing that runs commands", &[]) },
    Row {
        kind: Posture,
        core: Core::Without(&[IMAGE, SPEECH, CRON, HOMEASSISTANT, KANBAN, COMPUTER]),
        ..leaf("coding", "Work on code", &[])
    },
    Row {
        kind: Bundle,
        core: Core::Without(&[IMAGE, SPEECH, CRON, HOMEASSISTANT, KANBAN, COMPUTER, CLARIFY, PANES]),
        ..leaf("hermes-acp", "Editors that speak ACP", &[])
    },
    Row {
        kind: Bundle,
        core: Core::Without(&[CLARIFY, SPEECH, PANES, KANBAN, COMPUTER]),
        ..leaf("hermes-api-server", "Programs that use the API", &[])
    },
    messenger("hermes-cli", "The terminal"),
    messenger("hermes-cron", "Scheduled work"),
    messenger("hermes-telegram", "Telegram"),
    messenger("hermes-whatsapp", "WhatsApp"),
    messenger("hermes-slack", "Slack"),
    messenger("hermes-signal", "Signal"),
    messenger("hermes-bluebubbles", "iMessage through BlueBubbles"),
    messenger("hermes-homeassistant", "Home Assistant as a messenger"),
    messenger("hermes-email", "E-mail"),
    messenger("hermes-mattermost", "Mattermost"),
    messenger("hermes-matrix", "Matrix"),
    messenger("hermes-dingtalk", "DingTalk"),
    messenger("hermes-weixin", "Weixin"),
    messenger("hermes-qqbot", "QQ"),
    messenger("hermes-wecom", "WeCom"),
    messenger("hermes-wecom-callback", "WeCom callbacks"),
    messenger("hermes-sms", "Text messages"),
    Row { tools: &["discord", "discord_admin"], ..messenger("hermes-discord", "Discord") },
    Row { includes: &["feishu_doc", "feishu_drive"], ..messenger("hermes-feishu", "Feishu") },
    Row { tools: YUANBAO, ..messenger("hermes-yuanbao", "Yuanbao") },
    // What comes in through a webhook may be anybody's words.
    Row {
        kind: Bundle,
        ..leaf("hermes-webhook", "Webhooks", &["web_search", "web_extract", "vision_analyze", "clarify"])
    },
    Row { kind: Bundle, includes: MESSENGERS, ..leaf("hermes-gateway", "Every messenger", &[]) },
];

const MESSENGERS: &[&str] = &[
    "hermes-telegram",
    "hermes-whatsapp",
    "hermes-slack",
    "hermes-signal",
    "hermes-bluebubbles",
    "hermes-homeassistant",
    "hermes-email",
    "hermes-mattermost",
    "hermes-matrix",
    "hermes-dingtalk",
    "hermes-weixin",
    "hermes-qqbot",
    "hermes-wecom",
    "hermes-wecom-callback",
    "hermes-sms",
    "hermes-discord",
    "hermes-feishu",
    "hermes-yuanbao",
    "hermes-webhook",
];

/// Names of older settings. They count where no toolset has the name.
pub(super) const LEGACY: &[(&str, &[&str])] = &[
    ("web_tools", WEB),
    ("terminal_tools", &["terminal"]),
    ("vision_tools", VISION),
    ("image_tools", IMAGE),
    ("skills_tools", SKILLS),
    (
        "browser_tools",
        &[
            "browser_navigate",
            "browser_snapshot",
            "browser_click",
            "browser_type",
            "browser_scroll",
            "browser_back",
            "browser_press",
            "browser_get_images",
            "browser_vision",
            "browser_console",
        ],
    ),
    ("cronjob_tools", CRON),
    ("file_tools", FILE),
    ("tts_tools", SPEECH),
];

/// Toolsets that a person turns on and off for a platform.
pub(super) const CONFIGURABLE: &[&str] = &[
    "web",
    "browser",
    "terminal",
    "file",
    "code_execution",
    "vision",
    "video",
    "image_gen",
    "video_gen",
    "x_search",
    "tts",
    "skills",
    "todo",
    "memory",
    "context_engine",
    "session_search",
    "clarify",
    "delegation",
    "cronjob",
    "homeassistant",
    "spotify",
    "discord",
    "discord_admin",
    "yuanbao",
    "computer_use",
];

/// Those that are off until somebody names them.
pub(super) const OFF_BY_DEFAULT: &[&str] =
    &["homeassistant", "spotify", "discord", "discord_admin", "video", "video_gen", "x_search"];
