use super::*;
use crate::provider::Charges;
use crate::provider::table::PROVIDERS;
use proptest::prelude::*;

fn usd(text: &str) -> Usd {
    text.parse().expect("an amount")
}

fn input(vendor: &str, model: &str, prompt: u64) -> Option<Usd> {
    listed(vendor, model, prompt).and_then(|prices| prices.input)
}

#[test]
fn every_line_of_the_list_is_read_and_belongs_to_a_provider() {
    let lines = LIST.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()).count();
    let rows: usize = BOOK.rows.values().map(Vec::len).sum();
    assert_eq!(rows + 1, lines, "one line is the version");
    assert!(version().starts_with("202"), "{}", version());
    for ((vendor, model), steps) in &BOOK.rows {
        assert!(PROVIDERS.iter().any(|row| row.charges == Charges::Listed(vendor)), "nobody asks {vendor}");
        assert_eq!(normal(model), *model, "the list keeps names as they are looked up");
        assert_eq!(steps.first().map(|(above, _)| *above), Some(0), "{model} has a price for short prompts");
        for (_, prices) in steps {
            let (Some(input), Some(output)) = (prices.input, prices.output) else { panic!("{model} has no prices") };
            assert!(input.pico() >= 0 && output >= input, "{model}");
            assert!(prices.cache_read.is_none_or(|read| read <= input), "{model}");
            assert!(prices.cache_write.is_none_or(|write| write >= input), "{model}");
            assert!(prices.cache_write_1h.is_none_or(|hour| Some(hour) >= prices.cache_write), "{model}");
        }
    }
}

#[test]
fn a_model_is_found_under_every_name_it_has() {
    let names = [
        "claude-sonnet-4-5",
        "claude-sonnet-4.5",
        "Claude-Sonnet-4-5-20250929",
        "anthropic/claude-sonnet-4.5",
        "claude-sonnet-4-5@20250929",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "global.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "anthropic.claude-sonnet-4-5-20250929-v1:0",
        "claude-sonnet-4-5-latest",
    ];
    for name in names {
        assert_eq!(input("anthropic", name, 0), Some(usd("3")), "{name}");
    }
    let table = [
        ("openai", "gpt-5-2025-08-07", "1.25"),
        ("openai", "gpt-4o-2024-05-13", "5"),
        ("openai", "gpt-4o-2024-08-06", "2.50"),
        ("google", "models/gemini-3.1-pro-preview", "2"),
        ("google", "gemini-2.5-flash-preview-09-2025", "0.30"),
        ("minimax", "MiniMax-M2.5", "0.30"),
        ("mistral", "mistral-large-latest", "0.50"),
    ];
    for (vendor, name, price) in table {
        assert_eq!(input(vendor, name, 0), Some(usd(price)), "{name}");
    }
}

#[test]
fn a_model_that_is_not_on_the_list_has_no_price() {
    let strangers = [
        ("anthropic", "claude-opus-9"),
        ("anthropic", "claude-sonnet-4-5-turbo"),
        ("openai", "gpt-5.9"),
        ("openai", "gpt-5-5-mini"),
        ("openai", "gpt-5-chat"),
        ("deepseek", "claude-sonnet-4-5"),
        ("nobody", "gpt-5"),
        ("openai", ""),
    ];
    for (vendor, model) in strangers {
        assert_eq!(listed(vendor, model, 0), None, "{vendor} {model}");
    }
}

#[test]
fn long_prompts_cost_what_long_prompts_cost() {
    let model = "claude-sonnet-4-5";
    for (prompt, price) in [(0, "3"), (200_000, "3"), (200_001, "6"), (u64::MAX, "6")] {
        assert_eq!(input("anthropic", model, prompt), Some(usd(price)), "{prompt}");
    }
}

#[test]
fn each_kind_of_token_has_its_price() {
    let prices = listed("anthropic", "claude-opus-4-8", 0).expect("a price");
    let usage = Usage {
        input: 1_000_000,
        output: 100_000,
        cache_read: 2_000_000,
        cache_write: 300_000,
        cache_write_1h: 100_000,
        reasoning: 90_000,
        cost: None,
    };
    // 5 + 2.5 + 1 + 0.2 × 6.25 + 0.1 × 10; thinking is a part of the output.
    assert_eq!(prices.sum(&usage), (usd("10.75"), Coverage::Whole));
    let cost = prices.estimate(&usage, PriceSource::List, Some(version()));
    assert_eq!((cost.known(), cost.status, cost.is_whole()), (Some(usd("10.75")), CostStatus::Estimated, true));
    assert_eq!((cost.source.as_str(), cost.pricing_version.as_deref()), ("official_docs_snapshot", Some(version())));
    let with_fee = Prices { request: Some(usd("0.01")), ..prices };
    assert_eq!(with_fee.sum(&Usage::default()), (usd("0.01"), Coverage::Whole));
}

#[test]
fn what_has_no_price_is_told_and_never_counts_as_nothing() {
    let prices = Prices { input: Some(usd("1")), output: Some(usd("2")), ..Prices::default() };
    let cached = Usage { input: 1_000_000, cache_read: 5, ..Usage::default() };
    let cost = prices.estimate(&cached, PriceSource::Override, None);
    assert_eq!((cost.known(), cost.status, cost.is_whole()), (Some(usd("1")), CostStatus::Estimated, false));
    assert_eq!(cost.source, "user_override:partial");
    let nothing = Prices::default().estimate(&cached, PriceSource::Catalogue, None);
    assert_eq!(nothing, Cost::unknown());
}

fn amount() -> impl Strategy<Value = Option<Usd>> {
    // From a picodollar to a thousand dollars for a million tokens, or no price at all.
    prop::option::of((0..1_000_000_000_000_000i64).prop_map(Usd::from_pico))
}

fn prices() -> impl Strategy<Value = Prices> {
    let all = (amount(), amount(), amount(), amount(), amount(), amount());
    all.prop_map(|(input, output, cache_read, cache_write, cache_write_1h, request)| Prices {
        input,
        output,
        cache_read,
        cache_write,
        cache_write_1h,
        request,
    })
}

fn usage() -> impl Strategy<Value = Usage> {
    let all = (0..3_000_000u64, 0..300_000u64, 0..3_000_000u64, 0..400_000u64, 0..400_000u64);
    all.prop_map(|(input, output, cache_read, five_minutes, hour)| Usage {
        input,
        output,
        cache_read,
        cache_write: five_minutes + hour,
        cache_write_1h: hour,
        ..Usage::default()
    })
}

proptest! {
    #[test]
    fn a_cost_is_the_sum_of_its_buckets_and_never_negative(prices in prices(), usage in usage()) {
        let (sum, coverage) = prices.sum(&usage);
        let priced = |tokens: u64, price: Option<Usd>| price.map_or(0, |price| i128::from(price.pico()) * i128::from(tokens) / 1_000_000);
        let expected = priced(usage.input, prices.input)
            + priced(usage.output, prices.output)
            + priced(usage.cache_read, prices.cache_read)
            + priced(usage.cache_write - usage.cache_write_1h, prices.cache_write)
            + priced(usage.cache_write_1h, prices.cache_write_1h)
            + i128::from(prices.request.unwrap_or_default().pico());
        prop_assert_eq!(i128::from(sum.pico()), expected);
        prop_assert!(sum.pico() >= 0);
        let used = [
            (usage.input, prices.input), (usage.output, prices.output), (usage.cache_read, prices.cache_read),
            (usage.cache_write - usage.cache_write_1h, prices.cache_write), (usage.cache_write_1h, prices.cache_write_1h),
        ];
        let all_priced = used.iter().all(|(tokens, price)| *tokens == 0 || price.is_some());
        prop_assert_eq!(coverage == Coverage::Whole, all_priced);
    }

    #[test]
    fn more_tokens_never_cost_less(prices in prices(), less in usage(), more in usage()) {
        let mut sum = less;
        sum += more;
        prop_assert!(prices.sum(&sum).0 >= prices.sum(&less).0);
    }

    #[test]
    fn a_name_is_normal_after_one_step(name in "[a-zA-Z0-9./:@_-]{0,40}") {
        let once = normal(&name);
        prop_assert!(!once.contains(['.', '@']));
        prop_assert!(listed("anthropic", &name, 0).is_none_or(|prices| prices.input.is_some()));
    }
}

#[test]
fn a_million_calls_add_up_to_the_last_picodollar() {
    let prices = listed("openai", "gpt-5-nano", 0).expect("a price");
    let usage = Usage { input: 7, output: 3, cache_read: 1, ..Usage::default() };
    let (one, _) = prices.sum(&usage);
    // 7 × 50,000 + 3 × 400,000 + 1 × 5,000 picodollars.
    assert_eq!(one.pico(), 1_555_000);
    let sum = (0..1_000_000).fold(Usd::default(), |sum, _| sum + one);
    assert_eq!(sum.pico(), 1_555_000_000_000);
}
