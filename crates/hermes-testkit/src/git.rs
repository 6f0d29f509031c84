//! Repositories of somebody else, made with the real git and nothing of this machine's settings.

use std::path::Path;
use std::process::Command;

/// Everything in the folder becomes a commit; the first one makes the repository.
#[track_caller]
pub fn commit_all(folder: &Path) {
    if !folder.join(".git").exists() {
        git(folder, &["init", "-q"]);
    }
    git(folder, &["add", "-A"]);
    git(folder, &["commit", "-qm", "x"]);
}

/// A command that fails is a wrong stage.
#[track_caller]
fn git(folder: &Path, arguments: &[&str]) {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=A", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]).args(arguments);
    git.envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_NOSYSTEM", "1")]);
    let ran = git.current_dir(folder).output().expect("git runs");
    assert!(ran.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&ran.stderr));
}
