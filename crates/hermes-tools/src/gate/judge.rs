//! From a command to what is dangerous about it.

use super::act::Act;
use super::carry::Carried;
use super::intent::{Class, Detect, INTENTS, Intent, Seen};
use super::place::Place;
use super::python;
use super::remembered::Remembered;
use super::shell::Shell;
use super::still::{Motion, only_reads};
use super::text::spellings;
use super::word::Word;
use std::collections::BTreeSet;

const EXCERPT: usize = 120;
const MOST_ACTS: usize = 400;
const MOST_SCRIPTS: usize = 8;

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
    /// A program in another language: no rule about commands can allow it, only one about the tool that runs it.
    Script,
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
    /// Files it would run as scripts of a shell and did not write itself: absolute.
    pub scripts: BTreeSet<String>,
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
    scripts: BTreeSet<String>,
    carried: Carried,
}

impl Notes {
    pub(super) fn new() -> Self {
        Self {
            findings: Vec::new(),
            acts: Vec::new(),
            shape: Shape::Plain,
            motion: Motion::Still,
            written: BTreeSet::new(),
            scripts: BTreeSet::new(),
            carried: Carried::default(),
        }
    }

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
        self.carried.act(act);
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

    /// A file that is opened for reading.
    pub(super) fn reads(&mut self, path: &str, place: &Place, cwd: Option<&str>) {
        self.carried.reads(path, place, cwd);
        if place.is_key(path, cwd) {
            self.add(Seen::KeysRead, path);
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

    /// A file that is run as a script.
    pub(super) fn runs_script(&mut self, path: String) {
        if self.scripts.len() < MOST_SCRIPTS {
            self.scripts.insert(path);
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
    judge_after(&Remembered::default(), command, place)
}

/// Judges a command for a shell that holds what earlier commands left in it.
pub fn judge_after(remembered: &Remembered, command: &str, place: &Place) -> Judgement {
    let mut notes = Notes::new();
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
                Shell::after(remembered, place, &mut notes).source(&spelling);
                texts.insert(spelling.trim().to_owned());
            }
        }
        Err(_) => notes.add(Seen::TooLarge, command),
    }
    concluded(notes, texts, command)
}

/// Reads a script in Python for what it would do itself, beside the tools it calls: those are judged call by call.
pub fn judge_script(code: &str, place: &Place) -> Judgement {
    let mut notes = Notes::new();
    notes.stirs();
    python::walk(code, place, &mut notes);
    notes.shape = Shape::Script;
    concluded(notes, BTreeSet::from([code.trim().to_owned()]), code)
}

fn concluded(mut notes: Notes, mut texts: BTreeSet<String>, command: &str) -> Judgement {
    if let Some(key) = std::mem::take(&mut notes.carried).away() {
        notes.add(Seen::KeysLeave, &key);
    }
    notes.findings.sort_by_key(|finding| finding.class);
    let unread = |finding: &Finding| INTENTS.iter().any(|intent| intent.key == finding.key && intent.hides_text());
    let readable = !notes.findings.iter().any(unread);
    texts.extend(std::mem::take(&mut notes.acts));
    let Notes { findings, shape, motion, written: writes, scripts, .. } = notes;
    Judgement { findings, shape, texts, readable, motion, writes, scripts, command: command.to_owned() }
}
