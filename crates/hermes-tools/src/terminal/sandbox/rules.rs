//! The limits for files in the words of Landlock.
//!
//! Landlock only grants, and what is granted for a directory holds for all below it. "Everything but these" therefore
//! becomes: every neighbour of the hidden paths and of the directories above them. Links are never granted anything:
//! the kernel judges where they lead. What is new beside a hidden path can be read by the next command, not by this one.
//! Names in directories stay visible; contents do not.

use super::policy::{Policy, Readable};
use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope, make_bitflags,
};
use rustix::fs::{CWD, Mode, OFlags};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Below this the kernel cannot keep a file from being cut to nothing: Linux 6.2.
const LEAST: ABI = ABI::V3;
/// What newer kernels add and these rules were tried with.
const TRIED: ABI = ABI::V7;

/// Devices that hold nothing and belong to everybody. All others are hidden: a disk has everything in it.
const DEVICES: [&str; 9] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

pub(super) fn restrict(policy: &Policy) -> io::Result<()> {
    let status = apply(policy).map_err(io::Error::other)?;
    match status.ruleset {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced if status.no_new_privs => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::Unsupported, "Landlock took the rules and does not enforce them")),
    }
}

/// What the kernel says about itself, learned by restricting a thread that ends at once.
pub(super) fn probe() -> Result<RestrictionStatus, RulesetError> {
    handled()?.restrict_self()
}

fn handled() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(TRIED))?
        .scope(Scope::from_all(TRIED))?
        .create()
}

fn apply(policy: &Policy) -> Result<RestrictionStatus, RulesetError> {
    let read = make_bitflags!(AccessFs::{ReadFile | Execute});
    let device =
        make_bitflags!(AccessFs::{ReadFile | WriteFile | Truncate | IoctlDev | ReadDir | MakeReg | RemoveFile});
    // Who may make device files has every disk.
    let write = AccessFs::from_all(TRIED) & !make_bitflags!(AccessFs::{MakeChar | MakeBlock});

    let mut rules = handled()?;
    for path in &policy.writable {
        rules = grant(rules, path, write)?;
    }
    for path in DEVICES {
        rules = grant(rules, Path::new(path), device)?;
    }
    let roots: &[PathBuf] = match &policy.readable {
        Readable::Everything => &[PathBuf::from("/")],
        Readable::Only(paths) => paths,
    };
    for root in roots {
        rules = grant(rules, root, AccessFs::ReadDir.into())?;
        for path in visible(policy, root) {
            rules = grant(rules, &path, read)?;
        }
    }
    rules.restrict_self()
}

/// What vanished since it was looked up needs no right.
fn grant(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated, RulesetError> {
    match rustix::fs::openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty()) {
        Ok(opened) => rules.add_rule(PathBeneath::new(opened, access)),
        Err(_) => Ok(rules),
    }
}

/// The largest trees below `root` without anything hidden in them.
fn visible(policy: &Policy, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(path) = open.pop() {
        if policy.hides(&path) || path == Path::new("/dev") {
            continue;
        }
        if !policy.hides_below(&path) && path != Path::new("/") {
            found.push(path);
            continue;
        }
        let entries = fs::read_dir(&path).into_iter().flatten().flatten();
        open.extend(
            entries.filter(|entry| !entry.file_type().is_ok_and(|kind| kind.is_symlink())).map(|entry| entry.path()),
        );
    }
    found
}
