//! How long no summary is asked for after asking failed. Pure: a table of faults.

use hermes_types::FaultKind;
use std::time::Duration;

/// After one failure, two, and more.
const SLOW: [u64; 3] = [60, 300, 900];

/// How long summaries rest after so many failures in a row, of which this was the last.
pub(crate) fn after(fault: FaultKind, failures: u64) -> Duration {
    use FaultKind as K;
    Duration::from_secs(match fault {
        K::Timeout | K::Stalled | K::Overloaded | K::RateLimit | K::UpstreamRateLimit => {
            let step = usize::try_from(failures.saturating_sub(1)).unwrap_or(usize::MAX);
            SLOW.get(step).or(SLOW.last()).copied().unwrap_or_default()
        }
        K::EmptyStream | K::Malformed => 30,
        K::NotConfigured => 600,
        _ => 60,
    })
}

/// Whether nothing else could be asked either: the conversation would be made poorer for a question that fails.
pub(crate) fn is_hopeless(fault: FaultKind) -> bool {
    use FaultKind as K;
    matches!(fault, K::Auth | K::AuthPermanent | K::Entitlement | K::Billing | K::NoRoute | K::Unreachable | K::Tls)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_makes_the_rest_longer_where_waiting_helps() {
        let seconds = |fault, failures| after(fault, failures).as_secs();
        let slow: Vec<u64> = (1..=4).map(|failures| seconds(FaultKind::Timeout, failures)).collect();
        assert_eq!(slow, [60, 300, 900, 900]);
        assert_eq!((seconds(FaultKind::EmptyStream, 3), seconds(FaultKind::NotConfigured, 1)), (30, 600));
        assert_eq!(seconds(FaultKind::BadRequest, 9), 60);
    }
}
