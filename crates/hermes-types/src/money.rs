//! Money without rounding surprises: whole picodollars, so that a price per token is exact.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::ops::Add;
use std::str::FromStr;

const PICO_PER_USD: i64 = 1_000_000_000_000;
const PICO_DIGITS: i32 = 12;
const TOKENS_PER_PRICE: i64 = 1_000_000;

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
        let pico = i128::from(self.0) * i128::from(tokens) / i128::from(TOKENS_PER_PRICE);
        Self(i64::try_from(pico).unwrap_or(i64::MAX))
    }

    /// All digits of the amount: `0.00000025`.
    pub fn to_decimal(self) -> String {
        let (sign, pico) = (if self.0 < 0 { "-" } else { "" }, self.0.unsigned_abs());
        let unit = PICO_PER_USD.unsigned_abs();
        let text = format!("{sign}{}.{:012}", pico / unit, pico % unit);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }

    /// The price of a million when `self` is that of one; `None` beyond what can be expressed.
    pub fn times_million(self) -> Option<Self> {
        self.0.checked_mul(TOKENS_PER_PRICE).map(Self)
    }
}

/// A text that is no amount, or one that cannot be expressed exactly enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not an amount of money")]
pub struct NotMoney;

/// A decimal number of dollars, read digit by digit: `3`, `0.0375`, `2.5e-07`. What lies below a picodollar is cut off.
impl FromStr for Usd {
    type Err = NotMoney;

    fn from_str(text: &str) -> Result<Self, NotMoney> {
        let (mantissa, exponent) = match text.trim().split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().map_err(|_| NotMoney)?),
            None => (text.trim(), 0),
        };
        let (negative, digits) = mantissa.strip_prefix('-').map_or((false, mantissa), |rest| (true, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let all = format!("{whole}{fraction}");
        if all.is_empty() || !all.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(NotMoney);
        }
        let places = i32::try_from(fraction.len()).map_err(|_| NotMoney)?;
        let shift = PICO_DIGITS.saturating_add(exponent).saturating_sub(places);
        let number: i128 = all.parse().map_err(|_| NotMoney)?;
        let power = 10i128.checked_pow(shift.unsigned_abs());
        let pico = match (shift >= 0, power) {
            (true, Some(power)) => number.checked_mul(power).ok_or(NotMoney)?,
            (true, None) if number != 0 => return Err(NotMoney),
            (false, Some(power)) => number / power,
            (_, None) => 0,
        };
        let pico = i64::try_from(pico).map_err(|_| NotMoney)?;
        Ok(Self(if negative { -pico } else { pico }))
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

    #[test]
    fn a_decimal_is_read_digit_by_digit() {
        let table = [
            ("3", Some(3_000_000_000_000)),
            ("0.0375", Some(37_500_000_000)),
            (" 0.00000025 ", Some(250_000)),
            ("2.5e-07", Some(250_000)),
            ("1E+2", Some(100_000_000_000_000)),
            (".5", Some(500_000_000_000)),
            ("-1", Some(-1_000_000_000_000)),
            ("0.0000000000009", Some(0)),
            ("0e99", Some(0)),
            ("1e-99", Some(0)),
            ("", None),
            (".", None),
            ("free", None),
            ("1.2.3", None),
            ("1e99", None),
            ("99999999999999999999", None),
        ];
        for (text, pico) in table {
            assert_eq!(text.parse::<Usd>().ok().map(Usd::pico), pico, "{text}");
        }
        for pico in [0, 1, 250_000, -1_500_000_000_000, 3_000_000_000_000, i64::MAX] {
            assert_eq!(Usd(pico).to_decimal().parse(), Ok(Usd(pico)), "{}", Usd(pico).to_decimal());
        }
        assert_eq!((Usd(250_000).to_decimal(), Usd(0).to_decimal()), ("0.00000025".into(), "0".into()));
        assert_eq!(Usd(250_000).times_million(), Some(Usd(250_000_000_000)));
        assert_eq!(Usd(i64::MAX).times_million(), None);
    }
}
