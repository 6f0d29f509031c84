//! Commands that only look: nothing outside of them is different afterwards, so several may run at the same time.
//!
//! A command is still when everything that would run stands in one table of readers, with options that write nothing
//! and start nothing, and when the shell itself keeps its variables, its directory and its children. What is not known
//! to be still is not still. Stillness says nothing about permission: that is for the findings.

use super::act::Act;
use super::judge::judge;
use super::pattern;
use super::place::Place;

/// Whether running a text leaves anything different.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Motion {
    Still,
    Stirs,
}

/// Whether a command only reads.
///
/// ```
/// use hermes_tools::gate::{Place, is_still};
/// let place = Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/work".into() };
/// assert!(is_still("git status && rg -n TODO src | head -20", &place));
/// assert!(!is_still("cd src && ls", &place));
/// assert!(!is_still("ls > files.txt", &place));
/// ```
pub fn is_still(command: &str, place: &Place) -> bool {
    let judgement = judge(command, place);
    judgement.findings.is_empty() && judgement.motion == Motion::Still
}

/// With which words a program only reads.
enum Words {
    Any,
    /// Not with these options, nor with words that are only known when it runs: they could be such options.
    Without(&'static [&'static str]),
    /// Nothing but these words.
    Only(&'static [&'static str]),
    Test(fn(&Act<'_>) -> bool),
}

const READERS: &[(&[&str], Words)] = &[
    (
        &[
            "true",
            "false",
            ":",
            "sleep",
            "echo",
            "pwd",
            "ls",
            "cat",
            "head",
            "tail",
            "wc",
            "nl",
            "tac",
            "rev",
            "stat",
            "du",
            "df",
            "whoami",
            "id",
            "groups",
            "uname",
            "arch",
            "which",
            "type",
            "cmp",
            "diff",
            "comm",
            "join",
            "paste",
            "cut",
            "tr",
            "fold",
            "expand",
            "unexpand",
            "basename",
            "dirname",
            "realpath",
            "readlink",
            "seq",
            "md5sum",
            "sha1sum",
            "sha224sum",
            "sha256sum",
            "sha384sum",
            "sha512sum",
            "b2sum",
            "cksum",
            "grep",
            "egrep",
            "fgrep",
            "od",
            "hexdump",
            "strings",
            "jq",
            "ps",
            "free",
            "uptime",
            "nproc",
            "lscpu",
            "lsblk",
            "getconf",
            "tty",
            "printenv",
            "column",
            "base64",
            "base32",
            "zcat",
            "zgrep",
            "exa",
            "eza",
            "tokei",
            "cloc",
        ],
        Words::Any,
    ),
    (&["printf"], Words::Without(&["-v"])),
    (&["sort"], Words::Without(&["-o", "--output", "--compress-program"])),
    (&["file"], Words::Without(&["-C", "--compile"])),
    (&["tree"], Words::Without(&["-o", "--output"])),
    (&["bat", "batcat"], Words::Without(&["--pager", "cache"])),
    (&["rg"], Words::Without(&["--pre", "--hostname-bin"])),
    (&["fd", "fdfind"], Words::Without(&["-x", "-X", "--exec", "--exec-batch"])),
    (
        &["find", "gfind"],
        Words::Without(&["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"]),
    ),
    (&["yq"], Words::Without(&["-i", "--inplace", "-s", "--split-exp"])),
    // What they run is looked at by itself.
    (&["timeout", "nice", "command"], Words::Any),
    (&["test", "["], Words::Test(|act| act.texts().all(|text| text != "-v" && !text.contains(['$', '`'])))),
    (&["date"], Words::Test(date_tells)),
    (&["uniq", "xxd"], Words::Test(|act| act.operands().len() <= 1 && !act.short('r') && only_known(act, &["-r"]))),
    (&["sed", "gsed"], Words::Test(sed_prints)),
    (&["env", "hostname"], Words::Test(|act| act.args.is_empty())),
    (&["git"], Words::Test(git_reads)),
    (
        &[
            "python", "python3", "node", "npm", "pnpm", "yarn", "rustc", "cargo", "gcc", "clang", "make", "cmake",
            "ruby",
        ],
        Words::Only(&["--version", "-V", "-v"]),
    ),
    (&["go", "java"], Words::Only(&["version", "-version", "--version"])),
];

pub(super) fn only_reads(act: &Act<'_>) -> bool {
    let Some((_, words)) = READERS.iter().find(|(names, _)| names.contains(&act.name)) else { return false };
    match words {
        Words::Any => true,
        Words::Without(options) => {
            only_known(act, options) && !act.texts().any(|text| options.iter().any(|no| is(text, no)))
        }
        Words::Only(words) => !act.args.is_empty() && act.texts().all(|text| words.contains(&text)),
        Words::Test(test) => test(act),
    }
}

/// Whether a word is this option: alone, in a cluster, abbreviated, or with its value attached.
fn is(text: &str, option: &str) -> bool {
    if let Some(name) = text.strip_prefix("--") {
        let name = name.split('=').next().unwrap_or(name);
        return !name.is_empty() && option.strip_prefix("--").is_some_and(|option| option.starts_with(name));
    }
    let cluster = option.len() == 2 && text.starts_with('-');
    text == option || cluster && option.chars().next_back().is_some_and(|letter| text.contains(letter))
}

/// A variable may become any option, and an open pattern the name of a file that reads like one of these.
fn only_known(act: &Act<'_>, options: &[&str]) -> bool {
    act.args.iter().all(|word| {
        let opens = pattern::has_glob(&word.text) && options.iter().any(|no| pattern::matches(&word.text, no));
        word.is_known() && !opens
    })
}

/// `date +%F`; `date 11160200` would set the clock.
fn date_tells(act: &Act<'_>) -> bool {
    let mut values = 0;
    let tells = act.texts().all(|text| match text {
        "-d" | "-r" | "--date" | "--reference" => {
            values += 1;
            true
        }
        text if text.starts_with("--date=") || text.starts_with("--reference=") => true,
        text if text.starts_with('+') => true,
        text if text.starts_with('-') => !is(text, "-s") && !is(text, "--set"),
        _ if values > 0 => {
            values -= 1;
            true
        }
        _ => false,
    });
    tells && act.args.iter().all(super::word::Word::is_known)
}

/// `sed -n '1,20p' file`: lines are printed. Every other script could write or run something.
fn sed_prints(act: &Act<'_>) -> bool {
    let mut operands = act.operands().into_iter();
    let script = operands.next().unwrap_or_default();
    let prints = script.split(';').all(|part| {
        let address = part.trim().strip_suffix(['p', 'q', 'd']);
        address.is_some_and(|address| address.bytes().all(|byte| byte.is_ascii_digit() || b",$".contains(&byte)))
    });
    let plain = act.texts().filter(|text| text.starts_with('-')).all(|text| matches!(text, "-n" | "-E" | "-r" | "--"));
    plain && prints && only_known(act, &["-i"])
}

/// Subcommands of git that look, and the options with which they do more.
const GIT_READS: [&str; 17] = [
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "rev-list",
    "describe",
    "blame",
    "ls-files",
    "ls-tree",
    "cat-file",
    "shortlog",
    "grep",
    "merge-base",
    "name-rev",
    "show-ref",
    "for-each-ref",
];
const GIT_ACTS: [&str; 6] = ["--output", "-O", "--open-files-in-pager", "--ext-diff", "--textconv", "--parseopt"];

fn git_reads(act: &Act<'_>) -> bool {
    if !only_known(act, &GIT_ACTS) {
        return false;
    }
    let mut rest = act.texts();
    let subcommand = loop {
        match rest.next() {
            Some("-C") => {
                rest.next();
            }
            Some("--no-pager" | "-P" | "--no-optional-locks") => {}
            Some("--version") => return true,
            found => break found.unwrap_or_default(),
        }
    };
    let words: Vec<&str> = rest.collect();
    let all = |known: &[&str]| words.iter().all(|word| known.contains(word));
    match subcommand {
        "branch" => {
            let lists =
                words.iter().any(|word| matches!(*word, "--list" | "-l" | "--contains" | "--merged" | "--no-merged"));
            let plain = all(&["-a", "-r", "-v", "-vv", "--all", "--remotes", "--show-current", "--verbose"]);
            plain || lists && !words.iter().any(|word| ["-d", "-D", "-m", "-M", "-c", "-C", "-f", "-u"].contains(word))
        }
        "tag" => words.is_empty() || matches!(words.first(), Some(&("-l" | "--list"))),
        "remote" => all(&["-v", "--verbose"]) || matches!(words.first(), Some(&"get-url")),
        "config" => matches!(words.first(), Some(&("--get" | "--get-all" | "--list" | "-l"))),
        "stash" | "worktree" => matches!(words.first(), Some(&"list")),
        subcommand => {
            let acts = words.iter().any(|word| GIT_ACTS.iter().any(|option| word.starts_with(option)));
            GIT_READS.contains(&subcommand) && !acts
        }
    }
}
