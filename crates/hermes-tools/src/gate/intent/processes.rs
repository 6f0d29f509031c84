//! Processes, services, the machine, and Hermes itself.

use crate::gate::act::Act;

pub(super) fn kills_everything(act: &Act<'_>) -> bool {
    if act.name == "killall5" {
        return true;
    }
    // `kill -1` alone is taken for what it is a slip of: `kill -9 -1`.
    act.name == "kill" && act.args.last().is_some_and(|last| last.text == "-1") && !act.has("-l")
}

pub(super) fn powers_off(act: &Act<'_>) -> bool {
    let asks_only = act.long("--help") || act.long("--version");
    match act.name {
        "shutdown" | "reboot" | "halt" | "poweroff" => !(asks_only || act.name == "shutdown" && act.has("-c")),
        "init" | "telinit" => matches!(act.operands().first(), Some(&("0" | "6"))),
        "systemctl" | "loginctl" => {
            let ends = ["poweroff", "reboot", "halt", "kexec", "soft-reboot"];
            let goal = |text: &str| {
                text.strip_suffix(".target").is_some_and(|goal| ends.contains(&goal) || goal == "shutdown")
            };
            act.operands().first().is_some_and(|verb| {
                ends.contains(verb) || matches!(*verb, "start" | "isolate") && act.texts().any(goal)
            })
        }
        "busctl" | "dbus-send" => act.texts().any(|text| text.contains("PowerOff") || text.contains("Reboot")),
        _ => false,
    }
}

pub(super) fn stops_service(act: &Act<'_>) -> bool {
    const VERBS: [&str; 8] =
        ["stop", "restart", "disable", "mask", "kill", "isolate", "try-restart", "reload-or-restart"];
    let verb = |at: usize| act.operands().get(at).is_some_and(|verb| VERBS.contains(verb));
    match act.name {
        "systemctl" | "rc-service" => verb(0) || act.name == "rc-service" && verb(1),
        "service" => verb(1),
        "launchctl" => {
            matches!(act.operands().first(), Some(&("stop" | "unload" | "bootout" | "kill" | "disable" | "remove")))
        }
        _ => false,
    }
}

/// The signal that cannot be caught, in any spelling.
fn is_kill_signal(act: &Act<'_>) -> bool {
    act.texts().any(|text| {
        let signal =
            text.trim_start_matches("--signal=").trim_start_matches("-s").trim_start_matches('-').to_uppercase();
        text.starts_with('-') && matches!(signal.as_str(), "9" | "KILL" | "SIGKILL")
    }) || act
        .value("-s", "--signal")
        .is_some_and(|signal| matches!(signal.to_uppercase().as_str(), "9" | "KILL" | "SIGKILL"))
}

pub(super) fn kills_by_force(act: &Act<'_>) -> bool {
    act.is(&["pkill", "killall"]) && is_kill_signal(act)
        || act.name == "killall" && (act.short('r') || act.long("--regexp"))
        || act.is(&["pkill", "killall"]) && act.short('u')
}

/// `kill $(pgrep …)`: the numbers are only known when it runs.
pub(super) fn kills_found(act: &Act<'_>) -> bool {
    act.name == "kill" && is_kill_signal(act) && act.args.iter().any(|word| !word.is_known())
        || act.name == "kill" && act.was_in("xargs")
}

fn names_hermes(text: &str) -> bool {
    let text = text.to_lowercase();
    text.contains("hermes") || text.contains("gateway")
}

pub(super) fn kills_hermes(act: &Act<'_>) -> bool {
    act.is(&["pkill", "killall", "kill"]) && act.operands().into_iter().any(names_hermes)
}

pub(super) fn stops_gateway(act: &Act<'_>) -> bool {
    let operands = act.operands();
    act.name == "hermes" && matches!(operands.as_slice(), ["gateway", "stop" | "restart" | "uninstall", ..])
}

pub(super) fn updates_hermes(act: &Act<'_>) -> bool {
    act.name == "hermes" && act.operands().first() == Some(&"update")
}

pub(super) fn detaches_gateway(act: &Act<'_>) -> bool {
    let detached =
        act.background || act.was_in("nohup") || act.was_in("setsid") || act.was_in("tmux") || act.was_in("screen");
    act.name == "hermes"
        && detached
        && matches!(act.operands().as_slice(), ["gateway", "run" | "start", ..] | ["gateway"])
}

pub(super) fn stops_containers(act: &Act<'_>) -> bool {
    if !act.is(&["docker", "podman", "nerdctl", "docker-compose"]) {
        return false;
    }
    const VALUES: [&str; 8] = ["-f", "--file", "-p", "--project-name", "-H", "--host", "--context", "--profile"];
    let mut verbs = Vec::new();
    let mut skip = false;
    for text in act.texts() {
        if !skip && !text.starts_with('-') {
            verbs.push(text);
        }
        skip = verbs.len() <= 1 && VALUES.contains(&text);
    }
    let force = act.short('f') || act.long("--force");
    match verbs.as_slice() {
        ["stop" | "restart" | "kill", ..] => true,
        ["compose", verb, ..] => matches!(*verb, "stop" | "restart" | "kill" | "down" | "rm"),
        ["down", ..] => act.name == "docker-compose",
        ["container", "stop" | "restart" | "kill", ..] => true,
        ["rm" | "rmi", ..] | ["container" | "image" | "volume" | "network", "rm", ..] => {
            force || verbs.first() == Some(&"volume")
        }
        ["system" | "volume" | "container" | "image" | "network" | "builder", "prune", ..] => true,
        _ => false,
    }
}

pub(super) fn changes_crontab(act: &Act<'_>) -> bool {
    act.name == "crontab"
        && !act.has("-l")
        && (act.short('r') || act.has("-") || act.stdin.is_some() || !act.operands().is_empty())
}

/// Options of sudo itself, before the command it runs.
fn sudo_options<'a>(act: &'a Act<'_>) -> Vec<&'a str> {
    const VALUES: [&str; 10] = ["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t"];
    let mut options = Vec::new();
    let mut value = false;
    for text in act.texts() {
        if value {
            value = false;
        } else if text.starts_with('-') && text.len() > 1 {
            options.push(text);
            value = VALUES.contains(&text);
        } else if !text.contains('=') {
            break;
        }
    }
    options
}

fn sudo_has(act: &Act<'_>, letters: &[char], long: &[&str]) -> bool {
    act.name == "sudo"
        && sudo_options(act).iter().any(|option| {
            long.iter().any(|name| option.len() >= 4 && name.starts_with(option))
                || !option.starts_with("--") && option.contains(letters)
        })
}

pub(super) fn sudo_stdin(act: &Act<'_>) -> bool {
    sudo_has(act, &['S'], &["--stdin"])
}

pub(super) fn sudo_flags(act: &Act<'_>) -> bool {
    sudo_has(act, &['A', 's', 'a'], &["--askpass", "--shell"])
}

/// Its policy, its keys, what it loads; or a second one that asks nobody.
pub(super) fn changes_hermes(act: &Act<'_>) -> bool {
    const CHANGES: [(&str, &[&str]); 9] = [
        ("config", &["set", "unset", "edit", "migrate"]),
        ("auth", &["add", "remove", "login", "logout", "reset"]),
        ("hooks", &["add", "remove", "approve", "enable", "disable", "revoke"]),
        ("plugins", &["install", "enable", "disable", "remove"]),
        ("mcp", &["add", "remove"]),
        ("tools", &["enable", "disable"]),
        ("profile", &["create", "delete", "use", "import", "rename"]),
        ("cron", &["add", "create", "edit", "remove"]),
        ("backup", &["restore"]),
    ];
    if act.name != "hermes" {
        return false;
    }
    let changes = CHANGES.iter().any(|(part, verbs)| {
        let mut words = act.texts().skip_while(|text| text != part).skip(1);
        words.any(|word| verbs.contains(&word))
    });
    changes || act.has("--yolo") || act.has("--accept-hooks")
}
