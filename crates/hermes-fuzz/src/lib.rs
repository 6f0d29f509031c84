//! Hostile bytes for everything in Hermes that reads foreign text.
//!
//! The targets are ordinary tests (`tests/targets`): `cargo test` explores each of them for about two seconds, always
//! along the same path, so a red run is red for everybody. `HERMES_FUZZ_SECONDS` lengthens the walk, `HERMES_FUZZ_SEED`
//! takes another one. A failure prints the smallest input that still fails.
//!
//! Random bytes hardly reach anything, so inputs are made from real ones: [`Mutant`] edits a corpus, [`Tale`] tells an
//! answer in a real protocol and [`Harm`] names what a single wound took from it. "It did not panic" is the least of the
//! claims: each target compares with a second, naive implementation or with what is known to have been said.
#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "runs only inside tests, where a panic is how a wrong input reports itself"
)]

mod harm;
mod listen;
mod mutant;
pub mod reference;
mod tale;

pub use harm::{Harm, Wound, wounds};
pub use listen::{Heard, listen};
pub use mutant::{Mutant, RECORDED, mutants};
pub use tale::{Habit, Tale, Told, facts, tales};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestCaseResult, TestRunner};
use std::time::{Duration, Instant};

const USUAL_SECONDS: u64 = 2;
const USUAL_SEED: u64 = 1;

/// Feeds inputs to a target until the time is over, and stops at the first one it does not stand.
#[track_caller]
pub fn explore<S: Strategy>(inputs: S, target: impl Fn(S::Value) -> TestCaseResult) {
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let patience = Duration::from_secs(number("HERMES_FUZZ_SECONDS").unwrap_or(USUAL_SECONDS));
    let seed = number("HERMES_FUZZ_SEED").unwrap_or(USUAL_SEED);
    let start = Instant::now();
    let mut rounds = 0;
    while rounds == 0 || start.elapsed() < patience {
        let rng_seed = RngSeed::Fixed((seed << 32) + rounds);
        let config = Config { cases: 64, rng_seed, failure_persistence: None, ..Config::default() };
        if let Err(failure) = TestRunner::new(config).run(&inputs, &target) {
            panic!("{failure}");
        }
        rounds += 1;
    }
}

/// The bytes in pieces of these sizes, over and over.
pub fn shred<'a>(mut bytes: &'a [u8], sizes: &[u8]) -> Vec<&'a [u8]> {
    let mut sizes = sizes.iter().map(|size| usize::from(*size).max(1)).cycle();
    let mut pieces = Vec::new();
    while !bytes.is_empty() {
        let size = sizes.next().unwrap_or(bytes.len()).min(bytes.len());
        let (piece, rest) = bytes.split_at(size);
        pieces.push(piece);
        bytes = rest;
    }
    pieces
}
