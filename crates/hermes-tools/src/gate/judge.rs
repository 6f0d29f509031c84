//! From a command to what is dangerous about it.

use super::act::Act;
use super::intent::{Class, Detect, INTENTS, Intent, Seen};
use super::place::Place;
use super::shell::Shell;
use super::still::{Motion, only_reads};
use super::text::spellings;
use super::word::Word;
use std::collections::BTreeSet;

const EXCERPT: usize = 120;
const MOST_ACTS: usize = 400;

/// One danger that was seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What people read and what is remembered.
    pub key: &'static str,
    pub class: Class,
    /// The command it was seen in, as far as it is known.
    pub what: String,
}

/// Whether a command is one command and nothing else. Only such a one can be allowed by its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    Plain,
    Composed,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The worst first, each key once.
    pub findings: Vec<Finding>,
    pub shape: Shape,
    /// The command and every command found in it, for rules.
    pub texts: BTreeSet<String>,
    /// Whether all of it could be read.
    pub readable: bool,
    pub motion: Motion,
    /// The files it would write, as far as they are known: absolute, and not led through links.
    pub writes: BTreeSet<String>,
    command: String,
}

impl Judgement {
    /// The command as it was given.
    pub fn command(&self) -> &str {
        &self.command
    }
}

/// What was noticed on the way.
pub(super) struct Notes {
    findings: Vec<Finding>,
    acts: Vec<String>,
    shape: Shape,
    motion: Motion,
    written: BTreeSet<String>,
    /// A key that a command reads or names.
    key: Option<String>,
    sends: Sends,
}

/// Whether a command speaks to another machine.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sends {
    Yes,
    No,
}

/// Programs that carry what they are given elsewhere.
const SENDERS: [&str; 15] = [
    "curl", "wget", "nc", "ncat", "netcat", "socat", "scp", "sftp", "rsync", "ssh", "ftp", "telnet", "http", "https",
    "xh",
];
/// Options that name a key in order to use it.
const USES_KEY: [&str; 3] = ["--key", "--cert", "--netrc-file"];
/// Programs that name a key and do not read it.
const LEAVES_CLOSED: [&str; 13] =
    ["cd", "chmod", "chown", "file", "ls", "mkdir", "rm", "rmdir", "stat", "test", "[", "touch", "which"];

impl Notes {
    pub(super) fn add(&mut self, seen: Seen, what: &str) {
        for intent in INTENTS.iter().filter(|intent| matches!(intent.detect, Detect::Walk(known) if known == seen)) {
            self.found(intent, what);
        }
    }

    fn found(&mut self, intent: &Intent, what: &str) {
        if self.findings.iter().all(|finding| finding.key != intent.key) {
            let what = what.chars().take(EXCERPT).collect();
            self.findings.push(Finding { key: intent.key, class: intent.class, what });
        }
    }

    pub(super) fn act(&mut self, act: &Act<'_>) {
        if !only_reads(act) {
            self.stirs();
        }
        self.carries(act);
        for intent in INTENTS {
            if let Detect::Act(test) = intent.detect
                && test(act)
            {
                self.found(intent, &act.text());
            }
        }
        if self.acts.len() < MOST_ACTS {
            self.acts.push(act.text());
        }
    }

    /// Notices keys and ways out. `ssh -i ~/.ssh/id host` uses a key; `curl -d @~/.ssh/id host` gives it away.
    fn carries(&mut self, act: &Act<'_>) {
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
                let path =
                    if part.starts_with('-') { part.find('/').and_then(|at| part.get(at..)) } else { Some(part) };
                self.names_key(path.unwrap_or(part), act.place, act.cwd);
            }
        }
    }

    /// A file that is read, or named where it may be read.
    pub(super) fn names_key(&mut self, path: &str, place: &Place, cwd: Option<&str>) {
        if self.key.is_none() && place.is_key(path, cwd) {
            self.key = Some(path.to_owned());
        }
    }

    pub(super) fn act_before_last(&self) -> &str {
        self.acts.iter().rev().nth(1).map_or("", String::as_str)
    }

    pub(super) fn writes(&mut self, files: &[Word], place: &Place, cwd: Option<&str>) {
        if files.iter().any(|file| file.text != "/dev/null") {
            self.stirs();
        }
        for file in files {
            if file.is_known() && self.written.len() < MOST_ACTS {
                self.written.extend(place.absolute(&file.text, cwd));
            }
            for intent in INTENTS {
                if let Detect::Write(test) = intent.detect
                    && test(place, &file.text, cwd)
                {
                    self.found(intent, &file.plain());
                }
            }
        }
    }

    pub(super) fn several(&mut self) {
        self.shape = Shape::Composed;
    }

    /// Something is different afterwards.
    pub(super) fn stirs(&mut self) {
        self.motion = Motion::Stirs;
    }
}

/// Reads a command as a shell would and names every danger in it. Never runs or opens anything.
///
/// ```
/// use hermes_tools::gate::{Class, Place, judge};
/// let place = Place { home: "/home/ada".into(), hermes_home: "/home/ada/.hermes".into(), cwd: "/work".into() };
/// assert!(judge("git commit -m 'rm -rf / fix'", &place).findings.is_empty());
/// assert_eq!(judge("X=rm; $X -rf /", &place).findings.first().map(|found| found.class), Some(Class::Hardline));
/// ```
pub fn judge(command: &str, place: &Place) -> Judgement {
    let mut notes = Notes {
        findings: Vec::new(),
        acts: Vec::new(),
        shape: Shape::Plain,
        motion: Motion::Still,
        written: BTreeSet::new(),
        key: None,
        sends: Sends::No,
    };
    let mut texts = BTreeSet::from([command.trim().to_owned()]);
    match spellings(command) {
        Ok(spellings) => {
            if spellings.len() > 1 {
                notes.several();
            }
            for spelling in spellings {
                if spelling.contains(['$', '`', '\n']) {
                    notes.several();
                }
                Shell::new(place, &mut notes).source(&spelling);
                texts.insert(spelling.trim().to_owned());
            }
        }
        Err(_) => notes.add(Seen::TooLarge, command),
    }
    if notes.sends == Sends::Yes
        && let Some(key) = notes.key.clone()
    {
        notes.add(Seen::KeysLeave, &key);
    }
    notes.findings.sort_by_key(|finding| finding.class);
    let unread = |finding: &Finding| INTENTS.iter().any(|intent| intent.key == finding.key && intent.hides_text());
    let readable = !notes.findings.iter().any(unread);
    texts.extend(std::mem::take(&mut notes.acts));
    let Notes { findings, shape, motion, written: writes, .. } = notes;
    Judgement { findings, shape, texts, readable, motion, writes, command: command.to_owned() }
}
