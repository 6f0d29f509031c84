//! Deleting, disks and permissions.

use crate::gate::act::Act;

const DELETERS: [&str; 6] = ["rm", "unlink", "rmdir", "shred", "srm", "rimraf"];
/// Tests of `find` that narrow what is found. Without one, everything below the start is meant.
const NARROWING: [&str; 17] = [
    "-name",
    "-iname",
    "-path",
    "-ipath",
    "-regex",
    "-iregex",
    "-mtime",
    "-mmin",
    "-atime",
    "-ctime",
    "-newer",
    "-size",
    "-empty",
    "-user",
    "-maxdepth",
    "-perm",
    "-wholename",
];

pub(super) fn deletes_vital(act: &Act<'_>) -> bool {
    if act.is(&["find", "gfind"]) {
        return removes_all_found(act);
    }
    act.is(&DELETERS) && act.operands().into_iter().any(|path| act.is_vital(path))
}

fn removes_all_found(act: &Act<'_>) -> bool {
    let removes = act.has("-delete")
        || act.args.windows(2).any(|pair| match pair {
            [how, what] => how.text.starts_with("-exec") && what.text.rsplit('/').next() == Some("rm"),
            _ => false,
        });
    let narrows = act.args.windows(2).any(|pair| match pair {
        [test, value] => NARROWING.contains(&test.text.as_str()) && value.text.chars().any(|found| found != '*'),
        _ => false,
    });
    let options = |text: &&str| matches!(*text, "-L" | "-H" | "-P") || text.starts_with("-O");
    let mut starts: Vec<&str> =
        act.texts().skip_while(options).take_while(|text| !text.starts_with(['-', '(', '!'])).collect();
    if starts.is_empty() {
        starts.push(".");
    }
    removes && !narrows && starts.into_iter().any(|start| act.is_vital(start))
}

/// `mv x /dev/null` does not throw x away: it puts a file in the place of the device, and nothing works any more.
pub(super) fn replaces_device(act: &Act<'_>) -> bool {
    let operands = act.operands();
    let last = operands.len().saturating_sub(1);
    let touched = match act.name {
        "mv" | "rm" | "unlink" | "mknod" | "srm" => 0,
        "ln" | "install" => last,
        _ => return false,
    };
    operands.into_iter().skip(touched).any(|path| act.place.is_device(path, act.cwd))
}

pub(super) fn formats(act: &Act<'_>) -> bool {
    (act.name == "mkfs" || act.name.starts_with("mkfs.") || act.is(&["mke2fs", "mkswap", "newfs", "mkntfs", "mkdosfs"]))
        && !act.long("--help")
        && !act.long("--version")
}

/// Deleting an absolute path. `rm -f /tmp/hermes-verify-…` is our own litter.
pub(super) fn deletes_in_root(act: &Act<'_>) -> bool {
    let own_litter = |path: &str| {
        let name = path.strip_prefix("/tmp/").unwrap_or_default();
        (name.starts_with("hermes-verify-") || name.starts_with("hermes-ad-hoc-"))
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let is_litter = act.args.len() == 2 && act.has("-f") && act.operands().into_iter().all(own_litter);
    act.is(&DELETERS) && !is_litter && act.operands().into_iter().any(|path| path.starts_with('/'))
}

pub(super) fn deletes_recursively(act: &Act<'_>) -> bool {
    act.is(&["rm", "srm"]) && (act.short('r') || act.short('R') || act.long("--recursive")) || act.name == "rimraf"
}

pub(super) fn xargs_rm(act: &Act<'_>) -> bool {
    act.is(&["rm", "shred", "unlink"]) && (act.was_in("xargs") || act.was_in("parallel"))
}

pub(super) fn find_rm(act: &Act<'_>) -> bool {
    act.is(&["rm", "shred", "unlink"]) && (act.was_in("find") || act.was_in("fd"))
}

pub(super) fn find_delete(act: &Act<'_>) -> bool {
    act.is(&["find", "gfind"]) && act.has("-delete")
}

pub(super) fn sync_deletes(act: &Act<'_>) -> bool {
    act.name == "rsync" && act.texts().any(|text| text.starts_with("--del")) && !act.long("--dry-run") && !act.has("-n")
}

pub(super) fn moves_vital(act: &Act<'_>) -> bool {
    let operands = act.operands();
    let sources = operands.len().saturating_sub(1);
    act.name == "mv" && operands.into_iter().take(sources).any(|path| act.is_vital(path))
}

pub(super) fn disk_copy(act: &Act<'_>) -> bool {
    act.is(&["dd", "dcfldd", "ddrescue"]) && act.texts().any(|text| text.starts_with("if="))
}

pub(super) fn changes_disks(act: &Act<'_>) -> bool {
    act.is(&[
        "wipefs",
        "blkdiscard",
        "sgdisk",
        "sfdisk",
        "parted",
        "fdisk",
        "cfdisk",
        "gdisk",
        "hdparm",
        "cryptsetup",
        "lvremove",
        "vgremove",
        "pvremove",
        "zpool",
    ]) && !act.has("-l")
        && !act.has("--list")
        && !act.has("status")
        && !act.has("list")
        && !act.args.is_empty()
        || act.name == "diskutil"
            && act.texts().any(|text| text.to_lowercase().starts_with("erase") || text.starts_with("partition"))
}

pub(super) fn opens_permissions(act: &Act<'_>) -> bool {
    act.is(&["chmod", "gchmod"])
        && act.texts().any(|text| {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() >= 3;
            let others_write = text.chars().last().and_then(|last| last.to_digit(8)).is_some_and(|mode| mode & 2 != 0);
            let symbolic = text.split(',').any(|part| {
                part.split_once(['+', '=']).is_some_and(|(who, what)| {
                    what.contains('w')
                        && (who.contains('o') || who.contains('a') || (who.is_empty() && text.starts_with('=')))
                })
            });
            (digits && others_write) || symbolic
        })
}

pub(super) fn chown_root(act: &Act<'_>) -> bool {
    act.name == "chown"
        && (act.short('R') || act.long("--recursive"))
        && act.operands().first().is_some_and(|owner| owner.split([':', '.']).next() == Some("root"))
}

pub(super) fn permissions_of_vital(act: &Act<'_>) -> bool {
    act.is(&["chmod", "chown", "chgrp", "setfacl", "chattr"])
        && (act.short('R') || act.long("--recursive"))
        && act.operands().into_iter().skip(1).any(|path| act.is_vital(path) && !act.place.is_home(path, act.cwd))
}

/// A link is a second name: what is written to it later lands in the file.
pub(super) fn links_to_sensitive(act: &Act<'_>) -> bool {
    let reaches = |path: &str| act.place.is_sensitive(path, act.cwd) || act.is_vital(path);
    let operands = act.operands();
    let targets = if operands.len() > 1 { operands.len() - 1 } else { operands.len() };
    let lands = operands.last().is_some_and(|path| act.place.is_sensitive(path, act.cwd));
    act.is(&["ln", "link"]) && (lands || operands.into_iter().take(targets).any(reaches))
}
