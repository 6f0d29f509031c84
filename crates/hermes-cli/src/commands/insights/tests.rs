use super::*;
use crate::commands::paper::cells;
use calendar::Day;
use hermes_testkit::golden;
use hermes_types::{Bucket, ModelUse, Notable, SessionId, Share, SourceUse, UsageRow};
use proptest::prelude::*;

/// Central Europe, where the clocks went back on 25 October 2026.
fn berlin() -> TimeZone {
    TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a zone")
}

fn at(time: &str) -> Moment {
    let time: Timestamp = time.parse().expect("a time");
    Moment::from_seconds(time.as_second() as f64)
}

fn on(width: usize, colour: bool) -> Paper {
    Paper { width: Some(width), colour }
}

fn usd(dollars: f64) -> Option<Usd> {
    Usd::from_f64(dollars)
}

fn bucket(time: &str, sessions: u64, messages: u64, input: u64, cost: Option<f64>) -> Bucket {
    let usage = Usage {
        input,
        output: input / 4,
        cache_read: input * 3,
        cache_write: input / 10,
        cache_write_1h: 0,
        reasoning: input / 20,
        cost: None,
    };
    Bucket { start: at(time), sessions, messages, usage, cost_usd: cost.and_then(Usd::from_f64) }
}

/// A model of which nobody knows more than its tokens, unless there is a cost.
fn model(model: &str, provider: &str, task: &str, calls: u64, input: u64, cost: Option<f64>) -> ModelUse {
    let usage = Usage { input, ..Usage::default() };
    let (estimated_cost_usd, actual_cost_usd) = (cost.and_then(Usd::from_f64), None);
    let (model, provider, task) = (model.into(), provider.into(), task.into());
    let sum = UsageRow { model, provider, task, calls, usage, estimated_cost_usd, actual_cost_usd };
    ModelUse { sessions: 2, cost_usd: estimated_cost_usd, sum }
}

fn share(name: &str, count: u64) -> Share {
    Share { name: name.into(), count }
}

fn notable(what: &str, session: &str, title: Option<&str>, value: f64) -> Notable {
    Notable { what: what.into(), session: SessionId::new(session), title: title.map(str::to_owned), value }
}

/// A week with the change of clocks in it, names in several scripts, and prices of every kind.
fn a_week() -> Report {
    let now = "2026-10-26T12:00:00+01:00".parse::<Timestamp>().expect("a time").to_zoned(berlin());
    let (from, to) = period(&now, 7).expect("a period");
    let buckets = vec![
        bucket("2026-10-20T07:15:00Z", 2, 12, 4_000, Some(0.25)),
        bucket("2026-10-21T13:00:00Z", 1, 30, 90_000, Some(1.5)),
        bucket("2026-10-25T00:15:00Z", 1, 3, 200, None),
        bucket("2026-10-25T01:15:00Z", 0, 4, 0, None),
        bucket("2026-10-26T09:45:00Z", 1, 6, 1_000, Some(0.0034)),
    ];
    let usage = Usage {
        input: 95_200,
        output: 23_800,
        cache_read: 285_600,
        cache_write: 9_520,
        cache_write_1h: 0,
        reasoning: 4_760,
        cost: None,
    };
    let insights = Insights {
        sessions: 5,
        messages: 55,
        user_messages: 14,
        tool_calls: 19,
        usage,
        estimated_cost_usd: usd(1.7534),
        actual_cost_usd: usd(0.25),
        sessions_without_cost: 1,
        sessions_included: 2,
        active_seconds: 5_460.0,
        ended_sessions: 4,
        compressions: 2,
        compression_tokens_saved: 164_000,
        models: vec![
            model("anthropic/claude-sonnet-4.5", "openrouter", "", 21, 90_000, Some(1.75)),
            model("qwen3-coder:30b", "custom", "", 3, 5_000, None),
            model("通义千问-最新版本-长名字-长名字-长名字-长名字", "", "title_generation", 1, 200, Some(0.0034)),
        ],
        sources: vec![
            SourceUse { source: "cli".into(), sessions: 4, messages: 49, tokens: 400_000 },
            SourceUse { source: "telegram".into(), sessions: 1, messages: 6, tokens: 14_120 },
        ],
        tools: vec![share("terminal", 11), share("ค้นหาไฟล์", 5), share("搜索文件", 2), share("read_file", 1)],
        exit_reasons: vec![share("answered", 12), share("interrupted", 2)],
        end_reasons: vec![share("user_exit", 3), share("compression", 1)],
        buckets,
        notable: vec![
            notable("longest", "20261021_150000_aa0001", Some("部署数据库服务器"), 3_000.0),
            notable("most_tokens", "20261021_150000_aa0002", None, 391_500.0),
            notable("most_expensive", "20261021_150000_aa0002", None, 1.5),
        ],
        ..nothing(from, to, None)
    };
    Report::new(insights, 7, &berlin())
}

/// A week in which everything that others name is named by an enemy.
fn a_hostile_week() -> Report {
    let evil = "</title><script>alert('x')</script>\u{1b}]52;c;aGk=\u{7}\u{202e}&\"\n\u{0}\u{ffff}";
    let mut insights = a_week().insights;
    insights.source = Some(evil.into());
    insights.models.push(model(evil, evil, evil, 1, 1, None));
    insights.sources.push(SourceUse { source: evil.into(), sessions: 1, messages: 1, tokens: 1 });
    insights.tools.push(share(evil, 1));
    insights.exit_reasons.push(share(evil, 1));
    insights.end_reasons.push(share(evil, 1));
    insights.notable.push(notable(evil, evil, Some(evil), 1.0));
    Report::new(insights, 7, &berlin())
}

#[test]
fn a_period_is_whole_days_however_long_they_were() {
    let now = "2026-10-26T12:00:00+01:00".parse::<Timestamp>().expect("a time").to_zoned(berlin());
    let today = (at("2026-10-25T23:00:00Z"), at("2026-10-26T11:00:00Z"));
    let with_the_long_sunday = (at("2026-10-24T22:00:00Z"), at("2026-10-26T11:00:00Z"));
    assert_eq!(period(&now, 1).expect("a period"), today);
    assert_eq!(period(&now, 2).expect("a period"), with_the_long_sunday);
}

#[test]
fn the_hour_that_comes_twice_is_one_hour_of_one_day() {
    let calendar = a_week().calendar;
    let told: Vec<(String, u64)> = calendar.days.iter().map(|day| (day.date.to_string(), day.messages)).collect();
    let days = [20, 21, 22, 23, 24, 25, 26].map(|day| format!("2026-10-{day}"));
    let expected: Vec<(String, u64)> = days.into_iter().zip([12, 30, 0, 0, 0, 7, 6]).collect();
    assert_eq!(told, expected);
    assert_eq!(calendar.weekdays, [6, 12, 30, 0, 0, 0, 7]);
    let hours: Vec<(usize, u64)> = calendar.hours.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
    assert_eq!(hours, [(2, 7), (9, 12), (10, 6), (15, 30)]);
}

#[test]
fn the_week_in_a_terminal() {
    for width in [44, 80, 120] {
        golden(format!("tests/golden/insights/week-{width}.txt"), &terminal::render(&a_week(), on(width, false)));
    }
    let styled = terminal::render(&a_week(), on(80, true));
    let plain = styled.replace("\u{1b}[1m", "").replace("\u{1b}[2m", "").replace("\u{1b}[0m", "");
    assert_eq!(plain, terminal::render(&a_week(), on(80, false)));
}

#[test]
fn no_line_is_longer_than_the_terminal_and_no_name_acts_on_it() {
    for width in NARROWEST..=WIDEST {
        for report in [a_week(), a_hostile_week()] {
            let text = terminal::render(&report, on(width, false));
            let long: Vec<&str> = text.lines().filter(|line| cells(line) > width).collect();
            assert_eq!(long, [""; 0], "at {width}");
            let acting = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!text.contains(acting), "{text:?}");
        }
    }
}

#[test]
fn the_week_as_json() {
    golden("tests/golden/insights/week.json", &format!("{}\n", a_week().to_json().expect("JSON")));
}

#[test]
fn json_of_an_enemy_cannot_act_on_a_terminal() {
    let json = a_hostile_week().to_json().expect("JSON");
    assert!(!json.contains(|c: char| (c.is_control() && c != '\n') || c == '\u{202e}'), "{json:?}");
    let told: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(told["source"].as_str(), a_hostile_week().insights.source.as_deref(), "nothing is lost");
}

#[test]
fn counts_are_told_in_whole_numbers() {
    for most in [1.0, 3.0, 7.0, 12.0, 30.0, 99.0, 1_234.0] {
        let days = [Day { messages: most as u64, ..a_week().calendar.days.remove(0) }];
        let svg = plot::columns(&days, "x", &[("a", "messages", |day| day.messages as f64)], &plot::COUNTS);
        let axis = svg.split("text-anchor=\"end\">").skip(1).filter_map(|text| text.split('<').next());
        let ticks: Vec<&str> = axis.collect();
        assert!(
            ticks.len() == 5 && ticks.iter().all(|tick| tick.ends_with('k') || tick.parse::<u64>().is_ok()),
            "{ticks:?}"
        );
    }
}

#[test]
fn time_is_rounded_alike_everywhere() {
    let insights = Insights { active_seconds: 119.6, ended_sessions: 3, ..a_week().insights };
    let report = Report::new(insights, 7, &berlin());
    let text = terminal::render(&report, on(80, false));
    assert_eq!((text.matches("2 min").count(), text.matches("40 s").count()), (1, 1), "{text}");
    assert!(html::page(&report).contains("<p class=\"value\">2 min</p><p class=\"note\">40 s on average</p>"));
}

#[test]
fn an_empty_period_is_told_in_a_sentence_with_the_next_step() {
    let (from, to) = (at("2026-10-19T22:00:00Z"), at("2026-10-26T11:00:00Z"));
    let empty = Report::new(nothing(from, to, None), 7, &berlin());
    let told = empty.emptiness();
    let expected = "No conversations began in this time (20 Oct to 26 Oct 2026, 7 days).\n\
        Ask something with `hermes -z \"…\"`, or look further back with `hermes insights --days 365`.";
    assert_eq!(told, expected);
    let of_source = Report::new(nothing(from, to, Some("telegram".into())), 7, &berlin());
    let expected = "No conversations began in this time (20 Oct to 26 Oct 2026, 7 days, only telegram).\n\
        `hermes insights` looks at every source; `hermes sessions list` shows what there is.";
    assert_eq!(of_source.emptiness(), expected);
    well_formed(&html::page(&empty));
}

#[test]
fn the_page_is_well_formed_loads_nothing_and_holds_no_script_of_others() {
    for report in [a_week(), a_hostile_week()] {
        let page = html::page(&report);
        let tags = well_formed(&page);
        let foreign = ["script", "link", "img", "iframe", "object", "a", "form", "base", "use", "image"];
        let found: Vec<&String> = tags.iter().filter(|tag| foreign.contains(&tag.as_str())).collect();
        assert_eq!(found, [""; 0]);
        assert!(tags.iter().filter(|tag| *tag == "svg").count() > 8, "plots");
        for loading in ["src=", "href=", "url(", "@import", "://"] {
            assert!(!page.contains(loading), "{loading}");
        }
        assert!(!page.contains(|c: char| c.is_control() && c != '\n'));
    }
    let page = html::page(&a_hostile_week());
    assert!(page.contains("&lt;/title&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;"), "it is shown as text");
}

/// Walks over a page as a strict reader would and gives back its tags.
#[track_caller]
fn well_formed(page: &str) -> Vec<String> {
    let mut rest = page.strip_prefix("<!DOCTYPE html>").expect("a page");
    let (mut open, mut seen): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
    while let Some((text, after)) = rest.split_once('<') {
        assert!(open.last().is_some_and(|tag| tag == "style") || are_entities(text), "{text:?}");
        let (tag, after) = after.split_once('>').expect("a tag ends");
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "before {rest:.60}");
            continue;
        }
        let (tag, closes) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(attributes.split('"').count() % 2 == 1, "quotes of {tag}");
        for outside in attributes.split('"').step_by(2).filter(|outside| !outside.is_empty()) {
            let name = outside.trim().strip_suffix('=').unwrap_or_else(|| panic!("attributes of {tag}"));
            assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'), "{name} in {tag}");
        }
        assert!(are_entities(attributes), "{attributes}");
        seen.push(name.to_owned());
        if !closes {
            open.push(name.to_owned());
        }
    }
    assert_eq!((open, rest), (Vec::new(), "\n"));
    seen
}

fn are_entities(text: &str) -> bool {
    let known = ["amp;", "lt;", "gt;", "quot;", "#39;", "#10;"];
    !text.contains('>') && text.split('&').skip(1).all(|after| known.iter().any(|entity| after.starts_with(entity)))
}

#[test]
fn the_page_takes_the_place_of_the_file_and_says_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("week.html");
    std::fs::write(&path, "old").expect("written");
    let say = |path: &Path| {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = write_page(path, &a_week(), &mut Console { out: &mut out, err: &mut err, input: &mut &b""[..] });
        let told = outcome.map(|()| String::from_utf8(err).expect("text")).map_err(|trouble| trouble.to_string());
        told.map_err(|told| told.replace(&folder.path().display().to_string(), "~"))
    };
    let told = say(&path).expect("written");
    let page = std::fs::read_to_string(&path).expect("read");
    assert_eq!(page, html::page(&a_week()));
    let expected =
        format!("Wrote {} (5 conversations, {}). Open it in a browser.\n", path.display(), size(page.len() as u64));
    assert_eq!(told, expected);
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).expect("read").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, ["week.html"], "nothing is left behind");
    let refused = say(&folder.path().join("nowhere/week.html")).expect_err("no folder");
    assert!(refused.starts_with("~/nowhere/week.html cannot be written: "), "{refused}");
}

proptest! {
    #[test]
    fn nothing_is_lost_between_the_buckets_and_the_plots(
        starts in prop::collection::vec((-100_000i64..200_000, 0..50u64), 0..30),
        zone in prop_oneof![Just("UTC0"), Just("CET-1CEST,M3.5.0,M10.5.0/3"), Just("<+0545>-5:45"), Just("EST5EDT,M3.2.0,M11.1.0")],
        days in 1..400u32,
    ) {
        let zone = TimeZone::posix(zone).expect("a zone");
        let now = "2026-11-02T12:00:00Z".parse::<Timestamp>().expect("a time").to_zoned(zone.clone());
        let (from, to) = period(&now, days).expect("a period");
        let place = |(quarter, messages): (i64, u64)| Bucket {
            start: Moment::from_seconds(1_790_000_100.0 + quarter as f64 * 900.0), messages, ..bucket("2026-11-02T00:00:00Z", 0, 0, 0, None)
        };
        let mut buckets: Vec<Bucket> = starts.into_iter().map(place).collect();
        buckets.sort_by(|a, b| a.start.seconds().total_cmp(&b.start.seconds()));
        let all: u64 = buckets.iter().map(|bucket| bucket.messages).sum();
        let calendar = Calendar::of(&Insights { buckets, ..nothing(from, to, None) }, &zone);
        prop_assert_eq!(calendar.days.iter().map(|day| day.messages).sum::<u64>(), all);
        prop_assert_eq!(calendar.weekdays.iter().sum::<u64>(), all);
        prop_assert_eq!(calendar.hours.iter().sum::<u64>(), all);
        prop_assert_eq!(calendar.week.iter().flatten().sum::<u64>(), all);
    }
}
