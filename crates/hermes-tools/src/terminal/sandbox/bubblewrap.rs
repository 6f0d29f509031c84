//! The limits in the words of bubblewrap: mounts, a table of processes and a network of its own.
//!
//! Everything is mounted read-only, the workspace writable over it, and what is hidden is covered last. Programs outside
//! that listen on sockets would act for a command without limits, so the places of sockets are covered as well.
//! `--die-with-parent` is not used: it looks at the thread that started it, and that one ends at once.

use super::calls::{self, Sockets};
use super::means::Bubblewrap;
use super::policy::{Network, Policy, Readable};
use crate::settings::Surroundings;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const NAME: &str = "bwrap";
/// What is needed of `/run`, which is otherwise full of sockets: names of hosts, and the system itself on NixOS.
const KEPT_OF_RUN: [&str; 6] = [
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/NetworkManager",
    "/run/current-system",
    "/run/booted-system",
    "/run/opengl-driver",
];
/// Sockets elsewhere that are as good as root.
const COVERED: [&str; 3] =
    ["/var/lib/lxd/unix.socket", "/var/snap/lxd/common/lxd/unix.socket", "/var/lib/incus/unix.socket"];
/// Without these root could not work with files of others in the workspace.
const RIGHTS_OF_ROOT: [&str; 4] = ["CAP_DAC_OVERRIDE", "CAP_CHOWN", "CAP_FOWNER", "CAP_FSETID"];

/// Looks for it in PATH and tries it. One that a command could have put there is not trusted.
pub(super) fn find(around: &Surroundings) -> Result<Bubblewrap, String> {
    let folders = around.variables.get("PATH").map(String::as_str).unwrap_or_default();
    let changeable = [&around.cwd, &around.temp].map(|path| fs::canonicalize(path).unwrap_or_else(|_| path.clone()));
    let candidates = std::env::split_paths(folders).filter(|folder| folder.is_absolute());
    let mut candidates = candidates.filter_map(|folder| fs::canonicalize(folder.join(NAME)).ok());
    let path = candidates
        .find(|path| path.is_file() && !changeable.iter().any(|folder| path.starts_with(folder)))
        .ok_or("not installed")?;
    let version = answer(&path, &["--version"])?;
    let all = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"];
    let apart = ["--unshare-pid", "--unshare-ipc", "--unshare-net", "--"];
    let itself = path.to_string_lossy();
    let words: Vec<&str> = all.into_iter().chain(apart).chain([itself.as_ref(), "--version"]).collect();
    answer(&path, &words)?;
    Ok(Bubblewrap { path, version })
}

/// What it prints, run as commands are run: without the right to gain rights.
fn answer(path: &Path, words: &[&str]) -> Result<String, String> {
    let mut command = Command::new(path);
    command.args(words).env_clear().current_dir("/").stdin(Stdio::null());
    let run = move || -> io::Result<Output> {
        calls::refuse(Sockets::None)?;
        command.output()
    };
    let output = std::thread::spawn(run).join().map_err(|_| "its probe failed")?.map_err(|error| error.to_string())?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

/// The words before a program.
pub(super) fn words(path: &Path, policy: &Policy) -> Vec<OsString> {
    let mut words = Words(vec![path.into()]);
    words.add(["--unshare-pid", "--unshare-ipc"]);
    if policy.network == Network::Closed {
        words.add(["--unshare-net"]);
    }
    if rustix::process::geteuid().is_root() {
        words.add(["--cap-drop", "ALL"]);
        for right in RIGHTS_OF_ROOT {
            words.add(["--cap-add", right]);
        }
    }
    match &policy.readable {
        Readable::Everything => words.mount("--ro-bind", Path::new("/")),
        Readable::Only(paths) => {
            for path in paths.iter().filter(|path| !is_remade(path)) {
                words.mount("--ro-bind", path);
            }
            words.links_of_root();
        }
    }
    words.add(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]);
    for path in KEPT_OF_RUN.map(Path::new).into_iter().filter(|path| path.exists()) {
        words.mount("--ro-bind", path);
    }
    for path in &policy.writable {
        words.mount("--bind", path);
    }
    for path in COVERED.iter().map(PathBuf::from).chain(policy.writable.iter().skip(1).flat_map(|tree| sockets(tree))) {
        words.cover(&path, policy);
    }
    for path in &policy.hidden {
        words.cover(path, policy);
    }
    words.add(["--"]);
    words.0
}

/// These are made anew.
fn is_remade(path: &Path) -> bool {
    ["/proc", "/dev", "/run"].iter().any(|made| path.starts_with(made))
}

/// Sockets of other programs in a shared directory, where they lie: at the top or in a folder of the program.
fn sockets(tree: &Path) -> Vec<PathBuf> {
    let entries = |path: &Path| fs::read_dir(path).into_iter().flatten().flatten().collect::<Vec<_>>();
    let mut found = Vec::new();
    for entry in entries(tree) {
        let inside =
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) { entries(&entry.path()) } else { Vec::new() };
        let all = inside.into_iter().chain([entry]);
        found
            .extend(all.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_socket())).map(|entry| entry.path()));
    }
    found
}

struct Words(Vec<OsString>);

impl Words {
    fn add<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn mount(&mut self, how: &str, path: &Path) {
        self.0.extend([OsStr::new(how), path.as_os_str(), path.as_os_str()].map(OsStr::to_owned));
    }

    /// `/bin` and its like, where they are links into `/usr`.
    fn links_of_root(&mut self) {
        for entry in fs::read_dir("/").into_iter().flatten().flatten() {
            if let Ok(target) = fs::read_link(entry.path()) {
                self.0.extend(["--symlink".into(), target.into_os_string(), entry.path().into_os_string()]);
            }
        }
    }

    /// Puts nothing in its place, where it is there and can be seen at all.
    fn cover(&mut self, path: &Path, policy: &Policy) {
        let Ok(there) = fs::symlink_metadata(path) else { return };
        let inside_another = policy.hidden.iter().any(|hidden| path != hidden && path.starts_with(hidden));
        let shown = match &policy.readable {
            Readable::Everything => true,
            Readable::Only(paths) => paths.iter().chain(&policy.writable).any(|tree| path.starts_with(tree)),
        };
        if inside_another || !shown {
            return;
        }
        let path = path.as_os_str().to_owned();
        if there.is_dir() {
            self.0.extend(["--tmpfs".into(), path.clone(), "--remount-ro".into(), path]);
        } else {
            self.0.extend(["--ro-bind".into(), "/dev/null".into(), path]);
        }
    }
}
