//! A repository of strangers, brought into an empty folder: newest state alone, no hooks, no submodules, no settings of
//! the person, no questions, and not longer than a while. What a repository says about itself (`.git/config`, hooks,
//! attributes) is never obeyed: whoever wants something newer fetches it anew.

use crate::settings::Surroundings;
use hermes_core::stop::Stop;
use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum CloneError {
    #[error("git cannot be started: {0}. Repositories are fetched with the git program in PATH")]
    NoGit(io::Error),
    #[error("git did not end within {} s", .0.as_secs())]
    TooSlow(Duration),
    #[error("the repository cannot be fetched: {0}")]
    Failed(String),
    #[error("interrupted; nothing was fetched")]
    Interrupted,
}

const PATIENCE: Duration = Duration::from_secs(120);
const MOST_ERRORS: u64 = 16 << 10;

/// Settings that hold whatever a file says.
const SETTINGS: [&str; 15] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "core.autocrlf=false",
    "core.symlinks=true",
    "core.protectNTFS=true",
    "core.protectHFS=true",
    "submodule.recurse=false",
    "fetch.fsckObjects=true",
    "gc.auto=0",
    "protocol.allow=never",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "protocol.file.allow=always",
];

/// Variables of the person that reach git: how to find programs, proxies, certificates and keys for ssh.
const PASSED: [&str; 12] = [
    "PATH",
    "HOME",
    "SSH_AUTH_SOCK",
    "http_proxy",
    "https_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
];

const VARIABLES: [(&str, &str); 8] = [
    ("GIT_CONFIG_GLOBAL", "/dev/null"),
    ("GIT_CONFIG_SYSTEM", "/dev/null"),
    ("GIT_CONFIG_NOSYSTEM", "1"),
    ("GIT_ATTR_NOSYSTEM", "1"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_ASKPASS", "/bin/false"),
    ("GIT_SSH_COMMAND", "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes"),
    ("LC_ALL", "C"),
];

/// Brings the newest state of a repository, or of one of its branches, into a folder that is not there yet.
pub async fn clone(
    url: &str,
    branch: Option<&str>,
    into: &Path,
    around: &Surroundings,
    stop: &Stop,
) -> Result<(), CloneError> {
    let mut command = Command::new("git");
    command.env_clear().envs(VARIABLES);
    command.envs(PASSED.iter().filter_map(|name| Some((*name, around.variables.get(*name)?))));
    for setting in SETTINGS {
        command.args(["-c", setting]);
    }
    command.args([
        "clone",
        "--quiet",
        "--depth=1",
        "--no-tags",
        "--single-branch",
        "--no-recurse-submodules",
        "--template=",
    ]);
    if let Some(branch) = branch {
        command.arg(format!("--branch={branch}"));
    }
    command.arg("--").arg(url).arg(into);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(CloneError::NoGit)?;
    let errors = child.stderr.take();
    let work = async {
        let mut said = Vec::new();
        if let Some(errors) = errors {
            let mut errors = errors;
            (&mut errors).take(MOST_ERRORS).read_to_end(&mut said).await?;
            // A server that has much to say is not waited for with a full pipe.
            tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
        }
        io::Result::Ok((child.wait().await?, String::from_utf8_lossy(&said).trim().to_owned()))
    };
    // Git ends with the future that waits for it.
    tokio::select! {
        biased;
        () = stop.wait() => Err(CloneError::Interrupted),
        done = tokio::time::timeout(PATIENCE, work) => match done {
            Err(_) => Err(CloneError::TooSlow(PATIENCE)),
            Ok(Err(error)) => Err(CloneError::Failed(error.to_string())),
            Ok(Ok((status, _))) if status.success() => Ok(()),
            Ok(Ok((_, said))) => Err(CloneError::Failed(if said.is_empty() { "git failed".to_owned() } else { said })),
        },
    }
}
