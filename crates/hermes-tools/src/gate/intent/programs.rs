//! Programs with dangers of their own: databases, git, helpers that run commands, Windows.

use crate::gate::act::Act;

pub(super) const CLIENTS: [&str; 16] = [
    "psql",
    "mysql",
    "mariadb",
    "sqlite3",
    "sqlite",
    "duckdb",
    "clickhouse-client",
    "clickhouse",
    "sqlcmd",
    "cqlsh",
    "bq",
    "snowsql",
    "pgcli",
    "mycli",
    "usql",
    "sqlplus",
];

/// The statements a database client is given, in capitals, without strings of blanks.
fn statements(act: &Act<'_>) -> Vec<String> {
    let is_sql = ["delete", "drop", "truncate"].contains(&act.name);
    let mut texts = Vec::new();
    if is_sql {
        texts.push(act.text());
    } else if act.is(&CLIENTS) {
        texts.extend(act.texts().map(str::to_owned));
        texts.extend(act.stdin.map(|stdin| stdin.text.clone()));
    }
    let lines = texts.iter().flat_map(|text| text.split(';'));
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ").to_uppercase()).collect()
}

pub(super) fn sql_drop(act: &Act<'_>) -> bool {
    const WHAT: [&str; 5] = ["DROP TABLE", "DROP DATABASE", "DROP SCHEMA", "DROP OWNED", "DROP KEYSPACE"];
    act.name == "dropdb" || statements(act).iter().any(|line| WHAT.iter().any(|what| line.contains(what)))
}

pub(super) fn sql_delete(act: &Act<'_>) -> bool {
    statements(act).iter().any(|line| line.contains("DELETE FROM ") && !line.contains(" WHERE "))
}

pub(super) fn sql_truncate(act: &Act<'_>) -> bool {
    act.name != "truncate"
        && statements(act).iter().any(|line| line.starts_with("TRUNCATE ") || line.contains(" TRUNCATE TABLE"))
        || act.name == "truncate" && act.texts().next().is_some_and(|word| word.eq_ignore_ascii_case("table"))
}

/// Options with which a reading tool starts another program.
const HELPERS: [(&str, &[&str]); 14] = [
    ("sort", &["--compress-program"]),
    ("rg", &["--pre", "--hostname-bin"]),
    ("ag", &["--pager"]),
    ("man", &["-P", "-H", "--pager", "--html"]),
    (
        "tar",
        &[
            "--to-command",
            "--checkpoint-action",
            "-I",
            "--use-compress-program",
            "--rsh-command",
            "--info-script",
            "-F",
        ],
    ),
    ("git", &["--upload-pack", "--receive-pack", "--exec", "--extcmd"]),
    ("ssh", &["ProxyCommand", "LocalCommand"]),
    ("scp", &["-S", "ProxyCommand"]),
    ("rsync", &["-e", "--rsh"]),
    ("zip", &["-TT", "--unzip-command"]),
    ("split", &["--filter"]),
    ("wget", &["--use-askpass"]),
    ("curl", &["--engine"]),
    ("gdb", &["-ex", "-x"]),
];

pub(super) fn runs_helper(act: &Act<'_>) -> bool {
    let Some((_, options)) = HELPERS.iter().find(|(name, _)| *name == act.name) else {
        return git_config(act) || editors(act);
    };
    let names = |text: &str, option: &str| {
        let head = text.split(['=', ' ']).next().unwrap_or(text);
        head == option
            || (option.starts_with("--") && head.starts_with(option))
            || (!option.starts_with('-') && text.contains(option))
    };
    let mut words = act.texts().peekable();
    while let Some(text) = words.next() {
        // A plain remote shell and plain compressors are what these options are for.
        let harmless = act.is(&["rsync", "tar"])
            && words.peek().is_some_and(|next| {
                let first = next.split(' ').next().unwrap_or(next);
                ["ssh", "zstd", "pigz", "xz", "gzip", "bzip2", "lz4", "pbzip2", "pixz"].contains(&first)
                    && !next.contains("ProxyCommand")
            });
        let attached_harmless = act.is(&["rsync", "tar"])
            && text.split_once('=').is_some_and(|(_, value)| {
                ["ssh", "zstd", "pigz", "xz", "gzip", "lz4"].iter().any(|known| value.starts_with(known))
            })
            && !text.contains("ProxyCommand");
        if !harmless && !attached_harmless && options.iter().any(|option| names(text, option)) {
            return true;
        }
    }
    git_config(act)
}

/// `git -c core.pager=…`: settings that are commands.
fn git_config(act: &Act<'_>) -> bool {
    const COMMANDS: [&str; 11] = [
        "core.pager",
        "core.editor",
        "core.sshcommand",
        "core.fsmonitor",
        "core.hookspath",
        "alias.",
        "diff.external",
        "sequence.editor",
        "credential.helper",
        "filter.",
        "core.gitproxy",
    ];
    if act.name == "git" && act.has("config") {
        return act.args.windows(2).any(|pair| match pair {
            [key, value] => {
                let key = key.text.to_lowercase();
                COMMANDS.iter().any(|known| key.starts_with(known)) && value.text.contains(['!', ' ', '/'])
            }
            _ => false,
        });
    }
    act.name == "git"
        && act.args.windows(2).any(|pair| match pair {
            [flag, setting] => {
                let setting = setting.text.to_lowercase();
                let harmless = matches!(
                    setting.as_str(),
                    "core.pager=cat"
                        | "core.pager="
                        | "core.editor=true"
                        | "core.editor=:"
                        | "sequence.editor=true"
                        | "sequence.editor=:"
                );
                flag.text == "-c" && !harmless && COMMANDS.iter().any(|known| setting.starts_with(known))
            }
            _ => false,
        })
}

/// `vim -c ':!rm'`.
fn editors(act: &Act<'_>) -> bool {
    if act.is(&["sed", "gsed"]) {
        return act.texts().any(sed_runs);
    }
    let typed = act.stdin.is_some_and(|stdin| stdin.text.lines().any(|line| line.starts_with(['!', ':'])));
    if act.is(&["ed", "ex"]) && typed {
        return true;
    }
    act.is(&["vim", "vi", "nvim", "ex", "emacs", "less", "more"])
        && act.texts().any(|text| text.contains(":!") || text.starts_with("+!") || text.contains("system("))
}

/// `sed '1e command'` and `s/a/b/e`.
fn sed_runs(script: &str) -> bool {
    script.split([';', '\n']).any(|part| {
        let part = part.trim();
        let command = part.trim_start_matches(|found: char| found.is_ascii_digit() || matches!(found, '$' | ',' | '!'));
        let substitutes = command.starts_with("s/") || command.starts_with("s|") || command.starts_with("s#");
        let flags = command.rsplit(['/', '|', '#']).next().unwrap_or_default();
        command.starts_with("e ")
            || command == "e"
            || substitutes && flags.contains('e') && flags.chars().all(|found| "gipemM0123456789".contains(found))
    })
}

pub(super) fn opens_shell(act: &Act<'_>) -> bool {
    let to_network = act.is(&["nc", "ncat", "netcat"])
        && (act.short('e') || act.short('c') || act.long("--exec") || act.long("--sh-exec"));
    let socat = act.name == "socat"
        && act
            .texts()
            .any(|text| text.to_lowercase().starts_with("exec:") || text.to_lowercase().starts_with("system:"));
    to_network || socat
}

/// Who may log in, what may pass the firewall, what the kernel allows.
pub(super) fn changes_machine(act: &Act<'_>) -> bool {
    const ALWAYS: [&str; 13] = [
        "useradd",
        "userdel",
        "usermod",
        "adduser",
        "deluser",
        "groupadd",
        "chpasswd",
        "visudo",
        "sudoedit",
        "vipw",
        "swapoff",
        "setenforce",
        "pivot_root",
    ];
    let help = act.long("--help") || act.long("--version");
    let firewall = act.is(&["iptables", "ip6tables"])
        && ["-F", "-X", "-P", "-D", "--flush"].iter().any(|flag| act.has(flag))
        || act.name == "nft" && (act.has("flush") || act.has("delete"))
        || act.name == "ufw" && (act.has("disable") || act.has("reset"));
    let kernel = act.name == "sysctl" && act.has("-w")
        || act.name == "passwd" && !act.has("-S")
        || act.name == "umount" && act.short('a');
    !help && (act.is(&ALWAYS) || firewall || kernel)
}

/// Deleting what lives on other machines: program, words that must all be there.
const REMOTE_DELETES: [(&str, &[&str]); 17] = [
    ("kubectl", &["delete"]),
    ("oc", &["delete"]),
    ("helm", &["uninstall"]),
    ("terraform", &["destroy"]),
    ("tofu", &["destroy"]),
    ("pulumi", &["destroy"]),
    ("aws", &["s3", "rm"]),
    ("aws", &["s3", "rb"]),
    ("aws", &["terminate-instances"]),
    ("gsutil", &["rm"]),
    ("gcloud", &["delete"]),
    ("az", &["delete"]),
    ("gh", &["repo", "delete"]),
    ("gh", &["release", "delete"]),
    ("npm", &["unpublish"]),
    ("redis-cli", &["FLUSHALL"]),
    ("redis-cli", &["FLUSHDB"]),
];

pub(super) fn deletes_remotely(act: &Act<'_>) -> bool {
    let mongo = act.is(&["mongosh", "mongo"])
        && act.texts().any(|text| text.contains("dropDatabase") || text.contains(".drop("));
    let has = |word: &str| act.texts().any(|text| text.eq_ignore_ascii_case(word));
    mongo || REMOTE_DELETES.iter().any(|(name, words)| act.name == *name && words.iter().all(|word| has(word)))
}

/// A container that is given the root of the machine.
pub(super) fn gives_root_to_container(act: &Act<'_>) -> bool {
    act.is(&["docker", "podman", "nerdctl"])
        && act.has("run")
        && act.texts().any(|text| {
            let volume = text.trim_start_matches("-v").trim_start_matches("--volume=");
            let mount = text.split(',').find_map(|part| part.strip_prefix("source=").or(part.strip_prefix("src=")));
            let source = mount.or_else(|| volume.split_once(':').map(|(source, _)| source)).unwrap_or_default();
            let gives = source.starts_with(['/', '~'])
                && (act.is_vital(source) || act.place.is_sensitive(source, act.cwd) || source.ends_with("docker.sock"));
            text == "--privileged" || text == "--pid=host" || gives
        })
}

/// Libraries and modules of the kernel that change what other programs do.
pub(super) fn changes_loading(act: &Act<'_>) -> bool {
    let sets = |text: &str| text.split_once('=').is_some_and(|(name, value)| loads(name, value));
    act.is(&["insmod", "rmmod"])
        || act.name == "modprobe" && !act.has("-n")
        || act.is(&["export", "env", "declare", "typeset", "readonly", "local", "sudo", "doas"])
            && act.texts().any(sets)
        || act.name == "enable" && act.short('f')
}

/// Whether this value makes programs load or run something else than they say.
pub(in crate::gate) fn loads(name: &str, value: &str) -> bool {
    let foreign = |entry: &str| {
        let temporary = ["/tmp", "/var/tmp", "/dev/shm"].iter().any(|folder| entry.starts_with(folder));
        entry.is_empty() || temporary || entry == "." || entry.starts_with("./") || entry.starts_with("..")
    };
    match name {
        // Everybody may put things here, or whoever made the directory that a command stands in.
        "PATH" | "LD_LIBRARY_PATH" if value.is_empty() => false,
        "PATH" | "LD_LIBRARY_PATH" => value.trim_end_matches(':').split(':').any(foreign),
        "NODE_OPTIONS" => ["--require", "-r ", "--import", "loader"].iter().any(|flag| value.contains(flag)),
        "JAVA_TOOL_OPTIONS" | "_JAVA_OPTIONS" | "JDK_JAVA_OPTIONS" => {
            value.contains("-agent") || value.contains("-javaagent")
        }
        _ => LOADING.contains(&name) || name.starts_with("BASH_FUNC_") || name.starts_with("GIT_CONFIG_"),
    }
}

/// Variables that make programs load or run something else.
const LOADING: [&str; 16] = [
    "LD_PRELOAD",
    "LD_AUDIT",
    "BASH_ENV",
    "ENV",
    "DYLD_INSERT_LIBRARIES",
    "PERL5OPT",
    "RUBYOPT",
    "PYTHONSTARTUP",
    "PERL5DB",
    "SHELLOPTS",
    "BASHOPTS",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "MAKEFILES",
    "HERMES_HOME",
    "HERMES_YOLO_MODE",
];
/// Variables that are expanded each time they are shown.
pub(in crate::gate) const PROMPTS: [&str; 5] = ["PS0", "PS1", "PS2", "PS3", "PS4"];
/// Variables whose value is a command.
pub(in crate::gate) const COMMANDING: [&str; 17] = [
    "PROMPT_COMMAND",
    "PAGER",
    "MANPAGER",
    "GIT_PAGER",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_ASKPASS",
    "SUDO_EDITOR",
    "LESSOPEN",
    "LESSCLOSE",
    "GIT_SSH",
    "GIT_PROXY_COMMAND",
    "BROWSER",
];

pub(super) fn windows_delete(act: &Act<'_>) -> bool {
    const VERBS: [&str; 5] = ["del", "erase", "rd", "rmdir", "format"];
    let text = act.text().to_lowercase();
    let words: Vec<&str> =
        text.split(|found: char| found.is_whitespace() || matches!(found, '"' | '\'' | ';')).collect();
    match act.name {
        "cmd" => {
            words.windows(2).any(|pair| matches!(pair, [flag, verb] if flag.starts_with("/c") && VERBS.contains(verb)))
        }
        "powershell" | "pwsh" => words.iter().any(|word| {
            ["remove-item", "ri", "del", "erase", "rd", "rm", "rmdir", "clear-disk", "format-volume"].contains(word)
        }),
        "remove-item" => true,
        _ => false,
    }
}

pub(super) fn powershell_encoded(act: &Act<'_>) -> bool {
    let encoded = |text: &str| {
        let text = text.to_lowercase();
        text.len() >= 2 && "-encodedcommand".starts_with(&text) && text.starts_with("-e") || text == "-ec"
    };
    act.is(&["powershell", "pwsh"]) && act.texts().any(encoded)
}

/// The subcommand of git and what follows it; options of git itself are passed over.
fn git<'a>(act: &'a Act<'_>) -> Option<(&'a str, Vec<&'a str>)> {
    if act.name != "git" {
        return None;
    }
    let mut rest = act.texts();
    while let Some(text) = rest.next() {
        match text {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                rest.next();
            }
            option if option.starts_with('-') => {}
            subcommand => return Some((subcommand, rest.collect())),
        }
    }
    None
}

fn flag(args: &[&str], letter: char, long: &str) -> bool {
    args.iter().take_while(|text| **text != "--").any(|text| {
        let head = text.split('=').next().unwrap_or(text);
        if head.starts_with("--") {
            head.len() >= 4 && long.starts_with(head)
        } else {
            head.starts_with('-') && head.contains(letter)
        }
    })
}

pub(super) fn git_reset(act: &Act<'_>) -> bool {
    matches!(git(act), Some(("reset", args)) if flag(&args, '\0', "--hard"))
}

pub(super) fn git_force_push(act: &Act<'_>) -> bool {
    matches!(git(act), Some(("push", args)) if flag(&args, 'f', "--force")
        || args.iter().any(|text| text.starts_with("--force-") || *text == "--mirror")
        || args.iter().skip(1).any(|text| text.starts_with('+') && text.len() > 1))
}

pub(super) fn git_clean(act: &Act<'_>) -> bool {
    matches!(git(act), Some(("clean", args)) if flag(&args, 'f', "--force") && !flag(&args, 'n', "--dry-run"))
}

pub(super) fn git_branch_delete(act: &Act<'_>) -> bool {
    let force = |args: &[&str]| flag(args, 'D', "") || (flag(args, 'd', "--delete") && flag(args, 'f', "--force"));
    matches!(git(act), Some(("branch", args)) if force(&args))
        || matches!(git(act), Some(("push", args)) if flag(&args, 'd', "--delete") || args.iter().skip(1).any(|text| text.starts_with(':') && text.len() > 1))
}

/// Throwing away what was not committed.
pub(super) fn git_discard(act: &Act<'_>) -> bool {
    match git(act) {
        Some(("checkout", args)) => args.contains(&"--") || args.contains(&".") || flag(&args, 'f', "--force"),
        Some(("restore", args)) => !flag(&args, 'S', "--staged") || flag(&args, 'W', "--worktree"),
        Some(("switch", args)) => flag(&args, 'f', "--force") || flag(&args, '\0', "--discard-changes"),
        Some(("stash", args)) => matches!(args.first(), Some(&("drop" | "clear"))),
        Some(("worktree", args)) => args.first() == Some(&"remove") && flag(&args, 'f', "--force"),
        _ => false,
    }
}

pub(super) fn git_rewrite(act: &Act<'_>) -> bool {
    match git(act) {
        Some(("filter-branch" | "filter-repo", _)) => true,
        Some(("update-ref", args)) => flag(&args, 'd', ""),
        Some(("reflog", args)) => args.first() == Some(&"expire") || args.first() == Some(&"delete"),
        Some(("gc", args)) => args.iter().any(|text| text.starts_with("--prune=")),
        Some(("tag", args)) => flag(&args, 'd', "--delete"),
        _ => false,
    }
}
