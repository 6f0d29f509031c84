//! The table of what tools leave alone. A row needs no code.
//!
//! Names are compared without regard to case: on a disk that knows no case `.SSH` is `.ssh`, and elsewhere nothing of
//! worth is lost.

use super::{Kind, Rules, Why};
use std::ffi::OsStr;
use std::path::Path;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Access {
    Read,
    Write,
}

/// Which access a row forbids.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Denies {
    Read,
    Write,
    Both,
}

/// Where the names of a row begin.
#[derive(Clone, Copy)]
enum Root {
    System,
    /// The person's home.
    Home,
    /// Every home of Hermes: the active profile's, the others', and the one without a profile.
    Hermes,
}

#[derive(Clone, Copy)]
enum Shape {
    /// The path itself.
    File(&'static str),
    /// The path and everything below it.
    Tree(&'static str),
    /// Files that begin like this: a database has others beside it.
    Starts(&'static str),
}

struct Row {
    root: Root,
    denies: Denies,
    kind: Kind,
    what: &'static str,
    shapes: &'static [Shape],
}

use Denies::{Both, Read, Write};
use Shape::{File, Starts, Tree};

const TABLE: &[Row] = &[
    Row {
        root: Root::System,
        denies: Write,
        kind: Kind::System,
        what: "a file of the system; changing it takes a command that a person approves",
        shapes: &[
            Tree("etc"),
            Tree("boot"),
            Tree("usr/lib/systemd"),
            Tree("lib/systemd"),
            Tree("private/etc"),
            Tree("private/var"),
            Tree("proc"),
            Tree("sys"),
            File("var/run/docker.sock"),
            File("run/docker.sock"),
        ],
    },
    Row {
        root: Root::Hermes,
        denies: Write,
        kind: Kind::System,
        what: "the settings of Hermes, which decide what tools may do; ask the person to run `hermes config set`",
        shapes: &[File("config.yaml")],
    },
    Row {
        root: Root::Home,
        denies: Write,
        kind: Kind::Protected,
        what: "a place for credentials",
        shapes: &[
            Tree(".ssh"),
            Tree(".aws"),
            Tree(".gnupg"),
            Tree(".kube"),
            Tree(".docker"),
            Tree(".azure"),
            Tree(".config/gh"),
            Tree(".config/gcloud"),
            File(".netrc"),
            File(".pgpass"),
            File(".npmrc"),
            File(".pypirc"),
            File(".git-credentials"),
        ],
    },
    Row {
        root: Root::Hermes,
        denies: Both,
        kind: Kind::Protected,
        what: "a file with credentials of Hermes",
        shapes: &[
            File(".env"),
            File("auth.json"),
            File("auth.lock"),
            File(".anthropic_oauth.json"),
            File("webhook_subscriptions.json"),
            File("auth/google_oauth.json"),
            File("cache/bws_cache.json"),
            Tree("mcp-tokens"),
        ],
    },
    Row {
        root: Root::Hermes,
        denies: Both,
        kind: Kind::Protected,
        what: "the index of the skills hub; use the skills tools",
        shapes: &[Tree("skills/.hub")],
    },
    Row {
        root: Root::Hermes,
        denies: Write,
        kind: Kind::Protected,
        what: "the record of conversations, which only Hermes itself writes",
        shapes: &[Starts("state.db"), Tree("sessions"), Tree("checkpoints"), Tree("pairing")],
    },
];

/// Files of this name hold secrets in whatever directory they are.
const SECRET_NAMES: [&str; 7] =
    [".env", ".env.local", ".env.development", ".env.production", ".env.test", ".env.staging", ".envrc"];

/// What `/proc` tells about the memory, the variables and the streams of a process.
const PROCESS_INSIDES: [&str; 9] =
    ["environ", "cmdline", "maps", "smaps", "smaps_rollup", "numa_maps", "mem", "auxv", "pagemap"];

/// The reason against a path, when there is one.
pub(super) fn denial(rules: &Rules, path: &Path, access: Access) -> Option<Why> {
    let (verb, refused) = match access {
        Access::Read => ("read", Read),
        Access::Write => ("write to", Write),
    };
    let told = |kind: Kind, what: &str| Why::new(kind, format!("Refusing to {verb} {}: it is {what}.", path.display()));
    if is_device(path) {
        return Some(told(Kind::Device, "a device or a stream, not a file"));
    }
    if access == Access::Read && is_inside_of_process(path) {
        return Some(told(Kind::Device, "the inside of a process, which can hold secrets"));
    }
    let row =
        TABLE.iter().filter(|row| row.denies == Both || row.denies == refused).find(|row| row.covers(rules, path));
    if let Some(row) = row {
        return Some(told(row.kind, row.what));
    }
    let secret = path.file_name().is_some_and(|name| SECRET_NAMES.iter().any(|secret| same(name, secret.as_ref())));
    (secret && access == Access::Read)
        .then(|| told(Kind::Protected, "a file of secrets; ask the person for what is needed"))
}

impl Row {
    fn covers(&self, rules: &Rules, path: &Path) -> bool {
        let rest = match self.root {
            // The temporary directory of a Mac lies among files of the system.
            Root::System if below(path, &rules.temp).is_some() => None,
            Root::System => below(path, Path::new("/")),
            Root::Home => below(path, &rules.home),
            Root::Hermes => rules.profile_of(path).map(|(_, rest)| rest),
        };
        rest.is_some_and(|rest| self.shapes.iter().any(|shape| shape.fits(rest)))
    }
}

impl Shape {
    fn fits(self, rest: &Path) -> bool {
        match self {
            Self::File(name) => below(rest, Path::new(name)).is_some_and(|more| more.as_os_str().is_empty()),
            Self::Tree(name) => below(rest, Path::new(name)).is_some(),
            Self::Starts(name) => {
                let text = rest.as_os_str().as_encoded_bytes();
                text.get(..name.len()).is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
            }
        }
    }
}

/// Everything in `/dev` but the directory for shared files.
fn is_device(path: &Path) -> bool {
    below(path, Path::new("/dev")).is_some_and(|rest| below(rest, Path::new("shm")).is_none())
        || process_part(path).is_some_and(|part| below(part, Path::new("fd")).is_some())
        || [Path::new("/proc/kcore"), Path::new("/proc/kmsg")].contains(&path)
}

fn is_inside_of_process(path: &Path) -> bool {
    process_part(path).is_some_and(|part| PROCESS_INSIDES.iter().any(|name| same(part.as_os_str(), name.as_ref())))
}

/// What follows `/proc/<process>` and `/proc/<process>/task/<thread>`.
fn process_part(path: &Path) -> Option<&Path> {
    let mut parts = path.strip_prefix("/proc").ok()?.components();
    parts.next()?;
    let rest = parts.as_path();
    let Ok(threads) = rest.strip_prefix("task") else { return Some(rest) };
    let mut parts = threads.components();
    parts.next()?;
    Some(parts.as_path())
}

/// The way from a directory to a path that is it or lies in it.
pub(super) fn below<'p>(path: &'p Path, tree: &Path) -> Option<&'p Path> {
    let mut parts = path.components();
    for wanted in tree.components() {
        if !same(parts.next()?.as_os_str(), wanted.as_os_str()) {
            return None;
        }
    }
    Some(parts.as_path())
}

pub(super) fn same(left: &OsStr, right: &OsStr) -> bool {
    left.eq_ignore_ascii_case(right)
}
