//! All processes that one command brought into the world.

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use std::time::Duration;

pub struct Family {
    leader: Option<Pid>,
}

impl Family {
    /// The variable that marks everybody in a family.
    pub const VARIABLE: &str = "HERMES_FAMILY";

    pub fn new_mark() -> String {
        format!("{:016x}", rand::random::<u64>())
    }

    pub fn of(leader: u32, _mark: String) -> Self {
        Self { leader: i32::try_from(leader).ok().and_then(Pid::from_raw) }
    }

    /// Asks them to end, and after the grace makes them.
    pub async fn end(&self, grace: Duration) {
        let Some(leader) = self.leader else { return };
        let _ = kill_process_group(leader, Signal::TERM);
        let asked = tokio::time::Instant::now();
        while asked.elapsed() < grace {
            if test_kill_process_group(leader).is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let _ = kill_process_group(leader, Signal::KILL);
    }
}
