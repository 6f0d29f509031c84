//! Commands that run other commands, as one table: which options take a value, and where the inner command begins.

use super::word::{Word, joined};

/// How the rest of the words is run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    /// As a command and its arguments.
    Command,
    /// Joined and given to a shell.
    Code,
    /// Not at all; only the code option counts.
    Nothing,
}

struct Wrapper {
    name: &'static str,
    /// The subcommand that wraps, `""` for none.
    under: &'static [&'static str],
    /// Options whose value is the next word.
    values: &'static [&'static str],
    /// Options whose value is a text for a shell.
    code: &'static [&'static str],
    /// Words before the inner command that are no options: a duration, a host, a directory.
    skip: usize,
    rest: Rest,
}

const fn plain(name: &'static str, values: &'static [&'static str]) -> Wrapper {
    Wrapper { name, under: &[], values, code: &[], skip: 0, rest: Rest::Command }
}

const fn after(name: &'static str, skip: usize, values: &'static [&'static str]) -> Wrapper {
    Wrapper { name, under: &[], values, code: &[], skip, rest: Rest::Command }
}

const fn below(
    name: &'static str,
    under: &'static [&'static str],
    skip: usize,
    values: &'static [&'static str],
) -> Wrapper {
    Wrapper { name, under, values, code: &[], skip, rest: Rest::Command }
}

const fn code(name: &'static str, code: &'static [&'static str], values: &'static [&'static str]) -> Wrapper {
    Wrapper { name, under: &[], values, code, skip: 0, rest: Rest::Nothing }
}

const CONTAINER: &[&str] = &[
    "-e",
    "--env",
    "-u",
    "--user",
    "-w",
    "--workdir",
    "-v",
    "--volume",
    "-p",
    "--publish",
    "--name",
    "--network",
    "--net",
    "--mount",
    "--entrypoint",
    "--env-file",
    "-h",
    "--hostname",
    "-m",
    "--memory",
    "--cpus",
    "-l",
    "--label",
    "--platform",
    "--gpus",
    "--restart",
    "--add-host",
    "--device",
    "--cap-add",
    "--shm-size",
    "--pull",
    "--log-driver",
    "--ulimit",
    "-f",
    "--file",
    "--project-directory",
    "--profile",
    "--index",
];

static WRAPPERS: &[Wrapper] = &[
    plain(
        "sudo",
        &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-r", "-t", "-U", "--user", "--group", "--chdir", "--prompt"],
    ),
    plain("doas", &["-u", "-C"]),
    plain("run0", &["-u", "--user"]),
    plain("pkexec", &["--user"]),
    Wrapper {
        name: "env",
        under: &[],
        values: &["-u", "-C", "--unset", "--chdir"],
        code: &["-S", "--split-string"],
        skip: 0,
        rest: Rest::Command,
    },
    plain("command", &[]),
    plain("builtin", &[]),
    plain("exec", &["-a"]),
    plain("nohup", &[]),
    plain("setsid", &[]),
    plain("time", &["-f", "-o", "--format", "--output"]),
    plain("nice", &["-n", "--adjustment"]),
    plain("ionice", &["-c", "-n", "--class", "--classdata"]),
    after("chrt", 1, &["-T", "-P", "-D"]),
    after("taskset", 1, &[]),
    after("timeout", 1, &["-k", "-s", "--kill-after", "--signal"]),
    after("gtimeout", 1, &["-k", "-s"]),
    plain("stdbuf", &["-i", "-o", "-e"]),
    plain("unbuffer", &[]),
    plain(
        "xargs",
        &[
            "-I",
            "-n",
            "-P",
            "-L",
            "-d",
            "-a",
            "-E",
            "-s",
            "--max-args",
            "--max-procs",
            "--delimiter",
            "--arg-file",
            "--replace",
        ],
    ),
    plain("parallel", &["-j", "--jobs", "-N", "-n", "-a", "-I", "--colsep", "-S"]),
    plain("busybox", &[]),
    plain("toybox", &[]),
    plain("strace", &["-o", "-e", "-s", "-u", "-P"]),
    plain("ltrace", &["-o", "-e", "-s", "-u"]),
    plain("perf", &["-e", "-o"]),
    plain("valgrind", &[]),
    after("chroot", 1, &[]),
    plain("unshare", &["-S", "-G", "-R", "-w"]),
    plain("nsenter", &["-t", "-S", "-G", "--target"]),
    plain("fakeroot", &[]),
    plain("proot", &["-r", "-b", "-w"]),
    plain("bwrap", &[]),
    plain("firejail", &[]),
    plain("systemd-run", &["-p", "-u", "--unit", "--property", "--uid", "-M"]),
    plain("systemd-inhibit", &[]),
    plain("caffeinate", &["-t", "-w"]),
    plain("dbus-run-session", &[]),
    plain("xvfb-run", &["-e", "-f", "-n", "-p", "-s"]),
    plain("rlwrap", &[]),
    plain("torsocks", &[]),
    plain("torify", &[]),
    plain("proxychains", &["-f"]),
    plain("proxychains4", &["-f"]),
    plain("sshpass", &["-p", "-f", "-d", "-P"]),
    plain("cgexec", &["-g"]),
    plain("setarch", &[]),
    plain("linux64", &[]),
    plain("setpriv", &["--reuid", "--regid", "--groups"]),
    plain("capsh", &[]),
    plain("gosu", &[]),
    after("su-exec", 1, &[]),
    plain("watchexec", &["-w", "-e", "-i"]),
    plain("hyperfine", &["-w", "-r", "-m", "-M"]),
    plain("dotenv", &["-f", "-e"]),
    plain("uvx", &[]),
    Wrapper {
        name: "npx",
        under: &[],
        values: &["-p", "--package"],
        code: &["-c", "--call"],
        skip: 0,
        rest: Rest::Command,
    },
    plain("bunx", &[]),
    plain("coproc", &[]),
    plain("!", &[]),
    plain("noglob", &[]),
    plain("nocorrect", &[]),
    plain("then", &[]),
    plain("do", &[]),
    plain("else", &[]),
    Wrapper { name: "watch", under: &[], values: &["-n", "--interval"], code: &[], skip: 0, rest: Rest::Code },
    Wrapper { name: "entr", under: &[], values: &[], code: &[], skip: 0, rest: Rest::Command },
    Wrapper {
        name: "ssh",
        under: &[],
        values: &[
            "-p", "-i", "-o", "-l", "-F", "-J", "-L", "-R", "-D", "-b", "-c", "-e", "-m", "-S", "-W", "-w", "-E", "-B",
            "-I", "-O", "-Q",
        ],
        code: &[],
        skip: 1,
        rest: Rest::Code,
    },
    Wrapper {
        name: "flock",
        under: &[],
        values: &["-w", "-E", "--timeout"],
        code: &["-c", "--command"],
        skip: 1,
        rest: Rest::Command,
    },
    code("su", &["-c", "--command"], &["-s", "-g", "-G"]),
    code("runuser", &["-c", "--command"], &["-s", "-g", "-G", "-u"]),
    Wrapper {
        name: "script",
        under: &[],
        values: &["-t", "-o"],
        code: &["-c", "--command"],
        skip: 1,
        rest: Rest::Command,
    },
    code("nix-shell", &["--run", "--command"], &["-p", "-A"]),
    code("sg", &["-c"], &[]),
    code("expect", &[], &[]),
    Wrapper {
        name: "tmux",
        under: &["new-session", "new", "new-window", "neww", "split-window", "run-shell", "run", "respawn-pane"],
        values: &["-s", "-n", "-t", "-c", "-x", "-y", "-e", "-F"],
        code: &[],
        skip: 0,
        rest: Rest::Code,
    },
    Wrapper { name: "tmux", under: &["send-keys", "send"], values: &["-t"], code: &[], skip: 0, rest: Rest::Code },
    plain("screen", &["-S", "-c", "-h", "-s", "-t"]),
    below("docker", &["exec", "run", "compose exec", "compose run"], 1, CONTAINER),
    below("podman", &["exec", "run"], 1, CONTAINER),
    below("nerdctl", &["exec", "run"], 1, CONTAINER),
    below("docker-compose", &["exec", "run"], 1, CONTAINER),
    below("kubectl", &["exec"], 1, &["-n", "--namespace", "-c", "--container", "--context"]),
    below("oc", &["exec"], 1, &["-n", "--namespace", "-c", "--container"]),
    below("poetry", &["run"], 0, &[]),
    below("uv", &["run"], 0, &["--with", "-p", "--python", "--extra", "--group"]),
    below("pipenv", &["run"], 0, &[]),
    below("pdm", &["run"], 0, &[]),
    below("hatch", &["run"], 0, &[]),
    below("bundle", &["exec"], 0, &[]),
    below("conda", &["run"], 0, &["-n", "-p", "--name", "--prefix"]),
    below("mise", &["exec", "x"], 0, &[]),
    below("direnv", &["exec"], 1, &[]),
    Wrapper { name: "npm", under: &["exec", "x"], values: &[], code: &["-c", "--call"], skip: 0, rest: Rest::Command },
    below("git", &["submodule foreach"], 0, &[]),
    below("pnpm", &["exec", "dlx"], 0, &[]),
    below("yarn", &["exec", "dlx"], 0, &[]),
    below("git", &["bisect run"], 0, &[]),
    below("heroku", &["run"], 0, &["-a", "--app"]),
    below("vagrant", &["ssh -c"], 0, &[]),
];

/// A command found inside a wrapper.
pub(super) enum Inner {
    Words { wrapper: &'static str, words: Vec<Word> },
    Code { wrapper: &'static str, text: Word },
}

/// The commands that a wrapper would run.
pub(super) fn unwrap(name: &str, args: &[Word]) -> Vec<Inner> {
    let mut inner = Vec::new();
    let only_asks = name == "command" && args.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"));
    if only_asks {
        return inner;
    }
    for wrapper in WRAPPERS.iter().filter(|wrapper| wrapper.name == name) {
        if let Some(args) = wrapper.entered(args) {
            wrapper.open(args, &mut inner);
        }
    }
    inner.extend(in_find(name, args));
    inner
}

impl Wrapper {
    /// The words after the subcommand, wherever options stand.
    fn entered<'a>(&self, args: &'a [Word]) -> Option<&'a [Word]> {
        if self.under.is_empty() {
            return Some(args);
        }
        for start in 0..args.len() {
            let rest = args.get(start..)?;
            for under in self.under {
                let parts: Vec<&str> = under.split(' ').collect();
                if rest.len() >= parts.len() && parts.iter().zip(rest).all(|(part, word)| *part == word.text) {
                    return rest.get(parts.len()..);
                }
            }
        }
        None
    }

    fn open(&self, args: &[Word], inner: &mut Vec<Inner>) {
        let mut rest = args;
        let mut skip = self.skip;
        while let Some((word, more)) = rest.split_first() {
            let text = word.text.as_str();
            if self.rest == Rest::Command && skip == 0 && text == "--" {
                rest = more;
                break;
            }
            let attached = self.code.iter().filter(|option| option.len() == 2).find_map(|o| text.strip_prefix(o));
            if let Some(code) = attached.filter(|code| !code.is_empty()) {
                let text = Word { text: code.to_owned(), origin: word.origin };
                inner.push(Inner::Code { wrapper: self.name, text });
                rest = more;
                continue;
            }
            if text.starts_with('-') && (text.len() > 1 || self.name == "env") {
                let (option, attached) = match text.split_once('=') {
                    Some((option, value)) if option.starts_with("--") => (option, Some(value)),
                    _ => (text, None),
                };
                if takes_next(option, self.code) {
                    let text = match attached {
                        Some(value) => Word { text: value.to_owned(), origin: word.origin },
                        None => more.first().cloned().unwrap_or_default(),
                    };
                    inner.push(Inner::Code { wrapper: self.name, text });
                    rest = more.split_first().map_or(&[], |(_, more)| more);
                } else if attached.is_none() && takes_next(option, self.values) {
                    rest = more.split_first().map_or(&[], |(_, more)| more);
                } else {
                    rest = more;
                }
                continue;
            }
            let is_assignment = matches!(self.name, "env" | "sudo" | "doas")
                && text.split_once('=').is_some_and(|(name, _)| is_name(name));
            if is_assignment || self.rest == Rest::Nothing {
                rest = more;
            } else if skip > 0 {
                skip -= 1;
                rest = more;
            } else {
                break;
            }
        }
        match self.rest {
            Rest::Command if !rest.is_empty() => inner.push(Inner::Words { wrapper: self.name, words: rest.to_vec() }),
            Rest::Code if !rest.is_empty() => inner.push(Inner::Code { wrapper: self.name, text: joined(rest) }),
            _ => {}
        }
    }
}

/// Whether an option takes the next word: it is known to, or it ends a cluster (`-nu root`). In `-uroot` the value is
/// attached.
fn takes_next(option: &str, known: &[&str]) -> bool {
    if known.contains(&option) {
        return true;
    }
    let Some(letters) = option.strip_prefix('-').filter(|letters| !letters.starts_with('-')) else { return false };
    let first = letters.char_indices().find(|(_, letter)| known.contains(&format!("-{letter}").as_str()));
    first.is_some_and(|(at, letter)| at + letter.len_utf8() == letters.len())
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// `find … -exec … ;` and `fd … -x …`.
fn in_find(name: &str, args: &[Word]) -> Vec<Inner> {
    let (wrapper, starts): (&'static str, &[&str]) = match name {
        "find" | "gfind" => ("find", &["-exec", "-execdir", "-ok", "-okdir"]),
        "fd" | "fdfind" => ("fd", &["-x", "-X", "--exec", "--exec-batch"]),
        _ => return Vec::new(),
    };
    let mut found = Vec::new();
    for (at, word) in args.iter().enumerate() {
        if starts.contains(&word.text.as_str()) {
            let words = args.iter().skip(at + 1).take_while(|word| !matches!(word.text.as_str(), ";" | "+"));
            found.push(Inner::Words { wrapper, words: words.cloned().collect() });
        }
    }
    found
}
