//! How long searches take in a store that was used for long. Run by hand, in a release build:
//! `cargo test --release -p hermes-store --test store bench_like -- --ignored --nocapture`

use crate::search::{say, search};
use crate::stage::{Kind, Stage};
use hermes_core::store::Transcript;
use hermes_types::{NewMessage, SearchOrder, SearchQuery};
use std::time::{Duration, Instant};

const MESSAGES: usize = 100_000;
const ROUNDS: usize = 60;

/// Numbers that look random and are the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).expect("31 bits") % limit
    }

    /// Small numbers are common, large ones rare, as words are.
    fn rank(&mut self, limit: usize) -> usize {
        let fraction = self.below(1 << 20) as f64 / f64::from(1 << 20);
        ((limit as f64).powf(fraction) as usize).saturating_sub(1).min(limit - 1)
    }
}

/// Word number so and so of a language.
fn word(number: usize) -> String {
    const PARTS: [&str; 20] = [
        "con", "de", "ing", "fig", "ploy", "ser", "ver", "ta", "ble", "ro", "mi", "quo", "lan", "ter", "ash", "um",
        "ith", "ele", "nor", "zu",
    ];
    let mut rest = number * 7 + 11;
    let mut word = String::new();
    while rest > 0 {
        word.push_str(PARTS[rest % 20]);
        rest /= 20;
    }
    word
}

fn signs(dice: &mut Dice, first: u32, count: usize, length: usize) -> String {
    (0..length)
        .map(|_| char::from_u32(first + u32::try_from(dice.rank(count)).expect("small")).expect("a sign"))
        .collect()
}

fn text(dice: &mut Dice) -> String {
    let (kind, length) = (dice.below(20), 20 + dice.below(110));
    match kind {
        0 => (0..length / 4).map(|_| signs(dice, 0x4E00, 3000, 4 + dice_small(length)) + "，").collect(),
        1 => (0..length / 4).map(|_| signs(dice, 0x0E01, 46, 6 + dice_small(length)) + " ").collect(),
        _ => (0..length).map(|_| word(dice.rank(30_000)) + " ").collect(),
    }
}

fn dice_small(number: usize) -> usize {
    number % 5
}

async fn fill(stage: &Stage) -> usize {
    let mut dice = Dice(7);
    let mut bytes = 0;
    for session in 0..MESSAGES / 500 {
        let id = stage.session(&format!("s{session}")).await;
        let messages: Vec<NewMessage> =
            (0..500).map(|_| text(&mut dice)).inspect(|text| bytes += text.len()).map(|text| say(&text)).collect();
        stage.store.append(&id, messages).await.expect("kept");
    }
    bytes
}

/// Queries of one class.
fn class(name: &str, dice: &mut Dice) -> String {
    let (common, usual, rare) = (word(dice.below(20)), word(200 + dice.below(300)), word(20_000 + dice.below(5000)));
    match name {
        "rare word" => rare,
        "usual word" => usual,
        "common word" => common,
        "two common" => format!("{common} {}", word(dice.below(20))),
        "common OR rare" => format!("{common} OR {rare}"),
        "common NOT common" => format!("{common} NOT {}", word(dice.below(20))),
        "phrase" => format!("\"{common} {}\"", word(dice.below(20))),
        "long beginning" => format!("{}*", usual.split_at(4).0),
        "short beginning" => format!("{}*", usual.split_at(2).0),
        "absent word" => format!("{rare}xq"),
        "inside a word" => "ploydeco".into(),
        "one Chinese" => signs(dice, 0x4E00, 300, 1),
        "two Chinese" => signs(dice, 0x4E00, 300, 2),
        "four Chinese" => signs(dice, 0x4E00, 30, 4),
        "Thai word" => signs(dice, 0x0E01, 46, 4),
        "two Thai" => signs(dice, 0x0E01, 46, 2),
        _ => format!("{common} {}", signs(dice, 0x4E00, 300, 2)),
    }
}

#[tokio::test]
#[ignore = "measures; run by hand in a release build"]
#[allow(clippy::print_stderr, reason = "the table is what this is for")]
async fn bench_like_a_long_used_store() {
    let mut stage = Stage::of(Kind::New).await;
    let bytes = fill(&stage).await;
    let asked = Instant::now();
    search(&stage, SearchQuery::new("部署")).await;
    eprintln!("first search of {} kB, nothing indexed: {:?}", bytes / 1024, asked.elapsed());
    let upto = || -> usize {
        stage
            .look()
            .query_row("SELECT value FROM hermes_meta WHERE key = 'grams_upto'", [], |row| row.get(0))
            .expect("a mark")
    };
    while upto() < MESSAGES {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    eprintln!("indexed after {:?}", asked.elapsed());
    stage.reopen().await;
    let grams: i64 = stage
        .look()
        .query_row("SELECT sum(length(block)) FROM hermes_grams_data", [], |row| row.get(0))
        .expect("a size");
    eprintln!("grams: {:.2} bytes per byte of text", grams as f64 / bytes as f64);
    let classes = [
        "rare word",
        "usual word",
        "common word",
        "two common",
        "common OR rare",
        "common NOT common",
        "phrase",
        "long beginning",
        "short beginning",
        "absent word",
        "inside a word",
        "one Chinese",
        "two Chinese",
        "four Chinese",
        "Thai word",
        "two Thai",
        "mixed",
    ];
    let mut all = Vec::new();
    let mut dice = Dice(99);
    for name in classes {
        let mut times = Vec::new();
        let (mut most, mut hits) = (0, 0);
        for round in 0..ROUNDS {
            let order = if round % 5 == 4 { SearchOrder::Newest } else { SearchOrder::Best };
            let query = SearchQuery { order, ..SearchQuery::new(class(name, &mut dice)) };
            let start = Instant::now();
            let found = search(&stage, query).await;
            times.push(start.elapsed());
            most = most.max(found.considered);
            hits += usize::from(!found.hits.is_empty());
        }
        times.sort();
        let (usual, late) = (times[ROUNDS / 2], times[ROUNDS - 1]);
        eprintln!("{name:<20} p50 {usual:>10.2?} max {late:>10.2?}  ranked {most:>5}  answered {hits}/{ROUNDS}");
        all.append(&mut times);
    }
    all.sort();
    let (usual, late) = (all[all.len() / 2], all[all.len() * 99 / 100]);
    eprintln!("{:<20} p50 {usual:>10.2?} p99 {late:>10.2?}", "all");
    assert!(usual < Duration::from_millis(10) && late < Duration::from_millis(30), "too slow");
}
