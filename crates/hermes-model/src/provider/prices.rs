//! What calls cost: the price list of the vendors, the arithmetic, and the names under which prices are kept.
//!
//! The list (`prices.txt`) holds at a vendor's own endpoints and says when it was written. A name that is not on it has
//! no price: newer models of a family are not guessed from older ones, because a wrong price is worse than none. Money is
//! whole picodollars and is only added and multiplied, so a bill is the same in whatever order it is summed.

use super::names::bare;
use hermes_types::{Cost, CostStatus, PARTIAL, Usage, Usd};
use std::collections::HashMap;
use std::sync::LazyLock;

const LIST: &str = include_str!("prices.txt");
const NO_PRICE: &str = "-";
/// What vendors and clouds put behind the name of a model without making it another one.
const SAME_MODEL: [&str; 2] = ["latest", "preview"];
/// Where Bedrock runs a model, in front of its name.
const REGIONS: [&str; 8] = ["us", "eu", "apac", "global", "jp", "au", "ca", "us-gov"];

/// US dollars for a million tokens of each kind, and for one request. `None` is a price that nobody names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Prices {
    pub input: Option<Usd>,
    pub output: Option<Usd>,
    pub cache_read: Option<Usd>,
    /// Kept for five minutes, or for as long as the vendor pleases.
    pub cache_write: Option<Usd>,
    /// Kept for an hour.
    pub cache_write_1h: Option<Usd>,
    pub request: Option<Usd>,
}

/// Who names a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PriceSource {
    /// `pricing.overrides` of the person.
    Override,
    /// The catalogue of the endpoint.
    Catalogue,
    /// The list in this program.
    List,
}

impl PriceSource {
    /// The word for the books, the same as the Python program's.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Override => "user_override",
            Self::Catalogue => "provider_models_api",
            Self::List => "official_docs_snapshot",
        }
    }
}

impl Prices {
    /// Every kind of token costs nothing.
    pub fn is_free(&self) -> bool {
        [self.input, self.output].iter().all(|price| price.is_some_and(|price| price.pico() == 0))
    }

    /// Σ tokens × price, as far as there are prices, and whether there was one for everything that was used. A request
    /// without a price of its own costs nothing beyond its tokens.
    pub fn sum(&self, usage: &Usage) -> (Usd, Coverage) {
        let hour = usage.cache_write_1h.min(usage.cache_write);
        let buckets = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write - hour, self.cache_write),
            (hour, self.cache_write_1h),
        ];
        let mut sum = self.request.unwrap_or_default();
        let mut coverage = Coverage::Whole;
        for (tokens, price) in buckets.into_iter().filter(|(tokens, _)| *tokens > 0) {
            match price {
                Some(price) => sum = sum + price.per_million(tokens),
                None => coverage = Coverage::Partial,
            }
        }
        (sum, coverage)
    }

    /// The cost of a call by these prices. What is priced in part is an estimate that says so: the least that was paid is
    /// worth more to a limit than nothing. Where not even the plain tokens have a price, nothing is known.
    pub fn estimate(&self, usage: &Usage, source: PriceSource, version: Option<&str>) -> Cost {
        if self.input.is_none() && self.output.is_none() {
            return Cost::unknown();
        }
        let (sum, coverage) = self.sum(usage);
        let mark = if coverage == Coverage::Partial { PARTIAL } else { "" };
        Cost {
            estimated: Some(sum),
            actual: None,
            status: CostStatus::Estimated,
            source: format!("{}{mark}", source.as_str()),
            pricing_version: version.map(str::to_owned),
        }
    }
}

/// Whether everything that was used has a price.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coverage {
    Whole,
    Partial,
}

/// When the list was written.
pub fn version() -> &'static str {
    BOOK.version
}

/// What a vendor charges for a call of this model that read so many tokens.
pub fn listed(vendor: &str, model: &str, prompt: u64) -> Option<Prices> {
    let name = normal(model);
    let steps = names(&name).find_map(|name| BOOK.rows.get(&(vendor, name)))?;
    steps.iter().rev().find(|(above, _)| *above == 0 || prompt > *above).map(|(_, prices)| *prices)
}

/// The name under which a model is kept, whoever serves it: without vendor, region and version of the cloud, in lower
/// case, dots as hyphens.
pub fn normal(model: &str) -> String {
    let name = bare(model).to_ascii_lowercase();
    let name = match name.split_once('.') {
        Some((region, rest)) if REGIONS.contains(&region) => rest,
        _ => &name,
    };
    // `anthropic.claude-…`: the vendor as Bedrock writes it, which no version number looks like.
    let name = match name.split_once('.') {
        Some((vendor, rest)) if vendor.bytes().all(|byte| byte.is_ascii_alphabetic()) => rest,
        _ => name,
    };
    let name = name.split_once(':').filter(|(_, version)| is_number(version)).map_or(name, |(name, _)| name);
    let name = name.rsplit_once("-v").filter(|(_, version)| is_number(version)).map_or(name, |(name, _)| name);
    name.replace(['.', '@'], "-")
}

/// The name itself, then what it is without a date or a word behind it that makes no other model of it.
fn names(name: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(name), |name| {
        let (shorter, last) = name.rsplit_once('-')?;
        if SAME_MODEL.contains(&last) { Some(shorter) } else { without_date(name) }
    })
}

/// `-20250929`, `-2025-08-07`, `-09-2025` and `-0905` are dates; `-4-5` is a version.
fn without_date(name: &str) -> Option<&str> {
    const DATES: [&[usize]; 4] = [&[4, 2, 2], &[2, 4], &[8], &[4]];
    DATES.iter().find_map(|date| {
        date.iter().rev().try_fold(name, |name, digits| {
            let (shorter, part) = name.rsplit_once('-')?;
            (is_number(part) && part.len() == *digits).then_some(shorter)
        })
    })
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The list, read once.
struct Book {
    version: &'static str,
    /// By vendor and model: prices with the length of prompt above which they count, the lowest first.
    rows: HashMap<(&'static str, &'static str), Vec<(u64, Prices)>>,
}

static BOOK: LazyLock<Book> = LazyLock::new(|| read(LIST));

/// Lines that cannot be read are left out; a test holds that there are none.
fn read(text: &'static str) -> Book {
    let mut book = Book { version: "", rows: HashMap::new() };
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        if let ["version", version] = words[..] {
            book.version = version;
        } else if let Some((key, above, prices)) = row(&words) {
            book.rows.entry(key).or_default().push((above, prices));
        }
    }
    book.rows.values_mut().for_each(|steps| steps.sort_by_key(|(above, _)| *above));
    book
}

fn row(words: &[&'static str]) -> Option<((&'static str, &'static str), u64, Prices)> {
    let [vendor, model, above, input, output, cache_read, cache_write, cache_write_1h] = *words else { return None };
    let price = |word: &str| if word == NO_PRICE { Some(None) } else { word.parse().ok().map(Some) };
    let prices = Prices {
        input: price(input)?,
        output: price(output)?,
        cache_read: price(cache_read)?,
        cache_write: price(cache_write)?,
        cache_write_1h: price(cache_write_1h)?,
        request: None,
    };
    Some(((vendor, model), above.parse().ok()?, prices))
}

#[cfg(test)]
mod tests;
