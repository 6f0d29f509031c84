//! Which process this is, and whether another one still lives.
//!
//! A number alone does not name a process: it is given out again. With the time of its start, and the boot that time
//! counts from, it does. Where the system does not tell these, the number has to do.

use std::fs;

/// A process by number and birth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    pub(crate) born: String,
}

impl Process {
    pub(crate) fn this() -> Self {
        Self::of(std::process::id())
    }

    pub(crate) fn of(pid: u32) -> Self {
        Self { pid, born: birth(pid).unwrap_or_default() }
    }

    pub(crate) fn is_alive(&self) -> bool {
        match birth(self.pid) {
            Some(born) => born == self.born,
            None if boot().is_some() => false,
            None => answers(self.pid),
        }
    }
}

/// The boot and the start in clock ticks since; `None` for a process that is gone or only waits to be buried.
fn birth(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name of the program stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let start = fields.nth(18)?;
    (state != "Z" && state != "X").then_some(())?;
    Some(format!("{}:{start}", boot()?))
}

fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

#[cfg(unix)]
fn answers(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    // Refused means that somebody is there.
    pid.is_some_and(|pid| !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[cfg(not(unix))]
fn answers(pid: u32) -> bool {
    pid == std::process::id()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_its_namesakes_do_not() {
        let this = Process::this();
        assert!(this.is_alive());
        assert!(!Process { born: "another boot:1".into(), ..Process::this() }.is_alive());
        let mut child = std::process::Command::new("sleep").arg("60").spawn().expect("a child");
        let other = Process { pid: child.id(), born: birth(child.id()).expect("a birth") };
        assert!(other.is_alive() && other != this);
        child.kill().expect("killed");
        while birth(child.id()).is_some() {
            std::thread::yield_now();
        }
        assert!(!other.is_alive(), "dead, though nobody has buried it yet");
        child.wait().expect("buried");
        assert!(!other.is_alive());
    }
}
