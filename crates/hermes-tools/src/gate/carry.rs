//! Whether a command gives keys away: somewhere in it a key is read, and somewhere in it something speaks to another
//! machine. What flows from the one to the other is not followed; that both happen is reason enough to ask.

use super::act::Act;
use super::place::Place;

/// Programs that carry what they are given elsewhere.
const SENDERS: [&str; 19] = [
    "curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "sftp", "rsync", "ssh", "ftp", "telnet", "http", "https",
    "xh", "dig", "nslookup", "host", "ping",
];
/// Options that name a key in order to use it.
const USES_KEY: [&str; 4] = ["--key", "--cert", "--netrc-file", "--kubeconfig"];
/// Programs that name a key and do not read it.
const LEAVES_CLOSED: [&str; 13] =
    ["cd", "chmod", "chown", "file", "ls", "mkdir", "rm", "rmdir", "stat", "test", "[", "touch", "which"];

/// Whether a command speaks to another machine.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Sends {
    Yes,
    #[default]
    No,
}

/// What was seen of keys and of ways out.
#[derive(Default)]
pub(super) struct Carried {
    key: Option<String>,
    sends: Sends,
}

impl Carried {
    /// `ssh -i ~/.ssh/id host` uses a key; `curl -d @~/.ssh/id host` gives it away.
    pub(super) fn act(&mut self, act: &Act<'_>) {
        let encrypts = act.name == "openssl" && act.has("s_client");
        if act.is(&SENDERS) || encrypts {
            self.sends = Sends::Yes;
        } else if act.is(&LEAVES_CLOSED) || act.name.starts_with("ssh-") {
            return;
        }
        let logs_in = act.is(&["ssh", "scp", "sftp", "rsync"]);
        let mut before = "";
        for text in act.texts() {
            let identity = logs_in && (before == "-i" || text.starts_with("-i") || text.contains("IdentityFile"));
            let uses = identity || USES_KEY.contains(&before);
            before = text;
            for part in text.split(['@', '=', ':', ',', ';']).filter(|_| !uses) {
                // `-T/home/…`: the path is attached to its option.
                let attached = part.starts_with('-').then(|| part.find('/').and_then(|at| part.get(at..))).flatten();
                self.reads(attached.unwrap_or(part), act.place, act.cwd);
            }
        }
    }

    /// A file that is read, or named where it may be read.
    pub(super) fn reads(&mut self, path: &str, place: &Place, cwd: Option<&str>) {
        if self.key.is_none() && place.is_key(path, cwd) {
            self.key = Some(path.to_owned());
        }
    }

    /// The key that would leave.
    pub(super) fn away(self) -> Option<String> {
        self.key.filter(|_| self.sends == Sends::Yes)
    }
}
