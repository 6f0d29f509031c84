//! What to do after a failed attempt: one pure function over one table.
//!
//! [`plan`] sees the kind of the fault, what was tried already and what is still possible, and names the next step. It
//! always ends: every step that does not count as a retry can be taken only a bounded number of times, and a call as a
//! whole has a cap on attempts over all providers.

use hermes_types::{Concession, Fault, FaultKind};
use std::collections::BTreeSet;
use std::time::Duration;

/// Attempts in one call over all providers and credentials together.
const MOST_ATTEMPTS: u32 = 12;
/// Renewals of a login within one call.
const MOST_REFRESHES: u32 = 2;
/// A credential or provider that asks for a longer wait than this is left for the next one, where there is one.
const PATIENCE: Duration = Duration::from_secs(30);
/// Nobody waits longer than this for one answer: a quota that comes back in hours is not a hiccup.
pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(600);

/// The next step of recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The same again, after a pause.
    Retry(Duration),
    /// Renew the login, then the same again.
    Refresh,
    /// Another credential of the same provider.
    Rotate,
    /// The same without what was refused.
    Concede(Concession),
    /// Make the conversation shorter, then the same again.
    Compress,
    NextProvider,
    GiveUp,
}

/// What this call has tried on its current provider, and in all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tries {
    /// Failed attempts over all providers, including the one just now.
    pub attempts: u32,
    /// Retries on this provider so far.
    pub retries: u32,
    /// Retries that chose their own pause; a wait the provider asked for does not lengthen the next one.
    pub backoffs: u32,
    pub refreshes: u32,
    /// The credential in use was already given a second chance.
    pub second_chance: bool,
    pub conceded: BTreeSet<Concession>,
}

/// What can still be done, as far as the caller knows.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Means {
    /// Retries per provider (`agent.api_max_retries`).
    pub retries: u32,
    pub refresh: bool,
    pub rotate: bool,
    pub compress: bool,
    pub next_provider: bool,
}

/// How one kind of fault is met. The columns are read from left to right.
struct Row {
    refresh: bool,
    rotate: Rotation,
    retry: Patience,
    pace: Pace,
    fall_back: FallBack,
}

enum Rotation {
    Never,
    AtOnce,
    /// After the same credential had a second chance.
    SecondTime,
}

enum Patience {
    None,
    Once,
    /// As often as the settings allow.
    Allowed,
}

/// Pauses before the first, second, … retry: `first · factorⁿ`, never above `cap`.
#[derive(Clone, Copy)]
struct Pace {
    first: Duration,
    factor: u32,
    cap: Duration,
}

enum FallBack {
    Never,
    AtOnce,
    /// Once this many attempts at the provider failed.
    After(u32),
    /// When nothing else is left.
    AtLast,
}

/// A hiccup: gone in a moment, so the first retry is almost at once.
const QUICK: Pace = Pace { first: Duration::from_millis(250), factor: 4, cap: Duration::from_secs(60) };
/// Load: pushing harder makes it worse.
const STEADY: Pace = Pace { first: Duration::from_secs(2), factor: 2, cap: Duration::from_secs(60) };

#[rustfmt::skip]
fn row(kind: FaultKind) -> Row {
    use FaultKind as K;
    let row = |refresh, rotate, retry, pace, fall_back| Row { refresh, rotate, retry, pace, fall_back };
    match kind {
        //                                   refresh  rotate                retry               pace    fall back
        K::Auth =>                        row(true,  Rotation::AtOnce,     Patience::None,    QUICK,  FallBack::AtOnce),
        K::AuthPermanent =>               row(false, Rotation::AtOnce,     Patience::None,    QUICK,  FallBack::AtOnce),
        K::Entitlement =>                 row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::Billing =>                     row(false, Rotation::AtOnce,     Patience::None,    QUICK,  FallBack::AtOnce),
        K::RateLimit =>                   row(false, Rotation::SecondTime, Patience::Allowed, STEADY, FallBack::After(2)),
        K::UpstreamRateLimit =>           row(false, Rotation::Never,      Patience::Allowed, STEADY, FallBack::AtOnce),
        K::Overloaded =>                  row(false, Rotation::Never,      Patience::Allowed, STEADY, FallBack::After(2)),
        K::ServerError =>                 row(false, Rotation::Never,      Patience::Allowed, QUICK,  FallBack::After(2)),
        K::Timeout | K::Stalled =>        row(false, Rotation::Never,      Patience::Allowed, QUICK,  FallBack::After(2)),
        K::Unreachable =>                 row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::NoRoute =>                     row(false, Rotation::Never,      Patience::Once,    QUICK,  FallBack::AtOnce),
        K::Tls =>                         row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::ContextOverflow =>             row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtLast),
        K::PayloadTooLarge =>             row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtLast),
        K::ModelNotFound =>               row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::PolicyBlocked =>               row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::Never),
        K::ContentBlocked =>              row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::BadRequest | K::Refused(_) =>  row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::EmptyStream | K::Malformed =>  row(false, Rotation::Never,      Patience::Allowed, QUICK,  FallBack::After(2)),
        K::WrongOrigin | K::Interrupted =>row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::Never),
        K::NotConfigured =>               row(false, Rotation::Never,      Patience::None,    QUICK,  FallBack::AtOnce),
        K::Unknown =>                     row(false, Rotation::Never,      Patience::Allowed, QUICK,  FallBack::AtLast),
    }
}

/// The next step after `fault`. `chance` in 0..1 spreads the pauses of many clients.
pub fn plan(fault: &Fault, tries: &Tries, means: &Means, chance: f64) -> Step {
    if tries.attempts >= MOST_ATTEMPTS {
        return Step::GiveUp;
    }
    if let FaultKind::Refused(concession) = fault.kind
        && !tries.conceded.contains(&concession)
    {
        return Step::Concede(concession);
    }
    if means.compress && matches!(fault.kind, FaultKind::ContextOverflow | FaultKind::PayloadTooLarge) {
        return Step::Compress;
    }
    let row = row(fault.kind);
    if row.refresh && means.refresh && tries.refreshes < MOST_REFRESHES {
        return Step::Refresh;
    }
    let wait = wait(fault, &row, tries, chance);
    let rotate_now = match row.rotate {
        Rotation::Never => false,
        Rotation::AtOnce => true,
        Rotation::SecondTime => tries.second_chance || wait > PATIENCE,
    };
    if rotate_now && means.rotate {
        return Step::Rotate;
    }
    if means.next_provider && leaves_now(&row, tries, wait) {
        return Step::NextProvider;
    }
    let allowed = match row.retry {
        Patience::None => 0,
        Patience::Once => means.retries.min(1),
        Patience::Allowed => means.retries,
    };
    if tries.retries < allowed && wait <= LONGEST_WAIT {
        return Step::Retry(wait);
    }
    match row.fall_back {
        FallBack::AtLast | FallBack::After(_) if means.next_provider => Step::NextProvider,
        _ => Step::GiveUp,
    }
}

fn leaves_now(row: &Row, tries: &Tries, wait: Duration) -> bool {
    match row.fall_back {
        FallBack::Never | FallBack::AtLast => false,
        FallBack::AtOnce => true,
        FallBack::After(failures) => tries.retries + 1 >= failures || wait > PATIENCE,
    }
}

/// What the provider asks for, else our own pause with up to half of it added by chance.
fn wait(fault: &Fault, row: &Row, tries: &Tries, chance: f64) -> Duration {
    if let Some(asked) = fault.retry_after {
        return asked;
    }
    let grown = row.pace.first.saturating_mul(row.pace.factor.saturating_pow(tries.backoffs));
    let pause = grown.min(row.pace.cap);
    pause + pause.mul_f64(chance.clamp(0.0, 1.0) / 2.0)
}

impl Tries {
    /// Takes note of a step, so that the next plan knows of it. Leaving a provider starts its own counts anew.
    pub fn took(&mut self, step: Step, fault: &Fault) {
        match step {
            Step::Retry(_) => {
                self.retries += 1;
                self.backoffs += u32::from(fault.retry_after.is_none());
                self.second_chance = true;
            }
            Step::Refresh => self.refreshes += 1,
            // Another credential is as good as another provider: it gets its own tries.
            Step::Rotate => {
                self.second_chance = false;
                self.retries = 0;
                self.backoffs = 0;
            }
            Step::Concede(concession) => {
                self.conceded.insert(concession);
            }
            Step::NextProvider => *self = Self { attempts: self.attempts, ..Self::default() },
            Step::Compress | Step::GiveUp => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL_MEANS: Means = Means { retries: 3, refresh: true, rotate: true, compress: true, next_provider: true };
    const ALONE: Means = Means { retries: 3, refresh: false, rotate: false, compress: false, next_provider: false };

    /// The steps of a call that always meets the same fault.
    fn steps(kind: FaultKind, means: &Means) -> Vec<Step> {
        let fault = Fault::new(kind, "");
        let mut tries = Tries::default();
        let mut means = *means;
        let mut steps = Vec::new();
        loop {
            tries.attempts += 1;
            let step = plan(&fault, &tries, &means, 0.0);
            steps.push(step);
            tries.took(step, &fault);
            match step {
                Step::GiveUp => return steps,
                // One credential, one shorter history, one more provider: each is there once.
                Step::Rotate => means.rotate = false,
                Step::Compress => means.compress = false,
                Step::NextProvider => means.next_provider = false,
                _ => {}
            }
        }
    }

    fn ms(millis: u64) -> Step {
        Step::Retry(Duration::from_millis(millis))
    }

    /// Every kind, alone and with everything at hand: the whole table as people will meet it.
    #[test]
    fn every_kind_of_fault_has_its_steps() {
        use FaultKind as K;
        use Step::{Compress, Concede, GiveUp, NextProvider, Refresh, Rotate};
        let quick = [ms(250), ms(1000), ms(4000), GiveUp];
        let steady = [ms(2000), ms(4000), ms(8000), GiveUp];
        for kind in FaultKind::ALL {
            let alone: Vec<Step> = match kind {
                K::RateLimit | K::UpstreamRateLimit | K::Overloaded => steady.to_vec(),
                K::ServerError | K::Timeout | K::Stalled | K::EmptyStream | K::Malformed | K::Unknown => quick.to_vec(),
                K::NoRoute => vec![ms(250), GiveUp],
                K::Refused(concession) => vec![Concede(concession), GiveUp],
                _ => vec![GiveUp],
            };
            assert_eq!(steps(kind, &ALONE), alone, "{kind:?} alone");

            let first: Vec<Step> = match kind {
                K::Auth => vec![Refresh, Refresh, Rotate, NextProvider],
                K::AuthPermanent | K::Billing => vec![Rotate, NextProvider],
                K::RateLimit => vec![ms(2000), Rotate, ms(2000), NextProvider],
                K::Overloaded => vec![ms(2000), NextProvider],
                K::ServerError | K::Timeout | K::Stalled | K::EmptyStream | K::Malformed => vec![ms(250), NextProvider],
                K::Unknown => vec![ms(250), ms(1000), ms(4000), NextProvider],
                K::ContextOverflow | K::PayloadTooLarge => vec![Compress, NextProvider],
                K::Refused(concession) => vec![Concede(concession), NextProvider],
                K::PolicyBlocked | K::WrongOrigin | K::Interrupted => vec![GiveUp],
                _ => vec![NextProvider],
            };
            let taken = steps(kind, &ALL_MEANS);
            assert_eq!(taken.get(..first.len()), Some(first.as_slice()), "{kind:?} with all means: {taken:?}");
        }
    }

    #[test]
    fn a_wait_the_provider_asks_for_is_kept_and_does_not_lengthen_the_next() {
        let limited = Fault { retry_after: Some(Duration::from_secs(1)), ..Fault::new(FaultKind::RateLimit, "") };
        let mut tries = Tries { attempts: 1, ..Tries::default() };
        let step = plan(&limited, &tries, &ALONE, 0.9);
        assert_eq!(step, ms(1000));
        tries.took(step, &limited);
        assert_eq!(plan(&Fault::new(FaultKind::ServerError, ""), &tries, &ALONE, 0.0), ms(250));
    }

    #[test]
    fn a_long_wait_sends_us_to_the_next_provider_at_once() {
        let limited = Fault { retry_after: Some(Duration::from_secs(90)), ..Fault::new(FaultKind::RateLimit, "") };
        let tries = Tries { attempts: 1, ..Tries::default() };
        let means = Means { next_provider: true, ..ALONE };
        assert_eq!(plan(&limited, &tries, &means, 0.0), Step::NextProvider);
        assert_eq!(plan(&limited, &tries, &ALONE, 0.0), Step::Retry(Duration::from_secs(90)));
    }

    /// A quota that comes back in days: another key at once, then another provider, and never a nap of days.
    #[test]
    fn nobody_waits_for_a_quota_that_comes_back_in_days() {
        let spent =
            Fault { retry_after: Some(Duration::from_secs(3 * 86_400)), ..Fault::new(FaultKind::RateLimit, "") };
        let tries = Tries { attempts: 1, ..Tries::default() };
        let with = |rotate, next_provider| plan(&spent, &tries, &Means { rotate, next_provider, ..ALONE }, 0.0);
        assert_eq!(with(true, true), Step::Rotate);
        assert_eq!(with(false, true), Step::NextProvider);
        assert_eq!(with(false, false), Step::GiveUp);
    }

    /// Every key of a pool has its second chance before the provider is left.
    #[test]
    fn a_pool_is_used_up_before_the_provider_is_left() {
        let limited = Fault::new(FaultKind::RateLimit, "");
        let (mut tries, mut means, mut taken) = (Tries::default(), ALL_MEANS, Vec::new());
        let mut spare = 2;
        while taken.last() != Some(&Step::NextProvider) {
            tries.attempts += 1;
            means.rotate = spare > 0;
            let step = plan(&limited, &tries, &means, 0.0);
            tries.took(step, &limited);
            spare -= u32::from(step == Step::Rotate);
            taken.push(step);
        }
        assert_eq!(taken, [ms(2000), Step::Rotate, ms(2000), Step::Rotate, ms(2000), Step::NextProvider]);
    }

    proptest! {
        /// Whatever happens in whatever order, a call ends.
        #[test]
        fn recovery_always_ends(kinds in prop::collection::vec(0..FaultKind::ALL.len(), 40), chance in 0.0..1.0f64) {
            let mut tries = Tries::default();
            let mut waited = Duration::ZERO;
            for (n, at) in kinds.into_iter().enumerate() {
                let fault = Fault::new(FaultKind::ALL[at], "");
                tries.attempts += 1;
                let step = plan(&fault, &tries, &ALL_MEANS, chance);
                tries.took(step, &fault);
                match step {
                    Step::GiveUp => return Ok(()),
                    Step::Retry(pause) => waited += pause,
                    _ => {}
                }
                prop_assert!(n < 12, "more than twelve attempts");
                prop_assert!(waited < Duration::from_secs(12 * 90));
            }
        }
    }
}
