//! Everything a command can be up to that the owner should hear of: one table, one row for each intent.
//!
//! The key is what people read, what is remembered for a session and what stands in `command_allowlist`; it never
//! changes its meaning. A new danger is a new row.

mod files;
mod processes;
mod programs;
mod reach;

pub(super) use programs::{COMMANDING, PROMPTS, loads};

use super::act::Act;
use super::place::Place;

/// How bad it is. The worse sorts first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Never runs, whatever the policy says.
    Hardline,
    /// Runs when a person or a rule says so.
    Dangerous,
}

/// How long a consent may be remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    Always,
    /// The key says little about what would run next time.
    Once,
}

/// What only the walk through a script can see.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    TooLarge,
    Unreadable,
    UnknownCommand,
    LookAlike,
    ForkBomb,
    RemotePipe,
    RemoteCode,
    DownloadedRun,
    DecodedCode,
    ComputedCode,
    Pipe,
    ShellCode,
    InlineCode,
    Document,
    MadeExecutable,
    Loading,
    KeysLeave,
    KeysRead,
    GraveScript,
    ScriptStarts,
}

#[derive(Clone, Copy)]
pub(super) enum Detect {
    Walk(Seen),
    Act(fn(&Act<'_>) -> bool),
    /// A file that is opened for writing.
    Write(fn(&Place, &str, Option<&str>) -> bool),
}

pub struct Intent {
    pub key: &'static str,
    pub class: Class,
    pub memory: Memory,
    pub(super) detect: Detect,
}

impl Intent {
    pub(super) fn hides_text(&self) -> bool {
        matches!(
            self.detect,
            Detect::Walk(Seen::TooLarge | Seen::Unreadable | Seen::UnknownCommand | Seen::ComputedCode)
        )
    }
}

const fn hardline(key: &'static str, detect: Detect) -> Intent {
    Intent { key, class: Class::Hardline, memory: Memory::Once, detect }
}

const fn dangerous(key: &'static str, detect: Detect) -> Intent {
    Intent { key, class: Class::Dangerous, memory: Memory::Always, detect }
}

const fn once(key: &'static str, detect: Detect) -> Intent {
    Intent { key, class: Class::Dangerous, memory: Memory::Once, detect }
}

use Detect::{Act as Does, Walk, Write};

pub static INTENTS: &[Intent] = &[
    // Never.
    hardline("command too large to check", Walk(Seen::TooLarge)),
    hardline("delete the root, a system directory or the home", Does(files::deletes_vital)),
    hardline("format a filesystem", Does(files::formats)),
    hardline("write to a block device", Write(Place::is_disk)),
    hardline("replace or delete a device", Does(files::replaces_device)),
    hardline("fork bomb", Walk(Seen::ForkBomb)),
    hardline("kill all processes", Does(processes::kills_everything)),
    hardline("shut down or restart the machine", Does(processes::powers_off)),
    hardline("write to a kernel switch", Write(Place::is_kernel_switch)),
    // What cannot be read.
    once("command cannot be read", Walk(Seen::Unreadable)),
    once("command name is only known when it runs", Walk(Seen::UnknownCommand)),
    once("command name with look-alike letters", Walk(Seen::LookAlike)),
    once("runs text that is only known when it runs", Walk(Seen::ComputedCode)),
    once(GRAVE_SCRIPT, Walk(Seen::GraveScript)),
    // Deleting.
    dangerous("delete in root path", Does(files::deletes_in_root)),
    dangerous("recursive delete", Does(files::deletes_recursively)),
    dangerous("xargs with rm", Does(files::xargs_rm)),
    dangerous("find -exec rm", Does(files::find_rm)),
    dangerous("find -delete", Does(files::find_delete)),
    dangerous("sync that deletes", Does(files::sync_deletes)),
    dangerous("move a vital directory", Does(files::moves_vital)),
    // Disks.
    dangerous("disk copy", Does(files::disk_copy)),
    dangerous("change partitions or wipe a disk", Does(files::changes_disks)),
    // Databases.
    dangerous("SQL DROP", Does(programs::sql_drop)),
    dangerous("SQL DELETE without WHERE", Does(programs::sql_delete)),
    dangerous("SQL TRUNCATE", Does(programs::sql_truncate)),
    // Files that steer the machine, the account or the agent.
    dangerous("overwrite system config", Write(Place::is_system)),
    dangerous("overwrite sensitive file", Write(Place::is_sensitive)),
    dangerous("overwrite sensitive file", Does(files::links_to_sensitive)),
    dangerous("overwrite sensitive file", Does(reach::deletes_sensitive)),
    dangerous("copy or unpack over a vital directory", Does(reach::lands_on_vital)),
    dangerous("change the settings of hermes", Does(processes::changes_hermes)),
    dangerous("overwrite project env/config", Write(|_, path, _| Place::is_project_secret(path))),
    dangerous("change scheduled jobs", Does(processes::changes_crontab)),
    dangerous("start something at every login or boot", Does(reach::starts_by_itself)),
    dangerous("lend the identity of a file's owner", Does(reach::lends_identity)),
    dangerous("world/other-writable permissions", Does(files::opens_permissions)),
    dangerous("recursive chown to root", Does(files::chown_root)),
    dangerous("permissions of a vital directory", Does(files::permissions_of_vital)),
    // Services and processes.
    dangerous("stop/restart system service", Does(processes::stops_service)),
    dangerous("force kill processes", Does(processes::kills_by_force)),
    dangerous("kill processes by a search", Does(processes::kills_found)),
    dangerous("kill hermes/gateway process (self-termination)", Does(processes::kills_hermes)),
    dangerous("stop/restart hermes gateway", Does(processes::stops_gateway)),
    dangerous("hermes update", Does(processes::updates_hermes)),
    dangerous("start gateway detached", Does(processes::detaches_gateway)),
    dangerous("stop or remove containers", Does(processes::stops_containers)),
    // Code from elsewhere, code out of sight.
    dangerous("pipe remote content to shell", Walk(Seen::RemotePipe)),
    dangerous("execute remote script", Walk(Seen::RemoteCode)),
    dangerous("download then run", Walk(Seen::DownloadedRun)),
    dangerous("run decoded content", Walk(Seen::DecodedCode)),
    dangerous("pipe content to interpreter", Walk(Seen::Pipe)),
    dangerous("shell command via -c/-lc flag", Walk(Seen::ShellCode)),
    dangerous("script execution via -e/-c flag", Walk(Seen::InlineCode)),
    dangerous("script execution via heredoc", Walk(Seen::Document)),
    dangerous(SCRIPT_STARTS, Walk(Seen::ScriptStarts)),
    dangerous("chmod +x followed by immediate execution", Walk(Seen::MadeExecutable)),
    dangerous("program option that runs a command", Does(programs::runs_helper)),
    dangerous("program option that runs a command", Does(reach::hides_command)),
    dangerous("install from an address", Does(reach::installs_from_address)),
    dangerous("open a shell to the network", Does(programs::opens_shell)),
    dangerous(
        "open a shell to the network",
        Write(|_, path, _| path.starts_with("/dev/tcp/") || path.starts_with("/dev/udp/")),
    ),
    dangerous("change what a program loads", Does(programs::changes_loading)),
    dangerous("change what a program loads", Walk(Seen::Loading)),
    dangerous("change accounts, firewall or kernel", Does(programs::changes_machine)),
    dangerous("change accounts, firewall or kernel", Does(reach::changes_running_machine)),
    dangerous("read keys", Does(reach::reads_keys)),
    dangerous("read keys", Walk(Seen::KeysRead)),
    dangerous("send keys to another machine", Walk(Seen::KeysLeave)),
    dangerous("send keys to another machine", Does(reach::serves_keys)),
    dangerous("delete remote resources", Does(programs::deletes_remotely)),
    dangerous("container with the root of the machine", Does(programs::gives_root_to_container)),
    // Windows.
    dangerous("Windows delete", Does(programs::windows_delete)),
    dangerous("PowerShell encoded command", Does(programs::powershell_encoded)),
    // Git.
    dangerous("git reset --hard (destroys uncommitted changes)", Does(programs::git_reset)),
    dangerous("git force push (rewrites remote history)", Does(programs::git_force_push)),
    dangerous("git clean with force (deletes untracked files)", Does(programs::git_clean)),
    dangerous("git branch force delete", Does(programs::git_branch_delete)),
    dangerous("git discard changes", Does(programs::git_discard)),
    dangerous("git rewrite or drop history", Does(programs::git_rewrite)),
    // Privileges.
    dangerous(SUDO_STDIN, Does(processes::sudo_stdin)),
    dangerous("sudo with askpass or shell flags", Does(processes::sudo_flags)),
];

/// A file may hold more than it does: what would never run as a command is asked about in a script.
pub(super) const GRAVE_SCRIPT: &str = "script with a command that never runs by itself";

/// What a script has a tool for.
pub(crate) const SCRIPT_STARTS: &str = "script that starts programs itself";

/// Refused while no password is configured: it guesses or waits.
pub(super) const SUDO_STDIN: &str = "sudo reading its password from standard input";

/// Keys that earlier versions wrote into settings.
const OLD_KEYS: [(&str, &str); 17] = [
    ("recursive delete (long flag)", "recursive delete"),
    ("overwrite system file via tee", "overwrite system config"),
    ("overwrite system file via redirection", "overwrite system config"),
    ("copy/move file into /etc/", "overwrite system config"),
    ("in-place edit of system config", "overwrite system config"),
    ("in-place edit of system config (long flag)", "overwrite system config"),
    ("overwrite project env/config via tee", "overwrite project env/config"),
    ("overwrite project env/config via redirection", "overwrite project env/config"),
    ("execute remote script via process substitution", "execute remote script"),
    ("recursive world/other-writable (long flag)", "world/other-writable permissions"),
    ("recursive chown to root (long flag)", "recursive chown to root"),
    ("git force push short flag (rewrites remote history)", "git force push (rewrites remote history)"),
    ("stop/restart hermes gateway (kills running agents)", "stop/restart hermes gateway"),
    ("hermes update (restarts gateway, kills running agents)", "hermes update"),
    ("start gateway outside systemd", "start gateway detached"),
    ("write to block device", "write to a block device"),
    ("format filesystem", "format a filesystem"),
];

/// The key that a stored text stands for today.
pub fn canonical_key(text: &str) -> Option<&'static str> {
    let now = OLD_KEYS.iter().find(|(old, _)| *old == text).map_or(text, |(_, new)| new);
    INTENTS.iter().map(|intent| intent.key).find(|key| *key == now)
}

/// Whether a command runs commands that stand somewhere in its own words.
pub(super) fn hides_code(act: &Act<'_>) -> bool {
    programs::runs_helper(act) || reach::hides_command(act) || programs::opens_shell(act) || act.name == "crontab"
}

/// Findings that count in a script that lies on disk too. What else projects do in their own scripts is their business.
pub(super) const COUNT_IN_SCRIPTS: [&str; 5] = [
    "overwrite sensitive file",
    "change the settings of hermes",
    "read keys",
    "send keys to another machine",
    "open a shell to the network",
];

/// Names worth recognising behind a pattern such as `/bin/r?`.
pub(super) const NOTABLE: [&str; 24] = [
    "rm", "dd", "sh", "bash", "mkfs", "reboot", "shutdown", "halt", "poweroff", "kill", "killall", "pkill", "chmod",
    "chown", "curl", "wget", "tee", "mv", "cp", "shred", "python3", "perl", "sudo", "find",
];
