//! Where a path leads, by its text alone.

use super::pattern;
use super::word::UNKNOWN;

/// The directories a command is judged against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    pub home: String,
    pub hermes_home: String,
    pub cwd: String,
}

/// Directories whose loss is the loss of the system.
const VITAL: [&str; 21] = [
    "home",
    "root",
    "etc",
    "usr",
    "var",
    "bin",
    "sbin",
    "boot",
    "lib",
    "lib32",
    "lib64",
    "dev",
    "proc",
    "sys",
    "opt",
    "srv",
    "System",
    "Library",
    "Users",
    "Applications",
    "private",
];
/// Directories that belong to the system: what is written here changes the machine.
const SYSTEM: [&str; 10] =
    ["/etc", "/private/etc", "/private/var", "/boot", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/System"];
const DISKS: [&str; 10] = ["sd", "nvme", "hd", "mmcblk", "vd", "xvd", "disk", "rdisk", "mapper", "dm-"];
/// Files in a home that run code or hold keys.
const SENSITIVE: [&str; 32] = [
    ".ssh",
    ".bashrc",
    ".zshrc",
    ".profile",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zprofile",
    ".zshenv",
    ".zlogin",
    ".netrc",
    ".pgpass",
    ".npmrc",
    ".pypirc",
    ".aws",
    ".gnupg",
    ".config/fish",
    ".config/autostart",
    ".gitconfig",
    ".config/systemd",
    "Library/LaunchAgents",
    ".config/git",
    ".git-credentials",
    ".kube",
    ".docker",
    ".azure",
    ".config/gh",
    ".config/gcloud",
    ".config/environment.d",
    ".xprofile",
    ".zlogout",
];
/// Files in a home that hold keys and nothing a stranger may see.
const KEYS: [&str; 11] = [
    ".ssh",
    ".aws/credentials",
    ".gnupg",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".config/gh",
    ".config/gcloud",
    ".kube/config",
    ".docker/config.json",
    ".azure",
];
const OWN_KEYS: [&str; 3] = [".env", "auth.json", "mcp-tokens"];
/// What lies beside keys and is none.
const NO_KEYS: [&str; 4] = ["known_hosts", "authorized_keys", ".ssh/config", ".pub"];
/// Files and folders by which Hermes is steered, or in which it keeps what must not be rewritten.
const STEERING: [&str; 15] = [
    ".env",
    "config.yaml",
    "auth.json",
    ".anthropic_oauth.json",
    "state.db",
    "sessions",
    "hooks",
    "agent-hooks",
    "plugins",
    "cache/plugins",
    "shell-hooks-allowlist.json",
    "mcp-tokens",
    "pairing",
    "cron",
    "profiles.json",
];

impl Place {
    /// `~`, `~+`, `~name` at the start of a word.
    pub(super) fn without_tilde(&self, text: &str, cwd: Option<&str>) -> String {
        let name_end = text.find('/').unwrap_or(text.len());
        let (name, rest) = text.split_at(name_end);
        match name {
            "~" => format!("{}{rest}", self.home),
            "~+" => format!("{}{rest}", cwd.unwrap_or_default()),
            "~root" => format!("/root{rest}"),
            _ => match name.strip_prefix('~') {
                Some(user) if user.chars().all(|found| found.is_ascii_alphanumeric() || found == '_') => {
                    if self.home.ends_with(&format!("/{user}")) {
                        format!("{}{rest}", self.home)
                    } else {
                        format!("/home/{user}{rest}")
                    }
                }
                _ => text.to_owned(),
            },
        }
    }

    /// The absolute path without `.`, `..` and empty parts, or nothing if its start is not known.
    pub(super) fn absolute(&self, text: &str, cwd: Option<&str>) -> Option<String> {
        let text = if text.starts_with('~') { self.without_tilde(text, cwd) } else { text.to_owned() };
        let whole = if text.starts_with('/') {
            text
        } else if text.starts_with(UNKNOWN) {
            return None;
        } else {
            format!("{}/{text}", cwd?)
        };
        let mut parts: Vec<&str> = Vec::new();
        for part in whole.split('/') {
            match part {
                "" | "." => {}
                ".." => {
                    parts.pop();
                }
                part => parts.push(part),
            }
        }
        // The kernel's own names for the root and for the directory one stands in.
        match parts.as_slice() {
            ["proc", _, "root", rest @ ..] => Some(format!("/{}", rest.join("/"))),
            ["proc", "self" | "thread-self", "cwd", rest @ ..] => self.absolute(&rest.join("/"), Some(cwd?)),
            parts => Some(format!("/{}", parts.join("/"))),
        }
    }

    /// The root, a directory of the system, or the home: nothing that is ever deleted on purpose.
    pub(super) fn is_vital(&self, text: &str, cwd: Option<&str>) -> bool {
        let Some(path) = self.absolute(text, cwd) else { return false };
        let mut parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        while parts.last().is_some_and(|last| is_everything(last)) {
            parts.pop();
        }
        match parts.as_slice() {
            [] => true,
            [only] if only.chars().all(|found| found == UNKNOWN) => true,
            [only] if VITAL.iter().any(|name| fits(only, name)) => true,
            parts => {
                let home: Vec<&str> = self.home.split('/').filter(|part| !part.is_empty()).collect();
                parts.len() <= home.len() && parts.iter().zip(&home).all(|(part, name)| fits(part, name))
            }
        }
    }

    pub(super) fn is_home(&self, text: &str, cwd: Option<&str>) -> bool {
        self.absolute(text, cwd).is_some_and(|path| path == self.home)
    }

    /// A device, and not one of the folders beside them that hold files.
    pub(super) fn is_device(&self, text: &str, cwd: Option<&str>) -> bool {
        let path = self.absolute(text, cwd);
        let device = path.as_deref().and_then(|path| path.strip_prefix("/dev/"));
        device.is_some_and(|device| !["shm/", "mqueue/", "hugepages/"].iter().any(|folder| device.starts_with(folder)))
    }

    pub(super) fn is_disk(&self, text: &str, cwd: Option<&str>) -> bool {
        let path = self.absolute(text, cwd);
        let device = path.as_deref().and_then(|path| path.strip_prefix("/dev/"));
        device.is_some_and(|device| DISKS.iter().any(|disk| device.starts_with(disk)))
    }

    pub(super) fn is_system(&self, text: &str, cwd: Option<&str>) -> bool {
        let Some(path) = self.absolute(text, cwd) else { return false };
        let local = path.starts_with("/usr/local/") && !path.starts_with("/usr/local/bin");
        !local && SYSTEM.iter().any(|folder| is_inside(&path, folder)) || is_inside(&path, "/var/spool/cron")
    }

    pub(super) fn is_kernel_switch(&self, text: &str, cwd: Option<&str>) -> bool {
        self.absolute(text, cwd).is_some_and(|path| {
            path == "/proc/sysrq-trigger" || is_inside(&path, "/proc/sys") || is_inside(&path, "/sys/power")
        })
    }

    /// Keys, shell start files, and what Hermes itself is steered by.
    pub(super) fn is_sensitive(&self, text: &str, cwd: Option<&str>) -> bool {
        let Some(path) = self.absolute(text, cwd) else {
            // `$X/.ssh/authorized_keys` is that file whatever X is.
            return SENSITIVE.iter().any(|file| text.contains(&format!("/{file}")));
        };
        let homes = [self.home.as_str(), "/root"];
        let in_home = homes.iter().any(|home| SENSITIVE.iter().any(|file| is_inside(&path, &format!("{home}/{file}"))));
        let other_home = path.strip_prefix("/home/").or_else(|| path.strip_prefix("/Users/"));
        let in_other = other_home
            .and_then(|rest| rest.split_once('/'))
            .is_some_and(|(_, file)| SENSITIVE.iter().any(|known| is_inside(file, known)));
        in_home || in_other || self.steers(&path) || path.contains("/.git/hooks/") || path.ends_with("/.git/config")
    }

    /// What steers Hermes, in the home of any profile.
    fn steers(&self, path: &str) -> bool {
        let usual = format!("{}/.hermes", self.home);
        [self.hermes_home.as_str(), usual.as_str()].iter().any(|home| {
            let Some(below) = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/')) else { return false };
            let in_profile =
                below.strip_prefix("profiles/").and_then(|rest| rest.split_once('/')).map(|(_, rest)| rest);
            STEERING.iter().any(|known| is_inside(in_profile.unwrap_or(below), known))
        })
    }

    /// Keys that open other doors: nothing that ever has to travel.
    pub(super) fn is_key(&self, text: &str, cwd: Option<&str>) -> bool {
        let Some(path) = self.absolute(text, cwd) else { return false };
        let among = |home: &str, files: &[&str]| {
            let below = path.strip_prefix(home).and_then(|rest| rest.strip_prefix('/'));
            below.is_some_and(|below| files.iter().any(|file| is_inside(below, file)))
        };
        let is_kept = among(&self.home, &KEYS) || among("/root", &KEYS) || among(&self.hermes_home, &OWN_KEYS);
        (is_kept || path == "/etc/shadow") && !NO_KEYS.iter().any(|end| path.ends_with(end))
    }

    /// `.env`, `.env.local` …, `config.yaml`.
    pub(super) fn is_project_secret(text: &str) -> bool {
        let name = text.rsplit('/').next().unwrap_or(text);
        name == ".env" || name.starts_with(".env.") || name == "config.yaml"
    }
}

fn is_inside(path: &str, folder: &str) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// `*`, `.*`, `{*,.*}` and their like: all of a directory.
fn is_everything(part: &str) -> bool {
    part.contains('*') && part.chars().all(|found| matches!(found, '*' | '.' | '?' | '[' | ']' | '!' | '^' | UNKNOWN))
}

fn fits(part: &str, name: &str) -> bool {
    if pattern::has_glob(part) { pattern::matches(part, name) } else { part == name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_known_by_where_it_leads() {
        let place =
            Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/home/ada/p".into() };
        let vital = [
            "/",
            "//",
            "/.",
            "/..",
            "/*",
            "/etc",
            "/etc/*",
            "/???",
            "~",
            "~/",
            "~/*",
            "..",
            "../..",
            "/h*/a*",
            "../*",
            "/./etc/../",
        ];
        let common = ["/...", "/tmp", "/tmp/*", "/etc/nginx", "~/p", ".", "*", "./*", "../x", "/home/ada/p", "/opt/x"];
        for path in vital {
            assert!(place.is_vital(path, Some(&place.cwd)), "{path}");
        }
        for path in common {
            assert!(!place.is_vital(path, Some(&place.cwd)), "{path}");
        }
    }
}
