//! Money without rounding surprises: whole picodollars, so that a price per token is exact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Add;

const PICO_PER_USD: i64 = 1_000_000_000_000;
const TOKENS_PER_PRICE: i128 = 1_000_000;

/// An amount of US dollars, exact to 10⁻¹² and good up to nine million.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd(i64);

impl Usd {
    /// The nearest exact amount; what no amount can express (NaN, infinities) is refused.
    pub fn from_f64(dollars: f64) -> Option<Self> {
        let pico = dollars * PICO_PER_USD as f64;
        (pico.is_finite() && pico.abs() < i64::MAX as f64).then(|| Self(pico.round() as i64))
    }

    pub fn as_f64(self) -> f64 {
        self.0 as f64 / PICO_PER_USD as f64
    }

    /// The exact amount, for databases.
    pub const fn pico(self) -> i64 {
        self.0
    }

    pub const fn from_pico(pico: i64) -> Self {
        Self(pico)
    }

    /// What `tokens` cost when `self` is the price of a million of them.
    pub fn per_million(self, tokens: u64) -> Self {
        let pico = i128::from(self.0) * i128::from(tokens) / TOKENS_PER_PRICE;
        Self(i64::try_from(pico).unwrap_or(i64::MAX))
    }
}

impl Add for Usd {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dollars = self.as_f64();
        let digits = if dollars.abs() < 0.1 { 4 } else { 2 };
        write!(f, "${dollars:.digits$}")
    }
}

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.as_f64())
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let dollars = f64::deserialize(deserializer)?;
        Self::from_f64(dollars).ok_or_else(|| serde::de::Error::custom("not an amount of money"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_per_million_is_exact_for_one_token() {
        let price = Usd::from_f64(0.0375).unwrap_or_default();
        assert_eq!(price.per_million(1), Usd(37_500));
        assert_eq!(price.per_million(2_000_000), Usd(75_000_000_000));
        assert_eq!(Usd::from_f64(1.5).map(|usd| usd.to_string()), Some("$1.50".into()));
        assert_eq!(Usd::from_f64(f64::NAN), None);
    }
}
