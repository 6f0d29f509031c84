//! What root keeps of its powers inside: enough for files of others in the workspace, nothing against the kernel, other
//! programs or the limits themselves. (Root may read the memory of any program past all rules; a person may not.)

use rustix::io::Errno;
use rustix::thread::{CapabilitySet, capability_is_in_bounding_set, remove_capability_from_bounding_set};
use std::io;

pub(super) const KEPT_BY_ROOT: [(CapabilitySet, &str); 4] = [
    (CapabilitySet::DAC_OVERRIDE, "CAP_DAC_OVERRIDE"),
    (CapabilitySet::CHOWN, "CAP_CHOWN"),
    (CapabilitySet::FOWNER, "CAP_FOWNER"),
    (CapabilitySet::FSETID, "CAP_FSETID"),
];

/// Takes the other powers from all that the calling thread starts. The thread keeps its own until it ends.
pub(super) fn give_up() -> io::Result<()> {
    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    for bit in 0..u64::BITS {
        let power = CapabilitySet::from_bits_retain(1 << bit);
        if KEPT_BY_ROOT.iter().any(|(kept, _)| *kept == power) {
            continue;
        }
        match capability_is_in_bounding_set(power) {
            Ok(true) => remove_capability_from_bounding_set(power)?,
            Ok(false) => {}
            // The kernel knows no more of them.
            Err(Errno::INVAL) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}
