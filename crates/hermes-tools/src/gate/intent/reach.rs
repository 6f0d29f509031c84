//! What reaches further than it looks: keys that are read, programs from an address, copies over a home, code in the
//! arguments of programs that are no shells.

use super::programs::CLIENTS;
use crate::gate::act::Act;

/// Programs that print or copy what is in a file.
const OPENERS: [&str; 37] = [
    "cat", "tac", "head", "tail", "nl", "less", "more", "most", "bat", "rev", "cut", "paste", "tr", "base64", "base32",
    "xxd", "od", "hexdump", "strings", "grep", "rg", "sed", "awk", "gawk", "sort", "diff", "cp", "mv", "install", "dd",
    "tar", "zip", "7z", "gzip", "split", "tee", "python3",
];

/// Keys that are shown or copied: the next command, or whoever reads the output, can carry them away.
pub(super) fn reads_keys(act: &Act<'_>) -> bool {
    let named = |text: &str| {
        let part = text.split_once('=').map_or(text, |(_, value)| value);
        act.place.is_key(part, act.cwd)
    };
    let copies = act.is(&["cp", "mv", "install"]);
    let operands = act.operands();
    let sources = if copies { operands.len().saturating_sub(1) } else { operands.len() };
    let moved_among_keys = copies && operands.last().is_some_and(|target| act.place.is_key(target, act.cwd));
    act.is(&OPENERS) && !moved_among_keys && operands.into_iter().take(sources).any(named)
}

/// A server for files that shows the home or keys.
pub(super) fn serves_keys(act: &Act<'_>) -> bool {
    let serves = act.has("http.server") || act.is(&["http-server", "serve", "miniserve", "darkhttpd"]);
    let below = act.value("-d", "--directory").or_else(|| act.operands().last().copied());
    let standing = act.cwd.unwrap_or_default();
    let folder = below.filter(|folder| folder.contains(['/', '~', '.'])).filter(|folder| *folder != "http.server");
    let folder = folder.unwrap_or(standing);
    serves && (act.is_vital(folder) || act.place.is_key(folder, act.cwd))
}

/// `pip install https://…`, `cargo install --git …`: whatever lies there runs, now or at the next start.
pub(super) fn installs_from_address(act: &Act<'_>) -> bool {
    const INSTALLERS: [&str; 15] = [
        "pip", "pip3", "pipx", "uv", "npm", "pnpm", "yarn", "bun", "cargo", "gem", "npx", "uvx", "dpkg", "rpm", "brew",
    ];
    let module = act.has("-m") && act.has("pip");
    let verb =
        ["install", "add", "i", "-i", "tap", "--git"].iter().any(|verb| act.has(verb)) || act.is(&["npx", "uvx"]);
    let address = |text: &str| {
        let text = text.split_once('=').map_or(text, |(_, value)| value);
        let text = text.strip_prefix("git+").unwrap_or(text);
        ["http://", "https://", "ssh://", "git://", "git@", "ftp://"].iter().any(|start| text.starts_with(start))
    };
    // A registry of one's own is as good as its owner.
    let usual = |text: &str| {
        ["https://pypi.org/", "https://download.pytorch.org/", "https://registry.npmjs.org"]
            .iter()
            .any(|known| text.contains(known))
    };
    (act.is(&INSTALLERS) || module) && verb && act.texts().any(|text| address(text) && !usual(text))
}

/// A copy or an archive that lands on the root, a directory of the system, or the home itself.
pub(super) fn lands_on_vital(act: &Act<'_>) -> bool {
    let folder = match act.name {
        "tar" | "bsdtar" => act.value("-C", "--directory").filter(|_| extracts(act)),
        "unzip" => act.value("-d", ""),
        "cpio" | "pax" => act.operands().last().copied(),
        "patch" => act.value("-d", "--directory"),
        "rsync" => {
            let operands = act.operands();
            let spreads = operands.iter().rev().skip(1).any(|source| source.ends_with('/'));
            operands.last().copied().filter(|_| spreads)
        }
        "cp" => {
            let operands = act.operands();
            let spreads = operands.iter().rev().skip(1).any(|source| *source == "." || source.ends_with("/."));
            operands.last().copied().filter(|_| spreads)
        }
        _ => None,
    };
    let absolute_names =
        act.is(&["tar", "bsdtar"]) && extracts(act) && (act.short('P') || act.long("--absolute-names"));
    absolute_names || folder.is_some_and(|folder| act.is_vital(folder))
}

fn extracts(act: &Act<'_>) -> bool {
    let cluster = act.texts().next().is_some_and(|first| !first.starts_with('-') && first.contains('x'));
    cluster || act.short('x') || act.long("--extract")
}

/// `chmod u+s`, `setcap`: whoever runs the file later is somebody else.
pub(super) fn lends_identity(act: &Act<'_>) -> bool {
    let mode = |text: &str| {
        let digits = text.len() >= 4 && text.bytes().all(|byte| byte.is_ascii_digit());
        let special = digits && text.trim_start_matches('0').len() >= 4;
        special
            || text.split(',').any(|part| {
                part.split_once(['+', '='])
                    .is_some_and(|(who, what)| what.contains('s') && who.bytes().all(|byte| b"ugoa".contains(&byte)))
            })
    };
    act.name == "setcap" || act.is(&["chmod", "gchmod"]) && act.operands().first().is_some_and(|text| mode(text))
}

/// What comes back by itself.
pub(super) fn starts_by_itself(act: &Act<'_>) -> bool {
    let first = act.operands().first().copied().unwrap_or_default();
    match act.name {
        "systemctl" => matches!(first, "enable" | "link" | "edit" | "set-default" | "add-wants" | "reenable"),
        "loginctl" => first == "enable-linger",
        "launchctl" => matches!(first, "load" | "bootstrap" | "enable" | "submit"),
        "update-rc.d" | "chkconfig" | "rc-update" => act.args.len() > 1,
        "at" => act.short('f'),
        _ => false,
    }
}

/// Files that steer are as lost by deleting as by writing.
pub(super) fn deletes_sensitive(act: &Act<'_>) -> bool {
    let loses = |path: &str| act.place.is_sensitive(path, act.cwd);
    match act.name {
        "rm" | "unlink" | "shred" | "srm" => act.operands().into_iter().any(loses),
        "mv" => {
            let operands = act.operands();
            let sources = operands.len().saturating_sub(1);
            operands.into_iter().take(sources).any(loses)
        }
        "sqlite3" | "sqlite" => {
            const CHANGES: [&str; 8] = ["INSERT", "UPDATE", "DELETE", "DROP", "ALTER", "REPLACE", "CREATE", "ATTACH"];
            let file = act.operands().first().copied().unwrap_or_default();
            let said = act.texts().chain(act.stdin.map(|stdin| stdin.text.as_str()));
            let text = said.collect::<Vec<_>>().join(" ").to_uppercase();
            loses(file) && CHANGES.iter().any(|word| text.contains(word))
        }
        _ => false,
    }
}

/// Programs and what must stand in one of their words for it to be a command. An empty program is any database client.
const ESCAPES: [(&str, &str); 34] = [
    ("", "\\!"),
    ("", ".shell"),
    ("", ".system"),
    ("", ".load"),
    ("", "load_extension"),
    ("", " program '"),
    ("mysql", "system "),
    ("nvim", "os.execute"),
    ("nvim", "vim.fn"),
    ("emacs", "--eval"),
    ("emacs", "shell-command"),
    ("emacs", "call-process"),
    ("emacs", "--load"),
    ("ex", "!"),
    ("git", "ext::"),
    ("git", "--open-files-in-pager"),
    ("git", "--config=core."),
    ("rsync", "--rsync-path"),
    ("make", "shell="),
    ("make", "$(shell"),
    ("gmake", "shell="),
    ("gmake", "$(shell"),
    ("apt-get", "invoke"),
    ("apt", "invoke"),
    ("rpm", "%("),
    ("nmap", "--script=/"),
    ("openvpn", "--up"),
    ("openvpn", "--script-security"),
    ("openssl", "-engine"),
    ("npm", "script-shell"),
    ("gawk", "@load"),
    ("tcpdump", "-z"),
    ("docker", "--config-file"),
    ("ffmpeg", "|"),
];

/// Words of `git` after which a command stands.
const GIT_RUNS: [(&str, &[&str]); 5] = [
    ("submodule", &["foreach"]),
    ("rebase", &["-x", "--exec"]),
    ("difftool", &["-x", "--extcmd"]),
    ("grep", &["-O"]),
    ("clone", &["--config", "--template"]),
];

pub(super) fn hides_command(act: &Act<'_>) -> bool {
    let is_client = act.is(&CLIENTS);
    let mut signs = ESCAPES
        .iter()
        .filter(|(program, _)| if program.is_empty() { is_client } else { act.name == *program })
        .map(|(_, sign)| *sign)
        .peekable();
    let escapes = signs.peek().is_some() && {
        let words: Vec<String> = act.texts().map(str::to_lowercase).collect();
        signs.any(|sign| words.iter().any(|word| word.contains(sign)))
    };
    let git = act.name == "git"
        && GIT_RUNS.iter().any(|(verb, words)| {
            let mut after = act.texts().skip_while(|text| text != verb).skip(1);
            after.any(|text| words.iter().any(|word| runs(text, word)))
        });
    let traced =
        act.is(&["strace", "ltrace"]) && act.value("-o", "--output").is_some_and(|to| to.starts_with(['|', '!']));
    let configured = act.name == "ssh"
        && act.value("-F", "").is_some_and(|file| file != "/dev/null" && file.starts_with('/'))
        || act.name == "curl" && (act.has("-K") || act.long("--config"));
    let typed = act.is(&["ex", "vim", "vi", "emacs"]) && act.value("-l", "").is_some();
    let read = act.is(&["awk", "gawk", "mawk", "make", "gmake"])
        && act.value("-f", "--file").is_some_and(|file| file == "-" || file.starts_with("/dev/"))
        && act.stdin.is_some();
    let piped = act.is(&["awk", "gawk", "mawk", "nawk"])
        && act.texts().any(|text| text.contains("| \"") || text.contains("|\"") || text.contains("|&"));
    escapes || git || traced || configured || typed || read || piped
}

fn runs(text: &str, word: &str) -> bool {
    text == word || word == "-O" && text.starts_with(word) && text.len() > 2
}

/// Network, mounts, power and the kernel.
pub(super) fn changes_running_machine(act: &Act<'_>) -> bool {
    let has = |words: &[&str]| words.iter().all(|word| act.has(word));
    let first = act.operands().first().copied().unwrap_or_default();
    match act.name {
        "mount" => act.operands().len() > 1 || act.texts().any(|text| text.contains("remount")) || act.has("-a"),
        "swapon" | "kexec" | "dmsetup" | "losetup" => !act.operands().is_empty() && !act.has("-a"),
        "chattr" => act.texts().any(|text| text.starts_with("-i") || text.starts_with("-a")),
        "ip" => has(&["link", "down"]) || has(&["route", "del"]) || has(&["addr", "flush"]) || has(&["route", "flush"]),
        "ifconfig" => act.has("down"),
        "nmcli" => act.has("off") || act.has("down"),
        "systemctl" => matches!(first, "emergency" | "rescue" | "suspend" | "hibernate" | "hybrid-sleep" | "default"),
        "fuser" => act.short('k'),
        "skill" | "snice" => true,
        "kill" => act.operands().contains(&"1"),
        "pkill" => act.operands().into_iter().any(|pattern| pattern.chars().all(|found| ".*^$?+".contains(found))),
        _ => false,
    }
}
