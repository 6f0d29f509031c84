//! What came of all the kills, as a table for people who read the log.

use crate::judge::Kept;
use std::fmt;

/// The sums of one way to kill.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) name: &'static str,
    /// How many there are to choose from, where they can be counted.
    pub(crate) of: Option<usize>,
    pub(crate) kills: usize,
    /// Killed before the question was kept: it had to be asked again.
    pub(crate) asked_again: usize,
    /// Programs that went on with a session.
    pub(crate) resumed: usize,
    /// Calls that were left open and ran behind the resumption: they only read, or had not begun.
    pub(crate) run_late: usize,
    /// Calls of which the model was told that nobody knows their outcome.
    pub(crate) unknown: usize,
    /// What must not be, each with where it happened.
    pub(crate) faults: Vec<String>,
}

impl Tally {
    pub(crate) fn of(name: &'static str) -> Self {
        Self { name, ..Self::default() }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.kills += other.kills;
        self.asked_again += other.asked_again;
        self.resumed += other.resumed;
        self.run_late += other.run_late;
        self.unknown += other.unknown;
        self.faults.extend(other.faults);
    }

    pub(crate) fn ended(&mut self, kept: &Kept) {
        self.unknown += kept.told().iter().filter(|line| line.is_unknown()).count();
    }

    /// Prints the table; a panic that names every fault, where there is one.
    #[track_caller]
    pub(crate) fn settle(self) {
        eprintln!("{self}");
        assert!(self.kills > 0, "nobody was killed");
        assert!(self.faults.is_empty(), "\n{}\n", self.faults.join("\n"));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = |kind: &str| self.faults.iter().filter(|fault| fault.contains(kind)).count();
        let of = self.of.map(|of| format!(" of {of}")).unwrap_or_default();
        let points = format!("{}{of}", self.kills);
        let rows = [
            ("kills", points),
            ("asked again (nothing was kept yet)", self.asked_again.to_string()),
            ("resumed", self.resumed.to_string()),
            ("calls run behind the resumption", self.run_late.to_string()),
            ("outcome unknown, and told so", self.unknown.to_string()),
            ("lost", count("lost: ").to_string()),
            ("doubled", count("doubled: ").to_string()),
            ("damaged", count("damaged: ").to_string()),
            (
                "other faults",
                (self.faults.len() - count("lost: ") - count("doubled: ") - count("damaged: ")).to_string(),
            ),
        ];
        writeln!(f, "killed {}", self.name)?;
        rows.iter().try_for_each(|(name, value)| writeln!(f, "  {name:<36}{value:>14}"))
    }
}
