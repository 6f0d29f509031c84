//! Everybody that one command brought into the world, and their common end.
//!
//! A family is the leader's process group and session, every descendant by its parent, every session that one of them
//! opened, and whoever carries the family's mark in its environment: `setsid`, `nohup`, `disown` and a double fork lead
//! nobody out of it. Only a process that empties its environment, opens a session and loses its parent before anybody
//! looks is not found. A process is known by its number and its time of birth, and signalled through a handle that the
//! kernel binds to it: one that got a dead member's number is never touched, nor is this program. Where there is no
//! `/proc` the process group alone is the family.

mod table;

pub use table::Identity;

use rustix::process::{Pid, Signal};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use table::{Life, Row};

/// The first pause between two looks, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(40);
/// How long to insist with SIGKILL. What lives on after that hangs in the kernel or belongs to somebody else.
const INSISTENCE: Duration = Duration::from_secs(3);
/// As many times the family is stopped and counted again before it is killed: a stopped process does not fork.
const MOST_FREEZES: usize = 64;
/// No process has this number, and no group.
const NOBODY: u32 = u32::MAX;

/// The processes of one command. Clones are the same family.
#[derive(Debug, Clone)]
pub struct Family {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    leader: u32,
    /// Unknown where there is no `/proc`, or when the leader was gone before anybody looked.
    leader_born: Option<u64>,
    /// Nobody older can belong to the family.
    since: u64,
    mark: String,
    origin: Origin,
    /// Whoever was seen, so that those they leave behind are recognised.
    seen: Mutex<BTreeSet<Identity>>,
}

/// Who started a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Ours,
    /// A run of this program that is over, perhaps in a terminal where the person works on.
    Earlier,
}

/// Ends a family when it is dropped, unless somebody let go before: for calls that are given up in the middle.
#[derive(Debug)]
pub struct Leash {
    pub family: Family,
    grip: Grip,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grip {
    Tight,
    Loose,
}

impl Leash {
    pub fn new(family: Family) -> Self {
        Self { family, grip: Grip::Tight }
    }

    /// From here on somebody else looks after the family, or nobody has to.
    pub fn let_go(&mut self) {
        self.grip = Grip::Loose;
    }
}

impl Drop for Leash {
    fn drop(&mut self) {
        if self.grip == Grip::Tight {
            tell_of(&self.family.kill());
        }
    }
}

/// Writes down who could not be ended.
pub(crate) fn tell_of(survivors: &[Identity]) {
    for survivor in survivors {
        tracing::warn!(pid = survivor.pid, "a process of a command could not be ended");
    }
}

/// Who is a member, by one look at the table.
struct Circle<'a> {
    inner: &'a Inner,
    own_session: u32,
    seen: BTreeSet<Identity>,
}

impl Family {
    /// The variable that carries the mark. It may hold several, separated by colons: a family within a family.
    pub const VARIABLE: &'static str = "HERMES_FAMILY";

    /// A mark that no other family has.
    pub fn new_mark() -> String {
        hex::encode(rand::random::<[u8; 12]>())
    }

    /// Puts a new mark into the variables of a command, after the marks of the families it will be part of.
    pub fn mark(variables: &mut BTreeMap<String, String>) -> String {
        let mark = Self::new_mark();
        let outer = variables.get(Self::VARIABLE).filter(|outer| !outer.is_empty());
        let marks = outer.map_or_else(|| mark.clone(), |outer| format!("{outer}:{mark}"));
        variables.insert(Self::VARIABLE.to_owned(), marks);
        mark
    }

    /// The family of a leader that was just started in a group or session of its own, with `mark` in its environment.
    pub fn of(leader_pid: u32, mark: impl Into<String>) -> Self {
        Self::led(leader_pid, mark.into(), Origin::Ours)
    }

    fn led(leader_pid: u32, mark: String, origin: Origin) -> Self {
        let leader = Identity::of(leader_pid);
        let this_program = || Identity::of(std::process::id()).map(|own| own.born);
        let since = leader.map(|leader| leader.born).or_else(this_program).unwrap_or_default();
        let seen = Mutex::new(leader.into_iter().collect());
        let leader_born = leader.map(|leader| leader.born);
        Self { inner: Arc::new(Inner { leader: leader_pid, leader_born, since, mark, origin, seen }) }
    }

    /// Whoever carries this mark, whoever led them: for those that were left behind by families that are over.
    pub fn marked(mark: impl Into<String>, origin: Origin) -> Self {
        let inner =
            Inner { leader: NOBODY, leader_born: None, since: 0, mark: mark.into(), origin, seen: Mutex::default() };
        Self { inner: Arc::new(inner) }
    }

    /// Whether somebody is in the leader's group: cheap, and blind for those who left it.
    pub(crate) fn has_group(&self) -> bool {
        pid_of(self.inner.leader).is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok())
    }

    /// The family of a leader that an earlier run of this program started. Nothing when that process is gone.
    pub fn found(leader: Identity, mark: impl Into<String>) -> Option<Self> {
        let family = leader.lives().then(|| Self::led(leader.pid, mark.into(), Origin::Earlier));
        family.filter(|family| family.leader() == Some(leader))
    }

    pub fn leader(&self) -> Option<Identity> {
        self.inner.leader_born.map(|born| Identity { pid: self.inner.leader, born })
    }

    /// Everybody who lives now. Reads the whole table: not for a thread that must not wait.
    pub fn members(&self) -> Vec<Identity> {
        self.inner.members()
    }

    /// Asks everybody to end, waits for `grace`, and kills who is left, until nobody is. Gives back who could not be
    /// ended, which is nobody unless they belong to another user or hang in the kernel.
    pub async fn end(&self, grace: Duration) -> Vec<Identity> {
        let deadline = Instant::now() + grace;
        let mut asked = BTreeSet::new();
        let mut pause = FIRST_PAUSE;
        loop {
            let members = self.look().await;
            if members.is_empty() {
                return members;
            }
            let newcomers = members.iter().filter(|member| asked.insert(**member)).copied().collect();
            self.tell(newcomers, &[Signal::TERM, Signal::CONT]).await;
            if Instant::now() >= deadline {
                break;
            }
            loop {
                tokio::time::sleep(pause.min(deadline.saturating_duration_since(Instant::now()))).await;
                pause = (pause * 3 / 2).min(LONGEST_PAUSE);
                if Instant::now() >= deadline || !members.iter().any(Identity::lives) {
                    break;
                }
            }
        }
        let family = self.clone();
        tokio::task::spawn_blocking(move || family.kill()).await.unwrap_or_default()
    }

    /// Asks everybody to end, once.
    pub async fn ask(&self) {
        let members = self.look().await;
        self.tell(members, &[Signal::TERM, Signal::CONT]).await;
    }

    /// Ends everybody at once, and waits for it: for the end of the program, and where nobody can await.
    pub fn kill(&self) -> Vec<Identity> {
        let deadline = Instant::now() + INSISTENCE;
        let mut pause = FIRST_PAUSE;
        loop {
            let members = self.inner.frozen();
            if members.is_empty() || Instant::now() >= deadline {
                return members;
            }
            members.iter().for_each(|member| self.inner.signal(*member, Signal::KILL));
            loop {
                std::thread::sleep(pause);
                pause = (pause * 3 / 2).min(LONGEST_PAUSE);
                if Instant::now() >= deadline || !members.iter().any(Identity::lives) {
                    break;
                }
            }
        }
    }

    async fn look(&self) -> Vec<Identity> {
        let inner = self.inner.clone();
        tokio::task::spawn_blocking(move || inner.members()).await.unwrap_or_default()
    }

    async fn tell(&self, members: Vec<Identity>, signals: &'static [Signal]) {
        let inner = self.inner.clone();
        let told = tokio::task::spawn_blocking(move || {
            for member in members {
                signals.iter().for_each(|signal| inner.signal(member, *signal));
            }
        });
        if told.await.is_err() {
            tracing::warn!(leader = self.inner.leader, "the processes of a command could not be signalled");
        }
    }
}

impl Inner {
    fn members(&self) -> Vec<Identity> {
        let rows = table::rows();
        if rows.is_empty() {
            return self.group_alone();
        }
        let own_session = rows.iter().find(|row| row.who.pid == std::process::id()).map_or(0, |row| row.session);
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let circle = Circle { inner: self, own_session, seen };
        let found = circle.close(&rows);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).extend(found.iter().copied());
        let living = rows.iter().filter(|row| row.life == Life::Living && found.contains(&row.who));
        living.map(|row| row.who).collect()
    }

    /// Without `/proc`: the leader's number stands for its group.
    fn group_alone(&self) -> Vec<Identity> {
        let group = pid_of(self.leader);
        let lives = group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
        if lives { vec![Identity { pid: self.leader, born: 0 }] } else { Vec::new() }
    }

    /// Stops everybody until no look finds a newcomer, so that nobody forks away from under the last signal.
    fn frozen(&self) -> Vec<Identity> {
        let mut stopped = BTreeSet::new();
        let mut members = self.members();
        for _ in 0..MOST_FREEZES {
            let newcomers: Vec<Identity> = members.iter().copied().filter(|member| stopped.insert(*member)).collect();
            if newcomers.is_empty() {
                break;
            }
            newcomers.iter().for_each(|member| self.signal(*member, Signal::STOP));
            members = self.members();
        }
        members
    }

    #[cfg(target_os = "linux")]
    fn signal(&self, member: Identity, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let Some(pid) = pid_of(member.pid) else { return };
        // The handle first, the look at who it is second: after that no other process can be meant.
        let sent = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) if member.lives() => pidfd_send_signal(handle, signal),
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) if member.lives() => {
                rustix::process::kill_process(pid, signal)
            }
            _ => return,
        };
        self.note(member, sent);
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, member: Identity, signal: Signal) {
        if let Some(group) = pid_of(member.pid) {
            self.note(member, rustix::process::kill_process_group(group, signal));
        }
    }

    fn note(&self, member: Identity, sent: rustix::io::Result<()>) {
        if let Err(error) = sent
            && error != rustix::io::Errno::SRCH
        {
            tracing::warn!(leader = self.leader, pid = member.pid, %error, "a process could not be signalled");
        }
    }
}

impl Circle<'_> {
    /// All members, found from those that are certain by following parents and sessions until nobody is added.
    fn close(&self, rows: &[Row]) -> BTreeSet<Identity> {
        let candidates: Vec<&Row> = rows
            .iter()
            .filter(|row| row.who.born >= self.inner.since && row.who.pid != std::process::id() && row.who.pid != 1)
            .collect();
        let mut found: BTreeSet<Identity> = BTreeSet::new();
        let (mut pids, mut sessions) = (BTreeSet::new(), BTreeSet::new());
        let mut asked_for_mark = BTreeSet::new();
        loop {
            let before = found.len();
            for row in &candidates {
                let near = self.is_root(row, rows) || pids.contains(&row.parent) || sessions.contains(&row.session);
                let belongs = !found.contains(&row.who)
                    && (near
                        || asked_for_mark.insert(row.who)
                            && table::carries(row.who.pid, Family::VARIABLE, &self.inner.mark));
                if belongs {
                    found.insert(row.who);
                    pids.insert(row.who.pid);
                    sessions.extend(Some(row.session).filter(|session| self.was_opened_by_us(*session, &pids)));
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// Nobody can enter a session from outside, so one other than this program's was opened by a member. The session of
    /// an earlier run is not known: there a member must have given it its number.
    fn was_opened_by_us(&self, session: u32, pids: &BTreeSet<u32>) -> bool {
        let by_member = || pids.contains(&session) || self.seen.iter().any(|member| member.pid == session);
        let is_ours = self.inner.origin == Origin::Ours || by_member();
        session != self.own_session && session != 0 && is_ours
    }

    fn is_root(&self, row: &Row, rows: &[Row]) -> bool {
        let leader = self.inner.leader;
        let in_its_group = (row.group == leader || row.session == leader) && !self.is_taken(rows);
        self.seen.contains(&row.who) || in_its_group
    }

    /// Whether the leader's number belongs to another process by now. As long as a group uses a number the kernel gives
    /// it to nobody.
    fn is_taken(&self, rows: &[Row]) -> bool {
        let holder = rows.iter().find(|row| row.who.pid == self.inner.leader);
        match (holder, self.inner.leader_born) {
            (Some(holder), Some(born)) => holder.who.born != born,
            (Some(holder), None) => !table::carries(holder.who.pid, Family::VARIABLE, &self.inner.mark),
            (None, _) => false,
        }
    }
}

fn pid_of(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().and_then(Pid::from_raw)
}
