//! How alike two texts are: twice the characters in common blocks over all characters (Ratcliff and Obershelp), with
//! the choices of Python's `difflib` (longest block, then the earliest in the first text, then in the second; no junk).
//!
//! The ratio is quadratic, so nobody asks for it before three cheap bounds from above allow it: the lengths, the letters
//! regardless of order, and the longest common subsequence in one machine word. Work is counted in a [`Budget`]; what
//! does not fit is not alike. The count depends on the input alone, so the same input has the same answer everywhere.

use std::cell::Cell;
use std::collections::HashMap;

/// Longer texts are alike only when they are equal.
pub(super) const LONGEST: usize = 1_500;
const BINS: usize = 64;
const WORD: usize = 128;

/// Steps of work that may still be done.
#[derive(Debug)]
pub(super) struct Budget(Cell<u64>);

impl Budget {
    pub(super) fn of(steps: u64) -> Self {
        Self(Cell::new(steps))
    }

    /// Takes the steps, or says that there are not so many left; then nothing more is given.
    pub(super) fn spend(&self, steps: usize) -> bool {
        let left = self.0.get().checked_sub(u64::try_from(steps).unwrap_or(u64::MAX));
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }

    pub(super) fn is_spent(&self) -> bool {
        self.0.get() == 0
    }
}

/// The similarity of two texts, from 0 to 1.
pub(super) fn ratio(a: &[char], b: &[char]) -> f64 {
    of_total(common(a, b), a.len() + b.len())
}

fn of_total(common: usize, total: usize) -> f64 {
    if total == 0 {
        return 1.0;
    }
    #[expect(clippy::cast_precision_loss, reason = "texts are far shorter than 2^52 characters")]
    let ratio = 2.0 * common as f64 / total as f64;
    ratio
}

/// Characters in common blocks.
fn common(a: &[char], b: &[char]) -> usize {
    let mut total = 0;
    let mut open = vec![(a, b)];
    while let Some((a, b)) = open.pop() {
        let (at, bt, length) = longest_block(a, b);
        if length == 0 {
            continue;
        }
        total += length;
        open.push((a.get(..at).unwrap_or_default(), b.get(..bt).unwrap_or_default()));
        open.push((a.get(at + length..).unwrap_or_default(), b.get(bt + length..).unwrap_or_default()));
    }
    total
}

fn longest_block(a: &[char], b: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    if b.is_empty() {
        return best;
    }
    let mut runs: Vec<usize> = vec![0; b.len()];
    for (at, left) in a.iter().enumerate() {
        let mut before = 0;
        for ((bt, right), run) in b.iter().enumerate().zip(runs.iter_mut()) {
            let length = if left == right { before + 1 } else { 0 };
            before = std::mem::replace(run, length);
            if length > best.2 {
                best = (at + 1 - length, bt + 1 - length, length);
            }
        }
    }
    best
}

/// A text that was looked at once, for many cheap comparisons.
#[derive(Debug)]
pub(super) struct Measured {
    chars: Vec<char>,
    bag: [u8; BINS],
}

impl Measured {
    pub(super) fn of(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut bag = [0_u8; BINS];
        for char in &chars {
            if let Some(bin) = bag.get_mut(*char as usize % BINS) {
                *bin = bin.saturating_add(1);
            }
        }
        Self { chars, bag }
    }
}

/// A text that is compared with many others.
#[derive(Debug)]
pub(super) struct Probe {
    measured: Measured,
    /// Where each character stands, for texts that fit in one word.
    ascii: Box<[u128; 128]>,
    other: HashMap<char, u128>,
}

impl Probe {
    pub(super) fn of(text: &str) -> Self {
        let measured = Measured::of(text);
        let mut ascii = Box::new([0_u128; 128]);
        let mut other = HashMap::new();
        for (at, char) in measured.chars.iter().take(WORD).enumerate() {
            match ascii.get_mut(*char as usize) {
                Some(mask) => *mask |= 1 << at,
                None => *other.entry(*char).or_insert(0) |= 1 << at,
            }
        }
        Self { measured, ascii, other }
    }

    /// The similarity, when it is at least `least` and the work can be paid.
    pub(super) fn at_least(&self, least: f64, text: &Measured, budget: &Budget) -> Option<f64> {
        let (a, b) = (&self.measured.chars, &text.chars);
        if a == b {
            return budget.spend(a.len() / 16 + 1).then_some(1.0);
        }
        if a.len().max(b.len()) > LONGEST || self.bound(text, least, budget) < least {
            return None;
        }
        let ratio = budget.spend(a.len() * b.len() * 2).then(|| ratio(a, b))?;
        (ratio >= least).then_some(ratio)
    }

    /// A similarity that the real one does not exceed. Goes only as deep as needed to come under `least`.
    pub(super) fn bound(&self, text: &Measured, least: f64, budget: &Budget) -> f64 {
        let (a, b) = (&self.measured.chars, &text.chars);
        let total = a.len() + b.len();
        let by_length = of_total(a.len().min(b.len()), total);
        if by_length < least || !budget.spend(2) {
            return by_length;
        }
        // Bins are full at 255, which would make the bound too low for long texts.
        if a.len().max(b.len()) < usize::from(u8::MAX) {
            let letters =
                self.measured.bag.iter().zip(&text.bag).map(|(left, right)| usize::from(*left.min(right))).sum();
            let by_letters = of_total(letters, total);
            if by_letters < least || !budget.spend(8) {
                return by_letters;
            }
            if a.len() <= WORD && budget.spend(b.len()) {
                return of_total(self.subsequence(b), total).min(by_letters);
            }
            return by_letters;
        }
        by_length
    }

    /// The length of the longest common subsequence: common blocks in order are one.
    fn subsequence(&self, text: &[char]) -> usize {
        let mut unmatched = u128::MAX;
        for char in text {
            let mask = match self.ascii.get(*char as usize) {
                Some(mask) => *mask,
                None => self.other.get(char).copied().unwrap_or_default(),
            };
            let hit = unmatched & mask;
            unmatched = unmatched.wrapping_add(hit) | (unmatched & !hit);
        }
        let length = self.measured.chars.len().min(WORD);
        let word = if length == WORD { u128::MAX } else { (1 << length) - 1 };
        (!unmatched & word).count_ones() as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(a: &str, b: &str) -> f64 {
        ratio(&a.chars().collect::<Vec<_>>(), &b.chars().collect::<Vec<_>>())
    }

    /// The right-hand sides are what `difflib.SequenceMatcher(None, a, b).ratio()` answers.
    #[test]
    fn ratios_are_those_of_difflib() {
        let known = [
            ("", "", 1.0),
            ("abc", "", 0.0),
            ("abcd", "bcde", 0.75),
            ("tide", "diet", 0.25),
            ("diet", "tide", 0.5),
            ("let total = a + b;", "let sum = a + b;", 0.764_705_882_352_941_1),
            ("naïve café", "naive cafe", 0.8),
        ];
        for (a, b, expected) in known {
            assert!((of(a, b) - expected).abs() < 1e-12, "{a:?} {b:?}: {} is not {expected}", of(a, b));
        }
    }

    proptest! {
        #[test]
        fn bounds_are_never_under_the_ratio(a in "[ab(ж ]{0,40}", b in "[ab(ж ]{0,40}") {
            let budget = Budget::of(u64::MAX);
            let bound = Probe::of(&a).bound(&Measured::of(&b), 0.0, &budget);
            prop_assert!(bound >= of(&a, &b), "{} is under {}", bound, of(&a, &b));
        }
    }
}
